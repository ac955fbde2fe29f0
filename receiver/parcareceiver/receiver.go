// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

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

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
	"github.com/profiletometrics/profiletometrics/receiver/parcareceiver/internal/metadata"
)

// parca is the receiver: one goroutine per query, and one that discovers more.
type parca struct {
	*shared
	dial    func(context.Context, component.Host) (*parcaapi.Client, error)
	client  *parcaapi.Client
	stop    context.CancelFunc // nil until started
	running sync.WaitGroup

	mu      sync.Mutex
	pollers []*poller
}

// shared is what everything in a receiver uses.
type shared struct {
	config    *Config
	settings  receiver.Settings
	telemetry *metadata.TelemetryBuilder
	pipeline  *pipeline
	source    *source
	cursors   *cursors
}

func newReceiver(cfg *Config, settings receiver.Settings, next xconsumer.Profiles) (*parca, error) {
	telemetry, err := metadata.NewTelemetryBuilder(settings.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	pipeline, err := newPipeline(settings, next)
	if err != nil {
		return nil, err
	}
	r := &parca{shared: &shared{config: cfg, settings: settings, telemetry: telemetry, pipeline: pipeline}}
	r.dial = func(ctx context.Context, host component.Host) (*parcaapi.Client, error) {
		return parcaapi.Dial(ctx, &cfg.Client, host.GetExtensions(), settings.TelemetrySettings)
	}
	return r, nil
}

// Start sets up the connection and the storage, so that a mistake in them is an
// error of the start, and then begins to poll. It does not wait for the server.
func (r *parca) Start(ctx context.Context, host component.Host) error {
	var err error
	if r.client, err = r.dial(ctx, host); err != nil {
		return err
	}
	r.source = newSource(r.client, r.config.requestTimeout())
	if r.cursors, err = openCursors(ctx, host, r.config.Storage, r.settings.ID); err != nil {
		return err
	}
	if err = r.telemetry.RegisterReceiverParcaLagCallback(r.observeLag); err != nil {
		return err
	}

	// The polls outlive the start, whose context ends with it.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	delay := r.config.Controller.InitialDelay
	for _, cfg := range r.config.Queries {
		query, err := parcaapi.ParseQuery(cfg.Query)
		if err != nil {
			return fmt.Errorf("query %s: %w", cfg.Name, err)
		}
		r.add(background, newPoller(r.shared, identity{name: cfg.Name, query: cfg.Query}, query, cfg.GroupBy), delay)
	}
	if !r.config.Discover.Enabled {
		return nil
	}
	discovery, err := newDiscovery(r.shared, func(p *poller) { r.add(background, p, 0) })
	if err != nil {
		return err
	}
	r.running.Go(func() { discovery.run(background, delay) })
	return nil
}

// add starts a query.
func (r *parca) add(ctx context.Context, p *poller, delay time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pollers = append(r.pollers, p)
	r.running.Go(func() { p.run(ctx, delay) })
}

// Shutdown stops all queries and waits for what they deliver, as long as ctx
// allows.
func (r *parca) Shutdown(ctx context.Context) error {
	defer r.telemetry.Shutdown()
	var errs []error
	if r.stop != nil {
		r.stop()
		stopped := make(chan struct{})
		go func() {
			r.running.Wait()
			close(stopped)
		}()
		select {
		case <-stopped:
		case <-ctx.Done():
			errs = append(errs, fmt.Errorf("a query did not end in time: %w", ctx.Err()))
		}
	}
	if r.cursors != nil {
		errs = append(errs, r.cursors.close(ctx))
	}
	if r.client != nil {
		errs = append(errs, r.client.Close())
	}
	return errors.Join(errs...)
}

// observeLag reports how far each query is behind.
func (r *parca) observeLag(_ context.Context, observer metric.Float64Observer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pollers {
		if nanos := p.behind.Load(); nanos != 0 {
			lag := time.Since(time.Unix(0, nanos)).Seconds()
			observer.Observe(lag, metric.WithAttributes(attribute.String("query", p.identity.name)))
		}
	}
	return nil
}
