// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	cpu       = BuiltIn{Name: "cpu_time", Unit: "s"}
	allocated = BuiltIn{Name: "memory_allocation", Unit: "By"}
	live      = BuiltIn{Name: "memory_usage", Unit: "MiBy"}
)

// fed names the streams that a profile feeds, with their factors.
func fed(table *Table, profile Profile) map[string]int64 {
	names := map[string]int64{}
	for _, target := range table.Resolve(nil, profile) {
		names[table.Streams()[target.Stream].Name] = target.Factor
	}
	return names
}

func TestBuiltInMeasuresAreRecognisedByTypeAndUnit(t *testing.T) {
	table := NewTable(cpu, allocated, live, nil)
	none := map[string]int64{}
	for name, test := range map[string]struct {
		profile Profile
		want    map[string]int64
	}{
		"CPU time in nanoseconds":           {Profile{Type: "cpu", Unit: "nanoseconds"}, map[string]int64{"cpu_time": 1}},
		"CPU time in UCUM's milliseconds":   {Profile{Type: "process_cpu", Unit: "ms"}, map[string]int64{"cpu_time": 1e6}},
		"case does not matter":              {Profile{Type: "On_CPU", Unit: "Microseconds"}, map[string]int64{"cpu_time": 1e3}},
		"itimer in seconds":                 {Profile{Type: "itimer", Unit: "s"}, map[string]int64{"cpu_time": 1e9}},
		"samples with a CPU period":         {Profile{Type: "samples", Unit: "count", PeriodType: "cpu", PeriodUnit: "nanoseconds", Period: 10_000_000}, map[string]int64{"cpu_time": 10_000_000}},
		"a period in milliseconds":          {Profile{Type: "sample", Unit: "count", PeriodType: "itimer", PeriodUnit: "ms", Period: 5}, map[string]int64{"cpu_time": 5_000_000}},
		"cpu counted":                       {Profile{Type: "cpu", Unit: "count", PeriodType: "cpu", PeriodUnit: "ns", Period: 7}, map[string]int64{"cpu_time": 7}},
		"samples without a period":          {Profile{Type: "samples", Unit: "count", PeriodType: "cpu", PeriodUnit: "nanoseconds"}, none},
		"samples with a negative period":    {Profile{Type: "samples", Unit: "count", PeriodType: "cpu", PeriodUnit: "nanoseconds", Period: -1}, none},
		"samples per byte":                  {Profile{Type: "samples", Unit: "count", PeriodType: "space", PeriodUnit: "bytes", Period: 1}, none},
		"samples per wall time":             {Profile{Type: "samples", Unit: "count", PeriodType: "wall", PeriodUnit: "nanoseconds", Period: 1}, none},
		"samples per counted cycle":         {Profile{Type: "samples", Unit: "count", PeriodType: "cpu", PeriodUnit: "cycles", Period: 1}, none},
		"off-CPU time":                      {Profile{Type: "off_cpu", Unit: "nanoseconds"}, none},
		"wall time":                         {Profile{Type: "wall", Unit: "nanoseconds"}, none},
		"CPU in cycles":                     {Profile{Type: "process_cpu", Unit: "cycles"}, none},
		"allocated bytes":                   {Profile{Type: "alloc_space", Unit: "bytes"}, map[string]int64{"memory_allocation": 1}},
		"allocated kilobytes, pprof's":      {Profile{Type: "allocated_space", Unit: "kilobytes"}, map[string]int64{"memory_allocation": 1024}},
		"allocated kilobytes, UCUM's":       {Profile{Type: "allocated_bytes", Unit: "kBy"}, map[string]int64{"memory_allocation": 1000}},
		"Java's allocations":                {Profile{Type: "alloc_in_new_tlab_bytes", Unit: "bytes"}, map[string]int64{"memory_allocation": 1}},
		"Java's big allocations":            {Profile{Type: "alloc_outside_tlab_bytes", Unit: "By"}, map[string]int64{"memory_allocation": 1}},
		"allocated objects":                 {Profile{Type: "alloc_objects", Unit: "count"}, none},
		"live bytes":                        {Profile{Type: "inuse_space", Unit: "bytes"}, map[string]int64{"memory_usage": 1}},
		"live mebibytes":                    {Profile{Type: "live", Unit: "MiBy"}, map[string]int64{"memory_usage": 1 << 20}},
		"the heap's live size":              {Profile{Type: "heap_live_size", Unit: "byte"}, map[string]int64{"memory_usage": 1}},
		"live bytes that are not bytes":     {Profile{Type: "inuse_bytes", Unit: "count"}, none},
		"a profile that does not say what":  {Profile{}, none},
		"a name that only contains another": {Profile{Type: "cpu_wait", Unit: "nanoseconds"}, none},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, fed(table, test.profile))
		})
	}
}

func TestCPUTimeAndSampleCountsAreToldApart(t *testing.T) {
	table := NewTable(cpu, allocated, live, nil)
	nanoseconds := table.Resolve(nil, Profile{Type: "cpu", Unit: "nanoseconds"})
	require.Len(t, nanoseconds, 1)
	assert.True(t, nanoseconds[0].CPUTime)
	assert.False(t, nanoseconds[0].FromSampleCount)

	counts := table.Resolve(nil, Profile{Type: "samples", Unit: "count", PeriodType: "cpu", PeriodUnit: "ns", Period: 1})
	require.Len(t, counts, 1)
	assert.False(t, counts[0].CPUTime)
	assert.True(t, counts[0].FromSampleCount)
}

func TestDisabledMeasuresAreFedNothing(t *testing.T) {
	table := NewTable(BuiltIn{}, allocated, BuiltIn{}, nil)
	assert.Len(t, table.Streams(), 1)
	assert.Empty(t, fed(table, Profile{Type: "cpu", Unit: "nanoseconds"}))
	assert.Empty(t, fed(table, Profile{Type: "inuse_space", Unit: "bytes"}))
	assert.Equal(t, map[string]int64{"memory_allocation": 1}, fed(table, Profile{Type: "alloc_space", Unit: "bytes"}))
}

func TestBuiltInStreamsConvertToTheirUnit(t *testing.T) {
	table := NewTable(cpu, allocated, live, nil)
	assert.Equal(t, []Stream{
		{Name: "cpu_time", Unit: "s", PerUnit: 1e9, Double: true},
		{Name: "memory_allocation", Unit: "By", PerUnit: 1},
		{Name: "memory_usage", Unit: "MiBy", PerUnit: 1 << 20, Double: true, Snapshot: true},
	}, table.Streams())
}

func TestSampleTypesFeedTheStreamOfTheirUnit(t *testing.T) {
	for name, test := range map[string]struct {
		entry   SampleType
		profile Profile
		want    []Stream // that are fed
	}{
		"a count without units": {
			SampleType{Type: "goroutine", Name: "goroutines", Snapshot: true},
			Profile{Type: "goroutine", Unit: "count"},
			[]Stream{{Name: "goroutines", Unit: "{goroutine}", PerUnit: 1, Snapshot: true}},
		},
		"a count with a unit of its own": {
			SampleType{Type: "contentions", Unit: "count", Name: "contentions", MetricUnit: "{contention}"},
			Profile{Type: "contentions", Unit: "count"},
			[]Stream{{Name: "contentions", Unit: "{contention}", PerUnit: 1}},
		},
		"time without a metric unit stays in integer nanoseconds": {
			SampleType{Type: "delay", Name: "delay"},
			Profile{Type: "delay", Unit: "microseconds"},
			[]Stream{{Name: "delay", Unit: "ns", PerUnit: 1}},
		},
		"time with a metric unit is converted": {
			SampleType{Type: "delay", Name: "delay", MetricUnit: "s"},
			Profile{Type: "delay", Unit: "nanoseconds"},
			[]Stream{{Name: "delay", Unit: "s", PerUnit: 1e9, Double: true}},
		},
		"bytes without a metric unit stay integer bytes": {
			SampleType{Type: "space", Name: "space"},
			Profile{Type: "space", Unit: "kilobytes"},
			[]Stream{{Name: "space", Unit: "By", PerUnit: 1}},
		},
		"a sample unit of the same dimension matches": {
			SampleType{Type: "wall", Unit: "nanoseconds", Name: "wall", MetricUnit: "ms"},
			Profile{Type: "wall", Unit: "us"},
			[]Stream{{Name: "wall", Unit: "ms", PerUnit: 1e6, Double: true}},
		},
		"another unit does not match": {
			SampleType{Type: "events", Unit: "count", Name: "events"},
			Profile{Type: "events", Unit: "widgets"},
			nil,
		},
		"what does not convert does not match": {
			SampleType{Type: "wall", Name: "wall", MetricUnit: "s"},
			Profile{Type: "wall", Unit: "count"},
			nil,
		},
		"another type does not match": {
			SampleType{Type: "wall", Name: "wall"},
			Profile{Type: "walls", Unit: "count"},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			table := NewTable(BuiltIn{}, BuiltIn{}, BuiltIn{}, []SampleType{test.entry})
			var got []Stream
			for _, target := range table.Resolve(nil, test.profile) {
				got = append(got, table.Streams()[target.Stream])
			}
			assert.Equal(t, test.want, got)
		})
	}
}

func TestASampleTypeIsCountedBesideTheBuiltInMeasure(t *testing.T) {
	table := NewTable(cpu, allocated, live, []SampleType{{Type: "cpu", Name: "cpu_raw"}})
	assert.Equal(t, map[string]int64{"cpu_time": 1e6, "cpu_raw": 1e6}, fed(table, Profile{Type: "cpu", Unit: "ms"}))
}

func TestSumsAndProductsSaturate(t *testing.T) {
	numbers := []int64{math.MinInt64, math.MinInt64 + 1, -3037000500, -2, -1, 0, 1, 2, 3037000500, math.MaxInt64 - 1, math.MaxInt64}
	for _, a := range numbers {
		for _, b := range numbers {
			wide := new(big.Int).Add(big.NewInt(a), big.NewInt(b))
			assert.Equal(t, saturated(wide), Add(a, b), "%d + %d", a, b)
			wide.Mul(big.NewInt(a), big.NewInt(b))
			assert.Equal(t, saturated(wide), Multiply(a, b), "%d × %d", a, b)
			assert.Equal(t, saturated(wide), By(a).Of(b), "%d × %d", a, b)
		}
	}
}

func saturated(n *big.Int) int64 {
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() < 0:
		return math.MinInt64
	default:
		return math.MaxInt64
	}
}

func FuzzSumsAndProductsSaturate(f *testing.F) {
	f.Add(int64(math.MaxInt64), int64(1))
	f.Add(int64(math.MinInt64), int64(-1))
	f.Fuzz(func(t *testing.T, a, b int64) {
		wide := new(big.Int).Add(big.NewInt(a), big.NewInt(b))
		assert.Equal(t, saturated(wide), Add(a, b))
		wide.Mul(big.NewInt(a), big.NewInt(b))
		assert.Equal(t, saturated(wide), Multiply(a, b))
		assert.Equal(t, saturated(wide), By(a).Of(b))
	})
}
