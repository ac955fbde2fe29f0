// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package testprofile

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Script is what arrives over time.
type Script struct {
	Batches []Batch
	// Wait passes after the last batch.
	Wait time.Duration
}

// Batch is one message.
type Batch struct {
	// After passes before the batch arrives.
	After     time.Duration `yaml:"after"`
	Resources []Resource    `yaml:"resources"`
}

// Resource has either Scopes or, for a single scope without a name, Profiles.
type Resource struct {
	Attributes Attributes `yaml:"attributes"`
	Scopes     []Scope    `yaml:"scopes"`
	Profiles   []Profile  `yaml:"profiles"`
}

// Scope is an instrumentation scope and its profiles.
type Scope struct {
	Name       string     `yaml:"name"`
	Version    string     `yaml:"version"`
	Attributes Attributes `yaml:"attributes"`
	Profiles   []Profile  `yaml:"profiles"`
}

// Profile holds the samples of one sample type.
type Profile struct {
	SampleType ValueType     `yaml:"sample_type"`
	PeriodType ValueType     `yaml:"period_type"`
	Period     int64         `yaml:"period"`
	Time       time.Time     `yaml:"time"`
	Duration   time.Duration `yaml:"duration"`
	Attributes Attributes    `yaml:"attributes"`
	Samples    []Sample      `yaml:"samples"`
}

// Sample is a stack, leaf first, and what was measured there.
type Sample struct {
	Stack      []Location `yaml:"stack"`
	Values     []int64    `yaml:"values"`
	Timestamps []uint64   `yaml:"timestamps"`
	Attributes Attributes `yaml:"attributes"`
	Link       Link       `yaml:"link"`
}

// Link ties a sample to a span. The ids are hexadecimal.
type Link struct {
	TraceID string `yaml:"trace_id"`
	SpanID  string `yaml:"span_id"`
}

// Location is one frame of a stack, with a line for each function inlined there.
type Location struct {
	Lines      []Line     `yaml:"lines"`
	Mapping    string     `yaml:"mapping"`
	Address    uint64     `yaml:"address"`
	Attributes Attributes `yaml:"attributes"`
}

// Line is a function in a location. The zero Line has no function.
type Line struct {
	Name       string `yaml:"name"`
	SystemName string `yaml:"system_name"`
	File       string `yaml:"file"`
	Line       int64  `yaml:"line"`
}

// ValueType is written as type/unit.
type ValueType string

// Attributes are values by key.
type Attributes = map[string]any

// Quantity is an attribute value with a unit.
type Quantity struct {
	Value any
	Unit  string
}

// New builds the profiles of one batch and ends the test where it cannot.
func New(tb testing.TB, resources ...Resource) pprofile.Profiles {
	tb.Helper()
	profiles, err := Batch{Resources: resources}.Profiles()
	require.NoError(tb, err)
	return profiles
}

// Stack reads locations, leaf first, from their notation as strings.
func Stack(locations ...string) []Location {
	stack := make([]Location, len(locations))
	for i, location := range locations {
		stack[i] = parseLocation(location)
	}
	return stack
}

const (
	unknown       = "?"
	mappingPrefix = "@"
	inlinedIn     = "|"
)

func parseLocation(text string) Location {
	if text == unknown {
		return Location{}
	}
	if file, ok := strings.CutPrefix(text, mappingPrefix); ok {
		return Location{Mapping: file}
	}
	var location Location
	for line := range strings.SplitSeq(text, inlinedIn) {
		location.Lines = append(location.Lines, parseLine(line))
	}
	return location
}

func parseLine(text string) Line {
	if text == unknown {
		return Line{}
	}
	name, file, _ := strings.Cut(text, "@")
	if i := strings.LastIndexByte(file, ':'); i >= 0 {
		if line, err := strconv.ParseInt(file[i+1:], 10, 64); err == nil {
			return Line{Name: name, File: file[:i], Line: line}
		}
	}
	return Line{Name: name, File: file}
}

func (v ValueType) split() (typ, unit string) {
	if i := strings.LastIndexByte(string(v), '/'); i >= 0 {
		return string(v[:i]), string(v[i+1:])
	}
	return string(v), ""
}
