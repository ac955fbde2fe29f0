// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/profiletometrics/profiletometrics/internal/pprofotlp"
)

// scrapeTwice takes a profile twice, and returns the sums of both scrapes.
func scrapeTwice(t *testing.T, config ProfileConfig, bodies ...[]byte) (first, second map[string]int64) {
	t.Helper()
	config.Enabled, config.Path = true, "/"
	h := newHarness(t, testConfig(), nil)
	target := h.scraper(t, testTarget(serve(t, changing(bodies...)), map[string]ProfileConfig{"any": config}))
	target.scrape(t.Context())
	first = sumsOfAll(h.sink.AllProfiles())
	h.sink.Reset()
	target.scrape(t.Context())
	assert.Empty(t, h.logs.All())
	return first, sumsOfAll(h.sink.AllProfiles())
}

func totals(t *testing.T, body []byte) map[string]int64 {
	t.Helper()
	p, err := profile.ParseData(body)
	require.NoError(t, err)
	sums := map[string]int64{}
	for i, st := range p.SampleType {
		sums[st.Type] = 0
		for _, s := range p.Sample {
			sums[st.Type] += s.Value[i]
		}
	}
	return sums
}

func TestTheProfilesOfEveryProducerAreTakenWhole(t *testing.T) {
	files, err := filepath.Glob("../../internal/pprofotlp/testdata/*.pb.gz")
	require.NoError(t, err)
	require.Len(t, files, 10)
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		for form, body := range map[string][]byte{"compressed": body, "plain": plain(t, body)} {
			t.Run(filepath.Base(file)+", "+form, func(t *testing.T) {
				first, _ := scrapeTwice(t, ProfileConfig{Delta: true}, body)
				assert.Equal(t, totals(t, body), first)
			})
		}
	}
}

// The parameter debug=1 makes Go's handlers answer in the older text format.
func TestTheTextFormatOfGoIsAccepted(t *testing.T) {
	runtime.SetMutexProfileFraction(1)
	defer runtime.SetMutexProfileFraction(0)
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	waitForALock()
	runtime.GC()
	for name, sampleTypes := range map[string][]string{
		"heap":         {"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"},
		"allocs":       {"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"},
		"goroutine":    {"goroutine"},
		"threadcreate": {"threadcreate"},
		"mutex":        {"contentions", "delay"},
		"block":        {"contentions", "delay"},
	} {
		t.Run(name, func(t *testing.T) {
			var body bytes.Buffer
			require.NoError(t, pprof.Lookup(name).WriteTo(&body, 1))
			want := totals(t, body.Bytes())
			for _, sampleType := range sampleTypes {
				assert.Contains(t, want, sampleType)
			}
			first, _ := scrapeTwice(t, ProfileConfig{Delta: true}, body.Bytes())
			assert.Equal(t, want, first)
		})
	}
}

func waitForALock() {
	var lock sync.Mutex
	var waiting sync.WaitGroup
	lock.Lock()
	for range 4 {
		waiting.Go(func() {
			lock.Lock()
			defer lock.Unlock()
		})
	}
	time.Sleep(10 * time.Millisecond)
	lock.Unlock()
	waiting.Wait()
}

// legacyCPU is the binary format of gperftools: words, of which the header has
// four and the sampling period in microseconds; then samples as count, depth and
// stack; then a sample of count 0 and depth 1; then the mapped files.
func legacyCPU(period uint64, samples ...[]uint64) []byte {
	words := []uint64{0, 3, 0, period, 0}
	for _, sample := range samples {
		words = append(words, sample[0], uint64(len(sample)-1))
		words = append(words, sample[1:]...)
	}
	words = append(words, 0, 1, 0)
	var body []byte
	for _, word := range words {
		body = binary.LittleEndian.AppendUint64(body, word)
	}
	return append(body, "00400000-00500000 r-xp 00000000 00:00 0 /bin/shop\n"...)
}

func TestOlderFormatsAreAccepted(t *testing.T) {
	const mapped = "\n--- Memory map: ---\n00400000-00500000 r-xp 00000000 00:00 0 /bin/shop\n"
	for _, tc := range []struct {
		name          string
		bodies        []string
		first, second map[string]int64
	}{
		{
			"a CPU profile of gperftools",
			[]string{string(legacyCPU(10_000, []uint64{2, 0x400010, 0x400020}, []uint64{1, 0x400030}))},
			map[string]int64{"samples": 3, "cpu": 30_000_000},
			map[string]int64{"samples": 3, "cpu": 30_000_000},
		},
		{
			"a heap profile that counts",
			[]string{
				"heap profile: 1: 8 [10: 80] @ heap/1\n1: 8 [10: 80] @ 0x400010 0x400020\n" + mapped,
				"heap profile: 2: 16 [15: 120] @ heap/1\n2: 16 [15: 120] @ 0x400010 0x400020\n" + mapped,
			},
			map[string]int64{"inuse_objects": 1, "inuse_space": 8},
			map[string]int64{"alloc_objects": 5, "alloc_space": 40, "inuse_objects": 2, "inuse_space": 16},
		},
		{
			"growth of the heap",
			[]string{"heap profile: 2: 64 [2: 64] @ growthz\n2: 64 [2: 64] @ 0x400010\n" + mapped},
			map[string]int64{"objects": 2, "space": 64},
			map[string]int64{"objects": 2, "space": 64},
		},
		{
			"contention since a reset, which is a count and not a time measured over",
			[]string{
				"--- contentionz 1 ---\ncycles/second = 1000000000\nsampling period = 1\nms since reset = 5000\n100 1 @ 0x400010\n" + mapped,
				"--- contentionz 1 ---\ncycles/second = 1000000000\nsampling period = 1\nms since reset = 15000\n170 3 @ 0x400010\n" + mapped,
			},
			map[string]int64{},
			map[string]int64{"contentions": 2, "delay": 70},
		},
		{
			"threads",
			[]string{"--- threadz 1 ---\n\n--- Thread 7f0 (name: main/1) stack: ---\n  0x400010\n  0x400020\n" + mapped},
			map[string]int64{"thread": 1},
			map[string]int64{"thread": 1},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var bodies [][]byte
			for _, body := range tc.bodies {
				bodies = append(bodies, []byte(body))
			}
			first, second := scrapeTwice(t, ProfileConfig{}, bodies...)
			assert.Equal(t, tc.first, first)
			assert.Equal(t, tc.second, second)
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range []string{"node-cpu.pb.gz", "parca-mutex.pb.gz", "not-a-profile.txt"} {
		f.Add(fixture(f, name))
	}
	f.Add(heap(f, 3, 1))
	f.Add(legacyCPU(10_000, []uint64{2, 0x400010, 0x400020}))
	f.Add([]byte("heap profile: 1: 8 [10: 80] @ heap/1\n1: 8 [10: 80] @ 0x400010 0x400020\n"))
	f.Add([]byte("--- contentionz 1 ---\ncycles/second = 1000\nms since reset = 5000\n100 1 @ 0x400010\n"))
	f.Add([]byte("goroutine profile: total 1\n1 @ 0x400010 0x400020\n"))
	f.Add([]byte("--- threadz 1 ---\n\n--- Thread 7f0 (name: main/1) stack: ---\n  0x400010\n"))
	f.Add([]byte("<html>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, size, failed := decode(data, testLimit)
		if failed != nil {
			require.NotEmpty(t, failed.outcome)
			require.Error(t, failed)
			return
		}
		require.LessOrEqual(t, size, int64(testLimit))
		_, err := pprofotlp.Convert(p)
		require.NoError(t, err)
	})
}
