// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package series // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"
)

// shortage is the state of SeriesLimit, for which all resources compete.
type shortage struct {
	// last is when a function was last refused a place for it, in UnixNano; 0
	// for never.
	last atomic.Int64
	// bar holds a float64: what share of the weight of its stream a function
	// needs to get one of the few places that are free.
	bar atomic.Uint64
}

// reserve takes places for so many series, or none. Checking the limit and
// taking the places are one operation.
func (s *Store) reserve(places int) bool {
	limit, more := int64(s.settings.SeriesLimit), int64(places)
	if limit == 0 {
		s.live.Add(more)
		return true
	}
	for {
		live := s.live.Load()
		if live+more > limit {
			return false
		}
		if s.live.CompareAndSwap(live, live+more) {
			return true
		}
	}
}

func (s *Store) release(places int) {
	if places != 0 {
		s.live.Add(-int64(places))
	}
}

// free is how many places there are.
func (s *Store) free() int64 {
	if s.settings.SeriesLimit == 0 {
		return math.MaxInt64
	}
	return int64(s.settings.SeriesLimit) - s.live.Load()
}

// reserve takes places for a function that is being admitted.
func (u *Update) reserve(places int) bool {
	if !u.store.reserve(places) {
		return false
	}
	u.reserved += places
	return true
}

// take takes a place for one series, of those reserved if there are any.
func (u *Update) take() bool {
	if u.reserved > 0 {
		u.reserved--
		return true
	}
	return u.store.reserve(1)
}

// isFull says that there is no place for any series.
func (u *Update) isFull() bool { return u.reserved == 0 && u.store.free() <= 0 }

func (s *Store) shortOf(now int64) { s.shortage.last.Store(now) }

func (s *Store) bar() float64 { return math.Float64frombits(s.shortage.bar.Load()) }

// setBar finds out which share of its stream's weight makes a function one of
// the heaviest candidates of all resources, of as many as there are places. It
// keeps a resource from giving places to light functions just because it comes
// first. Candidates that did not overflow in the interval that has ended have
// no claim.
func (s *Store) setBar(isOver func(int64) bool) {
	s.shortage.bar.Store(0)
	last := s.shortage.last.Load()
	if last == 0 {
		return
	}
	if isOver(last) {
		s.shortage.last.CompareAndSwap(last, 0)
		return
	}
	places := int(s.free()) / s.settings.seriesOfFunction()
	if places <= 0 {
		return
	}
	shares := s.claims()
	if len(shares) <= places {
		return
	}
	slices.SortFunc(shares, func(a, b float64) int { return cmp.Compare(b, a) })
	s.shortage.bar.Store(math.Float64bits(shares[places-1]))
}

// claims are the shares of the candidates that overflowed in the interval that
// has ended, except where FunctionLimit leaves them no place anyway.
func (s *Store) claims() []float64 {
	var shares []float64
	ended := s.interval.Load() - 1
	for _, r := range s.snapshotOfResources() {
		r.mu.Lock()
		for i := range r.streams {
			stream := &r.streams[i]
			limit := s.settings.FunctionLimit
			if stream.contest == nil || stream.weight <= 0 || limit > 0 && len(stream.places) >= limit {
				continue
			}
			for _, counter := range stream.contest.candidates.counters {
				if counter.seen >= ended {
					shares = append(shares, counter.known()/stream.weight)
				}
			}
		}
		r.mu.Unlock()
	}
	return shares
}

// seriesOfFunction is how many series a function has in a group, at most.
func (s *Settings) seriesOfFunction() int {
	if s.Flat && s.Cumulative {
		return 2
	}
	return 1
}

// mayKeepCount says whether a stream that keeps count of some functions without
// series may do so of one more. It does of twice as many as have places, so
// that the summary's error is less than half of what makes a function heavy; but
// all streams together of no more than twice as many as there may be series, as
// far as a few for each go.
func (s *Store) mayKeepCount(counters int) bool {
	if counters < fewCandidates {
		return true
	}
	if counters >= max(2*s.settings.FunctionLimit, someCandidates) {
		return false
	}
	limit := int64(s.settings.SeriesLimit)
	return limit == 0 || s.candidates.Load() < 2*limit
}
