// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package series // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"

import (
	"slices"
	"sync"
	"time"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
)

// recent remembers what the counters counted lately, over all resources and
// groups: in the flush intervals that ended within the last minute, or in the
// last one where that is longer. Intervals are kept in spans of several, so that
// short ones cost no more memory than long ones.
type recent struct {
	// before and ending are the sums at the end of the last interval and of the
	// one that ends, by stream. Only Collect and its Flush use them.
	before, ending []sums
	since          time.Time // end of the last interval

	mu    sync.Mutex
	spans []span // the oldest first
}

const (
	recently   = time.Minute
	spanLength = recently / 4
)

// span is what was counted from one moment to another.
type span struct {
	from, to time.Time
	streams  []counts // by stream
}

// counts are the weights of a stream's metrics, in base units.
type counts struct {
	total     int64
	overflow  [functionKinds]int64
	functions map[FunctionID]weights
}

// weights are the flat and the cumulative weight of a function.
type weights [functionKinds]int64

// sums are the values of a stream's counters. Those that stay are what the next
// interval begins with: of series that expire nothing stays.
type sums struct {
	now, stays totals
	functions  map[FunctionID]functionSums
}

type totals struct {
	total    int64
	overflow [functionKinds]int64
}

type functionSums struct{ now, stays weights }

// Watch makes the store remember what its counters counted lately, which costs a
// pass over them with each Collect. It comes before the first Update.
func (s *Store) Watch(now time.Time) {
	streams := len(s.settings.Streams)
	s.recent = &recent{before: make([]sums, streams), ending: make([]sums, streams), since: now}
}

// add adds the counters of a resource up before those that expire are dropped.
func (r *recent) add(c *collection, of *resource) {
	if r == nil {
		return
	}
	for i := range of.streams {
		if !c.store.settings.Streams[i].Snapshot {
			r.ending[i].add(c, &of.streams[i])
		}
	}
}

func (s *sums) add(c *collection, of *stream) {
	if s.functions == nil {
		s.functions = make(map[FunctionID]functionSums)
	}
	stays := func(t *tally) bool { return c.never || !c.store.isDead(t, c.expired) }
	sum := func(now, kept *int64, t *tally) {
		*now = measure.Add(*now, t.value)
		if stays(t) {
			*kept = measure.Add(*kept, t.value)
		}
	}
	sum(&s.now.total, &s.stays.total, &of.overflow[total].tally)
	for k := flat; k < kinds; k++ {
		sum(&s.now.overflow[k-flat], &s.stays.overflow[k-flat], &of.overflow[k].tally)
	}
	for _, g := range of.ordered {
		sum(&s.now.total, &s.stays.total, &g.total.tally)
		for i := range g.tallies {
			f := s.functions[g.tallies[i].id]
			for k := range functionKinds {
				sum(&f.now[k], &f.stays[k], &g.tallies[i].counts[k])
			}
			s.functions[g.tallies[i].id] = f
		}
	}
}

// end ends the interval: what came in it is what there is now and was not
// there when it began.
func (r *recent) end(now time.Time) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.spans) - 1
	if last < 0 || r.spans[last].to.Sub(r.spans[last].from) >= spanLength {
		r.spans = append(r.spans, span{from: r.since, streams: make([]counts, len(r.ending))})
		last++
	}
	r.spans[last].to = now
	for i := range r.ending {
		r.spans[last].streams[i].add(&r.ending[i], &r.before[i])
	}
	r.forget(now)
	r.since = now
	r.before, r.ending = r.ending, r.before
	for i := range r.ending {
		r.ending[i].reset()
	}
}

// forget drops the spans without which the others still cover long enough.
func (r *recent) forget(now time.Time) {
	old := 0
	for old+1 < len(r.spans) && now.Sub(r.spans[old+1].from) >= recently {
		old++
	}
	r.spans = slices.Delete(r.spans, 0, old)
}

// delivered says that a flush handed on all that there was: with delta
// temporality, the next interval begins with nothing.
func (r *recent) delivered(delta bool) {
	if r == nil || !delta {
		return
	}
	for i := range r.before {
		r.before[i].reset()
	}
}

func (s *sums) reset() {
	s.now, s.stays = totals{}, totals{}
	clear(s.functions)
}

func (c *counts) add(ending, before *sums) {
	c.total = measure.Add(c.total, ending.now.total-before.stays.total)
	for k := range functionKinds {
		c.overflow[k] = measure.Add(c.overflow[k], ending.now.overflow[k]-before.stays.overflow[k])
	}
	for id, f := range ending.functions {
		start := before.functions[id].stays
		if f.now != start {
			c.addFunction(id, weights{f.now[0] - start[0], f.now[1] - start[1]})
		}
	}
}

func (c *counts) addFunction(id FunctionID, more weights) {
	if c.functions == nil {
		c.functions = make(map[FunctionID]weights)
	}
	sum := c.functions[id]
	for k := range sum {
		sum[k] = measure.Add(sum[k], more[k])
	}
	c.functions[id] = sum
}

// merge adds what other counted.
func (c *counts) merge(other *counts) {
	c.total = measure.Add(c.total, other.total)
	for k := range other.overflow {
		c.overflow[k] = measure.Add(c.overflow[k], other.overflow[k])
	}
	for id, more := range other.functions {
		c.addFunction(id, more)
	}
}

// use marks the functions whose names are still to be told.
func (r *recent) use(used map[FunctionID]bool) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.spans {
		for _, stream := range r.spans[i].streams {
			for id := range stream.functions {
				used[id] = true
			}
		}
	}
}

// counted is what a stream counted lately, and from when to when. All are zero
// before the end of the first interval.
func (r *recent) counted(stream int) (all counts, from, to time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.spans {
		all.merge(&r.spans[i].streams[stream])
	}
	if len(r.spans) > 0 {
		from, to = r.spans[0].from, r.spans[len(r.spans)-1].to
	}
	return all, from, to
}
