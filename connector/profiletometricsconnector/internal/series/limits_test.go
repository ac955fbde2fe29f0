// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// TestNothingIsLostWithinAnyLimit feeds random profiles to a store and to a
// model of it, and compares the two at every flush. The model asks the store
// only whether a series exists after an update; that it counts the rest exactly,
// with failing flushes and expiry, is what the test shows.
func TestNothingIsLostWithinAnyLimit(t *testing.T) {
	for limit := range 16 { // of 14 functions
		for seed := range uint64(24) {
			t.Run(fmt.Sprintf("limit %d, seed %d", limit, seed), func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, uint64(limit)))
				m := &model{t: t, random: random, series: map[seriesKey]*modelSeries{}, sources: map[[2]string]*modelSource{}, ever: map[streamKey]map[string]bool{}}
				m.store = newStore(func(settings *Settings) {
					settings.MarkVanished = false
					settings.Delta = random.IntN(2) == 0
					settings.Flat = random.IntN(4) > 0
					settings.Cumulative = !settings.Flat || random.IntN(4) > 0
					if random.IntN(3) > 0 {
						settings.Expiration = time.Minute
					}
					if random.IntN(3) > 0 {
						settings.FunctionLimit = limit
					}
					if random.IntN(2) > 0 {
						settings.SeriesLimit = 6 * limit
					}
				})
				for range 60 {
					m.seconds += random.IntN(20)
					if random.IntN(4) == 0 {
						m.flush()
					} else {
						m.profile()
					}
				}
				m.flush()
			})
		}
	}
}

type streamKey struct {
	resource string
	stream   int
}

// seriesKey names a series: that of a function, a group's total, or, without a
// group, an overflow.
type seriesKey struct {
	streamKey
	group, function string
	kind            kind
}

type modelSeries struct {
	value   int64
	updated time.Time
}

type modelSource struct {
	stream   streamKey
	measured int
	updated  time.Time
	parts    map[seriesKey]int64
}

type model struct {
	t       *testing.T
	random  *rand.Rand
	store   *Store
	seconds int

	series  map[seriesKey]*modelSeries // of counters
	sources map[[2]string]*modelSource // of gauges
	ever    map[streamKey]map[string]bool
	fed     int64 // to counters
}

type sample struct {
	group  string
	stack  []string // no function twice; the leaf first
	weight int64
}

func (m *model) samples() []sample {
	var all []sample
	for range m.random.IntN(8) {
		functions := m.random.Perm(14)[:1+m.random.IntN(4)]
		one := sample{group: fmt.Sprint("thread", m.random.IntN(3)), weight: 1 + int64(m.random.ExpFloat64()*100)}
		for _, function := range functions {
			one.stack = append(one.stack, string(rune('a'+function)))
		}
		all = append(all, one)
	}
	return all
}

// profile gives one profile to the store and counts it in the model.
func (m *model) profile() {
	key := streamKey{fmt.Sprint("service", m.random.IntN(3)), m.random.IntN(2)}
	now, samples := after(m.seconds), m.samples()
	u := m.store.Update(service(key.resource), now)
	defer u.End()
	source := &modelSource{stream: key, measured: 10 + m.seconds - m.random.IntN(10), updated: now, parts: map[seriesKey]int64{}}
	name := [2]string{key.resource, fmt.Sprint("source", m.random.IntN(2))}
	if key.stream == counter {
		u.Counter(counter)
	} else {
		held := m.sources[name]
		accepted := u.Snapshot(gauge, Source{Key: []byte(name[1]), Measured: pcommon.Timestamp(source.measured), Batch: m.store.Batch()})
		require.Equal(m.t, held == nil || held.measured <= source.measured, accepted)
		if !accepted {
			return
		}
		m.sources[name] = source
	}
	places := maps.Clone(u.stream.places)
	addProfile(&u, samples)
	for function := range places {
		require.Contains(m.t, u.stream.places, function, "no place is taken back")
	}
	for where, weight := range m.divide(&u, key, samples) {
		if key.stream == gauge {
			source.parts[where] = weight
			continue
		}
		if m.series[where] == nil {
			m.series[where] = &modelSeries{}
		}
		m.series[where].value += weight
		m.series[where].updated = now
	}
	if key.stream == gauge {
		u.EndSnapshot()
	}
	m.checkLimits(&u, key)
}

// addProfile does what package aggregate does.
func addProfile(u *Update, samples []sample) {
	weights := map[string][]FunctionWeight{}
	totals := map[string]int64{}
	var groups []string
	for _, one := range samples {
		if !slices.Contains(groups, one.group) {
			groups = append(groups, one.group)
		}
		totals[one.group] += one.weight
		for i, function := range one.stack {
			id := u.Identify(Function{Name: function})
			at := slices.IndexFunc(weights[one.group], func(w FunctionWeight) bool { return w.Function == id })
			if at < 0 {
				at = len(weights[one.group])
				weights[one.group] = append(weights[one.group], FunctionWeight{Function: id})
			}
			weights[one.group][at].Cumulative += one.weight
			if i == 0 {
				weights[one.group][at].Flat += one.weight
			}
		}
	}
	overflow := func(group string) {
		sum := int64(0)
		for _, one := range samples {
			if one.group == group && slices.ContainsFunc(one.stack, func(function string) bool {
				id := u.Identify(Function{Name: function})
				return slices.ContainsFunc(weights[group], func(w FunctionWeight) bool { return w.Function == id && w.CumulativeOverflowed })
			}) {
				sum += one.weight
			}
		}
		u.AddOverflow(sum)
	}
	var waiting []string
	for _, group := range groups {
		added := u.Add(threads(group), totals[group], weights[group])
		switch {
		case added.Waiting:
			waiting = append(waiting, group)
		case added.Overflowed:
			overflow(group)
		}
	}
	u.Admit()
	for _, group := range waiting {
		if u.AddWaiting(threads(group), weights[group]) {
			overflow(group)
		}
	}
}

// divide says how much each series gets of the samples, given which exist.
func (m *model) divide(u *Update, key streamKey, samples []sample) map[seriesKey]int64 {
	weights := map[seriesKey]int64{}
	// add returns false if the weight went, or is to go, to overflow.
	has := func(group, function string, k kind) bool {
		g := u.stream.groups[group]
		if g == nil {
			return false
		}
		if k == total {
			return g.total.exists()
		}
		position, known := g.positions[u.Identify(Function{Name: function})]
		return known && g.point(position, k).exists()
	}
	add := func(one sample, function string, k kind) bool {
		own := has(one.group, function, k)
		switch {
		case own:
			weights[seriesKey{key, one.group, function, k}] += one.weight
		case k != cumulative:
			weights[seriesKey{key, "", "", k}] += one.weight
		}
		return own
	}
	if m.ever[key] == nil {
		m.ever[key] = map[string]bool{}
	}
	for _, one := range samples {
		if key.stream == counter {
			m.fed += one.weight
		}
		add(one, "", total)
		if m.store.settings.Flat {
			m.ever[key][one.stack[0]] = true
			add(one, one.stack[0], flat)
		}
		overflows := false
		for _, function := range one.stack {
			if m.store.settings.Cumulative {
				m.ever[key][function] = true
				overflows = !add(one, function, cumulative) || overflows
			}
		}
		if overflows {
			weights[seriesKey{key, "", "", cumulative}] += one.weight
		}
	}
	return weights
}

// checkLimits checks what must hold after every update.
func (m *model) checkLimits(u *Update, key streamKey) {
	settings := m.store.settings
	if settings.SeriesLimit > 0 {
		require.LessOrEqual(m.t, m.store.Live()-int64(u.reserved), int64(settings.SeriesLimit))
	}
	if settings.FunctionLimit == 0 {
		return
	}
	require.LessOrEqual(m.t, len(u.stream.places), settings.FunctionLimit)
	if settings.SeriesLimit == 0 && len(m.ever[key]) <= settings.FunctionLimit {
		require.False(m.t, u.stream.overflow[flat].exists() || u.stream.overflow[cumulative].exists(), "all functions fit")
	}
}

// flush compares what the store tells with the model.
func (m *model) flush() {
	now := after(m.seconds)
	m.expire(now)
	collected := m.store.Collect(now)
	delta := m.store.settings.Delta
	want, got := map[seriesKey]int64{}, readAll(collected.Metrics)
	sums := map[kind]int64{}
	for key, series := range m.series {
		sums[key.kind] += series.value
		if !delta || series.value != 0 {
			want[key] = series.value
		}
	}
	if m.store.settings.Expiration == 0 && !delta {
		require.Equal(m.t, m.fed, sums[total])
		if m.store.settings.Flat {
			require.Equal(m.t, m.fed, sums[flat])
		}
	}
	live := m.addGauges(want, got)
	for key := range m.series {
		if key.group != "" {
			live++
		}
	}
	require.Equal(m.t, want, got)
	require.Equal(m.t, live, m.store.Live())
	m.checkCandidates()
	if m.random.IntN(4) == 0 {
		collected.Failed()
		return
	}
	collected.Done()
	if delta {
		for _, series := range m.series {
			series.value = 0
		}
	}
}

// addGauges adds the gauges to what is wanted, except those that in delta
// temporality are told only when they were measured again. It returns how many
// hold a place.
func (m *model) addGauges(want, got map[seriesKey]int64) int64 {
	sums := map[seriesKey]int64{}
	for _, source := range m.sources {
		for key, weight := range source.parts {
			sums[key] += weight
		}
	}
	told := map[streamKey]bool{}
	for key := range got {
		told[key.streamKey] = true
	}
	live := int64(0)
	for key, value := range sums {
		if key.group != "" {
			live++
		}
		if !m.store.settings.Delta || told[key.streamKey] {
			want[key] = value
		}
	}
	return live
}

func (m *model) expire(now time.Time) {
	if m.store.settings.Expiration == 0 {
		return
	}
	before := now.Add(-m.store.settings.Expiration)
	maps.DeleteFunc(m.series, func(_ seriesKey, s *modelSeries) bool {
		return !s.updated.After(before) && (!m.store.settings.Delta || s.value == 0)
	})
	maps.DeleteFunc(m.sources, func(_ [2]string, s *modelSource) bool { return !s.updated.After(before) })
}

func (m *model) checkCandidates() {
	held := int64(0)
	for _, r := range m.store.resources {
		for i := range r.streams {
			if c := r.streams[i].contest; c != nil {
				held += int64(len(c.candidates.counters))
				for id := range r.streams[i].places {
					require.NotContains(m.t, c.candidates.at, id)
				}
			}
		}
	}
	require.Equal(m.t, held, m.store.candidates.Load())
}

func readAll(metrics pmetric.Metrics) map[seriesKey]int64 {
	values := map[seriesKey]int64{}
	for _, resource := range metrics.ResourceMetrics().All() {
		name, _ := resource.Resource().Attributes().Get("service.name")
		one := pmetric.NewMetrics()
		resource.CopyTo(one.ResourceMetrics().AppendEmpty())
		each(one, func(metric pmetric.Metric, point pmetric.NumberDataPoint) {
			key := seriesKey{streamKey: streamKey{resource: name.Str()}}
			base, suffixed, _ := strings.Cut(metric.Name(), ".")
			if base == "held" {
				key.stream = gauge
			}
			key.kind = map[string]kind{"": total, "flat": flat, "cumulative": cumulative}[suffixed]
			if group, ok := point.Attributes().Get("thread.name"); ok {
				key.group = group.Str()
			}
			if function, ok := point.Attributes().Get(FunctionAttribute); ok {
				key.function = function.Str()
			}
			values[key] = point.IntValue()
		})
	}
	return values
}
