// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package selection // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/selection"

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Expression is the parsed form of an export rule's expression,
//
//	[application[.profile type]][{matchers}]
type Expression struct {
	// Application is the service's name; empty for every one.
	Application string
	// ProfileType is empty where the expression names none.
	ProfileType string
	Matchers    []LabelMatcher
}

// LabelMatcher is a condition on an attribute: Name Operator "Value".
type LabelMatcher struct {
	Name     string
	Operator Operator
	Value    string

	pattern *regexp.Regexp // of MatchRegex and NotMatchRegex
}

// Operator compares an attribute with a value, as in Prometheus.
type Operator string

// The operators.
const (
	Equal         Operator = "="
	NotEqual      Operator = "!="
	MatchRegex    Operator = "=~"
	NotMatchRegex Operator = "!~"
)

// ParseExpression reads an expression. The last dotted part of what stands
// before the matchers is a profile type only if namesType says that it is the
// name of one. Errors say where in the expression they are.
func ParseExpression(text string, namesType func(string) bool) (Expression, error) {
	selector, _, hasMatchers := strings.Cut(text, "{")
	expression, err := parseSelector(strings.TrimSpace(selector), namesType)
	if err != nil || !hasMatchers {
		return expression, err
	}
	p := &matcherParser{text: text, at: len(selector) + 1}
	expression.Matchers, err = p.matchers()
	return expression, err
}

func parseSelector(selector string, namesType func(string) bool) (Expression, error) {
	if i := strings.IndexAny(selector, "}\"'`="); i >= 0 {
		return Expression{}, fmt.Errorf("%q has %q outside of braces; write it as application.type{name=\"value\"}", selector, selector[i:i+1])
	}
	dot := strings.LastIndexByte(selector, '.')
	if dot < 0 || !namesType(selector[dot+1:]) {
		return Expression{Application: selector}, nil
	}
	if dot == 0 {
		return Expression{}, fmt.Errorf("%q has no application; write the service's name before the profile type", selector)
	}
	return Expression{Application: selector[:dot], ProfileType: selector[dot+1:]}, nil
}

// matcherParser reads what stands between braces.
type matcherParser struct {
	text string
	at   int
}

// fail reports an error where the parser is. Columns count characters from 1.
func (p *matcherParser) fail(format string, args ...any) error {
	column := utf8.RuneCountInString(p.text[:p.at]) + 1
	return fmt.Errorf("at column %d: "+format, append([]any{column}, args...)...)
}

func (p *matcherParser) matchers() ([]LabelMatcher, error) {
	var matchers []LabelMatcher
	// As in PromQL, a comma may follow the last matcher.
	for !p.skip("}") {
		matcher, err := p.matcher()
		if err != nil {
			return nil, err
		}
		matchers = append(matchers, matcher)
		if p.skip(",") || p.peeks("}") {
			continue
		}
		if p.atEnd() {
			return nil, p.fail("the { is not closed; add a }")
		}
		return nil, p.fail("%s follows a matcher; separate matchers by a comma, and close them with }", p.rest())
	}
	if !p.atEnd() {
		return nil, p.fail("%s follows the matchers; remove it, as nothing may", p.rest())
	}
	return matchers, nil
}

func (p *matcherParser) matcher() (LabelMatcher, error) {
	if p.atEnd() {
		return LabelMatcher{}, p.fail("the { is not closed; add a }")
	}
	name, err := p.name()
	if err != nil {
		return LabelMatcher{}, err
	}
	operator, ok := p.operator()
	if !ok {
		return LabelMatcher{}, p.fail("an operator is missing after %q; write one of =, !=, =~ and !~", name)
	}
	p.skipSpace()
	begin := p.at
	value, err := p.quoted("the value of " + strconv.Quote(name))
	if err != nil {
		return LabelMatcher{}, err
	}
	matcher := LabelMatcher{Name: name, Operator: operator, Value: value}
	if err := matcher.compile(); err != nil {
		p.at = begin
		return LabelMatcher{}, p.fail("%w", err)
	}
	return matcher, nil
}

// nameEnd ends a name that is not quoted. Attribute names contain more than
// those of Prometheus' labels, first of all dots.
const nameEnd = "=!~,{}()\"'` \t\r\n"

func (p *matcherParser) name() (string, error) {
	p.skipSpace()
	rest := p.text[p.at:]
	if strings.IndexByte("\"'`", rest[0]) >= 0 {
		name, err := p.quoted("an attribute")
		if err == nil && name == "" {
			return "", p.fail("the name of an attribute is empty; write name=\"value\"")
		}
		return name, err
	}
	end := strings.IndexAny(rest, nameEnd)
	if end < 0 {
		end = len(rest)
	}
	if end == 0 {
		return "", p.fail("%s stands where an attribute must; write name=\"value\"", p.rest())
	}
	p.at += end
	return rest[:end], nil
}

func (p *matcherParser) operator() (Operator, bool) {
	// The longer ones first: one operator begins like another.
	for _, operator := range []Operator{MatchRegex, NotMatchRegex, NotEqual, Equal} {
		if p.skip(string(operator)) {
			return operator, true
		}
	}
	return "", false
}

// quoted reads a string as Prometheus writes it: in double or single quotes
// with Go's escapes, or in backquotes without any.
func (p *matcherParser) quoted(what string) (string, error) {
	if p.at == len(p.text) || strings.IndexByte("\"'`", p.text[p.at]) < 0 {
		return "", p.fail("%s is not quoted; write it as \"value\"", what)
	}
	quote := p.text[p.at]
	rest := p.text[p.at+1:]
	if quote == '`' {
		end := strings.IndexByte(rest, quote)
		if end < 0 {
			return "", p.fail("%s has no closing %c; add it", what, quote)
		}
		p.at += end + 2
		return rest[:end], nil
	}
	var value []byte
	for rest != "" && rest[0] != quote {
		if rest[0] != '\\' {
			value = append(value, rest[0])
			rest = rest[1:]
			continue
		}
		char, multibyte, tail, err := strconv.UnquoteChar(rest, quote)
		if err != nil {
			p.at = len(p.text) - len(rest)
			return "", p.fail("a bad escape; write \\\\ for a backslash, or quote with backquotes")
		}
		rest = tail
		if multibyte {
			value = utf8.AppendRune(value, char)
		} else {
			value = append(value, byte(char))
		}
	}
	if rest == "" {
		return "", p.fail("%s has no closing %c; add it", what, quote)
	}
	p.at = len(p.text) - len(rest) + 1
	return string(value), nil
}

func (p *matcherParser) skipSpace() {
	p.at += len(p.text[p.at:]) - len(strings.TrimLeft(p.text[p.at:], " \t\r\n"))
}

func (p *matcherParser) atEnd() bool {
	p.skipSpace()
	return p.at == len(p.text)
}

func (p *matcherParser) peeks(token string) bool {
	p.skipSpace()
	return strings.HasPrefix(p.text[p.at:], token)
}

func (p *matcherParser) skip(token string) bool {
	if !p.peeks(token) {
		return false
	}
	p.at += len(token)
	return true
}

func (p *matcherParser) rest() string { return strconv.Quote(p.text[p.at:]) }

// compile prepares a regular expression, which has to match the whole value.
func (m *LabelMatcher) compile() error {
	if m.Operator != MatchRegex && m.Operator != NotMatchRegex {
		return nil
	}
	// On its own first: what closes a group too many would be valid between
	// the parentheses below.
	if _, err := regexp.Compile(m.Value); err != nil {
		return fmt.Errorf("%q is not a valid RE2 regular expression: %w; see https://github.com/google/re2/wiki/Syntax", m.Value, err)
	}
	pattern, err := regexp.Compile("^(?s:" + m.Value + ")$")
	if err != nil {
		return fmt.Errorf("%q is too large a regular expression: %w; write a smaller one", m.Value, err)
	}
	m.pattern = pattern
	return nil
}

// Matches says whether an attribute's value fulfills the condition. An absent
// attribute has the empty value.
func (m *LabelMatcher) Matches(value string) bool {
	switch m.Operator {
	case Equal:
		return value == m.Value
	case NotEqual:
		return value != m.Value
	case MatchRegex:
		return m.pattern.MatchString(value)
	default:
		return !m.pattern.MatchString(value)
	}
}
