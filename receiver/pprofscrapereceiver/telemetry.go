// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"context"
	"sync"

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

	mu         sync.Mutex
	conditions map[subject]string // absent = well
}

// subject is what is in a condition: a profile, or the delivery of all of them.
type subject struct {
	profile  string
	delivery bool
}

func newJournal(logger *zap.Logger, telemetry *metadata.TelemetryBuilder, target string) *journal {
	return &journal{
		logger:     logger.With(zap.String("target", target)),
		telemetry:  telemetry,
		target:     target,
		conditions: map[subject]string{},
	}
}

// scraped counts how the scrape of one profile ended.
func (j *journal) scraped(ctx context.Context, profile, outcome string, bytes int64) {
	which := metric.WithAttributes(attribute.String("target", j.target), attribute.String("profile", profile))
	if bytes > 0 {
		j.telemetry.ReceiverPprofscrapeScrapedBytes.Add(ctx, bytes, which)
	}
	j.telemetry.ReceiverPprofscrapeScrapes.Add(ctx, 1, which, metric.WithAttributes(attribute.String("outcome", outcome)))
}

// restarted says that a profile began to count anew.
func (j *journal) restarted(ctx context.Context, profile string) {
	which := metric.WithAttributes(attribute.String("target", j.target), attribute.String("profile", profile))
	j.telemetry.ReceiverPprofscrapeRestarts.Add(ctx, 1, which)
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
func (j *journal) delivered(err error) {
	switch {
	case err != nil && j.changed(subject{delivery: true}, outcomeRefused):
		j.logger.Error("The pipeline refused the profiles of "+j.target+"; see the component that did for what to do. "+
			"Increments become part of the next scrape, unless refused for good; all other profiles of this scrape are lost.",
			zap.Error(err))
	case err == nil && j.changed(subject{delivery: true}, ""):
		j.logger.Info("The pipeline takes the profiles of " + j.target + " again.")
	}
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
