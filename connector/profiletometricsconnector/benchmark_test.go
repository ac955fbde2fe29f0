// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector

import (
	"context"
	"runtime"
	"runtime/pprof"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/metadata"
)

// BenchmarkConsumeProfiles measures, on the same payload and taking turns,
//
//	a  decoding a batch, which a receiver has to do anyway,
//	b  a bare walk over every sample's locations,
//	c  converting it in steady state with the defaults, and
//	d  the same with ten regex attributes and ten export rules.
//
// It reports the median CPU time of each for a sample, the ratios of b, c and d to
// a, and the allocations of one call of c and d. The collection of garbage, which
// goes on beside them, is not in these times. The time for all four together,
// which is what the testing package measures, says nothing and is left out.
//
// In a profile of the benchmark, the label phase tells b, c and d apart:
// go tool pprof -tagfocus phase=d.
func BenchmarkConsumeProfiles(b *testing.B) {
	for _, payload := range payloads(b) {
		b.Run(payload.name, func(b *testing.B) {
			encodings, samples := payload.encodings(b)
			defaults := steadyConnector(b, decode(b, encodings[0]), payload.change)
			selective := steadyConnector(b, decode(b, encodings[0]), payload.change, tenAttributes, tenRules(payload.application))

			var a times
			phases := []struct {
				name string
				run  func(pprofile.Profiles)
				cpu  times
			}{
				{name: "b", run: walk},
				{name: "c", run: func(p pprofile.Profiles) { require.NoError(b, defaults.ConsumeProfiles(b.Context(), p)) }},
				{name: "d", run: func(p pprofile.Profiles) { require.NoError(b, selective.ConsumeProfiles(b.Context(), p)) }},
			}
			for _, encoded := range encodings[1:] {
				for i := range phases {
					phases[i].run(decode(b, encoded))
				}
			}
			stayOnThread(b)
			b.ResetTimer()
			for turn := range b.N {
				// Each finds a batch as a receiver leaves it: just decoded.
				for i := range phases {
					begun := cpuTime(b)
					decoded := decode(b, encodings[turn%len(encodings)])
					a = append(a, cpuTime(b)-begun)
					pprof.Do(b.Context(), pprof.Labels("phase", phases[i].name), func(context.Context) {
						begun := cpuTime(b)
						phases[i].run(decoded)
						phases[i].cpu = append(phases[i].cpu, cpuTime(b)-begun)
					})
				}
			}
			b.StopTimer()

			b.ReportMetric(a.median()/float64(samples), "a-cpu-ns/sample")
			for _, phase := range phases {
				b.ReportMetric(phase.cpu.median()/float64(samples), phase.name+"-cpu-ns/sample")
				b.ReportMetric(phase.cpu.median()/a.median(), phase.name+"/a")
			}
			decoded := decode(b, encodings[0])
			for _, phase := range phases[1:] {
				b.ReportMetric(testing.AllocsPerRun(3, func() { phase.run(decoded) }), phase.name+"-allocs/op")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// times are those of the iterations.
type times []time.Duration

// median is in nanoseconds.
func (t times) median() float64 {
	slices.Sort(t)
	return float64(t[len(t)/2])
}

// steadyConnector has seen the batch before, so that no series is new. It does
// not flush.
func steadyConnector(tb testing.TB, profiles pprofile.Profiles, changes ...func(*Config)) *profilesToMetrics {
	tb.Helper()
	config := createDefaultConfig().(*Config)
	config.MetricsFlushInterval, config.MetricsExpiration = time.Hour, 0
	for _, change := range changes {
		change(config)
	}
	require.NoError(tb, config.Validate())
	c, err := newProfilesToMetrics(connectortest.NewNopSettings(metadata.Type), config, consumertest.NewNop())
	require.NoError(tb, err)
	require.NoError(tb, c.Start(tb.Context(), componenttest.NewNopHost()))
	tb.Cleanup(func() { require.NoError(tb, c.Shutdown(context.Background())) })
	// There are as many batches of scratch memory as cores.
	for range runtime.GOMAXPROCS(0) + 1 {
		require.NoError(tb, c.ConsumeProfiles(tb.Context(), profiles))
	}
	return c
}

var walked int64

// walk reads every location index of every sample, and nothing else.
func walk(profiles pprofile.Profiles) {
	stacks := profiles.Dictionary().StackTable()
	sum := int64(0)
	for _, resource := range profiles.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			for _, profile := range scope.Profiles().All() {
				for _, sample := range profile.Samples().All() {
					locations := stacks.At(int(sample.StackIndex())).LocationIndices()
					for i := range locations.Len() {
						sum += int64(locations.At(i))
					}
				}
			}
		}
	}
	walked = sum
}
