// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func namesType(name string) bool {
	return slices.Contains([]string{"cpu", "inuse_space", "goroutine"}, strings.ToLower(name))
}

func TestParseExpression(t *testing.T) {
	tests := []struct {
		name, text  string
		application string
		profileType string
		matchers    []LabelMatcher
	}{
		{name: "empty", text: ""},
		{name: "nothing but space", text: " \n"},
		{name: "empty braces", text: "{}"},
		{name: "an application", text: "cart", application: "cart"},
		{name: "an application with dots", text: "simple.golang.app", application: "simple.golang.app"},
		{name: "a profile type", text: "cart.cpu", application: "cart", profileType: "cpu"},
		{name: "a profile type after dots", text: "simple.golang.app.inuse_space", application: "simple.golang.app", profileType: "inuse_space"},
		{name: "a type alone is an application", text: "cpu", application: "cpu"},
		{name: "only the last part is a type", text: "cpu.inuse_space", application: "cpu", profileType: "inuse_space"},
		{name: "a type before another part is none", text: "app.cpu.v2", application: "app.cpu.v2"},
		{name: "an application that ends in a dot", text: "app.", application: "app."},
		{name: "an application of any characters", text: "my app/β-1", application: "my app/β-1"},
		{name: "space around everything", text: " app.cpu { env = \"a\" , } ", application: "app", profileType: "cpu", matchers: []LabelMatcher{{Name: "env", Operator: Equal, Value: "a"}}},
		{
			name: "the four operators", text: `{a="1",b!="2",c=~"3",d!~"4"}`,
			matchers: []LabelMatcher{{Name: "a", Operator: Equal, Value: "1"}, {Name: "b", Operator: NotEqual, Value: "2"}, {Name: "c", Operator: MatchRegex, Value: "3"}, {Name: "d", Operator: NotMatchRegex, Value: "4"}},
		},
		{name: "an attribute's own name", text: `{k8s.pod/label-x="a"}`, matchers: []LabelMatcher{{Name: "k8s.pod/label-x", Operator: Equal, Value: "a"}}},
		{name: "a name in quotes", text: `{"a b=c"="d"}`, matchers: []LabelMatcher{{Name: "a b=c", Operator: Equal, Value: "d"}}},
		{name: "an empty value", text: `{a=""}`, matchers: []LabelMatcher{{Name: "a", Operator: Equal}}},
		{name: "escapes", text: `{a="\"\\\n\x41\u00fc\101'"}`, matchers: []LabelMatcher{{Name: "a", Operator: Equal, Value: "\"\\\nAüA'"}}},
		{name: "escapes in single quotes", text: `{a='\'"'}`, matchers: []LabelMatcher{{Name: "a", Operator: Equal, Value: `'"`}}},
		{name: "no escapes in backquotes", text: "{a=`\\d\"'`}", matchers: []LabelMatcher{{Name: "a", Operator: Equal, Value: `\d"'`}}},
		{name: "braces and commas in a value", text: `{a="{,}",b="}"}`, matchers: []LabelMatcher{{Name: "a", Operator: Equal, Value: "{,}"}, {Name: "b", Operator: Equal, Value: "}"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseExpression(tt.text, namesType)
			require.NoError(t, err)
			for i := range got.Matchers {
				got.Matchers[i].pattern = nil
			}
			assert.Equal(t, Expression{tt.application, tt.profileType, tt.matchers}, got)
		})
	}
}

func TestBadExpressionsSayWhereAndWhatToDo(t *testing.T) {
	tests := []struct{ name, text, where, fix string }{
		{"a profile type without an application", ".cpu", "", "write the service's name"},
		{"a matcher outside of braces", `env="a"`, "", "application.type{name"},
		{"a brace that only closes", "app}", "", "application.type{name"},
		{"a quoted application", `"app"`, "", "application.type{name"},
		{"a brace that is not closed", "{", "column 2", "add a }"},
		{"the same after a matcher", `{a="b"`, "column 7", "add a }"},
		{"the same after a comma", `{a="b", `, "column 9", "add a }"},
		{"something after the braces", `{a="b"} and {c="d"}`, "column 9", "remove it"},
		{"two matchers without a comma", `{a="b" c="d"}`, "column 8", "separate matchers by a comma"},
		{"a comma without a matcher", `{,}`, "column 2", "write name="},
		{"two commas", `{a="b",,}`, "column 8", "write name="},
		{"a name without an operator", `{a}`, "column 3", "write one of ="},
		{"an operator that does not exist", `{a<"b"}`, "column 4", "write one of ="},
		{"two operators", `{a=="b"}`, "column 4", "write it as"},
		{"an operator without a value", `{a=}`, "column 4", "write it as"},
		{"an operator at the end", `{a=`, "column 4", "write it as"},
		{"an operator without a name", `{="b"}`, "column 2", "write name="},
		{"an empty name in quotes", `{""="b"}`, "column 4", "write name="},
		{"a value without quotes", `{a=b}`, "column 4", "write it as"},
		{"a value without its second quote", `{a="b}`, "column 4", `no closing "`},
		{"a value that ends in a backslash", `{a="b\`, "column 6", "write \\\\"},
		{"the other quote", `{a="b'}`, "column 4", `no closing "`},
		{"a backquote alone", "{a=`b}", "column 4", "no closing `"},
		{"an escape that does not exist", `{a="\d+"}`, "column 5", "backquotes"},
		{"a regex that does not compile", `{ü=~"("}`, "column 5", "RE2"},
		{"a regex that closes a group too many", `{a=~"b)(c"}`, "column 5", "RE2"},
		{"a regex that RE2 does not have", `{a!~"b(?=c)"}`, "column 5", "RE2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseExpression(tt.text, namesType)
			require.Error(t, err)
			assert.Contains(t, err.Error(), tt.where)
			assert.Contains(t, err.Error(), tt.fix)
		})
	}
}

func TestMatchersAreThoseOfPrometheus(t *testing.T) {
	tests := []struct {
		operator Operator
		pattern  string
		value    string
		want     bool
	}{
		{Equal, "a", "a", true},
		{Equal, "a", "b", false},
		{Equal, "", "", true},
		{NotEqual, "a", "", true},
		{NotEqual, "a", "a", false},
		{MatchRegex, "a|b", "b", true},
		{MatchRegex, "a|b", "ab", false},
		{MatchRegex, "a.*", "a\nb", true}, // the dot matches line breaks too
		{MatchRegex, ".+", "", false},
		{MatchRegex, "(?i)A", "a", true},
		{NotMatchRegex, "a", "ab", true},
		{NotMatchRegex, "a.*", "ab", false},
		{NotMatchRegex, "", "", false},
	}
	for _, tt := range tests {
		text := "{a" + string(tt.operator) + strconv.Quote(tt.pattern) + "}"
		expression, err := ParseExpression(text, namesType)
		require.NoError(t, err)
		assert.Equal(t, tt.want, expression.Matchers[0].Matches(tt.value), "%s on %q", text, tt.value)
	}
}

// write is the inverse of ParseExpression.
func (e Expression) write() string {
	text := e.Application
	if e.ProfileType != "" {
		text += "." + e.ProfileType
	}
	var matchers []string
	for _, matcher := range e.Matchers {
		matchers = append(matchers, quote(matcher.Name)+string(matcher.Operator)+quote(matcher.Value))
	}
	return text + "{" + strings.Join(matchers, ",") + "}"
}

// quote escapes every byte, so that also what is not UTF-8 survives.
func quote(text string) string {
	quoted := []byte{'"'}
	for _, c := range []byte(text) {
		quoted = append(quoted, `\x`...)
		quoted = append(quoted, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
	}
	return string(append(quoted, '"'))
}

// FuzzRuleExpression checks that no expression makes the parser panic, and that
// what it read is read the same when it is written out in full.
func FuzzRuleExpression(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "app", "app.cpu", "simple.golang.app.cpu{env=\"prod\"}", ".cpu", "app.",
		`{a="1",b!="2",c=~"3",d!~"4",}`, "{a=`\\d`}", `{'a'='\''}`, `{a="\u00fc\xff\101"}`,
		"{", "{a", "{a=", `{a="`, `{a="b"`, `{a="b"}c`, "}", "{{}}", "{a=~\"(\"}", "{a=~\"b)(c\"}",
		"\xff{\xff=\"\xff\"}", "{a=~\"(a{1000}){1000}\"}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		expression, err := ParseExpression(text, namesType)
		if err != nil {
			assert.NotEmpty(t, err.Error())
			return
		}
		again, err := ParseExpression(expression.write(), namesType)
		require.NoError(t, err, "%q, written as %q", text, expression.write())
		for i, matcher := range expression.Matchers {
			assert.Equal(t, matcher.Matches(text), again.Matchers[i].Matches(text))
			expression.Matchers[i].pattern, again.Matchers[i].pattern = nil, nil
		}
		assert.Equal(t, expression, again)
	})
}
