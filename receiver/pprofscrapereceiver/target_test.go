// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/zap/zapcore"
)

func TestCountsBecomeIncrementsAndLiveBytesStaySnapshots(t *testing.T) {
	url := serve(t, changing(heap(t, 10, 4), heap(t, 15, 2), heap(t, 15, 2)))
	h := newHarness(t, testConfig(), nil)
	target := h.scraper(t, memoryOnly(url))
	for range 3 {
		target.scrape(context.Background())
	}
	got := h.sink.AllProfiles()
	require.Len(t, got, 3)
	assert.Equal(t, map[string]int64{"inuse_objects": 4, "inuse_space": 32}, sums(got[0]))
	assert.Equal(t, map[string]int64{"alloc_objects": 5, "alloc_space": 40, "inuse_objects": 2, "inuse_space": 16}, sums(got[1]))
	assert.Equal(t, map[string]int64{"alloc_objects": 0, "alloc_space": 0, "inuse_objects": 2, "inuse_space": 16}, sums(got[2]))
	assert.Equal(t, map[string]int64{"success": 3}, h.counts(t, "scrapes", "outcome"))
	assert.Equal(t, map[string]int64{"memory": 3}, h.counts(t, "scrapes", "profile"))
	assert.Positive(t, h.counts(t, "scraped_bytes", "profile")["memory"])
	assert.Empty(t, h.logs.All())
}

func TestARestartStartsAnew(t *testing.T) {
	url := serve(t, changing(heap(t, 10, 4), heap(t, 3, 1), heap(t, 5, 1)))
	h := newHarness(t, testConfig(), nil)
	target := h.scraper(t, memoryOnly(url))
	for range 3 {
		target.scrape(context.Background())
	}
	got := h.sink.AllProfiles()
	require.Len(t, got, 3)
	assert.Equal(t, map[string]int64{"inuse_objects": 1, "inuse_space": 8}, sums(got[1]))
	assert.Equal(t, int64(2), sums(got[2])["alloc_objects"])
	assert.Equal(t, map[string]int64{url: 1}, h.counts(t, "restarts", "target"))
	assert.Equal(t, 1, h.logs.FilterMessageSnippet("it was restarted").Len())
}

func TestAProfileWithoutSnapshotsGivesNothingAtFirst(t *testing.T) {
	url := serve(t, changing(fixture(t, "parca-mutex.pb.gz")))
	h := newHarness(t, testConfig(), nil)
	target := h.scraper(t, testTarget(url, map[string]ProfileConfig{"mutex": {Enabled: true, Path: "/m"}}))
	target.scrape(context.Background())
	assert.Empty(t, h.sink.AllProfiles())
	assert.Equal(t, map[string]int64{"success": 1}, h.counts(t, "scrapes", "outcome"))
	target.scrape(context.Background())
	require.Len(t, h.sink.AllProfiles(), 1)
	assert.Equal(t, map[string]int64{"contentions": 0, "delay": 0}, sums(h.sink.AllProfiles()[0]))
}

func TestAProfileMeasuredOverSecondsIsTakenWhole(t *testing.T) {
	var query atomic.Value
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		query.Store(r.URL.RawQuery)
		_, _ = w.Write(heapOver(t, 3*time.Second, 10, 4))
	})
	h := newHarness(t, testConfig(), nil)
	target := h.scraper(t, testTarget(url, map[string]ProfileConfig{"memory": {Enabled: true, Path: "/m?gc=1", Seconds: 3}}))
	target.scrape(context.Background())
	require.Len(t, h.sink.AllProfiles(), 1)
	assert.Equal(t, int64(10), sums(h.sink.AllProfiles()[0])["alloc_objects"])
	assert.Equal(t, "gc=1&seconds=3", query.Load())
}

func TestEveryProfileGoesOnWithItsResource(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/cpu") {
			_, _ = w.Write(fixture(t, "node-cpu.pb.gz"))
			return
		}
		_, _ = w.Write(heap(t, 10, 4))
	})
	cfg := testTarget(url+"/app", map[string]ProfileConfig{
		"cpu": {Enabled: true, Path: "/cpu", Seconds: 1}, "memory": {Enabled: true, Path: "/memory"},
		"off": {Path: "/never"},
	})
	cfg.ResourceAttributes = map[string]any{"deployment.environment.name": "prod", "server.port": 1}
	h := newHarness(t, testConfig(), nil)
	target := h.scraper(t, cfg)
	for _, p := range target.profiles {
		p.scrape(context.Background())
	}
	got := h.sink.AllProfiles()
	require.Len(t, got, 2)
	cpu, memory := got[0].ResourceProfiles(), got[1].ResourceProfiles()
	require.Equal(t, 1, cpu.Len())
	assert.Equal(t, map[string]any{
		"service.name": "unknown_service", "server.address": "127.0.0.1", "server.port": int64(1),
		"deployment.environment.name": "prod",
	}, cpu.At(0).Resource().Attributes().AsRaw())
	require.Equal(t, 1, memory.Len())
	assert.Equal(t, map[string]any{
		"service.name": "unknown_service:shop", "process.executable.name": "shop",
		"server.address": "127.0.0.1", "server.port": int64(1), "deployment.environment.name": "prod",
	}, memory.At(0).Resource().Attributes().AsRaw())
	scope := memory.At(0).ScopeProfiles().At(0)
	assert.Equal(t, "github.com/profiletometrics/profiletometrics/receiver/pprofscrapereceiver", scope.Scope().Name())
	assert.Equal(t, "v9", scope.Scope().Version())
	sample := scope.Profiles().At(0).Samples().At(0)
	dictionary := got[1].Dictionary()
	attributes, err := pprofile.FromAttributeIndices(dictionary.AttributeTable(), sample, dictionary)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"tenant": "a"}, attributes.AsRaw())
}

func TestOneBadProfileDoesNotAffectTheOthers(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/memory" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(heap(t, 10, 4))
	})
	cfg := memoryOnly(url)
	cfg.Profiles["block"] = ProfileConfig{Enabled: true, Path: "/block"}
	h := newHarness(t, testConfig(), nil)
	target := h.scraper(t, cfg)
	target.scrape(context.Background())
	assert.Len(t, h.sink.AllProfiles(), 1)
	assert.Equal(t, map[string]int64{"success": 1, "status": 1}, h.counts(t, "scrapes", "outcome"))
	assert.Equal(t, int64(1), target.up())
}

func TestAConditionIsLoggedWhenItBeginsAndWhenItEnds(t *testing.T) {
	bad, good := []byte("garbage"), heap(t, 1, 1)
	url := serve(t, changing(bad, bad, []byte("<html>"), good, good))
	h := newHarness(t, testConfig(), nil)
	target := h.scraper(t, memoryOnly(url))
	var up []int64
	for range 5 {
		target.scrape(context.Background())
		up = append(up, target.up())
	}
	assert.Equal(t, []int64{0, 0, 0, 1, 1}, up)
	var levels []zapcore.Level
	for _, entry := range h.logs.All() {
		levels = append(levels, entry.Level)
		assert.Contains(t, entry.Message, "memory")
		assert.Contains(t, entry.Message, url)
	}
	assert.Equal(t, []zapcore.Level{zapcore.WarnLevel, zapcore.WarnLevel, zapcore.InfoLevel}, levels)
}

// refusing is a consumer that fails while err is set.
type refusing struct {
	xconsumer.Profiles
	err error
}

func (r *refusing) ConsumeProfiles(ctx context.Context, data pprofile.Profiles) error {
	if r.err != nil {
		return r.err
	}
	return r.Profiles.ConsumeProfiles(ctx, data)
}

func (r *refusing) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func TestWhatThePipelineRefusesIsPartOfTheNextIncrement(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want int64
	}{
		{"refused for now", errors.New("queue is full"), 7},
		{"refused for good", consumererror.NewPermanent(errors.New("bad data")), 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			url := serve(t, changing(heap(t, 10, 1), heap(t, 12, 1), heap(t, 17, 1)))
			next := &refusing{}
			h := newHarness(t, testConfig(), next)
			next.Profiles = h.sink
			target := h.scraper(t, memoryOnly(url))
			target.scrape(context.Background())
			next.err = tc.err
			target.scrape(context.Background())
			next.err = nil
			target.scrape(context.Background())

			got := h.sink.AllProfiles()
			require.Len(t, got, 2)
			assert.Equal(t, tc.want, sums(got[1])["alloc_objects"])
			assert.Equal(t, map[string]int64{"success": 2, "refused": 1}, h.counts(t, "scrapes", "outcome"))
			assert.Equal(t, 1, h.logs.FilterMessageSnippet("The pipeline refused").Len())
			assert.Equal(t, 1, h.logs.FilterMessageSnippet("The pipeline takes memory").Len())
		})
	}
}
