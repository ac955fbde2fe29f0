// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"

import (
	"encoding/binary"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/selection"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"
)

// extractionTable remembers what the extractors found: tuples of values, one
// for each extractor, which tell output groups apart by one number. Nothing but
// what depends on one message is forgotten with it.
type extractionTable struct {
	findings findingsTable

	values   []string
	valueIDs map[string]int32
	// What extractors find without looking anywhere: by extractor, the value of
	// a literal and that for want of a match, or absent. attributes is where
	// they look into the attributes: a position in From, or nowhere.
	literals, fallbacks []int32
	attributes          []rank

	tuples   [][]int32 // value IDs by extractor, or absent
	tupleIDs map[string]int32
	// byFindings are one up; they hold where no extractor looks into
	// attributes.
	byFindings []int32
	onlyStacks bool

	tuple []int32
	key   []byte
}

// absent is the value ID of an attribute that a sample does not have.
const absent int32 = -1

// maxRemembered is how many texts, values, findings and tuples are remembered
// from message to message.
const maxRemembered = 1 << 16

// reset turns to another message. Function IDs are those of the message before
// unless they have lost their meaning.
func (t *extractionTable) reset(extractors []*selection.Extractor, dictionary *symbols.Dictionary, functionsChanged bool) {
	if len(extractors) == 0 {
		return
	}
	if functionsChanged || max(len(t.values), len(t.tuples), t.findings.size()) > maxRemembered {
		t.forget(extractors)
	}
	t.findings.reset(dictionary)
}

func (t *extractionTable) forget(extractors []*selection.Extractor) {
	*t = extractionTable{
		findings:   t.findings,
		valueIDs:   make(map[string]int32),
		tupleIDs:   make(map[string]int32),
		onlyStacks: true,
	}
	t.findings.forget(extractors)
	for _, extractor := range extractors {
		t.literals = append(t.literals, t.valueIf(extractor.Literal()))
		t.fallbacks = append(t.fallbacks, t.valueIf(extractor.Fallback()))
		position := rankOf(extractor, selection.InAttribute)
		t.attributes = append(t.attributes, position)
		t.onlyStacks = t.onlyStacks && position == nowhere
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

func (t *extractionTable) valueIf(text string, ok bool) int32 {
	if !ok {
		return absent
	}
	return t.value(text)
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
	found := b.findingsOfStack(s.stack)
	known := at(&t.byFindings, int(found))
	if t.onlyStacks && *known != 0 {
		return *known - 1
	}
	t.tuple = t.tuple[:0]
	for i, finding := range t.findings.all[found] {
		t.tuple = append(t.tuple, b.decide(i, finding, s.group))
	}
	number := t.intern()
	*known = number + 1
	return number
}

// decide returns the value of an extractor, given what it found in the stack.
func (b *batch) decide(i int, inStack finding, group int32) int32 {
	t := &b.extraction
	if t.literals[i] != absent {
		return t.literals[i]
	}
	if t.attributes[i] < inStack.rank {
		if value := b.extractFromAttributes(b.selection.Extractors[i], &b.groups.groups[group]); value != absent {
			return value
		}
	}
	if inStack.rank != nowhere {
		return inStack.value
	}
	return t.fallbacks[i]
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

// at returns an element of a table that grows with its largest index.
func at[T any](table *[]T, index int) *T {
	if missing := index + 1 - len(*table); missing > 0 {
		*table = append(*table, make([]T, missing)...)
	}
	return &(*table)[index]
}
