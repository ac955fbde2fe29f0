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
	now      time.Time

	stream   *stream
	snapshot *snapshot // nil for counters
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
}

// Update locks a resource for a change, which End must end.
func (s *Store) Update(name Resource, now time.Time) Update {
	s.functions.inUse.RLock()
	for {
		r := s.resource(name)
		r.mu.Lock()
		if !r.removed {
			return Update{store: s, resource: r, now: now}
		}
		r.mu.Unlock()
	}
}

// End makes the change visible.
func (u *Update) End() {
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
	s.resources[r.key] = r
	s.ordered = append(s.ordered, r)
	return r
}

// Counter turns to a stream whose weights add up.
func (u *Update) Counter(stream int) {
	u.stream = &u.resource.streams[stream]
	u.snapshot = nil
}

// Snapshot turns to a stream of which source has a snapshot. It returns false
// if a newer one is held already, and End or another turn must come next. The
// snapshot is complete with EndSnapshot.
func (u *Update) Snapshot(stream int, source Source) bool {
	u.stream = &u.resource.streams[stream]
	u.snapshot = u.stream.beginSnapshot(source, u.now)
	return u.snapshot != nil
}

// EndSnapshot lets go of what the snapshot replaced.
func (u *Update) EndSnapshot() {
	u.stream.endSnapshot(u.store, u.snapshot)
	u.snapshot = nil
}

// Add counts the total weight of a group and the weights of its functions. It
// returns true if any CumulativeOverflowed was set. A weight that finds no
// series goes to the stream's overflow series, except for cumulative weights:
// how much they add there depends on the stacks in which they meet.
func (u *Update) Add(name Group, weight int64, functions []FunctionWeight) bool {
	g := u.stream.groups[string(name.Key)]
	if g == nil {
		g = newGroup(name)
	}
	u.addTotal(g, weight)
	overflowed := false
	for i := range functions {
		if u.addFunction(g, &functions[i]) {
			overflowed = true
		}
	}
	if u.stream.groups[g.key] == nil && g.inUse() {
		u.stream.insert(g)
	}
	return overflowed
}

// AddOverflow counts the cumulative weight of samples of which a function
// overflowed, each sample once.
func (u *Update) AddOverflow(weight int64) { u.overflow(cumulative, weight) }

func newGroup(name Group) *group {
	g := &group{
		key:        string(name.Key),
		attributes: pcommon.NewMap(),
		functions:  make(map[FunctionID]*functionPoints),
	}
	name.Fill(g.attributes)
	return g
}

func (g *group) inUse() bool { return g.total.exists || len(g.functions) > 0 }

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
	if !g.total.exists && !u.store.reserve() {
		u.overflow(total, weight)
		return
	}
	u.count(place{g, nil, total}, &g.total, weight)
}

// addFunction counts a function's weights and says whether the cumulative one
// is still to be accounted for.
func (u *Update) addFunction(g *group, weight *FunctionWeight) bool {
	f := g.functions[weight.Function]
	isNew := f == nil
	if isNew {
		f = &functionPoints{id: weight.Function}
	}
	weight.CumulativeOverflowed = false
	if u.store.settings.Flat && weight.Flat != 0 {
		if u.admit(f, flat) {
			u.count(place{g, f, flat}, &f.points[flat], weight.Flat)
		} else {
			u.overflow(flat, weight.Flat)
		}
	}
	if u.store.settings.Cumulative && weight.Cumulative != 0 {
		if u.admit(f, cumulative) {
			u.count(place{g, f, cumulative}, &f.points[cumulative], weight.Cumulative)
		} else {
			weight.CumulativeOverflowed = true
		}
	}
	if isNew && f.inUse() {
		f.function = u.store.functions.function(f.id)
		g.functions[f.id] = f
		g.ordered = append(g.ordered, f)
	}
	return weight.CumulativeOverflowed
}

func (f *functionPoints) inUse() bool {
	return f.points[flat].exists || f.points[cumulative].exists
}

// admit says whether a function has a series of a kind, or may have one: first
// come, first served, within both limits.
func (u *Update) admit(f *functionPoints, k kind) bool {
	if f.points[k].exists {
		return true
	}
	places, limit := u.stream.places, u.store.settings.FunctionLimit
	if _, admitted := places[f.id]; !admitted && limit > 0 && len(places) >= limit {
		return false
	}
	if !u.store.reserve() {
		return false
	}
	if places == nil {
		places = make(map[FunctionID]int)
		u.stream.places = places
	}
	places[f.id]++
	return true
}

// count adds weight to a series that holds a place.
func (u *Update) count(where place, p *point, weight int64) {
	if u.snapshot == nil {
		p.add(weight, u.now)
		return
	}
	u.snapshot.put(where, p, weight)
}

// overflow adds weight to an overflow series, which needs no place.
func (u *Update) overflow(k kind, weight int64) {
	u.store.overflowed.Add(1)
	u.count(place{nil, nil, k}, &u.stream.overflow[k], weight)
}

// remove takes a function's series out of its group and frees its place.
func (s *stream) remove(store *Store, g *group, f *functionPoints, k kind) {
	f.points[k] = point{}
	store.release(1)
	if s.places[f.id]--; s.places[f.id] <= 0 {
		delete(s.places, f.id)
	}
	if !f.inUse() {
		delete(g.functions, f.id)
		f.removed = true
	}
}
