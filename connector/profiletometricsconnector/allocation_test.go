// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/internal/livepage"
	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// allocationsOf counts those of one call for a batch that came before.
func allocationsOf(t *testing.T, c *profilesToMetrics, profiles pprofile.Profiles) float64 {
	t.Helper()
	return testing.AllocsPerRun(3, func() { _ = c.ConsumeProfiles(t.Context(), profiles) })
}

// aHandful is what the allocations of two sizes of a batch may differ by: the
// collection of garbage makes pools forget.
const aHandful = 16

// raceDetector is set where it is in use.
var raceDetector bool

// skipWithRaceDetector leaves tests of allocations to a run without it: it makes
// pools, such as regexp's, forget, and large batches take minutes.
func skipWithRaceDetector(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("make unit runs it without the race detector too")
	}
}

// TestSamplesAndStacksCostNoAllocation sends the batches of the same host with
// ten times, and with a hundred times as many samples and stacks.
func TestSamplesAndStacksCostNoAllocation(t *testing.T) {
	skipWithRaceDetector(t)
	batches := map[int]pprofile.Profiles{}
	for _, samples := range []int{2_000, 20_000, 200_000} {
		batches[samples] = testprofile.Host(samples).Profiles()
		batches[samples].MarkReadOnly()
	}
	for _, tt := range []struct {
		name   string
		change func(*Config)
	}{
		{name: "the defaults", change: func(*Config) {}},
		{name: "no limits", change: unlimited},
		{name: "most functions overflow", change: func(config *Config) { config.Metrics.Function.Limit = 5 }},
		{name: "a dimension of samples", change: func(config *Config) { config.Dimensions = []string{"thread.name"} }},
		{name: "rules on attributes of samples", change: func(config *Config) {
			config.ExportRules = map[string]ExportRuleConfig{"of_a_cpu": {
				Expr: `{cpu.logical_number=~"[0-3]"}`, GroupBy: []string{"cpu.logical_number", "thread_name"},
			}}
		}},
		{name: "attributes from functions", change: func(config *Config) {
			tenAttributes(config)
			config.Attributes = config.Attributes[:2]
		}},
		{name: "rules on stacks", change: stackRules},
	} {
		t.Run(tt.name, func(t *testing.T) {
			allocations := map[int]float64{}
			for samples, profiles := range batches {
				allocations[samples] = allocationsOf(t, steadyConnector(t, profiles, tt.change), profiles)
			}
			t.Logf("allocations by samples: %v", allocations)
			assert.InDelta(t, allocations[2_000], allocations[20_000], aHandful)
			assert.InDelta(t, allocations[20_000], allocations[200_000], aHandful)
		})
	}
}

// stackRules look at nothing but stacks and resources.
func stackRules(config *Config) {
	config.ExportRules = map[string]ExportRuleConfig{
		"profiled": {GroupBy: []string{"process.executable.name"}},
		"handlers": {Node: `Function00\d$`},
	}
}

// TestKnownSeriesCostNoAllocation sends a batch to a connector that knows
// nothing else, and to one that knows three times as many series of other hosts.
func TestKnownSeriesCostNoAllocation(t *testing.T) {
	skipWithRaceDetector(t)
	profiles := testprofile.Host(2_000).Profiles()
	profiles.MarkReadOnly()
	alone := steadyConnector(t, profiles, unlimited)

	amongMany := steadyConnector(t, profiles, unlimited)
	others := testprofile.Host(20_000).Profiles()
	for i, resource := range others.ResourceProfiles().All() {
		resource.Resource().Attributes().PutStr("host.name", fmt.Sprint("other", i))
	}
	require.NoError(t, amongMany.ConsumeProfiles(t.Context(), others))
	require.Greater(t, amongMany.store.Live(), alone.store.Live()+10_000)

	assert.InDelta(t, allocationsOf(t, alone, profiles), allocationsOf(t, amongMany, profiles), aHandful)
}

// blankPage is one that nobody looks at.
type blankPage struct{}

func (blankPage) Show(component.ID, func() livepage.Connector) func() { return func() {} }

// TestBeingWatchedCostsNoAllocation sends a batch to a connector that a page
// shows, and to one that none does.
func TestBeingWatchedCostsNoAllocation(t *testing.T) {
	skipWithRaceDetector(t)
	profiles := testprofile.Host(2_000).Profiles()
	profiles.MarkReadOnly()
	alone, watched := steadyConnector(t, profiles, unlimited), steadyConnector(t, profiles, unlimited)
	watched.show([]livepage.Page{blankPage{}}, time.Now())
	require.NoError(t, watched.ConsumeProfiles(t.Context(), profiles)) // the first that is counted
	assert.InDelta(t, allocationsOf(t, alone, profiles), allocationsOf(t, watched, profiles), aHandful)
	assert.NotEmpty(t, watched.live.Look().Taken)
}
