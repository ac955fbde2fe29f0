// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// honor_labels keeps the job and instance that the exporter derives from the resource.
const scrapeConfig = `
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - job_name: profiles
    honor_labels: true
    static_configs: [{targets: [%q]}]
  - job_name: collector
    static_configs: [{targets: [%s]}]
`

// prometheus is a server that scrapes metrics of profiles, and a collector's own.
type prometheus struct {
	*process
	address string
}

func startPrometheus(t *testing.T, c *collector) *prometheus {
	t.Helper()
	return startPrometheusFor(t, c.metrics, "127.0.0.1:"+c.telemetry)
}

func startPrometheusFor(t *testing.T, profiles string, collectors ...string) *prometheus {
	t.Helper()
	return startPrometheusWith(t, fmt.Sprintf(scrapeConfig, profiles, strings.Join(collectors, ", ")))
}

// startPrometheusWith starts a server with a configuration, and flags besides those that all have.
func startPrometheusWith(t *testing.T, text string, flags ...string) *prometheus {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))

	p := &prometheus{address: "127.0.0.1:" + freePorts(t, 1)[0]}
	p.process = start(t, nil, program(t, "PROMETHEUS_BIN"), append([]string{
		"--config.file=" + config,
		"--storage.tsdb.path=" + filepath.Join(dir, "data"),
		"--web.listen-address=" + p.address,
		"--log.level=warn",
		"--enable-feature=exemplar-storage",
	}, flags...)...)
	p.awaitServing(t, "http://"+p.address+"/-/ready")
	return p
}

// series is one element of a query's result.
type series struct {
	labels map[string]string
	value  float64
}

// query evaluates a PromQL expression now.
func (p *prometheus) query(ctx context.Context, expr string) ([]series, error) {
	body, err := get(ctx, "http://"+p.address+"/api/v1/query?query="+url.QueryEscape(expr))
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any // time, value as text
			}
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("answer to %s: %w", expr, err)
	}
	result := make([]series, 0, len(answer.Data.Result))
	for _, one := range answer.Data.Result {
		text, ok := one.Value[1].(string)
		if !ok {
			return nil, fmt.Errorf("answer to %s: value %v is no text", expr, one.Value[1])
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("answer to %s: %w", expr, err)
		}
		result = append(result, series{labels: one.Metric, value: value})
	}
	return result, nil
}

// scalar evaluates an expression whose result has one series, and returns its value.
func (p *prometheus) scalar(ctx context.Context, expr string) (float64, error) {
	result, err := p.query(ctx, expr)
	if err != nil {
		return 0, err
	}
	if len(result) != 1 {
		return 0, fmt.Errorf("%s has %d series, not one", expr, len(result))
	}
	return result[0].value, nil
}
