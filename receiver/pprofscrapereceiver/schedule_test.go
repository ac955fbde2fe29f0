// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestScrapesAreSpreadOverTheInterval(t *testing.T) {
	const buckets, each = 10, 100
	now := time.Unix(1_800_000_000, 123)
	counts := make([]int, buckets)
	for i := range buckets * each {
		s := newSchedule(10*time.Second, fmt.Sprintf("http://10.0.%d.%d:6060/debug/pprof/profile", i/250, i%250))
		wait := s.until(now)
		require.Less(t, wait, 10*time.Second)
		counts[wait/time.Second]++
	}
	for _, n := range counts {
		assert.InDelta(t, each, n, each/2)
	}
}

func TestTheScheduleIsTheSameAfterARestart(t *testing.T) {
	const interval = 10 * time.Second
	before := newSchedule(interval, "http://localhost:6060/debug/pprof/allocs")
	after := newSchedule(interval, "http://localhost:6060/debug/pprof/allocs")
	for _, later := range []time.Duration{0, 1, 3 * time.Second, interval - 1, interval, time.Hour + time.Millisecond} {
		from := time.Unix(1_800_000_000, 0).Add(later)
		scrape := from.Add(after.until(from))
		assert.Zero(t, before.until(scrape))
		assert.Equal(t, interval, scrape.Add(1).Add(before.until(scrape.Add(1))).Sub(scrape))
	}
}

// A CPU profile that is measured over the whole interval takes a little longer than that.
func TestAScrapeThatOutlastsTheIntervalIsFollowedByTheNextAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const interval, overtime = 5 * time.Second, 100 * time.Millisecond
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var began []time.Time
		newSchedule(interval, "http://localhost:6060/debug/pprof/profile").run(ctx, 0, func(ctx context.Context) {
			if ctx.Err() != nil {
				return // canceled while the next was due already
			}
			began = append(began, time.Now())
			time.Sleep(interval + overtime)
			if len(began) == 100 {
				cancel()
			}
		})
		require.Len(t, began, 100)
		assert.Equal(t, 99*(interval+overtime), began[99].Sub(began[0]))
	})
}

func TestTheProfilesOfATargetAreSpread(t *testing.T) {
	cfg := newDefaultTargetConfig()
	cfg.Client.Endpoint = "http://localhost:6060"
	target := newHarness(t, testConfig(), nil).scraper(t, cfg)
	assert.NotEqual(t, target.profiles[0].schedule.phase, target.profiles[1].schedule.phase)
}

func TestAProfileHasAnIntervalOfItsOwn(t *testing.T) {
	var often, seldom atomic.Int64
	endpoint := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/often" {
			often.Add(1)
		} else {
			seldom.Add(1)
		}
		_, _ = w.Write(heap(t, 1, 1))
	})
	cfg := testConfig(testTarget(endpoint, map[string]ProfileConfig{
		"often":  {Enabled: true, Path: "/often", CollectionInterval: 5 * time.Millisecond},
		"seldom": {Enabled: true, Path: "/seldom"},
	}))
	cfg.CollectionInterval = time.Second
	newHarness(t, cfg, nil).start(t)
	eventually(t, func() bool { return often.Load() >= 20 && seldom.Load() >= 1 }, "both")
	assert.Greater(t, often.Load(), 3*seldom.Load())
}

func TestAProfileThatHangsDelaysNoOtherOfItsTarget(t *testing.T) {
	endpoint := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hangs" {
			<-r.Context().Done()
			return
		}
		_, _ = w.Write(heap(t, 1, 1))
	})
	cfg := memoryOnly(endpoint)
	cfg.Profiles["stuck"] = ProfileConfig{Enabled: true, Path: "/hangs"}
	h := newHarness(t, testConfig(cfg), nil).start(t)
	eventually(t, func() bool { return len(h.sink.AllProfiles()) >= 3 }, "the other profile's scrapes")
	assert.Equal(t, map[string]int64{endpoint: 1}, h.counts(t, "target.up", "target"))
}

func TestMeasurementsOfOneProcessNeverOverlap(t *testing.T) {
	for _, tc := range []struct {
		name string
		// params of the second receiver's requests
		params map[string][]string
		most   int64
	}{
		{"two receivers measure one process", nil, 1},
		{"a gateway measures two processes", map[string][]string{"pod": {"b"}}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var measured gauge
			endpoint := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				measured.during(func() { time.Sleep(20 * time.Millisecond) })
				_, _ = w.Write(cpuOver(t, time.Second, time.Second))
			})
			cpu := ProfileConfig{Enabled: true, Path: "/cpu", Seconds: 1}
			first := testTarget(endpoint, map[string]ProfileConfig{"cpu": cpu})
			second := first
			second.Params = tc.params
			for _, target := range []TargetConfig{first, second} {
				cfg := testConfig(target)
				cfg.CollectionInterval = time.Millisecond
				newHarness(t, cfg, nil).start(t)
			}
			eventually(t, func() bool {
				total, most := measured.read()
				return total >= 10 && most >= tc.most
			}, "measurements")
			_, most := measured.read()
			assert.Equal(t, tc.most, most)
		})
	}
}

func TestTurnsAreTakenOneAfterTheOtherAndLeaveNothingBehind(t *testing.T) {
	var all turns
	var measured gauge
	var members sync.WaitGroup
	for range 20 {
		members.Go(func() {
			end := all.take(t.Context(), "a")
			measured.during(func() { time.Sleep(time.Millisecond) })
			end()
		})
	}
	members.Wait()
	_, most := measured.read()
	assert.Equal(t, int64(1), most)

	end := all.take(t.Context(), "a")
	other := all.take(t.Context(), "b")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Nil(t, all.take(ctx, "a"), "shut down while waiting")
	end()
	other()
	assert.Empty(t, all.queues)
}

func TestWhatIsMeasuredIsKnownByItsURL(t *testing.T) {
	for _, tc := range []struct {
		name, one, other string
		same             bool
	}{
		{"another time", "http://a/cpu?seconds=5", "http://a/cpu?seconds=9", true},
		{"another user", "http://me:secret@a/cpu", "http://a/cpu", true},
		{"the port said", "http://a/cpu", "http://a:80/cpu", true},
		{"another spelling", "http://Checkout/cpu", "http://checkout/cpu", true},
		{"another port", "http://a:1/cpu", "http://a:2/cpu", false},
		{"another parameter", "http://a/cpu?pod=x", "http://a/cpu?pod=y", false},
		{"another path", "http://a/x/cpu", "http://a/y/cpu", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			one, err := url.Parse(tc.one)
			require.NoError(t, err)
			other, err := url.Parse(tc.other)
			require.NoError(t, err)
			assert.Equal(t, tc.same, processOf(one) == processOf(other))
		})
	}
}
