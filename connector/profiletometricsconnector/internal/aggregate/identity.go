// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"

import (
	"encoding/binary"
	"math"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/selection"
)

// resourceKey identifies an input resource and the output resource that it
// becomes.
type resourceKey struct {
	attributes pcommon.Map
	schemaURL  string
	kept       selection.ResourceAttributes
	key        []byte // of the attributes that stay
}

func (r *resourceKey) reset(profiles pprofile.ResourceProfiles, kept selection.ResourceAttributes) {
	r.attributes = profiles.Resource().Attributes()
	r.schemaURL = profiles.SchemaUrl()
	r.kept = kept
	r.key = appendMap(r.key[:0], r.attributes, kept.Keeps)
}

// fill writes the attributes of the output resource.
func (r *resourceKey) fill(out pcommon.Resource) {
	for key, value := range r.attributes.All() {
		if r.kept.Keeps(key) {
			value.CopyTo(out.Attributes().PutEmpty(key))
		}
	}
}

// source identifies where a snapshot comes from: the input resource and scope.
func (b *batch) source() []byte {
	b.sourceKey = appendMap(b.sourceKey[:0], b.resource.attributes, everyKey)
	b.sourceKey = appendText(b.sourceKey, b.scope.Name())
	b.sourceKey = appendText(b.sourceKey, b.scope.Version())
	b.sourceKey = appendMap(b.sourceKey, b.scope.Attributes(), everyKey)
	return b.sourceKey
}

func everyKey(string) bool { return true }

// appendGroupKey appends the canonical encoding of an output's point
// attributes: their values in the order of the configuration.
func (b *batch) appendGroupKey(key []byte, out output) []byte {
	values := b.groups.groups[out.group].values
	for i, name := range b.selection.Dimensions {
		if value := &values[i]; onPoints(value) {
			key = appendDimension(key, name, value.Value)
		} else {
			key = append(key, tagAbsent)
		}
	}
	if len(b.selection.Extractors) == 0 {
		return key
	}
	for _, id := range b.extraction.tuples[out.tuple] {
		if id == absent {
			key = append(key, tagAbsent)
			continue
		}
		key = append(key, tagPresent)
		key = appendText(key, b.extraction.values[id])
	}
	return key
}

// writeGroup writes the point attributes of the current output.
func (b *batch) writeGroup(attributes pcommon.Map) {
	values := b.groups.groups[b.current.group].values
	for i, name := range b.selection.Dimensions {
		value := &values[i]
		switch {
		case !onPoints(value):
		case isThreadName(name, value.Value):
			attributes.PutStr(name, selection.TrimName(value.Str()))
		default:
			value.CopyTo(attributes.PutEmpty(name))
		}
	}
	if len(b.selection.Extractors) == 0 {
		return
	}
	for i, id := range b.extraction.tuples[b.current.tuple] {
		if id != absent {
			attributes.PutStr(b.selection.Extractors[i].Key, b.extraction.values[id])
		}
	}
}

// onPoints says whether points carry a dimension: it was found, and the output
// resource does not have it anyway.
func onPoints(value *selection.Value) bool { return value.Found && !value.OnOutput }

func isThreadName(key string, value pcommon.Value) bool {
	return selection.IsThreadName(key) && value.Type() == pcommon.ValueTypeStr
}

// The encoding of values: a tag for the type, then the value, whose length is
// fixed or written first, so that different sequences never encode alike.
const (
	tagAbsent  byte = 0xff
	tagPresent byte = 0xfe
)

func appendDimension(key []byte, name string, value pcommon.Value) []byte {
	if isThreadName(name, value) {
		key = append(key, byte(pcommon.ValueTypeStr))
		return appendText(key, selection.TrimName(value.Str()))
	}
	return appendValue(key, value)
}

func appendValue(key []byte, value pcommon.Value) []byte {
	key = append(key, byte(value.Type()))
	switch value.Type() {
	case pcommon.ValueTypeEmpty:
		return key
	case pcommon.ValueTypeStr:
		return appendText(key, value.Str())
	case pcommon.ValueTypeInt:
		return binary.LittleEndian.AppendUint64(key, uint64(value.Int()))
	case pcommon.ValueTypeDouble:
		return binary.LittleEndian.AppendUint64(key, math.Float64bits(value.Double()))
	case pcommon.ValueTypeBool:
		if value.Bool() {
			return append(key, 1)
		}
		return append(key, 0)
	default:
		return appendText(key, value.AsString())
	}
}

// appendMap encodes the attributes whose key is kept, in the order of the keys.
func appendMap(key []byte, attributes pcommon.Map, keeps func(string) bool) []byte {
	var scratch [32]string
	keys := scratch[:0]
	for name := range attributes.All() {
		if keeps(name) {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	key = binary.AppendUvarint(key, uint64(len(keys)))
	for _, name := range keys {
		value, _ := attributes.Get(name)
		key = appendText(key, name)
		key = appendValue(key, value)
	}
	return key
}

func appendText(key []byte, text string) []byte {
	key = binary.AppendUvarint(key, uint64(len(text)))
	return append(key, text...)
}
