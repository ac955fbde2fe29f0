// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofotlp

import (
	"fmt"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var heapTypes = []*profile.ValueType{
	{Type: "alloc_objects", Unit: "count"},
	{Type: "alloc_space", Unit: "bytes"},
	{Type: "inuse_objects", Unit: "count"},
	{Type: "inuse_space", Unit: "bytes"},
}

var mutexTypes = []*profile.ValueType{{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}}

func heap(allocated, live int64) *stackProfile {
	b := newStackProfile(heapTypes...)
	b.sample([]string{"make", "main"}, allocated, allocated*64, live, live*64)
	return b
}

func typeNames(p *profile.Profile) []string {
	var names []string
	if p != nil {
		for _, st := range p.SampleType {
			names = append(names, st.Type)
		}
	}
	return names
}

func TestTheFirstProfileGivesSnapshotsAndNoIncrement(t *testing.T) {
	var inc Increments
	step := inc.Compare(heap(10, 4).Profile)
	assert.True(t, step.First)
	assert.False(t, step.Restarted)
	assert.Equal(t, []string{"inuse_objects", "inuse_space"}, typeNames(step.Profile))
	assert.Equal(t, []int64{4, 256}, sums(step.Profile))
}

func TestTheNextProfileGivesTheDifferenceAndTheSnapshotAsItIs(t *testing.T) {
	var inc Increments
	inc.Advance(inc.Compare(heap(10, 4).Profile))
	second := heap(15, 2)
	second.sample([]string{"new", "main"}, 3, 30, 1, 10)
	before := second.String()
	step := inc.Compare(second.Profile)
	assert.False(t, step.First)
	assert.Equal(t, []int64{5 + 3, 5*64 + 30, 2 + 1, 2*64 + 10}, sums(step.Profile))
	assert.Equal(t, before, second.String(), "the input was changed")
}

func TestAnUnchangedProfileGivesAnEmptyIncrement(t *testing.T) {
	var inc Increments
	mutex := newStackProfile(mutexTypes...)
	mutex.sample([]string{"unlock"}, 2, 200)
	step := inc.Compare(mutex.Profile)
	assert.Nil(t, step.Profile, "nothing but counting sample types")
	inc.Advance(step)
	step = inc.Compare(mutex.Profile)
	assert.Equal(t, []string{"contentions", "delay"}, typeNames(step.Profile))
	assert.Empty(t, step.Profile.Sample)
}

func TestAStepThatIsNotAdvancedIsPartOfTheNext(t *testing.T) {
	var inc Increments
	inc.Advance(inc.Compare(heap(10, 1).Profile))
	inc.Compare(heap(12, 1).Profile)
	assert.Equal(t, int64(7), sums(inc.Compare(heap(17, 1).Profile).Profile)[0])
}

func TestAFallMeansARestart(t *testing.T) {
	for _, tc := range []struct {
		name string
		next func() *stackProfile
	}{
		{"a value falls", func() *stackProfile { return heap(9, 5) }},
		{"one stack falls while the sum grows", func() *stackProfile {
			b := heap(9, 5)
			b.sample([]string{"new", "main"}, 100, 1000, 1, 10)
			return b
		}},
		{"a stack is gone", func() *stackProfile {
			b := newStackProfile(heapTypes...)
			b.sample([]string{"new", "main"}, 100, 1000, 5, 320)
			return b
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var inc Increments
			inc.Advance(inc.Compare(heap(10, 4).Profile))
			step := inc.Compare(tc.next().Profile)
			assert.True(t, step.Restarted)
			assert.Equal(t, []string{"inuse_objects", "inuse_space"}, typeNames(step.Profile))
			inc.Advance(step)
			step = inc.Compare(tc.next().Profile)
			assert.False(t, step.Restarted)
			assert.Equal(t, []int64{0, 0}, sums(step.Profile)[:2])
		})
	}
}

func TestOtherSampleTypesStartAnew(t *testing.T) {
	var inc Increments
	inc.Advance(inc.Compare(heap(10, 4).Profile))
	mutex := newStackProfile(mutexTypes...)
	mutex.sample([]string{"unlock"}, 2, 200)
	step := inc.Compare(mutex.Profile)
	assert.True(t, step.First)
	assert.False(t, step.Restarted)
}

func TestProfilesThatDoNotCountPassThrough(t *testing.T) {
	for _, st := range []*profile.ValueType{
		{Type: "goroutine", Unit: "count"}, {Type: "threadcreate", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"},
	} {
		t.Run(st.Type, func(t *testing.T) {
			b := newStackProfile(st)
			b.sample([]string{"leaf"}, 3)
			var inc Increments
			step := inc.Compare(b.Profile)
			inc.Advance(step)
			assert.Same(t, b.Profile, step.Profile)
			assert.Same(t, b.Profile, inc.Compare(b.Profile).Profile)
		})
	}
}

// relocated returns p as another run of the parser, with other ids in another
// order, of a process loaded somewhere else, would give it.
func relocated(t *testing.T, p *profile.Profile, by uint64) *profile.Profile {
	t.Helper()
	c := p.Copy()
	for _, m := range c.Mapping {
		m.Start, m.Limit = m.Start+by, m.Limit+2*by
		// Go clears it once any address of the mapping could not be resolved.
		m.HasFunctions = !m.HasFunctions
	}
	for i, l := range c.Location {
		l.ID = uint64(len(c.Location) - i)
		if l.Mapping != nil {
			l.Address += by
		}
	}
	for i, f := range c.Function {
		f.ID = uint64(len(c.Function) - i)
	}
	require.NoError(t, c.CheckValid())
	return c
}

func TestStacksAreTheSameByValue(t *testing.T) {
	var inc Increments
	p := parse(t, fixtures(t)["parca-allocs.pb.gz"])
	inc.Advance(inc.Compare(p))
	step := inc.Compare(relocated(t, p, 0x10000))
	assert.False(t, step.Restarted)
	assert.Equal(t, []int64{0, 0}, sums(step.Profile)[:2])
}

func TestIncrementsAreTheDifferenceOfThePerFunctionSums(t *testing.T) {
	for name, raw := range fixtures(t) {
		p := parse(t, raw)
		if len(columns(p, CountsSinceStart)) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			later := grown(parse(t, raw))
			var inc Increments
			inc.Advance(inc.Compare(p))
			step := inc.Compare(relocated(t, later, 0))
			require.False(t, step.Restarted)

			negated := p.Copy()
			negated.Scale(-1)
			want, err := profile.Merge([]*profile.Profile{later, negated})
			require.NoError(t, err)
			for i, st := range p.SampleType {
				if CountsSinceStart(st) {
					assert.Equal(t, perFunction(want, i), perFunction(step.Profile, i), st.Type)
				} else {
					assert.Equal(t, perFunction(later, i), perFunction(step.Profile, i), st.Type)
				}
			}
		})
	}
}

// grown makes every third stack of p count more.
func grown(p *profile.Profile) *profile.Profile {
	for n, s := range p.Sample {
		for i, st := range p.SampleType {
			if n%3 == 0 && CountsSinceStart(st) {
				s.Value[i] += int64(1 + n)
			}
		}
	}
	return p
}

func TestTheTablesOfATargetThatRestartsForeverStayBounded(t *testing.T) {
	var inc Increments
	for life := range 20 {
		b := newStackProfile(mutexTypes...)
		for i := range 200 {
			b.sample([]string{fmt.Sprintf("f%d_%d", life, i)}, 1, 1)
		}
		inc.Advance(inc.Compare(b.Profile))
		b.Sample[0].Value[0]++
		step := inc.Compare(b.Profile)
		require.Equal(t, []int64{1, 0}, sums(step.Profile), "life %d", life)
		inc.Advance(step)
	}
	assert.Less(t, inc.tables.stacks.len(), 2000)
}

func BenchmarkIncrements(b *testing.B) {
	for _, name := range []string{"gotool-heap.pb.gz", "parca-mutex.pb.gz"} {
		p := parse(b, fixtures(b)[name])
		b.Run(name, func(b *testing.B) {
			var inc Increments
			b.ReportAllocs()
			for b.Loop() {
				inc.Advance(inc.Compare(p))
			}
		})
	}
}
