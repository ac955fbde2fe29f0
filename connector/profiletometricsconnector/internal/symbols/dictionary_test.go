// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// dictionary is a small one:
//
//	strings    0 ""  1 main.leaf  2 main.root  3 C.sys  4 main.go  5 /usr/lib/libc.so  6 other.go
//	mappings   0 unset  1 libc.so  2 without a name
//	functions  0 unset  1 main.leaf  2 main.root  3 only a system name  4 nameless  5 main.leaf in another file
//	locations  0 unset  1 leaf inlined into root  2 root  3 libc without lines  4 nothing  5 C.sys  6 nameless in libc  7 the other main.leaf
func dictionary() pprofile.ProfilesDictionary {
	d := pprofile.NewProfilesDictionary()
	d.StringTable().FromRaw([]string{"", "main.leaf", "main.root", "C.sys", "main.go", "/usr/lib/libc.so", "other.go"})
	for _, file := range []int32{0, 5, 0} {
		d.MappingTable().AppendEmpty().SetFilenameStrindex(file)
	}
	for _, f := range [][3]int32{{}, {1, 0, 4}, {2, 0, 4}, {0, 3, 0}, {}, {1, 0, 6}} {
		function := d.FunctionTable().AppendEmpty()
		function.SetNameStrindex(f[0])
		function.SetSystemNameStrindex(f[1])
		function.SetFilenameStrindex(f[2])
	}
	d.LocationTable().AppendEmpty()
	addLocation(d, 0, 1, 2)
	addLocation(d, 0, 2)
	addLocation(d, 1)
	addLocation(d, 0)
	addLocation(d, 0, 3)
	addLocation(d, 1, 4)
	addLocation(d, 0, 5)
	d.StackTable().AppendEmpty()
	return d
}

func addLocation(d pprofile.ProfilesDictionary, mapping int32, functions ...int32) {
	location := d.LocationTable().AppendEmpty()
	location.SetMappingIndex(mapping)
	for _, function := range functions {
		location.Lines().AppendEmpty().SetFunctionIndex(function)
	}
}

func addStack(d pprofile.ProfilesDictionary, locations ...int32) int32 {
	d.StackTable().AppendEmpty().LocationIndices().FromRaw(locations)
	return int32(d.StackTable().Len() - 1)
}

func names(d *Dictionary, stack int32) ([]string, Reason) {
	var all []string
	for _, function := range d.StackFunctions(stack) {
		all = append(all, d.Function(function).Name)
	}
	return all, d.StackProblem(stack).Reason
}

func TestStacksAreResolvedToDistinctFunctionsLeafFirst(t *testing.T) {
	for name, test := range map[string]struct {
		locations []int32
		want      []string
		problem   Reason
	}{
		"inlined lines are frames, innermost first":     {[]int32{1}, []string{"main.leaf", "main.root"}, ""},
		"a function that recurs is there once":          {[]int32{2, 1, 2, 2}, []string{"main.root", "main.leaf"}, ""},
		"a frame without lines is named by its mapping": {[]int32{3, 2}, []string{"[libc.so]", "main.root"}, ""},
		"a frame without anything is unknown":           {[]int32{4, 2}, []string{Unknown, "main.root"}, ""},
		"location 0 is read like any other":             {[]int32{0, 2}, []string{Unknown, "main.root"}, ""},
		"a system name stands in for the name":          {[]int32{5}, []string{"C.sys"}, ""},
		"a nameless function is named by its mapping":   {[]int32{6}, []string{"[libc.so]"}, ""},
		"functions of one name are one":                 {[]int32{1, 7}, []string{"main.leaf", "main.root"}, ""},
		"a stack without frames is unknown":             {nil, []string{Unknown}, ""},
		"a location beyond the table is unknown":        {[]int32{99, 2}, []string{Unknown, "main.root"}, LocationIndex},
		"a negative location is unknown":                {[]int32{2, -1}, []string{"main.root", Unknown}, LocationIndex},
	} {
		t.Run(name, func(t *testing.T) {
			data := dictionary()
			stack := addStack(data, test.locations...)
			var d Dictionary
			d.Reset(data, false)
			got, problem := names(&d, stack)
			assert.Equal(t, test.want, got)
			assert.Equal(t, test.problem, problem)
		})
	}
}

func TestStacksThatAreNotThereAreUnknown(t *testing.T) {
	data := dictionary()
	addStack(data, 1)
	var d Dictionary
	d.Reset(data, false)
	for stack, want := range map[int32]Reason{0: "", -1: StackIndex, 2: StackIndex, 1 << 30: StackIndex} {
		got, problem := names(&d, stack)
		assert.Equal(t, []string{Unknown}, got, "stack %d", stack)
		assert.Equal(t, want, problem, "stack %d", stack)
	}
	d.Reset(pprofile.NewProfilesDictionary(), false)
	got, problem := names(&d, 0)
	assert.Equal(t, []string{Unknown}, got)
	assert.Empty(t, problem, "an empty dictionary is no problem")
}

func TestFilesTellFunctionsApartOnRequest(t *testing.T) {
	data := dictionary()
	stack := addStack(data, 1, 7)
	var d Dictionary
	d.Reset(data, true)
	functions := d.StackFunctions(stack)
	var got []Function
	for _, function := range functions {
		got = append(got, d.Function(function))
	}
	assert.Equal(t, []Function{{"main.leaf", "main.go"}, {"main.root", "main.go"}, {"main.leaf", "other.go"}}, got)
}

func TestFramesHaveFunctionFileAndMapping(t *testing.T) {
	data := dictionary()
	stack := addStack(data, 3, 1, 99)
	var d Dictionary
	d.Reset(data, false)
	var got []string
	for _, location := range d.StackLocations(stack).All() {
		for _, frame := range d.LocationFrames(location) {
			file, _ := d.String(frame.File)
			mapping, _ := d.String(frame.Mapping)
			got = append(got, d.Function(frame.Function).Name+" "+file+" "+mapping)
		}
	}
	assert.Equal(t, []string{"[libc.so]  /usr/lib/libc.so", "main.leaf main.go ", "main.root main.go ", "[unknown]  "}, got)
	assert.Zero(t, d.StackLocations(0).Len())
	assert.Zero(t, d.StackLocations(77).Len())
	assert.Equal(t, 8, d.Locations())
}

// The tables are read in blocks: what an entry resolves to must not depend on those beside it, nor on
// what the message before had in its place.
func TestLocationsOfAllKindsResolveAnywhereInTheTable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var d Dictionary
	for _, locations := range []int{0, 1, ahead - 1, ahead, 3*ahead + 1, ahead} {
		data := dictionary()
		kinds := data.LocationTable().Len()
		want := make([]int32, locations)
		for i := range want {
			want[i] = int32(random.IntN(kinds))
			data.LocationTable().At(int(want[i])).CopyTo(data.LocationTable().AppendEmpty())
		}
		d.Reset(data, false)
		for i, kind := range want {
			wanted := slices.Clone(d.LocationFrames(kind))
			assert.Equal(t, wanted, d.LocationFrames(int32(kinds+i)), "location %d of kind %d", i, kind)
		}
	}
}

func TestMentionedFunctionsAreThoseOfTheMessage(t *testing.T) {
	var d Dictionary
	d.Reset(dictionary(), false)
	other := pprofile.NewProfilesDictionary()
	other.StringTable().FromRaw([]string{"", "other.function", "main.root"})
	for name := range int32(3) {
		other.FunctionTable().AppendEmpty().SetNameStrindex(name)
	}
	d.Reset(other, false)
	var got []string
	for function := range d.Mentioned() {
		got = append(got, d.Function(function).Name)
	}
	assert.Equal(t, []string{"other.function", "main.root"}, got)
	for range d.Mentioned() {
		break
	}
}

func TestReferencesThatLeadNowhereAreReported(t *testing.T) {
	for name, test := range map[string]struct {
		breakIt func(pprofile.ProfilesDictionary)
		want    []string
		problem Problem
	}{
		"the function of a line": {
			func(d pprofile.ProfilesDictionary) {
				d.LocationTable().At(1).Lines().At(0).SetFunctionIndex(50)
			},
			[]string{Unknown, "main.root"},
			Problem{FunctionIndex, 50, 6},
		},
		"a negative function": {
			func(d pprofile.ProfilesDictionary) {
				d.LocationTable().At(1).Lines().At(1).SetFunctionIndex(-5)
			},
			[]string{"main.leaf", Unknown},
			Problem{FunctionIndex, -5, 6},
		},
		"the mapping of a location": {
			func(d pprofile.ProfilesDictionary) { d.LocationTable().At(1).SetMappingIndex(50) },
			[]string{"main.leaf", "main.root"},
			Problem{MappingIndex, 50, 3},
		},
		"the name of a function": {
			func(d pprofile.ProfilesDictionary) { d.FunctionTable().At(1).SetNameStrindex(50) },
			[]string{Unknown, "main.root"},
			Problem{StringIndex, 50, 7},
		},
		"the system name of a function that has a name": {
			func(d pprofile.ProfilesDictionary) { d.FunctionTable().At(1).SetSystemNameStrindex(-2) },
			[]string{"main.leaf", "main.root"},
			Problem{StringIndex, -2, 7},
		},
		"the file of a function": {
			func(d pprofile.ProfilesDictionary) { d.FunctionTable().At(1).SetFilenameStrindex(50) },
			[]string{"main.leaf", "main.root"},
			Problem{StringIndex, 50, 7},
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := dictionary()
			stack := addStack(data, 1)
			test.breakIt(data)
			var d Dictionary
			d.Reset(data, false)
			got, _ := names(&d, stack)
			assert.Equal(t, test.want, got)
			assert.Equal(t, test.problem, d.StackProblem(stack))
		})
	}
}

func TestTheFirstMappingThatHasANameIsTheMainBinary(t *testing.T) {
	var d Dictionary
	d.Reset(dictionary(), false)
	assert.Equal(t, "/usr/lib/libc.so", d.FirstMapping())
	d.Reset(pprofile.NewProfilesDictionary(), false)
	assert.Empty(t, d.FirstMapping())
}

func TestAttributes(t *testing.T) {
	data := dictionary()
	data.AttributeTable().AppendEmpty()
	good := data.AttributeTable().AppendEmpty()
	good.SetKeyStrindex(1)
	good.Value().SetInt(7)
	data.AttributeTable().AppendEmpty().SetKeyStrindex(50)
	var d Dictionary
	d.Reset(data, false)

	key, _, problem := d.Attribute(0)
	assert.Empty(t, key)
	assert.Empty(t, problem)
	key, value, problem := d.Attribute(1)
	assert.Equal(t, "main.leaf", key)
	assert.EqualValues(t, 7, value.Int())
	assert.Empty(t, problem)
	_, _, problem = d.Attribute(2)
	assert.Equal(t, Problem{StringIndex, 50, 7}, problem)
	for _, index := range []int32{-1, 3} {
		_, _, problem = d.Attribute(index)
		assert.Equal(t, Problem{AttributeIndex, index, 3}, problem)
	}
}

func TestResetForgetsTheMessageBefore(t *testing.T) {
	data := dictionary()
	stack := addStack(data, 1)
	var d Dictionary
	d.Reset(data, false)
	before, _ := names(&d, stack)

	other := dictionary()
	other.StringTable().SetAt(1, "other.leaf")
	addStack(other, 1)
	d.Reset(other, false)
	got, _ := names(&d, stack)
	assert.Equal(t, []string{"main.leaf", "main.root"}, before)
	assert.Equal(t, []string{"other.leaf", "main.root"}, got)

	d.Release()
	assert.Equal(t, Unknown, d.Function(d.StackFunctions(0)[0]).Name)
}

func TestFunctionsKeepTheirIDsFromMessageToMessageWithinBounds(t *testing.T) {
	var d Dictionary
	ids := func(message pprofile.ProfilesDictionary) []FunctionID {
		stack := addStack(message, 1)
		d.Reset(message, false)
		functions := d.StackFunctions(stack)
		return slices.Clone(functions)
	}
	first, generation := ids(dictionary()), d.Generation()
	assert.Equal(t, first, ids(dictionary()))
	assert.Equal(t, generation, d.Generation())

	many := pprofile.NewProfilesDictionary()
	many.StringTable().Append("")
	many.FunctionTable().AppendEmpty()
	many.LocationTable().AppendEmpty()
	many.StackTable().AppendEmpty()
	for i := range int32(maxRemembered) {
		many.StringTable().Append(fmt.Sprint("f", i))
		many.FunctionTable().AppendEmpty().SetNameStrindex(i + 1)
		addLocation(many, 0, i+1)
	}
	locations := make([]int32, maxRemembered)
	for i := range locations {
		locations[i] = int32(i + 1)
	}
	stack := addStack(many, locations...)
	d.Reset(many, false)
	functions := d.StackFunctions(stack)
	assert.Len(t, functions, maxRemembered)
	assert.Equal(t, generation, d.Generation(), "what a message holds is known until its end")
	ids(dictionary())
	assert.Equal(t, generation+1, d.Generation(), "but not for ever")
}

// FuzzIndices puts any numbers into every index of a dictionary: whatever they
// are, every stack resolves to at least one function, each at most once.
func FuzzIndices(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	f.Add([]byte{0xff, 0xfe, 0x80, 0x7f, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, numbers []byte) {
		data, next := dictionary(), 0
		index := func() int32 {
			if len(numbers) == 0 {
				return 0
			}
			next++
			return int32(int8(numbers[next%len(numbers)]))
		}
		for _, function := range data.FunctionTable().All() {
			function.SetNameStrindex(index())
			function.SetSystemNameStrindex(index())
			function.SetFilenameStrindex(index())
		}
		for _, mapping := range data.MappingTable().All() {
			mapping.SetFilenameStrindex(index())
		}
		for _, location := range data.LocationTable().All() {
			location.SetMappingIndex(index())
			for _, line := range location.Lines().All() {
				line.SetFunctionIndex(index())
			}
		}
		for range 4 {
			addStack(data, index(), index(), index())
		}
		var d Dictionary
		d.Reset(data, len(numbers)%2 == 0)
		d.FirstMapping()
		for function := range d.Mentioned() {
			require.NotEmpty(t, d.Function(function).Name)
		}
		for stack := int32(-2); stack < 8; stack++ {
			functions := d.StackFunctions(stack)
			require.NotEmpty(t, functions)
			sorted := slices.Sorted(slices.Values(functions))
			require.Len(t, slices.Compact(sorted), len(functions))
			for _, function := range functions {
				require.NotEmpty(t, d.Function(function).Name)
			}
			for _, location := range d.StackLocations(stack).All() {
				for _, frame := range d.LocationFrames(location) {
					d.Function(frame.Function)
				}
			}
			d.LeafLocation(stack)
			d.Fetch(stack)
		}
	})
}
