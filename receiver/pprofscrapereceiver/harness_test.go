// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/profiletometrics/profiletometrics/receiver/pprofscrapereceiver/internal/metadatatest"
)

// harness is a receiver under test and everything it says.
type harness struct {
	*pprofScrape
	sink      *consumertest.ProfilesSink
	logs      *observer.ObservedLogs
	telemetry *componenttest.Telemetry
}

// newHarness makes a receiver of a configuration; next nil means a sink.
func newHarness(tb testing.TB, cfg *Config, next xconsumer.Profiles) *harness {
	tb.Helper()
	h := &harness{sink: &consumertest.ProfilesSink{}, telemetry: componenttest.NewTelemetry()}
	core, logs := observer.New(zapcore.DebugLevel)
	h.logs = logs
	settings := metadatatest.NewSettings(h.telemetry)
	settings.Logger = zap.New(core)
	settings.BuildInfo.Version = "v9"
	if next == nil {
		next = h.sink
	}
	var err error
	h.pprofScrape, err = newReceiver(cfg, settings, next)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		require.NoError(tb, h.Shutdown(context.Background()))
		require.NoError(tb, h.telemetry.Shutdown(context.Background()))
	})
	return h
}

func (h *harness) start(t *testing.T) *harness {
	t.Helper()
	require.NoError(t, h.Start(context.Background(), componenttest.NewNopHost()))
	return h
}

// scraper is a target that is scraped when the test says so, not by the clock.
func (h *harness) scraper(t *testing.T, cfg TargetConfig) *target {
	t.Helper()
	scraper, err := newTarget(context.Background(), componenttest.NewNopHost(), cfg, h.shared)
	require.NoError(t, err)
	t.Cleanup(scraper.closeIdleConnections)
	return scraper
}

// scrape takes every profile of the target once, whatever its schedule.
func (t *target) scrape(ctx context.Context) {
	var all sync.WaitGroup
	for _, p := range t.profiles {
		all.Go(func() { p.scrape(ctx) })
	}
	all.Wait()
}

// patience is how long a test waits for what must come: machines can be slow.
const patience = time.Minute

// testConfig scrapes often enough for a test.
func testConfig(targets ...TargetConfig) *Config {
	cfg := newDefaultConfig()
	cfg.CollectionInterval = 50 * time.Millisecond
	cfg.InitialDelay = 0
	cfg.Timeout = patience
	cfg.Targets = targets
	return cfg
}

// testTarget takes the given profiles, and none else.
func testTarget(url string, profiles map[string]ProfileConfig) TargetConfig {
	cfg := newDefaultTargetConfig()
	cfg.Client.Endpoint = url
	cfg.Profiles = profiles
	return cfg
}

func memoryOnly(url string) TargetConfig {
	return testTarget(url, map[string]ProfileConfig{"memory": {Enabled: true, Path: "/memory"}})
}

// serve starts a server on loopback.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// changing serves one body after the other; the last stays.
func changing(bodies ...[]byte) http.HandlerFunc {
	var next atomic.Int64
	return func(w http.ResponseWriter, _ *http.Request) {
		i := min(next.Add(1)-1, int64(len(bodies)-1))
		_, _ = w.Write(bodies[i])
	}
}

func fixture(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(tb, err)
	return data
}

// heap is a heap profile of one stack, with as many allocated and live objects
// of 8 bytes as given.
func heap(tb testing.TB, allocated, live int64) []byte {
	tb.Helper()
	return heapOver(tb, 0, allocated, live)
}

// heapOver is a heap profile that covers some time.
func heapOver(tb testing.TB, duration time.Duration, allocated, live int64) []byte {
	tb.Helper()
	p := oneStack(
		[]*profile.ValueType{
			{Type: "alloc_objects", Unit: "count"},
			{Type: "alloc_space", Unit: "bytes"},
			{Type: "inuse_objects", Unit: "count"},
			{Type: "inuse_space", Unit: "bytes"},
		},
		allocated, 8*allocated, live, 8*live,
	)
	p.DurationNanos = int64(duration)
	return written(tb, p)
}

// cpuOver is a CPU profile of one stack that covers some time.
func cpuOver(tb testing.TB, duration, used time.Duration) []byte {
	tb.Helper()
	p := oneStack(
		[]*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		int64(used/(10*time.Millisecond)), int64(used),
	)
	p.DurationNanos = int64(duration)
	return written(tb, p)
}

// oneStack is a profile of one sample with a label.
func oneStack(types []*profile.ValueType, values ...int64) *profile.Profile {
	m := &profile.Mapping{ID: 1, Start: 1, Limit: 9, File: "/usr/bin/shop"}
	f := &profile.Function{ID: 1, Name: "main.make"}
	l := &profile.Location{ID: 1, Mapping: m, Address: 2, Line: []profile.Line{{Function: f, Line: 3}}}
	return &profile.Profile{
		SampleType: types,
		Mapping:    []*profile.Mapping{m}, Function: []*profile.Function{f}, Location: []*profile.Location{l},
		Sample: []*profile.Sample{{
			Location: []*profile.Location{l}, Value: values, Label: map[string][]string{"tenant": {"a"}},
		}},
	}
}

func written(tb testing.TB, p *profile.Profile) []byte {
	tb.Helper()
	var body bytes.Buffer
	require.NoError(tb, p.Write(&body))
	return body.Bytes()
}

// sums adds up the values of each sample type.
func sums(data pprofile.Profiles) map[string]int64 { return sumsOfAll([]pprofile.Profiles{data}) }

func sumsOfAll(all []pprofile.Profiles) map[string]int64 {
	totals := map[string]int64{}
	for _, data := range all {
		for _, rp := range data.ResourceProfiles().All() {
			for _, p := range rp.ScopeProfiles().At(0).Profiles().All() {
				name := sampleTypeOf(data, p)
				totals[name] += 0
				for _, s := range p.Samples().All() {
					totals[name] += s.Values().At(0)
				}
			}
		}
	}
	return totals
}

func sampleTypeOf(data pprofile.Profiles, p pprofile.Profile) string {
	return data.Dictionary().StringTable().At(int(p.SampleType().TypeStrindex()))
}

// counts returns a counter of the receiver, by the value of one attribute.
func (h *harness) counts(tb testing.TB, name, by string) map[string]int64 {
	tb.Helper()
	got, err := h.telemetry.GetMetric("pprofscrape." + name)
	if err != nil {
		return nil
	}
	var points []metricdata.DataPoint[int64]
	switch data := got.Data.(type) {
	case metricdata.Sum[int64]:
		points = data.DataPoints
	case metricdata.Gauge[int64]:
		points = data.DataPoints
	}
	totals := map[string]int64{}
	for _, p := range points {
		value, _ := p.Attributes.Value(attribute.Key(by))
		totals[value.AsString()] += p.Value
	}
	return totals
}

// gauge counts what happens at the same time.
type gauge struct {
	mu               sync.Mutex
	now, most, total int64
}

func (g *gauge) during(f func()) {
	g.add(1)
	defer g.add(-1)
	f()
}

func (g *gauge) add(n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now += n
	g.total += max(n, 0)
	g.most = max(g.most, g.now)
}

// read returns how often, and how often at the same time at most.
func (g *gauge) read() (total, most int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.total, g.most
}

func eventually(t *testing.T, condition func() bool, what string) {
	t.Helper()
	require.Eventually(t, condition, patience, 10*time.Millisecond, what)
}
