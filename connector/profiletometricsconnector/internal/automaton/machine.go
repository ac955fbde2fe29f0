// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package automaton // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/automaton"

import (
	"unicode/utf8"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"
)

// limits bound the memory of a machine.
type limits struct {
	// states is the number of bytes that the automaton within names may take.
	states int
	// edges is the number of entries of the table by function and state.
	edges int
}

// defaultLimits let a table of 32 states know 65,536 functions.
var defaultLimits = limits{states: 4 << 20, edges: 1 << 21}

// machine is the automaton of some patterns in which a function is one symbol.
// Its states are where a name may lead; they are few, as most patterns forget a
// name with its end, or remember only how it ended.
type machine struct {
	patterns []pattern
	first    int // the bit of the first pattern
	limits   limits

	runes  *runeStates
	byEdge map[edge]uint16
	// By state: what led there, the last rune's state and what matched in the
	// name, as a set of patterns, and what matches if the stack ends there.
	// State 0 is none, state 1 the first.
	edges   []edge
	matched []uint64
	ends    []end

	// table holds the states to which functions lead from 1<<shift states, and in
	// the place of state 0 the one that was found first. Those of a function share
	// a cache line while states are few.
	table     []uint16
	shift     uint
	functions int

	// walked counts the frames since the tables were empty, to tell whether they
	// have paid.
	walked int
	// useless is set where the tables had to be emptied before they paid.
	useless bool
}

type end struct {
	known   bool
	matched uint64
}

// smallShift makes a table for eight states.
const smallShift = 3

// guess is the place in the table of a function's most likely state.
const guess = 0

// clearing is how many entries of the table are cleared in the time in which
// regexp reads a frame.
const clearing = 1 << 12

func newMachine(patterns []pattern, first int, bounds limits) *machine {
	m := &machine{patterns: patterns, first: first, limits: bounds, shift: smallShift}
	m.runes = newRuneStates(newCode(patterns, first), bounds.states)
	m.forget()
	return m
}

// halves divides a machine of several patterns, and what it may use.
func (m *machine) halves() [2]*machine {
	n := len(m.patterns) / 2
	half := limits{m.limits.states / 2, m.limits.edges / 2}
	return [2]*machine{
		newMachine(m.patterns[:n], m.first, half),
		newMachine(m.patterns[n:], m.first+n, half),
	}
}

// forget empties the tables.
func (m *machine) forget() {
	m.walked = 0
	m.runes.forget()
	m.byEdge = make(map[edge]uint16)
	m.edges, m.matched, m.ends = append(m.edges[:0], 0), append(m.matched[:0], 0), append(m.ends[:0], end{})
	m.state(newEdge(startState, 0))
	clear(m.table)
}

// state returns the state to which an edge leads.
func (m *machine) state(e edge) uint16 {
	number, ok := m.byEdge[e]
	if !ok {
		number = uint16(len(m.edges))
		m.byEdge[e] = number
		m.edges, m.ends = append(m.edges, e), append(m.ends, end{})
		m.matched = append(m.matched, m.runes.matched[e.matched()])
	}
	return number
}

// match walks over a stack, the leaf's function first, and returns the patterns
// that match. All functions are below the given number. It returns false where
// the tables are useless for such stacks.
func (m *machine) match(stack []symbols.FunctionID, functions int, nameOf func(symbols.FunctionID) string) (uint64, bool) {
	if m.useless {
		return 0, false
	}
	m.fit(functions)
	for range 2 {
		m.walked += len(stack)
		if matched, ok := m.walk(stack, nameOf); ok {
			return matched, true
		}
		if !m.paid() {
			break
		}
		m.forget()
	}
	m.useless = true
	m.table = nil
	m.forget()
	return 0, false
}

// paid says whether the tables saved time since they were empty. To find out
// where one rune leads takes as long as regexp needs for a frame, about.
func (m *machine) paid() bool { return m.walked >= m.runes.advanced+len(m.table)/clearing }

// fit makes room in the table for so many functions.
func (m *machine) fit(functions int) {
	if functions <= m.functions && m.table != nil {
		return
	}
	m.functions = max(functions, m.functions)
	if m.shift > smallShift && m.functions<<m.shift > m.limits.edges {
		m.forget()
		m.shift = smallShift
		m.table = m.table[:0]
	}
	m.table = append(m.table, make([]uint16, m.functions<<m.shift-len(m.table))...)
}

// walk returns false where the tables are full.
func (m *machine) walk(stack []symbols.FunctionID, nameOf func(symbols.FunctionID) string) (uint64, bool) {
	at, matched := startState, uint64(0)
	for n := len(stack); ; {
		var seen uint64
		n, at, seen = m.follow(stack[:n], at)
		matched |= seen
		if n == 0 {
			return matched | m.end(at), true
		}
		function := stack[n-1]
		to, ok := m.learn(at, nameOf(function))
		if !ok || !m.grow() {
			return 0, false
		}
		row := m.table[int(function)<<m.shift:]
		row[at] = to
		if row[guess] == 0 {
			row[guess] = to
		}
	}
}

// follow walks along known states. It returns how many functions are left, where
// it is, and what matched on the way. All time that is not spent on reading
// stacks goes by here: inlined, its variables would not stay in registers.
//
// Where a function leads depends on the state before, so that each look into
// the table would have to wait for the last. But most functions lead where they
// led before: a processor that predicts this reads on from there, and waits for
// nothing. So a guess that is right is taken instead of what it is compared to.
//
//go:noinline
func (m *machine) follow(stack []symbols.FunctionID, at uint16) (left int, to uint16, matched uint64) {
	table, sets, states := m.table, m.matched, 1<<m.shift
	i, state := len(stack)-1, int(at)
	for ; i >= 0; i-- {
		row := int(stack[i]) * states
		guessed, next := int(table[row+guess]), int(table[row+state])
		if guessed == next && guessed != 0 {
			matched |= sets[guessed]
			state = guessed
			continue
		}
		if next == 0 {
			break
		}
		matched |= sets[next]
		state = next
	}
	return i + 1, uint16(state), matched
}

// learn finds out where a name leads to. It returns false where there is no
// room for the states on the way.
func (m *machine) learn(at uint16, name string) (uint16, bool) {
	state, matched := m.edges[at].to(), uint64(0)
	if state != startState {
		e, ok := m.runes.step(state, Separator)
		if !ok {
			return 0, false
		}
		state, matched = e.to(), m.runes.matched[e.matched()]
	}
	for i := 0; i < len(name); {
		r, size := rune(name[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(name[i:])
		}
		i += size
		e, ok := m.runes.step(state, r)
		if !ok {
			return 0, false
		}
		state, matched = e.to(), matched|m.runes.matched[e.matched()]
	}
	set, ok := m.runes.setOf(matched)
	if !ok || len(m.edges) == most {
		return 0, false
	}
	return m.state(newEdge(state, set)), true
}

// grow makes room in the table for the states that names end in, and returns
// false if that is more than it may have.
func (m *machine) grow() bool {
	if len(m.edges) <= 1<<m.shift {
		return true
	}
	// The smallest table is never too large: functions cost more.
	if m.functions<<(m.shift+1) > m.limits.edges {
		return false
	}
	from, width := m.table, 1<<m.shift
	m.shift++
	m.table = make([]uint16, 2*len(from))
	for function := range m.functions {
		copy(m.table[function<<m.shift:], from[function*width:][:width])
	}
	return true
}

// end returns the patterns that match because the stack ends.
func (m *machine) end(at uint16) uint64 {
	known := &m.ends[at]
	if !known.known {
		*known = end{true, m.runes.atEnd(m.edges[at].to())}
	}
	return known.matched
}
