// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"

import (
	"encoding/binary"
	"hash/maphash"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/selection"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"
)

// attributeTable says which entries of the dictionary's attribute table matter
// to the selection. Where none does, samples need not be looked at for theirs.
type attributeTable struct {
	relevant bool
	// wanted is, by index of the attribute table, the position of the key in
	// Selection.Wanted, or one of the constants below.
	wanted []int32
}

const (
	irrelevant int32 = -1 - iota
	// matched: only extractors and rules look at the entry.
	matched
	// broken: the entry has no key that could be read.
	broken
)

func (t *attributeTable) reset(dictionary *symbols.Dictionary, selected *selection.Selection, rules *ruleTable) {
	t.relevant = false
	t.wanted = t.wanted[:0]
	all := selected.LooksInAttributes()
	keys := selected.Wanted()
	if len(keys) == 0 && !all && selected.Rules.None() {
		return
	}
	for i := range dictionary.Attributes() {
		kind := irrelevant
		key, _, problem := dictionary.Attribute(int32(i))
		forRules := rules.locate(selected.Rules, key)
		switch {
		case problem.Reason != "":
			kind = broken
		case key == "":
		default:
			if position := slices.Index(keys, key); position >= 0 {
				kind = int32(position)
			} else if all || forRules {
				kind = matched
			}
		}
		t.wanted = append(t.wanted, kind)
		t.relevant = t.relevant || kind != irrelevant
	}
}

// group is a set of samples of one profile that the selection can't tell
// apart, their stacks aside.
type group struct {
	passes bool
	values []selection.Value // of Selection.Wanted
	// attributes are the indices of the sample's and then the leaf location's
	// relevant attributes.
	attributes []int32
	next       int32 // group whose attributes have the same hash; 0 for none
}

type groupTable struct {
	groups []group
	// byHash leads to the latest group of a hash of its attributes. A map by
	// the attributes themselves would have to keep a copy of each key.
	byHash map[uint64]int32
	seed   maphash.Seed
	key    []byte

	// The lookups that all groups of the profile share: in its attributes,
	// the scope's and the resource's.
	base    []selection.Value
	profile []int32 // indices of the profile's own attributes

	indices []int32
}

// release lets go of the profiles, and keeps the memory of every group.
func (t *groupTable) release() {
	t.groups = t.groups[:cap(t.groups)]
	for i := range t.groups {
		clear(t.groups[i].values)
	}
	t.groups = t.groups[:0]
	clear(t.base[:cap(t.base)])
}

// beginProfile sets up group 0, that of samples without attributes of their
// own that matter.
func (b *batch) beginProfile(profile pprofile.Profile) {
	t := &b.groups
	if t.byHash == nil {
		t.byHash, t.seed = make(map[uint64]int32), maphash.MakeSeed()
	}
	clear(t.byHash)
	t.groups = t.groups[:0]
	t.profile = t.profile[:0]
	t.base = emptied(t.base, len(b.selection.Wanted()))

	b.exemplars.measured = b.measured(profile)
	b.lookUpShared()
	attributes := profile.AttributeIndices()
	for i := attributes.Len() - 1; i >= 0; i-- {
		b.lookUp(t.base, attributes.At(i))
	}
	for _, index := range attributes.All() {
		if b.isRelevant(index) {
			t.profile = append(t.profile, index)
		}
	}
	b.addGroup(nil)
}

// endProfile empties what was counted for the profile.
func (b *batch) endProfile() {
	b.slots.clear()
	b.outputs.clear()
	b.exemplars.clear()
}

// lookUpShared looks all wanted attributes up in the scope and the resource.
func (b *batch) lookUpShared() {
	for i, key := range b.selection.Wanted() {
		if value, ok := b.scope.Attributes().Get(key); ok {
			b.groups.base[i] = selection.Value{Value: value, Found: true}
			continue
		}
		if value, ok := b.resource.attributes.Get(key); ok {
			b.groups.base[i] = selection.Value{Value: value, Found: true, OnOutput: b.selection.Resource.Keeps(key)}
		}
	}
}

// lookUp puts an entry of the attribute table over what was found so far.
func (b *batch) lookUp(values []selection.Value, index int32) {
	if index < 0 || int(index) >= len(b.attributes.wanted) {
		return
	}
	if position := b.attributes.wanted[index]; position >= 0 {
		_, value, _ := b.symbols.Attribute(index)
		values[position] = selection.Value{Value: value, Found: true}
	}
}

func (b *batch) isRelevant(index int32) bool {
	return index >= 0 && int(index) < len(b.attributes.wanted) && b.attributes.wanted[index] != irrelevant
}

// groupOf returns the group of a sample with these attributes and this stack,
// and what is wrong with the attributes.
func (b *batch) groupOf(attributes pcommon.Int32Slice, stack int32) (int32, symbols.Problem) {
	t := &b.groups
	var problem symbols.Problem
	t.indices, problem = b.appendRelevant(t.indices[:0], attributes)
	if leaf, ok := b.symbols.LeafLocation(stack); ok {
		var leafProblem symbols.Problem
		t.indices, leafProblem = b.appendRelevant(t.indices, b.symbols.LocationAttributes(leaf))
		if problem.Reason == "" {
			problem = leafProblem
		}
	}
	if len(t.indices) == 0 {
		return 0, problem
	}
	t.key = t.key[:0]
	for _, index := range t.indices {
		t.key = binary.LittleEndian.AppendUint32(t.key, uint32(index))
	}
	hash := maphash.Bytes(t.seed, t.key)
	latest := t.byHash[hash]
	for number := latest; number != 0; number = t.groups[number].next {
		if slices.Equal(t.groups[number].attributes, t.indices) {
			return number, problem
		}
	}
	number := b.addGroup(t.indices)
	t.groups[number].next, t.byHash[hash] = latest, number
	return number, problem
}

// appendRelevant appends the indices of the attributes that matter. One outside
// of the table, or without a key, is left out and reported.
func (b *batch) appendRelevant(indices []int32, attributes pcommon.Int32Slice) ([]int32, symbols.Problem) {
	var problem symbols.Problem
	for i := range attributes.Len() {
		index := attributes.At(i)
		if index < 0 || int(index) >= len(b.attributes.wanted) {
			problem = symbols.Problem{Reason: symbols.AttributeIndex, Index: index, Length: len(b.attributes.wanted)}
			continue
		}
		switch b.attributes.wanted[index] {
		case irrelevant:
		case broken:
			_, _, problem = b.symbols.Attribute(index)
		default:
			indices = append(indices, index)
		}
	}
	return indices, problem
}

// addGroup adds the group of samples with these attributes, the sample's before
// the leaf location's: the first that has a key wins.
func (b *batch) addGroup(attributes []int32) int32 {
	t := &b.groups
	number := len(t.groups)
	if number < cap(t.groups) {
		t.groups = t.groups[:number+1]
	} else {
		t.groups = append(t.groups, group{})
	}
	g := &t.groups[number]
	g.values = append(g.values[:0], t.base...)
	g.attributes = append(g.attributes[:0], attributes...)
	for i := len(attributes) - 1; i >= 0; i-- {
		b.lookUp(g.values, attributes[i])
	}
	g.passes = b.selection.Passes(g.values, b.symbols.FirstMapping)
	return int32(number)
}
