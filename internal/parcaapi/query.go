// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaapi

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const typeSyntax = "name:sample_type:sample_unit:period_type:period_unit, with :delta after it for profiles over a time"

// ProfileType is what a query is about.
type ProfileType struct {
	Name                   string // what was profiled, as Parca's configuration names it
	SampleType, SampleUnit string
	PeriodType, PeriodUnit string
	// Delta says that each profile is what happened within a time. Others are
	// snapshots, or counts since the process began.
	Delta bool
}

// String is the type as queries have it.
func (t ProfileType) String() string {
	text := strings.Join([]string{t.Name, t.SampleType, t.SampleUnit, t.PeriodType, t.PeriodUnit}, ":")
	if t.Delta {
		text += ":delta"
	}
	return text
}

// ParseProfileType reads what String writes. Only the name and the sample type
// must not be empty: Parca stores and finds profiles without the rest.
func ParseProfileType(text string) (ProfileType, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 5 && len(parts) != 6 {
		return ProfileType{}, impossibleType("%q has %d of the 5 or 6 parts of a profile type", text, len(parts))
	}
	if len(parts) == 6 && parts[5] != "delta" {
		return ProfileType{}, impossibleType("the sixth part of %q can only be delta", text)
	}
	if parts[0] == "" || parts[1] == "" {
		return ProfileType{}, impossibleType("%q has an empty name or sample type", text)
	}
	return ProfileType{
		Name:       parts[0],
		SampleType: parts[1], SampleUnit: parts[2],
		PeriodType: parts[3], PeriodUnit: parts[4],
		Delta: len(parts) == 6,
	}, nil
}

func impossibleType(format string, args ...any) error {
	return NewError(ImpossibleType, fmt.Errorf(format, args...))
}

// Query is a query that can be sent: a profile type and matchers of labels.
type Query struct {
	Type ProfileType
	// Matchers are those of labels, without that of the type.
	Matchers []Matcher
}

// typeLabel is the label that the profile type is the value of, in PromQL's
// long form.
const typeLabel = "__name__"

var (
	plainType = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

// IsLabelName tells whether Parca can have a label of that name.
func IsLabelName(name string) bool { return labelName.MatchString(name) }

// ParseQuery reads a query: a profile type and, in braces, matchers of labels,
//
//	process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{job="shop",instance!~"canary"}
//
// or with the type as a matcher of __name__, which its parts need where they are
// no PromQL identifiers. Errors are of the kinds InvalidQuery and
// ImpossibleType; a query that it takes may still be one that the server refuses.
func ParseQuery(text string) (Query, error) {
	name, rest := strings.TrimSpace(text), ""
	if open := strings.IndexByte(name, '{'); open >= 0 {
		name, rest = strings.TrimSpace(name[:open]), name[open:]
	}
	var query Query
	long := name == ""
	if rest != "" {
		list, err := parseMatchers(rest)
		if err != nil {
			return Query{}, NewError(InvalidQuery, err)
		}
		for _, m := range list {
			if m.Label != typeLabel {
				query.Matchers = append(query.Matchers, m)
				continue
			}
			if name != "" || m.Operator != "=" {
				return Query{}, NewError(InvalidQuery, errors.New(`the type is given once, as name or as __name__="…"`))
			}
			name = m.Value
		}
	}
	switch {
	case name == "":
		return Query{}, impossibleType("there is no profile type")
	case !long && !plainType.MatchString(name):
		return Query{}, impossibleType("%q is not of letters, digits, _ and :; write {__name__=%q} for others", name, name)
	}
	var err error
	query.Type, err = ParseProfileType(name)
	return query, err
}

// String is the query as the server reads it.
func (q Query) String() string {
	name := q.Type.String()
	matchers := make([]string, 0, len(q.Matchers)+1)
	if !plainType.MatchString(name) {
		matchers = append(matchers, Matcher{Label: typeLabel, Operator: "=", Value: name}.String())
		name = ""
	}
	for _, m := range q.Matchers {
		matchers = append(matchers, m.String())
	}
	if len(matchers) == 0 {
		return name
	}
	return name + "{" + strings.Join(matchers, ",") + "}"
}

// Where returns the query with further matchers.
func (q Query) Where(matchers ...Matcher) Query {
	return Query{Type: q.Type, Matchers: slices.Concat(q.Matchers, matchers)}
}

// ParseSelector reads matchers without a type, with or without braces around.
func ParseSelector(text string) ([]Matcher, error) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") {
		text = "{" + text + "}"
	}
	list, err := parseMatchers(text)
	if err != nil {
		return nil, NewError(InvalidQuery, err)
	}
	for _, m := range list {
		if m.Label == typeLabel {
			return nil, NewError(InvalidQuery, errors.New("a selector has no __name__: it is used with many types"))
		}
	}
	return list, nil
}
