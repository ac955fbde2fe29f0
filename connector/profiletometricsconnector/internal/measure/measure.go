// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package measure knows what a profile measures: from its sample type and its
// period it tells which metrics its weights belong to, in which unit, and
// whether they add up over time or are a snapshot.
package measure // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"

import (
	"cmp"
	"strings"
)

// Stream is one measure as the metrics pipeline sees it.
type Stream struct {
	// Name is the metric's name; the function metrics append to it.
	Name        string
	Description string
	// Unit is the UCUM unit of the values that are emitted.
	Unit string
	// Snapshot tells a gauge, which a newer profile replaces, from a monotonic
	// sum, to which every profile adds.
	Snapshot bool
	// PerUnit says how many of the base units in which weights are held
	// (nanoseconds, bytes, or whatever was counted) make one Unit.
	PerUnit int64
	// Double is true for values that are emitted as floating point.
	Double bool
}

// Profile is what a profile says about its weights
// (opentelemetry.proto.profiles.v1development.Profile, fields sample_type,
// period_type and period), with the strings resolved.
type Profile struct {
	Type, Unit             string
	PeriodType, PeriodUnit string
	Period                 int64
}

// Compare orders profiles by their names.
func (p Profile) Compare(other Profile) int {
	return cmp.Or(
		cmp.Compare(p.Type, other.Type), cmp.Compare(p.Unit, other.Unit),
		cmp.Compare(p.PeriodType, other.PeriodType), cmp.Compare(p.PeriodUnit, other.PeriodUnit),
	)
}

// Target is one stream to which a profile's weights go.
type Target struct {
	// Stream is an index into Table.Streams.
	Stream int
	// Rule is the number of the export rule that asks, in the order of AddRule
	// from 1; 0 for a measure.
	Rule int
	// Factor turns one unit of weight into base units.
	Factor int64
	// FromSampleCount marks CPU time that was computed as samples × period. A
	// profile beside it that has the time itself describes the same samples.
	FromSampleCount bool
	// CPUTime marks CPU time that the profile has as time.
	CPUTime bool
}

// SampleType asks for a measure beyond the built-in ones.
type SampleType struct {
	// Type is the name of the sample type, Unit that of its unit; an empty
	// Unit matches every unit that converts into the stream's.
	Type, Unit string
	// MetricUnit is the unit to convert to; empty for none.
	MetricUnit  string
	Name        string
	Description string
	Snapshot    bool
}

// BuiltIn says how one of the built-in measures is emitted. A measure without
// a name is disabled.
type BuiltIn struct {
	Name        string
	Description string
	// Unit is a time unit for CPU time, a byte unit for the others.
	Unit string
}

// Table is the compiled set of measures. Once AddRule has added the last rule,
// it is immutable and safe for concurrent use.
type Table struct {
	streams []Stream

	builtIns [builtIns]int // stream indices, or disabled
	byType   map[string][]matcher
	rules    []rule
}

const disabled = -1

// builtIn is one of the measures that need no entry.
type builtIn int

const (
	cpuTime builtIn = iota
	allocatedBytes
	liveBytes
	builtIns
)

// matcher is one way in which profiles of a sample type feed a stream.
type matcher struct {
	unit      string // lower case; empty for any of the dimension
	dimension Dimension
	stream    int
}

// NewTable compiles the measures: CPU time, allocated bytes, live bytes, and
// whatever else was asked for.
func NewTable(cpu, allocated, live BuiltIn, more []SampleType) *Table {
	table := &Table{byType: make(map[string][]matcher)}
	table.builtIns[cpuTime] = table.addBuiltIn(cpu, false)
	table.builtIns[allocatedBytes] = table.addBuiltIn(allocated, false)
	table.builtIns[liveBytes] = table.addBuiltIn(live, true)
	for _, sampleType := range more {
		table.addSampleType(sampleType)
	}
	return table
}

// Streams are all streams that Resolve can name, in a stable order.
func (t *Table) Streams() []Stream { return t.streams }

func (t *Table) addBuiltIn(measure BuiltIn, snapshot bool) int {
	if measure.Name == "" {
		return disabled
	}
	return t.add(Stream{
		Name:        measure.Name,
		Description: measure.Description,
		Snapshot:    snapshot,
	}, ParseUnit(measure.Unit))
}

// addSampleType adds a stream for every dimension that the entry can match:
// which of them carries the data is known only from the data.
func (t *Table) addSampleType(entry SampleType) {
	name := strings.ToLower(entry.Type)
	for _, dimension := range []Dimension{Other, Time, Bytes} {
		if entry.Unit != "" && ParseUnit(entry.Unit).Dimension != dimension {
			continue
		}
		unit, ok := entry.unitFor(dimension)
		if !ok {
			continue
		}
		stream := t.add(Stream{
			Name:        entry.Name,
			Description: entry.Description,
			Snapshot:    entry.Snapshot,
		}, unit)
		if entry.MetricUnit == "" {
			t.streams[stream].Double = false
		}
		t.byType[name] = append(t.byType[name], matcher{
			unit:      strings.ToLower(entry.Unit),
			dimension: dimension,
			stream:    stream,
		})
	}
}

// unitFor is the unit in which samples of a dimension are emitted; false where
// they cannot be converted into the unit that was asked for.
func (e SampleType) unitFor(dimension Dimension) (Unit, bool) {
	if e.MetricUnit == "" {
		return e.baseUnit(dimension), true
	}
	unit := ParseUnit(e.MetricUnit)
	if unit.Dimension == Other {
		// Not a unit that anything converts into: the user names the unit of
		// what is counted, and samples that are counted are what it fits.
		unit.UCUM = e.MetricUnit
	}
	return unit, unit.Dimension == dimension
}

func (e SampleType) baseUnit(dimension Dimension) Unit {
	switch dimension {
	case Time:
		return ParseUnit("ns")
	case Bytes:
		return ParseUnit("By")
	default:
		return Unit{Dimension: Other, Factor: 1, UCUM: "{" + e.Type + "}"}
	}
}

func (t *Table) add(stream Stream, unit Unit) int {
	stream.Unit = unit.UCUM
	stream.PerUnit = unit.Factor
	stream.Double = unit.Dimension == Time || unit.Factor != 1
	t.streams = append(t.streams, stream)
	return len(t.streams) - 1
}

// Resolve appends to targets the streams that a profile feeds: none, the
// built-in measure that it is, every entry that asks for its sample type, and,
// after these, every rule that does.
func (t *Table) Resolve(targets []Target, profile Profile) []Target {
	measure, recognized, ok := recognize(profile)
	if ok && t.builtIns[measure] != disabled {
		recognized.Stream = t.builtIns[measure]
		targets = append(targets, recognized)
	}
	if len(t.byType) > 0 {
		unit := ParseUnit(profile.Unit)
		for _, matcher := range t.byType[strings.ToLower(profile.Type)] {
			if matcher.matches(profile.Unit, unit.Dimension) {
				targets = append(targets, Target{Stream: matcher.stream, Factor: unit.Factor})
			}
		}
	}
	if len(t.rules) > 0 {
		targets = t.resolveRules(targets, profile)
	}
	return targets
}

func (m matcher) matches(unit string, dimension Dimension) bool {
	if m.dimension != dimension {
		return false
	}
	return m.unit == "" || dimension != Other || strings.EqualFold(m.unit, unit)
}

// recognize finds the built-in measure that a profile is. The stream of the
// target is left to the caller.
func recognize(profile Profile) (builtIn, Target, bool) {
	unit := ParseUnit(profile.Unit)
	switch strings.ToLower(profile.Type) {
	case "cpu":
		if unit.Dimension == Time {
			return cpuTime, Target{Factor: unit.Factor, CPUTime: true}, true
		}
		return cpuFromCount(profile)
	case "process_cpu", "on_cpu", "itimer":
		return cpuTime, Target{Factor: unit.Factor, CPUTime: true}, unit.Dimension == Time
	case "samples", "sample":
		return cpuFromCount(profile)
	case "alloc_space", "allocated_space", "alloc_in_new_tlab_bytes", "alloc_outside_tlab_bytes", "allocated_bytes":
		return allocatedBytes, Target{Factor: unit.Factor}, unit.Dimension == Bytes
	case "inuse_space", "live", "heap_live_size", "inuse_bytes":
		return liveBytes, Target{Factor: unit.Factor}, unit.Dimension == Bytes
	default:
		return 0, Target{}, false
	}
}

// cpuFromCount recognizes a profile that counts samples taken once per period
// of CPU time.
func cpuFromCount(profile Profile) (builtIn, Target, bool) {
	if !strings.EqualFold(profile.Unit, "count") || profile.Period <= 0 {
		return 0, Target{}, false
	}
	switch strings.ToLower(profile.PeriodType) {
	case "cpu", "process_cpu", "on_cpu", "itimer":
	default:
		return 0, Target{}, false
	}
	period := ParseUnit(profile.PeriodUnit)
	if period.Dimension != Time {
		return 0, Target{}, false
	}
	return cpuTime, Target{Factor: Multiply(profile.Period, period.Factor), FromSampleCount: true}, true
}
