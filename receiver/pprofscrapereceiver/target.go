// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumererror"

	"github.com/profiletometrics/profiletometrics/internal/pprofotlp"
)

// target scrapes one process, in a goroutine of its own. All its enabled
// profiles are taken at once, so that one that hangs delays no other, and they
// go on together. The next scrape begins only when this one has ended: there are
// never two CPU profiles of one target at a time.
type target struct {
	config               TargetConfig
	profiles             []*scrapedProfile
	delivery             *delivery
	journal              *journal
	interval             time.Duration
	up                   atomic.Int64 // as the telemetry shows it, -1 before the first scrape
	closeIdleConnections func()
}

// scrapedProfile is one profile of a target.
type scrapedProfile struct {
	name     string
	endpoint endpoint
	// increments is nil for a profile that the target measures over some
	// seconds: that is an increment as it comes.
	increments *pprofotlp.Increments
}

// scrape is what one scrape of one profile gave.
type scrape struct {
	profile *profile.Profile
	bytes   int64
	failure *failure
	step    pprofotlp.Step
}

// newTarget makes the HTTP client of a target and everything else it needs; it
// does not connect.
func newTarget(ctx context.Context, host component.Host, cfg TargetConfig, shared *shared) (*target, error) {
	client, err := cfg.Client.ToClient(ctx, host.GetExtensions(), shared.settings.TelemetrySettings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.displayName(), err)
	}
	client.CheckRedirect = stayOnHost
	t := &target{
		config:               cfg,
		delivery:             shared.delivery,
		journal:              newJournal(shared, cfg.displayName()),
		interval:             shared.config.CollectionInterval,
		closeIdleConnections: client.CloseIdleConnections,
	}
	t.up.Store(-1)
	for _, name := range cfg.enabledProfiles() {
		p := cfg.Profiles[name]
		u, err := cfg.profileURL(p)
		if err != nil {
			return nil, fmt.Errorf("%s: profiles::%s: %w", cfg.displayName(), name, err)
		}
		scraped := &scrapedProfile{name: name, endpoint: endpoint{
			client:  client,
			url:     u,
			timeout: shared.config.requestTimeout() + time.Duration(p.Seconds)*time.Second,
			limit:   shared.config.MaxResponseBodySize,
		}}
		if p.Seconds == 0 {
			scraped.increments = &pprofotlp.Increments{}
		}
		t.profiles = append(t.profiles, scraped)
	}
	return t, nil
}

// requestTimeout bounds a request, to which the seconds a profile is measured
// for are added. A target that hangs must not hang for ever.
func (cfg *Config) requestTimeout() time.Duration {
	if cfg.Timeout > 0 {
		return cfg.Timeout
	}
	return cfg.CollectionInterval
}

// run scrapes until ctx is done, first after the delay.
func (t *target) run(ctx context.Context, delay time.Duration) {
	defer t.closeIdleConnections()
	select {
	case <-ctx.Done():
		return
	case <-time.After(max(delay, 0)):
	}
	// A scrape that outlasts the interval makes the ticker drop ticks: the
	// target is scraped less often, never twice at a time.
	ticker := time.NewTicker(t.interval)
	defer ticker.Stop()
	for {
		t.scrape(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (t *target) scrape(ctx context.Context) {
	scrapes := t.takeAll(ctx)
	if ctx.Err() != nil {
		return // shut down, which is no failure of the target
	}
	delivered := t.deliver(ctx, scrapes)
	up := int64(0)
	for i, p := range t.profiles {
		s := &scrapes[i]
		outcome := outcomeSuccess
		switch {
		case s.failure != nil:
			outcome = s.failure.outcome
			t.journal.failed(p.name, s.failure)
		case !delivered:
			up, outcome = 1, outcomeRefused
		default:
			up = 1
			t.journal.succeeded(p.name)
		}
		t.journal.scraped(ctx, p.name, outcome, s.bytes)
	}
	t.up.Store(up)
}

func (t *target) takeAll(ctx context.Context) []scrape {
	scrapes := make([]scrape, len(t.profiles))
	var all sync.WaitGroup
	for i, p := range t.profiles {
		all.Go(func() { scrapes[i] = p.take(ctx) })
	}
	all.Wait()
	return scrapes
}

func (p *scrapedProfile) take(ctx context.Context) scrape {
	taken, bytes, failure := p.endpoint.fetch(ctx)
	s := scrape{profile: taken, bytes: bytes, failure: failure}
	if failure == nil {
		s.step.Profile = taken
		if p.increments != nil {
			s.step = p.increments.Compare(taken)
		}
	}
	return s
}

// deliver hands everything scraped to the next consumer at once, and tells
// whether it was taken. Only then do the increments move on: what was refused is
// part of the next difference.
func (t *target) deliver(ctx context.Context, scrapes []scrape) bool {
	b := t.delivery.newBatch()
	for i := range scrapes {
		if s := &scrapes[i]; s.failure == nil && s.step.Profile != nil {
			s.failure = t.add(b, s)
		}
	}
	var err error
	if b.size > 0 {
		err = t.delivery.consume(ctx, b)
		t.journal.delivered(err)
	}
	for i, p := range t.profiles {
		s := &scrapes[i]
		if s.failure == nil && s.step.Restarted {
			t.journal.restarted(ctx, p.name)
		}
		// The counts of a step without a baseline are where the next difference
		// begins; there was nothing of them to refuse. What is refused for good
		// would be refused for ever if it were kept.
		lost := err != nil && !s.step.First && !s.step.Restarted && !consumererror.IsPermanent(err)
		if p.increments != nil && s.failure == nil && !lost {
			p.increments.Advance(s.step)
		}
	}
	return err == nil
}

func (t *target) add(b *batch, s *scrape) *failure {
	resource, err := targetResource(&t.config, s.profile)
	if err == nil {
		err = b.add(s.step.Profile, resource)
	}
	if err != nil {
		return fail(outcomeInvalid, "cannot convert the profile: %w", err)
	}
	return nil
}
