// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector"

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/zap"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/live"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/metadata"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"
	"github.com/profiletometrics/profiletometrics/internal/livepage"
)

// profilesToMetrics is the connector: it counts profiles into the store as they
// come, and hands on what the store holds at every flush.
type profilesToMetrics struct {
	id         component.ID
	missing    error         // why Start has to fail; nil if nothing is missing
	interval   time.Duration // 0 flushes within ConsumeProfiles
	series     series.Settings
	store      *series.Store
	aggregator *aggregate.Aggregator
	next       consumer.Metrics
	logger     *zap.Logger
	telemetry  *telemetry

	live *live.Live // nil unless a page shows the connector
	hide []func()   // take it from the pages

	// flushing allows one flush at a time.
	flushing sync.Mutex
	stop     context.CancelFunc // ends the flush loop; nil before Start
	stopped  chan struct{}      // closed when the flush loop has ended
}

func newProfilesToMetrics(settings connector.Settings, config *Config, next consumer.Metrics) (*profilesToMetrics, error) {
	compiled, err := config.compile()
	if err != nil {
		return nil, err
	}
	instance, missing := config.instance(settings.Resource)
	compiled.series.Instance = instance
	compiled.series.ScopeName = metadata.ScopeName
	compiled.series.ScopeVersion = settings.BuildInfo.Version
	store := series.NewStore(compiled.series)
	telemetry, err := newTelemetry(settings.TelemetrySettings, store)
	if err != nil {
		return nil, fmt.Errorf("set up the connector's own telemetry: %w", err)
	}
	return &profilesToMetrics{
		id:         settings.ID,
		missing:    missing,
		interval:   config.MetricsFlushInterval,
		series:     compiled.series,
		store:      store,
		aggregator: aggregate.New(compiled.measures, compiled.selection, store, compiled.aggregation),
		next:       next,
		logger:     settings.Logger,
		telemetry:  telemetry,
	}, nil
}

// Capabilities says that profiles are only read.
func (*profilesToMetrics) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: false}
}

// Start begins the flush loop. It is the first to know what the running
// collector is called: a configuration that is only validated has a collector
// without a name.
func (c *profilesToMetrics) Start(_ context.Context, host component.Host) error {
	if c.missing != nil {
		return c.missing
	}
	now := time.Now()
	c.store.Begin(now)
	c.show(livepage.Pages(host), now)
	if c.interval == 0 {
		return nil
	}
	// The context of Start ends with Start.
	ctx, cancel := context.WithCancel(context.Background())
	c.stop, c.stopped = cancel, make(chan struct{})
	go c.flushPeriodically(ctx)
	return nil
}

// show lets pages show the connector. Without any, nothing is watched.
func (c *profilesToMetrics) show(pages []livepage.Page, now time.Time) {
	if len(pages) == 0 {
		return
	}
	c.live = live.Watch(live.Settings{FlushInterval: c.interval, Series: c.series}, c.aggregator, c.store, now)
	for _, page := range pages {
		c.hide = append(c.hide, page.Show(c.id, c.live.Look))
	}
}

// Shutdown ends the flush loop and flushes what is held, within ctx: it does not
// wait for a metrics pipeline that goes on after the end of its context.
func (c *profilesToMetrics) Shutdown(ctx context.Context) error {
	defer c.telemetry.shutdown()
	for _, hide := range c.hide {
		hide()
	}
	if c.stop == nil {
		return nil
	}
	c.stop()
	flushed := make(chan error, 1)
	go func() { flushed <- c.flushLast(ctx) }()
	select {
	case err := <-flushed:
		return err
	case <-ctx.Done():
		return fmt.Errorf("wait for the last flush to end: %w", ctx.Err())
	}
}

func (c *profilesToMetrics) flushLast(ctx context.Context) error {
	select {
	case <-c.stopped:
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("flush what is held: %w", err)
	}
	return c.flush(ctx)
}

func (c *profilesToMetrics) flushPeriodically(ctx context.Context) {
	defer close(c.stopped)
	ticker := time.NewTicker(c.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := c.flush(ctx); err != nil && ctx.Err() == nil {
				c.logger.Error("The metrics pipeline did not take the metrics; they stay for the next flush", zap.Error(err))
			}
		}
	}
}

// flush hands on what the store holds. What the next consumer refuses stays.
func (c *profilesToMetrics) flush(ctx context.Context) error {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	flush := c.store.Collect(time.Now())
	if err := c.handOn(ctx, flush.Metrics); err != nil {
		c.live.Refused(err, time.Now())
		flush.Failed()
		return err
	}
	flush.Done()
	return nil
}

func (c *profilesToMetrics) handOn(ctx context.Context, metrics pmetric.Metrics) error {
	if metrics.ResourceMetrics().Len() == 0 {
		return nil
	}
	return c.next.ConsumeMetrics(ctx, metrics)
}

// ConsumeProfiles counts a batch. It is safe for concurrent use, and neither
// changes nor keeps the profiles. The next consumer's error is returned only
// if there is no flush interval.
func (c *profilesToMetrics) ConsumeProfiles(ctx context.Context, profiles pprofile.Profiles) error {
	if c.interval > 0 {
		c.count(ctx, profiles)
		return nil
	}
	err := c.handOn(ctx, c.convert(ctx, profiles))
	if err != nil {
		c.live.Refused(err, time.Now())
	}
	return err
}

// convert counts a batch and takes all of it out again at once. Whoever gets
// the error of handing it on has the batch to send again, so that keeping
// anything of it would count it twice.
func (c *profilesToMetrics) convert(ctx context.Context, profiles pprofile.Profiles) pmetric.Metrics {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	c.count(ctx, profiles)
	flush := c.store.Collect(time.Now())
	flush.Done()
	return flush.Metrics
}

func (c *profilesToMetrics) count(ctx context.Context, profiles pprofile.Profiles) {
	begun := time.Now()
	profiles, err := withNamedAttributes(profiles)
	if err != nil {
		c.logger.Warn("Attributes of resources that refer to the string table are lost; let the sender write them out", zap.Error(err))
	}
	report := c.aggregator.Add(profiles, begun)
	c.telemetry.record(ctx, report, time.Since(begun))
	c.live.Record(report, begun)
	if report.Malformed != nil {
		c.logger.Warn("The batch has malformed samples; their weight was counted as far as it is known",
			zap.Any("samples_by_reason", report.Malformed),
			zap.String("first", report.First))
	}
}
