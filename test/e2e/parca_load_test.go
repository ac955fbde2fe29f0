// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// loadTime is how long the load goes on before numbers are compared.
const loadTime = 10 * time.Second

// methods are the methods of Parca's query service by what parca-load calls them.
var methods = map[string]string{
	"profile_types": "ProfileTypes",
	"labels":        "Labels",
	"values":        "Values",
	"range":         "QueryRange",
	"timestamps":    "QueryRange",
	"single":        "Query",
	"merge":         "Query",
}

// A real server answers everything that parca-load asks, and both count the same.
func TestParcaLoadCountsWhatParcaCounts(t *testing.T) {
	server := startParca(t)
	var shop work
	const profiles = 60
	for i := range profiles {
		require.NoError(t, shop.write(t.Context(), server, func() time.Time {
			return time.Now().Add(time.Duration(i-profiles) * time.Second)
		}))
	}

	address := "127.0.0.1:" + freePorts(t, 1)[0]
	load := start(t, nil, program(t, "PARCA_LOAD_BIN"), "-url", server.address, "-addr", address,
		"-query-interval", "2s", "-query-range", "5m;1h", "-labels", `{};{pod="a"}`)
	load.awaitServing(t, "http://"+address+"/metrics")
	time.Sleep(loadTime)

	// Between two rounds no request is under way, which one side has counted and the other has not.
	require.EventuallyWithT(t, func(collect *assert.CollectT) {
		before := asked(t, address)
		handled := sums(t, server.address, "grpc_server_handling_seconds", "grpc_method")
		require.Equal(collect, before, asked(t, address))
		for query, method := range methods {
			assert.Positive(collect, before[method], query)
			assert.Equal(collect, handled[method], before[method], method)
		}
	}, settleTimeout, pollInterval)
	for key := range sums(t, address, "parca_load_request_duration_seconds", "code") {
		assert.Equal(t, "OK", key, "the codes of all requests")
	}

	require.NoError(t, load.cmd.Process.Signal(syscall.SIGINT))
	require.NoError(t, load.wait(t, stopTimeout))
	t.Logf("parca-load:\n%s", load.output.String())
	assert.NotContains(t, load.output.String(), "last error")
}

// asked returns how many requests of each method parca-load has measured.
func asked(t *testing.T, address string) map[string]uint64 {
	t.Helper()
	byMethod := map[string]uint64{}
	for query, n := range sums(t, address, "parca_load_request_duration_seconds", "query") {
		byMethod[methods[query]] += n
	}
	return byMethod
}

// sums returns the counts of a histogram that is served at an address, added up by a label.
func sums(t *testing.T, address, histogram, label string) map[string]uint64 {
	t.Helper()
	body, err := get(t.Context(), "http://"+address+"/metrics")
	require.NoError(t, err)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	require.NoError(t, err)
	sums := map[string]uint64{}
	for _, metric := range families[histogram].GetMetric() {
		for _, pair := range metric.GetLabel() {
			if pair.GetName() == label {
				sums[pair.GetValue()] += metric.GetHistogram().GetSampleCount()
			}
		}
	}
	return sums
}
