// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
)

// servesTargets tells the test binary that it is to be the targets.
const servesTargets = "PPROFSCRAPE_TEST_SERVES_TARGETS"

// TestServeTargets is no test, but the process that BenchmarkManyTargets scrapes:
// what serving costs must not count as what scraping costs. It answers as a Go
// program does, after the seconds asked for, until its input ends.
func TestServeTargets(t *testing.T) {
	if os.Getenv(servesTargets) == "" {
		t.Skip("only for BenchmarkManyTargets")
	}
	p, err := profile.ParseData(producersFixture(t, "gotool-cpu.pb.gz"))
	require.NoError(t, err)
	p.Sample = p.Sample[:len(p.Sample)/8] // 5 of its 40 seconds
	p.DurationNanos /= 8
	cpu, memory := written(t, p.Compact()), producersFixture(t, "parca-allocs.pb.gz")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := memory
		if strings.HasSuffix(r.URL.Path, "/profile") {
			answer = cpu
			seconds, _ := strconv.Atoi(r.URL.Query().Get("seconds"))
			time.Sleep(time.Duration(seconds) * time.Second)
		}
		_, _ = w.Write(answer)
	}))
	defer server.Close()
	fmt.Println(server.URL)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

func producersFixture(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile("../../internal/pprofotlp/testdata/" + name)
	require.NoError(tb, err)
	return data
}

// BenchmarkManyTargets scrapes 200 targets with the default settings, CPU and
// memory every 10 s, on one processor, for 30 seconds after all have been scraped
// once, and reports what it took of the processor and of memory.
func BenchmarkManyTargets(b *testing.B) {
	const targets, measured = 200, 30 * time.Second
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	url := startTargets(b)
	cfg := newDefaultConfig()
	for i := range targets {
		target := newDefaultTargetConfig()
		target.Client.Endpoint = fmt.Sprintf("%s/target/%d", url, i)
		cfg.Targets = append(cfg.Targets, target)
	}
	for b.Loop() {
		h := newHarness(b, cfg, consumertest.NewNop())
		require.NoError(b, h.Start(context.Background(), componenttest.NewNopHost()))
		time.Sleep(cfg.InitialDelay + 2*cfg.CollectionInterval)
		before := h.counts(b, "scrapes", "outcome")
		used, since := processorTime(b), time.Now()
		time.Sleep(measured)
		share := (processorTime(b) - used).Seconds() / time.Since(since).Seconds()
		after := h.counts(b, "scrapes", "outcome")
		b.ReportMetric(100*share, "%CPU")
		b.ReportMetric(peakMegabytes(b), "MB-peak")
		b.ReportMetric(float64(after[outcomeSuccess]-before[outcomeSuccess])/measured.Seconds(), "scrapes/s")
		b.ReportMetric(float64(len(h.logs.All())), "warnings")
		require.NoError(b, h.Shutdown(context.Background()))
	}
	b.ReportMetric(0, "ns/op")
}

// startTargets starts the process of TestServeTargets and returns its URL.
func startTargets(b *testing.B) string {
	b.Helper()
	process := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestServeTargets$")
	process.Env = append(os.Environ(), servesTargets+"=yes")
	end, err := process.StdinPipe()
	require.NoError(b, err)
	says, err := process.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, process.Start())
	b.Cleanup(func() {
		_ = end.Close()
		_ = process.Wait()
	})
	url, err := bufio.NewReader(says).ReadString('\n')
	require.NoError(b, err)
	return strings.TrimSpace(url)
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// peakMegabytes is the most memory the process has had.
func peakMegabytes(b *testing.B) float64 {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return float64(usage.Maxrss) / 1024
}
