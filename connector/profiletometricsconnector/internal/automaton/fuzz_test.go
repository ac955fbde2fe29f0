// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package automaton

import (
	"strings"
	"testing"
)

// words are what patterns and names are made of, so that random ones have
// something in common.
var words = []string{
	"a", "b", "c", ";", "aa", "ab", ".", ".*", "[^;]*", "^", "$", `\b`, `\B`, `\A`, `\z`, "|", "(", ")", "(?:", "*", "+", "?", "+?", "{2}", "{0,3}",
	"(?i)", "(?s)", "(?m)", "(?U)", "(?i:", "[a-c]", "[^a]", `\w`, `\W`, `\d`, `\s`, `\n`, "\n", "A", "k", "\u212a", "é", `\pL`, `\x{FFFD}`, "\xff", "\xe6\x97", "日", "1", "_", " ",
	"(^|;)", "(;|$)", "(?m:^)", "(?m:$)", "()", `\.`, `\;`, "B",
}

// text turns random bytes into a text of words.
func text(random string) string {
	var b strings.Builder
	for i := range len(random) {
		b.WriteString(words[int(random[i])%len(words)])
	}
	return b.String()
}

// FuzzMatch compares with regexp: random patterns, one a line, on random
// stacks, one a line of names divided by tabs; as they are, or as words for
// their bytes. Room is tight for some, so that tables are emptied, machines
// divided, and patterns left to regexp.
func FuzzMatch(f *testing.F) {
	for i, pattern := range patterns {
		f.Add(pattern, strings.Join(stacks[i%len(stacks)], "\t"), false, uint32(i))
	}
	f.Add("a;b\n^main\nc$", "a\tb\tc\nmain\ta\na;b\t\tc", false, uint32(0))
	f.Add("\x00\x03\x01\n\x09\x00\n\x01\x0a", "\x00\x01\t\x02\x03\t\x04\n\x00\t\x01", true, uint32(5))
	f.Add("(a|b)*a(a|b){9}$\n;b", "abbabaabab\tbabababb\taabbabab\nab\tba", false, uint32(1))
	f.Fuzz(func(t *testing.T, patterns, stacks string, spelled bool, room uint32) {
		if len(patterns) > 200 || len(stacks) > 1000 {
			return
		}
		read := func(s string) string { return s }
		if spelled {
			read = text
		}
		program := &Program{}
		for _, pattern := range strings.Split(patterns, "\n") {
			compile(program, read(pattern))
		}
		if program.Len() == 0 {
			return
		}
		var all [][]string
		for _, stack := range strings.Split(stacks, "\n") {
			var frames []string
			for _, name := range strings.Split(stack, "\t") {
				frames = append(frames, read(name))
			}
			all = append(all, frames)
		}
		bounds := defaultLimits
		if room%4 != 0 {
			bounds = limits{states: int(room>>2) % 40_000, edges: 1 << (room >> 20 % 12)}
		}
		checkMatches(t, program, all, bounds)
	})
}
