// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package selection // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/selection"

import (
	"path"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// The attributes of the semantic conventions that name a process and a thread.
const (
	processName    = "process.executable.name"
	processPath    = "process.executable.path"
	processCommand = "process.command"
	threadName     = "thread.name"
	threadID       = "thread.id"
)

// Selection is the compiled choice of samples, functions and attributes. It is
// immutable and safe for concurrent use.
type Selection struct {
	// Process, Thread and Pattern filter samples by process name, thread name
	// and the functions of the stack; nil passes all.
	Process, Thread, Pattern *Filter
	Functions                *Functions
	// Dimensions are the attributes copied from the data.
	Dimensions []string
	Extractors []*Extractor
	Resource   ResourceAttributes
	// Rules are the export rules; nil for none.
	Rules *Rules

	// wanted are the keys that Lookup finds, each once; the dimensions first,
	// in their order.
	wanted []string
}

// Compile completes a Selection whose other fields are set.
func (s *Selection) Compile() {
	s.wanted = slices.Clone(s.Dimensions)
	if s.Process != nil {
		s.want(processName, processPath, processCommand)
	}
	if s.Thread != nil {
		s.want(threadName, threadID)
	}
}

func (s *Selection) want(keys ...string) {
	for _, key := range keys {
		if !slices.Contains(s.wanted, key) {
			s.wanted = append(s.wanted, key)
		}
	}
}

// Wanted are the keys of all attributes that the selection depends on. Values
// are passed around in slices of this length and order.
func (s *Selection) Wanted() []string { return s.wanted }

// LooksInAttributes says whether an extractor depends on all attributes of a
// sample, whatever their keys.
func (s *Selection) LooksInAttributes() bool {
	return slices.ContainsFunc(s.Extractors, func(e *Extractor) bool { return e.LooksIn(InAttribute) })
}

// Value is an attribute value that was looked up.
type Value struct {
	pcommon.Value
	// Found is false for an attribute that the sample does not have.
	Found bool
	// OnOutput is true where the output's resource has the attribute, so that
	// points need not repeat it.
	OnOutput bool
}

// Passes says whether the process and thread filters let a sample pass. Values
// are those of Wanted; firstMapping is asked for the file name of the main
// binary.
func (s *Selection) Passes(values []Value, firstMapping func() string) bool {
	if s.Process != nil && !s.Process.Passes(s.processName(values, firstMapping)) {
		return false
	}
	return s.Thread == nil || s.Thread.Passes(s.threadName(values))
}

func (s *Selection) processName(values []Value, firstMapping func() string) string {
	if name := s.text(values, processName); name != "" {
		return name
	}
	if file := s.text(values, processPath); file != "" {
		return path.Base(file)
	}
	if command := s.text(values, processCommand); command != "" {
		return command
	}
	if file := firstMapping(); file != "" {
		return path.Base(file)
	}
	return ""
}

func (s *Selection) threadName(values []Value) string {
	if name := TrimName(s.text(values, threadName)); name != "" {
		return name
	}
	return s.text(values, threadID)
}

// TrimName cuts the NULs off a thread name that was copied with its buffer.
func TrimName(name string) string { return strings.TrimRight(name, "\x00") }

// text returns a wanted attribute as a string, empty where it is absent.
func (s *Selection) text(values []Value, key string) string {
	i := slices.Index(s.wanted, key)
	if i < 0 || !values[i].Found {
		return ""
	}
	return values[i].AsString()
}

// IsThreadName says whether a dimension holds a thread's name.
func IsThreadName(key string) bool { return key == threadName }

// ResourceAttributes chooses the attributes of an input resource that stay on
// the output.
type ResourceAttributes struct {
	// Include lists the keys that stay; empty for all.
	Include []string
	// Exclude lists the keys that go, even if included.
	Exclude []string
}

// Keeps says whether an attribute stays.
func (r ResourceAttributes) Keeps(key string) bool {
	if len(r.Include) > 0 && !slices.Contains(r.Include, key) {
		return false
	}
	return !slices.Contains(r.Exclude, key)
}
