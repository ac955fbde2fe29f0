// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// TestEntriesAreWhatTheyHoldNotWhereTheyStand writes every entry of the
// dictionary a second time, as a merge of messages does, and uses both.
func TestEntriesAreWhatTheyHoldNotWhereTheyStand(t *testing.T) {
	resource := testprofile.Resource{Profiles: []testprofile.Profile{{
		SampleType: "cpu/nanoseconds",
		Samples: []testprofile.Sample{
			{Stack: testprofile.Stack("fib", "fib", "fib|inlined", "fib", "main"), Values: []int64{1}, Attributes: testprofile.Attributes{"thread.name": "w"}},
			{Stack: testprofile.Stack("fib", "fib", "fib|inlined", "fib", "main"), Values: []int64{2}, Attributes: testprofile.Attributes{"thread.name": "w"}},
			{Stack: testprofile.Stack("@/lib/a.so", "main", "@/lib/a.so"), Values: []int64{4}},
			{Stack: testprofile.Stack("@/lib/a.so", "main", "@/lib/a.so"), Values: []int64{8}},
		},
	}}}
	const config = "metrics: {cpu: {unit: ns}}\ndimensions: [thread.name]"
	// fib      1+2 flat, 1+2 cumulative
	// [a.so]   4+8 flat, 4+8 cumulative
	want := sums{
		"cpu_time":            {"": 15},
		"cpu_time.flat":       {"fib": 3, "[a.so]": 12},
		"cpu_time.cumulative": {"fib": 3, "inlined": 3, "[a.so]": 12, "main": 15},
	}
	assert.Equal(t, want, sumsOf(convert(t, config, testprofile.New(t, resource))))

	doubled := testprofile.New(t, resource)
	double(doubled)
	emitted := convert(t, config, doubled)
	assert.Equal(t, want, sumsOf(emitted))
	totals := pointsOf(emitted[0].ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0))
	assert.Equal(t, 2, totals.Len(), "one point with the thread, one without")
}

// double appends a copy of each table that refers to the copies of the others,
// and lets every second sample, and every second location of a stack, use them.
func double(profiles pprofile.Profiles) {
	dict := profiles.Dictionary()
	strings := shift(dict.StringTable().Len())
	functions := shift(dict.FunctionTable().Len())
	mappings := shift(dict.MappingTable().Len())
	locations := shift(dict.LocationTable().Len())
	attributes := shift(dict.AttributeTable().Len())
	stacks := shift(dict.StackTable().Len())

	dict.StringTable().Append(dict.StringTable().AsRaw()...)
	for i := range int(functions) {
		function := dict.FunctionTable().AppendEmpty()
		dict.FunctionTable().At(i).CopyTo(function)
		function.SetNameStrindex(strings.of(function.NameStrindex()))
	}
	for i := range int(mappings) {
		mapping := dict.MappingTable().AppendEmpty()
		dict.MappingTable().At(i).CopyTo(mapping)
		mapping.SetFilenameStrindex(strings.of(mapping.FilenameStrindex()))
	}
	for i := range int(locations) {
		location := dict.LocationTable().AppendEmpty()
		dict.LocationTable().At(i).CopyTo(location)
		location.SetMappingIndex(mappings.ofAny(location.MappingIndex()))
		for _, line := range location.Lines().All() {
			line.SetFunctionIndex(functions.ofAny(line.FunctionIndex()))
		}
	}
	for i := range int(attributes) {
		attribute := dict.AttributeTable().AppendEmpty()
		dict.AttributeTable().At(i).CopyTo(attribute)
		attribute.SetKeyStrindex(strings.of(attribute.KeyStrindex()))
	}
	for i := range int(stacks) {
		stack := dict.StackTable().AppendEmpty()
		dict.StackTable().At(i).CopyTo(stack)
		locations.everySecond(stack.LocationIndices())
	}
	for i, sample := range profiles.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).Samples().All() {
		if i%2 == 1 {
			sample.SetStackIndex(stacks.of(sample.StackIndex()))
			attributes.everySecond(sample.AttributeIndices())
		}
	}
}

// shift leads from an entry to its copy.
type shift int32

func (s shift) of(index int32) int32 { return index + int32(s) }

// ofAny leaves 0, which means that there is none.
func (s shift) ofAny(index int32) int32 {
	if index == 0 {
		return 0
	}
	return s.of(index)
}

func (s shift) everySecond(indices pcommon.Int32Slice) {
	for i := 0; i < indices.Len(); i += 2 {
		indices.SetAt(i, s.of(indices.At(i)))
	}
}

// TestProducersWithoutZeroEntries: "index 0 should be the zero value", which
// producers and merges violate. Strings, attributes and locations there are
// read like any other.
func TestProducersWithoutZeroEntries(t *testing.T) {
	profiles := pprofile.NewProfiles()
	dict := profiles.Dictionary()
	dict.StringTable().Append("cpu", "nanoseconds", "f", "thread.name")
	dict.FunctionTable().AppendEmpty()
	dict.FunctionTable().AppendEmpty().SetNameStrindex(2)
	dict.LocationTable().AppendEmpty().Lines().AppendEmpty().SetFunctionIndex(1)
	dict.StackTable().AppendEmpty()
	dict.StackTable().AppendEmpty().LocationIndices().Append(0)
	attribute := dict.AttributeTable().AppendEmpty()
	attribute.SetKeyStrindex(3)
	attribute.Value().SetStr("w")

	profile := profiles.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	profile.SampleType().SetTypeStrindex(0)
	profile.SampleType().SetUnitStrindex(1)
	sample := profile.Samples().AppendEmpty()
	sample.SetStackIndex(1)
	sample.AttributeIndices().Append(0)
	sample.Values().Append(7)

	emitted := convert(t, "metrics: {cpu: {unit: ns}}\ndimensions: [thread.name]", profiles)
	assert.Equal(t, sums{"cpu_time": {"": 7}, "cpu_time.flat": {"f": 7}, "cpu_time.cumulative": {"f": 7}}, sumsOf(emitted))
	total := pointsOf(emitted[0].ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0)).At(0)
	assert.Equal(t, map[string]any{"thread.name": "w"}, total.Attributes().AsRaw())
}
