// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofotlp

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// orderedSet holds each distinct value once; a value's index is its position,
// in order of first appearance. Index 0 is always the zero value of T.
type orderedSet[T comparable] struct {
	index  map[T]int32
	values []T
}

func newOrderedSet[T comparable]() *orderedSet[T] {
	var zero T
	return &orderedSet[T]{index: map[T]int32{zero: 0}, values: []T{zero}}
}

// add returns the position of v, appending it when it is new.
func (s *orderedSet[T]) add(v T) int32 {
	if i, ok := s.index[v]; ok {
		return i
	}
	i := int32(len(s.values))
	s.index[v] = i
	s.values = append(s.values, v)
	return i
}

// sequenceSet is an orderedSet of lists of indices. Go maps cannot have slices
// as keys, so the lists are found by hash and then compared in full: two lists
// with the same hash stay two lists. Index 0 is the empty list.
type sequenceSet struct {
	seed    maphash.Seed
	newest  map[uint64]int32 // hash of the content -> last list added with it
	older   []int32          // list -> the list added before it with the same hash, 0 if none
	ends    []int            // list -> end of its content in content
	content []int32          // all lists, one after the other
	scratch []byte
}

func newSequenceSet() *sequenceSet {
	return &sequenceSet{
		seed:   maphash.MakeSeed(),
		newest: map[uint64]int32{},
		older:  []int32{0},
		ends:   []int{0},
	}
}

// add returns the position of list, appending a copy of it when it is new.
func (s *sequenceSet) add(list []int32) int32 {
	if len(list) == 0 {
		return 0
	}
	hash := s.hash(list)
	for i := s.newest[hash]; i != 0; i = s.older[i] {
		if slices.Equal(s.at(i), list) {
			return i
		}
	}
	i := int32(len(s.ends))
	s.content = append(s.content, list...)
	s.ends = append(s.ends, len(s.content))
	s.older = append(s.older, s.newest[hash])
	s.newest[hash] = i
	return i
}

// at returns list i; the caller must not change it.
func (s *sequenceSet) at(i int32) []int32 {
	if i == 0 {
		return nil
	}
	return s.content[s.ends[i-1]:s.ends[i]]
}

func (s *sequenceSet) len() int { return len(s.ends) }

func (s *sequenceSet) hash(list []int32) uint64 {
	s.scratch = s.scratch[:0]
	for _, v := range list {
		s.scratch = binary.LittleEndian.AppendUint32(s.scratch, uint32(v))
	}
	return maphash.Bytes(s.seed, s.scratch)
}
