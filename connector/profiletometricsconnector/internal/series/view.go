// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package series // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
)

// What people are shown of the store. All of it is copied, and no resource is
// locked for longer than it takes to look at it.

// Top are the heaviest functions of a stream, over all resources: of a counter
// what it counted lately, of a gauge what it is. Weights are in base units.
type Top struct {
	// From and To are when a counter counted; zero if it did not yet, and for
	// gauges.
	From, To time.Time
	Total    int64
	// OverflowFlat and OverflowCumulative are the weights in overflow series.
	OverflowFlat, OverflowCumulative int64
	// Functions is how many have any weight.
	Functions    int
	ByFlat       []FunctionNow
	ByCumulative []FunctionNow
}

// FunctionNow is a function and what it weighs.
type FunctionNow struct {
	Function
	Flat, Cumulative int64
}

// Top returns so many of the heaviest functions of a stream. Without Watch, a
// counter has none.
func (s *Store) Top(stream, most int) Top {
	var top Top
	var all counts
	switch {
	case s.settings.Streams[stream].Snapshot:
		all = s.gauge(stream)
	case s.recent != nil:
		all, top.From, top.To = s.recent.counted(stream)
	}
	top.Total = all.total
	top.OverflowFlat, top.OverflowCumulative = all.overflow[0], all.overflow[1]
	top.Functions = len(all.functions)
	ids := make([]FunctionID, 0, len(all.functions))
	for id := range all.functions {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	heaviest := func(k int) []FunctionNow {
		slices.SortStableFunc(ids, func(a, b FunctionID) int {
			return cmp.Or(cmp.Compare(all.functions[b][k], all.functions[a][k]), cmp.Compare(all.functions[b][1-k], all.functions[a][1-k]))
		})
		var list []FunctionNow
		for _, id := range ids[:min(most, len(ids))] {
			if all.functions[id][k] != 0 {
				list = append(list, FunctionNow{s.functions.function(id), all.functions[id][0], all.functions[id][1]})
			}
		}
		return list
	}
	top.ByFlat, top.ByCumulative = heaviest(0), heaviest(1)
	return top
}

// gauge adds up the snapshots of a stream.
func (s *Store) gauge(stream int) counts {
	var all counts
	for _, r := range s.snapshotOfResources() {
		r.mu.Lock()
		for _, held := range r.streams[stream].snapshots {
			for _, part := range held.parts {
				all.addPart(part)
			}
		}
		r.mu.Unlock()
	}
	return all
}

func (c *counts) addPart(p part) {
	switch {
	case p.kind == total:
		c.total = measure.Add(c.total, p.weight)
	case p.group == nil:
		c.overflow[p.kind-flat] = measure.Add(c.overflow[p.kind-flat], p.weight)
	default:
		var more weights
		more[p.kind-flat] = p.weight
		c.addFunction(p.function, more)
	}
}

// ResourceView is what a resource holds.
type ResourceView struct {
	// Attributes are a copy.
	Attributes pcommon.Map
	Series     int // overflow series aside
	Streams    []StreamView
}

// StreamView is what a resource holds of a stream.
type StreamView struct {
	// Stream is an index into Settings.Streams.
	Stream int
	// Series are those that hold places, and Functions those functions that
	// have any of them.
	Series, Functions int
	// Total, Flat and Cumulative say which of the metrics have overflow series.
	Total, Flat, Cumulative bool
	// Refused is how many functions without series are kept count of, and
	// Heaviest are those of them that weigh most.
	Refused  int
	Heaviest []Function
}

// heaviestRefused is how many functions without series are named.
const heaviestRefused = 3

// Resources returns so many of the resources that hold the most series, and of
// how many, with how many series, they are a part.
func (s *Store) Resources(most int) (views []ResourceView, resources, series int) {
	all := s.snapshotOfResources()
	counted := make([]resourceSize, len(all))
	for i, r := range all {
		counted[i] = resourceSize{r, r.series()}
		series += counted[i].series
	}
	slices.SortStableFunc(counted, func(a, b resourceSize) int { return cmp.Compare(b.series, a.series) })
	for _, one := range counted[:min(most, len(counted))] {
		views = append(views, s.view(one.resource))
	}
	return views, len(all), series
}

type resourceSize struct {
	*resource
	series int
}

func (r *resource) series() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for i := range r.streams {
		n += r.streams[i].series()
	}
	return n
}

// series is how many hold places.
func (s *stream) series() int {
	n := 0
	for _, g := range s.ordered {
		if g.total.exists() {
			n++
		}
	}
	for _, functions := range s.places {
		n += functions
	}
	return n
}

func (s *Store) view(r *resource) ResourceView {
	r.mu.Lock()
	defer r.mu.Unlock()
	view := ResourceView{Attributes: pcommon.NewMap()}
	r.attributes.Attributes().CopyTo(view.Attributes)
	for i := range r.streams {
		if r.streams[i].empty() {
			continue
		}
		stream := s.viewStream(&r.streams[i])
		stream.Stream = i
		view.Series += stream.Series
		view.Streams = append(view.Streams, stream)
	}
	return view
}

func (s *Store) viewStream(of *stream) StreamView {
	view := StreamView{
		Series:     of.series(),
		Functions:  len(of.places),
		Total:      of.overflow[total].exists(),
		Flat:       of.overflow[flat].exists(),
		Cumulative: of.overflow[cumulative].exists(),
	}
	if of.contest == nil {
		return view
	}
	refused := slices.Clone(of.contest.candidates.counters)
	slices.SortFunc(refused, func(a, b counted) int {
		return cmp.Or(cmp.Compare(b.known(), a.known()), cmp.Compare(a.id, b.id))
	})
	view.Refused = len(refused)
	for _, counter := range refused[:min(heaviestRefused, len(refused))] {
		view.Heaviest = append(view.Heaviest, s.functions.function(counter.id))
	}
	return view
}

// Value converts base units into those in which a stream is emitted.
func (s *Store) Value(stream int, base int64) float64 {
	emitted := s.settings.Streams[stream]
	if emitted.Double {
		return float64(base) / float64(emitted.PerUnit)
	}
	return float64(base / emitted.PerUnit)
}

// String is how people name a function.
func (f Function) String() string {
	if f.File == "" {
		return f.Name
	}
	return strings.Join([]string{f.Name, " (", f.File, ")"}, "")
}
