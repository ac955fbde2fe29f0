// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	repository      = "../.."
	configFile      = repository + "/config.yaml"
	profilesSupport = "--feature-gates=+service.profilesSupport"

	readyTimeout = 30 * time.Second
	pollInterval = 200 * time.Millisecond
)

// collector is the distribution, run with config.yaml on free ports.
type collector struct {
	*process
	started time.Time
	// addresses, host:port
	pprof, otlpGRPC, otlpHTTP, metrics, page, telemetry string
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	c := newCollector(t)
	c.run(t, profilesSupport)
	c.awaitServing(t, "http://"+c.metrics+"/metrics")
	return c
}

// newCollector chooses the addresses of a collector that does not run yet.
func newCollector(t *testing.T) *collector {
	t.Helper()
	ports := freePorts(t, 6)
	const host = "127.0.0.1:"
	return &collector{
		pprof:     host + ports[0],
		otlpGRPC:  host + ports[1],
		otlpHTTP:  host + ports[2],
		metrics:   host + ports[3],
		page:      host + ports[4],
		telemetry: ports[5],
	}
}

// run starts the collector with config.yaml, the first time or again.
func (c *collector) run(t *testing.T, args ...string) {
	t.Helper()
	c.start(t, configFile, args...)
}

// runWith starts the collector with another configuration, and waits until it is ready.
func (c *collector) runWith(t *testing.T, config string) {
	t.Helper()
	c.start(t, config, profilesSupport)
	c.awaitServing(t, "http://127.0.0.1:"+c.telemetry+"/metrics")
}

func (c *collector) start(t *testing.T, config string, args ...string) {
	t.Helper()
	env := []string{
		"PPROF_ENDPOINT=" + c.pprof,
		"OTLP_GRPC_ENDPOINT=" + c.otlpGRPC,
		"OTLP_HTTP_ENDPOINT=" + c.otlpHTTP,
		"PROMETHEUS_ENDPOINT=" + c.metrics,
		"PROFILETOMETRICSZ_ENDPOINT=" + c.page,
	}
	// config.yaml leaves the collector's own metrics at their default; only the port differs here.
	telemetry := fmt.Sprintf("yaml:service::telemetry::metrics::readers: [{pull: {exporter: {prometheus: "+
		"{host: 127.0.0.1, port: %s, without_scope_info: true, without_units: true, without_type_suffix: true}}}}]",
		c.telemetry)
	args = append([]string{"--config", config, "--config", telemetry}, args...)
	c.started = time.Now()
	c.process = start(t, env, program(t, "OTELCOL_BIN"), args...)
}

// awaitServing returns when the address answers, and ends the test if the process ends before.
func (p *process) awaitServing(t *testing.T, url string) {
	t.Helper()
	deadline := time.Now().Add(readyTimeout)
	for {
		_, err := get(t.Context(), url)
		if err == nil {
			return
		}
		select {
		case <-p.ended:
			require.FailNow(t, p.name+" ended", "%v", p.err)
		case <-time.After(pollInterval):
		}
		if time.Now().After(deadline) {
			require.FailNow(t, p.name+" is not ready after "+readyTimeout.String(), "%v", err)
		}
	}
}

// get returns the body of a successful answer.
func get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s: %s", url, response.Status, body)
	}
	return body, nil
}
