// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profilejson

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
