// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// BenchmarkFlush hands on 20,000 cumulative series, of which nothing is new:
// 500 functions of each of 20 resources, flat and cumulative.
func BenchmarkFlush(b *testing.B) {
	resources := make([]testprofile.Resource, 20)
	for i := range resources {
		samples := make([]testprofile.Sample, 500)
		for j := range samples {
			samples[j] = testprofile.Sample{Stack: testprofile.Stack(fmt.Sprint("main.function", j)), Values: []int64{1e6}}
		}
		resources[i] = testprofile.Resource{
			Attributes: testprofile.Attributes{"service.name": fmt.Sprint("service-", i)},
			Profiles:   []testprofile.Profile{{SampleType: "cpu/nanoseconds", Samples: samples}},
		}
	}
	c := steadyConnector(b, testprofile.New(b, resources...), unlimited)
	series := float64(c.store.Live())
	require.InDelta(b, 20_000, series, 20)

	stayOnThread(b)
	begun := cpuTime(b)
	for b.Loop() {
		require.NoError(b, c.flush(b.Context()))
	}
	b.ReportMetric(float64(cpuTime(b)-begun)/float64(b.N)/series, "cpu-ns/series")
	b.ReportMetric(testing.AllocsPerRun(3, func() { _ = c.flush(b.Context()) })/series, "allocs/series")
}

// BenchmarkScaling compares what a sample costs in a batch of 20,000 and in one
// of 200,000, taking turns.
func BenchmarkScaling(b *testing.B) {
	few, many := testprofile.Host(20_000).Profiles(), testprofile.Host(200_000).Profiles()
	ofFew, ofMany := steadyConnector(b, few), steadyConnector(b, many)
	stayOnThread(b)
	var cpuOfFew, cpuOfMany time.Duration
	for b.Loop() {
		begun := cpuTime(b)
		require.NoError(b, ofFew.ConsumeProfiles(b.Context(), few))
		between := cpuTime(b)
		require.NoError(b, ofMany.ConsumeProfiles(b.Context(), many))
		cpuOfFew, cpuOfMany = cpuOfFew+between-begun, cpuOfMany+cpuTime(b)-between
	}
	perSample := func(cpu time.Duration, samples int) float64 { return float64(cpu) / float64(b.N) / float64(samples) }
	b.ReportMetric(perSample(cpuOfFew, 20_000), "20k-cpu-ns/sample")
	b.ReportMetric(perSample(cpuOfMany, 200_000), "200k-cpu-ns/sample")
	b.ReportMetric(perSample(cpuOfMany, 200_000)/perSample(cpuOfFew, 20_000), "200k/20k")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkTwoConsumers compares two goroutines that each convert a number of
// batches with one that converts as many alone, taking turns: a speedup of 2 is
// twice the work in the same time. On a machine that is busy with other things
// that says little, and the share of the time that the two wait for each other's
// locks says more. The batches come from two hosts, or have resources in common.
func BenchmarkTwoConsumers(b *testing.B) {
	if runtime.GOMAXPROCS(0) < 2 {
		b.Skip("needs two cores")
	}
	for _, hosts := range []struct {
		name    string
		ofOther string
	}{
		{"of two hosts", "b"},
		{"of the same resources", "a"},
	} {
		b.Run(hosts.name, func(b *testing.B) {
			batches := []pprofile.Profiles{ofHost("a"), ofHost(hosts.ofOther)}
			c := steadyConnector(b, batches[0], unlimited)
			for range 2 {
				consumeConcurrently(b, c, batches, 2)
			}

			const perTurn = 8 // batches, for the start of goroutines not to count
			var one, two, waited time.Duration
			for turn := 0; b.Loop(); turn++ {
				begun := time.Now()
				consumeConcurrently(b, c, batches[turn%2:][:1], perTurn)
				between, waitedBefore := time.Now(), waitedForLocks()
				consumeConcurrently(b, c, batches, perTurn)
				one, two = one+between.Sub(begun), two+time.Since(between)
				waited += waitedForLocks() - waitedBefore
			}
			b.ReportMetric(2*float64(one)/float64(two), "speedup")
			b.ReportMetric(float64(one)/float64(b.N*perTurn), "ns/batch")
			b.ReportMetric(float64(waited)/float64(2*two), "lock-wait/time")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// waitedForLocks is how long all goroutines together have waited so far.
func waitedForLocks() time.Duration {
	sample := []metrics.Sample{{Name: "/sync/mutex/wait/total:seconds"}}
	metrics.Read(sample)
	return time.Duration(sample[0].Value.Float64() * float64(time.Second))
}

// consumeConcurrently converts each of the batches so many times, in a
// goroutine of its own.
func consumeConcurrently(b *testing.B, c *profilesToMetrics, batches []pprofile.Profiles, times int) {
	b.Helper()
	var group sync.WaitGroup
	for _, profiles := range batches {
		group.Go(func() {
			for range times {
				if err := c.ConsumeProfiles(b.Context(), profiles); err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// ofHost is a batch of 20,000 samples of a host.
func ofHost(name string) pprofile.Profiles {
	profiles := testprofile.Host(20_000).Profiles()
	for _, resource := range profiles.ResourceProfiles().All() {
		resource.Resource().Attributes().PutStr("host.name", name)
	}
	profiles.MarkReadOnly()
	return profiles
}
