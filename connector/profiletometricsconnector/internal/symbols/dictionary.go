// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package symbols reads the dictionary that the profiles of one message share
// (opentelemetry.proto.profiles.v1development.ProfilesDictionary). Every index
// that comes from outside is checked here and nowhere else, and whatever
// depends on one entry of the dictionary is worked out once per message.
package symbols // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"

import (
	"iter"
	"math"

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
	byMapping  map[string]FunctionID   // of frames without a name, by the mapped file
	named      []Function
	// successors are the functions that came next when a function was met last:
	// a guess that saves finding the next one by its name.
	successors []FunctionID
	previous   FunctionID
	trust      int           // in guesses: how many more may fail
	unknown    [1]FunctionID // the stack that isn't there

	// By index of the dictionary's tables.
	mappingFacts  []mapping
	functionFacts []function
	// only is the function of a location's only frame, as most have no more, and
	// origins is where that comes from. For one that has more, or a problem, only
	// is the complement of its position in several.
	only    []FunctionID
	origins []origin
	// stackProblems are one up; 0 is that of a stack that was not resolved yet.
	stackProblems []problemID

	several  []location
	frames   []Frame // of those, after that of locations that aren't there
	problems []Problem
	single   [1]Frame
	fetched  int32 // of no meaning; without it, nothing would be read

	stackFunctions []FunctionID // of the stack that was resolved last, or all its frames
	distinct       []FunctionID // its functions, beside its frames
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

// notThere stands in Dictionary.only for a location that isn't there.
const notThere FunctionID = math.MinInt32

// origin is what a frame consists of beside its function.
type origin struct{ file, mapping int32 }

// location holds the frames of one location, innermost first.
type location struct {
	first, end int32 // in Dictionary.frames
	problem    problemID
}

// problemID is a position in Dictionary.problems, which starts with none.
type problemID int32

// Reset turns to the dictionary of another message and resolves all of it but
// the stacks. With tellFilesApart, functions of one name in different files are
// different functions.
//
// Every table is resolved from its first entry to its last: this is the order
// in which a message was decoded into memory. Resolving entries as samples ask
// for them would save those that nothing asks for, but profilers send none,
// and would read the others from all over the memory, which takes several
// times as long. Stacks are by far the most of a dictionary, and nearly all of
// them are asked for once: keeping what they resolve to costs more than
// resolving the others again.
func (d *Dictionary) Reset(dictionary pprofile.ProfilesDictionary, tellFilesApart bool) {
	d.tellFilesApart = tellFilesApart
	d.mappings = dictionary.MappingTable()
	d.locations = dictionary.LocationTable()
	d.functions = dictionary.FunctionTable()
	d.strings = dictionary.StringTable()
	d.attributes = dictionary.AttributeTable()
	d.stacks = dictionary.StackTable()
	d.links = dictionary.LinkTable()

	if max(len(d.named), len(d.byMapping)) > maxRemembered || d.byName == nil {
		d.forget()
	}
	d.problems = append(d.problems[:0], Problem{})
	d.previous, d.trust = d.unknown[0], trusted
	d.resolveMappings()
	d.resolveFunctions()
	d.resolveLocations()
	d.stackProblems = append(d.stackProblems[:0], make([]problemID, d.stacks.Len())...)
	d.mark = append(d.mark, make([]int32, len(d.named)-len(d.mark))...)
}

// maxRemembered is how many functions are remembered from message to message.
// Most messages are full of functions that came before, and finding one is
// cheaper than making its acquaintance.
const maxRemembered = 1 << 16

func (d *Dictionary) forget() {
	d.generation++
	d.byName = make(map[string]FunctionID)
	d.byFile = make(map[Function]FunctionID)
	d.byMapping = make(map[string]FunctionID)
	d.named, d.successors, d.previous = nil, nil, 0
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
func (d *Dictionary) Stacks() int { return len(d.stackProblems) }

// Strings is the number of entries in the string table.
func (d *Dictionary) Strings() int { return d.strings.Len() }

// Functions is the number of functions discovered so far, in this message and
// those before: function IDs are below.
func (d *Dictionary) Functions() int { return len(d.named) }

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

// StackLocations returns the location indices of a stack, the leaf's first, as
// they are in the message: LocationFrames takes any. A stack that isn't there
// has none.
func (d *Dictionary) StackLocations(index int32) pcommon.Int32Slice {
	if index <= 0 || int(index) >= len(d.stackProblems) {
		return noLocations
	}
	return d.stacks.At(int(index)).LocationIndices()
}

var noLocations = pcommon.NewInt32Slice()

// Locations is the number of entries in the location table.
func (d *Dictionary) Locations() int { return len(d.only) }

// LocationFrames returns the frames of a location, innermost first; never
// none. The slice is valid until the next call.
func (d *Dictionary) LocationFrames(index int32) []Frame {
	function := d.functionAt(index)
	if function < 0 {
		return d.framesOf(function)
	}
	from := &d.origins[index]
	d.single[0] = Frame{function, from.file, from.mapping}
	return d.single[:]
}

// Fetch reads a stack, so that what is asked of it soon is at hand. Between what
// a message holds of a stack and what of the next, all else that conversion does
// has pushed both out of the caches; many fetched in a row come at the same time.
func (d *Dictionary) Fetch(stack int32) {
	indices := d.StackLocations(stack)
	for i := 0; i < indices.Len(); i += indicesOfLine {
		d.fetched += indices.At(i)
	}
}

// indicesOfLine is how many indices a line of a cache holds: 64 bytes.
const indicesOfLine = 16

// Mentioned lists the functions of the message's function table.
func (d *Dictionary) Mentioned() iter.Seq[FunctionID] {
	return func(yield func(FunctionID) bool) {
		for i := range d.functionFacts {
			if id := d.functionFacts[i].id; id != nameless && !yield(id) {
				return
			}
		}
	}
}

// LeafLocation is the index of the location at which a stack's samples were
// taken, and false where the stack has none that exists.
func (d *Dictionary) LeafLocation(index int32) (int32, bool) {
	if index <= 0 || int(index) >= len(d.stackProblems) {
		return 0, false
	}
	indices := d.stacks.At(int(index)).LocationIndices()
	if indices.Len() == 0 {
		return 0, false
	}
	leaf := indices.At(0)
	return leaf, leaf >= 0 && int(leaf) < d.locations.Len()
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

// trusted is how many guesses may fail in a row.
const trusted = 32

// identify returns the ID of a function. Many messages list the functions that
// they have in common in one order, so that the successor of the function before
// is tried first: comparing a name costs much less than hashing it and finding
// the hash in a table that no cache holds. Where the order is another one,
// guesses would only cost, and end soon.
func (d *Dictionary) identify(function Function) FunctionID {
	if d.trust > 0 && len(d.named) > 0 {
		if guess := d.successors[d.previous]; d.named[guess] == function {
			d.previous, d.trust = guess, trusted
			return guess
		}
		d.trust--
	}
	id := d.find(function)
	d.successors[d.previous] = id
	d.previous = id
	return id
}

// find looks a function up by its name, and numbers one that is new.
func (d *Dictionary) find(function Function) FunctionID {
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
	d.successors = append(d.successors, id)
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
