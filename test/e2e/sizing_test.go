// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e && sizing

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/connector/xconnector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"golang.org/x/sys/unix"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector"
	"github.com/profiletometrics/profiletometrics/internal/pprofotlp"
	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// duration is how long something is measured: two flushes of the default interval, or, with -short,
// long enough to see that measuring works.
func duration() time.Duration {
	if testing.Short() {
		return 3 * time.Second
	}
	return 32 * time.Second
}

// TestSizing measures and writes the tables of docs/deployment/sizing.md. The machine should have
// nothing else to do.
func TestSizing(t *testing.T) {
	page := newSizingPage(t)
	conversion := measureCPU(t, page)
	measureMemory(t, page)
	measureNetwork(t, page, conversion)
	page.write(t)
}

// convertEverything takes OTLP and serves Prometheus, with the default configuration but for what is
// set here.
const convertEverything = `
receivers:
  otlp: {protocols: {grpc: {endpoint: %q, max_recv_msg_size_mib: 64}}}
connectors:
  profiletometrics: {%s}
exporters:
  prometheus: {endpoint: %q, resource_to_telemetry_conversion: {enabled: true}}
service:
  pipelines:
    profiles: {receivers: [otlp], exporters: [profiletometrics]}
    metrics: {receivers: [profiletometrics], exporters: [prometheus]}
`

const unlimited = "metrics: {function: {limit: 0}}, aggregation_cardinality_limit: 0"

func startConverter(t *testing.T, settings string) *collector {
	t.Helper()
	c := newCollector(t)
	config := filepath.Join(t.TempDir(), "config.yaml")
	text := fmt.Sprintf(convertEverything, c.otlpGRPC, settings, c.metrics)
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	c.runWith(t, config)
	return c
}

// message is what is sent again and again.
type message struct {
	name  string
	build func() pprofile.Profiles
}

// ofANode is what an eBPF profiler sends of 50 processes, all of whose functions were met: few samples
// meet few of them. The number of samples and functions is for all processes together.
func ofANode(samples, functions int) message {
	const processes = 50
	node := testprofile.EBPF{
		Processes: processes, Functions: functions / processes, Samples: samples, Stacks: functions / 10,
	}
	return message{fmt.Sprintf("a node, %s samples, %s functions", thousands(samples), thousands(functions)), node.Profiles}
}

// small and large are the messages of an idle and of a busy node.
var small, large = ofANode(2_000, 5_000), ofANode(20_000, 25_000)

// ofAGoProgram is a CPU profile as pprofscrape takes it.
func ofAGoProgram(t *testing.T) message {
	t.Helper()
	data, err := os.ReadFile(repository + "/connector/profiletometricsconnector/testdata/pprof/gotool-cpu.pb.gz")
	require.NoError(t, err)
	build := func() pprofile.Profiles {
		parsed, err := profile.ParseData(data)
		require.NoError(t, err)
		converted, err := pprofotlp.Convert(parsed)
		require.NoError(t, err)
		return converted
	}
	return message{fmt.Sprintf("a Go program, %s samples", thousands(build().SampleCount())), build}
}

// measureCPU returns the samples that a core takes in a second, of a small message of a host.
func measureCPU(t *testing.T, page *sizingPage) (ofSmall float64) {
	t.Helper()
	rows := [][]string{{"message", "conversion alone", "whole collector", "whole collector, gzip"}}
	for _, m := range []message{small, large, ofAGoProgram(t)} {
		whole := wholeCollector(t, m, plain)
		if ofSmall == 0 {
			ofSmall = whole
		}
		rows = append(rows, []string{
			m.name, perSecond(conversionAlone(t, m)), perSecond(whole), perSecond(wholeCollector(t, m, gzipped)),
		})
	}
	page.table("cpu", rows)
	return ofSmall
}

// conversionAlone is how many samples the connector converts in a second of CPU time, of messages that
// were just decoded. Decoding, garbage collection and flushes are not in it.
func conversionAlone(t *testing.T, m message) float64 {
	t.Helper()
	conn := startConnector(t, consumertest.NewNop())
	encoded, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(m.build())
	require.NoError(t, err)

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var used time.Duration
	samples := 0
	for begun := time.Now(); time.Since(begun) < duration()/4; {
		decoded, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(encoded)
		require.NoError(t, err)
		before := threadTime(t)
		require.NoError(t, conn.ConsumeProfiles(t.Context(), decoded))
		if used += threadTime(t) - before; samples == 0 {
			used = 0 // the first finds everything new
		}
		samples += decoded.SampleCount()
	}
	require.NoError(t, conn.Shutdown(t.Context()))
	return float64(samples-m.build().SampleCount()) / used.Seconds()
}

// startConnector starts one in this process, with the default configuration.
func startConnector(t *testing.T, next consumer.Metrics) xconnector.Profiles {
	t.Helper()
	factory := profiletometricsconnector.NewFactory()
	conn, err := factory.CreateProfilesToMetrics(t.Context(), connectortest.NewNopSettings(factory.Type()),
		factory.CreateDefaultConfig(), next)
	require.NoError(t, err)
	require.NoError(t, conn.Start(t.Context(), componenttest.NewNopHost()))
	return conn
}

// threadTime is the CPU time of this thread.
func threadTime(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Timespec
	require.NoError(t, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used))
	return time.Duration(used.Nano())
}

// wholeCollector is how many samples a collector takes in a second of its CPU time, from gRPC to what
// is scraped every 15 seconds.
func wholeCollector(t *testing.T, m message, compression compression) float64 {
	t.Helper()
	c := startConverter(t, "")
	defer c.stop()
	e := newExporter(t, c.otlpGRPC, m.build(), compression)
	require.NoError(t, e.send()) // the first finds everything new
	before := c.cpuTime(t)
	scrapes := time.NewTicker(15 * time.Second)
	defer scrapes.Stop()
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-scrapes.C:
				_, _ = scrape(t, c, "gzip")
			case <-done:
				return
			}
		}
	}()
	samples := e.saturate(duration())
	close(done)
	return float64(samples) / (c.cpuTime(t) - before)
}

// scrape returns the size of what the collector serves.
func scrape(t *testing.T, c *collector, encoding string) (int64, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+c.metrics+"/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Accept-Encoding", encoding) // set by hand, it is not undone by itself
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	return io.Copy(io.Discard, response.Body)
}
