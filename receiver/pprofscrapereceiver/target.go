// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
)

// target is a process to scrape. Each of its profiles is scraped in a goroutine
// of its own, so that one that hangs delays no other.
type target struct {
	config               TargetConfig
	profiles             []*scrapedProfile
	delivery             *delivery
	processing           chan struct{}
	journal              *journal
	closeIdleConnections func()
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
		processing:           shared.processing,
		journal:              newJournal(shared, cfg.displayName()),
		closeIdleConnections: client.CloseIdleConnections,
	}
	for _, name := range cfg.enabledProfiles() {
		u, err := cfg.profileURL(cfg.Profiles[name])
		if err != nil {
			return nil, fmt.Errorf("%s: profiles::%s: %w", cfg.displayName(), name, err)
		}
		t.profiles = append(t.profiles, newScrapedProfile(t, name, shared.config, endpoint{client: client, url: u}))
	}
	return t, nil
}

// run scrapes until ctx is done, first after the delay.
func (t *target) run(ctx context.Context, delay time.Duration) {
	defer t.closeIdleConnections()
	var all sync.WaitGroup
	for _, p := range t.profiles {
		all.Go(func() { p.schedule.run(ctx, delay, p.scrape) })
	}
	all.Wait()
}

// The states of a profile, and of a target, as the telemetry shows them.
const (
	stateUnknown = iota - 1 // not scraped yet, and not shown
	stateDown
	stateUp
)

// up is the state of the target: it is enough that one of its profiles is up.
func (t *target) up() int64 {
	state := int64(stateUnknown)
	for _, p := range t.profiles {
		state = max(state, p.state.Load())
	}
	return state
}
