// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/metric"
)

// targetSet runs the targets of a receiver, which come and go. Each source of
// targets (the configuration, the targets file, a discovery) owns the targets
// it named, and replaces them as a whole when it knows better. It is safe for
// concurrent use by several sources, but one source must not replace its targets
// twice at a time.
type targetSet struct {
	*shared
	host    component.Host
	running sync.WaitGroup

	mu       sync.Mutex
	bySource map[string][]*runningTarget
}

// runningTarget is a target and the way to stop it.
type runningTarget struct {
	*target
	stop    context.CancelFunc
	stopped chan struct{}
}

// change is what has to be done so that a source has the targets it wants.
type change struct {
	source        string
	kept, dropped []*runningTarget
	added         []*target
}

func newTargetSet(shared *shared, host component.Host) *targetSet {
	return &targetSet{shared: shared, host: host, bySource: map[string][]*runningTarget{}}
}

// replace makes the wanted targets those of a source: it stops the ones that are
// no longer wanted and starts those that are new, the first time after the
// delay. A target that did not change goes on, and its increments with it. If
// any new one cannot be made, nothing changes. The targets run until ctx is done.
func (s *targetSet) replace(ctx context.Context, source string, wanted []TargetConfig, delay time.Duration) error {
	c, err := s.prepare(ctx, source, wanted)
	if err != nil {
		return err
	}
	s.apply(ctx, c, delay)
	return nil
}

// prepare makes the clients of all targets that are new, or none.
func (s *targetSet) prepare(ctx context.Context, source string, wanted []TargetConfig) (change, error) {
	s.mu.Lock()
	current := s.bySource[source]
	s.mu.Unlock()
	c := change{source: source}
	var added []TargetConfig
	c.kept, c.dropped, added = compareTargets(current, wanted)
	var errs []error
	for _, cfg := range added {
		t, err := newTarget(ctx, s.host, cfg, s.shared)
		errs = append(errs, err)
		c.added = append(c.added, t)
	}
	return c, errors.Join(errs...)
}

func (s *targetSet) apply(ctx context.Context, c change, delay time.Duration) {
	stopAll(c.dropped)
	inherit(c.added, c.dropped)
	targets := c.kept
	for _, t := range c.added {
		targets = append(targets, s.start(ctx, t, delay))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bySource[c.source] = targets
}

func (s *targetSet) start(ctx context.Context, t *target, delay time.Duration) *runningTarget {
	ctx, stop := context.WithCancel(ctx)
	running := &runningTarget{target: t, stop: stop, stopped: make(chan struct{})}
	s.running.Go(func() {
		defer close(running.stopped)
		defer stop()
		t.run(ctx, delay)
	})
	return running
}

// configs are the targets of a source.
func (s *targetSet) configs(source string) []TargetConfig {
	s.mu.Lock()
	defer s.mu.Unlock()
	var configs []TargetConfig
	for _, t := range s.bySource[source] {
		configs = append(configs, t.config)
	}
	return configs
}

// wait returns when every target has ended.
func (s *targetSet) wait() { s.running.Wait() }

func compareTargets(current []*runningTarget, wanted []TargetConfig) (kept, dropped []*runningTarget, added []TargetConfig) {
	// Most of many targets stay; each is compared with those of its endpoint only.
	byEndpoint := map[string][]int{}
	for i, cfg := range wanted {
		byEndpoint[cfg.Client.Endpoint] = append(byEndpoint[cfg.Client.Endpoint], i)
	}
	running := make([]bool, len(wanted))
	for _, t := range current {
		same := slices.IndexFunc(byEndpoint[t.config.Client.Endpoint], func(i int) bool {
			return !running[i] && reflect.DeepEqual(wanted[i], t.config)
		})
		if same < 0 {
			dropped = append(dropped, t)
			continue
		}
		kept = append(kept, t)
		running[byEndpoint[t.config.Client.Endpoint][same]] = true
	}
	for i, cfg := range wanted {
		if !running[i] {
			added = append(added, cfg)
		}
	}
	return kept, dropped, added
}

// stopAll waits for the targets to end: the one that replaces a target must not
// take a CPU profile while the old one still does.
func stopAll(targets []*runningTarget) {
	for _, t := range targets {
		t.stop()
	}
	for _, t := range targets {
		<-t.stopped
	}
}

// inherit hands what is known of dropped targets to added ones that scrape the
// same URLs: a target whose attributes or intervals change loses no increment.
// The dropped ones must have ended.
func inherit(added []*target, dropped []*runningTarget) {
	known := map[string]*scrapedProfile{}
	for _, t := range dropped {
		for _, p := range t.profiles {
			known[p.endpoint.url.String()] = p
		}
	}
	for _, t := range added {
		for _, p := range t.profiles {
			if before, found := known[p.endpoint.url.String()]; found {
				p.increments, p.held = before.increments, before.held
				p.state.Store(before.state.Load())
			}
		}
	}
}

// observeUp reports the latest state of every target that was scraped yet. Of
// targets with one name, such as those of a gateway that differ in a parameter,
// it is enough that one is up.
func (s *targetSet) observeUp(_ context.Context, observer metric.Int64Observer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	byName := map[string]int64{}
	for _, targets := range s.bySource {
		for _, t := range targets {
			if up := t.up(); up != stateUnknown {
				byName[t.journal.target] = max(byName[t.journal.target], up)
			}
		}
	}
	for name, up := range byName {
		observer.Observe(up, metric.WithAttributes(s.attributesOf(name)...))
	}
	return nil
}
