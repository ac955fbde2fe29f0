// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profilejson

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFlamegraph(t *testing.T) {
	for _, tc := range []struct {
		name    string
		profile func(*builder)
		want    string
	}{
		{"of an empty profile is the root", func(*builder) {}, rootText(0)},
		{
			"merges stacks by call path, heaviest first",
			func(b *builder) {
				b.add(1, "work", "main")
				b.add(10, "wait", "main")
				b.add(3, "read", "work", "main")
				b.add(2, "work", "main")
			},
			rootText(16, nodeText("main", 16,
				nodeText("wait", 10),
				nodeText("work", 6, nodeText("read", 3)))),
		},
		{
			"keeps one function apart that is called along two paths",
			func(b *builder) {
				b.add(2, "log", "serve", "main")
				b.add(3, "log", "main")
			},
			rootText(5, nodeText("main", 5, nodeText("log", 3), nodeText("serve", 2, nodeText("log", 2)))),
		},
		{
			"counts a recursion once at each depth",
			func(b *builder) { b.add(4, "fib", "fib", "fib", "main") },
			rootText(4, nodeText("main", 4, nodeText("fib", 4, nodeText("fib", 4, nodeText("fib", 4))))),
		},
		{
			"sorts nodes of equal weight by name",
			func(b *builder) {
				b.add(1, "c")
				b.add(1, "a")
				b.add(1, "b")
			},
			rootText(3, nodeText("a", 1), nodeText("b", 1), nodeText("c", 1)),
		},
		{
			"merges two locations of one function",
			func(b *builder) {
				line := b.function(profile.Function{Name: "a", SystemName: "a", Filename: "/src/a.go", StartLine: 5}, 6)
				b.sample(1, b.location(line))
				line.Line = 9
				b.sample(2, b.location(line))
			},
			rootText(3, nodeText("a", 3)),
		},
		{
			"keeps functions of one name in two files apart",
			func(b *builder) {
				b.sample(2, b.location(b.function(profile.Function{Name: "f", Filename: "/x.go"}, 1)))
				b.sample(1, b.location(b.function(profile.Function{Name: "f", Filename: "/y.go"}, 1)))
			},
			rootText(3,
				`{"name":"f","system_name":"","filename":"/x.go","start_line":0,"value":2,"children":[]}`,
				`{"name":"f","system_name":"","filename":"/y.go","start_line":0,"value":1,"children":[]}`),
		},
		{
			"has inlined functions below the one they are inlined into",
			func(b *builder) {
				outer := b.function(profile.Function{Name: "outer", SystemName: "outer", Filename: "/src/outer.go", StartLine: 5}, 7)
				inner := b.function(profile.Function{Name: "inner", SystemName: "inner", Filename: "/src/inner.go", StartLine: 5}, 7)
				b.sample(1, b.location(inner, outer))
			},
			rootText(1, nodeText("outer", 1, nodeText("inner", 1))),
		},
		{
			"names what has no symbols after its binary",
			func(b *builder) {
				b.sample(2, b.location())
				b.sample(3, b.location())
			},
			rootText(5, `{"name":"[shop]","system_name":"","filename":"","start_line":0,"value":5,"children":[]}`),
		},
		{
			"names what has neither symbols nor binary unknown",
			func(b *builder) { b.sample(2, b.location()).Location[0].Mapping = nil },
			rootText(2, `{"name":"[unknown]","system_name":"","filename":"","start_line":0,"value":2,"children":[]}`),
		},
		{
			"takes the system name where there is no other",
			func(b *builder) { b.sample(2, b.location(b.function(profile.Function{SystemName: "_ZN3fooE"}, 1))) },
			rootText(2, `{"name":"_ZN3fooE","system_name":"_ZN3fooE","filename":"","start_line":0,"value":2,"children":[]}`),
		},
		{
			"counts a sample without a stack in the root",
			func(b *builder) {
				b.add(2, "a")
				b.sample(5)
			},
			rootText(7, nodeText("a", 2)),
		},
		{
			"stays at the largest number instead of overflowing",
			func(b *builder) {
				b.add(math.MaxInt64, "a")
				b.add(1, "a")
			},
			rootText(math.MaxInt64, nodeText("a", math.MaxInt64)),
		},
		{
			"stays at the smallest, too",
			func(b *builder) {
				b.add(math.MinInt64, "a")
				b.add(-1, "a")
			},
			rootText(math.MinInt64, nodeText("a", math.MinInt64)),
		},
		{
			"escapes what JSON wants escaped, and nothing else",
			func(b *builder) { b.sample(1, b.location(b.function(profile.Function{Name: "operator<<\"\n\xff"}, 1))) },
			rootText(1, `{"name":"operator<<\"\n\ufffd","system_name":"","filename":"","start_line":0,"value":1,"children":[]}`),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBuilder("nanoseconds")
			tc.profile(b)
			assert.Equal(t, tc.want, flamegraph(t, b.build(t)))
		})
	}
}

func TestStacks(t *testing.T) {
	document := func(unique int, total int64, samples ...string) string {
		return fmt.Sprintf(`{"report_type":"json_stacks","unit":"nanoseconds","unique_stack_traces":%d,"total_value":%d,"samples":[%s]}`+"\n",
			unique, total, strings.Join(samples, ","))
	}
	sample := func(value int64, labels string, callerFirst ...string) string {
		return fmt.Sprintf(`{"value":%d,"labels":%s,"stack":[%s]}`, value, labels, strings.Join(callerFirst, ","))
	}
	for _, tc := range []struct {
		name    string
		profile func(*builder)
		want    string
	}{
		{"of an empty profile are none", func(*builder) {}, document(0, 0)},
		{
			"go from caller to callee, and the heaviest comes first",
			func(b *builder) {
				b.add(1, "work", "main")
				b.add(5, "read", "work", "main")
			},
			document(2, 6,
				sample(5, "{}", frameText("main"), frameText("work"), frameText("read")),
				sample(1, "{}", frameText("main"), frameText("work"))),
		},
		{
			"that are equal are one",
			func(b *builder) {
				b.add(1, "work", "main")
				b.add(2, "work", "main")
			},
			document(1, 3, sample(3, "{}", frameText("main"), frameText("work"))),
		},
		{
			"with other labels are samples of their own, but not stacks of their own",
			func(b *builder) {
				b.add(1, "main").Label = map[string][]string{"job": {"x"}, "env": {"prod"}}
				b.add(2, "main").Label = map[string][]string{"env": {"dev"}}
				b.add(4, "main").Label = map[string][]string{"env": {"dev"}}
				b.add(3, "main")
			},
			document(1, 10,
				sample(6, `{"env":"dev"}`, frameText("main")),
				sample(3, `{}`, frameText("main")),
				sample(1, `{"env":"prod","job":"x"}`, frameText("main"))),
		},
		{
			"of equal weight are sorted by their frames, then their labels",
			func(b *builder) {
				b.add(1, "b", "main")
				b.add(1, "a", "main").Label = map[string][]string{"l": {"2"}}
				b.add(1, "a", "main").Label = map[string][]string{"l": {"1"}}
				b.add(1, "main")
			},
			document(3, 4,
				sample(1, "{}", frameText("main")),
				sample(1, `{"l":"1"}`, frameText("main"), frameText("a")),
				sample(1, `{"l":"2"}`, frameText("main"), frameText("a")),
				sample(1, "{}", frameText("main"), frameText("b"))),
		},
		{
			"are equal if inlining is all that tells them apart",
			func(b *builder) {
				outer := b.function(profile.Function{Name: "outer", Filename: "/src/outer.go"}, 7)
				inner := b.function(profile.Function{Name: "inner", Filename: "/src/inner.go"}, 7)
				b.sample(1, b.location(inner, outer))
				b.sample(2, b.location(inner), b.location(outer))
			},
			document(1, 3, sample(3, "{}", frameText("outer"), frameText("inner"))),
		},
		{
			"differ by the line in a function",
			func(b *builder) {
				line := b.function(profile.Function{Name: "a", Filename: "/src/a.go"}, 7)
				b.sample(2, b.location(line))
				line.Line = 8
				b.sample(1, b.location(line))
			},
			document(2, 3, sample(2, "{}", frameText("a")),
				sample(1, "{}", strings.Replace(frameText("a"), ":7", ":8", 1))),
		},
		{
			"may have no frame at all",
			func(b *builder) { b.sample(5) },
			document(1, 5, sample(5, "{}")),
		},
		{
			"without symbols name the binary",
			func(b *builder) { b.sample(5, b.location()) },
			document(1, 5, sample(5, "{}", `{"function_name":"[shop]","file_name":"","line_number":0,"binary_name":"shop"}`)),
		},
		{
			"have numeric labels as text, and several values of one label in one",
			func(b *builder) {
				s := b.add(5, "main")
				s.NumLabel = map[string][]int64{"bytes": {16, 32}}
				s.Label = map[string][]string{"x": {"a", "b"}}
			},
			document(1, 5, sample(5, `{"bytes":"16,32","x":"a,b"}`, frameText("main"))),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBuilder("nanoseconds")
			tc.profile(b)
			assert.Equal(t, tc.want, stacks(t, b.build(t)))
		})
	}
}

// Parca reports one sample type; of a profile with several, pprof takes the last
// or the one that is marked.
func TestTheDefaultSampleTypeIsTaken(t *testing.T) {
	b := newBuilder("count")
	b.SampleType = append(b.SampleType, &profile.ValueType{Type: "cpu", Unit: "nanoseconds"})
	b.add(2, "a").Value = []int64{2, 20}
	assert.Equal(t, rootText(20, nodeText("a", 20)), flamegraph(t, b.build(t)))

	b.SampleType[0].Type = "samples"
	b.DefaultSampleType = "samples"
	assert.Equal(t, rootText(2, nodeText("a", 2)), flamegraph(t, b.build(t)))
	assert.Contains(t, stacks(t, b.build(t)), `"unit":"count"`)
}

func TestAProfileWithoutSampleTypesIsAnError(t *testing.T) {
	_, err := NewFlamegraph(t.Context(), &profile.Profile{}, testLimit)
	require.ErrorIs(t, err, errNoSampleType)
	_, err = NewStacks(t.Context(), "", &profile.Profile{}, testLimit)
	require.ErrorIs(t, err, errNoSampleType)
}
