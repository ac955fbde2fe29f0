// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package testprofile

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Profiles builds the batch's message.
func (b Batch) Profiles() (pprofile.Profiles, error) {
	profiles := pprofile.NewProfiles()
	dict := newDictionary(profiles.Dictionary())
	for i, resource := range b.Resources {
		if err := resource.build(dict, profiles.ResourceProfiles().AppendEmpty()); err != nil {
			return pprofile.Profiles{}, fmt.Errorf("resources[%d]%w", i, err)
		}
	}
	return profiles, nil
}

func (r Resource) build(dict dictionary, to pprofile.ResourceProfiles) error {
	if err := copyAttributes(r.Attributes, to.Resource().Attributes()); err != nil {
		return err
	}
	scopes := r.Scopes
	if len(r.Profiles) > 0 {
		if len(scopes) > 0 {
			return errors.New(": either scopes or profiles, not both")
		}
		scopes = []Scope{{Profiles: r.Profiles}}
	}
	for i, scope := range scopes {
		if err := scope.build(dict, to.ScopeProfiles().AppendEmpty()); err != nil {
			return fmt.Errorf(".scopes[%d]%w", i, err)
		}
	}
	return nil
}

func (s Scope) build(dict dictionary, to pprofile.ScopeProfiles) error {
	to.Scope().SetName(s.Name)
	to.Scope().SetVersion(s.Version)
	if err := copyAttributes(s.Attributes, to.Scope().Attributes()); err != nil {
		return err
	}
	for i, profile := range s.Profiles {
		if err := profile.build(dict, to.Profiles().AppendEmpty()); err != nil {
			return fmt.Errorf(".profiles[%d]%w", i, err)
		}
	}
	return nil
}

func (p Profile) build(dict dictionary, to pprofile.Profile) error {
	dict.setValueType(p.SampleType, to.SampleType())
	dict.setValueType(p.PeriodType, to.PeriodType())
	to.SetPeriod(p.Period)
	to.SetTime(timestamp(p.Time))
	to.SetDurationNano(uint64(p.Duration))
	if err := dict.setAttributes(p.Attributes, to.AttributeIndices()); err != nil {
		return err
	}
	for i, sample := range p.Samples {
		if err := sample.build(dict, to.Samples().AppendEmpty()); err != nil {
			return fmt.Errorf(".samples[%d]%w", i, err)
		}
	}
	return nil
}

// copyAttributes sorts the keys, so that equal profiles are built equal.
func copyAttributes(from Attributes, to pcommon.Map) error {
	for _, key := range slices.Sorted(maps.Keys(from)) {
		if err := to.PutEmpty(key).FromRaw(from[key]); err != nil {
			return fmt.Errorf(".attributes[%s]: %w", key, err)
		}
	}
	return nil
}

// timestamp keeps a time that is not given at zero, which OTLP reads as unknown.
func timestamp(t time.Time) pcommon.Timestamp {
	if t.IsZero() {
		return 0
	}
	return pcommon.NewTimestampFromTime(t)
}

func (s Sample) build(dict dictionary, to pprofile.Sample) error {
	to.Values().FromRaw(s.Values)
	to.TimestampsUnixNano().FromRaw(s.Timestamps)
	if err := dict.setAttributes(s.Attributes, to.AttributeIndices()); err != nil {
		return err
	}
	stack, err := dict.stack(s.Stack)
	if err != nil {
		return err
	}
	link, err := dict.link(s.Link)
	if err != nil {
		return err
	}
	to.SetStackIndex(stack)
	to.SetLinkIndex(link)
	return nil
}

// dictionary adds entries to the tables; what is there already is reused.
type dictionary struct {
	pprofile.ProfilesDictionary
}

// newDictionary puts the zero value first in every table: "_table[0] must always
// be set to a zero value", so that index 0 means that there is none.
func newDictionary(tables pprofile.ProfilesDictionary) dictionary {
	tables.StringTable().Append("")
	tables.MappingTable().AppendEmpty()
	tables.LocationTable().AppendEmpty()
	tables.FunctionTable().AppendEmpty()
	tables.LinkTable().AppendEmpty()
	tables.AttributeTable().AppendEmpty()
	tables.StackTable().AppendEmpty()
	return dictionary{tables}
}

// index unwraps the pprofile setters, which fail only on a table with 2^31 entries.
func index(i int32, err error) int32 {
	if err != nil {
		panic(err)
	}
	return i
}

func (d dictionary) string(s string) int32 {
	return index(pprofile.SetString(d.StringTable(), s))
}

func (d dictionary) setValueType(v ValueType, to pprofile.ValueType) {
	typ, unit := v.split()
	to.SetTypeStrindex(d.string(typ))
	to.SetUnitStrindex(d.string(unit))
}

// setAttributes adds them in the order of their keys.
func (d dictionary) setAttributes(attributes Attributes, to pcommon.Int32Slice) error {
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		value, unit := splitUnit(attributes[key])
		attribute := pprofile.NewKeyValueAndUnit()
		attribute.SetKeyStrindex(d.string(key))
		attribute.SetUnitStrindex(d.string(unit))
		if err := attribute.Value().FromRaw(value); err != nil {
			return fmt.Errorf(".attributes[%s]: %w", key, err)
		}
		to.Append(index(pprofile.SetAttribute(d.AttributeTable(), attribute)))
	}
	return nil
}

func splitUnit(value any) (any, string) {
	switch v := value.(type) {
	case Quantity:
		return v.Value, v.Unit
	case map[string]any:
		if unit, ok := v["unit"].(string); ok && v["value"] != nil && len(v) == 2 {
			return v["value"], unit
		}
	}
	return value, ""
}

func (d dictionary) stack(locations []Location) (int32, error) {
	stack := pprofile.NewStack()
	for i, location := range locations {
		at, err := d.location(location)
		if err != nil {
			return 0, fmt.Errorf(".stack[%d]%w", i, err)
		}
		stack.LocationIndices().Append(at)
	}
	return index(pprofile.SetStack(d.StackTable(), stack)), nil
}

func (d dictionary) location(l Location) (int32, error) {
	location := pprofile.NewLocation()
	location.SetAddress(l.Address)
	location.SetMappingIndex(d.mapping(l.Mapping))
	for _, line := range l.Lines {
		to := location.Lines().AppendEmpty()
		to.SetFunctionIndex(d.function(line))
		to.SetLine(line.Line)
	}
	if err := d.setAttributes(l.Attributes, location.AttributeIndices()); err != nil {
		return 0, err
	}
	return index(pprofile.SetLocation(d.LocationTable(), location)), nil
}

func (d dictionary) mapping(file string) int32 {
	mapping := pprofile.NewMapping()
	mapping.SetFilenameStrindex(d.string(file))
	return index(pprofile.SetMapping(d.MappingTable(), mapping))
}

func (d dictionary) function(l Line) int32 {
	function := pprofile.NewFunction()
	function.SetNameStrindex(d.string(l.Name))
	function.SetSystemNameStrindex(d.string(l.SystemName))
	function.SetFilenameStrindex(d.string(l.File))
	return index(pprofile.SetFunction(d.FunctionTable(), function))
}

func (d dictionary) link(l Link) (int32, error) {
	link := pprofile.NewLink()
	var trace pcommon.TraceID
	var span pcommon.SpanID
	if err := errors.Join(decodeID(trace[:], l.TraceID), decodeID(span[:], l.SpanID)); err != nil {
		return 0, fmt.Errorf(".link: %w", err)
	}
	link.SetTraceID(trace)
	link.SetSpanID(span)
	return index(pprofile.SetLink(d.LinkTable(), link)), nil
}

// decodeID leaves an id that is not given at zero.
func decodeID(to []byte, text string) error {
	id, err := hex.DecodeString(text)
	if err != nil {
		return fmt.Errorf("id %q: %w", text, err)
	}
	if len(id) != 0 && len(id) != len(to) {
		return fmt.Errorf("id %q: %d bytes, want %d", text, len(id), len(to))
	}
	copy(to, id)
	return nil
}
