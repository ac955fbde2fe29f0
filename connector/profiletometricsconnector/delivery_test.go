// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

var errDown = errors.New("the exporter is down")

// flakySink refuses metrics while it is down.
type flakySink struct {
	consumertest.MetricsSink
	down atomic.Bool
}

func (s *flakySink) ConsumeMetrics(ctx context.Context, metrics pmetric.Metrics) error {
	if s.down.Load() {
		return errDown
	}
	return s.MetricsSink.ConsumeMetrics(ctx, metrics)
}

// totals are value, start and end of each point of cpu_time, in seconds since
// the clock began.
func (s *flakySink) totals() (points [][3]float64) {
	const clockBegins = 946684800
	for _, metrics := range s.AllMetrics() {
		for _, metric := range metrics.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().All() {
			if metric.Name() != "cpu_time" {
				continue
			}
			for _, point := range metric.Sum().DataPoints().All() {
				points = append(points, [3]float64{
					point.DoubleValue(),
					float64(point.StartTimestamp()/1e9) - clockBegins,
					float64(point.Timestamp()/1e9) - clockBegins,
				})
			}
		}
	}
	return points
}

func cpuOf(tb testing.TB, weight int64) pprofile.Profiles {
	tb.Helper()
	return testprofile.New(tb, testprofile.Resource{Profiles: []testprofile.Profile{{
		SampleType: "cpu/nanoseconds",
		Samples:    []testprofile.Sample{{Stack: testprofile.Stack("f"), Values: []int64{weight}}},
	}}})
}

// outage consumes 1 before, 10 during and 100 after an outage that the flush at
// 20 falls into, and shuts down at 35.
func outage(t *testing.T, config string) *flakySink {
	t.Helper()
	sink := new(flakySink)
	conn := start(t, config, sink)
	after := func(wait time.Duration, weight int64) {
		time.Sleep(wait)
		consume(t, conn, cpuOf(t, weight))
	}
	after(5*time.Second, 1)
	after(10*time.Second, 10)
	sink.down.Store(true)
	synctest.Wait()
	time.Sleep(7 * time.Second) // 22
	synctest.Wait()
	sink.down.Store(false)
	after(3*time.Second, 100)
	time.Sleep(10 * time.Second) // 35
	require.NoError(t, conn.Shutdown(t.Context()))
	return sink
}

func TestFailedFlushLosesNothingThatIsCumulative(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := outage(t, "metrics: {cpu: {unit: ns}}\nmetrics_flush_interval: 10s")
		assert.Equal(t, [][3]float64{{1, 5, 10}, {111, 5, 30}, {111, 5, 35}}, sink.totals())
	})
}

func TestFailedFlushAddsItsDeltaToTheNextInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := outage(t, "metrics: {cpu: {unit: ns}}\nmetrics_flush_interval: 10s\naggregation_temporality: delta")
		assert.Equal(t, [][3]float64{{1, 0, 10}, {110, 10, 30}}, sink.totals())
	})
}

func TestErrorOfTheNextConsumerReachesTheCallerWithoutAFlushInterval(t *testing.T) {
	sink := new(flakySink)
	sink.down.Store(true)
	conn := start(t, "metrics: {cpu: {unit: ns}}\nmetrics_flush_interval: 0s\naggregation_temporality: delta", sink)
	require.ErrorIs(t, conn.ConsumeProfiles(t.Context(), cpuOf(t, 1)), errDown)
	sink.down.Store(false)
	consume(t, conn, cpuOf(t, 10))
	require.NoError(t, conn.Shutdown(t.Context()))
	// The caller knows that the first was refused and may send it again: what
	// arrives is what was accepted.
	require.Len(t, sink.totals(), 1)
	assert.InDelta(t, 10, sink.totals()[0][0], 0)
}

func TestShutdownReportsThatItsFlushFailed(t *testing.T) {
	sink := new(flakySink)
	sink.down.Store(true)
	conn := start(t, "metrics_flush_interval: 1m", sink)
	consume(t, conn, cpuOf(t, 1))
	assert.ErrorIs(t, conn.Shutdown(t.Context()), errDown)
}

func TestConsumerDoesNotChangeItsInput(t *testing.T) {
	conn := start(t, useEverything, new(flakySink))
	assert.False(t, conn.Capabilities().MutatesData)
	profiles := testprofile.New(t, twoSamples())
	before := asProfilesJSON(t, profiles)
	require.NoError(t, conn.ConsumeProfiles(t.Context(), profiles))
	assert.Equal(t, before, asProfilesJSON(t, profiles))
	require.NoError(t, conn.Shutdown(t.Context()))
}

// asProfilesJSON marshals a copy, as the marshaler changes its argument.
func asProfilesJSON(t *testing.T, profiles pprofile.Profiles) string {
	t.Helper()
	copied := pprofile.NewProfiles()
	profiles.CopyTo(copied)
	text, err := (&pprofile.JSONMarshaler{}).MarshalProfiles(copied)
	require.NoError(t, err)
	return string(text)
}

// heapOf is a snapshot taken at a second of the fake clock.
func heapOf(tb testing.TB, second int, functions ...string) pprofile.Profiles {
	tb.Helper()
	profile := testprofile.Profile{
		SampleType: "inuse_space/bytes",
		Time:       time.Date(2000, 1, 1, 0, 0, second, 0, time.UTC),
	}
	for _, function := range functions {
		profile.Samples = append(profile.Samples, testprofile.Sample{
			Stack: testprofile.Stack(function), Values: []int64{100},
		})
	}
	return testprofile.New(tb, testprofile.Resource{Profiles: []testprofile.Profile{profile}})
}

// told lists what the flushes say of the functions' live bytes.
func (s *flakySink) told() (flushes []map[string]string) {
	for _, metrics := range s.AllMetrics() {
		said := map[string]string{}
		for _, metric := range metrics.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().All() {
			if metric.Name() != "memory_usage.flat" {
				continue
			}
			for _, point := range metric.Gauge().DataPoints().All() {
				said[functionOf(point)] = "live"
				if point.Flags().NoRecordedValue() {
					said[functionOf(point)] = "gone"
				}
			}
		}
		flushes = append(flushes, said)
	}
	return flushes
}

func TestFailedFlushTellsSnapshotsAgain(t *testing.T) {
	for _, temporality := range []string{"cumulative", "delta"} {
		t.Run(temporality, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink := new(flakySink)
				conn := start(t, "metrics_flush_interval: 10s\naggregation_temporality: "+temporality, sink)
				time.Sleep(5 * time.Second)
				consume(t, conn, heapOf(t, 5, "f", "g"))
				time.Sleep(10 * time.Second) // f and g were told at 10
				consume(t, conn, heapOf(t, 15, "f"))
				sink.down.Store(true)
				time.Sleep(10 * time.Second) // that g is gone was refused at 20
				sink.down.Store(false)
				time.Sleep(10 * time.Second) // 35
				require.NoError(t, conn.Shutdown(t.Context()))
				said := sink.told()
				require.GreaterOrEqual(t, len(said), 2)
				assert.Equal(t, map[string]string{"f": "live", "g": "live"}, said[0])
				assert.Equal(t, map[string]string{"f": "live", "g": "gone"}, said[1])
			})
		})
	}
}
