// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	// visibleWithin is the promise of the README: that long after the start, there are metrics.
	visibleWithin = 30 * time.Second
	// settleTimeout is how long Prometheus may take to see what the exporter serves.
	settleTimeout = 30 * time.Second
)

// The collector profiles itself, as config.yaml has it, and Prometheus sees which functions used
// CPU and memory.
func TestCollectorProfilesItself(t *testing.T) {
	c := startCollector(t)
	prom := startPrometheus(t, c)

	for _, metric := range []string{
		"cpu_time_seconds_total", "cpu_time_flat_seconds_total", "cpu_time_cumulative_seconds_total",
		"memory_allocation_bytes_total", "memory_allocation_flat_bytes_total", "memory_allocation_cumulative_bytes_total",
		"memory_usage_bytes", "memory_usage_flat_bytes", "memory_usage_cumulative_bytes",
	} {
		pattern := regexp.MustCompile(`(?m)^` + metric + `\{.*\} `)
		require.Eventually(t, func() bool {
			body, err := get(t.Context(), "http://"+c.metrics+"/metrics")
			return err == nil && pattern.Match(body)
		}, time.Until(c.started.Add(visibleWithin)), pollInterval, "%s is not served %s after the start", metric, visibleWithin)
	}
	t.Logf("all metrics are served %s after the start", time.Since(c.started).Round(time.Second))

	const self = `{service_name="otelcol-profiletometrics"`
	t.Run("every function has its real name", func(t *testing.T) {
		for _, metric := range []string{
			"cpu_time_flat_seconds_total", "cpu_time_cumulative_seconds_total",
			"memory_allocation_flat_bytes_total", "memory_usage_flat_bytes",
		} {
			require.EventuallyWithT(t, func(collect *assert.CollectT) {
				// A Go function has its package before the dot: runtime.mallocgc.
				named, err := prom.query(t.Context(), metric+self+`,code_function_name=~"[a-z].*\\..+"}`)
				require.NoError(collect, err)
				assert.NotEmpty(collect, named)
				nameless, err := prom.query(t.Context(), metric+self+`,code_function_name="",otel_metric_overflow=""}`)
				require.NoError(collect, err)
				assert.Empty(collect, nameless)
			}, settleTimeout, pollInterval, metric)
		}
		// The whole program runs below these.
		require.EventuallyWithT(t, func(collect *assert.CollectT) {
			_, err := prom.scalar(t.Context(),
				`memory_usage_cumulative_bytes`+self+`,code_function_name="runtime.main"}`)
			assert.NoError(collect, err)
		}, settleTimeout, pollInterval)
	})

	t.Run("flat values add up to the total", func(t *testing.T) {
		for _, metric := range [][2]string{
			{"cpu_time_flat_seconds_total", "cpu_time_seconds_total"},
			{"memory_allocation_flat_bytes_total", "memory_allocation_bytes_total"},
			{"memory_usage_flat_bytes", "memory_usage_bytes"},
		} {
			// Repeated, as a scrape may fall into the moment in which the exporter is updated.
			require.EventuallyWithT(t, func(collect *assert.CollectT) {
				total, err := prom.scalar(t.Context(), "sum("+metric[1]+self+"})")
				require.NoError(collect, err)
				assert.Positive(collect, total)
				// In one query, so that both are of one moment.
				ratio, err := prom.scalar(t.Context(), "sum("+metric[0]+self+"}) / sum("+metric[1]+self+"})")
				require.NoError(collect, err)
				assert.InEpsilon(collect, 1, ratio, 1e-9)
			}, settleTimeout, pollInterval, metric[0])
		}
	})

	t.Run("no function has more than the total", func(t *testing.T) {
		require.EventuallyWithT(t, func(collect *assert.CollectT) {
			share, err := prom.scalar(t.Context(), "max(cpu_time_cumulative_seconds_total"+self+
				"}) / scalar(sum(cpu_time_seconds_total"+self+"}))")
			require.NoError(collect, err)
			assert.Positive(collect, share)
			assert.LessOrEqual(collect, share, 1+1e-9)
		}, settleTimeout, pollInterval)
	})

	t.Run("the collector's own metrics count the samples", func(t *testing.T) {
		require.EventuallyWithT(t, func(collect *assert.CollectT) {
			samples, err := prom.scalar(t.Context(),
				`sum(otelcol_connector_profiletometrics_samples{outcome="converted"})`)
			require.NoError(collect, err)
			assert.Positive(collect, samples)
		}, settleTimeout, pollInterval)
	})

	t.Run("promtool finds nothing wrong with the metrics", func(t *testing.T) {
		promtool := promtool(t)
		body, err := get(t.Context(), "http://"+c.metrics+"/metrics")
		require.NoError(t, err)
		check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
		check.Stdin = bytes.NewReader(body)
		output, err := check.CombinedOutput()
		require.NoError(t, err, "%s", output)
	})

	t.Run("the collector ends in good order", func(t *testing.T) {
		c.stop()
		require.NoError(t, c.err)
		for line := range strings.Lines(c.output.String()) {
			assert.NotContains(t, line, "\terror\t")
			assert.NotContains(t, line, "panic")
		}
	})
}
