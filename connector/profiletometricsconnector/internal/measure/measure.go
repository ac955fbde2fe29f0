// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package measure knows what a profile measures: from its sample type and its
// period it tells which metrics its weights belong to, in which unit, and
// whether they add up over time or are a snapshot.
package measure // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"

import (
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

// Target is one stream to which a profile's weights go.
type Target struct {
	// Stream is an index into Table.Streams.
	Stream int
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

// Table is the compiled set of measures. It is immutable and safe for
// concurrent use.
type Table struct {
	streams []Stream

	cpu, allocated, live int // stream indices, or disabled
	byType               map[string][]matcher
}

const disabled = -1

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
	table.cpu = table.addBuiltIn(cpu, false)
	table.allocated = table.addBuiltIn(allocated, false)
	table.live = table.addBuiltIn(live, true)
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
// built-in measure that it is, and every entry that asks for its sample type.
func (t *Table) Resolve(targets []Target, profile Profile) []Target {
	if target, ok := t.builtIn(profile); ok && target.Stream != disabled {
		targets = append(targets, target)
	}
	if len(t.byType) == 0 {
		return targets
	}
	unit := ParseUnit(profile.Unit)
	for _, matcher := range t.byType[strings.ToLower(profile.Type)] {
		if matcher.matches(profile.Unit, unit.Dimension) {
			targets = append(targets, Target{Stream: matcher.stream, Factor: unit.Factor})
		}
	}
	return targets
}

func (m matcher) matches(unit string, dimension Dimension) bool {
	if m.dimension != dimension {
		return false
	}
	return m.unit == "" || dimension != Other || strings.EqualFold(m.unit, unit)
}

func (t *Table) builtIn(profile Profile) (Target, bool) {
	unit := ParseUnit(profile.Unit)
	switch strings.ToLower(profile.Type) {
	case "cpu":
		if unit.Dimension == Time {
			return t.cpuTime(unit), true
		}
		return t.cpuFromCount(profile)
	case "process_cpu", "on_cpu", "itimer":
		return t.cpuTime(unit), unit.Dimension == Time
	case "samples", "sample":
		return t.cpuFromCount(profile)
	case "alloc_space", "allocated_space", "alloc_in_new_tlab_bytes", "alloc_outside_tlab_bytes", "allocated_bytes":
		return Target{Stream: t.allocated, Factor: unit.Factor}, unit.Dimension == Bytes
	case "inuse_space", "live", "heap_live_size", "inuse_bytes":
		return Target{Stream: t.live, Factor: unit.Factor}, unit.Dimension == Bytes
	default:
		return Target{}, false
	}
}

func (t *Table) cpuTime(unit Unit) Target {
	return Target{Stream: t.cpu, Factor: unit.Factor, CPUTime: true}
}

// cpuFromCount recognizes a profile that counts samples taken once per period
// of CPU time.
func (t *Table) cpuFromCount(profile Profile) (Target, bool) {
	if !strings.EqualFold(profile.Unit, "count") || profile.Period <= 0 {
		return Target{}, false
	}
	switch strings.ToLower(profile.PeriodType) {
	case "cpu", "process_cpu", "on_cpu", "itimer":
	default:
		return Target{}, false
	}
	period := ParseUnit(profile.PeriodUnit)
	if period.Dimension != Time {
		return Target{}, false
	}
	return Target{
		Stream:          t.cpu,
		Factor:          Multiply(profile.Period, period.Factor),
		FromSampleCount: true,
	}, true
}
