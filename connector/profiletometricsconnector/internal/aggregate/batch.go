// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/selection"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"
)

// batch is the scratch memory of one Add. It is used again, and every table
// keeps its capacity.
type batch struct {
	*Aggregator
	now    time.Time
	number int64
	report Report

	position Position // of what is being read
	symbols  symbols.Dictionary
	resource resourceKey
	scope    pcommon.InstrumentationScope

	targets    []measure.Target // of the profiles of a scope
	targetEnds []int

	samples    [samplesAhead]rawSample
	attributes attributeTable
	groups     groupTable
	slots      slotTable
	extraction extractionTable
	outputs    outputTable
	functions  functionTable
	rules      ruleTable
	exemplars  exemplarTable
	generation int // of the function IDs

	choice      selection.Choice
	chosen      []verdict // by function ID, for the choice
	matched     []match   // by function ID
	stackPasses []verdict // by stack, one up

	key       []byte
	sourceKey []byte
	weights   []series.FunctionWeight
	weightIDs []symbols.FunctionID
	waiting   []countedOutput
	updating  series.Update
	// The two functions that fill new entries of the store are made once: they
	// read what is current from the batch.
	fillResource func(pcommon.Resource)
	fillGroup    func(pcommon.Map)
	fillRule     func(pcommon.Map)
	current      output
}

type verdict uint8

const (
	open verdict = iota
	yes
	no
)

// match is what the pattern filter has to say of a function.
type match uint8

const (
	lookedAt match = 1 << iota
	included
	excluded
)

func newBatch(a *Aggregator) *batch {
	b := &batch{Aggregator: a}
	b.exemplars.limit = a.options.Exemplars
	b.fillResource = b.resource.fill
	b.fillGroup = b.writeGroup
	b.fillRule = b.writeRuleGroup
	b.rules.matcher = newMatcher(a.selection.Rules, &b.symbols)
	return b
}

func (b *batch) begin(dictionary pprofile.ProfilesDictionary, now time.Time) {
	b.now = now
	b.number = b.store.Batch()
	b.report = Report{}
	b.position = Position{}
	b.symbols.Reset(dictionary, b.options.TellFilesApart)
	b.rules.reset(b.selection.Rules)
	b.attributes.reset(&b.symbols, b.selection, &b.rules)
	functionsChanged := b.generation != b.symbols.Generation()
	if functionsChanged {
		b.generation = b.symbols.Generation()
		b.functions.forgetIDs()
		b.chosen, b.matched = nil, nil
		b.rules.forgetFunctions()
	}
	b.extraction.reset(b.selection.Extractors, &b.symbols, functionsChanged)
	b.findInLocations()
	b.slots.reset(b.symbols.Stacks())
	b.functions.reset(b.symbols.Functions())
	b.functions.fetch(&b.symbols)
	if b.selection.Pattern != nil {
		b.stackPasses = emptied(b.stackPasses, b.symbols.Stacks()+1)
	}
}

// end lets go of the profiles.
func (b *batch) end() {
	b.symbols.Release()
	b.resource = resourceKey{key: b.resource.key}
	b.scope = pcommon.InstrumentationScope{}
	b.updating = series.Update{}
	b.groups.release()
	b.rules.release()
}

// emptied returns a zeroed slice of length n that reuses memory.
func emptied[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// choose turns to the functions chosen for a resource. What was decided for the
// one before stays valid where the same matchers apply.
func (b *batch) choose(resource pcommon.Map) {
	choice := b.selection.Functions.For(resource)
	if !choice.Equal(b.choice) {
		b.chosen = b.chosen[:0]
	}
	b.choice = choice
}

// isChosen says whether a function gets series, deciding it once.
func (b *batch) isChosen(function symbols.FunctionID) bool {
	if b.choice.Everything() {
		return true
	}
	decided := at(&b.chosen, int(function))
	if *decided == open {
		*decided = no
		if b.choice.Includes(b.symbols.Function(function).Name) {
			*decided = yes
		}
	}
	return *decided == yes
}

// passesPattern applies the pattern filter to a stack, once.
func (b *batch) passesPattern(stack int32) bool {
	filter := b.selection.Pattern
	if filter == nil {
		return true
	}
	passes := &b.stackPasses[stack+1]
	if *passes == open {
		*passes = no
		if b.anyPasses(filter, b.symbols.StackFunctions(stack)) {
			*passes = yes
		}
	}
	return *passes == yes
}

func (b *batch) anyPasses(filter *selection.Filter, functions []symbols.FunctionID) bool {
	passes := !filter.Requires()
	for _, function := range functions {
		matched := b.match(filter, function)
		if matched&excluded != 0 {
			return false
		}
		passes = passes || matched&included != 0
	}
	return passes
}

// match applies the pattern filter to a function, once.
func (b *batch) match(filter *selection.Filter, function symbols.FunctionID) match {
	matched := at(&b.matched, int(function))
	if *matched == 0 {
		*matched = lookedAt
		name := b.symbols.Function(function).Name
		if filter.Matches(name) {
			*matched |= included
		}
		if filter.Excludes(name) {
			*matched |= excluded
		}
	}
	return *matched
}
