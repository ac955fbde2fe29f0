// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"context"
	"maps"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
	"github.com/profiletometrics/profiletometrics/internal/pprofotlp"
)

// snapshots takes profiles that show how things stand: of each series the newest
// in a window, because the server would add up all of them. Those that count
// since their process began become what happened since the profile before.
type snapshots struct {
	source  *source
	query   parcaapi.Query
	groupBy []string
	// forget is how long a series may be silent before its counts are forgotten.
	forget time.Duration

	prepared bool
	reach    time.Duration       // how far back prepare looks
	counts   map[string]*counter // by all labels; of types that count
}

// counter is where the counts of a series were.
type counter struct {
	increments pprofotlp.Increments
	seen       time.Time // end of the window of the latest profile
}

func newSnapshots(s *shared, query parcaapi.Query, groupBy []string) *snapshots {
	return &snapshots{
		source:  s.source,
		query:   query,
		groupBy: groupBy,
		forget:  s.config.MaxLookback,
		reach:   max(s.config.MaxWindow, minReach),
		counts:  map[string]*counter{},
	}
}

// minReach is how far back prepare looks at least: it has to find the profile
// before the first window, and few are taken less often than once in that time.
const minReach = time.Minute

func (s *snapshots) counting() bool {
	return pprofotlp.CountsSinceStart(&profile.ValueType{Type: s.query.Type.SampleType, Unit: s.query.Type.SampleUnit})
}

// prepare takes the counts that the first window is compared with, from the
// profiles before it. So a collector that starts again goes on counting where it
// was, as long as the server still has what it counted last.
func (s *snapshots) prepare(ctx context.Context, begin time.Time) error {
	if s.prepared || !s.counting() {
		return nil
	}
	before, err := s.take(ctx, window{start: begin.Add(-s.reach), end: begin})
	if err != nil {
		if parcaapi.KindOf(err).Smaller() {
			s.reach = max(s.reach/2, minReach)
		}
		return err
	}
	s.prepared = true
	before.accept()
	return nil
}

func (s *snapshots) take(ctx context.Context, w window) (taken, error) {
	found, err := findNewest(ctx, s.source, s.query, w.bounds())
	if err != nil {
		return taken{}, err
	}
	var out taken
	var all []group
	for _, b := range batches(found) {
		profiles, size, err := s.merge(ctx, &b)
		if err != nil {
			return taken{}, err
		}
		out.bytes += size
		all = append(all, profiles...)
	}
	if s.counting() {
		all = s.increments(all, w, &out)
	}
	out.groups, err = regroup(all, s.groupBy)
	return out, err
}

// merge takes the profiles of a batch. Grouped by all labels, each series can be
// told from those that have an older profile in the range, or just appeared.
func (s *snapshots) merge(ctx context.Context, b *batch) ([]group, int, error) {
	names := b.labelNames()
	r := parcaapi.Range{Start: time.Unix(0, b.low), End: time.Unix(0, b.high)}
	answer, size, err := s.source.profile(ctx, s.query.String(), r, names)
	if err != nil {
		return nil, 0, err
	}
	byKey := map[string]*profile.Profile{}
	for _, g := range split(answer, names) {
		byKey[g.labels.key(names)] = g.profile
	}
	series := make([]group, 0, len(b.series))
	for _, n := range b.series {
		p, found := byKey[n.labels.key(names)]
		if !found {
			// Samples without a stack are not in the report.
			p = withSamples(answer, nil)
		}
		series = append(series, group{labels: n.labels, profile: p})
	}
	return series, size, nil
}

// increments turns counts into what was added to them since the profile before,
// and leaves out the series that have none before.
func (s *snapshots) increments(all []group, w window, out *taken) []group {
	steps := map[string]pprofotlp.Step{}
	kept := make([]group, 0, len(all))
	for _, g := range all {
		key := g.labels.canonical()
		c := s.counts[key]
		if c == nil {
			c = &counter{}
			s.counts[key] = c
		}
		step := c.increments.Compare(g.profile)
		steps[key] = step
		if step.Restarted {
			out.starts++
		}
		if step.Profile != nil {
			kept = append(kept, group{labels: g.labels, profile: step.Profile})
		}
	}
	out.accept = func() { s.advance(steps, w.end) }
	return kept
}

// advance makes the delivered counts those that the next are compared with.
func (s *snapshots) advance(steps map[string]pprofotlp.Step, now time.Time) {
	for key, step := range steps {
		s.counts[key].increments.Advance(step)
		s.counts[key].seen = now
	}
	maps.DeleteFunc(s.counts, func(_ string, c *counter) bool { return now.Sub(c.seen) > s.forget })
}
