// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// losesNothing looks at everything there is and drops no sample, so that what
// the metrics add up to can be told from the samples alone. Few functions and
// groups have series of their own.
const losesNothing = `
metrics:
  cpu: {unit: ns}
  function: {include: [{regex: '.*'}], exclude: [{equals: 'no such function'}], limit: 3}
dimensions: [process.executable.name, thread.name, code.file.path, profile.frame.type]
attributes:
  - {key: tier, value: backend}
  - {key: found, value: '(\w+)\.\w+', type: regex, from: [attribute, mapping, file, function], default: none}
process_filter: {enabled: true, patterns: ['.*'], exclude_patterns: ['no such process']}
thread_filter: {enabled: true, pattern: '.*'}
pattern_filter: {enabled: true, pattern: '.*', exclude_patterns: ['no such function']}
aggregation_cardinality_limit: 20
export_rules:
  by_total: {}
  by_stack: {node: '(?s).', expr: '{env!="no such environment"}'}
  by_group: {group_by: [thread_name, process.executable.name, absent], node: total}
`

// FuzzDictionary spoils valid messages: any index of any field may lead
// anywhere, and any table of the dictionary may be emptied, cut, doubled or
// have entries change places. Whatever the frames have become, the weights are
// those of the samples.
func FuzzDictionary(f *testing.F) {
	messages := messagesToSpoil(f)
	random := rand.NewChaCha8([32]byte{})
	for i := range messages {
		f.Add(uint8(i), []byte(nil))
		spoiling := make([]byte, 48)
		_, _ = random.Read(spoiling) // never fails
		f.Add(uint8(i), spoiling)
	}
	f.Fuzz(func(t *testing.T, message uint8, spoiling []byte) {
		profiles, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(messages[int(message)%len(messages)])
		require.NoError(t, err)
		spoil(profiles, &dice{spoiling})
		before := copied(t, profiles)

		requireNoCounterGoesBack(t, convert(t, useEverything, profiles, profiles))
		compareTotals(t, totalsOf(profiles), convert(t, losesNothing, profiles, profiles))
		assert.Equal(t, before, copied(t, profiles), "the message after conversion")
	})
}

// copied marshals a copy, as the marshaler changes its argument.
func copied(tb testing.TB, profiles pprofile.Profiles) []byte {
	tb.Helper()
	message := pprofile.NewProfiles()
	profiles.CopyTo(message)
	return marshal(tb, message)
}

// compareTotals expects what came of the same message sent twice: a counter
// counts it twice, a gauge once.
func compareTotals(t *testing.T, want map[string]float64, emitted []pmetric.Metrics) {
	t.Helper()
	got := sumsOf(emitted)
	want["cpu_time"] *= 2
	want["memory_allocation"] *= 2
	for metric, weight := range want {
		if weight > math.MaxInt64/4 {
			continue // may saturate, in one series earlier than in another
		}
		assert.InDelta(t, weight, got[metric][""], weight*1e-9, metric)
		flat := 0.0
		for _, value := range got[metric+".flat"] {
			flat += value
		}
		assert.InDelta(t, weight, flat, weight*1e-9, metric+".flat")
		assert.LessOrEqual(t, largestOf(emitted, metric+".cumulative"), weight*(1+1e-9), metric+".cumulative")
		if metric == "cpu_time" {
			for _, rule := range []string{"by_total", "by_stack", "by_group"} {
				assert.InDelta(t, weight/1e9, got[rule][""], weight/1e9*1e-9, rule)
			}
		}
	}
}

// largestOf is the largest value among the points of a metric.
func largestOf(emitted []pmetric.Metrics, name string) float64 {
	largest := 0.0
	for _, metrics := range emitted {
		for _, resource := range metrics.ResourceMetrics().All() {
			for _, metric := range resource.ScopeMetrics().At(0).Metrics().All() {
				if metric.Name() != name {
					continue
				}
				for _, point := range pointsOf(metric).All() {
					largest = max(largest, valueOf(point))
				}
			}
		}
	}
	return largest
}

// messagesToSpoil are the golden inputs, the smaller fixtures and the batch of
// a small host, as they are sent; those only whose weights can be told without
// more ado.
func messagesToSpoil(tb testing.TB) [][]byte {
	tb.Helper()
	host := testprofile.EBPF{Processes: 2, Functions: 9, Samples: 40, Stacks: 8}
	messages := append(rawSeeds(tb),
		marshal(tb, host.Profiles()),
		marshal(tb, testprofile.New(tb, twoSamples())))
	var chosen [][]byte
	for _, message := range messages {
		profiles, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(message)
		require.NoError(tb, err)
		if n := profiles.SampleCount(); n > 0 && n < 500 && hasSmallWeights(profiles) {
			chosen = append(chosen, message)
		}
	}
	require.Greater(tb, len(chosen), 20)
	require.LessOrEqual(tb, len(chosen), 256, "a byte chooses")
	return chosen
}

// hasSmallWeights is false where a counter would refuse a weight or saturate.
func hasSmallWeights(profiles pprofile.Profiles) bool {
	small := true
	eachProfile(profiles, func(profile pprofile.Profile) {
		for _, sample := range profile.Samples().All() {
			for _, value := range sample.Values().All() {
				small = small && value >= 0 && value < 1<<40
			}
		}
	})
	return small
}

func eachProfile(profiles pprofile.Profiles, do func(pprofile.Profile)) {
	for _, resource := range profiles.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			for _, profile := range scope.Profiles().All() {
				do(profile)
			}
		}
	}
}

// TestSpoiledMessagesAreWorthIt keeps the seeds from decaying into messages of
// which nothing is left to count, or in which nothing is spoiled.
func TestSpoiledMessagesAreWorthIt(t *testing.T) {
	random := rand.NewChaCha8([32]byte{})
	counted, changed := 0, 0
	messages := messagesToSpoil(t)
	for _, message := range messages {
		profiles, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(message)
		require.NoError(t, err)
		before := copied(t, profiles)
		spoiling := make([]byte, 48)
		_, _ = random.Read(spoiling) // never fails
		spoil(profiles, &dice{spoiling})
		if !bytes.Equal(before, copied(t, profiles)) {
			changed++
		}
		for _, total := range totalsOf(profiles) {
			if total > 0 {
				counted++
				break
			}
		}
	}
	assert.Equal(t, len(messages), changed)
	assert.Greater(t, counted, len(messages)/2)
}
