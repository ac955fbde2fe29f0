// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The configuration of the recipe pushes to a Prometheus that scrapes nothing, with a token.
func TestTheRecipeForRemoteWritePushes(t *testing.T) {
	prom := startPrometheusWith(t, "scrape_configs: []", "--web.enable-remote-write-receiver")
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("secret"), 0o600))
	c := newCollector(t)
	config := replaced(t, fencedBlocks(page(t, "docs/recipes/remote-write.md"), "yaml")[0].text,
		"https://prometheus.example.com", "http://"+prom.address,
		"/var/run/secrets/prometheus-token", token,
		"localhost:4317", c.otlpGRPC,
		"metrics_flush_interval: 30s", "metrics_flush_interval: 1s",
	)
	c.runWith(t, config)
	sendGRPC(t, c.otlpGRPC, checkout(t))
	requireValues(t, prom, map[string]float64{
		`cpu_time_seconds_total{job="checkout"}`:                      1.75,
		`cpu_time_flat_seconds_total{code_function_name="main.work"}`: 1.5,
		`memory_usage_bytes{}`:                                        4096,
	})
}

// replaced writes a configuration of the documentation to a file, with other addresses and the like in it.
func replaced(t *testing.T, config string, pairs ...string) (file string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		require.Contains(t, config, pairs[i])
	}
	file = filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.NewReplacer(pairs...).Replace(config)), 0o600))
	return file
}
