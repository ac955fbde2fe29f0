// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package symbols reads the dictionary that the profiles of one message share
// (opentelemetry.proto.profiles.v1development.ProfilesDictionary). Every index
// that comes from outside is checked here and nowhere else, and whatever
// depends on one entry of the dictionary is worked out once per message.
package symbols // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"

import (
	"math"
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
	links      pprofile.LinkSlice

	// The functions discovered so far, in this message and those before.
	generation int
	byName     map[string]FunctionID
	byFile     map[Function]FunctionID // with tellFilesApart
	named      []Function
	unknown    [1]FunctionID // the stack that isn't there

	// By index of the dictionary's tables.
	mappingFacts  []mapping
	functionFacts []function
	locationFacts []location
	stackFacts    []stack

	frames         []Frame      // of locations
	stackFunctions []FunctionID // of stacks
	problems       []Problem

	// mark[f] is the stack in which function f was seen last.
	mark  []int32
	epoch int32
}

// mapping is the file that code was mapped from.
type mapping struct {
	file     int32      // index of the string table, or NoString
	nameless FunctionID // what a frame is called about which nothing else is known
	problem  problemID
}

// function is an entry of the function table.
type function struct {
	id      FunctionID // or nameless
	file    int32      // index of the string table, or NoString
	problem problemID
}

// nameless stands for no function of its own.
const nameless FunctionID = -1

// location holds the frames of one location, innermost first.
type location struct {
	first, end int32 // in Dictionary.frames
	problem    problemID
	// only is the function of a location's only frame, as most have no more;
	// nameless for one that has several.
	only FunctionID
}

// stack holds the distinct functions of one stack, leaf first.
type stack struct {
	first, end int32 // in Dictionary.stackFunctions
	problem    problemID
}

// problemID is a position in Dictionary.problems, which starts with none.
type problemID int32

// Reset turns to the dictionary of another message and resolves all of it.
// With tellFilesApart, functions of one name in different files are different
// functions.
//
// Every table is resolved from its first entry to its last: this is the order
// in which a message was decoded into memory. Resolving entries as samples ask
// for them would save those that nothing asks for, but profilers send none,
// and would read the others from all over the memory, which takes several
// times as long.
func (d *Dictionary) Reset(dictionary pprofile.ProfilesDictionary, tellFilesApart bool) {
	d.tellFilesApart = tellFilesApart
	d.mappings = dictionary.MappingTable()
	d.locations = dictionary.LocationTable()
	d.functions = dictionary.FunctionTable()
	d.strings = dictionary.StringTable()
	d.attributes = dictionary.AttributeTable()
	d.stacks = dictionary.StackTable()
	d.links = dictionary.LinkTable()

	if len(d.named) > maxRemembered || d.byName == nil {
		d.forget()
	}
	d.problems = append(d.problems[:0], Problem{})
	d.resolveMappings()
	d.resolveFunctions()
	d.resolveLocations()
	d.resolveStacks()
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
	d.unknown[0] = d.identify(Function{Name: Unknown})
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
	d.links = empty.LinkTable()
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
// the dictionary does not resolve; StackProblem tells the latter. The slice is
// valid until Reset.
func (d *Dictionary) StackFunctions(index int32) []FunctionID {
	if index <= 0 || int(index) >= len(d.stackFacts) {
		return d.unknown[:]
	}
	facts := &d.stackFacts[index]
	return d.stackFunctions[facts.first:facts.end:facts.end]
}

// StackProblem is what is wrong with a stack.
func (d *Dictionary) StackProblem(index int32) Problem {
	switch {
	case index == 0:
		return Problem{}
	case index < 0 || int(index) >= len(d.stackFacts):
		return Problem{StackIndex, index, len(d.stackFacts)}
	default:
		return d.problems[d.stackFacts[index].problem]
	}
}

func (d *Dictionary) resolveStacks() {
	d.stackFacts = d.stackFacts[:0]
	d.stackFunctions = d.stackFunctions[:0]
	for len(d.mark) < len(d.named) {
		d.mark = append(d.mark, 0)
	}
	for i := range d.stacks.Len() {
		d.stackFacts = append(d.stackFacts, d.resolveStack(d.stacks.At(i).LocationIndices()))
	}
}

func (d *Dictionary) resolveStack(indices pcommon.Int32Slice) stack {
	d.nextEpoch()
	facts := stack{first: int32(len(d.stackFunctions))}
	for i := range indices.Len() {
		index := indices.At(i)
		if index < 0 || int(index) >= len(d.locationFacts) {
			facts.problem = d.either(facts.problem, Problem{LocationIndex, index, len(d.locationFacts)})
			d.pushOnce(d.unknown[0])
			continue
		}
		from := &d.locationFacts[index]
		if from.problem != 0 && facts.problem == 0 {
			facts.problem = from.problem
		}
		if from.only != nameless {
			d.pushOnce(from.only)
			continue
		}
		for _, frame := range d.frames[from.first:from.end] {
			d.pushOnce(frame.Function)
		}
	}
	if len(d.stackFunctions) == int(facts.first) {
		d.pushOnce(d.unknown[0])
	}
	facts.end = int32(len(d.stackFunctions))
	return facts
}

// nextEpoch begins another stack: no function has been seen in it.
func (d *Dictionary) nextEpoch() {
	if d.epoch == math.MaxInt32 {
		clear(d.mark)
		d.epoch = 0
	}
	d.epoch++
}

// pushOnce adds a function to the stack in resolution, however often it
// recurs.
func (d *Dictionary) pushOnce(function FunctionID) {
	if d.mark[function] != d.epoch {
		d.mark[function] = d.epoch
		d.stackFunctions = append(d.stackFunctions, function)
	}
}

// StackLocations returns the location indices of a stack, the leaf's first, as
// they are in the message: LocationFrames takes any. A stack that isn't there
// has none.
func (d *Dictionary) StackLocations(index int32) pcommon.Int32Slice {
	if index <= 0 || int(index) >= len(d.stackFacts) {
		return noLocations
	}
	return d.stacks.At(int(index)).LocationIndices()
}

var noLocations = pcommon.NewInt32Slice()

// Locations is the number of entries in the location table.
func (d *Dictionary) Locations() int { return len(d.locationFacts) }

// LocationFrames returns the frames of a location, innermost first; never
// none.
func (d *Dictionary) LocationFrames(index int32) []Frame {
	if index < 0 || int(index) >= len(d.locationFacts) {
		return []Frame{{d.unknown[0], NoString, NoString}}
	}
	facts := &d.locationFacts[index]
	return d.frames[facts.first:facts.end]
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

func (d *Dictionary) resolveLocations() {
	d.locationFacts = d.locationFacts[:0]
	d.frames = d.frames[:0]
	for i := range d.locations.Len() {
		d.locationFacts = append(d.locationFacts, d.resolveLocation(d.locations.At(i)))
	}
}

func (d *Dictionary) resolveLocation(entry pprofile.Location) location {
	from := d.mapping(entry.MappingIndex())
	facts := location{first: int32(len(d.frames)), problem: from.problem}
	lines := entry.Lines()
	for i := range lines.Len() {
		frame, problem := d.lineFrame(lines.At(i).FunctionIndex(), from)
		if facts.problem == 0 {
			facts.problem = problem
		}
		d.frames = append(d.frames, frame)
	}
	if lines.Len() == 0 {
		d.frames = append(d.frames, Frame{from.nameless, NoString, from.file})
	}
	facts.end = int32(len(d.frames))
	facts.only = nameless
	if facts.end == facts.first+1 {
		facts.only = d.frames[facts.first].Function
	}
	return facts
}

// lineFrame is the frame of a location's line. Function index 0 is "unset",
// and a function without names is no better than none: both are called after
// their mapping.
func (d *Dictionary) lineFrame(index int32, from mapping) (Frame, problemID) {
	if index == 0 {
		return Frame{from.nameless, NoString, from.file}, 0
	}
	if index < 0 || int(index) >= len(d.functionFacts) {
		problem := d.either(0, Problem{FunctionIndex, index, len(d.functionFacts)})
		return Frame{d.unknown[0], NoString, from.file}, problem
	}
	facts := &d.functionFacts[index]
	if facts.id == nameless {
		return Frame{from.nameless, facts.file, from.file}, facts.problem
	}
	return Frame{facts.id, facts.file, from.file}, facts.problem
}

func (d *Dictionary) resolveFunctions() {
	d.functionFacts = d.functionFacts[:0]
	for i := range d.functions.Len() {
		d.functionFacts = append(d.functionFacts, d.resolveFunction(d.functions.At(i)))
	}
}

func (d *Dictionary) resolveFunction(entry pprofile.Function) function {
	facts := function{id: nameless, file: entry.FilenameStrindex()}
	name := d.text(entry.NameStrindex(), &facts.problem)
	systemName := d.text(entry.SystemNameStrindex(), &facts.problem)
	file := d.text(facts.file, &facts.problem)
	if file == "" {
		facts.file = NoString
	}
	if name == "" {
		name = systemName
	}
	switch {
	case name != "" && d.tellFilesApart:
		facts.id = d.identify(Function{name, file})
	case name != "":
		facts.id = d.identify(Function{Name: name})
	case facts.problem != 0:
		// The name is lost rather than absent.
		facts.id = d.unknown[0]
	}
	return facts
}

// text returns a string of the dictionary. One that isn't there is empty, and
// a problem unless there is one already.
func (d *Dictionary) text(index int32, problem *problemID) string {
	text, ok := d.String(index)
	if !ok {
		*problem = d.either(*problem, d.StringProblem(index))
	}
	return text
}

// either keeps the first of two problems.
func (d *Dictionary) either(first problemID, second Problem) problemID {
	if first != 0 || second.Reason == "" {
		return first
	}
	d.problems = append(d.problems, second)
	return problemID(len(d.problems) - 1)
}

// mapping returns what is known of a mapping. Index 0 is "unset".
func (d *Dictionary) mapping(index int32) mapping {
	if index > 0 && int(index) < len(d.mappingFacts) {
		return d.mappingFacts[index]
	}
	none := mapping{file: NoString, nameless: d.unknown[0]}
	if index != 0 {
		none.problem = d.either(0, Problem{MappingIndex, index, len(d.mappingFacts)})
	}
	return none
}

// resolveMappings names the frames of each mapping after its file.
func (d *Dictionary) resolveMappings() {
	d.mappingFacts = d.mappingFacts[:0]
	for i := range d.mappings.Len() {
		facts := mapping{file: d.mappings.At(i).FilenameStrindex()}
		if name := d.text(facts.file, &facts.problem); name != "" {
			facts.nameless = d.identify(Function{Name: "[" + path.Base(name) + "]"})
		} else {
			facts.file, facts.nameless = NoString, d.unknown[0]
		}
		d.mappingFacts = append(d.mappingFacts, facts)
	}
}

// Link returns the trace and the span of a link. Index 0 is "unset"; a link
// without a trace id links to nothing, which is no problem.
func (d *Dictionary) Link(index int32) (pcommon.TraceID, pcommon.SpanID, Problem) {
	if index == 0 {
		return pcommon.TraceID{}, pcommon.SpanID{}, Problem{}
	}
	if index < 0 || int(index) >= d.links.Len() {
		return pcommon.TraceID{}, pcommon.SpanID{}, Problem{LinkIndex, index, d.links.Len()}
	}
	link := d.links.At(int(index))
	return link.TraceID(), link.SpanID(), Problem{}
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
