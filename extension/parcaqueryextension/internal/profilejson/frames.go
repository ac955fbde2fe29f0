// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profilejson

import (
	"cmp"
	"path"
	"slices"

	"github.com/google/pprof/profile"
)

// frame is a function call as a document tells it. Which fields are set depends
// on the document; frames that differ in none of them are the same.
type frame struct {
	name       string
	systemName string
	file       string
	binary     string
	startLine  int64
	line       int64
}

func (f frame) compare(other frame) int {
	return cmp.Or(
		cmp.Compare(f.name, other.name),
		cmp.Compare(f.systemName, other.systemName),
		cmp.Compare(f.file, other.file),
		cmp.Compare(f.binary, other.binary),
		cmp.Compare(f.startLine, other.startLine),
		cmp.Compare(f.line, other.line),
	)
}

// describe makes the frame of a line of a location. A location without symbols
// has one line, which is empty.
type describe func(*profile.Location, profile.Line) frame

// frameTable numbers the distinct frames of a profile, and knows those of each
// location; each location is looked into once.
type frameTable struct {
	describe   describe
	frames     []frame
	numbers    map[frame]int32
	byLocation map[*profile.Location][]int32
}

func newFrameTable(d describe) *frameTable {
	return &frameTable{
		describe:   d,
		numbers:    map[frame]int32{},
		byLocation: map[*profile.Location][]int32{},
	}
}

// of returns the frames of a location, caller first.
func (t *frameTable) of(l *profile.Location) []int32 {
	if frames, known := t.byLocation[l]; known {
		return frames
	}
	lines := l.Line
	if len(lines) == 0 {
		lines = make([]profile.Line, 1)
	}
	// pprof has the innermost inlined function first.
	frames := make([]int32, 0, len(lines))
	for _, line := range slices.Backward(lines) {
		frames = append(frames, t.number(t.describe(l, line)))
	}
	t.byLocation[l] = frames
	return frames
}

func (t *frameTable) number(f frame) int32 {
	if n, known := t.numbers[f]; known {
		return n
	}
	n := int32(len(t.frames))
	t.numbers[f] = n
	t.frames = append(t.frames, f)
	return n
}

// ranks returns the place of each frame in the sorted table, by its number.
func (t *frameTable) ranks() []int32 {
	sorted := make([]int32, len(t.frames))
	for i := range sorted {
		sorted[i] = int32(i)
	}
	slices.SortFunc(sorted, func(a, b int32) int { return t.frames[a].compare(t.frames[b]) })
	ranks := make([]int32, len(sorted))
	for rank, number := range sorted {
		ranks[number] = int32(rank)
	}
	return ranks
}

// functionName is the name under which the metrics, too, know a function.
func functionName(l *profile.Location, line profile.Line) string {
	if f := line.Function; f != nil {
		if name := cmp.Or(f.Name, f.SystemName); name != "" {
			return name
		}
	}
	if binary := binaryName(l); binary != "" {
		return "[" + binary + "]"
	}
	return "[unknown]"
}

// binaryName is the base name of the file that was mapped where the location is.
func binaryName(l *profile.Location) string {
	if l.Mapping == nil || l.Mapping.File == "" {
		return ""
	}
	return path.Base(l.Mapping.File)
}
