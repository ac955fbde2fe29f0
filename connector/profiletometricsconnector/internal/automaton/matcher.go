// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package automaton // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/automaton"

import (
	"slices"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"
)

// Matcher applies the patterns of a Program to stacks. It remembers what it
// learns about functions until Forget. It is not safe for concurrent use.
type Matcher struct {
	program   *Program
	nameOf    func(symbols.FunctionID) string
	limits    limits
	functions int
	walked    int

	blocks []block

	// verdicts are the sets of patterns that stacks match, as one word for each
	// block; verdict 0 is none.
	verdicts []uint64
	byStep   map[verdictStep]Verdict
	recent   [recents]recentVerdict

	text []byte // of the stack that was written last
}

// block is 64 patterns, or what is left of them.
type block struct {
	// machines have the patterns in their order.
	machines []*machine
}

const blockSize = 64

// Verdict numbers a set of patterns, from 1, until the next Begin.
type Verdict int32

// verdictStep makes a verdict of that on the blocks before.
type verdictStep struct {
	before  Verdict
	matched uint64
}

type recentVerdict struct {
	verdictStep
	verdict Verdict
}

// recents is how many verdicts are found without a map, a power of two.
const recents = 64

// maxVerdicts is how many verdicts are remembered from message to message.
const maxVerdicts = 1 << 12

// NewMatcher returns a matcher that asks nameOf for the names of functions.
func NewMatcher(program *Program, nameOf func(symbols.FunctionID) string) *Matcher {
	m := &Matcher{program: program, nameOf: nameOf, limits: defaultLimits}
	m.forgetVerdicts()
	return m
}

// Begin turns to the stacks of a message, whose functions are below the given
// number.
func (m *Matcher) Begin(functions int) {
	m.functions = functions
	if len(m.byStep) > maxVerdicts {
		m.forgetVerdicts()
	}
}

// Forget drops what is known of functions: their numbers have a new meaning.
func (m *Matcher) Forget() { m.blocks = nil }

// Match says which patterns match a stack: its functions, the leaf's first, are
// written from the root to the leaf.
func (m *Matcher) Match(stack []symbols.FunctionID) Verdict {
	if m.blocks == nil {
		m.build()
	}
	m.walked += len(stack)
	m.text = m.text[:0]
	verdict := Verdict(0)
	for i := range m.blocks {
		verdict = m.decide(verdict, i, m.matchBlock(&m.blocks[i], stack))
	}
	return verdict
}

// Has says whether a verdict contains a pattern.
func (m *Matcher) Has(verdict Verdict, pattern int) bool {
	words := m.words()
	return m.verdicts[int(verdict)*words+pattern/blockSize]>>(uint(pattern)%blockSize)&1 != 0
}

// Walked is the number of frames that Match was asked about so far.
func (m *Matcher) Walked() int { return m.walked }

// words is how many words a verdict takes.
func (m *Matcher) words() int { return (len(m.program.patterns) + blockSize - 1) / blockSize }

func (m *Matcher) build() {
	for patterns := range slices.Chunk(m.program.patterns, blockSize) {
		m.blocks = append(m.blocks, block{[]*machine{newMachine(patterns, 0, m.limits)}})
	}
}

// matchBlock applies the patterns of a block. A machine that gets nowhere is
// divided, as the states of two machines add up and those of one multiply; a
// single pattern that gets nowhere is left to regexp until functions have a new
// meaning.
func (m *Matcher) matchBlock(b *block, stack []symbols.FunctionID) uint64 {
	all := uint64(0)
	for i := 0; i < len(b.machines); i++ {
		machine := b.machines[i]
		matched, ok := machine.match(stack, m.functions, m.nameOf)
		switch {
		case ok:
			all |= matched
		case len(machine.patterns) > 1:
			halves := machine.halves()
			b.machines = slices.Replace(b.machines, i, i+1, halves[:]...)
			i--
		default:
			all |= m.matchText(machine, stack)
		}
	}
	return all
}

// matchText applies a pattern to a stack that is written out.
func (m *Matcher) matchText(machine *machine, stack []symbols.FunctionID) uint64 {
	if len(m.text) == 0 {
		for _, function := range slices.Backward(stack) {
			if len(m.text) > 0 {
				m.text = append(m.text, Separator)
			}
			m.text = append(m.text, m.nameOf(function)...)
		}
	}
	if machine.patterns[0].regexp.Match(m.text) {
		return 1 << machine.first
	}
	return 0
}

func (m *Matcher) forgetVerdicts() {
	m.verdicts = nil
	m.byStep = make(map[verdictStep]Verdict)
	m.recent = [recents]recentVerdict{}
}

// decide adds to a verdict on the blocks before what matches in a block. Most
// stacks match what others do.
func (m *Matcher) decide(before Verdict, number int, matched uint64) Verdict {
	step := verdictStep{before, matched}
	recent := &m.recent[step.hash()]
	if recent.verdictStep == step && recent.verdict != 0 {
		return recent.verdict
	}
	verdict, ok := m.byStep[step]
	if !ok {
		verdict = m.add(step, number)
	}
	*recent = recentVerdict{step, verdict}
	return verdict
}

// hash mixes the bits, as Fibonacci hashing does.
func (s verdictStep) hash() uint64 {
	const golden = 0x9e3779b97f4a7c15
	return (s.matched ^ uint64(s.before)) * golden >> 32 % recents
}

func (m *Matcher) add(step verdictStep, number int) Verdict {
	words := m.words()
	if len(m.verdicts) == 0 {
		m.verdicts = make([]uint64, words)
	}
	verdict := Verdict(len(m.verdicts) / words)
	m.verdicts = append(m.verdicts, m.verdicts[int(step.before)*words:][:words]...)
	m.verdicts[int(verdict)*words+number] = step.matched
	m.byStep[step] = verdict
	return verdict
}
