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
	n := 0
	for i := range indices.Len() {
		location := indices.At(i)
		if function := d.functionAt(location); function != several {
			functions[n] = function
			n++
			continue
		}
		frames := d.LocationFrames(location)
		functions = d.room(n + len(frames) + indices.Len() - i)
		for _, frame := range frames {
			functions[n] = frame.Function
			n++
		}
	}
	if n == 0 {
		return d.unknown[:]
	}
	return functions[:n]
}
