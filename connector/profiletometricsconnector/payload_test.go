// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector

import (
	"os"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/internal/pprofotlp"
	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// payload is a message that benchmarks and allocation tests send again and
// again.
type payload struct {
	name  string
	build func() pprofile.Profiles
	// application is what rules name to reach its samples: empty for all CPU
	// time.
	application string
	// lift removes or sets limits; nil leaves the defaults.
	lift func(*Config)
	// further are messages of as many samples that take turns with the first.
	further []func() pprofile.Profiles
}

// payloads are the messages of an eBPF profiler on a host, and those made of
// Go's own profiles.
func payloads(tb testing.TB) []payload {
	tb.Helper()
	unique := testprofile.Host(20_000)
	unique.Stacks = 20_000
	const cpu, heap = "testdata/pprof/gotool-cpu.pb.gz", "testdata/pprof/gotool-heap.pb.gz"
	fewPlaces := func(config *Config) { config.Metrics.Function.Limit = 50 }
	var reordered []func() pprofile.Profiles
	for order := range uint64(3) {
		host := testprofile.Host(20_000)
		host.Order = order + 1
		reordered = append(reordered, host.Profiles)
	}
	return []payload{
		{name: "ebpf-2k", build: testprofile.Host(2_000).Profiles},
		{name: "ebpf-20k", build: testprofile.Host(20_000).Profiles},
		{name: "ebpf-200k", build: testprofile.Host(200_000).Profiles},
		{name: "ebpf-unique-20k", build: unique.Profiles},
		{name: "pprof-cpu", build: fromPprof(tb, cpu), application: "gotool"},
		{name: "pprof-heap", build: fromPprof(tb, heap), application: "gotool.alloc_space"},
		// No two messages in a row list their functions in the same order.
		{name: "ebpf-20k-reordered", build: testprofile.Host(20_000).Profiles, further: reordered},
		// What limits cost: every function has series, or most overflow. With the
		// defaults, those of the largest batch and of the pprof files do.
		{name: "ebpf-200k-unlimited", build: testprofile.Host(200_000).Profiles, lift: unlimited},
		{name: "pprof-cpu-unlimited", build: fromPprof(tb, cpu), application: "gotool", lift: unlimited},
		{name: "ebpf-20k-overflow", build: testprofile.Host(20_000).Profiles, lift: fewPlaces},
	}
}

func unlimited(config *Config) {
	config.Metrics.Function.Limit, config.AggregationCardinalityLimit = 0, 0
}

func (p payload) change(config *Config) {
	if p.lift != nil {
		p.lift(config)
	}
}

// fromPprof converts a file as the pprofscrape receiver does, for a service of
// the name gotool.
func fromPprof(tb testing.TB, file string) func() pprofile.Profiles {
	tb.Helper()
	return func() pprofile.Profiles {
		data, err := os.ReadFile(file)
		require.NoError(tb, err)
		parsed, err := profile.ParseData(data)
		require.NoError(tb, err)
		converted, err := pprofotlp.Convert(parsed)
		require.NoError(tb, err)
		for _, resource := range converted.ResourceProfiles().All() {
			resource.Resource().Attributes().PutStr("service.name", "gotool")
		}
		return converted
	}
}

// encodings are the messages of a payload, which all have so many samples.
func (p payload) encodings(tb testing.TB) (encodings [][]byte, samples int) {
	tb.Helper()
	for _, build := range append([]func() pprofile.Profiles{p.build}, p.further...) {
		var encoded []byte
		encoded, samples = encode(tb, build())
		encodings = append(encodings, encoded)
	}
	return encodings, samples
}

// encode marshals a message, which changes it, and counts its samples.
func encode(tb testing.TB, profiles pprofile.Profiles) (encoded []byte, samples int) {
	tb.Helper()
	samples = profiles.SampleCount()
	encoded, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(profiles)
	require.NoError(tb, err)
	return encoded, samples
}

func decode(tb testing.TB, encoded []byte) pprofile.Profiles {
	tb.Helper()
	decoded, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(encoded)
	require.NoError(tb, err)
	return decoded
}
