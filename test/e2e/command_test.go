// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// failTimeout is how long a collector that cannot start may take to say so.
const failTimeout = 15 * time.Second

func TestComponentsListsWhatTheManifestNames(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), program(t, "OTELCOL_BIN"), "components").Output()
	require.NoError(t, err)
	type component struct{ Name string }
	var listed map[string]yaml.Node
	require.NoError(t, yaml.Unmarshal(output, &listed))

	described := page(t, "docs/configuration/index.md")
	for kind, want := range map[string][]string{
		"connectors": {"profiletometrics"},
		"receivers":  {"otlp", "parca", "pprofscrape"},
		"processors": {"filter", "memory_limiter", "resource", "transform"},
		"exporters": {
			"debug", "file", "nop", "otlp_grpc", "otlp_http", "prometheus", "prometheus_remote_write",
		},
		"extensions": {"bearertokenauth", "file_storage", "health_check", "parcaquery", "pprof", "profiletometricsz", "zpages"},
	} {
		node := listed[kind]
		var components []component
		require.NoError(t, node.Decode(&components), kind)
		var names []string
		for _, c := range components {
			names = append(names, c.Name)
		}
		assert.ElementsMatch(t, want, names, kind)
		for _, name := range names {
			assert.Contains(t, described, "`"+name+"`", "docs/configuration/index.md does not list the component")
		}
	}
}

// The README and the page on troubleshooting quote the errors of these tests; they are quoted right.
func TestStartingWithoutTheFeatureGateNamesIt(t *testing.T) {
	const message = `profiling signal support is at alpha level, gated under the "service.profilesSupport" feature gate`
	c := newCollector(t)
	c.run(t)
	require.Error(t, c.wait(t, failTimeout))
	assert.Contains(t, c.output.String(), message)
	assertQuoted(t, message)
}

func TestPortInUseIsNamed(t *testing.T) {
	taken := listen(t)
	defer func() { require.NoError(t, taken.Close()) }()
	c := newCollector(t)
	c.metrics = "127.0.0.1:" + portOf(t, taken)
	c.run(t, profilesSupport)
	require.Error(t, c.wait(t, failTimeout))
	assert.Contains(t, c.output.String(), `failed to start "prometheus" exporter: listen tcp `+c.metrics+": bind: address already in use")
	assertQuoted(t, `Error: cannot start pipelines: failed to start "prometheus" exporter: listen tcp 127.0.0.1:9464: bind: address already in use`)
}

// The configurations have the mistakes whose errors the page on troubleshooting quotes.
func TestMistakesInAConfigurationAreNamed(t *testing.T) {
	const pipelines = `
receivers: {pprofscrape: {targets: [{endpoint: %s}]}}
connectors: {profiletometrics: {%s}}
exporters: {nop: }
service:
  pipelines:
    profiles: {receivers: [pprofscrape], exporters: [profiletometrics]}
    metrics: {receivers: [profiletometrics], exporters: [nop]}
`
	for _, tc := range []struct {
		name, endpoint, connector string
		errors                    []string
	}{
		{
			"two mistakes are reported together", "localhost:6060", "process_filter: {enabled: true}",
			[]string{
				"receivers::pprofscrape: targets::0::endpoint: needs a scheme and a host; give a URL such as http://localhost:6060",
				"connectors::profiletometrics: process_filter.pattern: an enabled filter needs a pattern; " +
					"set pattern, patterns or exclude_patterns, or set process_filter.enabled to false",
			},
		},
		{
			"a key at the wrong depth is unknown", "http://localhost:6060", "function: {limit: 5}",
			[]string{"'profiletometricsconnector.Config' has invalid keys: function"},
		},
		{
			"points of single batches make no cumulative series", "http://localhost:6060", "metrics_flush_interval: 0s",
			[]string{
				"metrics_flush_interval: is 0s, which emits each batch on its own; " +
					"set aggregation_temporality to delta, or use a positive duration such as 15s",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, pipelines, tc.endpoint, tc.connector), 0o600))
			output, err := exec.CommandContext(t.Context(), program(t, "OTELCOL_BIN"), "validate", "--config", file, profilesSupport).CombinedOutput()
			require.Error(t, err)
			for _, message := range tc.errors {
				assert.Contains(t, string(output), message)
				assert.Contains(t, page(t, "docs/troubleshooting.md"), message)
			}
		})
	}
}

func assertQuoted(t *testing.T, text string) {
	t.Helper()
	for _, name := range []string{"README.md", "docs/troubleshooting.md"} {
		assert.Contains(t, page(t, name), text, name)
	}
}
