// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"

import (
	"encoding/binary"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/automaton"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/selection"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"
)

// ruleTable evaluates export rules. Whether a rule takes samples depends on
// their attributes, which is decided once per group, and on their stack, which
// is decided once per stack.
type ruleTable struct {
	// places are, by index of the dictionary's attribute table, where rules
	// look for the entry.
	places []selection.RulePlace

	// resource are the values of the resource, once they are known; shared
	// those of everything around the samples of a profile, and values those of
	// a group.
	resourceKnown            bool
	resource, shared, values selection.RuleValues

	// targets are the rules of the profile.
	targets []measure.Target
	// rows say, for each group of the profile, to which series of each of its
	// rules the samples go; row 0 is that of the groups without attributes of
	// their own that rules look up.
	rows []int32
	// perStack are the rules of a row that need a look at each stack.
	perStack []int

	// matcher knows the patterns; nil where there are none.
	matcher *automaton.Matcher
	// stacks are the patterns that each stack matches, by index of the stack
	// table, one up; 0 for a stack that no rule has asked about.
	stacks []automaton.Verdict
	// matching are the weights of an output's stacks, by the patterns that they
	// match; matched lists those that have any.
	matching []matchingStacks
	matched  []automaton.Verdict

	// Series are numbered by their rule and attributes, for longer than a
	// batch: most come again in the next.
	ids     map[string]int32
	keys    []string
	sums    []ruleSum // of the profile, by number
	key     []byte
	touched [][]int32 // the numbers that have a sum, by rule of the profile

	// The series to be filled.
	rule    *selection.Rule
	current string // its key
}

// ruleSum is what a profile adds to a series.
type ruleSum struct {
	weight    int64
	touched   bool
	exemplars []series.Exemplar
}

// Entries of rows that are no series.
const (
	undecided int32 = 0
	refused   int32 = -1
	// Number n is written as n + firstSeries.
	firstSeries int32 = 1
)

// maxRuleSeries is how many series are remembered from batch to batch.
const maxRuleSeries = 1 << 16

func (t *ruleTable) reset(rules *selection.Rules) {
	if rules.None() {
		return
	}
	t.places, t.stacks = t.places[:0], t.stacks[:0]
	if t.ids == nil || len(t.keys) > maxRuleSeries {
		t.ids, t.keys, t.sums = make(map[string]int32), nil, nil
	}
}

func (t *ruleTable) release() {
	t.resource.Release()
	t.shared.Release()
	t.values.Release()
	t.targets = nil
}

// locate takes in the next entry of the attribute table and says whether any
// rule looks at it.
func (t *ruleTable) locate(rules *selection.Rules, key string) bool {
	if rules.None() {
		return false
	}
	place := rules.Find(key)
	t.places = append(t.places, place)
	return place.Matters()
}

// beginRules turns to the rules that ask for a profile.
func (b *batch) beginRules(targets []measure.Target) {
	t := &b.rules
	t.targets = targets
	if len(targets) == 0 {
		return
	}
	b.shareRuleValues()
	t.rows = emptied(t.rows, len(targets)*(len(b.groups.groups)+1))
	for len(t.touched) < len(targets) {
		t.touched = append(t.touched, nil)
	}
}

// addRules counts the profile's samples for its rules.
func (b *batch) addRules(profile pprofile.Profile) {
	t := &b.rules
	if len(t.targets) == 0 {
		return
	}
	for _, out := range b.outputs.outputs {
		b.sumRules(b.ruleRow(out.group), out)
	}
	for i, target := range t.targets {
		b.commitRule(profile, target, t.touched[i])
		for _, number := range t.touched[i] {
			t.sums[number] = ruleSum{exemplars: t.sums[number].exemplars[:0]}
		}
		t.touched[i] = t.touched[i][:0]
	}
}

// shareRuleValues looks up what all samples of a profile have in common.
func (b *batch) shareRuleValues() {
	t, rules := &b.rules, b.selection.Rules
	if !t.resourceKnown {
		t.resourceKnown = true
		t.resource.Reset(rules)
		for key, value := range b.resource.attributes.All() {
			t.resource.Put(rules.Find(key), key, value)
		}
	}
	t.shared.Reset(rules)
	b.putRuleValues(&t.shared, b.groups.profile)
	for key, value := range b.scope.Attributes().All() {
		t.shared.Put(rules.Find(key), key, value)
	}
	t.shared.Fill(&t.resource)
}

// putRuleValues looks up what is among entries of the attribute table, and
// says whether there was any.
func (b *batch) putRuleValues(values *selection.RuleValues, indices []int32) bool {
	found := false
	for _, index := range indices {
		if place := b.rules.places[index]; place.Matters() {
			key, value, _ := b.symbols.Attribute(index)
			values.Put(place, key, value)
			found = true
		}
	}
	return found
}

// ruleRow returns, for each of the rules, the series to which the samples of a
// group go.
func (b *batch) ruleRow(group int32) []int32 {
	t := &b.rules
	n := len(t.targets)
	row := t.rows[(int(group)+1)*n:][:n]
	if row[0] != undecided {
		return row
	}
	t.values.Reset(b.selection.Rules)
	if b.putRuleValues(&t.values, b.groups.groups[group].attributes) {
		t.values.Fill(&t.shared)
		b.decideRules(row, &t.values)
		return row
	}
	common := t.rows[:n]
	if common[0] == undecided {
		b.decideRules(common, &t.shared)
	}
	copy(row, common)
	return row
}

func (b *batch) decideRules(row []int32, values *selection.RuleValues) {
	for i, target := range b.rules.targets {
		row[i] = refused
		if rule := b.selection.Rules.Rule(target.Rule); rule.Takes(values) {
			row[i] = b.ruleSeries(target.Rule, rule, values) + firstSeries
		}
	}
}

// ruleSeries numbers a series of a rule.
func (b *batch) ruleSeries(number int, rule *selection.Rule, values *selection.RuleValues) int32 {
	t := &b.rules
	t.key = binary.AppendUvarint(t.key[:0], uint64(number))
	for i := range rule.GroupBy {
		t.key = appendText(t.key, rule.GroupValue(i, values))
	}
	if id, ok := t.ids[string(t.key)]; ok {
		return id
	}
	id := int32(len(t.keys))
	key := string(t.key)
	t.ids[key] = id
	t.keys = append(t.keys, key)
	t.sums = append(t.sums, ruleSum{})
	return id
}

// sumRules adds the weights of an output to the series of a row.
func (b *batch) sumRules(row []int32, out output) {
	t := &b.rules
	t.perStack = t.perStack[:0]
	total, summed := int64(0), false
	for i, place := range row {
		switch {
		case place == refused:
		case b.node(i) != selection.AnyNode || len(b.exemplars.ofSlots) > 0:
			t.perStack = append(t.perStack, i)
		default:
			if !summed {
				total, summed = b.sum(out), true
			}
			t.add(i, place, total)
		}
	}
	if len(t.perStack) == 0 {
		return
	}
	b.sumStacks(out)
	for _, verdict := range t.matched {
		for _, i := range t.perStack {
			if t.takes(verdict, b.node(i)) {
				t.add(i, row[i], t.matching[verdict].weight)
			}
		}
		t.matching[verdict] = matchingStacks{}
	}
	if len(b.exemplars.ofSlots) > 0 {
		b.exemplifyRules(row, out)
	}
}

// node is the pattern on stacks of the i-th rule of the profile.
func (b *batch) node(i int) int { return b.selection.Rules.Rule(b.rules.targets[i].Rule).Node }

// exemplifyRules gives the exemplars of an output to the rules of a row.
func (b *batch) exemplifyRules(row []int32, out output) {
	t := &b.rules
	for number := out.first; number != endOfList; number = b.slots.slots[number].next {
		s := &b.slots.slots[number]
		if s.weight == 0 || s.exemplars == 0 {
			continue
		}
		verdict := b.matchStack(s.stack)
		for _, i := range t.perStack {
			if t.takes(verdict, b.node(i)) {
				b.exemplifyRule(&t.sums[row[i]-firstSeries], s)
			}
		}
	}
}

// exemplifyRule keeps the heaviest exemplars of a slot that a rule counted.
func (b *batch) exemplifyRule(sum *ruleSum, s *slot) {
	for _, exemplar := range b.exemplars.ofSlots[s.exemplars-1] {
		sum.exemplars = series.KeepHeaviest(sum.exemplars, exemplar, b.exemplars.limit)
	}
}

func (b *batch) sum(out output) int64 {
	total := int64(0)
	for number := out.first; number != endOfList; number = b.slots.slots[number].next {
		total = measure.Add(total, b.slots.slots[number].weight)
	}
	return total
}

// add adds to a series of the i-th rule of the profile.
func (t *ruleTable) add(i int, place int32, weight int64) {
	number := place - firstSeries
	sum := &t.sums[number]
	if !sum.touched {
		sum.touched = true
		t.touched[i] = append(t.touched[i], number)
	}
	sum.weight = measure.Add(sum.weight, weight)
}

// noAttributes is the key of the resource that rules have: none of the input's
// attributes is left.
var noAttributes = appendMap(nil, pcommon.NewMap(), func(string) bool { return false })

// commitRule adds what was counted for a rule to its series.
func (b *batch) commitRule(profile pprofile.Profile, target measure.Target, numbers []int32) {
	snapshot := b.measures.Streams()[target.Stream].Snapshot
	if len(numbers) == 0 && !snapshot {
		return
	}
	name := series.Resource{Key: noAttributes, Fill: func(pcommon.Resource) {}}
	b.update(name, profile, target, func(update *series.Update) {
		b.addRuleSeries(update, target, numbers)
	})
}

func (b *batch) addRuleSeries(update *series.Update, target measure.Target, numbers []int32) {
	t := &b.rules
	t.rule = b.selection.Rules.Rule(target.Rule)
	for _, number := range numbers {
		t.current = t.keys[number]
		b.key = append(b.key[:0], t.current...)
		sum := &t.sums[number]
		name := series.Group{Key: b.key, Fill: b.fillRule}
		update.Add(name, measure.Multiply(sum.weight, target.Factor), nil)
		if len(sum.exemplars) > 0 {
			update.Exemplify(name, b.exemplars.scale(0, sum.exemplars, target.Factor))
		}
	}
}

// writeRuleGroup writes the point attributes of the current series of a rule.
func (b *batch) writeRuleGroup(attributes pcommon.Map) {
	t := &b.rules
	text := t.current
	_, text = cutUvarint(text)
	for _, key := range t.rule.GroupBy {
		var length uint64
		length, text = cutUvarint(text)
		attributes.PutStr(key, text[:length])
		text = text[length:]
	}
}

// cutUvarint reads what binary.AppendUvarint wrote.
func cutUvarint(text string) (uint64, string) {
	value, n := uint64(0), 0
	for {
		c := text[n]
		value |= uint64(c&0x7f) << (7 * n)
		n++
		if c < 0x80 {
			return value, text[n:]
		}
	}
}
