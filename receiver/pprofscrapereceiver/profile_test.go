// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

func TestSampleTypesThatAreNotKeptAreLeftOut(t *testing.T) {
	for _, tc := range []struct {
		name string
		keep []SampleTypeConfig
		want map[string]int64 // of the second scrape
	}{
		{"none named keeps all", nil, map[string]int64{"alloc_objects": 5, "alloc_space": 40, "inuse_objects": 2, "inuse_space": 16}},
		{"by type and unit", []SampleTypeConfig{{Type: "alloc_space", Unit: "bytes"}}, map[string]int64{"alloc_space": 40}},
		{
			"several, in the order of the profile",
			[]SampleTypeConfig{{Type: "inuse_space", Unit: "bytes"}, {Type: "alloc_objects"}},
			map[string]int64{"alloc_objects": 5, "inuse_space": 16},
		},
		{"one that is not there beside one that is", []SampleTypeConfig{{Type: "cpu"}, {Type: "inuse_space"}}, map[string]int64{"inuse_space": 16}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := memoryOnly(serve(t, changing(heap(t, 10, 4), heap(t, 15, 2))))
			cfg.Profiles["memory"] = ProfileConfig{Enabled: true, Path: "/memory", KeepSampleTypes: tc.keep}
			h := newHarness(t, testConfig(), nil)
			target := h.scraper(t, cfg)
			target.scrape(t.Context())
			h.sink.Reset()
			target.scrape(t.Context())
			assert.Equal(t, tc.want, sumsOfAll(h.sink.AllProfiles()))
		})
	}
	t.Run("none that is there is an error that tells which are", func(t *testing.T) {
		cfg := memoryOnly(serve(t, changing(heap(t, 10, 4))))
		cfg.Profiles["memory"] = ProfileConfig{
			Enabled: true, Path: "/memory", KeepSampleTypes: []SampleTypeConfig{{Type: "inuse_space", Unit: "kilobytes"}},
		}
		h := newHarness(t, testConfig(), nil)
		h.scraper(t, cfg).scrape(t.Context())
		assert.Equal(t, map[string]int64{"invalid": 1}, h.counts(t, "scrapes", "outcome"))
		require.Equal(t, 1, h.logs.Len())
		assert.Contains(t, h.logs.All()[0].Message, "none of keep_sample_types; it has alloc_objects/count, alloc_space/bytes,")
	})
}

func TestWhatIsAnIncrementAlreadyIsTakenWhole(t *testing.T) {
	for _, tc := range []struct {
		name     string
		config   ProfileConfig
		answered time.Duration // the duration of the profile
		want     int64         // alloc_objects of three scrapes that say 10, 15 and 15
	}{
		{"counts since the start of the process", ProfileConfig{}, 0, 5},
		{"measured over the seconds asked for", ProfileConfig{Seconds: 3}, 3 * time.Second, 40},
		{"measured over a time without being asked", ProfileConfig{}, 10 * time.Second, 40},
		{"a server that does not heed the seconds", ProfileConfig{Seconds: 3}, 0, 5},
		{"a server that is known to send increments", ProfileConfig{Delta: true}, 0, 40},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.config.Enabled, tc.config.Path = true, "/memory"
			bodies := [][]byte{heapOver(t, tc.answered, 10, 1), heapOver(t, tc.answered, 15, 1), heapOver(t, tc.answered, 15, 1)}
			url := serve(t, changing(bodies...))
			h := newHarness(t, testConfig(), nil)
			target := h.scraper(t, testTarget(url, map[string]ProfileConfig{"memory": tc.config}))
			for range bodies {
				target.scrape(t.Context())
			}
			assert.Equal(t, tc.want, sumsOfAll(h.sink.AllProfiles())["alloc_objects"])
			assert.Empty(t, h.logs.All())
		})
	}
}

func TestTheQueryHasTheParametersOfTargetPathAndProfile(t *testing.T) {
	var asked atomic.Value
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.URL.String())
		_, _ = w.Write(cpuOver(t, time.Second, time.Second))
	})
	cfg := testTarget(url+"/gateway", map[string]ProfileConfig{"cpu": {
		Enabled: true, Path: "/debug/pprof/profile?gc=1&from=path", Seconds: 2,
		Params: map[string][]string{"from": {"profile"}, "label": {"a", "b"}},
	}})
	cfg.PathPrefix = "/pod/1/"
	cfg.Params = map[string][]string{"from": {"target"}, "token": {"x y"}}
	newHarness(t, testConfig(), nil).scraper(t, cfg).scrape(t.Context())
	assert.Equal(t, "/gateway/pod/1/debug/pprof/profile?from=profile&gc=1&label=a&label=b&seconds=2&token=x+y", asked.Load())
}

// refusals makes a target of one profile whose scrapes the pipeline refuses with
// the errors given, one each; nil takes it.
func refusals(t *testing.T, config ProfileConfig, bodies [][]byte, errs ...error) *harness {
	t.Helper()
	next := &refusing{}
	h := newHarness(t, testConfig(), next)
	next.Profiles = h.sink
	config.Enabled, config.Path = true, "/"
	target := h.scraper(t, testTarget(serve(t, changing(bodies...)), map[string]ProfileConfig{"cpu": config}))
	for _, err := range errs {
		next.err = err
		target.scrape(t.Context())
	}
	return h
}

func TestCPUTimeThatThePipelineRefusesIsKept(t *testing.T) {
	full, bad := errors.New("queue is full"), consumererror.NewPermanent(errors.New("bad data"))
	bodies := [][]byte{
		cpuOver(t, time.Second, 100*time.Millisecond),
		cpuOver(t, time.Second, 200*time.Millisecond),
		cpuOver(t, time.Second, 400*time.Millisecond),
	}
	for _, tc := range []struct {
		name     string
		errs     []error
		want     time.Duration
		profiles int
	}{
		{"nothing is refused", []error{nil, nil, nil}, 700 * time.Millisecond, 3},
		{"one is refused for now", []error{full, nil, nil}, 700 * time.Millisecond, 3},
		{"two are refused and become one", []error{full, full, nil}, 700 * time.Millisecond, 2},
		{"one is refused for good", []error{nil, bad, nil}, 500 * time.Millisecond, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := refusals(t, ProfileConfig{Seconds: 1}, bodies, tc.errs...)
			got := h.sink.AllProfiles()
			assert.Len(t, got, tc.profiles)
			assert.Equal(t, int64(tc.want), sumsOfAll(got)["cpu"])
		})
	}
	t.Run("what is kept covers all its time", func(t *testing.T) {
		h := refusals(t, ProfileConfig{Seconds: 1}, bodies, full, full, nil)
		assert.Equal(t, 3*time.Second, durations(h.sink.AllProfiles()))
		assert.Equal(t, map[string]int64{"refused": 2, "success": 1}, h.counts(t, "scrapes", "outcome"))
	})
	t.Run("a target that fails does not hold up what is kept", func(t *testing.T) {
		h := refusals(t, ProfileConfig{Seconds: 1}, [][]byte{bodies[0], []byte("garbage")}, full, nil)
		assert.Equal(t, int64(100*time.Millisecond), sumsOfAll(h.sink.AllProfiles())["cpu"])
	})
	t.Run("a program of other sample types takes its place, with a warning", func(t *testing.T) {
		h := refusals(t, ProfileConfig{Seconds: 1}, [][]byte{bodies[0], fixture(t, "node-cpu.pb.gz")}, full, full, nil)
		assert.NotContains(t, sumsOfAll(h.sink.AllProfiles()), "cpu")
		assert.Equal(t, 1, h.logs.FilterMessageSnippet("other sample types").Len())
	})
}

// durations adds up the time that the profiles of the first sample type cover.
func durations(all []pprofile.Profiles) time.Duration {
	var total time.Duration
	for _, data := range all {
		total += time.Duration(data.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).DurationNano())
	}
	return total
}

func TestASnapshotThatIsRefusedIsReplacedByTheNext(t *testing.T) {
	p := oneStack([]*profile.ValueType{{Type: "goroutine", Unit: "count"}}, 7)
	h := refusals(t, ProfileConfig{}, [][]byte{written(t, p)}, errors.New("queue is full"), nil)
	assert.Equal(t, map[string]int64{"goroutine": 7}, sumsOfAll(h.sink.AllProfiles()))
}

func TestATargetIsNotAskedWhileAsMuchAsMayBeIsKept(t *testing.T) {
	var asked atomic.Int64
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write(cpuOver(t, time.Second, time.Second))
	})
	next := &refusing{err: errors.New("queue is full")}
	h := newHarness(t, testConfig(), next)
	next.Profiles = h.sink
	p := h.scraper(t, testTarget(url, map[string]ProfileConfig{"cpu": {Enabled: true, Path: "/cpu", Seconds: 1}})).profiles[0]
	large := oneStack([]*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}, 1, 10)
	for len(large.Sample) < maxHeldSamples {
		large.Sample = append(large.Sample, large.Sample[0])
	}
	p.held.profile = large

	p.scrape(context.Background())
	assert.Zero(t, asked.Load())
	assert.Equal(t, map[string]int64{"refused": 1}, h.counts(t, "scrapes", "outcome"))
	next.err = nil
	p.scrape(context.Background())
	assert.Equal(t, int64(1), asked.Load())
	assert.Equal(t, int64(10*maxHeldSamples)+int64(time.Second), sumsOfAll(h.sink.AllProfiles())["cpu"])
}

func TestAPipelineThatBlocksMakesScrapesWait(t *testing.T) {
	var asked atomic.Int64
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write(heap(t, 1, 1))
	})
	entered, release := make(chan struct{}), make(chan struct{})
	cfg := testConfig(memoryOnly(url))
	cfg.CollectionInterval = time.Millisecond
	newHarness(t, cfg, blocking{entered, release}).start(t)
	<-entered
	time.Sleep(50 * time.Millisecond)
	assert.Equal(t, int64(1), asked.Load())
	close(release)
}
