// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package selection // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/selection"

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Matcher is a condition on a function's name, as the user writes it: exactly
// one of Contains, Equals and Regex.
type Matcher struct {
	Contains, Equals, Regex string
	// When restricts the condition to resources whose attributes have all of
	// these values.
	When map[string]string
}

// Functions chooses the functions that get series of their own.
type Functions struct {
	include, exclude []matcher
}

type matcher struct {
	matches func(name string) bool
	when    map[string]string
}

// NewFunctions compiles the choice. Errors name the matcher by its key below
// path.
func NewFunctions(path string, include, exclude []Matcher) (*Functions, error) {
	included, includeErr := compileMatchers(path+".include", include)
	excluded, excludeErr := compileMatchers(path+".exclude", exclude)
	return &Functions{included, excluded}, errors.Join(includeErr, excludeErr)
}

func compileMatchers(path string, matchers []Matcher) ([]matcher, error) {
	var compiled []matcher
	var errs []error
	for i, m := range matchers {
		matches, err := m.compile(fmt.Sprintf("%s[%d]", path, i))
		errs = append(errs, err)
		compiled = append(compiled, matcher{matches, m.When})
	}
	return compiled, errors.Join(errs...)
}

func (m Matcher) compile(path string) (func(string) bool, error) {
	conditions := 0
	for _, condition := range []string{m.Contains, m.Equals, m.Regex} {
		if condition != "" {
			conditions++
		}
	}
	if conditions != 1 {
		return nil, fmt.Errorf("%s: has %d conditions; set exactly one of contains, equals and regex to a text that isn't empty", path, conditions)
	}
	for key := range m.When {
		if key == "" {
			return nil, fmt.Errorf("%s.when: has an empty key; name a resource attribute", path)
		}
	}
	switch {
	case m.Contains != "":
		return func(name string) bool { return strings.Contains(name, m.Contains) }, nil
	case m.Equals != "":
		return func(name string) bool { return name == m.Equals }, nil
	default:
		re, err := compilePattern(path+".regex", m.Regex)
		if err != nil {
			return nil, err
		}
		return re.MatchString, nil
	}
}

// Choice is what Functions comes down to for one resource.
type Choice struct {
	functions        *Functions
	include, exclude []int
}

// For returns the choice for a resource. Matchers whose conditions on the
// resource don't hold have no say in it.
func (f *Functions) For(resource pcommon.Map) Choice {
	return Choice{f, applicable(f.include, resource), applicable(f.exclude, resource)}
}

func applicable(matchers []matcher, resource pcommon.Map) []int {
	var indices []int
	for i := range matchers {
		if matchers[i].appliesTo(resource) {
			indices = append(indices, i)
		}
	}
	return indices
}

func (m matcher) appliesTo(resource pcommon.Map) bool {
	for key, want := range m.when {
		value, ok := resource.Get(key)
		if !ok || value.AsString() != want {
			return false
		}
	}
	return true
}

// Everything is true where every function is chosen.
func (c Choice) Everything() bool { return len(c.include)+len(c.exclude) == 0 }

// Equal says whether two choices of the same Functions choose alike.
func (c Choice) Equal(other Choice) bool {
	return c.functions == other.functions && slices.Equal(c.include, other.include) && slices.Equal(c.exclude, other.exclude)
}

// Includes says whether a function gets series of its own: it matches an
// including matcher, if any applies, and no excluding one.
func (c Choice) Includes(name string) bool {
	included := len(c.include) == 0
	for _, i := range c.include {
		included = included || c.functions.include[i].matches(name)
	}
	if !included {
		return false
	}
	for _, i := range c.exclude {
		if c.functions.exclude[i].matches(name) {
			return false
		}
	}
	return true
}
