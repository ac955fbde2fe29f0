// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/profiletometrics/profiletometrics/internal/pprofotlp"
)

const unknownFunction = "[unknown]"

// TestFixturesEqualPprof compares total, flat and cumulative of every function
// of every sample type with what go tool pprof -top says, exactly.
func TestFixturesEqualPprof(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "pprof", "*.pb.gz"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			p := readPprof(t, file)
			got := convertPprof(t, p)
			for i, sampleType := range p.SampleType {
				t.Run(sampleType.Type, func(t *testing.T) {
					comparePprof(t, topOfTool(t, file, sampleType), got, p, i)
				})
			}
		})
	}
}

// TestPprofInProcessEqualsTheTool makes sure that the oracle of the fuzz test
// is the same as that of the fixtures.
func TestPprofInProcessEqualsTheTool(t *testing.T) {
	file := filepath.Join("testdata", "pprof", "parca-goroutine.pb.gz")
	p := readPprof(t, file)
	for _, sampleType := range p.SampleType {
		assert.Equal(t, topOfTool(t, file, sampleType), topInProcess(t, p, sampleType))
	}
}

// FuzzDifferential compares random valid profiles with google/pprof.
func FuzzDifferential(f *testing.F) {
	for _, seed := range differentialSeeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := (&dice{data}).profile()
		require.NoError(t, p.CheckValid())
		got := convertPprof(t, p)
		for i, sampleType := range p.SampleType {
			comparePprof(t, topInProcess(t, p, sampleType), got, p, i)
		}
	})
}

func readPprof(tb testing.TB, file string) *profile.Profile {
	tb.Helper()
	data, err := os.ReadFile(file)
	require.NoError(tb, err)
	p, err := profile.ParseData(data)
	require.NoError(tb, err)
	return p
}

// convertPprof runs a profile, all sample types at once, through the connector.
func convertPprof(tb testing.TB, p *profile.Profile) sums {
	tb.Helper()
	profiles, err := pprofotlp.Convert(p.Copy())
	require.NoError(tb, err)
	return sumsOf(convert(tb, differentialConfig(p), profiles))
}

// differentialConfig measures every sample type without limits and, as far as
// that is possible, without converting units.
func differentialConfig(p *profile.Profile) string {
	var config strings.Builder
	config.WriteString(`
metrics:
  cpu: {unit: ns}
  function: {limit: 0}
aggregation_cardinality_limit: 0
aggregation_temporality: delta
metrics_flush_interval: 0s
sample_types:
`)
	for _, sampleType := range p.SampleType {
		if metric, isBuiltIn := metricOf(sampleType); !isBuiltIn {
			fmt.Fprintf(&config, "- {type: %s, unit: %s, metric_name: %s}\n", sampleType.Type, sampleType.Unit, metric)
		}
	}
	return config.String()
}

func metricOf(sampleType *profile.ValueType) (name string, isBuiltIn bool) {
	switch sampleType.Type + "/" + sampleType.Unit {
	case "cpu/nanoseconds":
		return "cpu_time", true
	case "alloc_space/bytes":
		return "memory_allocation", true
	case "inuse_space/bytes":
		return "memory_usage", true
	default:
		return "measured_" + sampleType.Type, false
	}
}

func comparePprof(tb testing.TB, want topReport, got sums, p *profile.Profile, sampleIndex int) {
	tb.Helper()
	metric, _ := metricOf(p.SampleType[sampleIndex])
	assert.Equal(tb, want.total, int64(got[metric][""]), "%s: total", metric)

	// pprof shows the weight of samples without a stack nowhere but in the total.
	if stackless := weightWithoutStack(p, sampleIndex); stackless > 0 {
		function := want.functions[unknownFunction]
		function.flat += stackless
		function.cumulative += stackless
		function.largest += stackless
		want.functions[unknownFunction] = function
	}
	flat, cumulative := got[metric+".flat"], got[metric+".cumulative"]
	for name := range namesOf(want, flat, cumulative) {
		function := want.functions[name]
		assert.Equal(tb, function.flat, int64(flat[name]), "%s: flat of %q", metric, name)
		if function.rows > 1 {
			assert.GreaterOrEqual(tb, int64(cumulative[name]), function.largest, "%s: cumulative of %q", metric, name)
			assert.LessOrEqual(tb, int64(cumulative[name]), function.cumulative, "%s: cumulative of %q", metric, name)
			continue
		}
		assert.Equal(tb, function.cumulative, int64(cumulative[name]), "%s: cumulative of %q", metric, name)
	}
}

// namesOf are the functions that either side knows.
func namesOf(want topReport, flat, cumulative map[string]float64) map[string]bool {
	names := map[string]bool{}
	for name := range want.functions {
		names[name] = true
	}
	for name := range flat {
		names[name] = true
	}
	for name := range cumulative {
		names[name] = true
	}
	return names
}

func weightWithoutStack(p *profile.Profile, sampleIndex int) (weight int64) {
	for _, sample := range p.Sample {
		if len(sample.Location) == 0 {
			weight += sample.Value[sampleIndex]
		}
	}
	return weight
}

// differentialSeeds are a profile of nothing, and random ones that are the same
// in every run.
func differentialSeeds() [][]byte {
	seeds := [][]byte{nil}
	random := rand.NewChaCha8([32]byte{})
	for range 24 {
		seed := make([]byte, 256)
		_, _ = random.Read(seed) // never fails
		seeds = append(seeds, seed)
	}
	return seeds
}

// dice decides from fuzz data; when that is used up it always throws 0.
type dice struct{ data []byte }

// throw is a number below n.
func (d *dice) throw(n int) int {
	if len(d.data) == 0 {
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return int(b) % n
}

// profile is a valid one with few functions, so that they recur, are inlined
// and share names; entries that no sample needs and entries that are the same
// are part of it.
func (d *dice) profile() *profile.Profile {
	p := &profile.Profile{
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     int64(d.throw(3)),
		TimeNanos:  int64(d.throw(2)) * 1_000_000_000,
	}
	p.SampleType = d.sampleTypes()
	for range d.throw(3) {
		p.Mapping = append(p.Mapping, d.mapping(len(p.Mapping)))
	}
	for range 1 + d.throw(6) {
		p.Function = append(p.Function, d.function(len(p.Function)))
	}
	for range 1 + d.throw(8) {
		p.Location = append(p.Location, d.location(p))
	}
	for range d.throw(12) {
		p.Sample = append(p.Sample, d.sample(p))
	}
	return p
}

func (d *dice) sampleTypes() []*profile.ValueType {
	all := []*profile.ValueType{
		{Type: "samples", Unit: "count"},
		{Type: "cpu", Unit: "nanoseconds"},
		{Type: "alloc_space", Unit: "bytes"},
		{Type: "inuse_space", Unit: "bytes"},
		{Type: "inuse_objects", Unit: "count"},
		{Type: "delay", Unit: "nanoseconds"},
	}
	from := d.throw(len(all))
	return all[from : from+1+d.throw(len(all)-from)]
}

func (d *dice) mapping(i int) *profile.Mapping {
	files := []string{"/usr/bin/app", "/usr/lib/libc.so.6", "/opt/lib/libc.so.6", ""}
	start := uint64(i+1) << 20
	return &profile.Mapping{ID: uint64(i + 1), Start: start, Limit: start + 1<<19, File: files[d.throw(len(files))]}
}

func (d *dice) function(i int) *profile.Function {
	names := []string{"main", "f", "g", "pkg.(*T).Method[...]", "operator new(unsigned long)", ""}
	name := names[d.throw(len(names))]
	return &profile.Function{
		ID: uint64(i + 1), Name: name, SystemName: name,
		Filename:  []string{"", "a.go", "b.go"}[d.throw(3)],
		StartLine: int64(d.throw(2)),
	}
}

func (d *dice) location(p *profile.Profile) *profile.Location {
	location := &profile.Location{ID: uint64(len(p.Location) + 1)}
	if i := d.throw(len(p.Mapping) + 1); i > 0 {
		location.Mapping = p.Mapping[i-1]
		location.Address = location.Mapping.Start + uint64(d.throw(4))
	}
	for range d.throw(4) {
		location.Line = append(location.Line, profile.Line{
			Function: p.Function[d.throw(len(p.Function))],
			Line:     int64(d.throw(3)),
		})
	}
	return location
}

func (d *dice) sample(p *profile.Profile) *profile.Sample {
	sample := &profile.Sample{}
	for range d.throw(7) {
		sample.Location = append(sample.Location, p.Location[d.throw(len(p.Location))])
	}
	for range p.SampleType {
		// Rarely zero, up to about 2^40: sums stay exact in a float64.
		sample.Value = append(sample.Value, int64(d.throw(256))<<d.throw(32))
	}
	if d.throw(3) == 0 {
		sample.Label = map[string][]string{"worker": []string{"a", "b"}[:1+d.throw(2)]}
		sample.NumLabel = map[string][]int64{"bytes": {int64(d.throw(3))}}
		sample.NumUnit = map[string][]string{"bytes": {"bytes"}}
	}
	return sample
}

// TestTheFuzzedProfilesAreWorthIt keeps the seeds from decaying into profiles
// of nothing.
func TestTheFuzzedProfilesAreWorthIt(t *testing.T) {
	functions, samples := map[string]bool{}, 0
	for _, seed := range differentialSeeds() {
		p := (&dice{seed}).profile()
		samples += len(p.Sample)
		for _, sampleType := range p.SampleType {
			maps.Copy(functions, namesOf(topInProcess(t, p, sampleType), nil, nil))
		}
	}
	assert.GreaterOrEqual(t, len(functions), 8)
	assert.GreaterOrEqual(t, samples, 100)
}
