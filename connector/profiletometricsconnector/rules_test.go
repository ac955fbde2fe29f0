// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/internal/pprofotlp"
	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// ruleOn is a rule on the stacks that match a pattern.
func ruleOn(name, expression, node string) string {
	return fmt.Sprintf("  %s: {expr: '%s', node: '%s'}\n", name, expression, node)
}

// TestRulesAgreeWithTheFunctionMetrics asks rules for what the function metrics
// of real profiles say: cumulative is a function anywhere on the stack, flat is
// one at its end.
func TestRulesAgreeWithTheFunctionMetrics(t *testing.T) {
	tests := []struct{ file, metric, expression string }{
		{"c-native-cpu", "cpu_time", ""},
		{"parca-heap", "memory_usage", `app.inuse_space`},
		{"parca-heap", "memory_allocation", `app.alloc_space{}`},
	}
	for _, tt := range tests {
		t.Run(tt.file+" "+tt.metric, func(t *testing.T) {
			profiles, err := pprofotlp.Convert(readPprof(t, filepath.Join("testdata", "pprof", tt.file+".pb.gz")))
			require.NoError(t, err)
			for _, resource := range profiles.ResourceProfiles().All() {
				resource.Resource().Attributes().PutStr("service.name", "app")
			}
			const limits = "metrics: {function: {limit: 0}}\naggregation_cardinality_limit: 0\nexport_rules:\n"
			functions := sumsOf(convert(t, limits+"  unused: {expr: nobody}\n", profiles))

			// The functions of one name are one series, whatever else is in
			// their names.
			names := slices.Sorted(maps.Keys(functions[tt.metric+".cumulative"]))
			names = slices.DeleteFunc(names, func(name string) bool { return strings.ContainsAny(name, ";'") })
			names = names[:min(len(names), 10)]
			rules := []string{limits, ruleOn("all", tt.expression, "total")}
			for i, name := range names {
				quoted := "(^|;)" + regexp.QuoteMeta(name)
				rules = append(rules,
					ruleOn(fmt.Sprintf("cumulative_%d", i), tt.expression, quoted+"(;|$)"),
					ruleOn(fmt.Sprintf("flat_%d", i), tt.expression, quoted+"$"))
			}
			byRule := sumsOf(convert(t, strings.Join(rules, ""), profiles))

			assert.InEpsilon(t, functions[tt.metric][""], byRule["all"][""], 1e-9)
			for i, name := range names {
				assert.InDelta(t, functions[tt.metric+".cumulative"][name], byRule[fmt.Sprintf("cumulative_%d", i)][""], 1e-6, name)
				assert.InDelta(t, functions[tt.metric+".flat"][name], byRule[fmt.Sprintf("flat_%d", i)][""], 1e-6, name)
			}
		})
	}
}

// TestRulesCostNothingPerSample counts allocations in steady state. There are as
// many stacks whatever the samples: with the race detector, regexp allocates.
func TestRulesCostNothingPerSample(t *testing.T) {
	const config = `
metrics: {cpu: {enabled: false}, memory: {enabled: false}, memory_usage: {enabled: false}}
metrics_flush_interval: 1m
dimensions: []
export_rules:
  by_thread: {expr: '{env=~"prod|test"}', group_by: [thread_name, env]}
  on_stacks: {node: 'a;b$'}
  live_bytes: {expr: api.inuse_space, node: ^main, group_by: [thread.name]}
`
	batch := func(samples int) pprofile.Profiles {
		var all []testprofile.Sample
		for i := range samples {
			all = append(all, testprofile.Sample{
				Stack:      testprofile.Stack(fmt.Sprint("leaf", i%10), "b", "a", "main"),
				Values:     []int64{1},
				Attributes: testprofile.Attributes{"thread.name": fmt.Sprint("thread", i/10%10)},
			})
		}
		profiles := testprofile.New(t, testprofile.Resource{
			Attributes: testprofile.Attributes{"service.name": "api", "env": "prod"},
			Profiles: []testprofile.Profile{
				{SampleType: "cpu/nanoseconds", Samples: all},
				{SampleType: "inuse_space/bytes", Samples: all},
			},
		})
		profiles.MarkReadOnly()
		return profiles
	}
	allocations := func(samples int) float64 {
		conn := start(t, config, new(consumertest.MetricsSink))
		defer func() { require.NoError(t, conn.Shutdown(t.Context())) }()
		profiles := batch(samples)
		for range 5 {
			consume(t, conn, profiles)
		}
		return testing.AllocsPerRun(20, func() { _ = conn.ConsumeProfiles(t.Context(), profiles) })
	}
	few, many := allocations(100), allocations(2000)
	assert.Less(t, many, few+20)
}
