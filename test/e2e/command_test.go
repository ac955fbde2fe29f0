// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"os/exec"
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

	for kind, want := range map[string][]string{
		"connectors": {"profiletometrics"},
		"receivers":  {"otlp", "parca", "pprofscrape"},
		"processors": {"filter", "memory_limiter", "resource", "transform"},
		"exporters": {
			"debug", "file", "nop", "otlp_grpc", "otlp_http", "prometheus", "prometheus_remote_write",
		},
		"extensions": {"bearertokenauth", "file_storage", "health_check", "parcaquery", "pprof", "zpages"},
	} {
		node := listed[kind]
		var components []component
		require.NoError(t, node.Decode(&components), kind)
		var names []string
		for _, c := range components {
			names = append(names, c.Name)
		}
		assert.ElementsMatch(t, want, names, kind)
	}
}

// The README's troubleshooting quotes the errors of these tests; they are quoted right.
func TestStartingWithoutTheFeatureGateNamesIt(t *testing.T) {
	const message = `profiling signal support is at alpha level, gated under the "service.profilesSupport" feature gate`
	c := newCollector(t)
	c.run(t)
	require.Error(t, c.wait(t, failTimeout))
	assert.Contains(t, c.output.String(), message)
	assertInReadme(t, message)
}

func TestPortInUseIsNamed(t *testing.T) {
	taken := listen(t)
	defer func() { require.NoError(t, taken.Close()) }()
	c := newCollector(t)
	c.metrics = "127.0.0.1:" + portOf(t, taken)
	c.run(t, profilesSupport)
	require.Error(t, c.wait(t, failTimeout))
	assert.Contains(t, c.output.String(), `failed to start "prometheus" exporter: listen tcp `+c.metrics+": bind: address already in use")
	assertInReadme(t, `Error: cannot start pipelines: failed to start "prometheus" exporter: listen tcp 127.0.0.1:9464: bind: address already in use`)
}

func assertInReadme(t *testing.T, text string) {
	t.Helper()
	readme, err := os.ReadFile(repository + "/README.md")
	require.NoError(t, err)
	assert.True(t, bytes.Contains(readme, []byte(text)), "README.md does not quote: %s", text)
}
