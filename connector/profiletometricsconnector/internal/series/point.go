// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package series // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
)

// point is one series: what nearly every update reads and writes, and apart
// from it the rest. Batches update thousands of series, and the less memory
// they touch the faster they do.
type point struct {
	*tally
	*detail
}

// tally is what a series has counted.
type tally struct {
	value   int64 // in base units
	updated int64 // UnixNano; 0 where there is no series
}

// detail is what else there is to know of a series. Which of the fields are in
// use depends on whether the stream is a counter or a gauge.
type detail struct {
	// started is when the series began, in wall time.
	started pcommon.Timestamp

	// inFlight is the part of a delta counter that a flush has taken out and
	// not yet handed on.
	inFlight int64

	// A gauge is the sum of its parts; measured is the newest part's time.
	measured pcommon.Timestamp
	parts    int32
	reported bool

	exemplars *exemplars // nil for none
}

func (t *tally) exists() bool { return t.updated != 0 }

// add counts weight at a time in UnixNano.
func (t *tally) add(weight, now int64) {
	t.value = measure.Add(t.value, weight)
	t.updated = now
}

// lacks is 1 if there is weight to count and no series to count it in.
func (t *tally) lacks(weight int64) int {
	lacks, missing := 0, 0
	if weight != 0 {
		lacks = 1
	}
	if !t.exists() {
		missing = 1
	}
	return lacks & missing
}

// addAny does the same as add, and nothing for no weight.
func (t *tally) addAny(weight, now int64) {
	updated := t.updated
	if weight != 0 {
		updated = now
	}
	t.value, t.updated = measure.Add(t.value, weight), updated
}

// begin makes a series of a point that is none.
func (p point) begin(now int64) {
	*p.tally = tally{updated: now}
	*p.detail = detail{started: pcommon.Timestamp(now)}
}

func (p point) end() {
	*p.tally = tally{}
	*p.detail = detail{}
}

// series is a series that stands alone.
type series struct {
	tally
	detail
}

func (s *series) point() point { return point{&s.tally, &s.detail} }

// The kinds of series that a function has.
const functionKinds = kinds - flat

// functionTallies and functionSeries are the flat and the cumulative series of
// a function in a group. At rest, it has at least one of them.
type (
	functionTallies struct {
		id     FunctionID // 0 for one that was removed
		counts [functionKinds]tally
	}

	functionSeries struct {
		function Function
		details  [functionKinds]detail
	}
)

func (f *functionTallies) count(k kind) *tally { return &f.counts[k-flat] }

func (f *functionTallies) inUse() bool { return f.counts[0].exists() || f.counts[1].exists() }

// point returns a series of a function.
func (g *group) point(position int32, k kind) point {
	return point{g.tallies[position].count(k), &g.functions[position].details[k-flat]}
}

// isAt says whether a function has this position. Batches that are alike list
// their functions in the same order, so that a guess saves a look into a map
// that no cache holds.
func (g *group) isAt(function FunctionID, guess int32) bool {
	return int(guess) < len(g.tallies) && g.tallies[guess].id == function
}

// appendFunction makes room for the series of a function.
func (g *group) appendFunction(function FunctionID) int32 {
	g.tallies = append(g.tallies, functionTallies{id: function})
	g.functions = append(g.functions, functionSeries{})
	return int32(len(g.functions) - 1)
}

// keepFunction keeps the function that was appended last if it got series.
func (g *group) keepFunction(functions *functionTable) {
	last := len(g.functions) - 1
	if !g.tallies[last].inUse() {
		g.tallies, g.functions = g.tallies[:last], g.functions[:last]
		return
	}
	id := g.tallies[last].id
	g.functions[last].function = functions.function(id)
	g.positions[id] = int32(last)
}

// compact drops the functions that were removed.
func (g *group) compact() {
	kept := int32(0)
	for i := range g.functions {
		id := g.tallies[i].id
		if id == 0 {
			continue
		}
		if int(kept) != i {
			g.tallies[kept], g.functions[kept] = g.tallies[i], g.functions[i]
			g.positions[id] = kept
		}
		kept++
	}
	clear(g.functions[kept:])
	g.tallies, g.functions = g.tallies[:kept], g.functions[:kept]
}
