// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"

import (
	"encoding/binary"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

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
	// By number: what is found there, and what need not be looked for farther
	// from the leaf.
	offers, covers []places

	texts   map[string]int32 // of files and mappings, from 1
	textIDs []int32          // by index of the message's string table; 0 where nobody looked yet

	// Numbers of findings, one up; 0 where nobody looked yet.
	ofFunction        []int32 // by function ID
	ofFile, ofMapping []int32 // by text ID
	ofStack           []int32 // by index of the message's stack table, one up

	ofFrames []frameFindings // by function ID, where the function occurred last
	// Numbers by index of the message's location table, the last for locations
	// that aren't there.
	ofLocation []int32
	offered    places // by all locations of the message

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

// frameFindings are those of a frame: a function, and the texts of its file and
// mapping, or 0 where no extractor looks there.
type frameFindings struct {
	file, mapping int32
	number        int32 // one up
}

func (t *findingsTable) size() int { return max(len(t.all), len(t.texts)) }

func (t *findingsTable) reset(dictionary *symbols.Dictionary) {
	t.textIDs = emptied(t.textIDs, dictionary.Strings())
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
	t.offers, t.covers = append(t.offers, offersOf(t.scratch)), append(t.covers, coversOf(t.scratch))
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
	known := &t.joined[hashOf(nearer, farther)%joinsRemembered]
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

// hashOf mixes two numbers, for tables that remember what was looked up last.
func hashOf(a, b int32) uint32 { return uint32(a)*0x9e3779b1 ^ uint32(b)*0x85ebca6b }

// findInLocations finds what is in each location of the message. As symbols
// does, it goes through them as they lie in memory, instead of as stacks ask.
func (b *batch) findInLocations() {
	t := &b.extraction.findings
	if !t.inFrames {
		return
	}
	at(&t.ofFrames, b.symbols.Functions())
	t.ofLocation, t.offered = t.ofLocation[:0], 0
	for location := range b.symbols.Locations() {
		t.addLocation(b.findingsOfLocation(int32(location)))
	}
	t.addLocation(b.findingsOfLocation(noLocation))
}

func (t *findingsTable) addLocation(found int32) {
	t.ofLocation = append(t.ofLocation, found)
	t.offered |= t.offers[found]
}

// noLocation is the index of no location.
const noLocation int32 = -1

// findingsOfStack are those of all frames, from the leaf to the root.
func (b *batch) findingsOfStack(stack int32) int32 {
	t := &b.extraction.findings
	known := &t.ofStack[stack+1]
	if *known != 0 {
		return *known - 1
	}
	found := nothing
	if t.inFrames {
		found = t.findAlong(b.symbols.StackLocations(stack))
	}
	*known = found + 1
	return found
}

// findAlong joins the findings of locations, the leaf's first, until there is
// nothing left to find in the message. Few locations have what those before
// them have not.
func (t *findingsTable) findAlong(locations pcommon.Int32Slice) int32 {
	found, covered := nothing, t.covers[nothing]
	ofLocation, offers := t.ofLocation, t.offers
	missing := uint32(len(ofLocation) - 1)
	for i := range locations.Len() {
		// As an unsigned number, a negative one is out of range like all others.
		here := ofLocation[min(uint32(locations.At(i)), missing)]
		if offers[here]&^covered == 0 {
			continue
		}
		found = t.join(found, here)
		offers = t.offers // which the join may have added to
		if covered = t.covers[found]; t.offered&^covered == 0 {
			break
		}
	}
	return found
}

// findingsOfLocation are those of the frames of a location, which need not
// exist.
func (b *batch) findingsOfLocation(location int32) int32 {
	t := &b.extraction.findings
	found := nothing
	for _, frame := range b.symbols.LocationFrames(location) {
		seen := frameFindings{}
		if t.inFiles {
			seen.file = b.text(frame.File)
		}
		if t.inMappings {
			seen.mapping = b.text(frame.Mapping)
		}
		known := &t.ofFrames[frame.Function]
		if seen.number = known.number; seen != *known || seen.number == 0 {
			seen.number = b.findInFrame(frame, seen) + 1
			*known = seen
		}
		found = t.join(found, seen.number-1)
	}
	return found
}

// findInFrame joins what is found in a frame's function, file and mapping.
func (b *batch) findInFrame(frame symbols.Frame, seen frameFindings) int32 {
	t := &b.extraction.findings
	ofFunction := at(&t.ofFunction, int(frame.Function))
	if *ofFunction == 0 {
		*ofFunction = b.search(selection.InFunction, b.symbols.Function(frame.Function).Name) + 1
	}
	found := t.join(*ofFunction-1, b.findInText(&t.ofFile, selection.InFile, frame.File, seen.file))
	return t.join(found, b.findInText(&t.ofMapping, selection.InMapping, frame.Mapping, seen.mapping))
}

// findInText are the findings in an entry of the string table, which stands for
// a place. Text is its number, or 0 for none.
func (b *batch) findInText(known *[]int32, place selection.Place, index, text int32) int32 {
	if text == 0 {
		return nothing
	}
	found := at(known, int(text))
	if *found == 0 {
		content, _ := b.symbols.String(index)
		*found = b.search(place, content) + 1
	}
	return *found - 1
}

// text numbers an entry of the string table, which may be NoString: 0.
func (b *batch) text(index int32) int32 {
	if index == symbols.NoString {
		return 0
	}
	t := &b.extraction.findings
	if known := t.textIDs[index]; known != 0 {
		return known
	}
	content, _ := b.symbols.String(index)
	id, ok := t.texts[content]
	if !ok {
		id = int32(len(t.texts)) + 1
		t.texts[content] = id
	}
	t.textIDs[index] = id
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
