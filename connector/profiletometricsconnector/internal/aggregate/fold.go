// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"

import (
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
	slots := b.slots.slots
	for _, number := range b.slots.inOrder() {
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
		b.known.checkEpoch(update.Epoch())
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
		b.functions.clear()
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

// functionTable holds the weights of the functions of one output, by function
// ID.
type functionTable struct {
	weights []functionWeight
	// touched begins with the functions that have weights, in the order of
	// their discovery.
	touched []symbols.FunctionID
	n       int
	// overflow is the weight of the output's stacks that have a function which is
	// marked as overflowed, and changes counts the changes of such marks.
	overflow int64
	changes  int
}

type functionWeight struct {
	flat, cumulative int64
	touched          bool
	// overflowed is 1 for a function that found no cumulative series in the
	// output that it was in last. Most functions that overflow do so again.
	overflowed uint8
}

// reset makes room for so many functions.
func (t *functionTable) reset(functions int) {
	if missing := functions - len(t.weights); missing > 0 {
		t.weights = append(t.weights, make([]functionWeight, missing)...)
		// One more than there are functions: add writes before it counts.
		t.touched = append(t.touched, make([]symbols.FunctionID, functions+1-len(t.touched))...)
	}
}

// add adds the weight of a stack to its functions, the leaf's first.
func (t *functionTable) add(functions []symbols.FunctionID, weight int64) {
	weights, touched, n := t.weights, t.touched, t.n
	overflowed := uint8(0)
	for _, function := range functions {
		sum := &weights[function]
		touched[n] = function
		if !sum.touched {
			n++
		}
		sum.touched = true
		overflowed |= sum.overflowed
		sum.cumulative = measure.Add(sum.cumulative, weight)
	}
	t.n = n
	if overflowed != 0 {
		t.overflow = measure.Add(t.overflow, weight)
	}
	leaf := &weights[functions[0]]
	leaf.flat = measure.Add(leaf.flat, weight)
}

func (t *functionTable) clear() {
	for _, function := range t.touched[:t.n] {
		sum := &t.weights[function]
		*sum = functionWeight{overflowed: sum.overflowed}
	}
	t.n, t.overflow = 0, 0
}

// mark says whether a function overflowed.
func (t *functionTable) mark(function symbols.FunctionID, overflowed bool) {
	mark := uint8(0)
	if overflowed {
		mark = 1
	}
	if sum := &t.weights[function]; sum.overflowed != mark {
		sum.overflowed = mark
		t.changes++
	}
}

// fold adds the weights of an output's stacks up by function, once per stack
// and function, and returns their total, and that of the stacks that overflow
// if the same functions do as before.
func (b *batch) fold(out output) (total, overflow int64) {
	functionsOf := b.symbols.StackFunctions
	if b.readsStacks(out.group) {
		functionsOf = b.functionsOfMatched
	}
	for number := out.first; number != endOfList; number = b.slots.slots[number].next {
		s := &b.slots.slots[number]
		if s.weight == 0 {
			continue
		}
		total = measure.Add(total, s.weight)
		b.functions.add(functionsOf(s.stack), s.weight)
	}
	return total, b.functions.overflow
}

// weigh lists the weights of the chosen functions, in base units, after those
// of outputs that wait.
func (b *batch) weigh(update *series.Update, factor int64) {
	for _, id := range b.functions.touched[:b.functions.n] {
		if !b.isChosen(id) {
			b.functions.mark(id, false)
			continue
		}
		weight := &b.functions.weights[id]
		b.weights = append(b.weights, series.FunctionWeight{
			Function:   b.identify(update, id),
			Flat:       measure.Multiply(weight.flat, factor),
			Cumulative: measure.Multiply(weight.cumulative, factor),
		})
		b.weightIDs = append(b.weightIDs, id)
	}
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
			if b.functions.weights[function].overflowed != 0 {
				total = measure.Add(total, s.weight)
				break
			}
		}
	}
	return total
}

// knownFunctions remembers the store's numbers for functions, by function ID.
type knownFunctions struct {
	ids   []series.FunctionID // 0 for not known
	epoch uint64
}

// checkEpoch forgets the numbers when the store has forgotten some.
func (k *knownFunctions) checkEpoch(epoch uint64) {
	if k.epoch != epoch {
		k.ids, k.epoch = k.ids[:0], epoch
	}
}

// identify returns the store's number for a function.
func (b *batch) identify(update *series.Update, function symbols.FunctionID) series.FunctionID {
	known := at(&b.known.ids, int(function))
	if *known == 0 {
		entry := b.symbols.Function(function)
		*known = update.Identify(series.Function{Name: entry.Name, File: entry.File})
	}
	return *known
}
