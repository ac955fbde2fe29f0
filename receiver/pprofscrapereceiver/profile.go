// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/consumer/consumererror"

	"github.com/profiletometrics/profiletometrics/internal/pprofotlp"
)

// scrapedProfile is one profile of a target. It is scraped, converted and handed
// on by one goroutine, one scrape after the other: a pipeline that blocks makes
// the next scrape later, and nothing piles up.
type scrapedProfile struct {
	name     string
	target   *target
	config   ProfileConfig
	endpoint endpoint
	schedule schedule
	measured string // the process, for the turns

	increments pprofotlp.Increments
	held       held
	state      atomic.Int64
}

// scrape is what one scrape of one profile gave.
type scrape struct {
	bytes   int64
	failure *failure
	step    pprofotlp.Step
	out     *profile.Profile // what goes on, nil if nothing does
	batch   *batch           // out, converted
	// additive says that the profile as a whole is an increment, which nobody
	// measures again when it is lost.
	additive bool
}

func newScrapedProfile(t *target, name string, cfg *Config, e endpoint) *scrapedProfile {
	p := t.config.Profiles[name]
	interval := p.interval(cfg.CollectionInterval)
	e.timeout = requestTimeout(cfg.Timeout, interval) + time.Duration(p.Seconds)*time.Second
	e.limit = cfg.MaxResponseBodySize
	scraped := &scrapedProfile{
		name:     name,
		target:   t,
		config:   p,
		endpoint: e,
		schedule: newSchedule(interval, e.url.String()),
		measured: processOf(e.url),
	}
	scraped.state.Store(stateUnknown)
	return scraped
}

// requestTimeout bounds a request, to which the seconds a profile is measured
// for are added. A target that hangs must not hang for ever.
func requestTimeout(configured, interval time.Duration) time.Duration {
	if configured > 0 {
		return configured
	}
	return interval
}

// scrape takes the profile once and hands it on. What the pipeline refused before
// comes first; while it refuses, and holds as much as may be held, the target is
// not asked.
func (p *scrapedProfile) scrape(ctx context.Context) {
	if p.retry(ctx) != nil && p.held.full() {
		p.target.journal.scraped(ctx, p.name, outcomeRefused, 0)
		return
	}
	s := p.take(ctx)
	if ctx.Err() != nil {
		return // shut down, which is no failure of the target
	}
	refused := p.deliver(ctx, &s)
	outcome, state := outcomeSuccess, int64(stateUp)
	switch {
	case s.failure != nil:
		outcome, state = s.failure.outcome, stateDown
		p.target.journal.failed(p.name, s.failure)
	case refused:
		outcome = outcomeRefused
	default:
		p.target.journal.succeeded(p.name)
	}
	p.target.journal.scraped(ctx, p.name, outcome, s.bytes)
	p.state.Store(state)
}

// take fetches the profile when it is its turn, and makes of it what goes on.
func (p *scrapedProfile) take(ctx context.Context) scrape {
	answer, failure := p.fetch(ctx)
	if failure != nil {
		return scrape{failure: failure}
	}
	select {
	case p.target.processing <- struct{}{}:
		defer func() { <-p.target.processing }()
		return p.process(answer)
	case <-ctx.Done():
		return scrape{failure: requestFailed(ctx.Err())}
	}
}

func (p *scrapedProfile) fetch(ctx context.Context) ([]byte, *failure) {
	if p.config.Seconds > 0 {
		end := measurements.take(ctx, p.measured)
		if end == nil {
			return nil, requestFailed(ctx.Err())
		}
		defer end()
	}
	return p.endpoint.fetch(ctx)
}

// process parses, compares and converts.
func (p *scrapedProfile) process(answer []byte) scrape {
	taken, bytes, failure := decode(answer, p.endpoint.limit)
	if failure == nil {
		taken, failure = p.keep(taken)
	}
	s := scrape{bytes: bytes, failure: failure}
	if failure != nil {
		return s
	}
	s.step, s.additive = p.compare(taken)
	s.out = s.step.Profile
	if s.out != nil && s.additive {
		s.out = p.withHeld(s.out)
	}
	if s.out != nil {
		s.batch, s.failure = p.convert(s.out)
	}
	return s
}

// keep returns the profile with the sample types to keep.
func (p *scrapedProfile) keep(taken *profile.Profile) (*profile.Profile, *failure) {
	if len(p.config.KeepSampleTypes) == 0 {
		return taken, nil
	}
	kept := pprofotlp.KeepSampleTypes(taken, func(st *profile.ValueType) bool {
		for _, wanted := range p.config.KeepSampleTypes {
			if wanted.Type == st.Type && (wanted.Unit == "" || wanted.Unit == st.Unit) {
				return true
			}
		}
		return false
	})
	if kept == nil {
		var has []string
		for _, st := range taken.SampleType {
			has = append(has, st.Type+"/"+st.Unit)
		}
		return nil, fail(outcomeInvalid, "the profile has none of keep_sample_types; it has %s", strings.Join(has, ", "))
	}
	return kept, nil
}

// compare turns the counts since the start of the process into increments. A
// profile with a duration has been measured over that time and is an increment
// already: so a server shows that it heeds the parameter seconds, and one that
// does not can be told from it.
func (p *scrapedProfile) compare(taken *profile.Profile) (step pprofotlp.Step, additive bool) {
	if p.config.Delta || taken.DurationNanos > 0 {
		return pprofotlp.Step{Profile: taken}, true
	}
	step = p.increments.Compare(taken)
	return step, p.config.Seconds > 0 && !step.Counted()
}

// deliver hands a scrape to the next consumer, and tells whether it was refused.
// Only when it was taken do the increments move on: what was refused is part of
// the next difference.
func (p *scrapedProfile) deliver(ctx context.Context, s *scrape) (refused bool) {
	if s.failure != nil {
		return false
	}
	var err error
	if s.batch != nil {
		err = p.offer(ctx, s.batch)
		if s.additive {
			p.held.keep(s.out, err)
		}
	}
	if s.step.Restarted {
		p.target.journal.restarted(ctx, p.name)
	}
	// The counts of a step without a baseline are where the next difference
	// begins; there was nothing of them to refuse. What is refused for good
	// would be refused for ever if it were kept.
	if err == nil || s.step.First || s.step.Restarted || consumererror.IsPermanent(err) {
		p.increments.Advance(s.step)
	}
	return err != nil
}

// withHeld returns the sum of what is held and a newer profile. Profiles that do
// not add up, as their sample types differ, are of two different programs, of
// which the newer one stays.
func (p *scrapedProfile) withHeld(newer *profile.Profile) *profile.Profile {
	if p.held.profile == nil {
		return newer
	}
	sum, err := profile.Merge([]*profile.Profile{p.held.profile, newer})
	if err != nil {
		p.target.journal.gaveUp(p.name, err)
		return newer
	}
	return sum
}

// retry hands on what is held, if anything is.
func (p *scrapedProfile) retry(ctx context.Context) error {
	if p.held.profile == nil {
		return nil
	}
	b, failed := p.convert(p.held.profile)
	if failed != nil {
		return failed // never: it has been converted before
	}
	err := p.offer(ctx, b)
	p.held.keep(p.held.profile, err)
	return err
}

func (p *scrapedProfile) convert(out *profile.Profile) (*batch, *failure) {
	b := p.target.delivery.newBatch()
	resource, err := targetResource(&p.target.config, out)
	if err == nil {
		err = b.add(out, resource)
	}
	if err != nil {
		return nil, fail(outcomeInvalid, "cannot convert the profile: %w", err)
	}
	return b, nil
}

// offer hands a profile on; the error is the next consumer's.
func (p *scrapedProfile) offer(ctx context.Context, b *batch) error {
	err := p.target.delivery.consume(ctx, b)
	p.target.journal.delivered(p.name, err)
	return err
}

// maxHeldSamples is how large held may grow, some tens of megabytes.
const maxHeldSamples = 100_000

// held is what the pipeline refused of a profile that is an increment as it
// comes: the sum of all of them, which takes no more memory than its stacks.
type held struct {
	profile *profile.Profile // nil if nothing is held
}

// keep holds p if it was refused, unless for good.
func (h *held) keep(p *profile.Profile, refused error) {
	h.profile = nil
	if refused != nil && !consumererror.IsPermanent(refused) {
		h.profile = p
	}
}

func (h *held) full() bool { return h.profile != nil && len(h.profile.Sample) >= maxHeldSamples }
