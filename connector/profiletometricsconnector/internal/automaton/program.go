// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package automaton matches regular expressions on stacks, written as the
// names of their functions from the root to the leaf, joined by a separator.
// It never writes them: a function is one symbol of a deterministic automaton
// that is built as stacks ask for it, for all patterns at once, so that a stack
// costs one look into a table for each of its frames.
package automaton // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/automaton"

import (
	"regexp"
	"regexp/syntax"
)

// Separator stands between the names of a stack.
const Separator = ';'

// Program is a list of patterns. The zero value has none. It is safe for
// concurrent use once all are added.
type Program struct {
	patterns []pattern
}

// pattern is a regular expression in its two compiled forms.
type pattern struct {
	regexp *regexp.Regexp
	prog   *syntax.Prog
}

// Add appends a pattern and returns its position. The two arguments are the
// same expression, parsed as regexp.Compile does.
func (p *Program) Add(expression *regexp.Regexp, prog *syntax.Prog) int {
	p.patterns = append(p.patterns, pattern{expression, prog})
	return len(p.patterns) - 1
}

// Len is the number of patterns.
func (p *Program) Len() int { return len(p.patterns) }

// code is the union of the programs of some patterns.
type code struct {
	instructions []instruction
	entries      []uint32 // where the patterns start
}

// instruction is one of a pattern's. Out and Arg are positions in the union
// where they were in the pattern's program.
type instruction struct {
	syntax.Inst
	pattern uint64 // a bit
}

// newCode joins patterns; the first one's bit is that of number first.
func newCode(patterns []pattern, first int) code {
	var c code
	for i, p := range patterns {
		base := uint32(len(c.instructions))
		for _, inst := range p.prog.Inst {
			inst.Out += base
			if inst.Op == syntax.InstAlt || inst.Op == syntax.InstAltMatch {
				inst.Arg += base
			}
			c.instructions = append(c.instructions, instruction{inst, 1 << (first + i)})
		}
		c.entries = append(c.entries, base+uint32(p.prog.Start))
	}
	return c
}

// takes says whether an instruction that takes a rune takes this one.
func (i *instruction) takes(r rune) bool {
	switch i.Op {
	case syntax.InstRune1:
		return r == i.Rune[0]
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return r != '\n'
	default:
		return i.MatchRune(r)
	}
}

// class is what conditions between runes ask of the rune before.
type class uint8

const (
	atBegin class = iota // there is none
	newline
	word
	other
	classes
)

func classOf(r rune) class {
	switch {
	case r == '\n':
		return newline
	case syntax.IsWordChar(r):
		return word
	default:
		return other
	}
}

// example is a rune of the class, as syntax.EmptyOpContext takes it.
func (c class) example() rune { return [classes]rune{-1, '\n', 'a', ' '}[c] }

// endOfText is the rune after the last one.
const endOfText rune = -1

// Conditions that depend on the rune before only, and those that depend on the
// next one.
const (
	looksBehind = syntax.EmptyBeginText | syntax.EmptyBeginLine
	looksAhead  = syntax.EmptyEndText | syntax.EmptyEndLine | syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary
)

// between is what holds between a rune and the next one.
type between struct {
	holds, unknown syntax.EmptyOp
}

// behind is what is known before the next rune is.
func behind(c class) between {
	return between{syntax.EmptyOpContext(c.example(), ' ') & looksBehind, looksAhead}
}

func (c class) before(next rune) between {
	return between{holds: syntax.EmptyOpContext(c.example(), next)}
}

// threads collects the positions in a program at which patterns wait for the
// next rune.
type threads struct {
	code    *code
	waiting []uint32
	matched uint64 // the patterns that came to their end
	seen    []uint32
	round   uint32
	pending []uint32
}

func (t *threads) begin() {
	t.waiting, t.matched = t.waiting[:0], 0
	if t.seen == nil {
		t.seen = make([]uint32, len(t.code.instructions))
	}
	t.round++
	if t.round == 0 { // after 2³² rounds
		clear(t.seen)
		t.round = 1
	}
}

// isNew says whether a position was not seen in this round yet.
func (t *threads) isNew(position uint32) bool {
	unseen := t.seen[position] != t.round
	t.seen[position] = t.round
	return unseen
}

// add follows a program from a position to where it has to know the next rune.
func (t *threads) add(position uint32, at between) {
	t.pending = append(t.pending[:0], position)
	for len(t.pending) > 0 {
		position := t.pending[len(t.pending)-1]
		t.pending = t.pending[:len(t.pending)-1]
		if !t.isNew(position) {
			continue
		}
		inst := &t.code.instructions[position]
		switch inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			t.pending = append(t.pending, inst.Arg, inst.Out)
		case syntax.InstCapture, syntax.InstNop:
			t.pending = append(t.pending, inst.Out)
		case syntax.InstEmptyWidth:
			switch needs := syntax.EmptyOp(inst.Arg); {
			case needs&^(at.holds|at.unknown) != 0:
			case needs&at.unknown != 0:
				t.waiting = append(t.waiting, position)
			default:
				t.pending = append(t.pending, inst.Out)
			}
		case syntax.InstMatch:
			t.matched |= inst.pattern
		case syntax.InstFail:
		default:
			t.waiting = append(t.waiting, position)
		}
	}
}

// looksAhead is true for an instruction that waits for the next rune without
// taking it.
func (i *instruction) looksAhead() bool { return i.Op == syntax.InstEmptyWidth }
