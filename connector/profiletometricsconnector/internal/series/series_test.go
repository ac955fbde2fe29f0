// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
)

var begun = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const (
	counter = 0 // stream indices of newStore
	gauge   = 1
)

func newStore(change func(*Settings)) *Store {
	settings := Settings{
		Streams: []measure.Stream{
			{Name: "work", Unit: "{work}", PerUnit: 1},
			{Name: "held", Unit: "By", PerUnit: 1, Snapshot: true},
		},
		Flat:         true,
		Cumulative:   true,
		MarkVanished: true,
	}
	if change != nil {
		change(&settings)
	}
	s := NewStore(settings)
	s.Begin(begun)
	return s
}

func service(name string) Resource {
	return Resource{Key: []byte(name), Fill: func(r pcommon.Resource) { r.Attributes().PutStr("service.name", name) }}
}

func threads(name string) Group {
	return Group{Key: []byte(name), Fill: func(m pcommon.Map) { m.PutStr("thread.name", name) }}
}

// spent is weight spent in a function that calls no other.
type spent struct {
	function string
	weight   int64
}

func leaf(function string, weight int64) spent { return spent{function, weight} }

// count adds samples of single-frame stacks.
func count(s *Store, now time.Time, weights ...spent) {
	u := s.Update(service("api"), now)
	defer u.End()
	u.Counter(counter)
	u.add(weights)
}

// hold replaces the snapshot of a source.
func hold(s *Store, now time.Time, source string, measured int64, weights ...spent) {
	u := s.Update(service("api"), now)
	defer u.End()
	if u.Snapshot(gauge, Source{Key: []byte(source), Measured: pcommon.Timestamp(measured), Batch: s.Batch()}) {
		u.add(weights)
		u.EndSnapshot()
	}
}

func (u *Update) add(all []spent) {
	sum := int64(0)
	var weights []FunctionWeight
	for _, one := range all {
		sum += one.weight
		weights = append(weights, FunctionWeight{
			Function: u.Identify(Function{Name: one.function}), Flat: one.weight, Cumulative: one.weight,
		})
	}
	added := u.Add(threads("main"), sum, weights)
	overflows := added.Overflowed
	if added.Waiting {
		u.Admit()
		overflows = u.AddWaiting(threads("main"), weights)
	}
	if overflows {
		overflowed := int64(0)
		for _, weight := range weights {
			if weight.CumulativeOverflowed {
				overflowed += weight.Cumulative
			}
		}
		u.AddOverflow(overflowed)
	}
}

// told is what a flush says: values by metric and function, "" for totals,
// "overflow" for overflow, and a value of nil for a series marked as gone.
type told map[string]any

func tell(metrics pmetric.Metrics) told {
	values := told{}
	each(metrics, func(metric pmetric.Metric, point pmetric.NumberDataPoint) {
		name := metric.Name()
		if function, ok := point.Attributes().Get(FunctionAttribute); ok {
			name += "{" + function.Str() + "}"
		}
		if _, ok := point.Attributes().Get(OverflowAttribute); ok {
			name += "{overflow}"
		}
		values[name] = point.IntValue()
		if point.Flags().NoRecordedValue() {
			values[name] = nil
		}
	})
	return values
}

func each(metrics pmetric.Metrics, f func(pmetric.Metric, pmetric.NumberDataPoint)) {
	for _, resource := range metrics.ResourceMetrics().All() {
		for _, scope := range resource.ScopeMetrics().All() {
			for _, metric := range scope.Metrics().All() {
				var points pmetric.NumberDataPointSlice
				if metric.Type() == pmetric.MetricTypeGauge {
					points = metric.Gauge().DataPoints()
				} else {
					points = metric.Sum().DataPoints()
				}
				for _, point := range points.All() {
					f(metric, point)
				}
			}
		}
	}
}

func flush(s *Store, now time.Time) told {
	flush := s.Collect(now)
	flush.Done()
	return tell(flush.Metrics)
}

func after(seconds int) time.Time { return begun.Add(time.Duration(seconds) * time.Second) }

func TestCumulativeSeriesAddUpSinceTheyBegan(t *testing.T) {
	s := newStore(nil)
	count(s, after(1), leaf("a", 3))
	count(s, after(2), leaf("a", 4), leaf("b", 1))

	collected := s.Collect(after(10))
	collected.Done()
	assert.Equal(t, told{
		"work": int64(8), "work.flat{a}": int64(7), "work.flat{b}": int64(1),
		"work.cumulative{a}": int64(7), "work.cumulative{b}": int64(1),
	}, tell(collected.Metrics))
	each(collected.Metrics, func(metric pmetric.Metric, point pmetric.NumberDataPoint) {
		assert.True(t, metric.Sum().IsMonotonic())
		assert.Equal(t, pmetric.AggregationTemporalityCumulative, metric.Sum().AggregationTemporality())
		assert.Equal(t, after(10), point.Timestamp().AsTime())
		started := after(1)
		if function, ok := point.Attributes().Get(FunctionAttribute); ok && function.Str() == "b" {
			started = after(2)
		}
		assert.Equal(t, started, point.StartTimestamp().AsTime())
		thread, _ := point.Attributes().Get("thread.name")
		assert.Equal(t, "main", thread.Str())
	})

	assert.Equal(t, told{
		"work": int64(8), "work.flat{a}": int64(7), "work.flat{b}": int64(1),
		"work.cumulative{a}": int64(7), "work.cumulative{b}": int64(1),
	}, flush(s, after(20)), "an interval without weight tells the same again")
}

func TestDeltaTellsOnlyWhatCameInTheInterval(t *testing.T) {
	s := newStore(func(settings *Settings) { settings.Delta = true; settings.Cumulative = false })
	count(s, after(1), leaf("a", 3), leaf("b", 1))
	assert.Equal(t, told{"work": int64(4), "work.flat{a}": int64(3), "work.flat{b}": int64(1)}, flush(s, after(10)))

	count(s, after(11), leaf("a", 5))
	collected := s.Collect(after(20))
	collected.Done()
	assert.Equal(t, told{"work": int64(5), "work.flat{a}": int64(5)}, tell(collected.Metrics))
	each(collected.Metrics, func(metric pmetric.Metric, point pmetric.NumberDataPoint) {
		assert.Equal(t, pmetric.AggregationTemporalityDelta, metric.Sum().AggregationTemporality())
		assert.Equal(t, after(10), point.StartTimestamp().AsTime())
		assert.Equal(t, after(20), point.Timestamp().AsTime())
	})
	assert.Empty(t, flush(s, after(30)))
}

func TestDeltaWeightOfAFailedFlushStaysForTheNext(t *testing.T) {
	s := newStore(func(settings *Settings) { settings.Delta = true; settings.Cumulative = false })
	count(s, after(1), leaf("a", 3))
	failed := s.Collect(after(10))
	count(s, after(11), leaf("a", 4)) // while the flush is in flight
	failed.Failed()

	collected := s.Collect(after(20))
	count(s, after(21), leaf("a", 5))
	collected.Done()
	assert.Equal(t, told{"work": int64(7), "work.flat{a}": int64(7)}, tell(collected.Metrics))
	each(collected.Metrics, func(_ pmetric.Metric, point pmetric.NumberDataPoint) {
		assert.Equal(t, begun, point.StartTimestamp().AsTime(), "the interval begins where the failed one did")
	})
	assert.Equal(t, told{"work": int64(5), "work.flat{a}": int64(5)}, flush(s, after(30)))
}

func TestSeriesExpireAndBeginAgain(t *testing.T) {
	s := newStore(func(settings *Settings) { settings.Expiration = time.Minute; settings.Flat = false })
	count(s, after(0), leaf("a", 3), leaf("b", 1))
	count(s, after(30), leaf("a", 1))
	assert.Len(t, flush(s, after(59)), 3)
	assert.Equal(t, told{"work": int64(5), "work.cumulative{a}": int64(4)}, flush(s, after(60)), "b is a minute old")
	assert.EqualValues(t, 2, s.Live())

	assert.Empty(t, flush(s, after(90)))
	assert.EqualValues(t, 0, s.Live())
	assert.Empty(t, s.resources, "a resource without series is forgotten")

	count(s, after(100), leaf("b", 7))
	collected := s.Collect(after(110))
	collected.Done()
	assert.Equal(t, told{"work": int64(7), "work.cumulative{b}": int64(7)}, tell(collected.Metrics))
	each(collected.Metrics, func(_ pmetric.Metric, point pmetric.NumberDataPoint) {
		assert.Equal(t, after(100), point.StartTimestamp().AsTime())
	})
}

// Functions that come in the order of the time before take a shorter way, on which each must count
// and expire as it does on the other.
func TestFunctionsCountAlikeInAnyOrder(t *testing.T) {
	const functions = 6
	random := rand.New(rand.NewPCG(1, 2))
	expiring := func(settings *Settings) { settings.Expiration = 30 * time.Second }
	inOrder, inAnyOrder := newStore(expiring), newStore(expiring)
	for second := 0; second < 3000; second += 10 {
		var weights [functions]FunctionWeight
		for i := range weights {
			weights[i] = FunctionWeight{CumulativeOverflowed: true}
			if second == 0 || random.IntN(3) == 0 {
				weights[i].Flat, weights[i].Cumulative = random.Int64N(2), 1+random.Int64N(2)
			}
		}
		add := func(s *Store, order []int) {
			u := s.Update(service("api"), after(second))
			defer u.End()
			u.Counter(counter)
			var ordered []FunctionWeight
			for _, i := range order {
				weights[i].Function = u.Identify(Function{Name: fmt.Sprint("function", i)})
				ordered = append(ordered, weights[i])
			}
			if u.Add(threads("main"), 1, ordered).Waiting {
				u.Admit()
				u.AddWaiting(threads("main"), ordered)
			}
			for _, weight := range ordered {
				require.False(t, weight.CumulativeOverflowed)
			}
		}
		add(inOrder, []int{0, 1, 2, 3, 4, 5})
		add(inAnyOrder, random.Perm(functions))
		require.Equal(t, flush(inOrder, after(second+5)), flush(inAnyOrder, after(second+5)), "after %d s", second)
		require.Equal(t, inOrder.Live(), inAnyOrder.Live(), "after %d s", second)
	}
}

func TestDeltaWeightThatWasNotHandedOnDoesNotExpire(t *testing.T) {
	s := newStore(func(settings *Settings) {
		settings.Delta, settings.Expiration, settings.Flat = true, time.Minute, false
	})
	count(s, after(0), leaf("a", 3))
	s.Collect(after(50)).Failed()
	s.Collect(after(100)).Failed()
	assert.Equal(t, told{"work": int64(3), "work.cumulative{a}": int64(3)}, flush(s, after(150)))
	assert.Empty(t, flush(s, after(160)))
	assert.EqualValues(t, 0, s.Live())
}

func TestBeyondTheFunctionLimitTheHeaviestWin(t *testing.T) {
	s := newStore(func(settings *Settings) { settings.FunctionLimit = 2 })
	count(s, after(1), leaf("a", 1), leaf("b", 2), leaf("c", 4))
	count(s, after(2), leaf("d", 8), leaf("a", 16))
	assert.Equal(t, told{
		"work":         int64(31),
		"work.flat{b}": int64(2), "work.flat{c}": int64(4), "work.flat{overflow}": int64(25),
		"work.cumulative{b}": int64(2), "work.cumulative{c}": int64(4), "work.cumulative{overflow}": int64(25),
	}, flush(s, after(10)))
	assert.EqualValues(t, 5, s.Live(), "overflow series take no place")
	assert.Positive(t, s.Overflowed())
}

func TestExpiryFreesPlaces(t *testing.T) {
	s := newStore(func(settings *Settings) {
		settings.FunctionLimit, settings.Expiration, settings.Flat = 1, time.Minute, false
	})
	count(s, after(0), leaf("a", 1))
	count(s, after(50), leaf("b", 2))
	assert.Equal(t, told{"work": int64(3), "work.cumulative{a}": int64(1), "work.cumulative{overflow}": int64(2)}, flush(s, after(55)))
	flush(s, after(70)) // a expires
	count(s, after(75), leaf("b", 4))
	assert.Equal(t, told{"work": int64(7), "work.cumulative{b}": int64(4), "work.cumulative{overflow}": int64(2)}, flush(s, after(80)),
		"what overflowed stays where it was counted")
}

func TestTheSeriesLimitHoldsOverAllResources(t *testing.T) {
	s := newStore(func(settings *Settings) { settings.SeriesLimit, settings.Flat = 3, false })
	count(s, after(1), leaf("a", 1), leaf("b", 2))
	other := s.Update(service("db"), after(1))
	other.Counter(counter)
	other.add([]spent{leaf("c", 4)})
	other.End()

	assert.EqualValues(t, 3, s.Live())
	sums := map[string]int64{}
	each(s.Collect(after(10)).Metrics, func(metric pmetric.Metric, point pmetric.NumberDataPoint) {
		sums[metric.Name()] += point.IntValue()
	})
	assert.Equal(t, map[string]int64{"work": 7, "work.cumulative": 7}, sums, "nothing is lost")
}

func TestANewerSnapshotReplacesAnOlder(t *testing.T) {
	s := newStore(nil)
	hold(s, after(1), "p1", 100, leaf("a", 10), leaf("b", 5))
	assert.Equal(t, told{
		"held": int64(15), "held.flat{a}": int64(10), "held.flat{b}": int64(5),
		"held.cumulative{a}": int64(10), "held.cumulative{b}": int64(5),
	}, flush(s, after(10)))

	hold(s, after(11), "p1", 200, leaf("a", 7))
	hold(s, after(12), "p1", 150, leaf("c", 1)) // late
	collected := s.Collect(after(20))
	collected.Done()
	assert.Equal(t, told{
		"held": int64(7), "held.flat{a}": int64(7), "held.flat{b}": nil,
		"held.cumulative{a}": int64(7), "held.cumulative{b}": nil,
	}, tell(collected.Metrics), "what is gone is marked as gone")
	each(collected.Metrics, func(_ pmetric.Metric, point pmetric.NumberDataPoint) {
		if !point.Flags().NoRecordedValue() {
			assert.EqualValues(t, 200, point.Timestamp(), "a gauge has the time of its profile")
		}
	})
	assert.Equal(t, told{"held": int64(7), "held.flat{a}": int64(7), "held.cumulative{a}": int64(7)},
		flush(s, after(30)), "and is marked once")
}

// The Prometheus exporter drops one series per metric and flush, the first
// that is marked, and skips the points behind the mark.
func TestEachSeriesThatVanishedIsMarkedInAMetricOfItsOwn(t *testing.T) {
	s := newStore(func(settings *Settings) { settings.Flat = false })
	hold(s, after(1), "p", 100, leaf("a", 1), leaf("b", 2), leaf("c", 4))
	flush(s, after(10))
	hold(s, after(11), "p", 200, leaf("c", 4))
	collected := s.Collect(after(20))
	collected.Done()

	var points []int
	for _, metric := range collected.Metrics.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().All() {
		if metric.Name() != "held.cumulative" {
			continue
		}
		points = append(points, metric.Gauge().DataPoints().Len())
		gone := metric.Gauge().DataPoints().At(0).Flags().NoRecordedValue()
		assert.Equal(t, len(points) > 1, gone, "the live points come first")
	}
	assert.Equal(t, []int{1, 1, 1}, points)
}

func TestSnapshotsOfSeveralSourcesAddUp(t *testing.T) {
	s := newStore(func(settings *Settings) { settings.Flat = false; settings.Expiration = time.Minute })
	hold(s, after(1), "p1", 100, leaf("a", 10))
	hold(s, after(2), "p2", 90, leaf("a", 1), leaf("b", 2))
	assert.Equal(t, told{"held": int64(13), "held.cumulative{a}": int64(11), "held.cumulative{b}": int64(2)}, flush(s, after(10)))
	assert.EqualValues(t, 3, s.Live())

	hold(s, after(30), "p1", 200, leaf("a", 20))
	assert.Equal(t, told{"held": int64(20), "held.cumulative{a}": int64(20), "held.cumulative{b}": nil}, flush(s, after(70)),
		"p2 has expired")
	assert.EqualValues(t, 2, s.Live())
	assert.Equal(t, told{"held": nil, "held.cumulative{a}": nil}, flush(s, after(100)))
	assert.Empty(t, flush(s, after(110)))
	assert.EqualValues(t, 0, s.Live())
	assert.Empty(t, s.resources)
}

func TestPartsOfOneSnapshotAddUpInAnyOrder(t *testing.T) {
	for _, order := range [][]int64{{200, 200, 100}, {100, 200, 200}, {200, 100, 200}} {
		s := newStore(func(settings *Settings) { settings.Flat = false })
		batch := s.Batch()
		u := s.Update(service("api"), after(1))
		for _, measured := range order {
			if u.Snapshot(gauge, Source{Key: []byte("p"), Measured: pcommon.Timestamp(measured), Batch: batch}) {
				u.add([]spent{leaf("a", measured)})
				u.EndSnapshot()
			}
		}
		u.End()
		assert.Equal(t, told{"held": int64(400), "held.cumulative{a}": int64(400)}, flush(s, after(10)), "%v", order)
	}
}

func TestDeltaTellsAGaugeOnlyWhenItWasMeasured(t *testing.T) {
	s := newStore(func(settings *Settings) { settings.Delta, settings.Flat = true, false })
	hold(s, after(1), "p", 100, leaf("a", 10))
	assert.Len(t, flush(s, after(10)), 2)
	assert.Empty(t, flush(s, after(20)))
	hold(s, after(21), "p", 200, leaf("a", 10))
	assert.Len(t, flush(s, after(30)), 2)
}

func TestAnEmptySnapshotLeavesNothing(t *testing.T) {
	s := newStore(nil)
	hold(s, after(1), "p", 100, leaf("a", 10))
	flush(s, after(10))
	hold(s, after(11), "p", 200)
	assert.Equal(t, told{"held": nil, "held.flat{a}": nil, "held.cumulative{a}": nil}, flush(s, after(20)))
	assert.Empty(t, flush(s, after(30)))
	assert.EqualValues(t, 0, s.Live())
}

func requireAddsUp(t *testing.T, values told, want int64) {
	t.Helper()
	sums := map[string]int64{}
	for name, value := range values {
		kind := name
		for i, r := range name {
			if r == '{' {
				kind = name[:i]
				break
			}
		}
		sums[kind] += value.(int64)
	}
	for kind, sum := range sums {
		require.Equal(t, want, sum, kind)
	}
}

func TestFunctionsWithoutSeriesAreForgotten(t *testing.T) {
	s := newStore(func(settings *Settings) { settings.FunctionLimit = 1; settings.Flat = false })
	count(s, after(1), leaf("kept", 1))
	u := s.Update(service("api"), after(1))
	kept, epoch := u.Identify(Function{Name: "kept"}), u.Epoch()
	u.End()
	for i := range slack * 3 {
		count(s, after(2), leaf(fmt.Sprint("f", i), 1))
	}
	flush(s, after(10))
	assert.Len(t, s.functions.ids, 1+someCandidates, "one has series, and the candidates are kept")
	assert.Len(t, s.functions.named, 1+someCandidates)

	u = s.Update(service("api"), after(11))
	assert.Equal(t, kept, u.Identify(Function{Name: "kept"}), "what has series keeps its ID")
	assert.NotEqual(t, epoch, u.Epoch())
	u.End()
	count(s, after(12), leaf("kept", 1), leaf("f0", 1))
	assert.Equal(t, told{"work": int64(slack*3 + 3), "work.cumulative{kept}": int64(2), "work.cumulative{overflow}": int64(slack*3 + 1)},
		flush(s, after(20)))
}

func TestConcurrentUpdatesLoseNothing(t *testing.T) {
	s := newStore(func(settings *Settings) { settings.Delta = true; settings.Expiration = time.Nanosecond })
	var sum int64
	var flushed, updated sync.WaitGroup
	stop := make(chan struct{})
	flushed.Add(1)
	go func() {
		defer flushed.Done()
		for {
			collected := s.Collect(after(10))
			each(collected.Metrics, func(metric pmetric.Metric, point pmetric.NumberDataPoint) {
				if metric.Name() == "work.flat" {
					sum += point.IntValue()
				}
			})
			collected.Done()
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	for range 8 {
		updated.Add(1)
		go func() {
			defer updated.Done()
			for range 500 {
				count(s, after(1), leaf("a", 1), leaf("b", 2))
			}
		}()
	}
	updated.Wait()
	close(stop)
	flushed.Wait()
	collected := s.Collect(after(20))
	each(collected.Metrics, func(metric pmetric.Metric, point pmetric.NumberDataPoint) {
		if metric.Name() == "work.flat" {
			sum += point.IntValue()
		}
	})
	collected.Done()
	assert.EqualValues(t, 8*500*3, sum)
	assert.Empty(t, flush(s, after(30)))
	assert.EqualValues(t, 0, s.Live())
}

func TestTheHeaviestExemplarsAreKeptInAnyOrder(t *testing.T) {
	exemplar := func(weight int64, trace byte) Exemplar {
		return Exemplar{TraceID: pcommon.TraceID{trace}, Weight: weight}
	}
	want := []Exemplar{exemplar(9, 1), exemplar(5, 2), exemplar(5, 3)}
	all := append([]Exemplar{exemplar(5, 4), exemplar(1, 5), exemplar(5, 3)}, want...)
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		var list []Exemplar
		for _, one := range all {
			list = KeepHeaviest(list, one, 3)
		}
		require.Equal(t, want, list)
	}
	assert.Empty(t, KeepHeaviest(nil, exemplar(1, 1), 0))
}

// exemplarsOf are the weights of the exemplars of a total.
func exemplarsOf(metrics pmetric.Metrics, name string) []int64 {
	var weights []int64
	each(metrics, func(metric pmetric.Metric, point pmetric.NumberDataPoint) {
		for _, exemplar := range point.Exemplars().All() {
			if metric.Name() == name {
				weights = append(weights, exemplar.IntValue())
			}
		}
	})
	return weights
}

func TestExemplarsBelongToTheLatestIntervalThatHadAny(t *testing.T) {
	for _, delta := range []bool{false, true} {
		t.Run(fmt.Sprint("delta ", delta), func(t *testing.T) {
			s := newStore(func(settings *Settings) { settings.Delta, settings.Exemplars = delta, 2 })
			exemplify := func(weights ...int64) {
				u := s.Update(service("api"), after(1))
				defer u.End()
				u.Counter(counter)
				u.add([]spent{leaf("a", 1)})
				for _, weight := range weights {
					u.Exemplify(threads("main"), []Exemplar{{TraceID: pcommon.TraceID{1}, Weight: weight}})
				}
			}
			told := func(seconds int, done bool) []int64 {
				collected := s.Collect(after(seconds))
				if done {
					collected.Done()
				} else {
					collected.Failed()
				}
				return exemplarsOf(collected.Metrics, "work")
			}
			exemplify(3, 9, 5)
			assert.Equal(t, []int64{9, 5}, told(10, false))
			assert.Equal(t, []int64{9, 5}, told(20, true), "a refused flush is told again")
			exemplify()
			if delta {
				assert.Empty(t, told(30, true))
			} else {
				assert.Equal(t, []int64{9, 5}, told(30, true))
			}
			exemplify(1)
			assert.Equal(t, []int64{1}, told(40, true), "newer ones replace heavier ones")
		})
	}
}

func TestExemplarsOfWhatOverflowedAreThoseOfTheOverflow(t *testing.T) {
	s := newStore(func(settings *Settings) { settings.FunctionLimit, settings.Exemplars = 1, 1 })
	u := s.Update(service("api"), after(1))
	u.Counter(counter)
	u.add([]spent{leaf("a", 8), leaf("b", 2)})
	u.ExemplifyFunction(threads("main"), u.Identify(Function{Name: "b"}), []Exemplar{{Weight: 2}}, []Exemplar{{Weight: 3}})
	u.End()
	collected := s.Collect(after(10))
	collected.Done()
	each(collected.Metrics, func(metric pmetric.Metric, point pmetric.NumberDataPoint) {
		_, overflow := point.Attributes().Get(OverflowAttribute)
		assert.Equal(t, overflow, point.Exemplars().Len() == 1, metric.Name())
	})
	assert.Equal(t, []int64{2}, exemplarsOf(collected.Metrics, "work.flat"))
	assert.Equal(t, []int64{3}, exemplarsOf(collected.Metrics, "work.cumulative"))
}
