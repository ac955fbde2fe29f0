// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every slot is in the output of its group and tuple, in the order of addition, whatever the profile
// before left behind: more outputs than are remembered as recent, and some whose hashes collide.
func TestSlotsAreDividedByGroupAndTuple(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var table outputTable
	for _, size := range []int32{200, 1, 20, 0, 300} {
		table.clear()
		slots := make([]slot, 10*size)
		want := map[[2]int32][]int32{}
		for number := range int32(len(slots)) {
			key := [2]int32{random.Int32N(3), random.Int32N(size)}
			slots[number].group = key[0]
			table.add(slots, number, key[1])
			want[key] = append(want[key], number)
		}
		require.Len(t, table.outputs, len(want))
		for _, out := range table.outputs {
			var got []int32
			for number := out.first; number != endOfList; number = slots[number].next {
				got = append(got, number)
			}
			assert.Equal(t, want[[2]int32{out.group, out.tuple}], got)
		}
	}
}
