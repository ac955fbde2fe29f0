// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profilejson

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const testLimit = 1 << 20

// builder makes small profiles: a location of each name, with the file
// /src/NAME.go, the line 7 and the start line 5.
type builder struct {
	profile.Profile
	byName map[string]*profile.Location
}

func newBuilder(unit string) *builder {
	b := &builder{byName: map[string]*profile.Location{}}
	b.SampleType = []*profile.ValueType{{Type: "cpu", Unit: unit}}
	b.Mapping = []*profile.Mapping{{ID: 1, Start: 1, Limit: 1 << 40, File: "/app/shop"}}
	return b
}

// function adds a function and returns a line in it.
func (b *builder) function(f profile.Function, line int64) profile.Line {
	f.ID = uint64(len(b.Function) + 1)
	b.Function = append(b.Function, &f)
	return profile.Line{Function: &f, Line: line}
}

// location adds a location with the given lines, innermost first.
func (b *builder) location(lines ...profile.Line) *profile.Location {
	id := uint64(len(b.Location) + 1)
	l := &profile.Location{ID: id, Address: 0x1000 + id, Mapping: b.Mapping[0], Line: lines}
	b.Location = append(b.Location, l)
	return l
}

func (b *builder) named(name string) *profile.Location {
	l, known := b.byName[name]
	if !known {
		l = b.location(b.function(profile.Function{Name: name, SystemName: name, Filename: "/src/" + name + ".go", StartLine: 5}, 7))
		b.byName[name] = l
	}
	return l
}

// add adds a sample of a stack, leaf first, as pprof has it.
func (b *builder) add(value int64, leafFirst ...string) *profile.Sample {
	var locations []*profile.Location
	for _, name := range leafFirst {
		locations = append(locations, b.named(name))
	}
	return b.sample(value, locations...)
}

func (b *builder) sample(value int64, leafFirst ...*profile.Location) *profile.Sample {
	s := &profile.Sample{Value: []int64{value}, Location: leafFirst}
	b.Sample = append(b.Sample, s)
	return s
}

func (b *builder) build(tb testing.TB) *profile.Profile {
	tb.Helper()
	require.NoError(tb, b.CheckValid())
	return &b.Profile
}

func text(tb testing.TB, d Document) string {
	tb.Helper()
	var out bytes.Buffer
	n, err := d.WriteTo(&out)
	require.NoError(tb, err)
	assert.Equal(tb, int64(out.Len()), n)
	return out.String()
}

func flamegraph(tb testing.TB, p *profile.Profile) string {
	tb.Helper()
	f, err := NewFlamegraph(context.Background(), p, testLimit)
	require.NoError(tb, err)
	return text(tb, f)
}

func stacks(tb testing.TB, p *profile.Profile) string {
	tb.Helper()
	s, err := NewStacks(context.Background(), "json_stacks", p, testLimit)
	require.NoError(tb, err)
	return text(tb, s)
}

// nodeText is a flame graph's node of a named location.
func nodeText(name string, value int64, children ...string) string {
	return fmt.Sprintf(`{"name":%[1]q,"system_name":%[1]q,"filename":"/src/%[1]s.go","start_line":5,"value":%[2]d,"children":[%[3]s]}`,
		name, value, strings.Join(children, ","))
}

func rootText(value int64, children ...string) string {
	return fmt.Sprintf(`{"name":"root","system_name":"","filename":"","start_line":0,"value":%d,"children":[%s]}`+"\n",
		value, strings.Join(children, ","))
}

func frameText(name string) string {
	return fmt.Sprintf(`{"function_name":%[1]q,"file_name":"/src/%[1]s.go","line_number":7,"binary_name":"shop"}`, name)
}

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

// wide has n stacks of depth frames that begin alike.
func wide(tb testing.TB, n, depth int) *profile.Profile {
	tb.Helper()
	b := newBuilder("nanoseconds")
	for i := range n {
		stack := []*profile.Location{b.named(fmt.Sprint("leaf", i))}
		for d := range depth - 1 {
			stack = append(stack, b.named(fmt.Sprint("f", d)))
		}
		b.sample(int64(1+i%7), stack...)
	}
	return b.build(tb)
}

func TestSixtyThousandStacks(t *testing.T) {
	const n = 60_000
	p := wide(t, n, 10)
	f, err := NewFlamegraph(t.Context(), p, 64<<20)
	require.NoError(t, err)
	assert.Len(t, f.nodes, 1+9+n)
	assert.True(t, json.Valid([]byte(text(t, f))))

	s, err := NewStacks(t.Context(), "json_stacks", p, 256<<20)
	require.NoError(t, err)
	assert.Equal(t, n, s.unique)
	assert.Len(t, s.samples, n)
	assert.Equal(t, f.nodes[root].value, s.total)
	_, err = s.WriteTo(io.Discard)
	require.NoError(t, err)
}

// A stack of very many calls costs memory, but no deep call stack of our own.
func TestAVeryDeepStack(t *testing.T) {
	const depth = 200_000
	b := newBuilder("nanoseconds")
	loop := b.named("loop")
	stack := make([]*profile.Location, depth)
	for i := range stack {
		stack[i] = loop
	}
	b.sample(3, stack...)
	f, err := NewFlamegraph(t.Context(), b.build(t), 1<<30)
	require.NoError(t, err)
	var braces nesting
	_, err = f.WriteTo(&braces)
	require.NoError(t, err)
	assert.Equal(t, depth+1, braces.deepest)
	assert.Zero(t, braces.open)
}

// nesting follows the braces of a text that has none in its strings.
type nesting struct{ open, deepest int }

func (n *nesting) Write(p []byte) (int, error) {
	for _, c := range p {
		switch c {
		case '{':
			n.open++
			n.deepest = max(n.deepest, n.open)
		case '}':
			n.open--
		}
	}
	return len(p), nil
}

func TestWhatIsOverTheLimitIsRefused(t *testing.T) {
	b := newBuilder("nanoseconds")
	for i := range 50 {
		b.add(1, fmt.Sprint("leaf", i), "main")
		b.add(1, fmt.Sprint("leaf", i), "main") // merged: costs nothing
	}
	p := b.build(t)
	for _, tc := range []struct {
		name  string
		build func(limit int64) (Document, error)
	}{
		{"flame graph", func(limit int64) (Document, error) { return NewFlamegraph(t.Context(), p, limit) }},
		{"stacks", func(limit int64) (Document, error) { return NewStacks(t.Context(), "x", p, limit) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			full, err := tc.build(testLimit)
			require.NoError(t, err)
			size := int64(len(text(t, full)))
			_, err = tc.build(size)
			require.NoError(t, err, "what just fits is built")
			_, err = tc.build(size / 2)
			require.ErrorIs(t, err, ErrTooLarge)
			_, err = tc.build(10)
			require.ErrorIs(t, err, ErrTooLarge)
		})
	}
}

func TestNobodyWaitingEndsTheWork(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := wide(t, 10, 10)
	_, err := NewFlamegraph(ctx, p, testLimit)
	require.ErrorIs(t, err, context.Canceled)
	_, err = NewStacks(ctx, "x", p, testLimit)
	require.ErrorIs(t, err, context.Canceled)
}

var errFull = errors.New("full")

// narrow takes some bytes and then fails.
type narrow struct{ left int }

func (n *narrow) Write(p []byte) (int, error) {
	if n.left -= len(p); n.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestAnErrorOfTheWriterEndsTheWriting(t *testing.T) {
	p := wide(t, 5000, 3)
	f, err := NewFlamegraph(t.Context(), p, testLimit)
	require.NoError(t, err)
	s, err := NewStacks(t.Context(), "x", p, 2*testLimit)
	require.NoError(t, err)
	for _, d := range []Document{f, s} {
		_, err := d.WriteTo(&narrow{left: 100_000})
		require.ErrorIs(t, err, errFull)
		_, err = d.WriteTo(&narrow{})
		require.ErrorIs(t, err, errFull)
	}
}

func TestTheOrderOfSamplesDoesNotMatter(t *testing.T) {
	p := wide(t, 500, 5)
	wantTree, wantStacks := flamegraph(t, p), stacks(t, p)
	random := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		random.Shuffle(len(p.Sample), func(i, j int) { p.Sample[i], p.Sample[j] = p.Sample[j], p.Sample[i] })
		assert.Equal(t, wantTree, flamegraph(t, p))
		assert.Equal(t, wantStacks, stacks(t, p))
	}
}

// BenchmarkDocuments makes and writes the documents of 40 s of a busy Go program:
// 5,660 samples.
func BenchmarkDocuments(b *testing.B) {
	p, err := profile.ParseData(realProfiles(b)["gotool-cpu.pb.gz"])
	require.NoError(b, err)
	const limit = 64 << 20
	for name, build := range map[string]func() (Document, error){
		"flamegraph": func() (Document, error) { return NewFlamegraph(b.Context(), p, limit) },
		"stacks":     func() (Document, error) { return NewStacks(b.Context(), "json_stacks", p, limit) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d, err := build()
				require.NoError(b, err)
				n, err := d.WriteTo(io.Discard)
				require.NoError(b, err)
				b.SetBytes(n)
			}
		})
	}
}
