// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package symbols // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"

import (
	"math"
	"path"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

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
