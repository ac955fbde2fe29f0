// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaapi

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Matcher is one label matcher of a query. Parca's regular expressions are not
// anchored, other than Prometheus's, and an absent label has the empty value.
type Matcher struct {
	Label    string
	Operator string // =, !=, =~ or !~
	Value    string
}

// String is the matcher as a query has it.
func (m Matcher) String() string { return m.Label + m.Operator + strconv.Quote(m.Value) }

// operators are PromQL's, longest first.
var operators = []string{"=~", "!~", "!=", "="}

// parseMatchers reads a list of matchers in braces, to the end of the text:
//
//	{ label operator string, … }
//
// It is what PromQL and Parca both take, less what only newer PromQL has (quoted
// label names).
func parseMatchers(text string) ([]Matcher, error) {
	rest := strings.TrimSpace(strings.TrimPrefix(text, "{"))
	var list []Matcher
	for {
		if after, closed := strings.CutPrefix(rest, "}"); closed {
			if after = strings.TrimSpace(after); after != "" {
				return nil, fmt.Errorf("there is %q after the closing brace", after)
			}
			return list, nil
		}
		m, after, err := parseMatcher(rest)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
		after = strings.TrimSpace(after)
		rest = strings.TrimSpace(strings.TrimPrefix(after, ","))
		if rest == after && !strings.HasPrefix(after, "}") {
			return nil, fmt.Errorf("after the matcher %s comes neither a comma nor a closing brace", m)
		}
	}
}

func parseMatcher(text string) (Matcher, string, error) {
	end := strings.IndexFunc(text, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if end < 0 || !labelName.MatchString(text[:end]) {
		return Matcher{}, "", fmt.Errorf(`where a matcher such as job="shop" is expected comes %q`, text)
	}
	m := Matcher{Label: text[:end]}
	rest := strings.TrimSpace(text[end:])
	for _, operator := range operators {
		if after, found := strings.CutPrefix(rest, operator); found {
			m.Operator, rest = operator, strings.TrimSpace(after)
			break
		}
	}
	if m.Operator == "" {
		return Matcher{}, "", fmt.Errorf("the matcher of %s has none of the operators =, !=, =~ and !~", m.Label)
	}
	value, size, err := parseString(rest)
	if err != nil {
		return Matcher{}, "", fmt.Errorf("the value of the matcher of %s: %w", m.Label, err)
	}
	if strings.HasSuffix(m.Operator, "~") {
		if _, err := regexp.Compile(value); err != nil {
			return Matcher{}, "", fmt.Errorf("the value of the matcher of %s: %w", m.Label, err)
		}
	}
	m.Value = value
	return m, rest[size:], nil
}

// parseString reads a string at the start of the text, and returns what it says
// and how many bytes it takes.
func parseString(text string) (value string, size int, err error) {
	if text == "" || !strings.ContainsRune("\"'`", rune(text[0])) {
		return "", 0, fmt.Errorf("a string in quotes is expected, not %q", text)
	}
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote != '`':
			i++
		case text[i] == quote:
			value, err = unquote(text[1:i], quote)
			return value, i + 1, err
		}
	}
	return "", 0, fmt.Errorf("the string %s has no closing quote", text)
}

// unquote is strconv's, for what stands between single quotes too.
func unquote(text string, quote byte) (string, error) {
	if quote == '`' {
		return text, nil
	}
	var value strings.Builder
	for rest := text; rest != ""; {
		r, multibyte, tail, err := strconv.UnquoteChar(rest, quote)
		switch {
		case rest[0] == '\n':
			return "", fmt.Errorf("the string %q has a line break", text)
		case err != nil:
			return "", fmt.Errorf(`the string %q has a wrong escape; write \\ for a backslash`, text)
		case r < utf8.RuneSelf || multibyte:
			value.WriteRune(r)
		default:
			value.WriteByte(byte(r))
		}
		rest = tail
	}
	return value.String(), nil
}
