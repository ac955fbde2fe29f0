// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofotlp

import (
	"maps"
	"slices"
	"sync"

	"github.com/google/pprof/profile"
)

// interner enters the content of one pprof profile into tables that may hold
// more than that profile. pprof identifies by pointer (or by an id that is only
// good within one profile), the tables by value; an interner remembers which
// pointer became which entry, so that each is looked at once.
type interner struct {
	tables *tables
	// identify enters only what identifies a stack: its frames one by one, each
	// with function and line, or where these are not known, with its address in
	// the file that is mapped. Left out is what may differ between two profiles of
	// one program: where a mapping lies and how far it reaches, how well its
	// addresses could be resolved, which of several instructions of a line they
	// are, and which inlined functions share a location.
	identify bool

	*scratch
}

// scratch is memory of an interner, for the next one when it is done.
type scratch struct {
	mappings  slots[profile.Mapping]
	functions slots[profile.Function]
	locations slots[profile.Location] // when identifying, the list of its frames

	list   []int32 // of stack
	parts  []int32 // of lines
	labels []int32 // of labelSet
	keys   []string

	weights   []weight
	first     []int32 // position + 1 of the first weight of each stack, or 0
	positions index   // of the weights that are not the first of their stack, in further
	further   []int32
}

var scratches = sync.Pool{New: func() any { return &scratch{} }}

// newInterner returns an interner for one profile; release it when nothing that
// weigh returned is needed any more.
func newInterner(t *tables, p *profile.Profile, identify bool) *interner {
	s := scratches.Get().(*scratch)
	s.mappings.reset(len(p.Mapping))
	s.functions.reset(len(p.Function))
	s.locations.reset(len(p.Location))
	return &interner{tables: t, identify: identify, scratch: s}
}

// release gives the memory back, without what it refers to.
func (in *interner) release() {
	s := in.scratch
	s.mappings.reset(0)
	s.functions.reset(0)
	s.locations.reset(0)
	clear(s.keys)
	clear(s.weights)
	s.weights = s.weights[:0]
	clear(s.first)
	s.first = s.first[:0]
	s.positions.reset()
	s.further = s.further[:0]
	in.scratch = nil
	scratches.Put(s)
}

// stack returns the entry of a call stack, leaf first. No stack is entry 0.
func (in *interner) stack(locations []*profile.Location) int32 {
	in.list = in.list[:0]
	for _, l := range locations {
		if in.identify {
			in.list = append(in.list, in.frames(l)...)
			continue
		}
		in.list = append(in.list, in.location(l))
	}
	return in.tables.stacks.add(in.list)
}

func (in *interner) location(l *profile.Location) int32 {
	if l == nil {
		return 0
	}
	if i, ok := in.locations.get(l.ID, l); ok {
		return i
	}
	entry := locationEntry{address: l.Address, mapping: in.mapping(l.Mapping), lines: in.lines(l.Line)}
	if l.IsFolded {
		entry.attributes = in.attributeSet(in.attribute(locationIsFolded, yes))
	}
	i := in.tables.locations.add(entry)
	in.locations.set(l.ID, l, i)
	return i
}

// frames returns what a location stands for, one entry each: the functions that
// were inlined into each other, innermost first, or its address.
func (in *interner) frames(l *profile.Location) []int32 {
	if l == nil {
		return nil
	}
	if i, ok := in.locations.get(l.ID, l); ok {
		return in.tables.frameLists.at(i)
	}
	list := make([]int32, 0, max(1, len(l.Line)))
	for i := range l.Line {
		list = append(list, in.tables.locations.add(locationEntry{mapping: in.mapping(l.Mapping), lines: in.lines(l.Line[i : i+1])}))
	}
	if len(l.Line) == 0 {
		entry := locationEntry{mapping: in.mapping(l.Mapping), address: l.Address}
		if l.Mapping != nil {
			entry.address += l.Mapping.Offset - l.Mapping.Start
		}
		list = append(list, in.tables.locations.add(entry))
	}
	in.locations.set(l.ID, l, in.tables.frameLists.add(list))
	return list
}

// lines returns the entry of a list of lines.
func (in *interner) lines(lines []profile.Line) int32 {
	in.parts = in.parts[:0]
	for i := range lines {
		in.parts = lineEntry{
			function: in.function(lines[i].Function), line: lines[i].Line, column: lines[i].Column,
		}.appendTo(in.parts)
	}
	return in.tables.lineLists.add(in.parts)
}

func (in *interner) function(f *profile.Function) int32 {
	// profiles.proto, Function: at least one of the three strings MUST be
	// present. A function with none says nothing and is "not set".
	if f == nil || f.Name == "" && f.SystemName == "" && f.Filename == "" {
		return 0
	}
	if i, ok := in.functions.get(f.ID, f); ok {
		return i
	}
	i := in.tables.functions.add(functionEntry{
		name:       in.tables.strings.add(f.Name),
		systemName: in.tables.strings.add(f.SystemName),
		file:       in.tables.strings.add(f.Filename),
		startLine:  f.StartLine,
	})
	in.functions.set(f.ID, f, i)
	return i
}

func (in *interner) mapping(m *profile.Mapping) int32 {
	if m == nil {
		return 0
	}
	if i, ok := in.mappings.get(m.ID, m); ok {
		return i
	}
	entry := mappingEntry{file: in.tables.strings.add(m.File)}
	if in.identify {
		if m.BuildID != "" {
			entry.attributes = in.attributeSet(in.attribute(buildIDGNU, text(m.BuildID)))
		}
	} else {
		entry.start, entry.limit, entry.offset = m.Start, m.Limit, m.Offset
		entry.attributes = in.mappingAttributes(m)
	}
	i := in.tables.mappings.add(entry)
	in.mappings.set(m.ID, m, i)
	return i
}

func (in *interner) mappingAttributes(m *profile.Mapping) int32 {
	var attributes []int32
	if m.BuildID != "" {
		attributes = append(attributes, in.attribute(buildIDGNU, text(m.BuildID)))
	}
	for _, flag := range []struct {
		key string
		set bool
	}{
		{mappingHasFilenames, m.HasFilenames},
		{mappingHasFunctions, m.HasFunctions},
		{mappingHasInlineFrames, m.HasInlineFrames},
		{mappingHasLineNumbers, m.HasLineNumbers},
	} {
		if flag.set {
			attributes = append(attributes, in.attribute(flag.key, yes))
		}
	}
	return in.attributeSet(attributes...)
}

// labelSet returns the attribute set of a sample's labels.
//
// A key must not occur twice in an attribute set, but pprof lets a label have
// several values, and lets a string and a numeric label have the same key. Then
// the attribute is an array of all of them: strings first, numbers after them,
// each in the profile's order.
func (in *interner) labelSet(s *profile.Sample) int32 {
	in.labels = in.labels[:0]
	switch {
	case len(s.Label) == 0 && len(s.NumLabel) == 0:
		return 0
	// One label is what most samples have, and then there is nothing to sort.
	case len(s.Label) == 1 && len(s.NumLabel) == 0:
		for key, texts := range s.Label {
			in.addLabel(key, texts, nil, nil)
		}
	case len(s.Label) == 0 && len(s.NumLabel) == 1:
		for key, numbers := range s.NumLabel {
			in.addLabel(key, nil, numbers, s.NumUnit[key])
		}
	default:
		in.keys = slices.AppendSeq(in.keys[:0], maps.Keys(s.Label))
		in.keys = slices.AppendSeq(in.keys, maps.Keys(s.NumLabel))
		slices.Sort(in.keys)
		for _, key := range slices.Compact(in.keys) {
			in.addLabel(key, s.Label[key], s.NumLabel[key], s.NumUnit[key])
		}
	}
	return in.tables.attributeSets.add(in.labels)
}

// addLabel adds the attribute of a label to labels.
func (in *interner) addLabel(key string, texts []string, numbers []int64, units []string) {
	// An attribute without a name is not allowed in OTLP.
	if key == "" || len(texts)+len(numbers) == 0 {
		return
	}
	entry := attributeEntry{key: in.tables.strings.add(key), unit: in.tables.strings.add(commonUnit(units))}
	switch {
	case len(texts) == 1 && len(numbers) == 0:
		entry.value = text(texts[0])
	case len(texts) == 0 && len(numbers) == 1:
		entry.value = number(numbers[0])
	default:
		entry.array = in.array(texts, numbers)
	}
	in.labels = append(in.labels, in.tables.attributes.add(entry))
}

// commonUnit is the unit of a numeric label, as the profile gives it. An
// attribute has one unit: where the values of a label have different ones it is
// left unset rather than wrong.
func commonUnit(units []string) string {
	if len(units) == 0 {
		return ""
	}
	for _, u := range units[1:] {
		if u != units[0] {
			return ""
		}
	}
	return units[0]
}

func (in *interner) array(texts []string, numbers []int64) int32 {
	elements := make([]int32, 0, len(texts)+len(numbers))
	for _, s := range texts {
		elements = append(elements, in.tables.scalars.add(text(s)))
	}
	for _, n := range numbers {
		elements = append(elements, in.tables.scalars.add(number(n)))
	}
	return in.tables.arrays.add(elements)
}

func (in *interner) attribute(key string, value scalar) int32 {
	return in.tables.attributes.add(attributeEntry{key: in.tables.strings.add(key), value: value})
}

func (in *interner) attributeSet(attributes ...int32) int32 {
	return in.tables.attributeSets.add(attributes)
}
