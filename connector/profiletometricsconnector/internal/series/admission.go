// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package series // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"

import (
	"cmp"
	"slices"
	"time"
)

// Which functions get places. As long as all that ever came fit in, each gets
// one with its first weight. Once they do not, the stream is contested, and a
// place is never taken back, so that whom it goes to matters:
//
//   - The functions of a profile are ranked before any of them gets a place,
//     by what they weigh in it and are known to have weighed in overflow. A
//     free place goes to the heaviest, and one that an absent function which
//     overflowed lately has a better claim to stays free for that.
//   - The last tenth of the places is kept for functions that prove heavy:
//     more than 1/limit of the weight of all functions of the stream.
//
// The weight of a function is that of the series it would have, flat and
// cumulative. Older weight fades, by half each halfLife.

const (
	halfLife = 5 * time.Minute
	// reserved is which part of the places is kept for functions that prove
	// heavy.
	reserved = 10
	// fewCandidates is how many functions without series any contested stream
	// may keep count of, and someCandidates how many it may if limits do not
	// ask for more.
	fewCandidates  = 8
	someCandidates = 512
)

// contest is the state of a stream whose functions did not all find places.
type contest struct {
	candidates candidates
	// outnumbered says that there were more functions than FunctionLimit, and
	// not only more series than SeriesLimit.
	outnumbered bool
	// refused is when a function was last refused a place, in UnixNano.
	refused int64
}

// newcomer is a function without a place that may get one. It waits until all
// newcomers of the profile are known.
type newcomer struct {
	id     FunctionID
	weight float64 // in this profile
	score  float64 // that, and what it is known to have weighed before
	series int
}

// newcomers are the functions that wait for a decision.
type newcomers struct {
	all []newcomer
	at  map[FunctionID]int
	// claims are the scores of the candidates that are not among them.
	claims []float64
}

func (n *newcomers) reset() {
	n.all, n.claims = n.all[:0], n.claims[:0]
	clear(n.at)
}

// ownWeight is how much a function counts when places are given away.
func (u *Update) ownWeight(weight *FunctionWeight) float64 {
	own := 0.0
	if u.store.settings.Flat {
		own += float64(max(weight.Flat, 0))
	}
	if u.store.settings.Cumulative {
		own += float64(max(weight.Cumulative, 0))
	}
	return own
}

// fade lets weight fade that is older than halfLife.
func (s *stream) fade(now int64) {
	if s.faded == 0 {
		s.faded = now
	}
	for ; now-s.faded >= int64(halfLife); s.faded += int64(halfLife) {
		if s.weight < 1 { // of a base unit: nothing is left to fade
			s.faded = now
			return
		}
		s.weight /= 2
		if s.contest != nil {
			s.contest.candidates.fade()
		}
	}
}

// wait says whether a function without a place has to wait for a decision.
// Otherwise it was refused.
func (u *Update) wait(weight *FunctionWeight) bool {
	own := u.ownWeight(weight)
	if !u.hasProspects(weight, own) {
		u.refuse(weight.Function, own)
		return false
	}
	if u.newcomers == nil {
		u.newcomers = u.store.newcomers.Get().(*newcomers)
	}
	n := u.newcomers
	i, ok := n.at[weight.Function]
	if !ok {
		i = len(n.all)
		n.at[weight.Function] = i
		n.all = append(n.all, newcomer{id: weight.Function})
		if c := u.stream.contest; c != nil {
			n.all[i].score = c.candidates.known(weight.Function)
		}
	}
	entry := &n.all[i]
	entry.weight += own
	entry.score += own
	entry.series += u.seriesFor(weight)
	return true
}

// hasProspects is false if the function can't get a place now.
func (u *Update) hasProspects(weight *FunctionWeight, own float64) bool {
	if u.store.free() < int64(u.seriesFor(weight)) {
		u.store.shortOf(u.now)
		return false
	}
	limit, taken := u.store.settings.FunctionLimit, len(u.stream.places)
	switch {
	case limit == 0:
		return true
	case taken >= limit:
		u.contest().outnumbered = true
		return false
	case !u.stream.isOutnumbered() || taken < limit-limit/reserved:
		return true
	default:
		return u.isHeavy(weight.Function, own)
	}
}

// isHeavy says whether a function may have more than its share of the weight,
// given what came on top of what was counted before. As there are at least
// twice as many counters as places, every function that is heavy is found, and
// none that has less than half of that weight.
func (u *Update) isHeavy(function FunctionID, weight float64) bool {
	if u.stream.contest != nil {
		weight += u.stream.contest.candidates.estimate(function)
	}
	return weight*float64(u.store.settings.FunctionLimit) > u.stream.weight
}

// refuse keeps count of a function that gets no place.
func (u *Update) refuse(function FunctionID, weight float64) {
	c := u.contest()
	c.refused = u.now
	if c.candidates.offer(function, weight, u.store.interval.Load(), u.store.mayKeepCount) {
		u.store.candidates.Add(1)
	}
}

func (s *stream) isOutnumbered() bool { return s.contest != nil && s.contest.outnumbered }

// isNextCandidate says, at little cost, that a function is a candidate, and so
// has no series. Where it says no, the function may still be one.
func (s *stream) isNextCandidate(function FunctionID) bool {
	return s.contest != nil && s.contest.candidates.isNext(function)
}

func (u *Update) contest() *contest {
	if u.stream.contest == nil {
		u.stream.contest = &contest{}
	}
	return u.stream.contest
}

// Admit decides which of the functions that wait get places.
func (u *Update) Admit() {
	n := u.newcomers
	if n == nil {
		return
	}
	byRank := u.placesByRank(len(n.all))
	u.rank()
	ahead, short := 0, false
	for i := range n.all {
		entry := &n.all[i]
		for ahead < len(n.claims) && n.claims[ahead] > entry.score {
			ahead++
		}
		// Whoever is refused for want of a place over all resources is not
		// passed by a lighter one.
		wins := !short && entry.score >= u.store.bar()*u.stream.weight && (i+ahead < byRank || u.winsReserved(entry))
		if wins && !u.reserve(entry.series) {
			u.store.shortOf(u.now)
			short = true
		}
		if !wins || short {
			u.refuse(entry.id, entry.weight)
			continue
		}
		u.give(entry.id)
	}
	n.reset()
	u.store.newcomers.Put(n)
	u.newcomers = nil
}

// placesByRank is how many places go to the heaviest.
func (u *Update) placesByRank(newcomers int) int {
	limit, taken := u.store.settings.FunctionLimit, len(u.stream.places)
	if limit == 0 {
		return newcomers
	}
	if !u.stream.isOutnumbered() {
		if newcomers <= limit-taken {
			return newcomers
		}
		u.contest().outnumbered = true
	}
	return limit - limit/reserved - taken
}

// winsReserved says whether a function gets one of the last places.
func (u *Update) winsReserved(entry *newcomer) bool {
	limit := u.store.settings.FunctionLimit
	return limit > 0 && len(u.stream.places) < limit && u.isHeavy(entry.id, entry.weight)
}

// rank sorts the newcomers, the heaviest first, and the claims of others: of
// the functions that overflowed in this interval or the one before.
func (u *Update) rank() {
	n := u.newcomers
	if c := u.stream.contest; u.stream.isOutnumbered() {
		lately := u.store.interval.Load() - 1
		for i := range c.candidates.counters {
			counter := &c.candidates.counters[i]
			if _, isHere := n.at[counter.id]; !isHere && counter.seen >= lately {
				n.claims = append(n.claims, counter.known())
			}
		}
		slices.SortFunc(n.claims, func(a, b float64) int { return cmp.Compare(b, a) })
	}
	slices.SortStableFunc(n.all, func(a, b newcomer) int { return cmp.Compare(b.score, a.score) })
}

// give gives a function a place.
func (u *Update) give(function FunctionID) {
	if u.stream.places == nil {
		u.stream.places = make(map[FunctionID]int)
	}
	u.stream.places[function] = 0 // series so far
	if c := u.stream.contest; c != nil && c.candidates.remove(function) {
		u.store.candidates.Add(-1)
	}
}

// endContest forgets who overflowed.
func (s *stream) endContest(store *Store) {
	if s.contest != nil {
		store.candidates.Add(-int64(len(s.contest.candidates.counters)))
		s.contest = nil
	}
}

// settleContest ends a contest if nobody has been refused since a time.
func (s *stream) settleContest(store *Store, before int64) {
	if s.contest != nil && s.contest.refused <= before {
		s.endContest(store)
	}
}

// AddWaiting counts the weights of a group's functions that waited for Admit.
// It returns what Add would have.
func (u *Update) AddWaiting(name Group, functions []FunctionWeight) bool {
	g := u.stream.groups[string(name.Key)]
	if g == nil {
		g = newGroup(name)
	}
	overflowed := false
	for i := range functions {
		weight := &functions[i]
		switch {
		case !weight.waiting:
		case u.hasPlace(weight.Function):
			u.addNewFunction(g, weight)
		default:
			u.overflowFunction(weight)
		}
		overflowed = overflowed || weight.CumulativeOverflowed
	}
	u.keepGroup(g)
	return overflowed
}
