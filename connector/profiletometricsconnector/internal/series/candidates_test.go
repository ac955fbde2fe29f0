// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCandidatesKeepTheirBounds compares the summary with exact sums while
// weight fades and counters are taken out.
func TestCandidatesKeepTheirBounds(t *testing.T) {
	for _, counters := range []int{1, 2, 10, 50, 1000} {
		for seed := range uint64(10) {
			t.Run(fmt.Sprintf("%d counters, seed %d", counters, seed), func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, uint64(counters)))
				functions := rand.NewZipf(random, 1.1, 1, 300)
				var c candidates
				exact, sum := map[FunctionID]float64{}, 0.0
				for step := range 5000 {
					id, weight := FunctionID(functions.Uint64()+1), float64(random.Int64N(1000))
					c.offer(id, weight, 0, func(held int) bool { return held < counters })
					exact[id] += weight
					sum += weight
					switch {
					case step%1000 == 999:
						c.fade()
						sum /= 2
						for id := range exact {
							exact[id] /= 2
						}
					case step%97 == 96:
						// A function that got series is no candidate any more,
						// and neither comes back.
						if heaviest, ok := heaviestOf(&c); ok && random.IntN(2) == 0 {
							require.True(t, c.remove(heaviest))
							delete(exact, heaviest)
						}
					}
					if step%500 == 0 {
						requireBounds(t, &c, counters, exact, sum)
					}
				}
			})
		}
	}
}

func heaviestOf(c *candidates) (FunctionID, bool) {
	var heaviest counted
	for _, counter := range c.counters {
		if counter.weight > heaviest.weight {
			heaviest = counter
		}
	}
	return heaviest.id, heaviest.id != 0
}

func requireBounds(t *testing.T, c *candidates, counters int, exact map[FunctionID]float64, sum float64) {
	t.Helper()
	const rounding = 1e-6
	require.LessOrEqual(t, len(c.counters), counters)
	require.Len(t, c.at, len(c.counters))
	require.Len(t, c.heap, len(c.counters))
	for i, counter := range c.counters {
		require.Equal(t, i, c.at[counter.id])
		require.GreaterOrEqual(t, counter.weight, c.floor)
		require.Equal(t, i, c.heap[counter.rank].counter)
		require.LessOrEqual(t, c.heap[counter.rank].weight, counter.weight)
		require.LessOrEqual(t, c.heap[max(i-1, 0)/2].weight, c.heap[i].weight, "it is a heap")
	}
	if len(c.counters) > 0 {
		lightest := slices.MinFunc(c.counters, func(a, b counted) int { return cmp.Compare(a.weight, b.weight) })
		require.InDelta(t, lightest.weight, c.counters[c.lightest()].weight, 0)
	}
	require.LessOrEqual(t, c.floor, sum/float64(counters)+rounding)
	for id, weight := range exact {
		require.LessOrEqual(t, weight, c.estimate(id)+rounding)
		require.GreaterOrEqual(t, weight, c.known(id)-rounding)
		require.LessOrEqual(t, c.estimate(id)-weight, sum/float64(counters)+rounding)
		if weight > sum/float64(counters)+rounding {
			require.Contains(t, c.at, id, "what is heavy has a counter")
		}
	}
}
