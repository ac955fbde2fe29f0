// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"

import (
	"math"
	"slices"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"
)

// output is a set of slots whose points have the same attributes, the function
// aside: one group of samples and one tuple of extracted values.
type output struct {
	group, tuple int32
	first, last  int32 // slots, linked by slot.next
}

type outputTable struct {
	outputs []output
	byKey   map[[2]int32]int32
	// recent holds positions in outputs, by a hash of the key; those of the
	// profile before hold nothing.
	recent [recentOutputs]int32
}

const recentOutputs = 1 << 6

const endOfList int32 = -1

func (t *outputTable) clear() {
	t.outputs = t.outputs[:0]
	clear(t.byKey)
}

// add appends a slot to the output of its group and tuple.
func (t *outputTable) add(slots []slot, number, tuple int32) {
	slots[number].next = endOfList
	key := [2]int32{slots[number].group, tuple}
	recent := &t.recent[hashOf(key[0], key[1])%recentOutputs]
	if int(*recent) < len(t.outputs) {
		if known := &t.outputs[*recent]; known.group == key[0] && known.tuple == key[1] {
			known.append(slots, number)
			return
		}
	}
	if t.byKey == nil {
		t.byKey = make(map[[2]int32]int32)
	}
	known, ok := t.byKey[key]
	if ok {
		t.outputs[known].append(slots, number)
	} else {
		known = int32(len(t.outputs))
		t.byKey[key] = known
		t.outputs = append(t.outputs, output{group: key[0], tuple: tuple, first: number, last: number})
	}
	*recent = known
}

func (o *output) append(slots []slot, number int32) {
	slots[o.last].next = number
	o.last = number
}

// divide applies the filters to the slots of a profile and divides the others
// among the outputs, in the order of the stack table: like this the stacks are
// read as they lie in memory.
func (b *batch) divide() {
	slots, order := b.slots.slots, b.slots.inOrder()
	readsStacks := len(b.selection.Extractors) > 0 || b.selection.Pattern != nil
	for i, number := range order {
		if readsStacks && i%stacksAhead == 0 {
			for _, number := range order[i:min(i+stacksAhead, len(order))] {
				b.symbols.Fetch(slots[number].stack)
			}
		}
		s := &slots[number]
		if !b.groups.groups[s.group].passes || !b.passesPattern(s.stack) {
			b.report.Filtered += s.samples - s.malformed
			continue
		}
		b.outputs.add(slots, number, b.extract(s))
	}
}

// account reports the samples that went to the outputs. It comes after them,
// as stacks that have been resolved know what is wrong with them.
func (b *batch) account() {
	for _, out := range b.outputs.outputs {
		for number := out.first; number != endOfList; number = b.slots.slots[number].next {
			s := &b.slots.slots[number]
			if problem := b.symbols.StackProblem(s.stack); problem.Reason != "" && s.stack != noStack && s.malformed < s.samples {
				b.position.Sample = s.firstSample
				b.report.malformed(b.position, problem, s.samples-s.malformed)
				continue
			}
			b.report.Converted += s.samples - s.malformed
		}
	}
}

// commit adds what was counted for a profile to the series of one stream.
func (b *batch) commit(profile pprofile.Profile, target measure.Target) {
	snapshot := b.measures.Streams()[target.Stream].Snapshot
	if len(b.outputs.outputs) == 0 && !snapshot {
		return
	}
	name := series.Resource{
		Key:       b.resource.key,
		SchemaURL: b.resource.schemaURL,
		Fill:      b.fillResource,
	}
	b.update(name, profile, target, func(update *series.Update) {
		b.functions.checkEpoch(update.Epoch())
		b.addOutputs(update, target)
	})
}

// update turns to the stream that a profile feeds, and adds to it unless it
// holds a newer snapshot.
func (b *batch) update(name series.Resource, profile pprofile.Profile, target measure.Target, add func(*series.Update)) {
	b.updating = b.store.Update(name, b.now)
	update := &b.updating
	defer update.End()
	if !b.measures.Streams()[target.Stream].Snapshot {
		update.Counter(target.Stream)
		add(update)
		return
	}
	source := series.Source{Key: b.source(), Measured: b.measured(profile), Batch: b.number}
	if update.Snapshot(target.Stream, source) {
		add(update)
		update.EndSnapshot()
	}
}

// countedOutput is an output and where the weights of its functions are. They
// are kept while functions wait for Update.Admit.
type countedOutput struct {
	output      output
	first, last int // of batch.weights
	// overflow is the weight of the stacks of which a function overflows, if
	// those do that did before: functionTable.changes is then what it was.
	overflow int64
	changes  int
}

func (b *batch) addOutputs(update *series.Update, target measure.Target) {
	b.weights, b.weightIDs, b.waiting = b.weights[:0], b.weightIDs[:0], b.waiting[:0]
	for _, out := range b.outputs.outputs {
		first, changes := len(b.weights), b.functions.changes
		total, overflow := b.fold(out)
		b.weigh(update, target.Factor)
		name := b.group(out)
		added := update.Add(name, measure.Multiply(total, target.Factor), b.weights[first:])
		counted := countedOutput{out, first, len(b.weights), overflow, changes}
		if added.Waiting {
			b.waiting = append(b.waiting, counted)
			continue
		}
		if added.Overflowed {
			b.addOverflow(update, target, counted)
		}
		b.addExemplars(update, name, out, target.Factor)
		b.weights, b.weightIDs = b.weights[:first], b.weightIDs[:first]
	}
	if len(b.waiting) == 0 {
		return
	}
	update.Admit()
	for _, waiting := range b.waiting {
		name := b.group(waiting.output)
		if update.AddWaiting(name, b.weights[waiting.first:waiting.last]) {
			b.addOverflow(update, target, waiting)
		}
		b.addExemplars(update, name, waiting.output, target.Factor)
	}
}

// group names the group of an output.
func (b *batch) group(out output) series.Group {
	b.current = out
	b.key = b.appendGroupKey(b.key[:0], out)
	return series.Group{Key: b.key, Fill: b.fillGroup}
}

func (b *batch) addOverflow(update *series.Update, target measure.Target, of countedOutput) {
	update.AddOverflow(measure.Multiply(b.overflowed(of), target.Factor))
}

// fold adds the weights of an output's stacks up by function, once per stack
// and function, and returns their total, and that of the stacks that overflow
// if the same functions do as before.
func (b *batch) fold(out output) (total, overflow int64) {
	functionsOf := b.symbols.StackFunctions
	if b.readsStacks(out.group) {
		functionsOf = b.functionsOfMatched
	}
	total, plain := b.total(out)
	fetched := out.first
	for number := out.first; number != endOfList; number = b.slots.slots[number].next {
		if number == fetched {
			fetched = b.fetch(number)
		}
		s := &b.slots.slots[number]
		switch {
		case s.weight == 0:
		case plain:
			b.functions.add(functionsOf(s.stack), s.weight)
		default:
			b.functions.addAny(functionsOf(s.stack), s.weight)
		}
	}
	return total, b.functions.overflow
}

// total is the weight of an output, and true if no part of it is less than 0 and
// the whole is in range.
func (b *batch) total(out output) (total int64, plain bool) {
	plain = true
	for number := out.first; number != endOfList; number = b.slots.slots[number].next {
		weight := b.slots.slots[number].weight
		plain = plain && weight >= 0 && total <= math.MaxInt64-weight
		total = measure.Add(total, weight)
	}
	return total, plain
}

// stacksAhead is how many stacks are fetched before the first of them is asked
// for anything.
const stacksAhead = 32

// fetch fetches the stacks of some slots of an output, and returns the slot after
// them.
func (b *batch) fetch(number int32) int32 {
	for range stacksAhead {
		if number == endOfList {
			break
		}
		s := &b.slots.slots[number]
		b.symbols.Fetch(s.stack)
		number = s.next
	}
	return number
}

// weigh takes the weights of the functions out of their table, and lists those
// of the chosen ones, in base units, after those of outputs that wait.
func (b *batch) weigh(update *series.Update, factor int64) {
	first, n := len(b.weights), b.functions.n
	b.weightIDs = append(b.weightIDs, b.functions.touched[:n]...)
	b.weights = slices.Grow(b.weights, n)[:first+n]
	known := b.functions.take(b.weights[first:], measure.By(factor))
	if !b.choice.Everything() {
		b.leaveOut(first)
	}
	if known {
		return
	}
	for i := first; i < len(b.weights); i++ {
		b.weights[i].Function = b.identify(update, b.weightIDs[i])
	}
}

// leaveOut drops the functions that are not chosen from a list of weights.
func (b *batch) leaveOut(first int) {
	chosen := first
	for i := first; i < len(b.weights); i++ {
		if id := b.weightIDs[i]; b.isChosen(id) {
			b.weights[chosen], b.weightIDs[chosen] = b.weights[i], id
			chosen++
		} else {
			b.functions.mark(id, false)
		}
	}
	b.weights, b.weightIDs = b.weights[:chosen], b.weightIDs[:chosen]
}

// overflowed is the weight of an output's samples of which at least one
// function found no cumulative series.
func (b *batch) overflowed(of countedOutput) int64 {
	for i := of.first; i < of.last; i++ {
		b.functions.mark(b.weightIDs[i], b.weights[i].CumulativeOverflowed)
	}
	if b.functions.changes == of.changes {
		return of.overflow
	}
	total := int64(0)
	for number := of.output.first; number != endOfList; number = b.slots.slots[number].next {
		s := &b.slots.slots[number]
		if s.weight == 0 {
			continue
		}
		for _, function := range b.symbols.StackFunctions(s.stack) {
			if b.functions.hasOverflowed(function) {
				total = measure.Add(total, s.weight)
				break
			}
		}
	}
	return total
}

// identify returns the store's number for a function.
func (b *batch) identify(update *series.Update, function symbols.FunctionID) series.FunctionID {
	known := &b.functions.sums[function].id
	if *known == 0 {
		entry := b.symbols.Function(function)
		*known = update.Identify(series.Function{Name: entry.Name, File: entry.File})
	}
	return *known
}
