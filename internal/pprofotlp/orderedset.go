// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofotlp

import (
	"hash/maphash"
	"slices"
)

// Seeds are new in every process, so that nobody can prepare values that collide.
var (
	seed      = maphash.MakeSeed()
	seedOfMix = maphash.Comparable(seed, 0)
)

// orderedSet holds each distinct value once; a value's index is its position,
// in order of first appearance. Index 0 is always the zero value of T.
type orderedSet[T comparable] struct {
	hash  func(T) uint64
	index index
	added []T // without the zero value
}

func newOrderedSet[T comparable](hash func(T) uint64) orderedSet[T] {
	return orderedSet[T]{hash: hash}
}

// add returns the position of v, appending it when it is new.
func (s *orderedSet[T]) add(v T) int32 {
	var zero T
	if v == zero {
		return 0
	}
	hash := s.hash(v)
	if i := s.index.find(hash, func(i int32) bool { return s.added[i-1] == v }); i != 0 {
		return i
	}
	s.index.add(hash)
	s.added = append(s.added, v)
	return int32(len(s.added))
}

// at returns value i.
func (s *orderedSet[T]) at(i int32) T {
	if i == 0 {
		var zero T
		return zero
	}
	return s.added[i-1]
}

func (s *orderedSet[T]) len() int { return len(s.added) + 1 }

// reserve makes room for so many more values.
func (s *orderedSet[T]) reserve(more int) {
	s.index.reserve(more)
	s.added = slices.Grow(s.added, more)
}

// reset leaves the zero value only, and keeps memory for the next use.
func (s *orderedSet[T]) reset() {
	s.index.reset()
	clear(s.added)
	s.added = s.added[:0]
}

// sequenceSet is an orderedSet of lists of indices, which are compared in full:
// two lists with the same hash stay two lists. Index 0 is the empty list.
type sequenceSet struct {
	index   index
	content []int32 // all lists, one after the other
	ends    []int   // of list i in content, at i - 1
}

// add returns the position of list, appending a copy of it when it is new.
func (s *sequenceSet) add(list []int32) int32 {
	if len(list) == 0 {
		return 0
	}
	hash := hashOf(list)
	if i := s.index.find(hash, func(i int32) bool { return slices.Equal(s.at(i), list) }); i != 0 {
		return i
	}
	s.index.add(hash)
	s.content = append(s.content, list...)
	s.ends = append(s.ends, len(s.content))
	return int32(len(s.ends))
}

// reserve makes room for so many more lists of so many elements together.
func (s *sequenceSet) reserve(more, elements int) {
	s.index.reserve(more)
	s.ends = slices.Grow(s.ends, more)
	s.content = slices.Grow(s.content, elements)
}

// at returns list i; the caller must not change it.
func (s *sequenceSet) at(i int32) []int32 {
	switch i {
	case 0:
		return nil
	case 1:
		return s.content[:s.ends[0]]
	}
	return s.content[s.ends[i-2]:s.ends[i-1]]
}

// reset leaves the empty list only, and keeps memory for the next use.
func (s *sequenceSet) reset() {
	s.index.reset()
	s.content, s.ends = s.content[:0], s.ends[:0]
}

func (s *sequenceSet) len() int { return len(s.ends) + 1 }

func hashOf(list []int32) uint64 {
	hash := seedOfMix
	for _, v := range list {
		hash = (hash ^ uint64(uint32(v))) * 0x9e3779b97f4a7c15
		hash ^= hash >> 32
	}
	return hash
}
