// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

const everyTenSeconds = "metrics: {cpu: {unit: ns}}\nmetrics_flush_interval: 10s\n"

// stuckSink takes metrics, but only once it is let go, whatever its context
// says.
type stuckSink struct {
	flakySink
	letGo chan struct{}
}

func (s *stuckSink) ConsumeMetrics(ctx context.Context, metrics pmetric.Metrics) error {
	<-s.letGo
	return s.flakySink.ConsumeMetrics(ctx, metrics)
}

func TestShutdownDoesNotWaitForAPipelineThatIsStuck(t *testing.T) {
	for name, after := range map[string]time.Duration{
		"in the last flush":              5 * time.Second,
		"in the flush before the last":   15 * time.Second,
		"with a context that is expired": 0,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink := &stuckSink{letGo: make(chan struct{})}
				conn := start(t, everyTenSeconds, sink)
				consume(t, conn, cpuOf(t, 1))
				time.Sleep(after)
				ctx, cancel := context.WithTimeout(t.Context(), after)
				defer cancel()
				begun := time.Now()
				require.ErrorIs(t, conn.Shutdown(ctx), context.DeadlineExceeded)
				assert.Equal(t, after, time.Since(begun))
				close(sink.letGo)
				synctest.Wait()
			})
		})
	}
}

func TestAnExpiredContextLeavesNoTimeToFlush(t *testing.T) {
	sink := new(consumertest.MetricsSink)
	conn := start(t, everyTenSeconds, sink)
	consume(t, conn, cpuOf(t, 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, conn.Shutdown(ctx), context.Canceled)
	assert.Empty(t, sink.AllMetrics())
}

func TestAPipelineThatIsStuckKeepsNothingFromBeingCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &stuckSink{letGo: make(chan struct{})}
		conn := start(t, everyTenSeconds+"aggregation_temporality: delta\n", sink)
		consume(t, conn, cpuOf(t, 1))
		time.Sleep(25 * time.Second) // stuck since 10
		consume(t, conn, cpuOf(t, 10))
		close(sink.letGo)
		synctest.Wait()
		require.NoError(t, conn.Shutdown(t.Context()))
		points := sink.totals()
		require.NotEmpty(t, points)
		assert.Equal(t, [3]float64{1, 0, 10}, points[0])
		rest := 0.0
		for _, point := range points[1:] {
			rest += point[0]
		}
		assert.InDelta(t, 10, rest, 0)
	})
}

// refusingSink refuses what comes for good until it is mended.
type refusingSink struct {
	flakySink
	mended chan struct{}
}

func (s *refusingSink) ConsumeMetrics(ctx context.Context, metrics pmetric.Metrics) error {
	select {
	case <-s.mended:
		return s.flakySink.ConsumeMetrics(ctx, metrics)
	default:
		return consumererror.NewPermanent(errDown)
	}
}

// TestWeightThatWasRefusedForGoodStaysToo: an error that is permanent says that
// the same metrics will be refused again, but those of the next flush are
// others.
func TestWeightThatWasRefusedForGoodStaysToo(t *testing.T) {
	for _, temporality := range []string{"cumulative", "delta"} {
		t.Run(temporality, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink := &refusingSink{mended: make(chan struct{})}
				conn := start(t, everyTenSeconds+"aggregation_temporality: "+temporality, sink)
				consume(t, conn, cpuOf(t, 1))
				time.Sleep(15 * time.Second) // refused at 10
				close(sink.mended)
				consume(t, conn, cpuOf(t, 10))
				time.Sleep(10 * time.Second) // taken at 20
				assert.Equal(t, [][3]float64{{11, 0, 20}}, sink.totals())
				require.NoError(t, conn.Shutdown(t.Context()))
			})
		})
	}
}

func TestAPermanentErrorStaysOneForTheCaller(t *testing.T) {
	sink := &refusingSink{mended: make(chan struct{})}
	conn := start(t, "aggregation_temporality: delta\nmetrics_flush_interval: 0s", sink)
	err := conn.ConsumeProfiles(t.Context(), cpuOf(t, 1))
	assert.True(t, consumererror.IsPermanent(err))
	require.NoError(t, conn.Shutdown(t.Context()))
}

func TestANewInstanceBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := new(flakySink)
		for _, weight := range []int64{1, 10} {
			conn := start(t, everyTenSeconds, sink)
			time.Sleep(3 * time.Second)
			consume(t, conn, cpuOf(t, weight))
			time.Sleep(2 * time.Second)
			require.NoError(t, conn.Shutdown(t.Context()))
		}
		assert.Equal(t, [][3]float64{{1, 3, 5}, {10, 8, 10}}, sink.totals())
	})
}

// TestShutdownWhileProfilesComeAndFlushesGo is for the race detector; what was
// accepted before Shutdown began comes out of it.
func TestShutdownWhileProfilesComeAndFlushesGo(t *testing.T) {
	for _, temporality := range []string{"cumulative", "delta"} {
		t.Run(temporality, func(t *testing.T) {
			sink := new(consumertest.MetricsSink)
			conn := start(t, "metrics: {cpu: {unit: ns}}\nmetrics_flush_interval: 1ms\naggregation_temporality: "+temporality, sink)
			const callers, before, after = 4, 50, 20
			var accepted, ended sync.WaitGroup
			accepted.Add(callers)
			for caller := range callers {
				ended.Go(func() {
					for message := range before + after {
						if message == before {
							accepted.Done()
						}
						assert.NoError(t, conn.ConsumeProfiles(t.Context(), busyMessage(t, caller, message)))
					}
				})
			}
			accepted.Wait()
			require.NoError(t, conn.Shutdown(t.Context()))
			atShutdown := len(sink.AllMetrics())
			ended.Wait()
			assert.Len(t, sink.AllMetrics(), atShutdown, "nothing is handed on after Shutdown")

			least := 0.0
			for caller := range callers {
				for message := range before {
					least += float64(message + 1 + caller + 1)
				}
			}
			assert.GreaterOrEqual(t, lastTotal(sink.AllMetrics(), temporality), least)
		})
	}
}

// lastTotal is the CPU time that was told of: the last flush has all of it
// where points are cumulative, and all flushes together have it otherwise.
func lastTotal(emitted []pmetric.Metrics, temporality string) float64 {
	if temporality == "cumulative" {
		emitted = emitted[len(emitted)-1:]
	}
	return sumsOf(emitted)["cpu_time"][""]
}
