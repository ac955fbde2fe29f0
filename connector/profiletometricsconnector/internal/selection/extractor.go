// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package selection // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/selection"

import (
	"fmt"
	"regexp"
	"strings"
)

// Place is where an extractor looks.
type Place uint8

// The places, in the default order.
const (
	InFunction  Place = iota // the names of the functions of the stack
	InFile                   // the paths of their source files
	InMapping                // the files that their code was mapped from
	InAttribute              // the values of the sample's attributes
)

var placeNames = []string{InFunction: "function", InFile: "file", InMapping: "mapping", InAttribute: "attribute"}

// Extractor derives one attribute of a sample.
type Extractor struct {
	Key string
	// From are the places to look in, in this order; empty for a literal.
	From []Place

	literal string
	pattern *regexp.Regexp // nil for a literal
	// fallback is the value where nothing matches, if any.
	fallback    string
	hasFallback bool
}

// NewLiteral returns an extractor whose attribute always has one value.
func NewLiteral(key, value string) *Extractor { return &Extractor{Key: key, literal: value} }

// NewRegex returns an extractor that looks for a pattern. Errors name the key
// below path.
func NewRegex(path, key, pattern string, from []string, fallback *string) (*Extractor, error) {
	re, err := compilePattern(path+".value", pattern)
	if err != nil {
		return nil, err
	}
	places, err := parsePlaces(path+".from", from)
	if err != nil {
		return nil, err
	}
	extractor := &Extractor{Key: key, From: places, pattern: re}
	if fallback != nil {
		extractor.fallback, extractor.hasFallback = *fallback, true
	}
	return extractor, nil
}

func parsePlaces(path string, names []string) ([]Place, error) {
	if len(names) == 0 {
		return []Place{InFunction, InFile, InMapping}, nil
	}
	var places []Place
	seen := make(map[Place]bool)
	for i, name := range names {
		place, ok := parsePlace(name)
		if !ok {
			return nil, fmt.Errorf("%s[%d]: %q is no place to look in; use one of %s", path, i, name, strings.Join(placeNames, ", "))
		}
		if seen[place] {
			return nil, fmt.Errorf("%s[%d]: %q is named twice; remove one", path, i, name)
		}
		seen[place] = true
		places = append(places, place)
	}
	return places, nil
}

func parsePlace(name string) (Place, bool) {
	for place, known := range placeNames {
		if known == name {
			return Place(place), true
		}
	}
	return 0, false
}

// Literal returns the value of an extractor that does not look anywhere.
func (e *Extractor) Literal() (string, bool) { return e.literal, e.pattern == nil }

// Match looks for the pattern in a text: the first capturing group, or the
// whole match of a pattern without groups.
func (e *Extractor) Match(text string) (string, bool) {
	match := e.pattern.FindStringSubmatchIndex(text)
	switch {
	case match == nil:
		return "", false
	case len(match) == 2:
		return text[match[0]:match[1]], true
	case match[2] < 0:
		// The group took no part in the match.
		return "", false
	default:
		return text[match[2]:match[3]], true
	}
}

// Fallback is the value where nothing matched, and false where the attribute
// is then absent.
func (e *Extractor) Fallback() (string, bool) { return e.fallback, e.hasFallback }

// LooksIn says whether the extractor looks in a place.
func (e *Extractor) LooksIn(place Place) bool {
	for _, from := range e.From {
		if from == place {
			return true
		}
	}
	return false
}
