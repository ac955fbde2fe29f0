// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	// workQuery is what the profiles of a work are found by in Parca.
	workQuery = `process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{job="shop"}`
	// writeInterval is how often each pod writes a profile: several times within a poll, and never
	// twice in a nanosecond.
	writeInterval = 100 * time.Millisecond
)

var pods = []string{"a", "b"}

// amount is one number that comes out of profiles: the CPU time of a pod, or of a function in it.
type amount struct {
	pod string
	// kind is "", "flat" or "cumulative".
	kind, function string
}

// amounts are in nanoseconds.
type amounts map[amount]int64

// add counts a sample as `go tool pprof -top` does. The innermost function comes first.
func (a amounts) add(pod string, value int64, functions []string) {
	a[amount{pod: pod}] += value
	a[amount{pod, "flat", functions[0]}] += value
	seen := map[string]bool{}
	for _, name := range functions {
		if !seen[name] {
			seen[name] = true
			a[amount{pod, "cumulative", name}] += value
		}
	}
}

// addProfile counts the samples of a profile.
func (a amounts) addProfile(prof *profile.Profile, podOf func(*profile.Sample) string) {
	for _, sample := range prof.Sample {
		var functions []string
		for _, location := range sample.Location {
			for _, line := range location.Line {
				functions = append(functions, line.Function.Name)
			}
		}
		a.add(podOf(sample), sample.Value[0], functions)
	}
}

// work writes profiles of two pods into Parca, and remembers what it wrote.
type work struct {
	mu          sync.Mutex
	wrote       amounts
	count       int64
	first, last time.Time
}

// write stores a profile of each pod that was taken at a time, which is another for each call. The
// time is asked for when nothing else keeps the profile from being stored at once.
func (w *work) write(ctx context.Context, server *parca, taken func() time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := taken()
	for _, pod := range pods {
		prof := w.next(at)
		if err := server.write(ctx, map[string]string{"__name__": "process_cpu", "job": "shop", "pod": pod}, prof); err != nil {
			return err
		}
		if w.wrote == nil {
			w.wrote, w.first = amounts{}, at
		}
		w.wrote.addProfile(prof, func(*profile.Sample) string { return pod })
		w.last = at
	}
	return nil
}

// next builds a profile whose values no other profile has: no sum of them comes out right by chance.
func (w *work) next(at time.Time) *profile.Profile {
	w.count++
	value := 1_000_003*w.count + w.count*w.count
	main, fib := function(1, "main.main"), function(2, "main.fib")
	// A caller that is inlined, and a name that is no identifier.
	serve, parse := function(3, "main.(*Server).serve"), function(4, "strings.Map[go.shape.string]")
	atMain, atFib := location(1, main), location(2, fib)
	atServe := location(3, parse, serve)
	prof := &profile.Profile{
		SampleType:    []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:        1,
		TimeNanos:     at.UnixNano(),
		DurationNanos: int64(writeInterval),
		Sample: []*profile.Sample{
			{Location: []*profile.Location{atFib, atFib, atFib, atMain}, Value: []int64{value}},
			{Location: []*profile.Location{atServe, atMain}, Value: []int64{3 * value}},
			{Location: []*profile.Location{atMain}, Value: []int64{7 * value}},
		},
		Location: []*profile.Location{atMain, atFib, atServe},
		Function: []*profile.Function{main, fib, serve, parse},
	}
	return prof
}

func function(id uint64, name string) *profile.Function {
	return &profile.Function{ID: id, Name: name, Filename: "main.go"}
}

// location has its innermost function first.
func location(id uint64, functions ...*profile.Function) *profile.Location {
	l := &profile.Location{ID: id}
	for i, f := range functions {
		l.Line = append(l.Line, profile.Line{Function: f, Line: int64(10*id) + int64(i)})
	}
	return l
}

// run writes profiles until the function that it returns is called, the first at once.
func (w *work) run(t *testing.T, server *parca) (stop func()) {
	t.Helper()
	require.NoError(t, w.write(t.Context(), server, time.Now))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			time.Sleep(writeInterval)
			// A write is never given up: it would be unknown whether Parca has it.
			assert.NoError(t, w.write(context.WithoutCancel(ctx), server, time.Now))
		}
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	t.Cleanup(stop)
	return stop
}

// pause runs something while nothing is written.
func (w *work) pause(something func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	something()
}

// total is the CPU time of both pods.
func (w *work) total() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	var sum int64
	for _, pod := range pods {
		sum += w.wrote[amount{pod: pod}]
	}
	return sum
}

// reported returns what Parca's own report of the time of the work says, which has to be all of it.
func (w *work) reported(t *testing.T, server *parca) amounts {
	t.Helper()
	report, err := server.merged(t.Context(), workQuery, w.first, w.last, "labels.pod")
	require.NoError(t, err)
	all := amounts{}
	all.addProfile(report, func(sample *profile.Sample) string { return sample.Label["pod"][0] })
	require.Equal(t, w.wrote, all, "Parca has what was written")
	return all
}
