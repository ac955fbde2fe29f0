// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package symbols // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"

// StackFrames returns the functions of all frames of a stack, the leaf's
// first, with those that recur and those that were inlined. A stack without
// frames consists of Unknown, as for StackFunctions. The slice is valid until
// the next call of either.
func (d *Dictionary) StackFrames(index int32) []FunctionID {
	if index <= 0 || int(index) >= len(d.stackProblems) {
		return d.unknown[:]
	}
	indices := d.stacks.At(int(index)).LocationIndices()
	functions := d.room(indices.Len())
	problem := problemID(0)
	n := 0
	for i := range indices.Len() {
		location := indices.At(i)
		function := d.functionAt(location)
		if function >= 0 {
			functions[n] = function
			n++
			continue
		}
		problem = d.firstProblem(problem, function, location)
		frames := d.framesOf(function)
		functions = d.room(n + len(frames) + indices.Len() - i)
		for _, frame := range frames {
			functions[n] = frame.Function
			n++
		}
	}
	d.stackProblems[index] = problem + 1
	if n == 0 {
		return d.unknown[:]
	}
	return functions[:n]
}

// StackFunctionsAndFrames returns what StackFunctions and StackFrames do, and
// reads the stack once. The slices are valid until the next call of any of
// them.
func (d *Dictionary) StackFunctionsAndFrames(index int32) (functions, frames []FunctionID) {
	frames = d.StackFrames(index)
	if index <= 0 || int(index) >= len(d.stackProblems) {
		return frames, frames
	}
	if missing := len(frames) - len(d.distinct); missing > 0 {
		d.distinct = append(d.distinct, make([]FunctionID, missing)...)
	}
	d.nextEpoch()
	functions, mark, epoch := d.distinct, d.mark, d.epoch
	n := 0
	for _, function := range frames {
		functions[n] = function
		n += countIf(mark[function] != epoch)
		mark[function] = epoch
	}
	return functions[:n], frames
}
