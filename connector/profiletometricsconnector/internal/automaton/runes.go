// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package automaton // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/automaton"

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// edge leads to the next state, in the lower half, and says which patterns
// matched on the way there, as a number in the upper half. Zero is an edge that
// is not known yet.
type edge uint32

func newEdge(to, matched uint16) edge { return edge(to) | edge(matched)<<16 }

func (e edge) to() uint16      { return uint16(e) }
func (e edge) matched() uint16 { return uint16(e >> 16) }

// most is how many states, and how many sets of patterns, edges can tell apart.
const most = 1 << 16

// startState is the state before any rune; 0 is none.
const startState uint16 = 1

// runeStates is the automaton within names: one rune leads from a state to the
// next.
//
// A state does not tell which patterns have matched before, as that would make
// one state many: edges tell it, and a pattern that has matched starts anew,
// which changes nothing, as it has matched.
type runeStates struct {
	code   code
	budget int // bytes that states may take, about
	used   int
	// advanced counts the edges that were worked out.
	advanced int

	states []runeState
	byKey  map[string]uint16
	key    []byte

	matched   []uint64 // the sets of patterns
	byMatched map[uint64]uint16

	// fresh are the threads that begin at every position, by what is before.
	fresh     [classes]threads
	now, next threads
}

type runeState struct {
	waiting []uint32
	before  class // where waiting depends on it
	looks   bool  // whether waiting depends on the next rune
	ascii   *[utf8.RuneSelf]edge
}

// stateCost is what a state takes, its threads aside.
const stateCost = 4*utf8.RuneSelf + 160

func newRuneStates(c code, budget int) *runeStates {
	s := &runeStates{code: c, budget: budget}
	s.now.code, s.next.code = &s.code, &s.code
	for c := range classes {
		fresh := &s.fresh[c]
		fresh.code = &s.code
		fresh.begin()
		for _, entry := range s.code.entries {
			fresh.add(entry, behind(c))
		}
		fresh.seen = nil
	}
	s.forget()
	return s
}

// forget drops all states but the first.
func (s *runeStates) forget() {
	s.used, s.advanced = 0, 0
	clear(s.states)
	s.states = append(s.states[:0], runeState{})
	s.byKey = make(map[string]uint16)
	s.matched = append(s.matched[:0], 0)
	s.byMatched = map[uint64]uint16{0: 0}
	s.next.begin()
	s.next.waiting = append(s.next.waiting, s.fresh[atBegin].waiting...)
	s.intern(atBegin)
}

// step returns the edge that a rune takes from a state, and false where there
// is no room for what it leads to.
func (s *runeStates) step(from uint16, r rune) (edge, bool) {
	state := &s.states[from]
	if r >= utf8.RuneSelf {
		return s.advance(state, r)
	}
	if state.ascii == nil {
		state.ascii = new([utf8.RuneSelf]edge)
	}
	ascii := state.ascii
	if ascii[r] != 0 {
		return ascii[r], true
	}
	e, ok := s.advance(state, r)
	ascii[r] = e
	return e, ok
}

// advance moves all threads of a state over a rune.
func (s *runeStates) advance(from *runeState, r rune) (edge, bool) {
	s.advanced++
	waiting, matched := s.resolve(from, r)
	c := classOf(r)
	if from.before == atBegin {
		// A pattern that matches the empty text has no thread to tell.
		matched |= s.fresh[atBegin].matched
	}
	s.next.begin()
	for _, position := range waiting {
		if inst := &s.code.instructions[position]; inst.takes(r) {
			s.next.add(inst.Out, behind(c))
		}
	}
	fresh := &s.fresh[c]
	matched |= s.next.matched | fresh.matched
	s.renew(fresh, matched)
	set, ok := s.setOf(matched)
	if !ok {
		return 0, false
	}
	to, ok := s.intern(c)
	return newEdge(to, set), ok
}

// resolve decides the conditions of a state that depend on the next rune. It
// returns the threads that take a rune, and the patterns that matched before
// it.
func (s *runeStates) resolve(from *runeState, next rune) ([]uint32, uint64) {
	if !from.looks {
		return from.waiting, 0
	}
	s.now.begin()
	for _, position := range from.waiting {
		s.now.add(position, from.before.before(next))
	}
	return s.now.waiting, s.now.matched
}

// renew takes the threads of patterns that have matched out of the next state,
// and adds those that begin here.
func (s *runeStates) renew(fresh *threads, matched uint64) {
	s.next.waiting = slices.DeleteFunc(s.next.waiting, func(position uint32) bool {
		return s.code.instructions[position].pattern&matched != 0
	})
	kept := s.next.waiting
	s.next.begin()
	for _, positions := range [][]uint32{kept, fresh.waiting} {
		for _, position := range positions {
			if s.next.isNew(position) {
				s.next.waiting = append(s.next.waiting, position)
			}
		}
	}
	slices.Sort(s.next.waiting)
}

// intern returns the state of the next threads, and false where there is no
// room for another.
func (s *runeStates) intern(before class) (uint16, bool) {
	waiting := s.next.waiting
	looks := slices.ContainsFunc(waiting, func(position uint32) bool {
		return s.code.instructions[position].looksAhead()
	})
	if !looks && before != atBegin {
		before = other
	}
	s.key = append(s.key[:0], byte(before))
	for _, position := range waiting {
		s.key = binary.LittleEndian.AppendUint32(s.key, position)
	}
	if number, ok := s.byKey[string(s.key)]; ok {
		return number, true
	}
	number := len(s.states)
	cost := stateCost + 2*len(s.key)
	if number > int(startState) && (number == most || s.used+cost > s.budget) {
		return 0, false
	}
	s.used += cost
	s.states = append(s.states, runeState{waiting: slices.Clone(waiting), before: before, looks: looks})
	s.byKey[string(s.key)] = uint16(number)
	return uint16(number), true
}

// setOf numbers a set of patterns.
func (s *runeStates) setOf(matched uint64) (uint16, bool) {
	if number, ok := s.byMatched[matched]; ok {
		return number, true
	}
	number := len(s.matched)
	if number == most {
		return 0, false
	}
	s.matched = append(s.matched, matched)
	s.byMatched[matched] = uint16(number)
	return uint16(number), true
}

// atEnd returns the patterns that match if the text ends in a state.
func (s *runeStates) atEnd(number uint16) uint64 {
	state := &s.states[number]
	_, matched := s.resolve(state, endOfText)
	if state.before == atBegin {
		matched |= s.fresh[atBegin].matched
	}
	return matched
}
