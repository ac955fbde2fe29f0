// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofotlp

import "slices"

// slots remember what became of the locations, or functions, of one profile, so
// that each is looked at once. They are found by their ids, which are small
// numbers without gaps in what producers write; those with other ids, or whose id
// another has too, are kept in a map.
type slots[T any] struct {
	dense  []slot[T]
	others map[*T]int32
}

type slot[T any] struct {
	owner *T // nil if nothing is known
	entry int32
}

// reset empties the slots and makes room for the ids up to count.
func (s *slots[T]) reset(count int) {
	clear(s.dense)
	s.dense = slices.Grow(s.dense[:0], count+1)[:count+1]
	s.others = nil
}

func (s *slots[T]) get(id uint64, owner *T) (int32, bool) {
	if id < uint64(len(s.dense)) && s.dense[id].owner == owner {
		return s.dense[id].entry, true
	}
	entry, found := s.others[owner]
	return entry, found
}

func (s *slots[T]) set(id uint64, owner *T, entry int32) {
	if id < uint64(len(s.dense)) && s.dense[id].owner == nil {
		s.dense[id] = slot[T]{owner, entry}
		return
	}
	if s.others == nil {
		s.others = map[*T]int32{}
	}
	s.others[owner] = entry
}
