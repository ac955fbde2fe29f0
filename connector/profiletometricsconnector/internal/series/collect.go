// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package series // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"

import (
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// Flush is what one Collect took out of the store.
type Flush struct {
	store *Store
	end   pcommon.Timestamp
	// Metrics may be empty.
	Metrics pmetric.Metrics
}

// Collect ends an interval: it drops the series that have expired and returns
// the points of all others. Exactly one of Done and Failed must be called
// before the next Collect.
func (s *Store) Collect(now time.Time) *Flush {
	flush := &Flush{
		store:   s,
		end:     pcommon.NewTimestampFromTime(now),
		Metrics: pmetric.NewMetrics(),
	}
	c := collection{
		store: s,
		end:   flush.end,
		start: s.collected,
		never: s.settings.Expiration == 0,
	}
	c.expired = now.Add(-s.settings.Expiration).UnixNano()
	for _, r := range s.snapshotOfResources() {
		r.mu.Lock()
		s.recent.add(&c, r)
		c.collect(r, flush.Metrics)
		r.mu.Unlock()
	}
	s.recent.end(now)
	s.forgetEmptyResources()
	s.forgetFunctions()
	s.interval.Add(1)
	s.setBar(c.isOver)
	return flush
}

// Done says that the metrics were handed on.
func (f *Flush) Done() {
	f.store.collected = f.end
	f.store.recent.delivered(f.store.settings.Delta)
	f.settle((*stream).landed)
}

// Failed says that they were not: what only they would have told stays for the
// next interval, which for deltas begins where this one did.
func (f *Flush) Failed() { f.settle((*stream).returned) }

// settle ends the flight of what the metrics alone would have told: delta
// weight, exemplars, and news of gauges.
func (f *Flush) settle(end func(*stream)) {
	for _, r := range f.store.snapshotOfResources() {
		r.mu.Lock()
		for i := range r.streams {
			if f.store.settings.Delta || f.store.settings.Exemplars > 0 || f.store.settings.Streams[i].Snapshot {
				end(&r.streams[i])
			}
		}
		r.mu.Unlock()
	}
}

func (s *stream) landed() {
	s.each(func(p point) {
		p.value -= p.inFlight
		p.inFlight = 0
		p.exemplars.landed()
	})
	s.vanished = slices.Delete(s.vanished, 0, s.vanishedInFlight)
	s.vanishedInFlight, s.touchedInFlight = 0, false
}

func (s *stream) returned() {
	s.each(func(p point) {
		p.inFlight = 0
		p.exemplars.returned()
	})
	s.touched = s.touched || s.touchedInFlight
	s.vanishedInFlight, s.touchedInFlight = 0, false
}

// each calls f with every series.
func (s *stream) each(f func(point)) {
	for k := range s.overflow {
		f(s.overflow[k].point())
	}
	for _, g := range s.ordered {
		f(g.total.point())
		for i := range g.functions {
			f(g.point(int32(i), flat))
			f(g.point(int32(i), cumulative))
		}
	}
}

func (s *Store) snapshotOfResources() []*resource {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return append([]*resource(nil), s.ordered...)
}

// forgetEmptyResources removes the resources without series. An update that
// holds one of them sees the flag and looks again.
func (s *Store) forgetEmptyResources() {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.ordered[:0]
	for _, r := range s.ordered {
		r.mu.Lock()
		if r.empty() {
			r.removed = true
			for i := range r.streams {
				r.streams[i].endContest(s)
			}
			delete(s.resources, r.key)
		} else {
			kept = append(kept, r)
		}
		r.mu.Unlock()
	}
	clear(s.ordered[len(kept):])
	s.ordered = kept
}

func (r *resource) empty() bool {
	for i := range r.streams {
		if !r.streams[i].empty() {
			return false
		}
	}
	return true
}

func (s *stream) empty() bool {
	if len(s.groups) > 0 || len(s.snapshots) > 0 || len(s.vanished) > 0 {
		return false
	}
	for k := range s.overflow {
		if s.overflow[k].exists() {
			return false
		}
	}
	return true
}

// expireCounters drops the series of a counter that nothing has updated since
// a time, unless they hold delta weight that was not handed on yet.
func (s *stream) expireCounters(store *Store, before int64) {
	dead := func(t *tally) bool { return store.isDead(t, before) }
	for k := range s.overflow {
		if dead(&s.overflow[k].tally) {
			s.overflow[k] = series{}
		}
	}
	for _, g := range s.ordered {
		if dead(&g.total.tally) {
			g.total = series{}
			store.release(1)
		}
		for i := range g.tallies {
			for k := flat; k < kinds; k++ {
				if dead(g.tallies[i].count(k)) {
					s.remove(store, g, int32(i), k)
				}
			}
		}
		if !g.inUse() && !g.removed {
			delete(s.groups, g.key)
			g.removed = true
		}
	}
}

func (s *Store) isDead(t *tally, before int64) bool {
	unsent := s.settings.Delta && t.value != 0
	return t.exists() && t.updated <= before && !unsent
}

// compact drops what was removed from the ordered lists.
func (s *stream) compact() {
	s.ordered = without(s.ordered, func(g *group) bool { return g.removed })
	for _, g := range s.ordered {
		g.compact()
	}
}

// without removes elements in place, and lets go of their memory.
func without[T any](all []T, removed func(T) bool) []T {
	kept := all[:0]
	for _, element := range all {
		if !removed(element) {
			kept = append(kept, element)
		}
	}
	clear(all[len(kept):])
	return kept
}

// collection is one pass over the store.
type collection struct {
	store   *Store
	start   pcommon.Timestamp // of the interval
	end     pcommon.Timestamp
	never   bool  // no series expires
	expired int64 // UnixNano at or before which an update is too old
}

// isOver says whether something that happened last at a time has expired.
func (c *collection) isOver(last int64) bool { return !c.never && last <= c.expired }

func (c *collection) collect(r *resource, metrics pmetric.Metrics) {
	var scope pmetric.ScopeMetrics
	begun := false
	// begin makes the resource's entry with its first point.
	begin := func() pmetric.ScopeMetrics {
		if !begun {
			begun = true
			rm := metrics.ResourceMetrics().AppendEmpty()
			r.attributes.CopyTo(rm.Resource())
			rm.SetSchemaUrl(r.schemaURL)
			scope = rm.ScopeMetrics().AppendEmpty()
			scope.Scope().SetName(c.store.settings.ScopeName)
			scope.Scope().SetVersion(c.store.settings.ScopeVersion)
		}
		return scope
	}
	for i := range r.streams {
		s := &r.streams[i]
		snapshot := c.store.settings.Streams[i].Snapshot
		if !c.never {
			if snapshot {
				s.expireSnapshots(c.store, c.expired)
			} else {
				s.expireCounters(c.store, c.expired)
			}
			s.settleContest(c.store, c.expired)
		}
		s.compact()
		if snapshot {
			s.sumSnapshots()
		}
		for k := range kinds {
			writer := c.newWriter(i, k, begin)
			writer.stream(s)
		}
		s.vanishedInFlight = len(s.vanished)
		s.touched, s.touchedInFlight = false, s.touched
	}
}
