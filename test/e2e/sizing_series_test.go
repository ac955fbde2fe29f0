// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e && sizing

package e2e

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// measureMemory compares collectors, and Prometheus servers that scrape them, with many series and
// with few.
func measureMemory(t *testing.T, page *sizingPage) {
	t.Helper()
	rows := [][]string{{"series", "collector", "a series", "Prometheus", "a series"}}
	var few memory
	for _, processes := range []int{1, 25, 125} {
		m := memoryFor(t, processes)
		row := []string{thousands(m.series), size(m.collector), "", size(m.prometheus), ""}
		if few.series == 0 {
			few = m
		} else {
			more := float64(m.series - few.series)
			row[2], row[4] = size((m.collector-few.collector)/more), size((m.prometheus-few.prometheus)/more)
		}
		rows = append(rows, row)
	}
	page.table("memory", rows)
}

// memory is what processes use when there are so many series, in bytes of resident memory.
type memory struct {
	series                int
	collector, prometheus float64
}

// memoryFor sends profiles of processes with 500 functions each, and has what comes of them scraped.
func memoryFor(t *testing.T, processes int) memory {
	t.Helper()
	c := startConverter(t, unlimited+", metrics_flush_interval: 5s")
	defer c.stop()
	prom := startPrometheusWith(t, fmt.Sprintf(`
global: {scrape_interval: 10s, scrape_timeout: 10s}
scrape_configs: [{job_name: profiles, honor_labels: true, static_configs: [{targets: [%q]}]}]
`, c.metrics))
	defer prom.stop()
	host := testprofile.EBPF{Processes: processes, Functions: 500, Samples: 500 * processes, Stacks: 500 * processes}
	e := newExporter(t, c.otlpGRPC, host.Profiles(), plain)
	var series int
	stored := func() bool {
		series = int(gauge(t, c.telemetry, "otelcol_connector_profiletometrics_series"))
		count, err := prom.scalar(t.Context(), `count({__name__=~"cpu_time_.*"})`)
		return err == nil && int(count) == series
	}
	for begun := time.Now(); time.Since(begun) < duration() || !stored(); time.Sleep(time.Second) {
		require.NoError(t, e.send())
		require.Less(t, time.Since(begun), 2*time.Minute, "Prometheus does not have the series")
	}
	return memory{
		series:     series,
		collector:  gauge(t, c.telemetry, "otelcol_process_memory_rss"),
		prometheus: gauge(t, portOfAddress(t, prom.address), "process_resident_memory_bytes"),
	}
}

// gauge is a metric that a process serves about itself; several with one name are added up.
func gauge(t *testing.T, port, name string) (sum float64) {
	t.Helper()
	body, err := get(t.Context(), "http://127.0.0.1:"+port+"/metrics")
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^`+name+`(?:\{.*\})? (\S+)$`).FindAllSubmatch(body, -1)
	require.NotEmpty(t, found, name)
	for _, one := range found {
		value, err := strconv.ParseFloat(string(one[1]), 64)
		require.NoError(t, err)
		sum += value
	}
	return sum
}

// told is what telling a series at a flush costs.
type told struct {
	profilePlain, profileGzip float64 // bytes of a sample, on its way in
	otlpPlain, otlpGzip       float64 // bytes
	remoteWrite               float64 // bytes, compressed as the protocol asks for
	scrapePlain, scrapeGzip   float64 // bytes, of a scrape instead
	agent, gateway            float64 // s of CPU time
	series, memory            float64 // in and of the agent
}

// measureNetwork measures an agent of the page on fleets and a gateway, and sizes a node with it.
func measureNetwork(t *testing.T, page *sizingPage, samplesPerSecond float64) {
	t.Helper()
	goProgram := ofAGoProgram(t)
	node, program := measureFlushes(t, small), measureFlushes(t, goProgram)
	page.table("network", [][]string{
		{"bytes", small.name, goProgram.name},
		{"profiles in, a sample", size(node.profilePlain), size(program.profilePlain)},
		{"… with gzip", size(node.profileGzip), size(program.profileGzip)},
		{"metrics out by OTLP, a series and flush", size(node.otlpPlain), size(program.otlpPlain)},
		{"… with gzip", size(node.otlpGzip), size(program.otlpGzip)},
		{"metrics by remote write, a series and flush (snappy)", size(node.remoteWrite), size(program.remoteWrite)},
		{"metrics scraped, a series", size(node.scrapePlain), size(program.scrapePlain)},
		{"… with gzip", size(node.scrapeGzip), size(program.scrapeGzip)},
	})
	page.table("flush", [][]string{
		{"what", "CPU time of a series and flush", "series and flushes in a second, by one core"},
		{"agent: to hand on what it has", micros(node.agent), perSecond(1 / node.agent)},
		{"gateway: OTLP in, remote write out", micros(node.gateway), perSecond(1 / node.gateway)},
	})
	const busy, hertz, flush = 32, 20, 15
	page.table("node", [][]string{
		{"a node", ""},
		{"samples", fmt.Sprintf("%d a second: %d busy cores, sampled at %d Hz", busy*hertz, busy, hertz)},
		{"series", thousands(twoDigits(node.series))},
		{"CPU of the agent", fmt.Sprintf("%.1f %% of a core", 100*(busy*hertz/samplesPerSecond+node.series*node.agent/flush))},
		{"memory of the agent", size(node.memory)},
		{"profiles, if they left the node", size(busy*hertz*node.profileGzip) + "/s with gzip"},
		{"metrics that leave the node", size(node.series*program.otlpGzip/flush) + "/s with gzip"},
		{"CPU of the gateways, for 1,000 such nodes", fmt.Sprintf("%.1f cores", 1000*node.series*node.gateway/flush)},
	})
}

// measureFlushes has an agent convert a message and tell what came of it again and again.
func measureFlushes(t *testing.T, m message) told {
	t.Helper()
	backend, written := swallow(t)
	gateway := newMember(t, "gateway.yaml", "gateway-0", "exporters::prometheus_remote_write::endpoint: "+backend)
	wire := newWire(t, gateway.otlpGRPC)
	agent := newMember(t, "agent.yaml", "node-0", "exporters::otlp_grpc::endpoint: "+wire.address,
		"connectors::profiletometrics::metrics_flush_interval: 1s")
	runAll(t, gateway, agent)
	defer gateway.stop()
	defer agent.stop()
	cost := told{profilePlain: bytesOf(t, agent, m, plain), profileGzip: bytesOf(t, agent, m, gzipped)}

	// From here on nothing comes in, and all is told again at every flush.
	time.Sleep(severalFlushes)
	points, sent, stored := gateway.pointsTaken(t), wire.bytes.Load(), written.Load()
	agentTime, gatewayTime := agent.cpuTime(t), gateway.cpuTime(t)
	time.Sleep(duration())
	points = gateway.pointsTaken(t) - points
	cost.otlpPlain = plainBytes(t, m)
	cost.otlpGzip, cost.remoteWrite = float64(wire.bytes.Load()-sent)/points, float64(written.Load()-stored)/points
	cost.agent, cost.gateway = (agent.cpuTime(t)-agentTime)/points, (gateway.cpuTime(t)-gatewayTime)/points
	cost.series = gauge(t, agent.telemetry, "otelcol_connector_profiletometrics_series")
	cost.memory = gauge(t, agent.telemetry, "otelcol_process_memory_rss")
	cost.scrapePlain, cost.scrapeGzip = scrapedBytes(t, m)
	return cost
}

// bytesOf is how large a sample is on its way, when the connection has been used before.
func bytesOf(t *testing.T, to *member, m message, compression compression) float64 {
	t.Helper()
	e := newExporter(t, to.otlpGRPC, m.build(), compression)
	require.NoError(t, e.send())
	before := e.written.Load()
	const times = 3
	for range times {
		require.NoError(t, e.send())
	}
	return float64(e.written.Load()-before) / float64(times*e.samples)
}

// plainBytes is how large a series is in a flush that is not compressed.
func plainBytes(t *testing.T, m message) float64 {
	t.Helper()
	sink := new(consumertest.MetricsSink)
	conn := startConnector(t, sink)
	require.NoError(t, conn.ConsumeProfiles(t.Context(), m.build()))
	require.NoError(t, conn.Shutdown(t.Context()))
	flush := sink.AllMetrics()[0]
	return float64((&pmetric.ProtoMarshaler{}).MetricsSize(flush)) / float64(flush.DataPointCount())
}

// scrapedBytes is how large a series is in an answer to Prometheus.
func scrapedBytes(t *testing.T, m message) (inPlain, inGzip float64) {
	t.Helper()
	c := startConverter(t, "metrics_flush_interval: 1s, resource_attributes: {exclude: [process.pid, container.id]}")
	defer c.stop()
	require.NoError(t, newExporter(t, c.otlpGRPC, m.build(), plain).send())
	time.Sleep(severalFlushes)
	series := gauge(t, c.telemetry, "otelcol_connector_profiletometrics_series")
	asText, err := scrape(t, c, "identity")
	require.NoError(t, err)
	compressed, err := scrape(t, c, "gzip")
	require.NoError(t, err)
	return float64(asText) / series, float64(compressed) / series
}

func micros(seconds float64) string { return fmt.Sprintf("%.1f µs", seconds*1e6) }

func portOfAddress(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	return port
}
