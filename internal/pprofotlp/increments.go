// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofotlp

import (
	"slices"

	"github.com/google/pprof/profile"
)

// Increments turns successive profiles of one endpoint into what happened
// between them. The zero value is ready to use; it is not safe for concurrent
// use.
//
// Sample types that count since process start (alloc_objects and alloc_space,
// contentions and delay of mutex and block profiles) become the difference to
// the baseline, per stack and labels. All others (inuse_objects, inuse_space,
// the count of goroutine and threadcreate, CPU profiles) are left as they are.
//
// Stacks are compared by value: functions, lines, and addresses relative to
// their mapping. Neither the ids of the profile, nor where the process was
// loaded, nor how well its addresses could be resolved have a part in it.
type Increments struct {
	tables   *tables
	baseline *counters
}

// Step is what one profile adds to the baseline it was compared with.
type Step struct {
	// Profile has the sample types that could be told: without a baseline only
	// those that need none. It is nil when no sample type is left. It shares
	// locations, functions and mappings with the profile that was compared.
	Profile *profile.Profile
	// First says that there was no baseline to compare the counting sample types
	// with, or one with other sample types.
	First bool
	// Restarted says that a count fell, so that the process is not the one of
	// the baseline.
	Restarted bool

	source  *profile.Profile
	counted *counters
}

// counters are the counting sample types of one profile.
type counters struct {
	types  []valueType
	values map[identity][]int64 // per stack and labels, one value per counting type
}

// valueType is what identifies a sample type.
type valueType struct{ name, unit string }

// CountsSinceStart tells whether the values of a sample type only ever grow
// while the process lives. The names are those of Go's runtime, which other
// runtimes took over with their meaning.
func CountsSinceStart(st *profile.ValueType) bool {
	switch st.Type {
	case "alloc_objects", "alloc_space", "contentions", "delay":
		return true
	}
	return false
}

// Compare returns what p adds to the baseline. It does not move the baseline:
// Advance does, once the step has been delivered, so that a step that was lost
// on its way is part of the next one. It does not change p, which must be valid
// (profile.CheckValid).
//
// A count that falls, or a stack that is gone, means that another process
// answered. Nothing is known then about when its counts began, and for the stacks
// that did not fall the difference would mix two processes; so the counting
// sample types give no increment, just as on the first profile, and p is where
// the next comparison begins.
func (inc *Increments) Compare(p *profile.Profile) Step {
	counting := columns(p, CountsSinceStart)
	if len(counting) == 0 {
		return Step{Profile: p}
	}
	if inc.tables == nil {
		inc.tables = newTables()
	}
	weights := weigh(p, newInterner(inc.tables, true))
	step := Step{source: p, counted: count(p, weights, counting)}
	switch {
	case inc.baseline == nil || !slices.Equal(inc.baseline.types, step.counted.types):
		step.First = true
	case fell(inc.baseline, step.counted):
		step.Restarted = true
	default:
		step.Profile = difference(p, weights, counting, inc.baseline)
		return step
	}
	step.Profile = snapshots(p)
	return step
}

// Advance makes the profile of a step the baseline of the next one.
func (inc *Increments) Advance(step Step) {
	if step.counted == nil {
		return
	}
	inc.baseline = step.counted
	// A process never loses a counted stack, but a target that restarts again
	// and again would fill the tables with the stacks of all its lives.
	if inc.tables.stacks.len() > 2*len(step.counted.values)+1024 {
		inc.tables = newTables()
		weights := weigh(step.source, newInterner(inc.tables, true))
		inc.baseline = count(step.source, weights, columns(step.source, CountsSinceStart))
	}
}

// columns returns the positions of the sample types that satisfy the condition.
func columns(p *profile.Profile, condition func(*profile.ValueType) bool) []int {
	var positions []int
	for i, st := range p.SampleType {
		if condition(st) {
			positions = append(positions, i)
		}
	}
	return positions
}

func count(p *profile.Profile, weights []weight, counting []int) *counters {
	c := &counters{values: make(map[identity][]int64, len(weights))}
	for _, i := range counting {
		c.types = append(c.types, valueType{p.SampleType[i].Type, p.SampleType[i].Unit})
	}
	all := make([]int64, 0, len(weights)*len(counting))
	for _, w := range weights {
		from := len(all)
		for _, i := range counting {
			all = append(all, w.values[i])
		}
		if row := all[from:len(all):len(all)]; !isZero(row) {
			c.values[w.identity] = row
		}
	}
	return c
}

// fell tells whether any count is smaller than it was, or gone.
func fell(before, now *counters) bool {
	for id, old := range before.values {
		current, found := now.values[id]
		if !found {
			return true
		}
		for i := range old {
			if current[i] < old[i] {
				return true
			}
		}
	}
	return false
}

// difference returns p with the baseline subtracted from its counting columns.
func difference(p *profile.Profile, weights []weight, counting []int, baseline *counters) *profile.Profile {
	out := header(p)
	out.SampleType = p.SampleType
	for _, w := range weights {
		values := slices.Clone(w.values)
		if old, found := baseline.values[w.identity]; found {
			for i, column := range counting {
				values[column] -= old[i]
			}
		}
		if !isZero(values) {
			out.Sample = append(out.Sample, withValues(w.sample, values))
		}
	}
	return out
}

// snapshots returns p without its counting columns, or nil if it has no others.
func snapshots(p *profile.Profile) *profile.Profile {
	kept := columns(p, func(st *profile.ValueType) bool { return !CountsSinceStart(st) })
	if len(kept) == 0 {
		return nil
	}
	out := header(p)
	for _, i := range kept {
		out.SampleType = append(out.SampleType, p.SampleType[i])
	}
	for _, s := range p.Sample {
		values := make([]int64, 0, len(kept))
		for _, i := range kept {
			values = append(values, s.Value[i])
		}
		if !isZero(values) {
			out.Sample = append(out.Sample, withValues(s, values))
		}
	}
	return out
}

func withValues(s *profile.Sample, values []int64) *profile.Sample {
	return &profile.Sample{
		Location: s.Location,
		Value:    values,
		Label:    s.Label,
		NumLabel: s.NumLabel,
		NumUnit:  s.NumUnit,
	}
}

// header returns everything of p but its sample types and samples.
func header(p *profile.Profile) *profile.Profile {
	return &profile.Profile{
		DefaultSampleType: p.DefaultSampleType,
		Mapping:           p.Mapping,
		Location:          p.Location,
		Function:          p.Function,
		Comments:          p.Comments,
		DocURL:            p.DocURL,
		DropFrames:        p.DropFrames,
		KeepFrames:        p.KeepFrames,
		TimeNanos:         p.TimeNanos,
		DurationNanos:     p.DurationNanos,
		PeriodType:        p.PeriodType,
		Period:            p.Period,
	}
}
