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
		if function == several {
			functions, n = d.addFrames(functions, n, location, indices.Len()-i)
			problem = d.firstProblem(problem, location)
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

// functionAt is the function of a location's only frame, or several, which is
// also that of a location that isn't there.
func (d *Dictionary) functionAt(location int32) FunctionID {
	// As an unsigned number, a negative one is out of range like all others.
	if known := int(uint32(location)); known < len(d.only) {
		return d.only[known]
	}
	return several
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

// addFrames adds the functions of a location that were not seen yet in the
// stack, of which so many locations are left, to the n that were.
func (d *Dictionary) addFrames(functions []FunctionID, n int, location int32, left int) ([]FunctionID, int) {
	frames := d.LocationFrames(location)
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

// firstProblem is the first of the problems of a stack, given that of the
// locations before.
func (d *Dictionary) firstProblem(before problemID, location int32) problemID {
	switch {
	case before != 0:
		return before
	case location >= 0 && int(location) < len(d.locationFacts):
		return d.locationFacts[location].problem
	default:
		return d.either(0, Problem{LocationIndex, location, len(d.locationFacts)})
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

func (d *Dictionary) resolveLocations() {
	d.locationFacts, d.only = d.locationFacts[:0], d.only[:0]
	d.frames = d.frames[:0]
	for i := range d.locations.Len() {
		facts := d.resolveLocation(d.locations.At(i))
		only := several
		if facts.end == facts.first+1 && facts.problem == 0 {
			only = d.frames[facts.first].Function
		}
		d.locationFacts, d.only = append(d.locationFacts, facts), append(d.only, only)
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
			facts.nameless = d.namelessIn(name)
		} else {
			facts.file, facts.nameless = NoString, d.unknown[0]
		}
		d.mappingFacts = append(d.mappingFacts, facts)
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
