// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package pprofotlp knows how pprof and OTLP profiles correspond: it converts
// the first into the second, and takes the difference of two pprof profiles that
// count since the start of their process.
package pprofotlp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Builder converts pprof profiles into one pprofile.Profiles whose dictionary
// they share. It is not safe for concurrent use.
type Builder struct {
	tables *tables // nil while empty
	out    pprofile.Profiles
}

// Option changes how a profile is added.
type Option func(pprofile.ScopeProfiles)

// WithScope sets the name and version of the instrumentation scope.
func WithScope(name, version string) Option {
	return func(sp pprofile.ScopeProfiles) {
		sp.Scope().SetName(name)
		sp.Scope().SetVersion(version)
	}
}

// NewBuilder returns an empty Builder.
func NewBuilder() *Builder { return &Builder{} }

// Convert is the one-shot form: one profile, an empty resource.
func Convert(p *profile.Profile) (pprofile.Profiles, error) {
	b := NewBuilder()
	if err := b.Add(p, pcommon.NewMap()); err != nil {
		return pprofile.Profiles{}, err
	}
	return b.Profiles(), nil
}

// Add appends one ResourceProfiles with one ScopeProfiles that has one Profile
// per sample type of p, in the order of p, even where no sample has a value: an
// empty snapshot says that nothing is left, an empty increment that nothing
// happened. Time, duration, period and period type are those of p; time is in
// nanoseconds since the Unix epoch. The original payload is left out.
//
// Samples of equal stack and labels are one sample with one value; samples whose
// value is zero for a sample type are absent from its Profile. The drop_frames
// and keep_frames of p are applied as pprof applies them. Neither p nor resource
// is changed. An error means that p is not a valid profile, and adds nothing.
func (b *Builder) Add(p *profile.Profile, resource pcommon.Map, options ...Option) error {
	if err := check(p); err != nil {
		return fmt.Errorf("invalid pprof profile: %w", err)
	}
	b.begin()
	rp := b.out.ResourceProfiles().AppendEmpty()
	resource.CopyTo(rp.Resource().Attributes())
	sp := rp.ScopeProfiles().AppendEmpty()
	for _, option := range options {
		option(sp)
	}
	if p.DefaultSampleType != "" {
		sp.Scope().Attributes().PutStr(scopeDefaultSampleType, p.DefaultSampleType)
	}

	b.tables.reserve(p)
	in := newInterner(b.tables, p, false)
	defer in.release()
	weights := weigh(withoutUninteresting(p), in)
	attributes := in.profileAttributes(p)
	sp.Profiles().EnsureCapacity(len(p.SampleType))
	counts := nonZero(weights, len(p.SampleType))
	for i, st := range p.SampleType {
		out := sp.Profiles().AppendEmpty()
		b.writeHeader(out, p, st)
		b.tables.writeAttributeSet(out.AttributeIndices(), attributes)
		out.Samples().EnsureCapacity(counts[i])
		b.writeSamples(out.Samples(), weights, i)
	}
	return nil
}

// nonZero is how many weights have a value of each sample type.
func nonZero(weights []weight, sampleTypes int) []int {
	counts := make([]int, sampleTypes)
	for w := range weights {
		for i, v := range weights[w].values {
			if v != 0 {
				counts[i]++
			}
		}
	}
	return counts
}

// check tells what would make converting fail. profile.CheckValid also looks for
// ids that two have, or that are missing from a table; here nothing depends on
// them, and profiles that were parsed have been through it.
func check(p *profile.Profile) error {
	if len(p.SampleType) == 0 && len(p.Sample) > 0 {
		return errors.New("samples without sample types")
	}
	if slices.Contains(p.SampleType, nil) {
		return errors.New("a sample type is nil")
	}
	for i, s := range p.Sample {
		switch {
		case s == nil:
			return fmt.Errorf("sample %d is nil", i)
		case len(s.Value) != len(p.SampleType):
			return fmt.Errorf("sample %d has %d values for %d sample types", i, len(s.Value), len(p.SampleType))
		}
	}
	if slices.Contains(p.Location, nil) {
		return errors.New("a location is nil")
	}
	return nil
}

// Profiles returns everything added, and leaves the builder empty.
func (b *Builder) Profiles() pprofile.Profiles {
	b.begin()
	out := b.out
	b.tables.writeTo(out.Dictionary())
	b.tables.reset()
	emptyTables.Put(b.tables)
	*b = Builder{}
	return out
}

func (b *Builder) begin() {
	if b.tables == nil {
		b.tables, b.out = emptyTables.Get().(*tables), pprofile.NewProfiles()
	}
}

func (b *Builder) writeHeader(out pprofile.Profile, p *profile.Profile, st *profile.ValueType) {
	b.writeType(out.SampleType(), st)
	b.writeType(out.PeriodType(), p.PeriodType)
	out.SetPeriod(p.Period)
	// Both are unsigned in OTLP; a negative one is nonsense and reads "not set".
	out.SetTime(pcommon.Timestamp(max(p.TimeNanos, 0)))
	out.SetDurationNano(uint64(max(p.DurationNanos, 0)))
}

func (b *Builder) writeType(out pprofile.ValueType, t *profile.ValueType) {
	if t == nil {
		return
	}
	out.SetTypeStrindex(b.tables.strings.add(t.Type))
	out.SetUnitStrindex(b.tables.strings.add(t.Unit))
}

// writeSamples writes the samples that have a value of sample type i.
func (b *Builder) writeSamples(out pprofile.SampleSlice, weights []weight, i int) {
	for n := range weights {
		w := &weights[n]
		if w.values[i] == 0 {
			continue
		}
		s := out.AppendEmpty()
		s.SetStackIndex(w.stack)
		b.tables.writeAttributeSet(s.AttributeIndices(), w.attributes)
		s.Values().Append(w.values[i])
	}
}
