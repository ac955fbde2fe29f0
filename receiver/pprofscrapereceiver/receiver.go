// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/receiver"

	"github.com/profiletometrics/profiletometrics/receiver/pprofscrapereceiver/internal/metadata"
)

// The sources of targets.
const (
	sourceConfig = "targets"
	sourceFile   = "targets_file"
	sourceJob    = "scrape_configs/" // and the name of the job
)

// pprofScrape is the receiver: a set of targets, each with a goroutine of its
// own, one goroutine that watches the targets file, one that follows the
// discovery of targets, and one that reads the included files.
//
// It runs them itself instead of being a scraper of scraperhelper's controller,
// whose keys it has. That controller scrapes one target after the other and
// merges the results before it delivers them: a target that hangs would delay
// all, and merging dictionaries takes time quadratic in the size of their tables.
type pprofScrape struct {
	*shared
	stop    context.CancelFunc // nil until started
	targets *targetSet         // nil until started
	running sync.WaitGroup     // everything but the targets
}

// shared is what everything in a receiver uses.
type shared struct {
	config    *Config
	settings  receiver.Settings
	telemetry *metadata.TelemetryBuilder
	delivery  *delivery
	// processing has a place for each processor. Profiles take ten times the
	// memory of an answer when they are parsed, and no more of them are than can
	// be worked on at a time.
	processing chan struct{}
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
		processing: make(chan struct{}, runtime.GOMAXPROCS(0)),
	}}, nil
}

// Start makes all clients, so that a mistake in them is an error of the start,
// and then begins to scrape. It does not wait for any target.
func (r *pprofScrape) Start(ctx context.Context, host component.Host) error {
	targets := newTargetSet(r.shared, host)
	configured, err := targets.prepare(ctx, sourceConfig, r.config.Targets)
	if err != nil {
		return fmt.Errorf("targets: %w", err)
	}
	file := newTargetsFile(r.shared)
	fromFile, err := file.prepare(ctx, targets)
	if err != nil {
		return err
	}
	discoverer, err := newDiscoverer(ctx, targets)
	if err != nil {
		return fmt.Errorf("scrape_configs: %w", err)
	}
	if err := r.telemetry.RegisterTargetUpCallback(targets.observeUp); err != nil {
		return err
	}

	// The scrapes outlive the start, whose context ends with it.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop, r.targets = stop, targets
	targets.apply(background, configured, r.config.InitialDelay)
	if file != nil {
		targets.apply(background, fromFile, r.config.InitialDelay)
		r.running.Go(func() { file.watch(background, targets) })
	}
	if discoverer != nil {
		r.running.Go(func() { discoverer.run(background) })
	}
	if len(r.config.IncludeFiles) > 0 {
		r.running.Go(func() { newFileReader(r.shared).readAll(background) })
	}
	return nil
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
		// Those that start targets end before them.
		r.running.Wait()
		r.targets.wait()
		close(stopped)
	}()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("a scrape did not end in time: %w", ctx.Err())
	}
}
