// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"

	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// TestWhatOverflowsIsCountedOnce compares, for random profiles and every limit,
// what comes out with the samples themselves: a function has either all of its
// weight or no series, and the overflow series have the rest.
func TestWhatOverflowsIsCountedOnce(t *testing.T) {
	for limit := 1; limit <= 15; limit++ {
		for seed := range uint64(10) {
			t.Run(fmt.Sprintf("limit %d, seed %d", limit, seed), func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, uint64(limit)))
				samples := randomSamples(random, 14)
				got := sumsOf(convert(t, fmt.Sprintf("metrics: {cpu: {unit: ns}, function: {limit: %d}}\ndimensions: [thread.name]\n", limit),
					testprofile.New(t, testprofile.Resource{Profiles: []testprofile.Profile{{SampleType: "cpu/nanoseconds", Samples: samples}}})))
				assert.LessOrEqual(t, len(withoutOverflow(got["cpu_time.cumulative"])), limit)

				assertCountedOnce(t, samples, "", got)
			})
		}
	}
}

// TestWhatOverflowsIsCountedOnceInEveryBatch does so for each of many batches,
// in which other functions overflow than in the one before, or the same, in
// another resource, or where one of them is excluded.
func TestWhatOverflowsIsCountedOnceInEveryBatch(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			excluded := map[string]string{"a": "", "b": "c"}
			sink := new(consumertest.MetricsSink)
			conn := start(t, `
metrics: {cpu: {unit: ns}, function: {limit: 4, exclude: [{equals: c, when: {service.name: b}}]}}
aggregation_temporality: delta
metrics_flush_interval: 0s
dimensions: [thread.name]
`, sink)
			for range 30 {
				service := string(rune('a' + random.IntN(2)))
				samples := randomSamples(random, 4+random.IntN(6))
				sink.Reset()
				consume(t, conn, testprofile.New(t, testprofile.Resource{
					Attributes: testprofile.Attributes{"service.name": service},
					Profiles:   []testprofile.Profile{{SampleType: "cpu/nanoseconds", Samples: samples}},
				}))
				assertCountedOnce(t, samples, excluded[service], sumsOf(sink.AllMetrics()))
			}
			require.NoError(t, conn.Shutdown(t.Context()))
		})
	}
}

// assertCountedOnce compares what came out with the samples, of which one
// function is excluded: those without series of their own are in overflow.
func assertCountedOnce(t *testing.T, samples []testprofile.Sample, excluded string, got sums) {
	t.Helper()
	own := maps.Clone(got["cpu_time.cumulative"])
	if excluded != "" {
		require.NotContains(t, own, excluded)
		if own == nil {
			own = map[string]float64{}
		}
		own[excluded] = 1 // not in overflow either
	}
	want := sums{"cpu_time": {}, "cpu_time.flat": {}, "cpu_time.cumulative": {}}
	for _, sample := range samples {
		want.addSample(sample, own)
	}
	for metric, functions := range want {
		for function, weight := range functions {
			if weight == 0 || excluded != "" && function == excluded {
				delete(functions, function)
			}
		}
		if len(functions) == 0 {
			functions = nil
		}
		assert.Equal(t, functions, got[metric], metric)
	}
}

func randomSamples(random *rand.Rand, functions int) []testprofile.Sample {
	samples := make([]testprofile.Sample, 1+random.IntN(30))
	for i := range samples {
		var stack []string
		for range 1 + random.IntN(6) { // with recursion
			stack = append(stack, string(rune('a'+random.IntN(functions))))
		}
		samples[i] = testprofile.Sample{
			Stack:      testprofile.Stack(stack...),
			Values:     []int64{1 + random.Int64N(1000)},
			Attributes: testprofile.Attributes{"thread.name": fmt.Sprint("t", random.IntN(3))},
		}
	}
	return samples
}

// addSample counts a sample where functions have series if they are in own.
// The key "" is that of totals and overflow.
func (s sums) addSample(sample testprofile.Sample, own map[string]float64) {
	weight := float64(sample.Values[0])
	s["cpu_time"][""] += weight
	seen := map[string]bool{}
	for i, location := range sample.Stack {
		function := location.Lines[0].Name
		if own[function] == 0 {
			function = ""
		}
		if i == 0 {
			s["cpu_time.flat"][function] += weight
		}
		if !seen[function] {
			seen[function] = true
			s["cpu_time.cumulative"][function] += weight
		}
	}
}

func withoutOverflow(functions map[string]float64) []string {
	var names []string
	for function := range functions {
		if function != "" {
			names = append(names, function)
		}
	}
	return names
}

// TestMemoryIsFlatWhileFunctionsChange feeds 10,000 batches of functions and
// processes that come once and never again, in a time in which all of them
// expire many times over.
func TestMemoryIsFlatWhileFunctionsChange(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, limits := range map[string]string{
		"within the limits": "metrics: {function: {limit: 0}}\naggregation_cardinality_limit: 0\n",
		"beyond the limits": "metrics: {function: {limit: 12}}\naggregation_cardinality_limit: 300\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := start(t, limits+"metrics_expiration: 1m\ndimensions: [thread.name]\n", consumertest.NewNop())
				// Function names are remembered until there are 65,536, which
				// is several times in each half: compare the peaks.
				const batches, measurements = 10_000, 100
				var peaks [2]int64
				for i := range batches {
					consume(t, conn, testprofile.New(t, changing(i)))
					time.Sleep(time.Second)
					if i%(batches/measurements) == 0 {
						half := i / (batches / 2)
						peaks[half] = max(peaks[half], liveHeap())
					}
				}
				require.NoError(t, conn.Shutdown(t.Context()))
				t.Logf("peaks of the live heap in the first and the second half: %d bytes", peaks)
				const perBatch = 200 // bytes, of the tens of thousands that each brings
				assert.Less(t, peaks[1]-peaks[0], int64(batches/2*perBatch))
			})
		})
	}
}

func changing(batch int) testprofile.Resource {
	samples := make([]testprofile.Sample, 30)
	for i := range samples {
		samples[i] = testprofile.Sample{
			Stack:      testprofile.Stack(fmt.Sprintf("leaf %d of batch %d", i, batch), fmt.Sprintf("caller in batch %d", batch), "main"),
			Values:     []int64{int64(i + 1)},
			Attributes: testprofile.Attributes{"thread.name": fmt.Sprint("thread ", batch)},
		}
	}
	return testprofile.Resource{
		Attributes: testprofile.Attributes{"process.pid": int64(batch / 10)},
		Profiles: []testprofile.Profile{
			{SampleType: "cpu/nanoseconds", Samples: samples},
			{SampleType: "inuse_space/bytes", Samples: samples},
		},
	}
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
