// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofotlp

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// stackProfile builds a profile whose stacks are written as function names,
// leaf first; every function is one location.
type stackProfile struct {
	*profile.Profile
	locations map[string]*profile.Location
}

func newStackProfile(types ...*profile.ValueType) *stackProfile {
	return &stackProfile{&profile.Profile{SampleType: types}, map[string]*profile.Location{}}
}

func (b *stackProfile) sample(stack []string, values ...int64) *profile.Sample {
	s := &profile.Sample{Value: values}
	for _, name := range stack {
		s.Location = append(s.Location, b.location(name))
	}
	b.Sample = append(b.Sample, s)
	return s
}

func (b *stackProfile) location(name string) *profile.Location {
	if l, ok := b.locations[name]; ok {
		return l
	}
	id := uint64(len(b.Location) + 1)
	f := &profile.Function{ID: id, Name: name, Filename: name + ".go", StartLine: 1}
	l := &profile.Location{ID: id, Address: 0x1000 + id, Line: []profile.Line{{Function: f, Line: 7}}}
	b.Function, b.Location, b.locations[name] = append(b.Function, f), append(b.Location, l), l
	return l
}

var cpuTypes = []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}

// profilesOf converts and returns the profiles of the only scope.
func profilesOf(t *testing.T, p *profile.Profile) (pprofile.ProfilesSlice, pprofile.ProfilesDictionary) {
	t.Helper()
	out, err := Convert(p)
	require.NoError(t, err)
	require.NoError(t, nonconformance(out))
	require.Equal(t, 1, out.ResourceProfiles().Len())
	require.Equal(t, 1, out.ResourceProfiles().At(0).ScopeProfiles().Len())
	return out.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles(), out.Dictionary()
}

func attributesOf(t *testing.T, d pprofile.ProfilesDictionary, record interface {
	AttributeIndices() pcommon.Int32Slice
},
) map[string]any {
	t.Helper()
	m, err := pprofile.FromAttributeIndices(d.AttributeTable(), record, d)
	require.NoError(t, err)
	return m.AsRaw()
}

func TestOneProfilePerSampleTypeCarriesTheHeader(t *testing.T) {
	b := newStackProfile(cpuTypes...)
	b.TimeNanos, b.DurationNanos, b.Period = 1700, 5e9, 10_000_000
	b.PeriodType = &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}
	b.Comments = []string{"first", "second"}
	b.DocURL, b.DefaultSampleType = "http://localhost/doc", "cpu"
	b.sample([]string{"leaf", "root"}, 2, 20)

	out, err := Convert(b.Profile)
	require.NoError(t, err)
	scope := out.ResourceProfiles().At(0).ScopeProfiles().At(0)
	assert.Equal(t, map[string]any{"pprof.scope.default_sample_type": "cpu"}, scope.Scope().Attributes().AsRaw())
	require.Equal(t, 2, scope.Profiles().Len())
	d := out.Dictionary()
	str := func(i int32) string { return d.StringTable().At(int(i)) }
	for i, p := range scope.Profiles().All() {
		assert.Equal(t, cpuTypes[i].Type, str(p.SampleType().TypeStrindex()))
		assert.Equal(t, cpuTypes[i].Unit, str(p.SampleType().UnitStrindex()))
		assert.Equal(t, "cpu", str(p.PeriodType().TypeStrindex()))
		assert.Equal(t, "nanoseconds", str(p.PeriodType().UnitStrindex()))
		assert.Equal(t, int64(10_000_000), p.Period())
		assert.Equal(t, pcommon.Timestamp(1700), p.Time())
		assert.Equal(t, uint64(5e9), p.DurationNano())
		assert.Equal(t, 0, p.OriginalPayload().Len())
		assert.Equal(t, map[string]any{
			"pprof.profile.comment": []any{"first", "second"},
			"pprof.profile.doc_url": "http://localhost/doc",
		}, attributesOf(t, d, p))
	}
}

func TestLocationsMappingsAndFunctionsKeepWhatPprofKnows(t *testing.T) {
	m := &profile.Mapping{
		ID: 1, Start: 0x1000, Limit: 0x9000, Offset: 0x10, File: "/usr/bin/app", BuildID: "abc1",
		HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
	}
	inner := &profile.Function{ID: 1, Name: "inner", SystemName: "_inner", Filename: "a.go", StartLine: 3}
	outer := &profile.Function{ID: 2, Name: "outer", SystemName: "outer", Filename: "b.go", StartLine: 9}
	l := &profile.Location{
		ID: 1, Mapping: m, Address: 0x1234, IsFolded: true,
		Line: []profile.Line{{Function: inner, Line: 4, Column: 2}, {Function: outer, Line: 11}},
	}
	p := &profile.Profile{
		SampleType: cpuTypes, Mapping: []*profile.Mapping{m}, Location: []*profile.Location{l},
		Function: []*profile.Function{inner, outer},
		Sample:   []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{1, 10}}},
	}
	profiles, d := profilesOf(t, p)
	str := func(i int32) string { return d.StringTable().At(int(i)) }

	stack := d.StackTable().At(int(profiles.At(0).Samples().At(0).StackIndex()))
	require.Equal(t, 1, stack.LocationIndices().Len())
	location := d.LocationTable().At(int(stack.LocationIndices().At(0)))
	assert.Equal(t, uint64(0x1234), location.Address())
	assert.Equal(t, map[string]any{"pprof.location.is_folded": true}, attributesOf(t, d, location))
	require.Equal(t, 2, location.Lines().Len())
	assert.Equal(t, int64(4), location.Lines().At(0).Line())
	assert.Equal(t, int64(2), location.Lines().At(0).Column())
	first := d.FunctionTable().At(int(location.Lines().At(0).FunctionIndex()))
	assert.Equal(t, []string{"inner", "_inner", "a.go"},
		[]string{str(first.NameStrindex()), str(first.SystemNameStrindex()), str(first.FilenameStrindex())})
	assert.Equal(t, int64(3), first.StartLine())
	second := d.FunctionTable().At(int(location.Lines().At(1).FunctionIndex()))
	assert.Equal(t, "outer", str(second.NameStrindex()))

	mapping := d.MappingTable().At(int(location.MappingIndex()))
	assert.Equal(t, []uint64{0x1000, 0x9000, 0x10},
		[]uint64{mapping.MemoryStart(), mapping.MemoryLimit(), mapping.FileOffset()})
	assert.Equal(t, "/usr/bin/app", str(mapping.FilenameStrindex()))
	assert.Equal(t, map[string]any{
		"process.executable.build_id.gnu": "abc1",
		"pprof.mapping.has_functions":     true,
		"pprof.mapping.has_filenames":     true,
		"pprof.mapping.has_line_numbers":  true,
		"pprof.mapping.has_inline_frames": true,
	}, attributesOf(t, d, mapping))
}

func TestLabelsBecomeSampleAttributes(t *testing.T) {
	for _, tc := range []struct {
		name string
		set  func(*profile.Sample)
		want map[string]any
		unit string
	}{
		{"no labels", func(*profile.Sample) {}, map[string]any{}, ""},
		{"a string label", func(s *profile.Sample) {
			s.Label = map[string][]string{"k": {"v"}}
		}, map[string]any{"k": "v"}, ""},
		{"an empty string is a value", func(s *profile.Sample) {
			s.Label = map[string][]string{"k": {""}}
		}, map[string]any{"k": ""}, ""},
		{"a numeric label with its unit", func(s *profile.Sample) {
			s.NumLabel = map[string][]int64{"k": {64}}
			s.NumUnit = map[string][]string{"k": {"bytes"}}
		}, map[string]any{"k": int64(64)}, "bytes"},
		{"several strings stay together in order", func(s *profile.Sample) {
			s.Label = map[string][]string{"k": {"b", "a", "b"}}
		}, map[string]any{"k": []any{"b", "a", "b"}}, ""},
		{"several numbers with one unit", func(s *profile.Sample) {
			s.NumLabel = map[string][]int64{"k": {2, 1}}
			s.NumUnit = map[string][]string{"k": {"bytes", "bytes"}}
		}, map[string]any{"k": []any{int64(2), int64(1)}}, "bytes"},
		{"several numbers with different units have none", func(s *profile.Sample) {
			s.NumLabel = map[string][]int64{"k": {2, 1}}
			s.NumUnit = map[string][]string{"k": {"bytes", "seconds"}}
		}, map[string]any{"k": []any{int64(2), int64(1)}}, ""},
		{"a string and a number of one name", func(s *profile.Sample) {
			s.Label = map[string][]string{"k": {"v"}}
			s.NumLabel = map[string][]int64{"k": {1}}
		}, map[string]any{"k": []any{"v", int64(1)}}, ""},
		{"a label without a name is dropped", func(s *profile.Sample) {
			s.Label = map[string][]string{"": {"v"}}
		}, map[string]any{}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newStackProfile(cpuTypes...)
			tc.set(b.sample([]string{"leaf"}, 1, 10))
			profiles, d := profilesOf(t, b.Profile)
			sample := profiles.At(0).Samples().At(0)
			assert.Equal(t, tc.want, attributesOf(t, d, sample))
			for _, i := range sample.AttributeIndices().All() {
				assert.Equal(t, tc.unit, d.StringTable().At(int(d.AttributeTable().At(int(i)).UnitStrindex())))
			}
		})
	}
}

func TestSamplesOfEqualStackAndLabelsAreOneSample(t *testing.T) {
	b := newStackProfile(cpuTypes...)
	b.sample([]string{"leaf", "root"}, 1, 10)
	b.sample([]string{"other", "root"}, 1, 5)
	b.sample([]string{"leaf", "root"}, 2, 20)
	b.sample([]string{"leaf", "root"}, 3, 30).Label = map[string][]string{"k": {"v"}}
	profiles, _ := profilesOf(t, b.Profile)
	var values []int64
	for _, s := range profiles.At(1).Samples().All() {
		values = append(values, s.Values().At(0))
	}
	assert.Equal(t, []int64{30, 5, 30}, values)
	assert.Equal(t, []int64{1, 10}, b.Sample[0].Value, "the input was changed")
}

func TestSumsThatWouldOverflowStayApart(t *testing.T) {
	b := newStackProfile(cpuTypes...)
	b.sample([]string{"leaf"}, 1, math.MaxInt64)
	b.sample([]string{"leaf"}, 1, 1)
	profiles, _ := profilesOf(t, b.Profile)
	assert.Equal(t, 2, profiles.At(1).Samples().Len())
}

func TestZeroValuesAndWhatOnlyTheyReferToAreLeftOut(t *testing.T) {
	b := newStackProfile(cpuTypes...)
	b.sample([]string{"half"}, 0, 10)
	b.sample([]string{"nothing"}, 0, 0)
	profiles, d := profilesOf(t, b.Profile)
	assert.Equal(t, 0, profiles.At(0).Samples().Len())
	assert.Equal(t, 1, profiles.At(1).Samples().Len())
	assert.NotContains(t, d.StringTable().AsRaw(), "nothing")
}

func TestSamplesWithoutAStackUseTheZeroStack(t *testing.T) {
	b := newStackProfile(cpuTypes...)
	b.sample(nil, 1, 10)
	profiles, d := profilesOf(t, b.Profile)
	assert.Equal(t, int32(0), profiles.At(0).Samples().At(0).StackIndex())
	assert.Equal(t, 1, d.StackTable().Len())
}

func TestAFunctionOfWhichNothingIsKnownIsNotSet(t *testing.T) {
	b := newStackProfile(cpuTypes...)
	b.sample([]string{"leaf"}, 1, 10)
	*b.Function[0] = profile.Function{ID: 1, StartLine: 5}
	_, d := profilesOf(t, b.Profile)
	assert.Equal(t, 1, d.FunctionTable().Len())
	assert.Equal(t, int64(7), d.LocationTable().At(1).Lines().At(0).Line())
}

func TestEqualEntriesOfSeveralProfilesAreShared(t *testing.T) {
	builder := NewBuilder()
	for _, service := range []string{"a", "b"} {
		b := newStackProfile(cpuTypes...)
		b.sample([]string{"leaf", "root"}, 1, 10)
		resource := pcommon.NewMap()
		resource.PutStr("service.name", service)
		require.NoError(t, builder.Add(b.Profile, resource, WithScope("scope", "v1")))
	}
	out := builder.Profiles()
	require.NoError(t, nonconformance(out))
	require.Equal(t, 2, out.ResourceProfiles().Len())
	second := out.ResourceProfiles().At(1)
	assert.Equal(t, map[string]any{"service.name": "b"}, second.Resource().Attributes().AsRaw())
	assert.Equal(t, "scope", second.ScopeProfiles().At(0).Scope().Name())
	assert.Equal(t, "v1", second.ScopeProfiles().At(0).Scope().Version())
	assert.Equal(t, 3, out.Dictionary().LocationTable().Len())
	assert.Equal(t, 0, builder.Profiles().ResourceProfiles().Len(), "the builder was not emptied")
}

func TestDropFramesAreAppliedAsPprofAppliesThem(t *testing.T) {
	for _, tc := range []struct {
		name, drop, keep string
		want             []string
	}{
		{"frames from the dropped one to the leaf go", "malloc|deep", "", []string{"user", "main"}},
		{"a kept frame stays although it is dropped", "malloc|deep", "malloc", []string{"malloc", "user", "main"}},
		{"a bad expression drops nothing", "(", "", []string{"deep", "malloc", "user", "main"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newStackProfile(cpuTypes...)
			b.DropFrames, b.KeepFrames = tc.drop, tc.keep
			b.sample([]string{"deep", "malloc", "user", "main"}, 1, 10)
			before := b.String()
			profiles, d := profilesOf(t, b.Profile)
			assert.Equal(t, before, b.String(), "the input was changed")
			assert.Equal(t, tc.want, functionNames(d, profiles.At(0).Samples().At(0)))
			want := map[string]any{"pprof.profile.drop_frames": tc.drop}
			if tc.keep != "" {
				want["pprof.profile.keep_frames"] = tc.keep
			}
			assert.Equal(t, want, attributesOf(t, d, profiles.At(0)))
		})
	}
}

func functionNames(d pprofile.ProfilesDictionary, s pprofile.Sample) []string {
	var names []string
	for _, l := range d.StackTable().At(int(s.StackIndex())).LocationIndices().All() {
		for _, line := range d.LocationTable().At(int(l)).Lines().All() {
			f := d.FunctionTable().At(int(line.FunctionIndex()))
			names = append(names, d.StringTable().At(int(f.NameStrindex())))
		}
	}
	return names
}

func TestNonsenseTimesAreNotSet(t *testing.T) {
	b := newStackProfile(cpuTypes...)
	b.TimeNanos, b.DurationNanos = -1, -1
	profiles, _ := profilesOf(t, b.Profile)
	assert.Zero(t, profiles.At(0).Time())
	assert.Zero(t, profiles.At(0).DurationNano())
}

func TestAnInvalidProfileIsRefusedAndAddsNothing(t *testing.T) {
	b := newStackProfile(cpuTypes...)
	b.sample([]string{"leaf"}, 1)
	_, err := Convert(b.Profile)
	require.ErrorContains(t, err, "invalid pprof profile")
	builder := NewBuilder()
	require.Error(t, builder.Add(b.Profile, pcommon.NewMap()))
	assert.Equal(t, 0, builder.Profiles().ResourceProfiles().Len())
}

func TestPerFunctionSumsAreThoseOfThePprofProfile(t *testing.T) {
	for name, raw := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			p := parse(t, raw)
			out, err := Convert(p)
			require.NoError(t, err)
			d := out.Dictionary()
			for i, converted := range out.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().All() {
				got, gotFlat := map[string]int64{}, map[string]int64{}
				for _, s := range converted.Samples().All() {
					names := functionNames(d, s)
					if len(names) > 0 {
						gotFlat[names[0]] += s.Values().At(0)
					}
					slices.Sort(names)
					for _, n := range slices.Compact(names) {
						got[n] += s.Values().At(0)
					}
				}
				want := perFunction(withoutUninteresting(p), i)
				assert.Equal(t, want, withoutZeros(got))
				assert.Equal(t, flat(withoutUninteresting(p), i), withoutZeros(gotFlat))
			}
		})
	}
}

// perFunction adds up the cumulative value of every function, each sample once.
func perFunction(p *profile.Profile, column int) map[string]int64 {
	totals := map[string]int64{}
	for _, s := range p.Sample {
		seen := map[string]bool{}
		for _, l := range s.Location {
			for _, line := range l.Line {
				seen[line.Function.Name] = true
			}
		}
		for name := range seen {
			totals[name] += s.Value[column]
		}
	}
	return withoutZeros(totals)
}

// flat adds up the value of every function that is the innermost of its stack.
func flat(p *profile.Profile, column int) map[string]int64 {
	totals := map[string]int64{}
	for _, s := range p.Sample {
		if len(s.Location) > 0 && len(s.Location[0].Line) > 0 {
			totals[s.Location[0].Line[0].Function.Name] += s.Value[column]
		}
	}
	return withoutZeros(totals)
}

func withoutZeros(totals map[string]int64) map[string]int64 {
	maps.DeleteFunc(totals, func(_ string, v int64) bool { return v == 0 })
	return totals
}
