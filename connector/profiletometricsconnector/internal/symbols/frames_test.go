// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFramesOfAStackRecur(t *testing.T) {
	for name, test := range map[string]struct {
		locations []int32
		want      []string
	}{
		"a function that recurs is there every time": {[]int32{2, 1, 2, 2}, []string{"main.root", "main.leaf", "main.root", "main.root", "main.root"}},
		"inlined lines take more room than one each": {[]int32{1, 1, 1}, []string{"main.leaf", "main.root", "main.leaf", "main.root", "main.leaf", "main.root"}},
		"what isn't there is unknown":                {[]int32{99, 2, -1}, []string{Unknown, "main.root", Unknown}},
		"a stack without frames is unknown":          {nil, []string{Unknown}},
	} {
		t.Run(name, func(t *testing.T) {
			data := dictionary()
			stack := addStack(data, test.locations...)
			var d Dictionary
			d.Reset(data, false)
			assert.Equal(t, test.want, framesOf(&d, stack))
		})
	}
}

func TestFramesOfStacksThatAreNotThereAreUnknown(t *testing.T) {
	data := dictionary()
	addStack(data, 1)
	var d Dictionary
	d.Reset(data, false)
	for _, stack := range []int32{0, -1, 2, 1 << 30} {
		assert.Equal(t, []string{Unknown}, framesOf(&d, stack), "stack %d", stack)
	}
}

func framesOf(d *Dictionary, stack int32) []string {
	var all []string
	for _, function := range d.StackFrames(stack) {
		all = append(all, d.Function(function).Name)
	}
	return all
}
