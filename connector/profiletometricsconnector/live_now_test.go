// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/internal/livepage"
	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// spent is a profile of a service in which functions that main calls use CPU time, in seconds.
func spent(tb testing.TB, service string, seconds map[string]int64) pprofile.Profiles {
	tb.Helper()
	profile := testprofile.Profile{SampleType: "cpu/seconds"}
	for function, value := range seconds {
		profile.Samples = append(profile.Samples, testprofile.Sample{Stack: testprofile.Stack(function, "main"), Values: []int64{value}})
	}
	return testprofile.New(tb, testprofile.Resource{
		Attributes: testprofile.Attributes{"service.name": service}, Profiles: []testprofile.Profile{profile},
	})
}

// measureOf is what a page shows of a metric.
func (w *watched) measureOf(tb testing.TB, metric string) livepage.Measure {
	tb.Helper()
	for _, measure := range w.look(tb).Measures {
		if measure.Metric == metric {
			return measure
		}
	}
	require.Fail(tb, "the page does not show "+metric)
	return livepage.Measure{}
}

// flatOf are the flat weights that a page shows of a metric's functions.
func (w *watched) flatOf(tb testing.TB, metric string) map[string]float64 {
	tb.Helper()
	weights := map[string]float64{}
	for _, function := range w.measureOf(tb, metric).ByFlat {
		weights[function.Name] = function.Flat
	}
	return weights
}

// "Now" is what came in the flush intervals that ended in about the last minute, over all
// resources, in either temporality.
func TestTopFunctionsAreThoseOfTheLastMinute(t *testing.T) {
	for _, temporality := range []string{"cumulative", "delta"} {
		t.Run(temporality, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// Just after each flush.
				w := startWatched(t, configOf(t, "metrics_flush_interval: 10s\naggregation_temporality: "+temporality), consumertest.NewNop())
				defer func() { require.NoError(t, w.Shutdown(context.Background())) }()
				time.Sleep(time.Second)
				consume(t, w, spent(t, "a", map[string]int64{"early": 100, "always": 1}))
				assert.Empty(t, w.flatOf(t, "cpu_time"), "no interval has ended")
				assert.True(t, w.measureOf(t, "cpu_time").To.IsZero())

				time.Sleep(10 * time.Second)
				assert.Equal(t, map[string]float64{"early": 100, "always": 1}, w.flatOf(t, "cpu_time"))

				consume(t, w, spent(t, "b", map[string]int64{"always": 2, "late": 7}))
				consume(t, w, spent(t, "a", map[string]int64{"always": 1}))
				assert.Equal(t, map[string]float64{"early": 100, "always": 1}, w.flatOf(t, "cpu_time"), "the interval has not ended")
				time.Sleep(10 * time.Second)
				measure := w.measureOf(t, "cpu_time")
				assert.InDelta(t, 111, measure.Total, 0)
				assert.Equal(t, []livepage.Function{
					{Name: "early", Flat: 100, Cumulative: 100},
					{Name: "late", Flat: 7, Cumulative: 7},
					{Name: "always", Flat: 4, Cumulative: 4},
				}, measure.ByFlat)
				assert.Equal(t, livepage.Function{Name: "main", Cumulative: 111}, measure.ByCumulative[0])
				assert.Equal(t, 4, measure.Functions)
				assert.Equal(t, 20*time.Second, measure.To.Sub(measure.From))

				// The span in which early came is left out once the others cover a minute.
				time.Sleep(70 * time.Second)
				assert.Empty(t, w.flatOf(t, "cpu_time"))
				measure = w.measureOf(t, "cpu_time")
				assert.Zero(t, measure.Total)
				assert.GreaterOrEqual(t, measure.To.Sub(measure.From), time.Minute)
				assert.Less(t, measure.To.Sub(measure.From), 90*time.Second)

				consume(t, w, spent(t, "a", map[string]int64{"early": 1}))
				time.Sleep(10 * time.Second)
				assert.Equal(t, map[string]float64{"early": 1}, w.flatOf(t, "cpu_time"))
			})
		})
	}
}

// Where a flush interval is longer than a minute, "now" is the last one.
func TestTopFunctionsOfLongIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWatched(t, configOf(t, "metrics_flush_interval: 3m"), consumertest.NewNop())
		defer func() { require.NoError(t, w.Shutdown(context.Background())) }()
		for minute := range 2 {
			consume(t, w, spent(t, "a", map[string]int64{"work": int64(minute + 1)}))
			time.Sleep(3*time.Minute + time.Second)
			assert.Equal(t, map[string]float64{"work": float64(minute + 1)}, w.flatOf(t, "cpu_time"))
		}
		measure := w.measureOf(t, "cpu_time")
		assert.Equal(t, 3*time.Minute, measure.To.Sub(measure.From))
	})
}

// refusing is a metrics pipeline that takes nothing while it is told so.
type refusing struct {
	consumertest.Consumer
	refuses bool
}

func (r *refusing) ConsumeMetrics(context.Context, pmetric.Metrics) error {
	if r.refuses {
		return errors.New("not now")
	}
	return nil
}

// What a flush did not get rid of is not counted again in the next.
func TestRefusedFlushesDoNotCountTwice(t *testing.T) {
	for _, temporality := range []string{"cumulative", "delta"} {
		t.Run(temporality, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				next := &refusing{Consumer: consumertest.NewNop(), refuses: true}
				w := startWatched(t, configOf(t, "metrics_flush_interval: 10s\naggregation_temporality: "+temporality), next)
				defer func() { require.NoError(t, w.Shutdown(context.Background())) }()
				for i := range 4 {
					consume(t, w, spent(t, "a", map[string]int64{"work": 1}))
					time.Sleep(10*time.Second + time.Millisecond)
					assert.Equal(t, map[string]float64{"work": float64(i + 1)}, w.flatOf(t, "cpu_time"))
					next.refuses = i%2 == 1
				}
				next.refuses = false
			})
		})
	}
}

// A series that expires takes nothing away from what comes after it began again.
func TestExpiredSeriesDoNotCountBackwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWatched(t, configOf(t, "metrics_flush_interval: 10s\nmetrics_expiration: 20s"), consumertest.NewNop())
		defer func() { require.NoError(t, w.Shutdown(context.Background())) }()
		time.Sleep(time.Second)
		consume(t, w, spent(t, "a", map[string]int64{"once": 1000}))
		consume(t, w, spent(t, "b", map[string]int64{"once": 1, "other": 1}))
		for range 20 {
			time.Sleep(10 * time.Second)
			consume(t, w, spent(t, "b", map[string]int64{"other": 1}))
		}
		consume(t, w, spent(t, "a", map[string]int64{"once": 3}))
		time.Sleep(10 * time.Second)
		flat := w.flatOf(t, "cpu_time")
		assert.InDelta(t, 3, flat["once"], 0)
		assert.GreaterOrEqual(t, flat["other"], 6.0)
		assert.InDelta(t, flat["once"]+flat["other"], w.measureOf(t, "cpu_time").Total, 0)
	})
}

func TestGaugesAreWhatIsHeldAtTheMoment(t *testing.T) {
	w := startWatched(t, configOf(t, "metrics: {memory_usage: {unit: KiBy}}"), consumertest.NewNop())
	defer func() { require.NoError(t, w.Shutdown(context.Background())) }()
	consume(t, w, sampled(t, "inuse_space/bytes", 1024, 3072))
	measure := w.measureOf(t, "memory_usage")
	assert.True(t, measure.Gauge)
	assert.InDelta(t, 4, measure.Total, 0)
	assert.Equal(t, "KiBy", measure.Unit)
	assert.Equal(t, []livepage.Function{{Name: "main.work", Flat: 4, Cumulative: 4}}, measure.ByFlat)
	assert.Equal(t, []livepage.Function{{Name: "main.work", Flat: 4, Cumulative: 4}, {Name: "main.main", Cumulative: 4}}, measure.ByCumulative)

	consume(t, w, sampled(t, "inuse_space/bytes", 512)) // replaces
	assert.InDelta(t, 0.5, w.measureOf(t, "memory_usage").Total, 0)
}

func TestThePageTellsHowFarTheLimitsAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWatched(t, configOf(t, "metrics: {function: {limit: 2}}\naggregation_cardinality_limit: 30\nmetrics_flush_interval: 10s"), consumertest.NewNop())
		defer func() { require.NoError(t, w.Shutdown(context.Background())) }()
		consume(t, w, spent(t, "a", map[string]int64{"heavy": 100, "light": 2, "lighter": 1}))
		consume(t, w, spent(t, "b", map[string]int64{"work": 1}))
		view := w.look(t)
		assert.Equal(t, livepage.Series{Live: 8, Limit: 30, FunctionLimit: 2, Overflowed: view.Series.Overflowed, Resources: 2, Shown: 2}, view.Series)
		assert.Positive(t, view.Series.Overflowed)
		require.Len(t, view.Resources, 2)
		a, b := view.Resources[0], view.Resources[1]
		assert.Equal(t, []livepage.Attribute{{Key: "service.name", Value: "a"}}, a.Attributes)
		assert.Equal(t, []livepage.ResourceMeasure{{
			Metric: "cpu_time", Functions: 2, Series: 4, Overflow: []string{"cpu_time.flat", "cpu_time.cumulative"},
			Refused: 2, Heaviest: []string{"light", "lighter"},
		}}, a.Measures)
		assert.Equal(t, []livepage.ResourceMeasure{{Metric: "cpu_time", Functions: 2, Series: 4}}, b.Measures)
		time.Sleep(11 * time.Second)
		measure := w.measureOf(t, "cpu_time")
		assert.InDelta(t, 3, measure.OverflowFlat, 0)
		assert.InDelta(t, 3, measure.OverflowCumulative, 0)
		assert.InDelta(t, 104, measure.Total, 0)
	})
}

func TestOnlyTheLargestResourcesAreShown(t *testing.T) {
	w := startWatched(t, configOf(t, "{}"), consumertest.NewNop())
	defer func() { require.NoError(t, w.Shutdown(context.Background())) }()
	for i := range 60 {
		consume(t, w, spent(t, fmt.Sprint("service", i), map[string]int64{"work": 1}))
	}
	consume(t, w, spent(t, "large", map[string]int64{"work": 1, "more": 1}))
	view := w.look(t)
	assert.Equal(t, 61, view.Series.Resources)
	assert.Equal(t, 50, view.Series.Shown)
	require.Len(t, view.Resources, 50)
	assert.Equal(t, "large", view.Resources[0].Attributes[0].Value)
}

// Looking disturbs neither batches nor flushes, and they do not disturb it.
func TestLookingWhileConsumingAndFlushing(t *testing.T) {
	const callers, messages = 4, 40
	for name, config := range map[string]string{
		"cumulative": "metrics: {cpu: {unit: ns}, function: {limit: 3}}\nmetrics_flush_interval: 1ms\nmetrics_expiration: 0s\n",
		"delta":      "metrics: {cpu: {unit: ns}}\naggregation_temporality: delta\nmetrics_flush_interval: 1ms\n",
		"each batch": "metrics: {cpu: {unit: ns}}\naggregation_temporality: delta\nmetrics_flush_interval: 0s\n",
	} {
		t.Run(name, func(t *testing.T) {
			sink := new(consumertest.MetricsSink)
			w := startWatched(t, configOf(t, config), sink)
			looked := make(chan struct{})
			var group sync.WaitGroup
			for range 2 {
				group.Go(func() {
					for {
						select {
						case <-looked:
							return
						default:
							view := w.look(t)
							for _, measure := range view.Measures {
								assert.LessOrEqual(t, measure.OverflowFlat, measure.Total)
							}
						}
					}
				})
			}
			consumeConcurrently(t, w, callers, messages)
			close(looked)
			group.Wait()
			view := w.look(t)
			assert.Equal(t, int64(3*callers*messages), view.Outcomes[0].Samples)
			require.NoError(t, w.Shutdown(t.Context()))
			assert.NotEmpty(t, sink.AllMetrics())
		})
	}
}
