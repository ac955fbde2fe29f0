// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package series // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Update is a change to the series of one resource. Nothing of it is emitted
// before End, and then all of it.
type Update struct {
	store    *Store
	resource *resource
	now      int64 // UnixNano

	stream   *stream
	snapshot *snapshot // nil for counters

	newcomers *newcomers // nil unless functions wait for Admit
	reserved  int        // places that Admit took and no series has yet
}

// Resource names an output resource. Key is a canonical encoding of its
// attributes; Fill sets them, and is called only for a resource that is new.
type Resource struct {
	Key       []byte
	SchemaURL string
	Fill      func(pcommon.Resource)
}

// Source says where a snapshot comes from and when it was taken. Another
// snapshot of the same key replaces it if it isn't older.
type Source struct {
	// Key is a canonical encoding of the input resource and scope.
	Key []byte
	// Measured is the time of the profile.
	Measured pcommon.Timestamp
	// Batch is a number from Store.Batch.
	Batch int64
}

// Group names the point attributes that series share, the function aside. Key
// is their canonical encoding; Fill sets them, and is called only for a group
// that is new.
type Group struct {
	Key  []byte
	Fill func(pcommon.Map)
}

// FunctionWeight is what one function adds, in base units.
type FunctionWeight struct {
	Function         FunctionID // from Update.Identify
	Flat, Cumulative int64
	// CumulativeOverflowed is set by Add where the function has no cumulative
	// series of its own, and its weight is still to be accounted for with
	// AddOverflow.
	CumulativeOverflowed bool

	waiting bool // for Admit
}

// Update locks a resource for a change, which End must end.
func (s *Store) Update(name Resource, now time.Time) Update {
	s.functions.inUse.RLock()
	for {
		r := s.resource(name)
		r.mu.Lock()
		if !r.removed {
			return Update{store: s, resource: r, now: now.UnixNano()}
		}
		r.mu.Unlock()
	}
}

// End makes the change visible.
func (u *Update) End() {
	u.store.release(u.reserved)
	u.resource.mu.Unlock()
	u.store.functions.inUse.RUnlock()
}

func (s *Store) resource(name Resource) *resource {
	s.mu.RLock()
	r := s.resources[string(name.Key)]
	s.mu.RUnlock()
	if r != nil {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r = s.resources[string(name.Key)]; r != nil {
		return r
	}
	r = &resource{
		key:        string(name.Key),
		attributes: pcommon.NewResource(),
		schemaURL:  name.SchemaURL,
		streams:    make([]stream, len(s.settings.Streams)),
	}
	name.Fill(r.attributes)
	if instance := s.settings.Instance; instance.Key != "" {
		r.attributes.Attributes().PutStr(instance.Key, instance.Value)
	}
	s.resources[r.key] = r
	s.ordered = append(s.ordered, r)
	return r
}

// Counter turns to a stream whose weights add up.
func (u *Update) Counter(stream int) {
	u.stream = &u.resource.streams[stream]
	u.stream.fade(u.now)
	u.snapshot = nil
}

// Snapshot turns to a stream of which source has a snapshot. It returns false
// if a newer one is held already, and End or another turn must come next. The
// snapshot is complete with EndSnapshot.
func (u *Update) Snapshot(stream int, source Source) bool {
	u.stream = &u.resource.streams[stream]
	u.stream.fade(u.now)
	u.snapshot = u.stream.beginSnapshot(source, u.now)
	return u.snapshot != nil
}

// EndSnapshot lets go of what the snapshot replaced.
func (u *Update) EndSnapshot() {
	u.stream.endSnapshot(u.store, u.snapshot)
	u.snapshot = nil
}

// Added is what became of the functions of a group.
type Added struct {
	// Overflowed says that CumulativeOverflowed was set for at least one.
	Overflowed bool
	// Waiting says that functions without series may get some, once all groups
	// have been added: Admit decides, and AddWaiting counts their weights,
	// which must be kept until then.
	Waiting bool
}

// Add counts the total weight of a group and the weights of its functions. A
// weight that finds no series goes to the stream's overflow series, except for
// cumulative weights: how much they add there depends on the stacks in which
// they meet.
func (u *Update) Add(name Group, weight int64, functions []FunctionWeight) Added {
	own := 0.0
	for i := range functions {
		own += u.ownWeight(&functions[i])
	}
	u.stream.weight += own
	g := u.stream.groups[string(name.Key)]
	if g == nil {
		if u.isFull() {
			return u.overflowGroup(weight, functions)
		}
		g = newGroup(name)
	}
	u.addTotal(g, weight)
	var added Added
	first := u.addExpected(g, functions)
	next := int32(first)
	for i := first; i < len(functions); i++ {
		function := &functions[i]
		next = u.addFunction(g, function, next)
		added.Overflowed = added.Overflowed || function.CumulativeOverflowed
		added.Waiting = added.Waiting || function.waiting
	}
	u.keepGroup(g)
	return added
}

// addExpected counts the weights of functions as long as they come in the order
// of their positions and have all their series, and returns how many did. It
// does what addFunction would, without a decision that depends on the function.
func (u *Update) addExpected(g *group, functions []FunctionWeight) int {
	if u.snapshot != nil || !u.store.settings.Flat || !u.store.settings.Cumulative {
		return 0
	}
	now, tallies := u.now, g.tallies
	n := min(len(functions), len(tallies))
	functions, tallies = functions[:n], tallies[:n]
	for i := range functions {
		weight, tally := &functions[i], &tallies[i]
		if tally.id != weight.Function || tally.counts[0].lacks(weight.Flat)|tally.counts[1].lacks(weight.Cumulative) != 0 {
			return i
		}
		weight.CumulativeOverflowed, weight.waiting = false, false
		tally.counts[0].addAny(weight.Flat, now)
		tally.counts[1].addAny(weight.Cumulative, now)
	}
	return n
}

// addFunction counts the weights of a function, unless they have to wait. It
// takes a guess at the function's position, and returns one at that of the next.
func (u *Update) addFunction(g *group, weight *FunctionWeight, guess int32) int32 {
	weight.CumulativeOverflowed, weight.waiting = false, false
	if u.seriesFor(weight) == 0 {
		return guess
	}
	position, known := guess, g.isAt(weight.Function, guess)
	if !known && !u.stream.isNextCandidate(weight.Function) {
		position, known = g.positions[weight.Function]
		if !known && u.hasPlace(weight.Function) {
			u.addNewFunction(g, weight)
			return guess
		}
	}
	switch {
	case known:
		u.addToFunction(g, position, weight)
		return position + 1
	case u.wait(weight):
		weight.waiting = true
	default:
		u.overflowFunction(weight)
	}
	return guess
}

// AddOverflow counts the cumulative weight of samples of which a function
// overflowed, each sample once.
func (u *Update) AddOverflow(weight int64) { u.overflow(cumulative, weight) }

// overflowGroup counts the weights of a group that can't have any series.
func (u *Update) overflowGroup(weight int64, functions []FunctionWeight) Added {
	if weight != 0 {
		u.overflow(total, weight)
	}
	var added Added
	for i := range functions {
		function := &functions[i]
		function.waiting = false
		if u.seriesFor(function) > 0 && !u.hasPlace(function.Function) {
			u.store.shortOf(u.now)
			u.refuse(function.Function, u.ownWeight(function))
		}
		u.overflowFunction(function)
		added.Overflowed = added.Overflowed || function.CumulativeOverflowed
	}
	return added
}

// keepGroup keeps a new group if it has series.
func (u *Update) keepGroup(g *group) {
	if g.inUse() && u.stream.groups[g.key] == nil {
		u.stream.insert(g)
	}
}

func newGroup(name Group) *group {
	g := &group{
		key:        string(name.Key),
		attributes: pcommon.NewMap(),
		positions:  make(map[FunctionID]int32),
	}
	name.Fill(g.attributes)
	return g
}

func (g *group) inUse() bool { return g.total.exists() || len(g.positions) > 0 }

func (s *stream) insert(g *group) {
	if s.groups == nil {
		s.groups = make(map[string]*group)
	}
	s.groups[g.key] = g
	s.ordered = append(s.ordered, g)
}

func (u *Update) addTotal(g *group, weight int64) {
	if weight == 0 {
		return
	}
	if !g.total.exists() && !u.take() {
		u.overflow(total, weight)
		return
	}
	u.count(place{g, 0, total}, g.total.point(), weight)
}

// seriesFor is how many series a function has in a group, given its weights.
func (u *Update) seriesFor(weight *FunctionWeight) int {
	series := 0
	if u.store.settings.Flat && weight.Flat != 0 {
		series++
	}
	if u.store.settings.Cumulative && weight.Cumulative != 0 {
		series++
	}
	return series
}

func (u *Update) hasPlace(function FunctionID) bool {
	_, has := u.stream.places[function]
	return has
}

// addNewFunction counts the weights of a function that has a place, but no
// series in the group.
func (u *Update) addNewFunction(g *group, weight *FunctionWeight) {
	if u.isFull() {
		u.overflowFunction(weight)
		return
	}
	position, known := g.positions[weight.Function]
	if !known {
		position = g.appendFunction(weight.Function)
	}
	u.addToFunction(g, position, weight)
	if !known {
		g.keepFunction(&u.store.functions)
	}
}

// addToFunction counts the weights of a function that has a place. It says in
// weight whether the cumulative one is still to be accounted for.
func (u *Update) addToFunction(g *group, position int32, weight *FunctionWeight) {
	if u.store.settings.Flat && weight.Flat != 0 && !u.addToSeries(g, position, flat, weight.Flat) {
		u.overflow(flat, weight.Flat)
	}
	if u.store.settings.Cumulative && weight.Cumulative != 0 {
		weight.CumulativeOverflowed = !u.addToSeries(g, position, cumulative, weight.Cumulative)
	}
}

// addToSeries counts weight, and returns false if there is no place for the
// series.
func (u *Update) addToSeries(g *group, position int32, k kind, weight int64) bool {
	counted := g.tallies[position].count(k)
	if counted.exists() && u.snapshot == nil {
		counted.add(weight, u.now)
		return true
	}
	function := g.tallies[position].id
	if !counted.exists() && !u.takeFor(function) {
		return false
	}
	u.count(place{g, function, k}, g.point(position, k), weight)
	return true
}

// overflowFunction counts the weights of a function that has no place.
func (u *Update) overflowFunction(weight *FunctionWeight) {
	if u.store.settings.Flat && weight.Flat != 0 {
		u.overflow(flat, weight.Flat)
	}
	weight.CumulativeOverflowed = u.store.settings.Cumulative && weight.Cumulative != 0
}

// takeFor takes a place for a series of a function among those that have some.
func (u *Update) takeFor(function FunctionID) bool {
	if !u.take() {
		return false
	}
	u.stream.places[function]++
	return true
}

// count adds weight to a series that holds a place, beginning it if need be.
func (u *Update) count(where place, p point, weight int64) {
	if !p.exists() {
		p.begin(u.now)
	}
	if u.snapshot == nil {
		p.add(weight, u.now)
		return
	}
	u.snapshot.put(where, p, weight)
}

// overflow adds weight to an overflow series, which needs no place.
func (u *Update) overflow(k kind, weight int64) {
	u.store.overflowed.Add(1)
	u.count(place{nil, 0, k}, u.stream.overflow[k].point(), weight)
}

// remove takes a function's series out of its group and frees its place.
func (s *stream) remove(store *Store, g *group, position int32, k kind) {
	g.point(position, k).end()
	store.release(1)
	f := &g.tallies[position]
	if s.places[f.id]--; s.places[f.id] <= 0 {
		delete(s.places, f.id)
	}
	if !f.inUse() {
		delete(g.positions, f.id)
		f.id = 0
	}
}
