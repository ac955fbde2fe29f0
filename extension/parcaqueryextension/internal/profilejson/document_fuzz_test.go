// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profilejson

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maxNesting is below what encoding/json reads.
const maxNesting = 1000

type nodeJSON struct {
	Name     string
	Value    int64
	Children []nodeJSON
}

type stacksJSON struct {
	UniqueStackTraces int   `json:"unique_stack_traces"`
	TotalValue        int64 `json:"total_value"`
	Samples           []struct {
		Value int64
		Stack []struct {
			FunctionName string `json:"function_name"`
		}
	}
}

// realProfiles are profiles of several producers, by file name.
func realProfiles(tb testing.TB) map[string][]byte {
	tb.Helper()
	files, err := filepath.Glob("../../../../internal/pprofotlp/testdata/*.pb.gz")
	require.NoError(tb, err)
	require.NotEmpty(tb, files)
	profiles := map[string][]byte{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(tb, err)
		profiles[filepath.Base(file)] = data
	}
	return profiles
}

func TestRealProfiles(t *testing.T) {
	for name, data := range realProfiles(t) {
		t.Run(name, func(t *testing.T) {
			p, err := profile.ParseData(data)
			require.NoError(t, err)
			require.NotEmpty(t, p.Sample)
			checkDocuments(t, p)
		})
	}
}

// FuzzDocuments gives profiles as they may come from anywhere. Whatever can be
// parsed becomes two valid documents that agree with each other, and with a
// second, naive way to count.
func FuzzDocuments(f *testing.F) {
	for _, data := range realProfiles(f) {
		if len(data) < 64<<10 { // a larger seed slows the fuzzer down
			f.Add(data)
		}
	}
	small := newBuilder("nanoseconds")
	small.add(3, "fib", "fib", "main").Label = map[string][]string{"env": {"prod"}}
	small.sample(2, small.location())
	f.Add(uncompressed(f, small.build(f)))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := profile.ParseUncompressed(data)
		if err != nil {
			if p, err = profile.ParseData(data); err != nil {
				return
			}
		}
		if p.CheckValid() != nil || len(p.SampleType) == 0 {
			return
		}
		checkDocuments(t, p)
	})
}

func uncompressed(tb testing.TB, p *profile.Profile) []byte {
	tb.Helper()
	var b strings.Builder
	require.NoError(tb, p.WriteUncompressed(&b))
	return []byte(b.String())
}

func checkDocuments(t *testing.T, p *profile.Profile) {
	t.Helper()
	const limit = 64 << 20
	flame, err := NewFlamegraph(context.Background(), p, limit)
	if err != nil {
		require.ErrorIs(t, err, ErrTooLarge)
		return
	}
	list, err := NewStacks(context.Background(), "json_stacks", p, limit)
	if err != nil {
		require.ErrorIs(t, err, ErrTooLarge)
		return
	}
	flameText, listText := text(t, flame), text(t, list)
	slices.Reverse(p.Sample)
	exact := fits(p)
	if exact { // a sum that saturates depends on the order
		assert.Equal(t, flameText, flamegraphOf(t, p, limit), "the order of samples changes nothing")
	}
	if deepest(p) > maxNesting {
		return
	}
	var tree nodeJSON
	require.NoError(t, json.Unmarshal([]byte(flameText), &tree))
	var samples stacksJSON
	require.NoError(t, json.Unmarshal([]byte(listText), &samples))
	assert.LessOrEqual(t, samples.UniqueStackTraces, len(p.Sample))
	if !exact {
		return
	}
	assert.Equal(t, tree.Value, samples.TotalValue)
	assert.Equal(t, naive(samples), paths(tree, "", map[string]int64{}))
}

func flamegraphOf(t *testing.T, p *profile.Profile, limit int64) string {
	t.Helper()
	f, err := NewFlamegraph(context.Background(), p, limit)
	require.NoError(t, err)
	return text(t, f)
}

// naive counts the weight of each call path by names.
func naive(s stacksJSON) map[string]int64 {
	weights := map[string]int64{"": s.TotalValue}
	for _, sample := range s.Samples {
		path := ""
		for _, frame := range sample.Stack {
			path += "\x00" + frame.FunctionName
			weights[path] += sample.Value
		}
	}
	return weights
}

// paths lists the same of a tree. Functions of one name in several files are
// several nodes there.
func paths(n nodeJSON, path string, into map[string]int64) map[string]int64 {
	into[path] += n.Value
	for _, child := range n.Children {
		paths(child, path+"\x00"+child.Name, into)
	}
	return into
}

// fits says whether no sum of weights can be out of range.
func fits(p *profile.Profile) bool {
	w, err := newWeights(p)
	if err != nil {
		return false
	}
	var sum uint64
	for _, s := range p.Sample {
		magnitude := uint64(w.of(s))
		if w.of(s) < 0 {
			magnitude = -magnitude
		}
		if sum += magnitude; magnitude >= 1<<62 || sum >= 1<<62 {
			return false
		}
	}
	return true
}

func deepest(p *profile.Profile) int {
	most := 0
	for _, s := range p.Sample {
		depth := 0
		for _, l := range s.Location {
			depth += max(len(l.Line), 1)
		}
		most = max(most, depth)
	}
	return most
}
