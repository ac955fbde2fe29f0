// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	// polls is how often the receiver asks, at least, while profiles are written.
	polls = 20
	// catchUpTimeout is how long the receiver may be behind, with its delay of 3 s.
	catchUpTimeout = 30 * time.Second
	// outage is several intervals between polls.
	outage = 3 * time.Second
)

// receivesFromParca polls twice a second. A window ends so far in the past that profiles are in Parca
// by then, however busy the machine is.
const receivesFromParca = `
receivers:
  parca:
    endpoint: %q
    tls: {insecure: true}
    collection_interval: 500ms
    delay: 3s
    max_lookback: 5m
    storage: file_storage
    queries:
      - {name: shop, query: '` + workQuery + `', group_by: [pod]}
extensions:
  file_storage: {directory: %q}
`

// servesMetrics adds up in the collector and serves Prometheus, as config.yaml does.
const servesMetrics = `
connectors:
  profiletometrics:
    metrics: {cpu: {unit: ns}}
    metrics_flush_interval: 1s
exporters:
  prometheus: {endpoint: %q, resource_to_telemetry_conversion: {enabled: true}}
service:
  extensions: [file_storage]
  pipelines:
    profiles: {receivers: [parca], exporters: [profiletometrics]}
    metrics: {receivers: [profiletometrics], exporters: [prometheus]}
`

// sendsIncrements passes what each poll found to a gateway before the poll is over.
const sendsIncrements = `
connectors:
  profiletometrics:
    metrics: {cpu: {unit: ns}}
    aggregation_temporality: delta
    metrics_flush_interval: 0s
exporters:
  otlp_http:
    endpoint: %q
    compression: none
    sending_queue: {enabled: false}
    retry_on_failure: {enabled: false}
service:
  extensions: [file_storage]
  pipelines:
    profiles: {receivers: [parca], exporters: [profiletometrics]}
    metrics: {receivers: [profiletometrics], exporters: [otlp_http]}
`

// newParcaCollector writes a configuration with a storage of its own.
func newParcaCollector(t *testing.T, server *parca, pipelines string, to func(*collector) string) (c *collector, config string) {
	t.Helper()
	c = newCollector(t)
	dir := t.TempDir()
	text := fmt.Sprintf(receivesFromParca, server.address, dir) + fmt.Sprintf(pipelines, to(c))
	config = filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	return c, config
}

// Many polls find every profile once: their windows have no gap and no overlap.
func TestParcaProfilesBecomeExactMetrics(t *testing.T) {
	server := startParca(t)
	c, config := newParcaCollector(t, server, servesMetrics, func(c *collector) string { return c.metrics })
	c.runWith(t, config)
	prom := startPrometheus(t, c)

	var shop work
	stop := shop.run(t, server)
	requirePolls(t, prom, polls)
	stop()
	requireAmounts(t, prom, shop.reported(t, server))

	// A window that overlaps one before would add to what is there.
	requirePolls(t, prom, 3)
	requireAmounts(t, prom, shop.reported(t, server))
}

// requirePolls waits until the receiver has asked Parca so many times more.
func requirePolls(t *testing.T, prom *prometheus, n float64) {
	t.Helper()
	before := -1.0
	require.Eventually(t, func() bool {
		queries, err := prom.scalar(t.Context(), `sum(otelcol_receiver_parca_queries)`)
		if err != nil {
			return false // the collector has not been scraped yet
		}
		if before < 0 {
			before = queries
		}
		return queries >= before+n
	}, settleTimeout+time.Duration(2*n)*time.Second, pollInterval, "fewer than %v polls", n)
}

// Nothing is lost and nothing counted twice when the collector, Parca or what comes after fails.
func TestParcaProfilesOutliveFailures(t *testing.T) {
	server := startParca(t)
	sink := startGateway(t)
	c, config := newParcaCollector(t, server, sendsIncrements, func(*collector) string { return sink.server.URL })
	c.runWith(t, config)

	var shop work
	stop := shop.run(t, server)
	requireArrival(t, sink, &shop)

	t.Log("the collector is killed between two polls")
	c.kill()
	time.Sleep(outage)
	c.runWith(t, config)
	requireArrival(t, sink, &shop)

	t.Log("the collector is killed while it delivers")
	release := sink.hold()
	sink.awaitRequest(t)
	c.kill()
	release()
	c.runWith(t, config)
	requireArrival(t, sink, &shop)

	t.Log("Parca is stopped and started again with its data")
	shop.pause(func() {
		server.stop()
		time.Sleep(outage)
		server.run(t)
	})
	requireArrival(t, sink, &shop)

	t.Log("the pipeline refuses for a while")
	sink.refuse(true)
	sink.awaitRequest(t)
	time.Sleep(outage)
	sink.refuse(false)
	requireArrival(t, sink, &shop)

	for _, message := range []string{"Cannot query shop", "refused the profiles of the query shop"} {
		said := strings.Count(c.output.String(), message)
		assert.Positive(t, said, message)
		assert.LessOrEqual(t, said, 2, "%s: said when it changes, not with each poll", message)
	}

	stop()
	requireAmounts(t, startPrometheusFor(t, sink.address()), shop.reported(t, server))
}

// requireArrival waits until all that has been written by now has arrived at the gateway.
func requireArrival(t *testing.T, sink *gateway, shop *work) {
	t.Helper()
	target := shop.total()
	require.Eventually(t, func() bool { return sink.sum() >= target },
		catchUpTimeout, pollInterval, "the collector does not catch up")
}

// requireAmounts waits until Prometheus has these amounts and no others.
func requireAmounts(t *testing.T, prom *prometheus, want amounts) {
	t.Helper()
	require.EventuallyWithT(t, func(collect *assert.CollectT) {
		got := amounts{}
		for kind, metric := range map[string]string{
			"":           "cpu_time_nanoseconds_total",
			"flat":       "cpu_time_flat_nanoseconds_total",
			"cumulative": "cpu_time_cumulative_nanoseconds_total",
		} {
			result, err := prom.query(t.Context(), metric)
			require.NoError(collect, err)
			for _, one := range result {
				got[amount{one.labels["pod"], kind, one.labels["code_function_name"]}] += int64(one.value)
			}
		}
		assert.Equal(collect, want, got)
	}, catchUpTimeout+settleTimeout, pollInterval)
}
