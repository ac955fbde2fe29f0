// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"

import (
	"encoding/binary"
	"slices"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/selection"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"
)

// finding is what one extractor finds in a part of a stack.
type finding struct {
	rank  rank
	value int32
}

// rank is the position in Extractor.From of the place where something was
// found: the lower one wins, and among equals what is nearer to the leaf.
type rank uint8

// nowhere is the rank of no finding.
const nowhere rank = 0xff

func rankOf(extractor *selection.Extractor, place selection.Place) rank {
	if position := slices.Index(extractor.From, place); position >= 0 {
		return rank(position)
	}
	return nowhere
}

// findingsTable numbers what all extractors find, each its own, in a part of a
// stack: in a function, a file, a location, and in all of a stack. Since the
// findings of a whole follow from those of its parts, a pattern meets each text
// once, and joining two numbers is a look into a table.
type findingsTable struct {
	all [][]finding // by number, and then by extractor; 0 is nothing
	ids map[string]int32

	texts   map[string]int32 // of files and mappings
	textIDs []int32          // by index of the message's string table: text ID + 1

	// Numbers of findings, one up; 0 where nobody looked yet.
	ofFunction        []int32 // by function ID
	ofFile, ofMapping []int32 // by text ID
	ofLocation        []int32 // by index of the message's location table
	ofStack           []int32 // by index of the message's stack table, one up

	inFrames, inFiles, inMappings bool // some extractor looks there

	joined  [joinsRemembered]join
	scratch []finding
	key     []byte
}

// join remembers what the findings of two parts give together.
type join struct{ nearer, farther, both int32 }

const joinsRemembered = 1 << 12

// nothing is the number of no findings.
const nothing int32 = 0

func (t *findingsTable) size() int { return max(len(t.all), len(t.texts)) }

func (t *findingsTable) reset(dictionary *symbols.Dictionary) {
	t.textIDs = emptied(t.textIDs, dictionary.Strings())
	t.ofLocation = emptied(t.ofLocation, dictionary.Locations())
	t.ofStack = emptied(t.ofStack, dictionary.Stacks()+1)
}

func (t *findingsTable) forget(extractors []*selection.Extractor) {
	*t = findingsTable{
		ids:        make(map[string]int32),
		texts:      make(map[string]int32),
		textIDs:    t.textIDs,
		ofLocation: t.ofLocation,
		ofStack:    t.ofStack,
	}
	for _, extractor := range extractors {
		t.scratch = append(t.scratch, finding{rank: nowhere})
		t.inFiles = t.inFiles || extractor.LooksIn(selection.InFile)
		t.inMappings = t.inMappings || extractor.LooksIn(selection.InMapping)
		t.inFrames = t.inFrames || t.inFiles || t.inMappings || extractor.LooksIn(selection.InFunction)
	}
	t.intern() // is nothing
}

// intern numbers the findings in the making.
func (t *findingsTable) intern() int32 {
	t.key = t.key[:0]
	for _, f := range t.scratch {
		t.key = append(t.key, byte(f.rank))
		t.key = binary.LittleEndian.AppendUint32(t.key, uint32(f.value))
	}
	if number, ok := t.ids[string(t.key)]; ok {
		return number
	}
	number := int32(len(t.all))
	t.all = append(t.all, slices.Clone(t.scratch))
	t.ids[string(t.key)] = number
	return number
}

// join returns the findings of two parts together.
func (t *findingsTable) join(nearer, farther int32) int32 {
	switch {
	case farther == nothing || farther == nearer:
		return nearer
	case nearer == nothing:
		return farther
	}
	known := &t.joined[(uint32(nearer)*0x9e3779b1^uint32(farther)*0x85ebca6b)%joinsRemembered]
	if known.nearer != nearer || known.farther != farther {
		for i, f := range t.all[farther] {
			t.scratch[i] = t.all[nearer][i]
			if f.rank < t.scratch[i].rank {
				t.scratch[i] = f
			}
		}
		*known = join{nearer, farther, t.intern()}
	}
	return known.both
}

// findingsOfStack are those of all frames, from the leaf to the root.
func (b *batch) findingsOfStack(stack int32) int32 {
	t := &b.extraction.findings
	known := &t.ofStack[stack+1]
	if *known != 0 {
		return *known - 1
	}
	found := nothing
	if t.inFrames {
		locations := b.symbols.StackLocations(stack)
		before := nothing
		for i := range locations.Len() {
			here := b.findingsOfLocation(locations.At(i))
			// What was joined once changes nothing any more.
			if here != nothing && here != before {
				found, before = t.join(found, here), here
			}
		}
	}
	*known = found + 1
	return found
}

// findingsOfLocation are those of the frames of a location, which need not
// exist.
func (b *batch) findingsOfLocation(location int32) int32 {
	known := b.extraction.findings.ofLocation
	if i := int(uint32(location)); i < len(known) && known[i] != 0 {
		return known[i] - 1
	}
	return b.lookIntoLocation(location)
}

func (b *batch) lookIntoLocation(location int32) int32 {
	t := &b.extraction.findings
	found := nothing
	for _, frame := range b.symbols.LocationFrames(location) {
		found = t.join(found, b.findingsOfFrame(frame))
	}
	if location >= 0 && int(location) < len(t.ofLocation) {
		t.ofLocation[location] = found + 1
	}
	return found
}

func (b *batch) findingsOfFrame(frame symbols.Frame) int32 {
	t := &b.extraction.findings
	ofFunction := at(&t.ofFunction, int(frame.Function))
	if *ofFunction == 0 {
		*ofFunction = b.search(selection.InFunction, b.symbols.Function(frame.Function).Name) + 1
	}
	found := *ofFunction - 1
	if t.inFiles {
		found = t.join(found, b.findingsOfText(&t.ofFile, selection.InFile, frame.File))
	}
	if t.inMappings {
		found = t.join(found, b.findingsOfText(&t.ofMapping, selection.InMapping, frame.Mapping))
	}
	return found
}

// findingsOfText are those in an entry of the string table, which stands for a
// place.
func (b *batch) findingsOfText(known *[]int32, place selection.Place, index int32) int32 {
	text, ok := b.symbols.String(index)
	if !ok {
		return nothing
	}
	found := at(known, int(b.extraction.findings.text(index, text)))
	if *found == 0 {
		*found = b.search(place, text) + 1
	}
	return *found - 1
}

// text numbers a string of the dictionary.
func (t *findingsTable) text(index int32, text string) int32 {
	if known := t.textIDs[index]; known != 0 {
		return known - 1
	}
	id, ok := t.texts[text]
	if !ok {
		id = int32(len(t.texts))
		t.texts[text] = id
	}
	t.textIDs[index] = id + 1
	return id
}

// search lets all extractors that look in a place look at a text.
func (b *batch) search(place selection.Place, text string) int32 {
	t := &b.extraction
	for i, extractor := range b.selection.Extractors {
		t.findings.scratch[i] = finding{rank: nowhere}
		position := rankOf(extractor, place)
		if position == nowhere {
			continue
		}
		if match, ok := extractor.Match(text); ok {
			t.findings.scratch[i] = finding{position, t.value(match)}
		}
	}
	return t.findings.intern()
}
