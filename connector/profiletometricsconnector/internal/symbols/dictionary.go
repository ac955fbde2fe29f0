// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package symbols reads the dictionary that the profiles of one message share
// (opentelemetry.proto.profiles.v1development.ProfilesDictionary). Every index
// that comes from outside is checked here and nowhere else, and whatever
// depends on one entry of the dictionary is worked out once per message, when
// it is first asked for.
package symbols // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"

import (
	"path"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Unknown is the name of a function about which the dictionary says nothing.
const Unknown = "[unknown]"

// FunctionID numbers functions in the order of their discovery. Functions that
// a dictionary lists twice have one ID: identity is by value. An ID stays valid
// from message to message until Generation changes.
type FunctionID int32

// Function identifies a function.
type Function struct {
	// Name is as the contract of the metrics defines it: the function's name,
	// else its system name, else its mapping's base name in brackets, else
	// Unknown.
	Name string
	// File is the path of the source file. It is part of the identity, and
	// filled in, only in a Dictionary that tells files apart.
	File string
}

// Frame is one function call on a stack; several frames share a location where
// calls were inlined.
type Frame struct {
	Function FunctionID
	// File and Mapping are indices of the string table, checked, or NoString.
	File, Mapping int32
}

// NoString is the index of a string that isn't there.
const NoString int32 = -1

// Dictionary is the resolved view of one message's dictionary. The zero value
// is ready for Reset. It is not safe for concurrent use.
type Dictionary struct {
	tellFilesApart bool

	mappings   pprofile.MappingSlice
	locations  pprofile.LocationSlice
	functions  pprofile.FunctionSlice
	strings    pcommon.StringSlice
	attributes pprofile.KeyValueAndUnitSlice
	stacks     pprofile.StackSlice

	// The functions discovered so far, in this message and those before.
	generation int
	byName     map[string]FunctionID
	byFile     map[Function]FunctionID // with tellFilesApart
	named      []Function

	// Memoised by index of the dictionary's table.
	mappingFacts  []mapping
	functionIDs   []resolvedFunction
	locationFacts []location
	stackFacts    []stack

	frames         []Frame      // of locations
	stackFunctions []FunctionID // of stacks

	unknown [1]FunctionID // the stack that isn't there

	// mark[f] is the stack in which function f was seen last.
	mark  []int32
	epoch int32
}

// mapping is the file that code was mapped from.
type mapping struct {
	file     int32      // index of the string table, or NoString
	nameless FunctionID // what a frame is called about which nothing else is known
	problem  Problem
	state    state
}

type resolvedFunction struct {
	id      FunctionID
	file    int32
	problem Problem
	state   state
}

// location holds the frames of one location, innermost first.
type location struct {
	first, end int32 // in Dictionary.frames
	problem    Problem
	state      state
}

// stack holds the distinct functions of one stack, leaf first.
type stack struct {
	first, end int32 // in Dictionary.stackFunctions
	problem    Problem
	state      state
}

type state uint8

const (
	unresolved state = iota
	resolved
)

// Reset turns to the dictionary of another message. With tellFilesApart,
// functions of one name in different files are different functions.
func (d *Dictionary) Reset(dictionary pprofile.ProfilesDictionary, tellFilesApart bool) {
	d.tellFilesApart = tellFilesApart
	d.mappings = dictionary.MappingTable()
	d.locations = dictionary.LocationTable()
	d.functions = dictionary.FunctionTable()
	d.strings = dictionary.StringTable()
	d.attributes = dictionary.AttributeTable()
	d.stacks = dictionary.StackTable()

	if len(d.named) > maxRemembered || d.byName == nil {
		d.forget()
	}
	d.mappingFacts = emptied(d.mappingFacts, d.mappings.Len())
	d.functionIDs = emptied(d.functionIDs, d.functions.Len())
	d.locationFacts = emptied(d.locationFacts, d.locations.Len())
	d.stackFacts = emptied(d.stackFacts, d.stacks.Len())
	d.frames = d.frames[:0]
	d.stackFunctions = d.stackFunctions[:0]
}

// maxRemembered is how many functions are remembered from message to message.
// Most messages are full of functions that came before, and finding one is
// cheaper than making its acquaintance.
const maxRemembered = 1 << 16

func (d *Dictionary) forget() {
	d.generation++
	d.byName = make(map[string]FunctionID)
	d.byFile = make(map[Function]FunctionID)
	d.named = nil
	d.mark, d.epoch = nil, 0
}

// Generation changes whenever function IDs lose their meaning.
func (d *Dictionary) Generation() int { return d.generation }

// Release lets go of the message, so that a Dictionary kept for the next one
// does not keep it in memory.
func (d *Dictionary) Release() {
	empty := pprofile.NewProfilesDictionary()
	d.mappings = empty.MappingTable()
	d.locations = empty.LocationTable()
	d.functions = empty.FunctionTable()
	d.strings = empty.StringTable()
	d.attributes = empty.AttributeTable()
	d.stacks = empty.StackTable()
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

// Stacks is the number of entries in the stack table: valid stack indices are
// below.
func (d *Dictionary) Stacks() int { return len(d.stackFacts) }

// Strings is the number of entries in the string table.
func (d *Dictionary) Strings() int { return d.strings.Len() }

// Function returns what identifies a function.
func (d *Dictionary) Function(id FunctionID) Function { return d.named[id] }

// String returns the entry of the string table, and false for an index outside
// of it.
func (d *Dictionary) String(index int32) (string, bool) {
	if index < 0 || int(index) >= d.strings.Len() {
		return "", false
	}
	return d.strings.At(int(index)), true
}

// StackFunctions returns the functions of a stack, each once, the leaf's
// first. A stack without frames, such as index 0 ("unset", says
// Sample.stack_index), consists of Unknown, and so do the parts of one that
// the dictionary does not resolve; Problem tells the latter. The slice is
// valid until Reset.
func (d *Dictionary) StackFunctions(index int32) ([]FunctionID, Problem) {
	if index == 0 {
		return d.unknownStack(), Problem{}
	}
	if index < 0 || int(index) >= len(d.stackFacts) {
		return d.unknownStack(), Problem{StackIndex, index, len(d.stackFacts)}
	}
	facts := &d.stackFacts[index]
	if facts.state == unresolved {
		d.resolveStack(index, facts)
	}
	return d.stackFunctions[facts.first:facts.end:facts.end], facts.problem
}

func (d *Dictionary) unknownStack() []FunctionID {
	d.unknown[0] = d.identify(Function{Name: Unknown})
	return d.unknown[:]
}

func (d *Dictionary) resolveStack(index int32, facts *stack) {
	d.epoch++
	first := len(d.stackFunctions)
	indices := d.stacks.At(int(index)).LocationIndices()
	for i := range indices.Len() {
		frames, problem := d.location(indices.At(i))
		facts.problem = facts.problem.or(problem)
		for _, frame := range frames {
			d.pushOnce(frame.Function)
		}
	}
	if len(d.stackFunctions) == first {
		d.pushOnce(d.identify(Function{Name: Unknown}))
	}
	facts.first, facts.end = int32(first), int32(len(d.stackFunctions))
	facts.state = resolved
}

// pushOnce adds a function to the stack in resolution, however often it
// recurs.
func (d *Dictionary) pushOnce(function FunctionID) {
	for len(d.mark) <= int(function) {
		d.mark = append(d.mark, 0)
	}
	if d.mark[function] != d.epoch {
		d.mark[function] = d.epoch
		d.stackFunctions = append(d.stackFunctions, function)
	}
}

// Frames calls yield with every frame of a stack, from the leaf to the root,
// until it returns false. A stack that isn't there has no frames.
func (d *Dictionary) Frames(index int32, yield func(Frame) bool) {
	if index <= 0 || int(index) >= len(d.stackFacts) {
		return
	}
	indices := d.stacks.At(int(index)).LocationIndices()
	for i := range indices.Len() {
		frames, _ := d.location(indices.At(i))
		for _, frame := range frames {
			if !yield(frame) {
				return
			}
		}
	}
}

// LeafLocation is the index of the location at which a stack's samples were
// taken, and false where the stack has none that exists.
func (d *Dictionary) LeafLocation(index int32) (int32, bool) {
	if index <= 0 || int(index) >= len(d.stackFacts) {
		return 0, false
	}
	indices := d.stacks.At(int(index)).LocationIndices()
	if indices.Len() == 0 {
		return 0, false
	}
	leaf := indices.At(0)
	return leaf, leaf >= 0 && int(leaf) < d.locations.Len()
}

// location returns the frames of a location, innermost first; never none.
func (d *Dictionary) location(index int32) ([]Frame, Problem) {
	if index < 0 || int(index) >= len(d.locationFacts) {
		frame := Frame{d.identify(Function{Name: Unknown}), NoString, NoString}
		return []Frame{frame}, Problem{LocationIndex, index, len(d.locationFacts)}
	}
	facts := &d.locationFacts[index]
	if facts.state == unresolved {
		d.resolveLocation(index, facts)
	}
	return d.frames[facts.first:facts.end:facts.end], facts.problem
}

func (d *Dictionary) resolveLocation(index int32, facts *location) {
	entry := d.locations.At(int(index))
	from := d.mapping(entry.MappingIndex())
	facts.problem = from.problem

	first := len(d.frames)
	lines := entry.Lines()
	for i := range lines.Len() {
		frame, problem := d.lineFrame(lines.At(i).FunctionIndex(), from)
		facts.problem = facts.problem.or(problem)
		d.frames = append(d.frames, frame)
	}
	if lines.Len() == 0 {
		d.frames = append(d.frames, Frame{from.nameless, NoString, from.file})
	}
	facts.first, facts.end = int32(first), int32(len(d.frames))
	facts.state = resolved
}

// lineFrame is the frame of a location's line. Function index 0 is "unset",
// and a function without names is no better than none: both are called after
// their mapping.
func (d *Dictionary) lineFrame(function int32, from mapping) (Frame, Problem) {
	if function == 0 {
		return Frame{from.nameless, NoString, from.file}, Problem{}
	}
	if function < 0 || int(function) >= len(d.functionIDs) {
		frame := Frame{d.identify(Function{Name: Unknown}), NoString, from.file}
		return frame, Problem{FunctionIndex, function, len(d.functionIDs)}
	}
	facts := &d.functionIDs[function]
	if facts.state == unresolved {
		d.resolveFunction(function, facts)
	}
	if facts.id == nameless {
		return Frame{from.nameless, facts.file, from.file}, facts.problem
	}
	return Frame{facts.id, facts.file, from.file}, facts.problem
}

// nameless marks an entry of the function table that has no name of its own.
const nameless FunctionID = -1

func (d *Dictionary) resolveFunction(index int32, facts *resolvedFunction) {
	entry := d.functions.At(int(index))
	name, nameOK := d.String(entry.NameStrindex())
	systemName, systemNameOK := d.String(entry.SystemNameStrindex())
	file, fileOK := d.String(entry.FilenameStrindex())

	facts.state = resolved
	facts.file = entry.FilenameStrindex()
	switch {
	case !nameOK:
		facts.problem = d.StringProblem(entry.NameStrindex())
	case !systemNameOK:
		facts.problem = d.StringProblem(entry.SystemNameStrindex())
	case !fileOK:
		facts.problem = d.StringProblem(entry.FilenameStrindex())
	}
	if !fileOK || file == "" {
		facts.file = NoString
	}
	if name == "" {
		name = systemName
	}
	switch {
	case name != "":
	case facts.problem.Reason != "":
		// The name is lost rather than absent.
		name = Unknown
	default:
		facts.id = nameless
		return
	}
	function := Function{Name: name}
	if d.tellFilesApart {
		function.File = file
	}
	facts.id = d.identify(function)
}

// mapping returns what is known of a mapping. Index 0 is "unset".
func (d *Dictionary) mapping(index int32) mapping {
	if index > 0 && int(index) < len(d.mappingFacts) {
		facts := &d.mappingFacts[index]
		if facts.state == unresolved {
			*facts = d.resolveMapping(d.mappings.At(int(index)).FilenameStrindex())
		}
		return *facts
	}
	none := mapping{file: NoString, nameless: d.identify(Function{Name: Unknown}), state: resolved}
	if index != 0 {
		none.problem = Problem{MappingIndex, index, len(d.mappingFacts)}
	}
	return none
}

// resolveMapping names the frames of a mapping after its file.
func (d *Dictionary) resolveMapping(file int32) mapping {
	name, ok := d.String(file)
	switch {
	case !ok:
		return mapping{NoString, d.identify(Function{Name: Unknown}), d.StringProblem(file), resolved}
	case name == "":
		return mapping{NoString, d.identify(Function{Name: Unknown}), Problem{}, resolved}
	default:
		return mapping{file, d.identify(Function{Name: "[" + path.Base(name) + "]"}), Problem{}, resolved}
	}
}

// FirstMapping is the file name of the first mapping that has one: the main
// binary, by pprof's convention. It is empty where there is none.
func (d *Dictionary) FirstMapping() string {
	for i := range d.mappings.Len() {
		if name, ok := d.String(d.mappings.At(i).FilenameStrindex()); ok && name != "" {
			return name
		}
	}
	return ""
}

func (d *Dictionary) identify(function Function) FunctionID {
	var id FunctionID
	var ok bool
	if function.File == "" {
		id, ok = d.byName[function.Name]
	} else {
		id, ok = d.byFile[function]
	}
	if ok {
		return id
	}
	id = FunctionID(len(d.named))
	d.named = append(d.named, function)
	if function.File == "" {
		d.byName[function.Name] = id
	} else {
		d.byFile[function] = id
	}
	return id
}

// StringProblem is what is wrong with an index for which String returns false.
func (d *Dictionary) StringProblem(index int32) Problem {
	// Index 0 of an empty string table is what an unset field of a message
	// without a dictionary looks like.
	if index == 0 {
		return Problem{}
	}
	return Problem{StringIndex, index, d.strings.Len()}
}
