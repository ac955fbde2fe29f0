// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"
)

const someFunctions = 8

func newFunctionTable() *functionTable {
	t := &functionTable{sums: make([]functionSum, someFunctions), touched: make([]symbols.FunctionID, someFunctions+1)}
	for i := range t.sums {
		t.sums[i].id = series.FunctionID(i + 1)
	}
	return t
}

// taken are the weights of a table by function, which then has none.
func (t *functionTable) taken(tb testing.TB) map[series.FunctionID]series.FunctionWeight {
	tb.Helper()
	weights := make([]series.FunctionWeight, t.n)
	require.True(tb, t.take(weights, measure.By(1)))
	byFunction := map[series.FunctionID]series.FunctionWeight{}
	for _, weight := range weights {
		byFunction[weight.Function] = weight
	}
	require.Len(tb, byFunction, len(weights), "each function is there once")
	return byFunction
}

// Whatever the order of the stacks and the sign of their weights, a function has the sum of those it
// is in, and nothing is left of it for the next output.
func TestFunctionsSumUpTheirStacks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	plain, other := newFunctionTable(), newFunctionTable()
	for range 1000 {
		wantAny, want := map[series.FunctionID]series.FunctionWeight{}, map[series.FunctionID]series.FunctionWeight{}
		for range random.IntN(6) {
			stack := randomStack(random)
			weight := random.Int64N(7) - 3
			other.addAny(stack, weight)
			expect(wantAny, stack, weight)
			if weight > 0 {
				plain.add(stack, weight)
				expect(want, stack, weight)
			}
		}
		require.Equal(t, want, plain.taken(t))
		require.Equal(t, wantAny, other.taken(t))
	}
}

func randomStack(random *rand.Rand) []symbols.FunctionID {
	var stack []symbols.FunctionID
	for _, function := range random.Perm(someFunctions)[:1+random.IntN(someFunctions)] {
		stack = append(stack, symbols.FunctionID(function))
	}
	return stack
}

func expect(weights map[series.FunctionID]series.FunctionWeight, stack []symbols.FunctionID, weight int64) {
	for i, function := range stack {
		id := series.FunctionID(function + 1)
		sum := weights[id]
		sum.Function = id
		sum.Cumulative += weight
		if i == 0 {
			sum.Flat += weight
		}
		weights[id] = sum
	}
}

// An output is plain only if no sum of some of its weights can be out of range, in any order.
func TestTotalsTellWhetherTheirPartsStayInRange(t *testing.T) {
	for _, test := range []struct {
		weights []int64
		total   int64
		plain   bool
	}{
		{nil, 0, true},
		{[]int64{1, 2, 0, 3}, 6, true},
		{[]int64{math.MaxInt64 - 1, 1}, math.MaxInt64, true},
		{[]int64{math.MaxInt64, 1}, math.MaxInt64, false},
		{[]int64{3, -1}, 2, false},
		{[]int64{math.MaxInt64, 1, -2}, math.MaxInt64 - 2, false},
	} {
		b := &batch{}
		for i, weight := range test.weights {
			b.slots.slots = append(b.slots.slots, slot{weight: weight, next: int32(i + 1)})
		}
		out := output{first: endOfList}
		if last := len(b.slots.slots) - 1; last >= 0 {
			out.first, b.slots.slots[last].next = 0, endOfList
		}
		total, plain := b.total(out)
		assert.Equal(t, test.total, total, "%v", test.weights)
		assert.Equal(t, test.plain, plain, "%v", test.weights)
	}
}

// Stacks of functions that overflowed are counted on the way, until the functions change.
func TestStacksOfOverflowedFunctionsAreCountedOnTheWay(t *testing.T) {
	for name, add := range map[string]func(*functionTable, []symbols.FunctionID, int64){
		"plain": (*functionTable).add, "any": (*functionTable).addAny,
	} {
		table := newFunctionTable()
		table.mark(2, true)
		assert.Equal(t, 1, table.changes, name)
		table.mark(2, true)
		assert.Equal(t, 1, table.changes, name)
		for _, stack := range [][]symbols.FunctionID{{0, 2}, {2}, {1, 0}} {
			add(table, stack, 10)
		}
		assert.EqualValues(t, 20, table.overflow, name)
		table.taken(t)
		assert.Zero(t, table.overflow, name)
		assert.True(t, table.hasOverflowed(2), name)
		assert.False(t, slices.ContainsFunc(table.sums, func(sum functionSum) bool { return sum.state&touched != 0 }), name)
	}
}
