// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi/parcatest"
)

const parcaqueryConfig = `
extensions:
  parcaquery:
    endpoint: 127.0.0.1:%s
    parca: {endpoint: %q, tls: {insecure: true}}
receivers: {otlp: {protocols: {grpc: {endpoint: "127.0.0.1:0"}}}}
exporters: {nop: {}}
service:
  extensions: [parcaquery]
  telemetry: {metrics: {level: none}}
  pipelines: {metrics: {receivers: [otlp], exporters: [nop]}}
`

// startParcaquery starts the distribution in front of a Parca server, and returns the URL of a query
// with the first answer to it.
func startParcaquery(t *testing.T, parca string, query url.Values) (collector *process, target string, answer []byte) {
	t.Helper()
	port := freePorts(t, 1)[0]
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, parcaqueryConfig, port, parca), 0o600))
	collector = start(t, nil, program(t, "OTELCOL_BIN"), "--config", file)
	target = "http://127.0.0.1:" + port + "/parcaquery?" + query.Encode()
	collector.awaitServing(t, target)
	answer, err := get(t.Context(), target)
	require.NoError(t, err)
	return collector, target, answer
}

// The distribution answers with what a real Parca server was recorded to say: 10 s of CPU time of
// one instance, of which main.run and what it calls have 9 s.
func TestParcaqueryAnswersWithFlamegraphs(t *testing.T) {
	_, parca := parcatest.Start(t)
	collector, target, body := startParcaquery(t, parca, url.Values{
		"query":      {`process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{job="fix",instance="a:1"}`},
		"start":      {"2026-07-01T12:00:00Z"},
		"end":        {"2026-07-01T12:00:30Z"},
		"reportType": {"json_flamegraph"},
	})
	type node struct {
		Name     string
		Value    int64
		Children []node
	}
	var root node
	require.NoError(t, json.Unmarshal(body, &root))
	assert.Equal(t, int64(10_000_000_000), root.Value)
	require.Len(t, root.Children, 1)
	assert.Equal(t, "main.main", root.Children[0].Name)
	require.Len(t, root.Children[0].Children, 2)
	assert.Equal(t, "main.run", root.Children[0].Children[0].Name)
	assert.Equal(t, int64(9_000_000_000), root.Children[0].Children[0].Value)

	_, err := get(t.Context(), target+"&groupBy=job")
	require.ErrorContains(t, err, "400 Bad Request")
	require.ErrorContains(t, err, "json_flamegraph does not tell groups apart")

	collector.stop()
	require.NoError(t, collector.err)
}

// The stacks of a real Parca server add up, for each pod and function, to what its pprof report does.
func TestParcaqueryAnswersWithWhatParcaReports(t *testing.T) {
	server := startParca(t)
	var shop work
	for range 10 {
		require.NoError(t, shop.write(t.Context(), server, time.Now))
	}
	_, _, body := startParcaquery(t, server.address, url.Values{
		"query":      {workQuery},
		"start":      {shop.first.Format(time.RFC3339Nano)},
		"end":        {shop.last.Format(time.RFC3339Nano)},
		"reportType": {"json_stacks"},
		"groupBy":    {"pod"},
	})
	var answer struct {
		Total   int64 `json:"total_value"`
		Samples []struct {
			Value  int64
			Labels struct{ Pod string }
			Stack  []struct {
				Function string `json:"function_name"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(body, &answer))
	got := amounts{}
	for _, sample := range answer.Samples {
		var names []string
		for _, frame := range slices.Backward(sample.Stack) { // from the root
			names = append(names, frame.Function)
		}
		got.add(sample.Labels.Pod, sample.Value, names)
	}
	assert.Equal(t, shop.reported(t, server), got)
	assert.Equal(t, shop.total(), answer.Total)
}
