// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/pdatatest/pmetrictest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// TestGolden runs each directory of testdata/golden through the real factory:
//
//   - config.yaml is what a user writes below profiletometrics:
//   - input.yaml is what arrives, in the notation of package testprofile,
//     with the arithmetic in comments
//   - output.yaml, or output-1.yaml, output-2.yaml … where there are several
//     flushes, is all that must come out, the flush at shutdown included
//
// The clock is a fake one that starts at 2000-01-01T00:00:00Z (946684800), so
// timestamps are compared too. Every value was computed by hand: a difference
// is settled by the comments, not by copying what came out. Descriptions are
// prose and not compared.
func TestGolden(t *testing.T) {
	for _, dir := range goldenCases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			test := readGolden(t, dir)
			compareFlushes(t, test.want, replay(t, test.config, test.input))
		})
	}
}

// TestOrderWithinABatchDoesNotMatter gives every golden case in reverse: its
// resources, scopes, profiles and samples from last to first.
func TestOrderWithinABatchDoesNotMatter(t *testing.T) {
	for _, dir := range goldenCases(t) {
		name := filepath.Base(dir)
		if strings.HasPrefix(name, "overflow-") {
			continue // who has a place already keeps it
		}
		t.Run(name, func(t *testing.T) {
			test := readGolden(t, dir)
			reverse(test.input)
			compareFlushes(t, test.want, replay(t, test.config, test.input))
		})
	}
}

type goldenCase struct {
	config string
	input  testprofile.Script
	want   []pmetric.Metrics
}

func goldenCases(t *testing.T) []string {
	t.Helper()
	configs, err := filepath.Glob(filepath.Join("testdata", "golden", "*", "config.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, configs)
	dirs := make([]string, len(configs))
	for i, config := range configs {
		dirs[i] = filepath.Dir(config)
	}
	return dirs
}

func readGolden(t *testing.T, dir string) goldenCase {
	t.Helper()
	config, err := os.ReadFile(filepath.Join(dir, "config.yaml"))
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "input.yaml"))
	require.NoError(t, err)
	input, err := testprofile.Parse(text)
	require.NoError(t, err)
	return goldenCase{config: string(config), input: input, want: readOutputs(t, dir)}
}

// readOutputs finds output.yaml, or output-1.yaml and so on, or, where nothing
// must come out, none.
func readOutputs(t *testing.T, dir string) []pmetric.Metrics {
	t.Helper()
	files := []string{filepath.Join(dir, "output.yaml")}
	if _, err := os.Stat(files[0]); err != nil {
		files, err = filepath.Glob(filepath.Join(dir, "output-*.yaml"))
		require.NoError(t, err)
	}
	outputs := make([]pmetric.Metrics, len(files))
	for i, file := range files {
		var err error
		outputs[i], err = golden.ReadMetrics(file)
		require.NoError(t, err, file)
	}
	return outputs
}

// replay plays the script to a connector that starts at the beginning of the
// fake clock and is shut down after the last batch.
func replay(t *testing.T, config string, script testprofile.Script) (emitted []pmetric.Metrics) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sink := new(consumertest.MetricsSink)
		conn := start(t, config, sink)
		for _, batch := range script.Batches {
			time.Sleep(batch.After)
			profiles, err := batch.Profiles()
			require.NoError(t, err)
			consume(t, conn, profiles)
		}
		time.Sleep(script.Wait)
		require.NoError(t, conn.Shutdown(t.Context()))
		emitted = sink.AllMetrics()
	})
	return emitted
}

func compareFlushes(t *testing.T, want, got []pmetric.Metrics) {
	t.Helper()
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			assert.Fail(t, fmt.Sprintf("flush %d of %d is missing", i+1, len(want)))
		case i >= len(want):
			assert.Fail(t, fmt.Sprintf("flush %d came on top of %d", i+1, len(want)), asYAML(t, got[i]))
		default:
			compareMetrics(t, i+1, want[i], got[i])
		}
	}
}

func compareMetrics(t *testing.T, flush int, want, got pmetric.Metrics) {
	t.Helper()
	clearDescriptions(want)
	clearDescriptions(got)
	joinMetrics(got)
	err := pmetrictest.CompareMetrics(want, got,
		pmetrictest.IgnoreResourceMetricsOrder(),
		pmetrictest.IgnoreMetricsOrder(),
		pmetrictest.IgnoreMetricDataPointsOrder(),
		pmetrictest.IgnoreDatapointAttributesOrder())
	if err != nil {
		assert.NoError(t, err, "flush %d is\n%s", flush, asYAML(t, got))
	}
}

func clearDescriptions(metrics pmetric.Metrics) {
	for _, resource := range metrics.ResourceMetrics().All() {
		for _, scope := range resource.ScopeMetrics().All() {
			for _, metric := range scope.Metrics().All() {
				metric.SetDescription("")
			}
		}
	}
}

// joinMetrics puts the points of metrics of one name together: series that
// vanished are marked in metrics of their own, which outputs need not repeat.
func joinMetrics(metrics pmetric.Metrics) {
	for _, resource := range metrics.ResourceMetrics().All() {
		for _, scope := range resource.ScopeMetrics().All() {
			gauges := map[string]pmetric.NumberDataPointSlice{}
			scope.Metrics().RemoveIf(func(metric pmetric.Metric) bool {
				if metric.Type() != pmetric.MetricTypeGauge {
					return false
				}
				points, known := gauges[metric.Name()]
				if !known {
					gauges[metric.Name()] = metric.Gauge().DataPoints()
					return false
				}
				metric.Gauge().DataPoints().MoveAndAppendTo(points)
				return true
			})
		}
	}
}

func asYAML(t *testing.T, metrics pmetric.Metrics) string {
	t.Helper()
	text, err := golden.MarshalMetricsYAML(metrics)
	require.NoError(t, err)
	return string(text)
}

func reverse(script testprofile.Script) {
	for _, batch := range script.Batches {
		slices.Reverse(batch.Resources)
		for _, resource := range batch.Resources {
			slices.Reverse(resource.Scopes)
			reverseProfiles(resource.Profiles)
			for _, scope := range resource.Scopes {
				reverseProfiles(scope.Profiles)
			}
		}
	}
}

func reverseProfiles(profiles []testprofile.Profile) {
	slices.Reverse(profiles)
	for _, profile := range profiles {
		slices.Reverse(profile.Samples)
	}
}
