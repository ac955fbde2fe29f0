// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/metadata"
	"github.com/profiletometrics/profiletometrics/internal/pprofotlp"
	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// BenchmarkConsumeProfiles compares, on the same payload and taking turns,
// decoding a batch (what a receiver does anyway), walking what was decoded
// without counting anything, and converting it in steady state. Times are reported per sample,
// and as ratios to decoding.
func BenchmarkConsumeProfiles(b *testing.B) {
	for _, payload := range payloads(b) {
		b.Run(payload.name, func(b *testing.B) {
			encoded, samples := encode(b, payload.build())
			limited := func(config *Config) { config.Metrics.Function.Limit = payload.limit }
			defaults := steadyConnector(b, decode(b, encoded), limited)
			selective := steadyConnector(b, decode(b, encoded), limited, tenExpressions)

			var decoding, walking, converting, selecting time.Duration
			b.ReportAllocs()
			b.ResetTimer()
			b.StopTimer()
			for range b.N {
				begun := time.Now()
				decoded := decode(b, encoded)
				decoding += time.Since(begun)

				begun = time.Now()
				walk(decoded)
				walking += time.Since(begun)
				b.StartTimer()

				begun = time.Now()
				require.NoError(b, defaults.ConsumeProfiles(context.Background(), decoded))
				converting += time.Since(begun)
				b.StopTimer()

				decoded = decode(b, encoded)
				begun = time.Now()
				require.NoError(b, selective.ConsumeProfiles(context.Background(), decoded))
				selecting += time.Since(begun)
			}
			n := float64(b.N) * float64(samples)
			b.ReportMetric(float64(decoding)/n, "decode-ns/sample")
			b.ReportMetric(float64(converting)/n, "convert-ns/sample")
			b.ReportMetric(float64(walking)/float64(decoding), "walk/decode")
			b.ReportMetric(float64(converting)/float64(decoding), "convert/decode")
			b.ReportMetric(float64(selecting)/float64(decoding), "select/decode")
		})
	}
}

type payload struct {
	name  string
	build func() pprofile.Profiles
	limit int // of functions; 0 for none
}

func payloads(b *testing.B) []payload {
	b.Helper()
	unique := testprofile.Host(20_000)
	unique.Stacks = 20_000
	return []payload{
		{name: "ebpf-2k", build: testprofile.Host(2_000).Profiles},
		{name: "ebpf-20k", build: testprofile.Host(20_000).Profiles},
		{name: "ebpf-200k", build: testprofile.Host(200_000).Profiles},
		{name: "ebpf-unique-20k", build: unique.Profiles},
		{name: "pprof-cpu", build: fromPprof(b, "testdata/pprof/gotool-cpu.pb.gz")},
		{name: "pprof-heap", build: fromPprof(b, "testdata/pprof/gotool-heap.pb.gz")},
		// Most functions overflow.
		{name: "ebpf-overflow-20k", build: testprofile.Host(20_000).Profiles, limit: 50},
		{name: "pprof-cpu-overflow", build: fromPprof(b, "testdata/pprof/gotool-cpu.pb.gz"), limit: 50},
	}
}

func fromPprof(b *testing.B, file string) func() pprofile.Profiles {
	b.Helper()
	return func() pprofile.Profiles {
		data, err := os.ReadFile(file)
		require.NoError(b, err)
		parsed, err := profile.ParseData(data)
		require.NoError(b, err)
		converted, err := pprofotlp.Convert(parsed)
		require.NoError(b, err)
		return converted
	}
}

func encode(b *testing.B, profiles pprofile.Profiles) ([]byte, int) {
	b.Helper()
	samples := profiles.SampleCount()
	encoded, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(profiles)
	require.NoError(b, err)
	return encoded, samples
}

func decode(b *testing.B, encoded []byte) pprofile.Profiles {
	b.Helper()
	decoded, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(encoded)
	require.NoError(b, err)
	return decoded
}

// tenExpressions extracts ten attributes, nine of which nothing matches.
func tenExpressions(config *Config) {
	for i := range 10 {
		value := fmt.Sprintf(`handlers\.\(\*Admin%d\)\.(\w+)`, i)
		if i == 0 {
			value = `^github\.com/(\w+)/`
		}
		config.Attributes = append(config.Attributes, AttributeConfig{
			Key:   fmt.Sprint("attribute", i),
			Value: value,
			Type:  attributeRegex,
		})
	}
}

// steadyConnector has seen the batch before, so that no series is new.
func steadyConnector(b *testing.B, profiles pprofile.Profiles, changes ...func(*Config)) *profilesToMetrics {
	b.Helper()
	config := createDefaultConfig().(*Config)
	config.MetricsFlushInterval, config.MetricsExpiration = time.Hour, 0
	config.AggregationCardinalityLimit = 0
	for _, change := range changes {
		change(config)
	}
	c, err := newProfilesToMetrics(connectortest.NewNopSettings(metadata.Type), config, consumertest.NewNop())
	require.NoError(b, err)
	require.NoError(b, c.Start(b.Context(), componenttest.NewNopHost()))
	b.Cleanup(func() { require.NoError(b, c.Shutdown(context.Background())) })
	for range 2 {
		require.NoError(b, c.ConsumeProfiles(b.Context(), profiles))
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
