// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"

import (
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"
)

// functionTable holds the weights of the functions of one output, by function
// ID.
type functionTable struct {
	sums []functionSum
	// touched begins with the functions that have weights, in the order of
	// their discovery.
	touched []symbols.FunctionID
	n       int
	// overflow is the weight of the output's stacks that have a function which is
	// marked as overflowed, and changes counts the changes of such marks.
	overflow int64
	changes  int
	epoch    uint64        // of functionSum.id
	fetched  functionState // of no meaning; without it, fetch would read nothing
}

// functionSum is all that folding has to know of a function, in one place: most of
// the time goes into getting there.
type functionSum struct {
	flat, cumulative int64
	id               series.FunctionID // 0 for not known
	state            functionState
}

// functionState is a set of the following.
type functionState uint8

const (
	// touched functions have been met by addAny.
	touched functionState = 1 << iota
	// overflowed functions found no cumulative series in the output that they were
	// in last. Most functions that overflow do so again.
	overflowed
)

// reset makes room for so many functions.
func (t *functionTable) reset(functions int) {
	if missing := functions - len(t.sums); missing > 0 {
		t.sums = append(t.sums, make([]functionSum, missing)...)
		// One more than there are functions: add writes before it counts.
		t.touched = append(t.touched, make([]symbols.FunctionID, functions+1-len(t.touched))...)
	}
}

// fetch reads the sums of the message's functions once in the order in which they
// lie in memory, which takes a fraction of the time that it takes to find them
// there one by one, as stacks ask for them.
func (t *functionTable) fetch(dictionary *symbols.Dictionary) {
	for function := range dictionary.Mentioned() {
		t.fetched += t.sums[function].state
	}
}

// checkEpoch forgets the store's numbers of functions when the store has
// forgotten some.
func (t *functionTable) checkEpoch(epoch uint64) {
	if t.epoch != epoch {
		t.epoch = epoch
		t.forgetIDs()
	}
}

func (t *functionTable) forgetIDs() {
	for i := range t.sums {
		t.sums[i].id = 0
	}
}

// add adds a weight above 0 to the functions of a stack, the leaf's first. The
// weights of an output must not add up to more than there are numbers: then no
// sum of some of them can, either, and one of 0 is that of a function that has
// no weight yet.
func (t *functionTable) add(functions []symbols.FunctionID, weight int64) {
	sums, list, n := t.sums, t.touched, t.n
	states := functionState(0)
	for _, function := range functions {
		sum := &sums[function]
		list[n] = function
		isNew := 0
		if sum.cumulative == 0 { // computed, not branched on: it can't be predicted
			isNew = 1
		}
		n += isNew
		sum.cumulative += weight
		states |= sum.state
	}
	t.n = n
	sums[functions[0]].flat += weight
	if states&overflowed != 0 {
		t.overflow += weight
	}
}

// addAny does the same as add with weights of any size and sign.
func (t *functionTable) addAny(functions []symbols.FunctionID, weight int64) {
	states := functionState(0)
	for _, function := range functions {
		sum := &t.sums[function]
		if sum.state&touched == 0 {
			t.touched[t.n] = function
			t.n++
		}
		sum.state |= touched
		states |= sum.state
		sum.cumulative = measure.Add(sum.cumulative, weight)
	}
	leaf := &t.sums[functions[0]]
	leaf.flat = measure.Add(leaf.flat, weight)
	if states&overflowed != 0 {
		t.overflow = measure.Add(t.overflow, weight)
	}
}

// take moves the weights of all functions that have some out of the table, in
// the order of their discovery. It returns false if any of them has no number in
// the store yet.
func (t *functionTable) take(weights []series.FunctionWeight, scale measure.Scale) bool {
	sums, known := t.sums, true
	for i, id := range t.touched[:len(weights)] {
		sum := &sums[id]
		weights[i] = series.FunctionWeight{
			Function:   sum.id,
			Flat:       scale.Of(sum.flat),
			Cumulative: scale.Of(sum.cumulative),
		}
		known = known && sum.id != 0
		sum.flat, sum.cumulative = 0, 0
		sum.state &^= touched
	}
	t.n, t.overflow = 0, 0
	return known
}

// hasOverflowed says whether a function is marked as overflowed.
func (t *functionTable) hasOverflowed(function symbols.FunctionID) bool {
	return t.sums[function].state&overflowed != 0
}

// mark says whether a function overflowed.
func (t *functionTable) mark(function symbols.FunctionID, over bool) {
	if t.hasOverflowed(function) != over {
		t.sums[function].state ^= overflowed
		t.changes++
	}
}
