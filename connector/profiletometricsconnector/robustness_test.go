// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/internal/pprofotlp"
	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// lookEverywhere makes the connector follow every index there is, and drops
// nothing.
const lookEverywhere = `
metrics: {cpu: {unit: ns}}
dimensions: [thread.name, code.file.path, profile.frame.type, absent]
attributes:
  - {key: found, value: 'nothing(like)this', type: regex, from: [function, file, mapping, attribute]}
process_filter: {enabled: true, patterns: [".*"], exclude_patterns: ["^no such process$"]}
thread_filter: {enabled: true, pattern: ".*"}
`

// twoSamples are a good one of weight 1, and one of weight 10 of which a test
// spoils a part. The latter uses nothing that the former uses but main.
func twoSamples() testprofile.Resource {
	return testprofile.Resource{
		Attributes: testprofile.Attributes{"process.executable.name": "api"},
		Profiles: []testprofile.Profile{{
			SampleType: "cpu/nanoseconds", PeriodType: "cpu/nanoseconds", Period: 1,
			Samples: []testprofile.Sample{{
				Stack:      testprofile.Stack("good@good.go", "main"),
				Values:     []int64{1},
				Attributes: testprofile.Attributes{"thread.name": "a"},
			}, {
				Stack: []testprofile.Location{
					{
						Lines:      []testprofile.Line{{Name: "bad", SystemName: "_bad", File: "bad.go"}},
						Mapping:    "/bin/bad",
						Attributes: testprofile.Attributes{"profile.frame.type": "go"},
					},
					{Mapping: "/lib/libbad.so"},
					{Lines: []testprofile.Line{{Name: "main"}}},
				},
				Values:     []int64{10},
				Attributes: testprofile.Attributes{"thread.name": "b", "size": testprofile.Quantity{Value: 1, Unit: "bytes"}},
				Link:       testprofile.Link{TraceID: "0102030405060708090a0b0c0d0e0f10", SpanID: "0102030405060708"},
			}},
			Attributes: testprofile.Attributes{"p": "v"},
		}},
	}
}

// parts are those of the second sample.
type parts struct {
	dict         pprofile.ProfilesDictionary
	profile      pprofile.Profile
	sample       pprofile.Sample
	stack        pprofile.Stack
	leaf, native pprofile.Location
	file         pprofile.Mapping // of native
	function     pprofile.Function

	thread, size, leafAttribute, profileAttribute pprofile.KeyValueAndUnit
}

func partsOf(profiles pprofile.Profiles) parts {
	p := parts{dict: profiles.Dictionary()}
	p.profile = profiles.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
	p.sample = p.profile.Samples().At(1)
	p.stack = p.dict.StackTable().At(int(p.sample.StackIndex()))
	p.leaf = p.dict.LocationTable().At(int(p.stack.LocationIndices().At(0)))
	p.native = p.dict.LocationTable().At(int(p.stack.LocationIndices().At(1)))
	p.file = p.dict.MappingTable().At(int(p.native.MappingIndex()))
	p.function = p.dict.FunctionTable().At(int(p.leaf.Lines().At(0).FunctionIndex()))
	attribute := func(i int32) pprofile.KeyValueAndUnit { return p.dict.AttributeTable().At(int(i)) }
	p.size = attribute(p.sample.AttributeIndices().At(0)) // in the order of their keys
	p.thread = attribute(p.sample.AttributeIndices().At(1))
	p.leafAttribute = attribute(p.leaf.AttributeIndices().At(0))
	p.profileAttribute = attribute(p.profile.AttributeIndices().At(0))
	return p
}

// What the second sample adds to flat and cumulative, by what of it is good.
var (
	allGood        = badSample{flat: "bad", cumulative: []string{"bad", "[libbad.so]", "main"}}
	leafUnknown    = badSample{flat: unknownFunction, cumulative: []string{unknownFunction, "[libbad.so]", "main"}}
	nativeUnknown  = badSample{flat: "bad", cumulative: []string{"bad", unknownFunction, "main"}}
	stackUnknown   = badSample{flat: unknownFunction, cumulative: []string{unknownFunction}}
	onlySystemName = badSample{flat: "_bad", cumulative: []string{"_bad", "[libbad.so]", "main"}}
)

type badSample struct {
	flat       string
	cumulative []string
}

// sums are those of both samples.
func (b badSample) sums() sums {
	flat := map[string]float64{"good": 1}
	flat[b.flat] += 10
	cumulative := map[string]float64{"good": 1, "main": 1}
	for _, name := range b.cumulative {
		cumulative[name] += 10
	}
	return sums{"cpu_time": {"": 11}, "cpu_time.flat": flat, "cpu_time.cumulative": cumulative}
}

func TestIndexOutOfRangeSpoilsOnlyWhatItStandsFor(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(p parts, index int32)
		want  badSample
	}{
		{"stack of a sample", func(p parts, i int32) { p.sample.SetStackIndex(i) }, stackUnknown},
		{"link of a sample", func(p parts, i int32) { p.sample.SetLinkIndex(i) }, allGood},
		{"attribute of a sample", func(p parts, i int32) { p.sample.AttributeIndices().SetAt(0, i) }, allGood},
		{"attribute of a profile", func(p parts, i int32) { p.profile.AttributeIndices().SetAt(0, i) }, allGood},
		{"attribute of a location", func(p parts, i int32) { p.leaf.AttributeIndices().SetAt(0, i) }, allGood},
		{"attribute of a mapping", func(p parts, i int32) { p.file.AttributeIndices().Append(i) }, allGood},
		{"location of a stack", func(p parts, i int32) { p.stack.LocationIndices().SetAt(0, i) }, leafUnknown},
		{"mapping of a location with a function", func(p parts, i int32) { p.leaf.SetMappingIndex(i) }, allGood},
		{"mapping of a location without lines", func(p parts, i int32) { p.native.SetMappingIndex(i) }, nativeUnknown},
		{"file of a mapping", func(p parts, i int32) { p.file.SetFilenameStrindex(i) }, nativeUnknown},
		{"function of a line", func(p parts, i int32) {
			p.leaf.SetMappingIndex(0)
			p.leaf.Lines().At(0).SetFunctionIndex(i)
		}, leafUnknown},
		{"name of a function", func(p parts, i int32) { p.function.SetNameStrindex(i) }, onlySystemName},
		{"system name of a function", func(p parts, i int32) { p.function.SetSystemNameStrindex(i) }, allGood},
		{"both names of a function", func(p parts, i int32) {
			p.leaf.SetMappingIndex(0)
			p.function.SetNameStrindex(i)
			p.function.SetSystemNameStrindex(i)
		}, leafUnknown},
		{"file of a function", func(p parts, i int32) { p.function.SetFilenameStrindex(i) }, allGood},
		{"key of a sample's attribute", func(p parts, i int32) { p.thread.SetKeyStrindex(i) }, allGood},
		{"unit of a sample's attribute", func(p parts, i int32) { p.size.SetUnitStrindex(i) }, allGood},
		{"key of a location's attribute", func(p parts, i int32) { p.leafAttribute.SetKeyStrindex(i) }, allGood},
		{"key of a profile's attribute", func(p parts, i int32) { p.profileAttribute.SetKeyStrindex(i) }, allGood},
		{"unit of a profile's attribute", func(p parts, i int32) { p.profileAttribute.SetUnitStrindex(i) }, allGood},
		{"type of the period", func(p parts, i int32) { p.profile.PeriodType().SetTypeStrindex(i) }, allGood},
		{"unit of the period", func(p parts, i int32) { p.profile.PeriodType().SetUnitStrindex(i) }, allGood},
	}
	for _, tt := range tests {
		for _, index := range []int32{math.MaxInt32, 1000, -1, math.MinInt32} {
			t.Run(fmt.Sprintf("%s is %d", tt.name, index), func(t *testing.T) {
				profiles := testprofile.New(t, twoSamples())
				tt.spoil(partsOf(profiles), index)
				assert.Equal(t, tt.want.sums(), sumsOf(convert(t, lookEverywhere, profiles)))
			})
		}
	}
}

func TestNothingSpoiledCountsInFull(t *testing.T) {
	profiles := testprofile.New(t, twoSamples())
	assert.Equal(t, allGood.sums(), sumsOf(convert(t, lookEverywhere, profiles)))
}

func TestProfileWithoutAKnownMeasureLeavesTheOthers(t *testing.T) {
	for _, index := range []int32{math.MaxInt32, 1000, -1, math.MinInt32} {
		for name, spoil := range map[string]func(pprofile.ValueType){
			"type": func(v pprofile.ValueType) { v.SetTypeStrindex(index) },
			"unit": func(v pprofile.ValueType) { v.SetUnitStrindex(index) },
		} {
			t.Run(fmt.Sprintf("%s is %d", name, index), func(t *testing.T) {
				good := twoSamples()
				good.Profiles = append(good.Profiles, good.Profiles[0])
				profiles := testprofile.New(t, good)
				spoil(partsOf(profiles).profile.SampleType())
				assert.Equal(t, allGood.sums(), sumsOf(convert(t, lookEverywhere, profiles)))
			})
		}
	}
}

func TestSampleOfTheWrongShape(t *testing.T) {
	tests := []struct {
		name       string
		values     []int64
		timestamps []uint64
		total      float64
	}{
		{"without values or timestamps has no weight", nil, nil, 1},
		{"with more timestamps than values keeps its weight", []int64{10}, []uint64{1, 2}, 11},
		{"with fewer timestamps than values keeps its weight", []int64{3, 3, 4}, []uint64{1}, 11},
		{"with a negative weight has none", []int64{-10}, nil, 1},
	}
	for _, tt := range tests {
		t.Run("a sample "+tt.name, func(t *testing.T) {
			resource := twoSamples()
			resource.Profiles[0].Samples[1].Values = tt.values
			resource.Profiles[0].Samples[1].Timestamps = tt.timestamps
			got := sumsOf(convert(t, lookEverywhere, testprofile.New(t, resource)))
			assert.Equal(t, map[string]float64{"": tt.total}, got["cpu_time"])
			assert.InDelta(t, 1, got["cpu_time.flat"]["good"], 0)
			assert.InDelta(t, tt.total-1, got["cpu_time.flat"]["bad"], 0)
		})
	}
}

func TestAttributeOfAnotherTypeThanExpected(t *testing.T) {
	resource := twoSamples()
	resource.Attributes = testprofile.Attributes{
		"process.executable.name": []any{"api"}, "process.executable.path": 1.5,
	}
	resource.Profiles[0].Samples[1].Attributes = testprofile.Attributes{
		"thread.name": map[string]any{"a": 1}, "thread.id": true,
	}
	got := sumsOf(convert(t, "metrics: {cpu: {unit: ns}}\ndimensions: [thread.name, thread.id]", testprofile.New(t, resource)))
	assert.Equal(t, allGood.sums(), got)
}

func TestAlmostNothingIsNoProblem(t *testing.T) {
	withoutDictionary := testprofile.New(t, twoSamples())
	pprofile.NewProfilesDictionary().CopyTo(withoutDictionary.Dictionary())

	onlyZeroEntries := testprofile.New(t, twoSamples())
	testprofile.New(t).Dictionary().CopyTo(onlyZeroEntries.Dictionary())

	emptyMessages := pprofile.NewProfiles()
	emptyMessages.ResourceProfiles().AppendEmpty()
	scope := emptyMessages.ResourceProfiles().AppendEmpty().ScopeProfiles()
	scope.AppendEmpty()
	scope.AppendEmpty().Profiles().AppendEmpty().Samples().AppendEmpty()

	for name, profiles := range map[string]pprofile.Profiles{
		"empty profiles":                  pprofile.NewProfiles(),
		"an empty dictionary":             withoutDictionary,
		"a dictionary of zero entries":    onlyZeroEntries,
		"resources and scopes of nothing": emptyMessages,
	} {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, convert(t, lookEverywhere, profiles))
		})
	}
}

// useEverything sets every key that makes the connector look at input.
const useEverything = `
metrics:
  function:
    include: [{regex: '.*'}, {contains: main, when: {service.name: api}}]
    exclude: [{equals: excluded}]
    limit: 3
sample_types:
  - {type: goroutine, metric_name: goroutines, instrument: gauge}
  - {type: samples, unit: count, metric_name: samples}
  - {type: wall, metric_name: wall_time, metric_unit: ms}
  - {type: space, metric_name: space, metric_unit: MiBy}
dimensions: [process.executable.name, thread.name, code.file.path]
attributes:
  - {key: tier, value: backend}
  - {key: found, value: '(\w+)\.\w+', type: regex, from: [attribute, mapping, file, function], default: none}
process_filter: {enabled: true, patterns: ['api', '.*'], exclude_patterns: ['^x$']}
thread_filter: {enabled: true, pattern: '.*'}
pattern_filter: {enabled: true, pattern: '.*', exclude_patterns: ['^idle$']}
aggregation_cardinality_limit: 20
resource_attributes: {exclude: [process.pid]}
export_rules:
  rule_cpu_seconds_total: {expr: '{thread_name=~".*"}', node: '(^|;)main', group_by: [thread.name, p, absent]}
  rule_alloc_bytes_total: {expr: 'api.alloc_space', node: total}
  rule_live_bytes: {expr: 'api.inuse_space{env!~"x"}', node: ';', group_by: [env]}
  rule_objects: {expr: 'api.inuse_objects{process.executable.name!="y"}', group_by: [process_executable_name]}
`

// FuzzConsumeRawOTLP gives whatever the Collector can read from the wire.
func FuzzConsumeRawOTLP(f *testing.F) {
	for _, seed := range rawSeeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, mode := range []string{
			"aggregation_temporality: cumulative\n",
			"aggregation_temporality: delta\nmetrics_flush_interval: 0s\n",
		} {
			profiles, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(data)
			if err != nil {
				return
			}
			requireNoCounterGoesBack(t, convert(t, useEverything+mode, profiles, profiles))
		}
	})
}

func requireNoCounterGoesBack(t *testing.T, emitted []pmetric.Metrics) {
	t.Helper()
	for _, metrics := range emitted {
		for _, resource := range metrics.ResourceMetrics().All() {
			for _, metric := range resource.ScopeMetrics().At(0).Metrics().All() {
				if metric.Type() != pmetric.MetricTypeSum {
					continue
				}
				for _, point := range metric.Sum().DataPoints().All() {
					require.GreaterOrEqual(t, valueOf(point), 0.0, metric.Name())
				}
			}
		}
	}
}

// rawSeeds are the golden inputs and the smaller fixtures, as they are sent.
func rawSeeds(tb testing.TB) [][]byte {
	tb.Helper()
	seeds := [][]byte{nil}
	inputs, err := filepath.Glob(filepath.Join("testdata", "golden", "*", "input.yaml"))
	require.NoError(tb, err)
	for _, file := range inputs {
		text, err := os.ReadFile(file)
		require.NoError(tb, err)
		script, err := testprofile.Parse(text)
		require.NoError(tb, err)
		for _, batch := range script.Batches {
			profiles, err := batch.Profiles()
			require.NoError(tb, err)
			seeds = append(seeds, marshal(tb, profiles))
		}
	}
	for _, name := range []string{"c-native-cpu", "node-cpu", "node-heap", "parca-mutex"} {
		profiles, err := pprofotlp.Convert(readPprof(tb, filepath.Join("testdata", "pprof", name+".pb.gz")))
		require.NoError(tb, err)
		seeds = append(seeds, marshal(tb, profiles))
	}
	return seeds
}

// marshal changes its argument, as the marshaler does.
func marshal(tb testing.TB, profiles pprofile.Profiles) []byte {
	tb.Helper()
	data, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(profiles)
	require.NoError(tb, err)
	return data
}
