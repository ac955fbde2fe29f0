// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/profiletometrics/profiletometrics/receiver/pprofscrapereceiver/internal/metadata"
)

// pprofScrape is the receiver: one goroutine per target, one that watches the
// targets file, one that reads the included files.
//
// It runs them itself instead of being a scraper of scraperhelper's controller,
// whose keys it has. That controller scrapes one target after the other and
// merges the results before it delivers them: a target that hangs would delay
// all, and merging dictionaries takes time quadratic in the size of their tables.
type pprofScrape struct {
	*shared
	stop    context.CancelFunc // nil until started
	running sync.WaitGroup

	mu      sync.Mutex
	targets []*runningTarget
}

// shared is what everything in a receiver uses.
type shared struct {
	config    *Config
	settings  receiver.Settings
	telemetry *metadata.TelemetryBuilder
	delivery  *delivery
}

// runningTarget is a target and the way to stop it.
type runningTarget struct {
	*target
	stop    context.CancelFunc
	stopped chan struct{}
}

func newReceiver(cfg *Config, settings receiver.Settings, next xconsumer.Profiles) (*pprofScrape, error) {
	telemetry, err := metadata.NewTelemetryBuilder(settings.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	delivery, err := newDelivery(settings, next)
	if err != nil {
		return nil, err
	}
	return &pprofScrape{shared: &shared{
		config: cfg, settings: settings, telemetry: telemetry, delivery: delivery,
	}}, nil
}

// Start makes all clients, so that a mistake in them is an error of the start,
// and then begins to scrape. It does not wait for any target.
func (r *pprofScrape) Start(ctx context.Context, host component.Host) error {
	targets, err := r.newTargets(ctx, host, r.config.Targets)
	if err != nil {
		return fmt.Errorf("targets: %w", err)
	}
	file := newTargetsFile(r.shared)
	fromFile, err := r.startWithFile(ctx, host, file)
	if err != nil {
		return err
	}
	if err := r.telemetry.RegisterReceiverPprofscrapeTargetUpCallback(r.observeUp); err != nil {
		return err
	}

	// The scrapes outlive the start, whose context ends with it.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	r.startAll(background, targets, r.config.InitialDelay)
	startedFromFile := r.startAll(background, fromFile, r.config.InitialDelay)
	if file != nil {
		r.running.Go(func() { r.watch(background, host, file, startedFromFile) })
	}
	if len(r.config.IncludeFiles) > 0 {
		r.running.Go(func() { newFileReader(r.shared).readAll(background) })
	}
	return nil
}

func (r *pprofScrape) startWithFile(ctx context.Context, host component.Host, file *targetsFile) ([]*target, error) {
	if file == nil {
		return nil, nil
	}
	configs, _, err := file.read()
	if err != nil {
		return nil, err
	}
	targets, err := r.newTargets(ctx, host, configs)
	if err != nil {
		return nil, file.wrap(err)
	}
	return targets, nil
}

// Shutdown stops everything and waits for it, as long as ctx allows.
func (r *pprofScrape) Shutdown(ctx context.Context) error {
	defer r.telemetry.Shutdown()
	if r.stop == nil {
		return nil
	}
	r.stop()
	stopped := make(chan struct{})
	go func() {
		r.running.Wait()
		close(stopped)
	}()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("a scrape did not end in time: %w", ctx.Err())
	}
}

// newTargets makes a target of each configuration, or of none.
func (r *pprofScrape) newTargets(ctx context.Context, host component.Host, configs []TargetConfig) ([]*target, error) {
	var targets []*target
	var errs []error
	for _, cfg := range configs {
		t, err := newTarget(ctx, host, cfg, r.shared)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		targets = append(targets, t)
	}
	return targets, errors.Join(errs...)
}

// startAll starts the targets and shows them in the telemetry.
func (r *pprofScrape) startAll(ctx context.Context, targets []*target, delay time.Duration) []*runningTarget {
	started := make([]*runningTarget, 0, len(targets))
	for _, t := range targets {
		ctx, stop := context.WithCancel(ctx)
		running := &runningTarget{target: t, stop: stop, stopped: make(chan struct{})}
		started = append(started, running)
		r.running.Go(func() {
			defer close(running.stopped)
			defer stop()
			t.run(ctx, delay)
		})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.targets = append(r.targets, started...)
	return started
}

// observeUp reports the latest state of every target that was scraped yet.
func (r *pprofScrape) observeUp(_ context.Context, observer metric.Int64Observer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.targets {
		if up := t.up.Load(); up >= 0 {
			observer.Observe(up, metric.WithAttributes(attribute.String("target", t.journal.target)))
		}
	}
	return nil
}
