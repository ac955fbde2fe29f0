// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	metrics "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
)

// gateway takes increments over OTLP, adds them up, and serves the sums to Prometheus. A collector
// that sends to it without a queue knows of each of its profiles whether it has arrived; and what has
// arrived outlives the collector.
type gateway struct {
	t        *testing.T
	server   *httptest.Server
	registry *metrics.Registry

	mu       sync.Mutex
	counters map[string]*metrics.CounterVec
	total    float64
	refusing bool
	// holding is closed when requests are let go; nil if none are held.
	holding chan struct{}
	// arrived gets an element for each request that is refused or held.
	arrived chan struct{}
}

func startGateway(t *testing.T) *gateway {
	t.Helper()
	g := &gateway{
		t:        t,
		registry: metrics.NewRegistry(),
		counters: map[string]*metrics.CounterVec{},
		arrived:  make(chan struct{}, 1),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/metrics", g.take)
	mux.Handle("GET /metrics", promhttp.HandlerFor(g.registry, promhttp.HandlerOpts{}))
	g.server = httptest.NewServer(mux)
	t.Cleanup(g.server.Close)
	return g
}

func (g *gateway) address() string { return strings.TrimPrefix(g.server.URL, "http://") }

// refuse makes the gateway answer that it cannot take anything now.
func (g *gateway) refuse(refusing bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refusing = refusing
}

// hold makes the gateway neither take nor answer anything. What it holds when the function that is
// returned is called, it has never taken.
func (g *gateway) hold() (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	holding := make(chan struct{})
	g.holding = holding
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		close(holding)
		g.holding = nil
	}
}

// awaitRequest waits until a request is refused or held.
func (g *gateway) awaitRequest(t *testing.T) {
	t.Helper()
	select {
	case <-g.arrived:
	case <-time.After(settleTimeout):
		require.FailNow(t, "nothing is sent to the gateway")
	}
}

// sum is all CPU time that has arrived, in nanoseconds.
func (g *gateway) sum() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return int64(g.total)
}

func (g *gateway) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender is gone
	}
	g.mu.Lock()
	refusing, holding := g.refusing, g.holding
	g.mu.Unlock()
	if refusing || holding != nil {
		select {
		case g.arrived <- struct{}{}:
		default:
		}
		if holding != nil {
			<-holding
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}

	request := pmetricotlp.NewExportRequest()
	if !assert.NoError(g.t, request.UnmarshalProto(body)) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, resource := range request.Metrics().ResourceMetrics().All() {
		pod := text(resource.Resource().Attributes(), "pod")
		for _, scope := range resource.ScopeMetrics().All() {
			for _, metric := range scope.Metrics().All() {
				g.add(metric, pod)
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.WriteHeader(http.StatusOK)
}

func (g *gateway) add(metric pmetric.Metric, pod string) {
	if !assert.Equal(g.t, pmetric.AggregationTemporalityDelta, metric.Sum().AggregationTemporality()) {
		return
	}
	counter, ok := g.counters[metric.Name()]
	if !ok {
		counter = metrics.NewCounterVec(metrics.CounterOpts{
			Name: strings.ReplaceAll(metric.Name(), ".", "_") + "_nanoseconds_total",
			Help: metric.Description(),
		}, []string{"pod", "code_function_name"})
		g.registry.MustRegister(counter)
		g.counters[metric.Name()] = counter
	}
	for _, point := range metric.Sum().DataPoints().All() {
		value := point.DoubleValue() + float64(point.IntValue()) // one of them is 0
		counter.WithLabelValues(pod, text(point.Attributes(), "code.function.name")).Add(value)
		if metric.Name() == "cpu_time" {
			g.total += value
		}
	}
}

// text returns an attribute, or nothing if there is none.
func text(attributes pcommon.Map, key string) string {
	value, ok := attributes.Get(key)
	if !ok {
		return ""
	}
	return value.AsString()
}
