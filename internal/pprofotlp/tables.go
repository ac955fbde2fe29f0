// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofotlp

import (
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
	strings    *orderedSet[string]
	mappings   *orderedSet[mappingEntry]
	functions  *orderedSet[functionEntry]
	lines      *orderedSet[lineEntry] // not a table of its own in OTLP: written inside the locations
	locations  *orderedSet[locationEntry]
	attributes *orderedSet[attributeEntry]
	scalars    *orderedSet[scalar] // elements of array attributes

	stacks        *sequenceSet // of locations, leaf first
	lineLists     *sequenceSet // of lines, innermost inlined function first
	frameLists    *sequenceSet // of locations of one line, innermost first: used to identify stacks, never written
	attributeSets *sequenceSet // of attributes, sorted by key
	arrays        *sequenceSet // of scalars
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

func newTables() *tables {
	return &tables{
		strings:       newOrderedSet[string](),
		mappings:      newOrderedSet[mappingEntry](),
		functions:     newOrderedSet[functionEntry](),
		lines:         newOrderedSet[lineEntry](),
		locations:     newOrderedSet[locationEntry](),
		attributes:    newOrderedSet[attributeEntry](),
		scalars:       newOrderedSet[scalar](),
		stacks:        newSequenceSet(),
		lineLists:     newSequenceSet(),
		frameLists:    newSequenceSet(),
		attributeSets: newSequenceSet(),
		arrays:        newSequenceSet(),
	}
}

// writeTo writes every table into an empty dictionary.
func (t *tables) writeTo(d pprofile.ProfilesDictionary) {
	d.StringTable().FromRaw(t.strings.values)
	// Nothing in pprof refers to a span: the link table has its zero entry only.
	d.LinkTable().AppendEmpty()
	t.writeMappings(d.MappingTable())
	t.writeFunctions(d.FunctionTable())
	t.writeLocations(d.LocationTable())
	t.writeStacks(d.StackTable())
	t.writeAttributes(d.AttributeTable())
}

func (t *tables) writeMappings(out pprofile.MappingSlice) {
	out.EnsureCapacity(len(t.mappings.values))
	for _, e := range t.mappings.values {
		m := out.AppendEmpty()
		m.SetMemoryStart(e.start)
		m.SetMemoryLimit(e.limit)
		m.SetFileOffset(e.offset)
		m.SetFilenameStrindex(e.file)
		m.AttributeIndices().FromRaw(t.attributeSets.at(e.attributes))
	}
}

func (t *tables) writeFunctions(out pprofile.FunctionSlice) {
	out.EnsureCapacity(len(t.functions.values))
	for _, e := range t.functions.values {
		f := out.AppendEmpty()
		f.SetNameStrindex(e.name)
		f.SetSystemNameStrindex(e.systemName)
		f.SetFilenameStrindex(e.file)
		f.SetStartLine(e.startLine)
	}
}

func (t *tables) writeLocations(out pprofile.LocationSlice) {
	out.EnsureCapacity(len(t.locations.values))
	for _, e := range t.locations.values {
		l := out.AppendEmpty()
		l.SetMappingIndex(e.mapping)
		l.SetAddress(e.address)
		l.AttributeIndices().FromRaw(t.attributeSets.at(e.attributes))
		lines := t.lineLists.at(e.lines)
		l.Lines().EnsureCapacity(len(lines))
		for _, i := range lines {
			line := l.Lines().AppendEmpty()
			line.SetFunctionIndex(t.lines.values[i].function)
			line.SetLine(t.lines.values[i].line)
			line.SetColumn(t.lines.values[i].column)
		}
	}
}

func (t *tables) writeStacks(out pprofile.StackSlice) {
	out.EnsureCapacity(t.stacks.len())
	for i := range t.stacks.len() {
		out.AppendEmpty().LocationIndices().FromRaw(t.stacks.at(int32(i)))
	}
}

func (t *tables) writeAttributes(out pprofile.KeyValueAndUnitSlice) {
	out.EnsureCapacity(len(t.attributes.values))
	for _, e := range t.attributes.values {
		a := out.AppendEmpty()
		a.SetKeyStrindex(e.key)
		a.SetUnitStrindex(e.unit)
		if e.array == 0 {
			e.value.writeTo(a.Value())
			continue
		}
		elements := a.Value().SetEmptySlice()
		for _, i := range t.arrays.at(e.array) {
			t.scalars.values[i].writeTo(elements.AppendEmpty())
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
