// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"

import "math"

// slot is what the samples of one group and stack add up to.
type slot struct {
	group, stack int32
	weight       int64
	// samples counts the samples, malformed those of them that were reported
	// already.
	samples, malformed int64
	firstSample        int // index of the first sample
	next               int32
	sibling            int32 // another slot of the stack + 1, 0 for none
	exemplars          int32 // position in exemplarTable.ofSlots + 1, 0 for none
}

// slotTable finds the slot of a group and stack. Nearly every stack occurs in
// one group only, so that a dense table by stack finds it; a map finds the
// others.
type slotTable struct {
	slots   []slot
	byStack []int32 // slot number + 1, 0 for none
	byGroup map[groupAndStack]int32
	order   []int32
}

type groupAndStack struct{ group, stack int32 }

// noStack stands for a stack index that is outside of the table.
const noStack int32 = -1

func (t *slotTable) reset(stacks int) {
	t.slots = t.slots[:0]
	t.byStack = emptied(t.byStack, stacks+1)
	if t.byGroup == nil {
		t.byGroup = make(map[groupAndStack]int32)
	}
	clear(t.byGroup)
}

// clear empties the table for the next profile, at a cost that depends on what
// it holds and not on the size of the dictionary.
func (t *slotTable) clear() {
	for i := range t.slots {
		t.byStack[t.slots[i].stack+1] = 0
	}
	t.slots = t.slots[:0]
	clear(t.byGroup)
}

// slot returns the slot of a group and a stack, which must be noStack or an
// index of the stack table. It is valid until the next call.
func (t *slotTable) slot(group, stack int32, sample int) *slot {
	dense := &t.byStack[stack+1]
	if *dense != 0 {
		if found := &t.slots[*dense-1]; found.group == group {
			return found
		}
		if number, ok := t.byGroup[groupAndStack{group, stack}]; ok {
			return &t.slots[number]
		}
	}
	number := int32(len(t.slots))
	t.slots = append(t.slots, slot{group: group, stack: stack, firstSample: sample})
	if *dense == 0 {
		*dense = number + 1
	} else {
		t.byGroup[groupAndStack{group, stack}] = number
		first := &t.slots[*dense-1]
		t.slots[number].sibling, first.sibling = first.sibling, number+1
	}
	return &t.slots[number]
}

// sparse is how many entries of the stack table it may take to find one of a
// profile.
const sparse = 8

// inOrder returns the numbers of the slots in the order of the stack table,
// unless the profile's stacks are scattered over a table much larger.
func (t *slotTable) inOrder() []int32 {
	t.order = t.order[:0]
	low, high := int32(math.MaxInt32), noStack
	for i := range t.slots {
		low, high = min(low, t.slots[i].stack), max(high, t.slots[i].stack)
	}
	if int(high)-int(low) > sparse*len(t.slots) {
		for i := range t.slots {
			t.order = append(t.order, int32(i))
		}
		return t.order
	}
	for stack := low; stack <= high; stack++ {
		for number := t.byStack[stack+1]; number != 0; number = t.slots[number-1].sibling {
			t.order = append(t.order, number-1)
		}
	}
	return t.order
}
