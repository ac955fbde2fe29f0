// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofotlp

import (
	"maps"
	"math"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkThroughput compares parsing alone with parsing and converting, in
// turns within the same run. It counts the processor time of the process, which
// includes collecting the garbage and leaves out what else the machine does, and
// reports it per megabyte of the profile without compression, and of both as a
// multiple of parsing alone, for the bytes as they are served, with gzip, and for
// the plain ones: of each the round that was disturbed the least, so
// give it -benchtime=3x or more. The heap is as large as that of a small
// Collector; in an empty one, most of the time would go into beginning and ending
// collections.
func BenchmarkThroughput(b *testing.B) {
	raw := fixtures(b)
	collector := make([]byte, 64<<20)
	defer runtime.KeepAlive(collector)
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		plain := encoded(b, parse(b, raw[name]))
		b.Run(name+"/served", func(b *testing.B) { compareWithParsing(b, raw[name], len(plain)) })
		b.Run(name+"/plain", func(b *testing.B) { compareWithParsing(b, plain, len(plain)) })
	}
}

func compareWithParsing(b *testing.B, data []byte, size int) {
	b.Helper()
	// As many in a round as a few collections of garbage need.
	repeat := 1 + 30_000_000/size
	parsing, both := math.Inf(1), math.Inf(1)
	for b.Loop() {
		parsing = min(parsing, processorTime(b, repeat, func() { parse(b, data) }))
		both = min(both, processorTime(b, repeat, func() {
			_, err := Convert(parse(b, data))
			require.NoError(b, err)
		}))
	}
	milliseconds := 1e3 / (float64(size*repeat) / 1e6)
	b.ReportMetric(parsing*milliseconds, "parse-ms/MB")
	b.ReportMetric(both*milliseconds, "both-ms/MB")
	b.ReportMetric(both/parsing, "both/parse")
	b.ReportMetric(0, "ns/op")
}

// processorTime is how many seconds of all processors it takes to repeat work.
func processorTime(b *testing.B, repeat int, work func()) float64 {
	b.Helper()
	runtime.GC()
	before := usedByProcess(b)
	for range repeat {
		work()
	}
	return (usedByProcess(b) - before).Seconds()
}

func usedByProcess(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func BenchmarkConvert(b *testing.B) {
	for name, raw := range fixtures(b) {
		p := parse(b, raw)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Convert(p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
