// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package automaton

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"
)

// names are those of functions; their IDs are positions.
type names []string

func (n names) of(function symbols.FunctionID) string { return n[function] }

// stackOf numbers the names of a stack, which is written from the root to the
// leaf.
func (n *names) stackOf(stack []string) []symbols.FunctionID {
	functions := make([]symbols.FunctionID, len(stack))
	for i, name := range stack {
		function := 0
		for function < len(*n) && (*n)[function] != name {
			function++
		}
		if function == len(*n) {
			*n = append(*n, name)
		}
		functions[len(stack)-1-i] = symbols.FunctionID(function)
	}
	return functions
}

// compile adds a pattern as the connector does, and is false where it is none.
func compile(program *Program, pattern string) bool {
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return false
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return false
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return false
	}
	program.Add(expression, prog)
	return true
}

func programOf(tb testing.TB, patterns ...string) *Program {
	tb.Helper()
	program := &Program{}
	for _, pattern := range patterns {
		require.True(tb, compile(program, pattern), "%q is no pattern", pattern)
	}
	return program
}

// textOf writes a stack as patterns read it: as long as nothing is written, no
// separator is either.
func textOf(stack []string) string {
	for len(stack) > 0 && stack[0] == "" {
		stack = stack[1:]
	}
	return strings.Join(stack, string(Separator))
}

var patterns = []string{
	"main", "^main", "main$", "^main$", "a;b", "^a;b;c$", "c$", "^a", "b;", ";", "^;", ";$", "",
	"(^|;)b(;|$)", "(^|;)a;b", "a|b;c", "^(a|b)", "(a|^b)c", "(b|c$)", "a.*c", "^a.*c$", "a;.*;c", "a;[^;]*;c", "a;[^;]*$",
	`\bmain\b`, `\Bain`, `a\b`, `\b`, `\B`, `^\b`, `\b$`, `^\B`, `\B$`, `\b;\b`, `\B;\B`, `x\b|y\B`,
	"(?i)MAIN", "(?i)straße", "(?i)k", "(?i)ſ", "(?i:a);b", "(?s)a.b", "a.b", "(?m)^b", "(?m)a$", "(?m)^$", "(?m)^a$", "^$", "(?s).", ".",
	`(?m)$.^`, `(?ms)$.^`, `(?m)$^b`, `(?m)\b^b`, `\A\ba`, `c\z`, `(?m)c\z`, "$^", "$a", "a^b", "(a|$)^", "^*a", "$*a", `(\b)*a`,
	"[^a]", "[^;]+$", "[[:alpha:]]+;[[:digit:]]", `\pL;\p{Greek}`, `\x{FFFD}`, `[\x{FFFD}]`, `[^\x{FFFD}]$`, `\xff`, "é", "日本;語", `\W\w\W`, `\d+$`,
	"a*", "a+?b", "(a*)*b", "(a|b)*c", "a{2,3};b{1,2}$", "(?:a;){2}", "a{0}b", "(|a)b", "[a-c]{3}", "x*$", "(?U)a.*c",
	`handlers\.\(\*API\)\.`, `Function00\d;[^;]*Function\d|mallocgc;runtime\.`, `Function\d+$|runtime\.memclr$`, `^runtime\.(main|goexit);main\.`,
	`(a|b)+c(d|e);absent`, `[^\x00-\x{10FFFF}]`, "(?:(?:a{10}){10}){2}", "(a|b)*a(a|b){5}$",
}

var stacks = [][]string{
	{},
	{""},
	{"", ""},
	{"", "a"},
	{"a"},
	{"a", ""},
	{"a", "", "b"},
	{"", "", "a", "b"},
	{"main"},
	{"main", "a"},
	{"a", "main"},
	{"domain"},
	{"mainly", "main"},
	{"MAIN", "mAiN"},
	{"a", "b"},
	{"a", "b", "c"},
	{"b", "c"},
	{"a", "x", "c"},
	{"a", "a", "b", "c", "c"},
	{"ab", "c"},
	{"c", "b", "a"},
	{"a;b"},
	{"a;b;c"},
	{"a;", "b"},
	{";"},
	{";", ";"},
	{"a", ";b;", "c"},
	{"a\nb"},
	{"a", "\nb"},
	{"a\n", "b"},
	{"\n"},
	{"x\n", "\na\n", "b"},
	{"a\n\nb"},
	{"\xff"},
	{"a\xff", "b"},
	{"\xe6\x97", "\xa5"},
	{"日本", "語"},
	{"é"},
	{"\u00a0"},
	{"α", "β"},
	{"a", "1"},
	{"l", "γ"},
	{"\ufffd"},
	{"\x00"},
	{"STRASSE", "STRAßE"},
	{"straẞe"},
	{"\u212a"},
	{"K"},
	{"ſ"},
	{"S"},
	{"aa", "b"},
	{"aaa", "bb"},
	{"aaa", "bbb"},
	{strings.Repeat("a", 250)},
	{strings.Repeat("ab", 50), "b"},
	{"x", "y"},
	{"xy", "yx"},
	{"runtime.goexit", "main.run", "runtime.mallocgc", "runtime.memclr"},
	{"runtime.main", "main.main"},
	{"github.com/example/internal/handlers.(*API).Function007", "[service-00.so]", "github.com/example/internal/handlers.(*API).Function107"},
	{"x.Function001", "x.Function2"},
	{"f1", "f22"},
	{"abc"},
}

// TestPatternsMatchAsRegexpDoes tries all patterns on all stacks: each alone,
// all together in tables of several sizes, and divided.
func TestPatternsMatchAsRegexpDoes(t *testing.T) {
	var many []string
	for i := range 150 {
		many = append(many, fmt.Sprintf("%s|%d", patterns[i%len(patterns)], i))
	}
	tests := map[string]struct {
		patterns []string
		limits   limits
	}{
		"together":                         {patterns, defaultLimits},
		"more than fit in two words":       {many, defaultLimits},
		"in tables that are often emptied": {patterns, limits{states: 60_000, edges: 1 << 12}},
		"divided":                          {patterns, limits{states: 6_000, edges: 1 << 10}},
		"without any room":                 {patterns, limits{}},
	}
	for i, pattern := range patterns {
		tests[fmt.Sprintf("%d %s", i, pattern)] = struct {
			patterns []string
			limits   limits
		}{[]string{pattern}, defaultLimits}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			checkMatches(t, programOf(t, tt.patterns...), stacks, tt.limits)
		})
	}
}

// checkMatches compares with regexp, on every stack twice: while the automaton
// is built and when it is.
func checkMatches(tb testing.TB, program *Program, stacks [][]string, bounds limits) *Matcher {
	tb.Helper()
	var all names
	matcher := NewMatcher(program, func(function symbols.FunctionID) string { return all.of(function) })
	matcher.limits = bounds
	for range 2 {
		matcher.Begin(len(all))
		for _, stack := range stacks {
			functions := all.stackOf(stack)
			matcher.functions = len(all)
			verdict, text := matcher.Match(functions), textOf(stack)
			for i, pattern := range program.patterns {
				if pattern.regexp.MatchString(text) != matcher.Has(verdict, i) {
					require.Failf(tb, "not as regexp", "pattern %q on %q: %v", pattern.regexp, text, matcher.Has(verdict, i))
				}
			}
		}
	}
	return matcher
}

func TestTablesAreBounded(t *testing.T) {
	// What came fifteen runes before the end takes 2¹⁵ states to know.
	explosive := "(a|b)*a(a|b){15}$"
	stack := func(i int) []string { return []string{fmt.Sprintf("%032b", i*2654435761), "ab", "ba"} }
	var all [][]string
	for i := range 400 {
		frames := stack(i)
		for j := range frames {
			frames[j] = strings.NewReplacer("0", "a", "1", "b").Replace(frames[j])
		}
		all = append(all, frames)
	}
	bounds := limits{states: 100_000, edges: 1 << 12}

	alone := checkMatches(t, programOf(t, explosive), all, bounds)
	require.Len(t, alone.blocks[0].machines, 1)
	assert.True(t, alone.blocks[0].machines[0].useless, "regexp has to take over")

	divided := checkMatches(t, programOf(t, "^a", explosive, "b;a", "aba$"), all, bounds)
	useless := 0
	for _, machine := range divided.blocks[0].machines {
		assert.LessOrEqual(t, machine.runes.used, bounds.states)
		assert.LessOrEqual(t, len(machine.table), max(bounds.edges, machine.functions<<smallShift))
		if machine.useless {
			useless++
			assert.Len(t, machine.patterns, 1)
		}
	}
	assert.Equal(t, 1, useless, "the other patterns are none the worse")
}

func TestForgottenNumbersMayMeanOtherFunctions(t *testing.T) {
	all := names{"a", "b"}
	matcher := NewMatcher(programOf(t, "^b"), func(function symbols.FunctionID) string { return all.of(function) })
	matcher.Begin(2)
	assert.False(t, matcher.Has(matcher.Match([]symbols.FunctionID{1, 0}), 0))
	all = names{"b", "c", "d"}
	matcher.Forget()
	matcher.Begin(3)
	assert.True(t, matcher.Has(matcher.Match([]symbols.FunctionID{2, 1, 0}), 0))
	assert.Equal(t, 5, matcher.Walked())
}

func TestMatchDoesNotAllocateForKnownFunctions(t *testing.T) {
	all := names{}
	stack := all.stackOf([]string{"runtime.goexit", "main.run", "main.run", "runtime.mallocgc"})
	matcher := NewMatcher(programOf(t, `gc$`, `^runtime\.`, `run;run`), all.of)
	matcher.Begin(len(all))
	assert.Zero(t, testing.AllocsPerRun(100, func() { matcher.Match(stack) }))
}
