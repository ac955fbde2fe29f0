// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofotlp

import (
	"hash/maphash"
	"sync"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// tables are the seven tables of an OTLP profiles dictionary before they are
// written. Every entry is a comparable struct of values and of indices into the
// other tables, so equal entries are the same entry and no table has duplicates.
//
// profiles.proto, ProfilesDictionary: "The element at index 0 MUST be the zero
// value for the dictionary's element type". The ordered sets begin with it, so
// an index of 0 always reads "not set". The same message says that there SHOULD
// NOT be orphaned items, hence entries are added only by what refers to them.
type tables struct {
	strings    orderedSet[string]
	mappings   orderedSet[mappingEntry]
	functions  orderedSet[functionEntry]
	locations  orderedSet[locationEntry]
	attributes orderedSet[attributeEntry]
	scalars    orderedSet[scalar] // elements of array attributes

	stacks        sequenceSet // of locations, leaf first
	lineLists     sequenceSet // of lines in lineWords each, innermost inlined function first; part of the locations in OTLP
	frameLists    sequenceSet // of locations of one line, innermost first: used to identify stacks, never written
	attributeSets sequenceSet // of attributes, sorted by key
	arrays        sequenceSet // of scalars
}

// mappingEntry is one Mapping; file is a string, attributes an attribute set.
type mappingEntry struct {
	start, limit, offset uint64
	file, attributes     int32
}

// functionEntry is one Function; name, systemName and file are strings.
type functionEntry struct {
	name, systemName, file int32
	startLine              int64
}

// lineEntry is one Line of a Location.
type lineEntry struct {
	function     int32
	line, column int64
}

// lineWords is how many elements of a list a line takes.
const lineWords = 5

// appendTo appends the line to a list.
func (e lineEntry) appendTo(list []int32) []int32 {
	return append(list, e.function, int32(e.line), int32(e.line>>32), int32(e.column), int32(e.column>>32))
}

// lineFrom is the line that the first elements of a list are.
func lineFrom(list []int32) lineEntry {
	join := func(low, high int32) int64 { return int64(uint32(low)) | int64(high)<<32 }
	return lineEntry{function: list[0], line: join(list[1], list[2]), column: join(list[3], list[4])}
}

// locationEntry is one Location; lines is a line list, attributes an attribute set.
type locationEntry struct {
	address                    uint64
	mapping, lines, attributes int32
}

// attributeEntry is one KeyValueAndUnit; key and unit are strings. An array is
// kept in array, any other value in value.
type attributeEntry struct {
	key, unit int32
	value     scalar
	array     int32
}

// scalar is an attribute value that is not an array.
type scalar struct {
	kind   pcommon.ValueType
	text   string
	number int64 // the int, or 1 for true
}

func text(s string) scalar  { return scalar{kind: pcommon.ValueTypeStr, text: s} }
func number(n int64) scalar { return scalar{kind: pcommon.ValueTypeInt, number: n} }

// yes is the value of every flag: pprof's flags are attributes only where set.
var yes = scalar{kind: pcommon.ValueTypeBool, number: 1}

func (e mappingEntry) hash() uint64 {
	return mix(seedOfMix, e.start, e.limit, e.offset, pair(e.file, e.attributes))
}

func (e functionEntry) hash() uint64 {
	return mix(seedOfMix, pair(e.name, e.systemName), pair(e.file, 0), uint64(e.startLine))
}

func (e locationEntry) hash() uint64 {
	return mix(seedOfMix, e.address, pair(e.mapping, e.lines), uint64(e.attributes))
}

func (e attributeEntry) hash() uint64 {
	return mix(e.value.hash(), pair(e.key, e.unit), uint64(e.array))
}

func (s scalar) hash() uint64 {
	hash := mix(seedOfMix, uint64(s.kind), uint64(s.number))
	if s.text != "" {
		hash = mix(hash, maphash.String(seed, s.text))
	}
	return hash
}

func pair(a, b int32) uint64 { return uint64(uint32(a))<<32 | uint64(uint32(b)) }

func newTables() *tables {
	return &tables{
		strings:    newOrderedSet(func(s string) uint64 { return maphash.String(seed, s) }),
		mappings:   newOrderedSet(mappingEntry.hash),
		functions:  newOrderedSet(functionEntry.hash),
		locations:  newOrderedSet(locationEntry.hash),
		attributes: newOrderedSet(attributeEntry.hash),
		scalars:    newOrderedSet(scalar.hash),
	}
}

// reset empties all tables and keeps their memory.
func (t *tables) reset() {
	t.strings.reset()
	t.mappings.reset()
	t.functions.reset()
	t.locations.reset()
	t.attributes.reset()
	t.scalars.reset()
	for _, s := range []*sequenceSet{&t.stacks, &t.lineLists, &t.frameLists, &t.attributeSets, &t.arrays} {
		s.reset()
	}
}

// emptyTables are tables whose memory builders have done with.
var emptyTables = sync.Pool{New: func() any { return newTables() }}

// reserve makes room for what a profile has, as far as that can be told: a table
// that grows as it is filled is copied again and again.
func (t *tables) reserve(p *profile.Profile) {
	t.strings.reserve(2 * len(p.Function)) // names and files, of which many are equal
	t.functions.reserve(len(p.Function))
	t.locations.reserve(len(p.Location))
	t.lineLists.reserve(len(p.Location), lineWords*len(p.Location))
	frames := 0
	for _, s := range p.Sample {
		frames += len(s.Location)
	}
	t.stacks.reserve(len(p.Sample), frames)
}

// writeTo writes every table into an empty dictionary.
func (t *tables) writeTo(d pprofile.ProfilesDictionary) {
	d.StringTable().EnsureCapacity(t.strings.len())
	d.StringTable().Append("")
	d.StringTable().Append(t.strings.added...)
	// Nothing in pprof refers to a span: the link table has its zero entry only.
	d.LinkTable().AppendEmpty()
	t.writeMappings(d.MappingTable())
	t.writeFunctions(d.FunctionTable())
	t.writeLocations(d.LocationTable())
	t.writeStacks(d.StackTable())
	t.writeAttributes(d.AttributeTable())
}

func (t *tables) writeMappings(out pprofile.MappingSlice) {
	out.EnsureCapacity(t.mappings.len())
	out.AppendEmpty()
	for _, e := range t.mappings.added {
		m := out.AppendEmpty()
		m.SetMemoryStart(e.start)
		m.SetMemoryLimit(e.limit)
		m.SetFileOffset(e.offset)
		m.SetFilenameStrindex(e.file)
		t.writeAttributeSet(m.AttributeIndices(), e.attributes)
	}
}

func (t *tables) writeFunctions(out pprofile.FunctionSlice) {
	out.EnsureCapacity(t.functions.len())
	out.AppendEmpty()
	for _, e := range t.functions.added {
		f := out.AppendEmpty()
		f.SetNameStrindex(e.name)
		f.SetSystemNameStrindex(e.systemName)
		f.SetFilenameStrindex(e.file)
		f.SetStartLine(e.startLine)
	}
}

func (t *tables) writeLocations(out pprofile.LocationSlice) {
	out.EnsureCapacity(t.locations.len())
	out.AppendEmpty()
	for _, e := range t.locations.added {
		l := out.AppendEmpty()
		l.SetMappingIndex(e.mapping)
		l.SetAddress(e.address)
		t.writeAttributeSet(l.AttributeIndices(), e.attributes)
		lines := t.lineLists.at(e.lines)
		l.Lines().EnsureCapacity(len(lines) / lineWords)
		for rest := lines; len(rest) > 0; rest = rest[lineWords:] {
			entry := lineFrom(rest)
			line := l.Lines().AppendEmpty()
			line.SetFunctionIndex(entry.function)
			line.SetLine(entry.line)
			line.SetColumn(entry.column)
		}
	}
}

func (t *tables) writeStacks(out pprofile.StackSlice) {
	out.EnsureCapacity(t.stacks.len())
	for i := range t.stacks.len() {
		out.AppendEmpty().LocationIndices().FromRaw(t.stacks.at(int32(i)))
	}
}

// writeAttributeSet writes into an empty list; most have no attributes.
func (t *tables) writeAttributeSet(out pcommon.Int32Slice, set int32) {
	if set != 0 {
		out.FromRaw(t.attributeSets.at(set))
	}
}

func (t *tables) writeAttributes(out pprofile.KeyValueAndUnitSlice) {
	out.EnsureCapacity(t.attributes.len())
	out.AppendEmpty()
	for _, e := range t.attributes.added {
		a := out.AppendEmpty()
		a.SetKeyStrindex(e.key)
		a.SetUnitStrindex(e.unit)
		if e.array == 0 {
			e.value.writeTo(a.Value())
			continue
		}
		elements := a.Value().SetEmptySlice()
		for _, i := range t.arrays.at(e.array) {
			t.scalars.at(i).writeTo(elements.AppendEmpty())
		}
	}
}

func (s scalar) writeTo(v pcommon.Value) {
	switch s.kind {
	case pcommon.ValueTypeStr:
		v.SetStr(s.text)
	case pcommon.ValueTypeInt:
		v.SetInt(s.number)
	case pcommon.ValueTypeBool:
		v.SetBool(s.number != 0)
	}
}
