// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"

import (
	"encoding/binary"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/selection"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"
)

// extractionTable remembers what the extractors found: per text, so that a
// pattern meets each function, file and mapping once, and not again in later
// messages; per stack of a message, where nothing else matters; and as tuples,
// which tell output groups apart by one number.
type extractionTable struct {
	searches []search // by extractor

	texts    map[string]int32 // of files and mappings
	textIDs  []int32          // by index of the string table: text ID + 1
	values   []string
	valueIDs map[string]int32

	ofLocation []matches // by location of the message

	tuples   [][]int32 // value IDs by extractor, or absent
	tupleIDs map[string]int32
	byStack  []int32 // tuple number + 1

	tuple []int32
	key   []byte
	// onlyStacks is true where no extractor looks into attributes.
	onlyStacks bool
}

// absent is the value ID of an attribute that a sample does not have.
const absent int32 = -1

// search is what one extractor found so far.
type search struct {
	byFunction []int32 // by function ID: value ID + 2, missed, or 0 for not looked
	byText     []int32 // the same by text ID
}

const missed int32 = 1

// maxRemembered is how many texts, values and tuples are remembered from
// message to message.
const maxRemembered = 1 << 16

// reset turns to another message. Function IDs are those of the message before
// unless they have lost their meaning.
func (t *extractionTable) reset(extractors []*selection.Extractor, dictionary *symbols.Dictionary, functionsChanged bool) {
	if len(extractors) == 0 {
		return
	}
	if functionsChanged || max(len(t.texts), len(t.values), len(t.tuples)) > maxRemembered {
		t.forget(extractors)
	}
	t.textIDs = emptied(t.textIDs, dictionary.Strings())
	t.ofLocation = emptied(t.ofLocation, dictionary.Locations())
	t.byStack = emptied(t.byStack, dictionary.Stacks()+1)
}

func (t *extractionTable) forget(extractors []*selection.Extractor) {
	*t = extractionTable{
		searches:   make([]search, len(extractors)),
		texts:      make(map[string]int32),
		valueIDs:   make(map[string]int32),
		tupleIDs:   make(map[string]int32),
		textIDs:    t.textIDs,
		ofLocation: t.ofLocation,
		byStack:    t.byStack,
		onlyStacks: true,
	}
	for _, extractor := range extractors {
		t.onlyStacks = t.onlyStacks && !extractor.LooksIn(selection.InAttribute)
	}
}

// value interns an extracted value.
func (t *extractionTable) value(text string) int32 {
	if id, ok := t.valueIDs[text]; ok {
		return id
	}
	id := int32(len(t.values))
	t.values = append(t.values, text)
	t.valueIDs[text] = id
	return id
}

// intern numbers the tuple in the making.
func (t *extractionTable) intern() int32 {
	t.key = t.key[:0]
	for _, value := range t.tuple {
		t.key = binary.LittleEndian.AppendUint32(t.key, uint32(value))
	}
	if number, ok := t.tupleIDs[string(t.key)]; ok {
		return number
	}
	number := int32(len(t.tuples))
	t.tuples = append(t.tuples, append([]int32(nil), t.tuple...))
	t.tupleIDs[string(t.key)] = number
	return number
}

// extract returns the number of the tuple of values that a slot's samples
// have.
func (b *batch) extract(s *slot) int32 {
	t := &b.extraction
	if len(b.selection.Extractors) == 0 {
		return 0
	}
	known := &t.byStack[s.stack+1]
	if t.onlyStacks && *known != 0 {
		return *known - 1
	}
	t.tuple = t.tuple[:0]
	inStack := b.matchesOfStack(s.stack)
	for i, extractor := range b.selection.Extractors {
		t.tuple = append(t.tuple, b.extractOne(i, extractor, s, inStack))
	}
	number := t.intern()
	*known = number + 1
	return number
}

func (b *batch) extractOne(i int, extractor *selection.Extractor, s *slot, inStack matches) int32 {
	if literal, ok := extractor.Literal(); ok {
		return b.extraction.value(literal)
	}
	for _, place := range extractor.From {
		var value int32
		switch {
		case place == selection.InAttribute:
			value = b.extractFromAttributes(extractor, &b.groups.groups[s.group])
		case inStack.mayMatch(i):
			value = b.extractFromStack(i, extractor, place, s.stack)
		default:
			value = absent
		}
		if value != absent {
			return value
		}
	}
	if fallback, ok := extractor.Fallback(); ok {
		return b.extraction.value(fallback)
	}
	return absent
}

// extractFromStack looks at one place of every frame, from the leaf to the
// root: the frame nearest to the leaf wins.
func (b *batch) extractFromStack(i int, extractor *selection.Extractor, place selection.Place, stack int32) int32 {
	for _, location := range b.symbols.StackLocations(stack).All() {
		for _, frame := range b.symbols.LocationFrames(location) {
			if value := b.extractFromFrame(i, extractor, place, frame); value != absent {
				return value
			}
		}
	}
	return absent
}

func (b *batch) extractFromFrame(i int, extractor *selection.Extractor, place selection.Place, frame symbols.Frame) int32 {
	switch place {
	case selection.InFunction:
		return b.searchFunction(i, extractor, frame.Function)
	case selection.InFile:
		return b.searchString(i, extractor, frame.File)
	default:
		return b.searchString(i, extractor, frame.Mapping)
	}
}

// matches tells which extractors match anywhere, a bit for each of the first
// 64: most patterns match in few stacks, and need not be looked for in others.
type matches struct {
	known bool
	bits  uint64
}

const bitsOfMatches = 64

// mayMatch says whether an extractor may match in a stack with these matches.
func (m matches) mayMatch(i int) bool { return i >= bitsOfMatches || m.bits&(1<<i) != 0 }

// matchesOfStack joins the matches of a stack's locations.
func (b *batch) matchesOfStack(stack int32) matches {
	joined := matches{known: true}
	locations := b.symbols.StackLocations(stack)
	for i := range locations.Len() {
		location := locations.At(i)
		if location < 0 || int(location) >= len(b.extraction.ofLocation) {
			joined.bits |= b.matchesOfFrames(location).bits
			continue
		}
		known := &b.extraction.ofLocation[location]
		if !known.known {
			*known = b.matchesOfFrames(location)
		}
		joined.bits |= known.bits
	}
	return joined
}

// matchesOfFrames finds out which extractors match in any place of a location.
func (b *batch) matchesOfFrames(location int32) matches {
	joined := matches{known: true}
	for _, frame := range b.symbols.LocationFrames(location) {
		for i, extractor := range b.selection.Extractors[:min(len(b.selection.Extractors), bitsOfMatches)] {
			for _, place := range extractor.From {
				if place != selection.InAttribute && b.extractFromFrame(i, extractor, place, frame) != absent {
					joined.bits |= 1 << i
				}
			}
		}
	}
	return joined
}

func (b *batch) searchFunction(i int, extractor *selection.Extractor, function symbols.FunctionID) int32 {
	memo := at(&b.extraction.searches[i].byFunction, int(function))
	if *memo == 0 {
		*memo = b.search(extractor, b.symbols.Function(function).Name)
	}
	return *memo - 2
}

func (b *batch) searchString(i int, extractor *selection.Extractor, index int32) int32 {
	text, ok := b.symbols.String(index)
	if !ok {
		return absent
	}
	memo := at(&b.extraction.searches[i].byText, int(b.extraction.text(index, text)))
	if *memo == 0 {
		*memo = b.search(extractor, text)
	}
	return *memo - 2
}

// text numbers a string of the dictionary.
func (t *extractionTable) text(index int32, text string) int32 {
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

// at returns an element of a table that grows with its largest index.
func at[T any](table *[]T, index int) *T {
	if missing := index + 1 - len(*table); missing > 0 {
		*table = append(*table, make([]T, missing)...)
	}
	return &(*table)[index]
}

// search returns what a memo holds of a text.
func (b *batch) search(extractor *selection.Extractor, text string) int32 {
	if match, ok := extractor.Match(text); ok {
		return b.extraction.value(match) + 2
	}
	return missed
}

// extractFromAttributes looks at the values of the attributes of the sample,
// its leaf location, its profile, scope and resource, in this order.
func (b *batch) extractFromAttributes(extractor *selection.Extractor, g *group) int32 {
	for _, indices := range [][]int32{g.attributes, b.groups.profile} {
		for _, index := range indices {
			_, value, problem := b.symbols.Attribute(index)
			if problem.Reason != "" {
				continue
			}
			if match, ok := extractor.Match(value.AsString()); ok {
				return b.extraction.value(match)
			}
		}
	}
	for _, attributes := range []pcommon.Map{b.scope.Attributes(), b.resource.attributes} {
		for _, value := range attributes.All() {
			if match, ok := extractor.Match(value.AsString()); ok {
				return b.extraction.value(match)
			}
		}
	}
	return absent
}
