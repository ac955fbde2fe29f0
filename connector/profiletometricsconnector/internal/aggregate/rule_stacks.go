// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"

import (
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/automaton"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/selection"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"
)

// matchingStacks is what stacks that match the same patterns add up to.
type matchingStacks struct {
	weight  int64
	touched bool
}

// newMatcher returns what applies the rules' patterns to stacks; nil where there
// are none.
func newMatcher(rules *selection.Rules, dictionary *symbols.Dictionary) *automaton.Matcher {
	if rules.None() || rules.Nodes().Len() == 0 {
		return nil
	}
	return automaton.NewMatcher(rules.Nodes(), func(function symbols.FunctionID) string {
		return dictionary.Function(function).Name
	})
}

// forgetFunctions is for when function IDs have lost their meaning.
func (t *ruleTable) forgetFunctions() {
	if t.matcher != nil {
		t.matcher.Forget()
	}
}

// sumStacks adds the weights of an output's stacks up by the patterns that they
// match: there are fewer of these sets than of stacks.
func (b *batch) sumStacks(out output) {
	t := &b.rules
	t.matched = t.matched[:0]
	for number := out.first; number != endOfList; number = b.slots.slots[number].next {
		s := &b.slots.slots[number]
		if s.weight == 0 {
			continue
		}
		verdict := b.matchStack(s.stack)
		sum := at(&t.matching, int(verdict))
		if !sum.touched {
			sum.touched = true
			t.matched = append(t.matched, verdict)
		}
		sum.weight = measure.Add(sum.weight, s.weight)
	}
}

// takes says whether a node is among the patterns that a stack matches.
func (t *ruleTable) takes(verdict automaton.Verdict, node int) bool {
	return node == selection.AnyNode || t.matcher.Has(verdict, node)
}

// readsStacks says whether any rule looks at the stacks of a group.
func (b *batch) readsStacks(group int32) bool {
	if len(b.rules.targets) == 0 || b.rules.matcher == nil {
		return false
	}
	for i, place := range b.ruleRow(group) {
		if place != refused && b.node(i) != selection.AnyNode {
			return true
		}
	}
	return false
}

// functionsOfMatched returns the functions of a stack, each once, and matches
// the stack while it is at hand: to read it again later would take as long as
// all that is done with it.
func (b *batch) functionsOfMatched(stack int32) []symbols.FunctionID {
	functions, frames := b.symbols.StackFunctionsAndFrames(stack)
	verdict := b.verdict(stack)
	if *verdict == 0 {
		*verdict = b.rules.matcher.Match(frames)
	}
	return functions
}

// matchStack applies all patterns to a stack, once.
func (b *batch) matchStack(stack int32) automaton.Verdict {
	if b.rules.matcher == nil {
		return 0
	}
	verdict := b.verdict(stack)
	if *verdict == 0 {
		*verdict = b.rules.matcher.Match(b.symbols.StackFrames(stack))
	}
	return *verdict
}

// verdict is where the verdict on a stack is kept, 0 until there is one.
func (b *batch) verdict(stack int32) *automaton.Verdict {
	t := &b.rules
	if len(t.stacks) == 0 {
		t.stacks = emptied(t.stacks, b.symbols.Stacks()+1)
		t.matcher.Begin(b.symbols.Functions())
	}
	return &t.stacks[stack+1]
}
