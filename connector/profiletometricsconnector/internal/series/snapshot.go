// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package series // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
)

// snapshot is the latest profile of one source: its parts are what it adds to
// the gauges of its resource.
type snapshot struct {
	measured pcommon.Timestamp
	batch    int64
	updated  int64 // UnixNano
	parts    []part
	// replaced are the parts of the snapshot before this one, until it is
	// complete.
	replaced []part
}

// part is the weight that a snapshot adds to one series.
type part struct {
	place
	weight int64
}

// place leads to a series: the total of a group, a metric of a function, or,
// without a group, the overflow of the stream.
type place struct {
	group    *group
	function FunctionID // 0 for none
	kind     kind
}

func (s *stream) point(where place) point {
	switch {
	case where.group == nil:
		return s.overflow[where.kind].point()
	case where.function == 0:
		return where.group.total.point()
	default:
		return where.group.point(where.group.positions[where.function], where.kind)
	}
}

// vanished is a gauge series that was emitted and is no more.
type vanished struct {
	group    *group // nil for overflow
	id       FunctionID
	function Function
	kind     kind
}

// beginSnapshot returns the snapshot to fill; nil if the one that is held is
// newer than source.
func (s *stream) beginSnapshot(source Source, now int64) *snapshot {
	held := s.snapshots[string(source.Key)]
	if held == nil {
		held = &snapshot{}
		if s.snapshots == nil {
			s.snapshots = make(map[string]*snapshot)
		}
		s.snapshots[string(source.Key)] = held
	} else if held.measured > source.Measured {
		return nil
	}
	// Profiles of one batch and time are parts of one snapshot, in whatever
	// order they come.
	if held.measured != source.Measured || held.batch != source.Batch {
		held.parts, held.replaced = held.replaced[:0], held.parts
	}
	held.measured, held.batch, held.updated = source.Measured, source.Batch, now
	s.touched = true
	return held
}

// put adds a part.
func (s *snapshot) put(where place, p point, weight int64) {
	p.parts++
	s.parts = append(s.parts, part{where, weight})
}

// endSnapshot drops the parts that were replaced. A series of which nothing is
// left gives its place back.
func (s *stream) endSnapshot(store *Store, held *snapshot) {
	s.drop(store, held.replaced)
	clear(held.replaced)
	held.replaced = held.replaced[:0]
}

func (s *stream) drop(store *Store, parts []part) {
	for _, part := range parts {
		p := s.point(part.place)
		if p.parts--; p.parts > 0 {
			continue
		}
		s.vanish(store, part.place, p)
	}
}

// vanish removes a gauge series.
func (s *stream) vanish(store *Store, where place, p point) {
	g := where.group
	if p.reported {
		gone := vanished{group: g, id: where.function, kind: where.kind}
		if where.function != 0 {
			gone.function = g.functions[g.positions[where.function]].function
		}
		s.vanished = append(s.vanished, gone)
	}
	switch {
	case g == nil:
		p.end()
	case where.function == 0:
		p.end()
		store.release(1)
	default:
		s.remove(store, g, g.positions[where.function], where.kind)
	}
	if g != nil && !g.inUse() {
		delete(s.groups, g.key)
		g.removed = true
	}
}

// expireSnapshots drops the snapshots that nothing has replaced since a time.
func (s *stream) expireSnapshots(store *Store, before int64) {
	for key, held := range s.snapshots {
		if held.updated > before {
			continue
		}
		s.drop(store, held.parts)
		delete(s.snapshots, key)
		s.touched = true
	}
}

// sumSnapshots works out the gauges from their parts.
func (s *stream) sumSnapshots() {
	for _, held := range s.snapshots {
		for _, part := range held.parts {
			p := s.point(part.place)
			p.value, p.measured = 0, 0
		}
	}
	for _, held := range s.snapshots {
		for _, part := range held.parts {
			p := s.point(part.place)
			p.value = measure.Add(p.value, part.weight)
			p.measured = max(p.measured, held.measured)
		}
	}
}
