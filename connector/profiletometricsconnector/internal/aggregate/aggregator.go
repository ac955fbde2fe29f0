// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package aggregate turns one batch of profiles into weights: it adds up the
// samples by group and stack, folds the stacks into functions, and hands the
// sums to the series.
package aggregate // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"

import (
	"runtime"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/selection"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"
)

// Aggregator converts batches. It is safe for concurrent use.
type Aggregator struct {
	measures  *measure.Table
	selection *selection.Selection
	store     *series.Store
	options   Options

	// idle holds as many batches as there can be at work at a time. A sync.Pool
	// would drop them at every collection of garbage, and with them the
	// functions that they remember.
	idle chan *batch

	census *Census // nil unless somebody watches
}

// Options say how samples are aggregated.
type Options struct {
	// TellFilesApart gives functions of one name in different files series of
	// their own.
	TellFilesApart bool
	// Exemplars is how many exemplars are kept for a point; 0 for none.
	Exemplars int
}

// New returns an aggregator that adds to store.
func New(measures *measure.Table, selected *selection.Selection, store *series.Store, options Options) *Aggregator {
	return &Aggregator{
		measures:  measures,
		selection: selected,
		store:     store,
		options:   options,
		idle:      make(chan *batch, runtime.GOMAXPROCS(0)),
	}
}

func (a *Aggregator) takeBatch() *batch {
	select {
	case b := <-a.idle:
		return b
	default:
		return newBatch(a)
	}
}

func (a *Aggregator) putBatch(b *batch) {
	select {
	case a.idle <- b:
	default:
	}
}

// Add counts a batch into the store and reports what became of its samples. It
// neither changes nor keeps the profiles.
func (a *Aggregator) Add(profiles pprofile.Profiles, now time.Time) Report {
	b := a.takeBatch()
	defer a.putBatch(b)
	b.begin(profiles.Dictionary(), now)
	defer b.end()
	for i, resource := range profiles.ResourceProfiles().All() {
		b.position.Resource = i
		b.addResource(resource)
	}
	return b.report
}

func (b *batch) addResource(profiles pprofile.ResourceProfiles) {
	b.resource.reset(profiles, b.selection.Resource)
	b.rules.resourceKnown = false
	b.choose(profiles.Resource().Attributes())
	for i, scope := range profiles.ScopeProfiles().All() {
		b.position.Scope = i
		b.addScope(scope)
	}
}

func (b *batch) addScope(profiles pprofile.ScopeProfiles) {
	b.scope = profiles.Scope()
	b.resolveTargets(profiles.Profiles())
	for i, profile := range profiles.Profiles().All() {
		b.position.Profile = i
		b.addProfile(profile, b.targets[b.targetEnds[i]:b.targetEnds[i+1]])
	}
}

// resolveTargets finds out what each profile of a scope measures. They are
// looked at together because a profiler that sends CPU time sends the count of
// the same samples beside it (pprof's two sample types): only the time is
// counted.
func (b *batch) resolveTargets(profiles pprofile.ProfilesSlice) {
	b.targets, b.targetEnds = b.targets[:0], append(b.targetEnds[:0], 0)
	hasCPUTime := false
	for _, profile := range profiles.All() {
		b.targets = b.measures.Resolve(b.targets, b.describe(profile))
		b.targetEnds = append(b.targetEnds, len(b.targets))
	}
	for _, target := range b.targets {
		hasCPUTime = hasCPUTime || target.CPUTime
	}
	if hasCPUTime {
		b.dropSampleCounts()
	}
}

// dropSampleCounts takes out the targets of CPU time that was computed from a
// count of samples.
func (b *batch) dropSampleCounts() {
	kept, first := 0, 0
	for i := 1; i < len(b.targetEnds); i++ {
		for _, target := range b.targets[first:b.targetEnds[i]] {
			if !target.FromSampleCount {
				b.targets[kept] = target
				kept++
			}
		}
		first, b.targetEnds[i] = b.targetEnds[i], kept
	}
}

// describe resolves the strings that say what a profile measures. One that is
// lost is empty, and then nothing knows the measure.
func (b *batch) describe(profile pprofile.Profile) measure.Profile {
	text := func(index int32) string {
		s, _ := b.symbols.String(index)
		return s
	}
	return measure.Profile{
		Type:       text(profile.SampleType().TypeStrindex()),
		Unit:       text(profile.SampleType().UnitStrindex()),
		PeriodType: text(profile.PeriodType().TypeStrindex()),
		PeriodUnit: text(profile.PeriodType().UnitStrindex()),
		Period:     profile.Period(),
	}
}

func (b *batch) addProfile(profile pprofile.Profile, targets []measure.Target) {
	samples := profile.Samples()
	if len(targets) == 0 {
		b.ignore(profile)
		return
	}
	b.noteTaken(profile, targets)
	b.beginProfile(profile)
	b.scan(samples, b.feedsCounter(targets))
	b.divide()
	measures, rules := split(targets)
	b.beginRules(rules)
	for _, target := range measures {
		b.commit(profile, target)
	}
	b.addRules(profile)
	b.account()
	b.endProfile()
}

// split tells the targets of measures from those of rules, which come after them.
func split(targets []measure.Target) (measures, rules []measure.Target) {
	first := slices.IndexFunc(targets, func(target measure.Target) bool { return target.Rule != 0 })
	if first < 0 {
		return targets, nil
	}
	return targets[:first], targets[first:]
}

// ignore accounts for the samples of a profile that nothing measures, be it
// that nobody asked or that the profile does not say what it is.
func (b *batch) ignore(profile pprofile.Profile) {
	samples := profile.Samples().Len()
	for _, index := range []int32{profile.SampleType().TypeStrindex(), profile.SampleType().UnitStrindex()} {
		if _, ok := b.symbols.String(index); ok || samples == 0 {
			continue
		}
		if problem := b.symbols.StringProblem(index); problem.Reason != "" {
			b.position.Sample = 0
			b.report.malformed(b.position, problem, int64(samples))
			return
		}
	}
	b.noteIgnored(profile)
	b.report.Ignored += int64(samples)
}

// feedsCounter is true where weights go to a counter, which must not fall.
func (b *batch) feedsCounter(targets []measure.Target) bool {
	return slices.ContainsFunc(targets, func(target measure.Target) bool {
		return !b.measures.Streams()[target.Stream].Snapshot
	})
}

// measured is the time of a profile, for want of it the time of its arrival.
func (b *batch) measured(profile pprofile.Profile) pcommon.Timestamp {
	if t := profile.Time(); t != 0 {
		return t
	}
	return pcommon.NewTimestampFromTime(b.now)
}
