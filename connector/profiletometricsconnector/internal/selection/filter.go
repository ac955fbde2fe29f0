// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package selection knows what the user chose: which samples are counted,
// which functions get series, and which attributes points carry. It holds
// everything that is compiled once from the configuration, and is the only
// package that knows regular expressions.
package selection // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/selection"

import (
	"errors"
	"fmt"
	"regexp"
)

// Filter passes the names that match any of its patterns and none of its
// exclusions. The nil Filter passes everything.
type Filter struct {
	include, exclude []*regexp.Regexp
}

// NewFilter compiles a filter. Patterns are RE2 and not anchored. Errors name
// the pattern by its key below path.
func NewFilter(path, pattern string, patterns, excludePatterns []string) (*Filter, error) {
	filter := &Filter{}
	var errs []error
	compile := func(key, pattern string) *regexp.Regexp {
		re, err := compilePattern(path+"."+key, pattern)
		errs = append(errs, err)
		return re
	}
	if pattern != "" {
		filter.include = append(filter.include, compile("pattern", pattern))
	}
	for i, pattern := range patterns {
		filter.include = append(filter.include, compile(fmt.Sprintf("patterns[%d]", i), pattern))
	}
	for i, pattern := range excludePatterns {
		filter.exclude = append(filter.exclude, compile(fmt.Sprintf("exclude_patterns[%d]", i), pattern))
	}
	if len(filter.include)+len(filter.exclude) == 0 {
		errs = append(errs, fmt.Errorf("%s.pattern: an enabled filter needs a pattern; set pattern, patterns or exclude_patterns, or set %s.enabled to false", path, path))
	}
	return filter, errors.Join(errs...)
}

// compilePattern compiles one regular expression; an empty one is taken for an
// omission, for it would match everything.
func compilePattern(path, pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, fmt.Errorf("%s: is empty; write a regular expression, or remove the entry", path)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %q is not a valid RE2 regular expression: %w; see https://github.com/google/re2/wiki/Syntax", path, pattern, err)
	}
	return re, nil
}

// Passes says whether a sample with this name is counted.
func (f *Filter) Passes(name string) bool {
	return f == nil || f.includes(name) && !f.Excludes(name)
}

func (f *Filter) includes(name string) bool {
	return len(f.include) == 0 || matchesAny(f.include, name)
}

// Requires says whether a name has to match for a sample to be counted; with a
// filter that only excludes, a sample without any name passes.
func (f *Filter) Requires() bool { return f != nil && len(f.include) > 0 }

// Matches says whether a name matches one of the patterns.
func (f *Filter) Matches(name string) bool { return f != nil && matchesAny(f.include, name) }

// Excludes says whether a name matches one of the exclusions.
func (f *Filter) Excludes(name string) bool { return f != nil && matchesAny(f.exclude, name) }

func matchesAny(patterns []*regexp.Regexp, name string) bool {
	for _, pattern := range patterns {
		if pattern.MatchString(name) {
			return true
		}
	}
	return false
}
