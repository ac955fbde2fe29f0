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
// Stacks are compared by value: the functions and lines of their frames, and
// where these are not known, addresses in the mapped file. Neither the ids of the
// profile, nor where the process was loaded, nor how well its addresses could be
// resolved, nor how inlined functions are grouped into locations have a part in it.
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

// Counted tells whether the profile has sample types that count since process
// start.
func (s Step) Counted() bool { return s.counted != nil }

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
// A count of a stack that falls, over all its labels together, or a stack that
// is gone, means that another process answered. Nothing is known then about when
// its counts began, and for the stacks that did not fall the difference would mix
// two processes; so the counting sample types give no increment, just as on the
// first profile, and p is where the next comparison begins.
func (inc *Increments) Compare(p *profile.Profile) Step {
	counting := columns(p, CountsSinceStart)
	if len(counting) == 0 {
		return Step{Profile: p}
	}
	if inc.tables == nil {
		inc.tables = newTables()
	}
	in := newInterner(inc.tables, p, true)
	defer in.release()
	weights := weigh(p, in)
	step := Step{source: p, counted: count(p, weights, counting)}
	if inc.baseline == nil || !slices.Equal(inc.baseline.types, step.counted.types) {
		step.First = true
		step.Profile = snapshots(p)
		return step
	}
	moved, restarted := compareCounters(inc.baseline, step.counted)
	if restarted {
		step.Restarted = true
		step.Profile = snapshots(p)
		return step
	}
	step.Profile = difference(p, weights, counting, inc.baseline, moved)
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
		in := newInterner(inc.tables, step.source, true)
		defer in.release()
		weights := weigh(step.source, in)
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

// movements are, by stack, the counts that fell under one set of labels and rose
// under others: a process that labels its samples anew has counted nothing by it.
type movements map[int32][]int64

// compareCounters returns what moved between labels, and whether the counts of any
// stack fell over all its labels.
func compareCounters(before, now *counters) (moved movements, restarted bool) {
	for id, old := range before.values {
		current := now.values[id]
		for i := range old {
			if at(current, i) >= old[i] {
				continue
			}
			if moved == nil {
				moved = movements{}
			}
			if moved[id.stack] == nil {
				moved[id.stack] = make([]int64, len(old))
			}
			moved[id.stack][i] += old[i] - at(current, i)
		}
	}
	if moved == nil {
		return nil, false
	}
	return moved, !moved.within(risen(before, now, moved))
}

// risen is how much the counts rose, under the labels under which they did, for
// the stacks that have moved.
func risen(before, now *counters, moved movements) movements {
	rise := movements{}
	for id, current := range now.values {
		if moved[id.stack] == nil {
			continue
		}
		if rise[id.stack] == nil {
			rise[id.stack] = make([]int64, len(current))
		}
		old := before.values[id]
		for i := range current {
			rise[id.stack][i] += max(current[i]-at(old, i), 0)
		}
	}
	return rise
}

// within tells whether no movement is larger than the other of its stack.
func (m movements) within(other movements) bool {
	for stack, counts := range m {
		for i, n := range counts {
			if n > at(other[stack], i) {
				return false
			}
		}
	}
	return true
}

// at is the value at a position of a row that may not be there.
func at(row []int64, i int) int64 {
	if i < len(row) {
		return row[i]
	}
	return 0
}

// difference returns p with the baseline subtracted from its counting columns,
// and what moved between the labels of a stack subtracted from what rose.
func difference(p *profile.Profile, weights []weight, counting []int, baseline *counters, moved movements) *profile.Profile {
	out := header(p)
	out.SampleType = p.SampleType
	for _, w := range weights {
		values := slices.Clone(w.values)
		old := baseline.values[w.identity]
		for i, column := range counting {
			values[column] -= at(old, i)
			if counts := moved[w.stack]; counts != nil {
				values[column] = max(values[column], 0)
				known := min(values[column], counts[i])
				values[column] -= known
				counts[i] -= known
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
	return KeepSampleTypes(p, func(st *profile.ValueType) bool { return !CountsSinceStart(st) })
}

// KeepSampleTypes returns p with the sample types that satisfy the condition, and
// the samples that have a value of any of them, or nil if none does. It shares
// locations, functions and mappings with p, which it does not change.
func KeepSampleTypes(p *profile.Profile, condition func(*profile.ValueType) bool) *profile.Profile {
	kept := columns(p, condition)
	switch len(kept) {
	case 0:
		return nil
	case len(p.SampleType):
		return p
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
