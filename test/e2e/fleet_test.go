// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

const (
	// inNanoseconds makes the values in Prometheus integers, which doubles hold exactly.
	inNanoseconds = "connectors::profiletometrics::metrics::cpu::unit: ns"
	flushesFast   = "connectors::profiletometrics::metrics_flush_interval: 500ms"
	// severalFlushes is how long it takes for what was sent to be flushed, many times over.
	severalFlushes = 2 * time.Second
)

// Four agents, two gateways, one of which is killed and comes back: Prometheus has what was sent.
func TestFleetOfAgentsAndGateways(t *testing.T) {
	prom := startPrometheusWith(t, "global: {}", "--web.enable-remote-write-receiver")
	write := "exporters::prometheus_remote_write::endpoint: http://" + prom.address + "/api/v1/write"
	// As in a cluster, gateways have one port and differ in their addresses. Linux has all of 127.0.0.0/8.
	port := freePorts(t, 1)[0]
	addresses := []string{"127.0.0.1", "127.0.0.2"}
	var gateways []*member
	for i, address := range addresses {
		gateways = append(gateways, newMember(t, "gateway.yaml", fmt.Sprint("gateway-", i), write,
			"receivers::otlp::protocols::grpc::endpoint: "+address+":"+port))
	}
	target := serveNames(t, "gateways.test", port, addresses...)

	var agents []*member
	var profilers []*profiler
	for i := range 4 {
		agent := newMember(t, "agent.yaml", fmt.Sprint("node-", i), inNanoseconds, flushesFast,
			"exporters::otlp_grpc::endpoint: "+target)
		agents = append(agents, agent)
		profilers = append(profilers, newProfiler(t, i, agent))
	}
	runAll(t, append(gateways, agents...)...)
	for _, p := range profilers {
		p.run()
	}
	requireArrived(t, prom, profilers)
	for _, gateway := range gateways {
		assert.Positive(t, gateway.pointsTaken(t), "%s has got nothing", gateway.name)
	}

	t.Log("a gateway is killed: what is sent from now on arrives through the other")
	gateways[0].kill()
	requireArrived(t, prom, profilers)

	t.Log("it is started again, and takes its part")
	runAll(t, gateways[0])
	require.Eventually(t, func() bool { return gateways[0].pointsTaken(t) > 0 }, settleTimeout, pollInterval)
	requireArrived(t, prom, profilers)

	for i, p := range profilers {
		p.end()
		requireExactly(t, prom, fmt.Sprintf(`{service_name="shop",collector_instance_id=%q}`, agents[i].name), p)
	}
}

// Deltas wait on disk for a gateway that was killed, and for an agent that was.
func TestFleetOfDeltas(t *testing.T) {
	backend := startGateway(t)
	prom := startPrometheusFor(t, backend.address())
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("secret"), 0o600))
	gateway := newMember(t, "delta-gateway.yaml", "gateway-0",
		"extensions::bearertokenauth::filename: "+token,
		"exporters::otlp_http: {endpoint: '"+backend.server.URL+"', compression: none, timeout: 30s}")
	agent := newMember(t, "delta-agent.yaml", "node-0", inNanoseconds, flushesFast,
		"extensions::file_storage::directory: "+t.TempDir(),
		"exporters::otlp_grpc: {endpoint: '"+gateway.otlpGRPC+"', timeout: 30s}")
	p := newProfiler(t, 1, agent)
	runAll(t, gateway, agent)
	p.run()
	require.Eventually(t, func() bool { return backend.sum() > 0 }, settleTimeout, pollInterval)

	t.Log("the gateway is killed while the backend holds what it sends")
	release := backend.hold()
	backend.awaitRequest(t)
	gateway.kill()
	release()
	runAll(t, gateway)
	before := p.sent()
	require.Eventually(t, func() bool { return backend.sum() >= before }, settleTimeout, pollInterval)

	t.Log("the agent is killed while its flushes wait in the queue")
	release = backend.hold()
	backend.awaitRequest(t)
	time.Sleep(severalFlushes)
	p.end()
	time.Sleep(severalFlushes)
	agent.kill()
	gateway.kill()
	release()
	assert.Less(t, backend.sum(), p.sent(), "nothing waited in the queue")
	runAll(t, gateway, agent)
	requireExactly(t, prom, "{}", p)
}

const scrapeBoth = `
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - {job_name: profiles, honor_labels: true, static_configs: [{targets: [%q, %q]}]}
`

// Two gateways convert profiles of one service: each has series of its own, and the sum is right.
func TestFleetOfGatewaysThatConvert(t *testing.T) {
	var gateways []*member
	for i := range 2 {
		gateway := newMember(t, "profile-gateway.yaml", fmt.Sprint("gateway-", i), inNanoseconds, flushesFast)
		gateway.change("exporters::prometheus::endpoint: " + gateway.metrics)
		gateways = append(gateways, gateway)
	}
	runAll(t, gateways...)
	prom := startPrometheusWith(t, fmt.Sprintf(scrapeBoth, gateways[0].metrics, gateways[1].metrics))
	p := newProfiler(t, 1, gateways...)
	p.run()
	require.Eventually(t, func() bool {
		series, err := prom.query(t.Context(), "cpu_time_nanoseconds_total")
		return err == nil && len(series) == len(gateways)
	}, settleTimeout, pollInterval, "the gateways have no series of their own")
	p.end()
	requireExactly(t, prom, `{service_name="shop"}`, p)

	t.Log("a process sends its heap profile to one gateway, and the next to the other")
	for i, bytes := range []int64{4096, 1024} {
		sendGRPC(t, gateways[i].otlpGRPC, heapOf(t, bytes))
	}
	page, err := os.ReadFile(fleetsPage)
	require.NoError(t, err)
	const larger = "sum by (job) (max without (collector_instance_id, instance) (memory_usage_bytes))"
	assert.Contains(t, string(page), larger)
	require.EventuallyWithT(t, func(collect *assert.CollectT) {
		for expr, want := range map[string]float64{"sum(memory_usage_bytes)": 5120, larger: 4096} {
			got, err := prom.scalar(t.Context(), expr)
			require.NoError(collect, err)
			assert.InDelta(collect, want, got, 0, expr)
		}
	}, settleTimeout, pollInterval)
}

// heapOf is the heap profile of a process that does not say which instance of its service it is.
func heapOf(t *testing.T, bytes int64) pprofile.Profiles {
	t.Helper()
	return testprofile.New(t, testprofile.Resource{
		Attributes: testprofile.Attributes{"service.name": "shop", "process.pid": 1},
		Profiles: []testprofile.Profile{{
			SampleType: "inuse_space/bytes", Time: time.Now(),
			Samples: []testprofile.Sample{{Stack: testprofile.Stack("main.main"), Values: []int64{bytes}}},
		}},
	})
}

// requireArrived waits until Prometheus has all that had been sent when it was called.
func requireArrived(t *testing.T, prom *prometheus, profilers []*profiler) {
	t.Helper()
	time.Sleep(severalFlushes)
	var sent int64
	for _, p := range profilers {
		sent += p.sent()
	}
	require.Eventually(t, func() bool {
		arrived, err := prom.scalar(t.Context(), "sum(cpu_time_nanoseconds_total)")
		return err == nil && int64(arrived) >= sent
	}, settleTimeout, pollInterval, "not all has arrived")
}

// requireExactly waits until Prometheus has what a profiler has sent and no more.
func requireExactly(t *testing.T, prom *prometheus, selector string, p *profiler) {
	t.Helper()
	require.EventuallyWithT(t, func(collect *assert.CollectT) {
		for kind, want := range map[string]map[string]int64{
			"":            {"": p.total},
			"_flat":       p.flat,
			"_cumulative": p.cumulative(),
		} {
			expr := "sum by (code_function_name) (cpu_time" + kind + "_nanoseconds_total" + selector + ")"
			result, err := prom.query(t.Context(), expr)
			require.NoError(collect, err)
			got := map[string]int64{}
			for _, one := range result {
				got[one.labels["code_function_name"]] = int64(one.value)
			}
			assert.Equal(collect, want, got, expr)
		}
	}, settleTimeout, pollInterval)
}

var acceptedPoints = regexp.MustCompile(`(?m)^otelcol_receiver_accepted_metric_points\{.*\} (\S+)$`)

// pointsTaken is how many data points a gateway has got since it was started.
func (m *member) pointsTaken(t *testing.T) float64 {
	t.Helper()
	body, err := get(t.Context(), "http://127.0.0.1:"+m.telemetry+"/metrics")
	require.NoError(t, err)
	found := acceptedPoints.FindSubmatch(body)
	if found == nil {
		return 0
	}
	points, err := strconv.ParseFloat(string(found[1]), 64)
	require.NoError(t, err)
	return points
}
