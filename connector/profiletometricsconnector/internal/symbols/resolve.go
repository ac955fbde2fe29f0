// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package symbols // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"

import (
	"math"
	"path"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// StackFunctions returns the functions of a stack, each once, the leaf's
// first. A stack without frames, such as index 0 ("unset", says
// Sample.stack_index), consists of Unknown, and so do the parts of one that
// the dictionary does not resolve; StackProblem tells the latter. The slice is
// valid until the next call.
func (d *Dictionary) StackFunctions(index int32) []FunctionID {
	if index <= 0 || int(index) >= len(d.stackProblems) {
		return d.unknown[:]
	}
	d.nextEpoch()
	indices := d.stacks.At(int(index)).LocationIndices()
	problem := problemID(0)
	functions, mark, epoch := d.room(indices.Len()), d.mark, d.epoch
	n := 0
	for i := range indices.Len() {
		location := indices.At(i)
		function := d.functionAt(location)
		if function < 0 {
			functions, n = d.addFrames(functions, n, d.framesOf(function), indices.Len()-i)
			problem = d.firstProblem(problem, function, location)
			continue
		}
		// Which functions recur can't be predicted: a branch would cost more
		// than writing each and counting the new ones.
		functions[n] = function
		n += countIf(mark[function] != epoch)
		mark[function] = epoch
	}
	d.stackProblems[index] = problem + 1
	if n == 0 {
		return d.unknown[:]
	}
	return functions[:n]
}

// functionAt is the function of a location's only frame, or less than 0 where
// LocationFrames has more to tell.
func (d *Dictionary) functionAt(location int32) FunctionID {
	// As an unsigned number, a negative one is out of range like all others.
	if known := int(uint32(location)); known < len(d.only) {
		return d.only[known]
	}
	return notThere
}

// countIf is 1 if the condition is true.
func countIf(condition bool) int {
	n := 0
	if condition {
		n = 1
	}
	return n
}

// room returns the scratch memory for a stack, with room for at least so many
// functions.
func (d *Dictionary) room(functions int) []FunctionID {
	if missing := functions - len(d.stackFunctions); missing > 0 {
		d.stackFunctions = append(d.stackFunctions, make([]FunctionID, missing)...)
	}
	return d.stackFunctions
}

// nextEpoch begins another stack: no function has been seen in it.
func (d *Dictionary) nextEpoch() {
	if d.epoch == math.MaxInt32 {
		clear(d.mark)
		d.epoch = 0
	}
	d.epoch++
}

// addFrames adds the functions of a location's frames that were not seen yet in
// the stack, of which so many locations are left, to the n that were.
func (d *Dictionary) addFrames(functions []FunctionID, n int, frames []Frame, left int) ([]FunctionID, int) {
	if len(functions) < n+len(frames)+left {
		functions = d.room(n + len(frames) + left)
	}
	for i := range frames {
		function := frames[i].Function
		functions[n] = function
		n += countIf(d.mark[function] != d.epoch)
		d.mark[function] = d.epoch
	}
	return functions, n
}

// framesOf returns the frames of a location for which functionAt is less than 0.
func (d *Dictionary) framesOf(function FunctionID) []Frame {
	if function == notThere {
		return d.frames[:1]
	}
	facts := &d.several[^function]
	return d.frames[facts.first:facts.end]
}

// firstProblem is the first of the problems of a stack, given that of the
// locations before, and what functionAt says of this one: less than 0.
func (d *Dictionary) firstProblem(before problemID, function FunctionID, location int32) problemID {
	switch {
	case before != 0:
		return before
	case function == notThere:
		return d.note(Problem{LocationIndex, location, len(d.only)})
	default:
		return d.several[^function].problem
	}
}

// StackProblem is what is wrong with a stack.
func (d *Dictionary) StackProblem(index int32) Problem {
	switch {
	case index == 0:
		return Problem{}
	case index < 0 || int(index) >= len(d.stackProblems):
		return Problem{StackIndex, index, len(d.stackProblems)}
	}
	if d.stackProblems[index] == 0 {
		d.StackFunctions(index)
	}
	return d.problems[d.stackProblems[index]-1]
}

// ahead is how many entries of a table are read before any is resolved. What
// they hold decides how to go on, and comes from main memory: it would be waited
// for again and again. Read without a decision, many come at the same time.
const ahead = 64

// rawLocation is what there is to read of a location that has no more than one
// line.
type rawLocation struct {
	mapping, lines int32
	function       int32 // of the first line, or 0
}

func (d *Dictionary) resolveLocations() {
	locations := d.locations.Len()
	d.only, d.origins = resized(d.only, locations), resized(d.origins, locations)
	d.several, d.frames = d.several[:0], append(d.frames[:0], Frame{d.unknown[0], NoString, NoString})
	var block [ahead]rawLocation
	for first := 0; first < locations; first += ahead {
		read := block[:min(ahead, locations-first)]
		d.readLocations(read, first)
		d.resolveRead(read, first)
	}
}

// resolveRead resolves locations that were read, from the first on.
func (d *Dictionary) resolveRead(read []rawLocation, first int) {
	mappings, functions := d.mappingFacts, d.functionFacts
	only, origins := d.only[first:][:len(read)], d.origins[first:][:len(read)]
	for i := range read {
		raw := &read[i]
		mapping, function := int(uint32(raw.mapping)), int(uint32(raw.function))
		if raw.lines > 1 || mapping >= len(mappings) || function >= len(functions) {
			only[i] = d.addLocation(d.locations.At(first + i))
			continue
		}
		from, of := &mappings[mapping], &functions[function]
		if from.problem|of.problem != 0 {
			only[i] = d.addLocation(d.locations.At(first + i))
			continue
		}
		id := of.id
		if id == nameless {
			id = from.nameless
		}
		only[i], origins[i] = id, origin{of.file, from.file}
	}
}

func (d *Dictionary) readLocations(read []rawLocation, first int) {
	locations := d.locations
	for i := range read {
		entry := locations.At(first + i)
		read[i] = rawLocation{mapping: entry.MappingIndex(), lines: int32(entry.Lines().Len())}
	}
	for i := range read {
		if read[i].lines > 0 {
			read[i].function = locations.At(first + i).Lines().At(0).FunctionIndex()
		}
	}
}

// addLocation keeps all frames of a location, and returns the complement of its
// position in Dictionary.several.
func (d *Dictionary) addLocation(entry pprofile.Location) FunctionID {
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
	d.several = append(d.several, facts)
	return ^FunctionID(len(d.several) - 1)
}

// resized returns a slice of length n that reuses memory, whatever it holds.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// lineFrame is the frame of a location's line. Function index 0 is "unset",
// and a function without names is no better than none: both are called after
// their mapping.
func (d *Dictionary) lineFrame(index int32, from mapping) (Frame, problemID) {
	if index == 0 {
		return Frame{from.nameless, NoString, from.file}, 0
	}
	if index < 0 || int(index) >= len(d.functionFacts) {
		problem := d.note(Problem{FunctionIndex, index, len(d.functionFacts)})
		return Frame{d.unknown[0], NoString, from.file}, problem
	}
	facts := &d.functionFacts[index]
	if facts.id == nameless {
		return Frame{from.nameless, facts.file, from.file}, facts.problem
	}
	return Frame{facts.id, facts.file, from.file}, facts.problem
}

func (d *Dictionary) resolveFunctions() {
	functions := d.functions
	facts := resized(d.functionFacts, functions.Len())
	for i := range facts {
		facts[i] = d.resolveFunction(functions.At(i))
	}
	if len(facts) > 0 {
		// Index 0 is "unset", whatever the table's first entry holds.
		facts[0] = function{id: nameless, file: NoString}
	}
	d.functionFacts = facts
}

func (d *Dictionary) resolveFunction(entry pprofile.Function) function {
	nameIndex, systemNameIndex := entry.NameStrindex(), entry.SystemNameStrindex()
	facts := function{id: nameless, file: entry.FilenameStrindex()}
	if last := max(uint32(nameIndex), uint32(systemNameIndex), uint32(facts.file)); int(last) >= d.strings.Len() {
		facts.problem = d.firstStringProblem(nameIndex, systemNameIndex, facts.file)
	}
	name, _ := d.String(nameIndex)
	if name == "" {
		name, _ = d.String(systemNameIndex)
	}
	file, _ := d.String(facts.file)
	if file == "" {
		facts.file = NoString
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

// firstStringProblem is the problem of the first index that leads to no string.
func (d *Dictionary) firstStringProblem(indices ...int32) problemID {
	for _, index := range indices {
		if _, ok := d.String(index); ok {
			continue
		}
		if problem := d.StringProblem(index); problem.Reason != "" {
			return d.note(problem)
		}
	}
	return 0
}

// note numbers a problem. None is 0.
func (d *Dictionary) note(problem Problem) problemID {
	if problem.Reason == "" {
		return 0
	}
	d.problems = append(d.problems, problem)
	return problemID(len(d.problems) - 1)
}

// mapping returns what is known of a mapping. Index 0 is "unset", even in an
// empty table.
func (d *Dictionary) mapping(index int32) mapping {
	if index >= 0 && int(index) < len(d.mappingFacts) {
		return d.mappingFacts[index]
	}
	none := mapping{file: NoString, nameless: d.unknown[0]}
	if index != 0 {
		none.problem = d.note(Problem{MappingIndex, index, len(d.mappingFacts)})
	}
	return none
}

// resolveMappings names the frames of each mapping after its file.
func (d *Dictionary) resolveMappings() {
	d.mappingFacts = d.mappingFacts[:0]
	for i := range d.mappings.Len() {
		facts := mapping{file: d.mappings.At(i).FilenameStrindex()}
		facts.problem = d.firstStringProblem(facts.file)
		if name, _ := d.String(facts.file); name != "" {
			facts.nameless = d.namelessIn(name)
		} else {
			facts.file, facts.nameless = NoString, d.unknown[0]
		}
		d.mappingFacts = append(d.mappingFacts, facts)
	}
	if len(d.mappingFacts) > 0 {
		// Index 0 is "unset", whatever the table's first entry holds.
		d.mappingFacts[0] = mapping{file: NoString, nameless: d.unknown[0]}
	}
}

// namelessIn is what a frame is called of which only the mapped file is known.
func (d *Dictionary) namelessIn(file string) FunctionID {
	id, known := d.byMapping[file]
	if !known {
		id = d.identify(Function{Name: "[" + path.Base(file) + "]"})
		d.byMapping[file] = id
	}
	return id
}
