// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profilejson

import (
	"bytes"
	"context"
	"fmt"
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
