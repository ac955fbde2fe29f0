// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

func flatOf(function string) string { return "work.flat{" + function + "}" }

// zipf are functions f1, f2 … of falling weight, in random order.
func zipf(random *rand.Rand, n int) []spent {
	all := make([]spent, n)
	for i, at := range random.Perm(n) {
		all[at] = leaf(fmt.Sprint("f", i+1), 1_000_000/int64(i+1))
	}
	return all
}

func TestTheHeaviestOfTheFirstProfileWin(t *testing.T) {
	const limit, functions = 500, 5000
	for seed := range uint64(2) {
		s := newStore(func(settings *Settings) { settings.FunctionLimit = limit })
		count(s, after(1), zipf(rand.New(rand.NewPCG(seed, 0)), functions)...)
		values := flush(s, after(10))
		for rank := 1; rank <= limit-limit/reserved; rank++ {
			require.Contains(t, values, flatOf(fmt.Sprint("f", rank)))
		}
		for rank := limit + 1; rank <= functions; rank++ {
			require.NotContains(t, values, flatOf(fmt.Sprint("f", rank)))
		}
	}
}

func TestEveryFunctionHasSeriesWhileTheyFit(t *testing.T) {
	for _, limit := range []int{1, 9, 10, 50} {
		s := newStore(func(settings *Settings) { settings.FunctionLimit, settings.SeriesLimit = limit, 1+2*limit })
		for i := range limit {
			count(s, after(i), leaf(fmt.Sprint("f", i), 1000/int64(i+1)))
		}
		assert.Zero(t, s.Overflowed())
		assert.EqualValues(t, 1+2*limit, s.Live())
		assert.Zero(t, s.candidates.Load())
	}
}

func TestAFunctionThatBecomesHeavyGetsItsSeriesFromThenOn(t *testing.T) {
	s := newStore(func(settings *Settings) { settings.FunctionLimit, settings.Cumulative = 20, false })
	var light []spent
	for i := range 100 {
		light = append(light, leaf(fmt.Sprint("light", i), 10))
	}
	sum := int64(0)
	for i := range 10 {
		count(s, after(i), append([]spent{leaf("heavy", 11)}, light[i:]...)...)
		sum += 11 + int64(len(light)-i)*10
	}
	// It was among the 18 heaviest of the first profile, so give another one
	// the role: late is 1 for a while, and then heavy.
	count(s, after(10), append([]spent{leaf("late", 1)}, light...)...)
	sum += 1 + 1000
	before := flush(s, after(10))
	require.NotContains(t, before, flatOf("late"))
	require.Contains(t, before, flatOf("heavy"))

	count(s, after(11), append(light, leaf("late", 2000))...)
	sum += 3000
	collected := s.Collect(after(20))
	collected.Done()
	now := tell(collected.Metrics)
	assert.EqualValues(t, 2000, now[flatOf("late")], "what it weighed before stays in overflow")
	assert.GreaterOrEqual(t, now[flatOf("overflow")], before[flatOf("overflow")])
	requireAddsUp(t, now, sum)
	each(collected.Metrics, func(_ pmetric.Metric, point pmetric.NumberDataPoint) {
		if function, ok := point.Attributes().Get(FunctionAttribute); ok && function.Str() == "late" {
			assert.Equal(t, after(11), point.StartTimestamp().AsTime())
		}
	})
}

func TestAFunctionThatIsHeavyForLongGetsItsSeries(t *testing.T) {
	// Its share is above 1/20 now, but not of all that ever came: what is long
	// past must not keep it out.
	s := newStore(func(settings *Settings) { settings.FunctionLimit, settings.Flat = 20, false })
	var light []spent
	for i := range 100 {
		light = append(light, leaf(fmt.Sprint("light", i), 10))
	}
	minute := 60
	for i := range 100 {
		count(s, after(i*minute), light...)
	}
	for i := range 3 {
		count(s, after((100+i)*minute), append(light, leaf("late", 100))...)
	}
	assert.NotContains(t, flush(s, after(103*minute)), "work.cumulative{late}")
	for i := range 10 {
		count(s, after((103+i)*minute), append(light, leaf("late", 100))...)
	}
	assert.Contains(t, flush(s, after(120*minute)), "work.cumulative{late}")
}

// TestHeavyFunctionsHaveSeriesWhilePlacesAreFree compares random streams, in
// which the functions change, with exact sums: what README.md guarantees.
func TestHeavyFunctionsHaveSeriesWhilePlacesAreFree(t *testing.T) {
	admitted := 0
	for _, limit := range []int{10, 30, 100} {
		for seed := range uint64(20) {
			t.Run(fmt.Sprintf("limit %d, seed %d", limit, seed), func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, uint64(limit)))
				functions := rand.NewZipf(random, 1.2, 5, 2000)
				s := newStore(func(settings *Settings) { settings.FunctionLimit, settings.Cumulative = limit, false })
				exact, sum := map[string]int64{}, int64(0)
				for step := range 280 { // seconds, in which nothing fades
					before := placesOf(s)
					contested := len(exact) > limit
					profile := map[string]int64{}
					for range 1 + random.IntN(30) {
						profile[fmt.Sprint("f", int(functions.Uint64())+step/40*3)] = 1 + int64(random.ExpFloat64()*100)
					}
					var weights []spent
					for _, name := range slices.Sorted(maps.Keys(profile)) {
						weights = append(weights, leaf(name, profile[name]))
						exact[name] += profile[name]
						sum += profile[name]
					}
					count(s, after(step), weights...)
					now := placesOf(s)
					require.LessOrEqual(t, len(now), limit)
					for name := range profile {
						isHeavy := exact[name]*int64(limit) > sum
						isLight := exact[name]*2*int64(limit) < sum
						switch {
						case !now[name] && len(now) < limit:
							require.False(t, isHeavy, "%s is heavy and has no series", name)
						case now[name] && !before[name] && contested && len(before) >= limit-limit/reserved:
							require.False(t, isLight, "%s is light and got one of the last places", name)
							admitted++
						}
					}
				}
			})
		}
	}
	assert.Greater(t, admitted, 100, "places that were kept for heavy functions")
}

// placesOf are the functions that have series.
func placesOf(s *Store) map[string]bool {
	names := map[string]bool{}
	if r := s.resources["api"]; r != nil {
		for id := range r.streams[counter].places {
			names[s.functions.named[id].Name] = true
		}
	}
	return names
}

func TestAFreedPlaceGoesToTheHeaviestCandidate(t *testing.T) {
	s := newStore(func(settings *Settings) {
		settings.FunctionLimit, settings.Cumulative, settings.Expiration = 2, false, time.Minute
	})
	count(s, after(0), leaf("a", 1), leaf("b", 1))
	for seconds := 10; seconds <= 60; seconds += 10 {
		count(s, after(seconds), leaf("light", 1), leaf("b", 1), leaf("heavy", 5))
	}
	flush(s, after(60)) // a expires
	count(s, after(61), leaf("light", 1))
	now := flush(s, after(62))
	assert.NotContains(t, now, flatOf("light"), "the first to come")
	count(s, after(63), leaf("heavy", 1), leaf("light", 1))
	now = flush(s, after(70))
	assert.EqualValues(t, 1, now[flatOf("heavy")])
	assert.NotContains(t, now, flatOf("light"))

	// A candidate that does not come any more has no claim.
	for seconds := 71; seconds < 130; seconds += 10 {
		count(s, after(seconds), leaf("heavy", 1), leaf("gone", 100), leaf("light", 1))
	}
	now = flush(s, after(131)) // b expires
	require.NotContains(t, now, flatOf("b"))
	flush(s, after(141))
	flush(s, after(151))
	count(s, after(152), leaf("light", 1))
	assert.Contains(t, flush(s, after(160)), flatOf("light"))
}

func TestAFreedPlaceGoesToTheHeaviestOfAllResources(t *testing.T) {
	s := newStore(func(settings *Settings) {
		settings.SeriesLimit, settings.Cumulative, settings.Expiration = 4, false, time.Minute
	})
	countFor := func(resource string, seconds int, weights ...spent) {
		u := s.Update(service(resource), after(seconds))
		defer u.End()
		u.Counter(counter)
		u.add(weights)
	}
	countFor("first", 0, leaf("a", 1))
	countFor("second", 0, leaf("b", 99))
	for seconds := 10; seconds <= 60; seconds += 10 {
		countFor("first", seconds, leaf("light", 1), leaf("unseen", 99))
		countFor("second", seconds, leaf("b", 50), leaf("heavy", 50))
	}
	require.EqualValues(t, 4, s.Live())
	flush(s, after(60)) // a expires
	require.EqualValues(t, 3, s.Live())
	countFor("first", 61, leaf("light", 1))
	require.EqualValues(t, 3, s.Live(), "a share of a hundredth is too light")
	countFor("first", 62, leaf("unseen", 99))
	require.EqualValues(t, 4, s.Live())
	values := flush(s, after(70))
	assert.Contains(t, values, flatOf("unseen"))
	assert.NotContains(t, values, flatOf("light"))
}

func TestAContestEndsWithTheLastOverflow(t *testing.T) {
	s := newStore(func(settings *Settings) { settings.FunctionLimit, settings.Expiration = 10, time.Minute })
	var all []spent
	for i := range 30 {
		all = append(all, leaf(fmt.Sprint("f", i), 1))
	}
	count(s, after(0), all...)
	assert.Positive(t, s.candidates.Load())
	count(s, after(30), leaf("f0", 1))
	flush(s, after(60))
	assert.Zero(t, s.candidates.Load())
	count(s, after(61), all[:10]...)
	overflowed := s.Overflowed()
	assert.EqualValues(t, 21, s.Live(), "no place is kept back any more")
	flush(s, after(200))
	assert.Equal(t, overflowed, s.Overflowed())
	assert.Zero(t, s.Live())
	assert.Empty(t, s.resources)
}

func TestAllResourcesTogetherKeepCountOfAFew(t *testing.T) {
	const limit = 100
	s := newStore(func(settings *Settings) { settings.SeriesLimit, settings.Expiration = limit, time.Minute })
	for resource := range 500 {
		u := s.Update(service(strconv.Itoa(resource)), after(1))
		u.Counter(counter)
		var weights []spent
		for i := range 50 {
			weights = append(weights, leaf(fmt.Sprint("f", i), int64(i+1)))
		}
		u.add(weights)
		u.End()
	}
	assert.LessOrEqual(t, s.candidates.Load(), int64(2*limit+500*fewCandidates))
	flush(s, after(100))
	assert.Zero(t, s.candidates.Load())
	assert.Empty(t, s.resources)
}

func TestPlacesThatNoSeriesTakesAreGivenBack(t *testing.T) {
	// Two groups of a profile may turn out to be the same.
	s := newStore(func(settings *Settings) { settings.SeriesLimit = 10 })
	u := s.Update(service("api"), after(1))
	u.Counter(counter)
	first := []FunctionWeight{{Function: u.Identify(Function{Name: "a"}), Flat: 1, Cumulative: 1}}
	second := slices.Clone(first)
	require.True(t, u.Add(threads("main"), 1, first).Waiting)
	require.True(t, u.Add(threads("main"), 1, second).Waiting)
	u.Admit()
	assert.False(t, u.AddWaiting(threads("main"), first))
	assert.False(t, u.AddWaiting(threads("main"), second))
	u.End()
	assert.EqualValues(t, 3, s.Live())
	assert.Equal(t, told{"work": int64(2), "work.flat{a}": int64(2), "work.cumulative{a}": int64(2)}, flush(s, after(10)))
}

func TestOverflowingAllocatesNothing(t *testing.T) {
	for name, change := range map[string]func(*Settings){
		"functions": func(settings *Settings) { settings.FunctionLimit = 100 },
		"series":    func(settings *Settings) { settings.SeriesLimit = 100 },
		"all":       func(settings *Settings) { settings.SeriesLimit = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(change)
			var weights []FunctionWeight
			u := s.Update(service("api"), after(1))
			for i := range 1000 {
				id := u.Identify(Function{Name: fmt.Sprint("f", i)})
				weights = append(weights, FunctionWeight{Function: id, Flat: int64(i + 1), Cumulative: int64(i + 1)})
			}
			u.End()
			resource, group := service("api"), threads("main")
			add := func() {
				u := s.Update(resource, after(2))
				defer u.End()
				u.Counter(counter)
				if u.Add(group, 500_500, weights).Waiting {
					u.Admit()
					u.AddWaiting(group, weights)
				}
			}
			add()
			assert.LessOrEqual(t, testing.AllocsPerRun(100, add), 1.0)
			assert.Positive(t, s.Overflowed())
		})
	}
}
