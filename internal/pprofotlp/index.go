// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofotlp

// index finds positions of a growing list by the hash of what is there: a table of
// open addressing. Positions begin at 1, so that 0 says that there is none.
// Whether two values of one hash are equal, the caller knows. The zero value is
// empty.
type index struct {
	slots []slotOfIndex // their number is a power of two, at least twice that of the positions
	count int32
}

// slotOfIndex has its share of the hash beside the position, so that one look at
// the memory tells most slots that are others'.
type slotOfIndex struct {
	hash     uint32
	position int32 // 0 where the slot is free
}

// find returns the position for which equal is true among those of a hash, or 0.
func (x *index) find(hash uint64, equal func(position int32) bool) int32 {
	if len(x.slots) == 0 {
		return 0
	}
	share, mask := uint32(hash), uint32(len(x.slots)-1)
	for at := share & mask; x.slots[at].position != 0; at = (at + 1) & mask {
		if x.slots[at].hash == share && equal(x.slots[at].position) {
			return x.slots[at].position
		}
	}
	return 0
}

// add appends the next position with its hash.
func (x *index) add(hash uint64) {
	if 2*int(x.count) >= len(x.slots) {
		x.resize(max(16, 4*len(x.slots)))
	}
	x.count++
	x.put(slotOfIndex{uint32(hash), x.count})
}

// reserve makes room for so many more positions.
func (x *index) reserve(more int) {
	size := 16
	for size < 2*(int(x.count)+more) {
		size *= 2
	}
	if more > 0 && size > len(x.slots) {
		x.resize(size)
	}
}

func (x *index) resize(size int) {
	before := x.slots
	x.slots = make([]slotOfIndex, size)
	for _, s := range before {
		if s.position != 0 {
			x.put(s)
		}
	}
}

// reset empties it, and keeps its memory unless it was far too much.
func (x *index) reset() {
	if len(x.slots) > 1024 && len(x.slots) > 16*int(x.count) {
		x.slots = nil
	}
	clear(x.slots)
	x.count = 0
}

func (x *index) put(s slotOfIndex) {
	mask := uint32(len(x.slots) - 1)
	at := s.hash & mask
	for x.slots[at].position != 0 {
		at = (at + 1) & mask
	}
	x.slots[at] = s
}

// mix folds values into a hash, whose low bits depend on all bits of them.
func mix(hash uint64, values ...uint64) uint64 {
	for _, v := range values {
		hash = (hash ^ v) * 0x9e3779b97f4a7c15
		hash ^= hash >> 32
	}
	return hash
}
