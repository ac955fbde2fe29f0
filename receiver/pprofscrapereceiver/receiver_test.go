// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// servePprof serves the profiles of the test's own process, as Go programs do.
func servePprof(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

//go:noinline
func burnProcessorTime(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		_ = i * i
	}
}

var allocated [][]byte

//go:noinline
func allocateMemory() {
	for range 32 {
		allocated = append(allocated, make([]byte, 1<<20))
	}
	allocated = nil
}

// cumulative adds up the values of one sample type whose stack has a function.
func cumulative(all []pprofile.Profiles, sampleType, function string) int64 {
	var total int64
	for _, data := range all {
		for _, rp := range data.ResourceProfiles().All() {
			for _, p := range rp.ScopeProfiles().At(0).Profiles().All() {
				for _, s := range p.Samples().All() {
					if sampleTypeOf(data, p) == sampleType && hasFunction(data.Dictionary(), s, function) {
						total += s.Values().At(0)
					}
				}
			}
		}
	}
	return total
}

func hasFunction(d pprofile.ProfilesDictionary, s pprofile.Sample, function string) bool {
	for _, l := range d.StackTable().At(int(s.StackIndex())).LocationIndices().All() {
		for _, line := range d.LocationTable().At(int(l)).Lines().All() {
			name := d.FunctionTable().At(int(line.FunctionIndex())).NameStrindex()
			if d.StringTable().At(int(name)) == function {
				return true
			}
		}
	}
	return false
}

const thisPackage = "github.com/profiletometrics/profiletometrics/receiver/pprofscrapereceiver"

func TestAGoProgramIsScraped(t *testing.T) {
	runtime.SetMutexProfileFraction(1)
	defer runtime.SetMutexProfileFraction(0)
	ctx, cancel := context.WithCancel(t.Context())
	var burning sync.WaitGroup
	burning.Go(func() { burnProcessorTime(ctx) })
	defer burning.Wait()
	defer cancel()

	cfg := newDefaultTargetConfig()
	cfg.Client.Endpoint = servePprof(t)
	cfg.ServiceName = "checkout"
	for name, p := range cfg.Profiles {
		p.Enabled = name != "fgprof" // Go itself does not serve it
		p.Seconds = min(p.Seconds, 1)
		cfg.Profiles[name] = p
	}
	h := newHarness(t, testConfig(), nil)
	target := h.scraper(t, cfg)
	target.scrape(ctx)
	first := h.sink.AllProfiles()
	h.sink.Reset()
	allocateMemory()
	runtime.GC() // Go's heap profile is that of the latest complete collection
	runtime.GC()
	target.scrape(ctx)
	second := h.sink.AllProfiles()

	assert.Empty(t, h.logs.All())
	assert.Positive(t, cumulative(first, "cpu", thisPackage+".burnProcessorTime"))
	assert.Zero(t, cumulative(first, "alloc_space", thisPackage+".allocateMemory"))
	assert.GreaterOrEqual(t, cumulative(second, "alloc_space", thisPackage+".allocateMemory"), int64(16<<20))
	totals := sumsOfAll(second)
	assert.Positive(t, totals["goroutine"])
	assert.Contains(t, totals, "contentions")
	assert.Contains(t, totals, "threadcreate")
	resource := first[0].ResourceProfiles().At(0).Resource().Attributes().AsRaw()
	assert.Equal(t, "checkout", resource["service.name"])
	assert.Equal(t, "pprofscrapereceiver.test", resource["process.executable.name"])
	assert.Equal(t, int64(1), target.up())
}

func TestTargetsAreScrapedAtTheInterval(t *testing.T) {
	h := newHarness(t, testConfig(memoryOnly(serve(t, changing(heap(t, 1, 1))))), nil).start(t)
	eventually(t, func() bool { return len(h.sink.AllProfiles()) >= 3 }, "three scrapes")
}

func TestTheFirstScrapeWaitsForTheInitialDelay(t *testing.T) {
	cfg := testConfig(memoryOnly(serve(t, changing(heap(t, 1, 1)))))
	cfg.InitialDelay = time.Hour
	h := newHarness(t, cfg, nil).start(t)
	time.Sleep(100 * time.Millisecond)
	assert.Empty(t, h.sink.AllProfiles())
}

func TestATargetThatHangsDelaysNoOther(t *testing.T) {
	hangs := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	stuck := memoryOnly(serve(t, hangs))
	good := memoryOnly(serve(t, changing(heap(t, 1, 1))))
	cfg := testConfig(stuck, good)
	cfg.Timeout = time.Hour
	h := newHarness(t, cfg, nil).start(t)
	eventually(t, func() bool { return len(h.sink.AllProfiles()) >= 3 }, "the good target's scrapes")
	assert.Equal(t, map[string]int64{good.Client.Endpoint: 1}, h.counts(t, "target.up", "target"))
}

func TestTheTimeoutEndsARequest(t *testing.T) {
	hangs := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	cfg := testConfig(memoryOnly(serve(t, hangs)))
	cfg.Timeout = 20 * time.Millisecond
	h := newHarness(t, cfg, nil).start(t)
	eventually(t, func() bool { return h.counts(t, "scrapes", "outcome")["timeout"] >= 2 }, "two timeouts")
	assert.Equal(t, 1, h.logs.Len(), "once per change of state")
	assert.Equal(t, map[string]int64{cfg.Targets[0].Client.Endpoint: 0}, h.counts(t, "target.up", "target"))
}

func TestTheBodyLimitIsThatOfTheConfiguration(t *testing.T) {
	cfg := testConfig()
	cfg.MaxResponseBodySize = 10
	h := newHarness(t, cfg, nil)
	h.scraper(t, memoryOnly(serve(t, changing(heap(t, 1, 1))))).scrape(t.Context())
	assert.Equal(t, map[string]int64{"too_large": 1}, h.counts(t, "scrapes", "outcome"))
}

func TestATargetIsNeverScrapedTwiceAtATime(t *testing.T) {
	var scraped gauge
	slow := func(w http.ResponseWriter, _ *http.Request) {
		scraped.during(func() { time.Sleep(60 * time.Millisecond) })
		_, _ = w.Write(heap(t, 1, 1))
	}
	cfg := testConfig(memoryOnly(serve(t, slow)))
	cfg.CollectionInterval = 5 * time.Millisecond
	h := newHarness(t, cfg, nil).start(t)
	eventually(t, func() bool { return len(h.sink.AllProfiles()) >= 4 }, "four scrapes")
	_, most := scraped.read()
	assert.Equal(t, int64(1), most)
}

func TestShutdownEndsAScrapeThatHangsWithoutALog(t *testing.T) {
	asked := make(chan struct{})
	var once sync.Once
	hangs := func(_ http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(asked) })
		<-r.Context().Done()
	}
	cfg := testConfig(memoryOnly(serve(t, hangs)))
	cfg.Timeout = time.Hour
	h := newHarness(t, cfg, nil).start(t)
	<-asked
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, h.Shutdown(ctx))
	assert.Empty(t, h.logs.All())
}

func TestShutdownWaitsNoLongerThanItsContext(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	next := blocking{entered, release}
	h := newHarness(t, testConfig(memoryOnly(serve(t, changing(heap(t, 1, 1))))), next).start(t)
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, h.Shutdown(ctx), context.DeadlineExceeded)
	close(release)
}

// blocking is a consumer that does not heed its context.
type blocking struct{ entered, release chan struct{} }

func (blocking) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (b blocking) ConsumeProfiles(context.Context, pprofile.Profiles) error {
	select {
	case b.entered <- struct{}{}:
		<-b.release
	case <-b.release:
	}
	return nil
}

func TestAMistakeInAClientIsAnErrorOfTheStart(t *testing.T) {
	cfg := memoryOnly("http://me:s3cret@127.0.0.1:1")
	cfg.Client.TLS.CAFile = "testdata/missing.pem"
	h := newHarness(t, testConfig(cfg), nil)
	err := h.Start(t.Context(), componenttest.NewNopHost())
	require.ErrorContains(t, err, "targets: http://127.0.0.1:1:")
	require.ErrorContains(t, err, "missing.pem")
	assert.NotContains(t, err.Error(), "s3cret")
}
