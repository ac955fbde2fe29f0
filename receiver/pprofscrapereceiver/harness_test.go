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
func newHarness(t *testing.T, cfg *Config, next xconsumer.Profiles) *harness {
	t.Helper()
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
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, h.Shutdown(context.Background()))
		require.NoError(t, h.telemetry.Shutdown(context.Background()))
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
	m := &profile.Mapping{ID: 1, Start: 1, Limit: 9, File: "/usr/bin/shop"}
	f := &profile.Function{ID: 1, Name: "main.make"}
	l := &profile.Location{ID: 1, Mapping: m, Address: 2, Line: []profile.Line{{Function: f, Line: 3}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: "alloc_objects", Unit: "count"},
			{Type: "alloc_space", Unit: "bytes"},
			{Type: "inuse_objects", Unit: "count"},
			{Type: "inuse_space", Unit: "bytes"},
		},
		Mapping: []*profile.Mapping{m}, Function: []*profile.Function{f}, Location: []*profile.Location{l},
		Sample: []*profile.Sample{{
			Location: []*profile.Location{l}, Value: []int64{allocated, 8 * allocated, live, 8 * live},
			Label: map[string][]string{"tenant": {"a"}},
		}},
	}
	var body bytes.Buffer
	require.NoError(tb, p.Write(&body))
	return body.Bytes()
}

// sums adds up the values of each sample type.
func sums(data pprofile.Profiles) map[string]int64 {
	totals := map[string]int64{}
	names := data.Dictionary().StringTable()
	for _, rp := range data.ResourceProfiles().All() {
		for _, sp := range rp.ScopeProfiles().All() {
			for _, p := range sp.Profiles().All() {
				name := names.At(int(p.SampleType().TypeStrindex()))
				totals[name] += 0
				for _, s := range p.Samples().All() {
					totals[name] += s.Values().At(0)
				}
			}
		}
	}
	return totals
}

// counts returns a counter of the receiver, by the value of one attribute.
func (h *harness) counts(t *testing.T, name, by string) map[string]int64 {
	t.Helper()
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

func eventually(t *testing.T, condition func() bool, what string) {
	t.Helper()
	require.Eventually(t, condition, patience, 10*time.Millisecond, what)
}
