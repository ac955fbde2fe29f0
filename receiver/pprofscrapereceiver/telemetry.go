// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/profiletometrics/profiletometrics/receiver/pprofscrapereceiver/internal/metadata"
)

// journal records what becomes of the profiles of one target: every outcome in
// the telemetry, every change of state, and only that, in the log.
type journal struct {
	logger    *zap.Logger
	telemetry *metadata.TelemetryBuilder
	target    string
	which     []attribute.KeyValue // the attributes of all metrics

	mu         sync.Mutex
	conditions map[subject]string // absent = well
}

// subject is what is in a condition: the scrape of a profile, or its delivery.
type subject struct {
	profile  string
	delivery bool
}

func newJournal(shared *shared, target string) *journal {
	return &journal{
		logger:     shared.settings.Logger.With(zap.String("target", target)),
		telemetry:  shared.telemetry,
		target:     target,
		which:      shared.attributesOf(target),
		conditions: map[subject]string{},
	}
}

// attributesOf are the attributes of the metrics of one target. Two receivers may
// scrape one target, such as one for each of two intervals.
func (s *shared) attributesOf(target string) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("receiver", s.settings.ID.String()),
		attribute.String("target", target),
	}
}

// of are the attributes of the metrics of one profile.
func (j *journal) of(profile string) metric.MeasurementOption {
	return metric.WithAttributes(append(slices.Clone(j.which), attribute.String("profile", profile))...)
}

// scraped counts how the scrape of one profile ended.
func (j *journal) scraped(ctx context.Context, profile, outcome string, bytes int64) {
	if bytes > 0 {
		j.telemetry.ScrapedBytes.Add(ctx, bytes, j.of(profile))
	}
	j.telemetry.Scrapes.Add(ctx, 1, j.of(profile), metric.WithAttributes(attribute.String("outcome", outcome)))
}

// restarted says that a profile began to count anew.
func (j *journal) restarted(ctx context.Context, profile string) {
	j.telemetry.Restarts.Add(ctx, 1, j.of(profile))
	j.logger.Info("The target counts from the start again: it was restarted. This scrape gives no increment.",
		zap.String("profile", profile))
}

// failed logs a failure, unless the same condition has been logged and has not
// ended since.
func (j *journal) failed(profile string, f *failure) {
	if j.changed(subject{profile: profile}, f.condition()) {
		j.logger.Warn("Cannot scrape "+profile+" of "+j.target+": "+f.Error(),
			zap.String("profile", profile), zap.String("outcome", f.outcome))
	}
}

// succeeded logs the end of a condition.
func (j *journal) succeeded(profile string) {
	if j.changed(subject{profile: profile}, "") {
		j.logger.Info("Scraping "+profile+" of "+j.target+" works again.", zap.String("profile", profile))
	}
}

// delivered logs when the next consumer begins to refuse what was scraped, and
// when it takes it again.
func (j *journal) delivered(profile string, err error) {
	what := subject{profile: profile, delivery: true}
	switch {
	case err != nil && consumererror.IsPermanent(err):
		if j.changed(what, outcomeRefused+" for good") {
			j.logger.Error("The pipeline refused "+profile+" of "+j.target+" for good, and it is lost; "+
				"see the component that did for what to do.", zap.String("profile", profile), zap.Error(err))
		}
	case err != nil:
		if j.changed(what, outcomeRefused) {
			j.logger.Error("The pipeline refused "+profile+" of "+j.target+"; see the component that did for what to do. "+
				"Increments are kept for the next scrape, snapshots are lost.", zap.String("profile", profile), zap.Error(err))
		}
	case j.changed(what, ""):
		j.logger.Info("The pipeline takes "+profile+" of "+j.target+" again.", zap.String("profile", profile))
	}
}

// gaveUp says that increments the pipeline refused are lost.
func (j *journal) gaveUp(profile string, err error) {
	j.logger.Warn("The target answers with other sample types than before: it is another program. "+
		"What the pipeline refused of the one before is lost.", zap.String("profile", profile), zap.Error(err))
}

func (j *journal) changed(what subject, condition string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.conditions[what] == condition {
		return false
	}
	j.conditions[what] = condition
	return true
}
