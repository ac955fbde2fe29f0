// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/profiletometrics/profiletometrics/receiver/pprofscrapereceiver/internal/discovery"
)

// discoverer keeps the targets of all jobs as their sources list them.
type discoverer struct {
	*shared
	targets *targetSet
	jobs    []*job
	watcher *discovery.Watcher
	delay   time.Duration     // before the first scrape of the targets told first
	failing map[string]string // by job, what was logged last

	mu     sync.Mutex
	states map[jobState]int64
}

// jobState is one series of the telemetry.
type jobState struct{ job, state string }

// The states of discovered targets, as the telemetry names them.
const (
	stateScraped   = "scraped"
	stateDropped   = "dropped"   // the rules keep no profile
	stateDuplicate = "duplicate" // other targets have all its profiles
	stateInvalid   = "invalid"   // the labels give no endpoint
)

// newDiscoverer makes the clients of all sources and, for a try, that of a
// target of each job, so that a mistake in them is an error of the start. It
// returns nil if there are no jobs.
func newDiscoverer(ctx context.Context, targets *targetSet) (*discoverer, error) {
	cfg := targets.config
	jobs, errs := cfg.compileScrapeConfigs()
	sources := map[string]discovery.Sources{}
	for _, j := range jobs {
		sources[j.Name] = j.sources
		if _, err := targets.prepare(ctx, "", []TargetConfig{j.template}); err != nil {
			errs = append(errs, fmt.Errorf("job %q: %w", j.Name, err))
		}
	}
	if len(jobs) == 0 || len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	watcher, err := discovery.NewWatcher(targets.settings.Logger, sources, discovery.DefaultDelay)
	if err != nil {
		return nil, err
	}
	d := &discoverer{
		shared: targets.shared, targets: targets, jobs: jobs, watcher: watcher,
		delay: cfg.InitialDelay, failing: map[string]string{}, states: map[jobState]int64{},
	}
	return d, targets.telemetry.RegisterDiscoveryTargetsCallback(d.observe)
}

// run follows the sources until ctx is done.
func (d *discoverer) run(ctx context.Context) {
	err := d.watcher.Run(ctx, func(groups discovery.Groups) {
		if ctx.Err() == nil {
			d.update(ctx, groups)
		}
	})
	if err != nil {
		d.settings.Logger.Error("Cannot discover targets.", zap.Error(err))
	}
}

// update makes the targets those that the groups of all jobs give. A profile
// that several would scrape is scraped by the one that comes first, in the order
// of the configuration.
func (d *discoverer) update(ctx context.Context, groups discovery.Groups) {
	taken := claimsOf(append(d.targets.configs(sourceFile), d.config.Targets...))
	states := map[jobState]int64{}
	for _, j := range d.jobs {
		found, outcome := j.find(groups[j.Name], d.config.CollectionInterval)
		var wanted []TargetConfig
		for _, t := range found {
			if claimed, left := taken.claim(t); left {
				wanted = append(wanted, claimed)
			}
		}
		states[jobState{j.Name, stateScraped}] = int64(len(wanted))
		states[jobState{j.Name, stateDuplicate}] = int64(len(found) - len(wanted))
		states[jobState{j.Name, stateDropped}] = int64(outcome.Dropped)
		states[jobState{j.Name, stateInvalid}] = int64(len(outcome.Invalid))
		err := d.targets.replace(ctx, sourceJob+j.Name, wanted, d.delay)
		d.report(j.Name, errors.Join(firstOf(outcome.Invalid), err))
	}
	d.delay = 0
	d.mu.Lock()
	defer d.mu.Unlock()
	d.states = states
}

// maxInvalid is how many invalid targets a message names.
const maxInvalid = 10

// firstOf joins the first errors in the order of their texts: targets come in any
// order, and the same ones must give the same text.
func firstOf(errs []error) error {
	errs = slices.SortedFunc(slices.Values(errs), func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	if more := len(errs) - maxInvalid; more > 0 {
		errs = append(errs[:maxInvalid], fmt.Errorf("and %d more", more))
	}
	return errors.Join(errs...)
}

// report logs what is wrong with the targets of a job when it is something new.
func (d *discoverer) report(job string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == d.failing[job] {
		return
	}
	d.failing[job] = text
	if err == nil {
		d.settings.Logger.Info("All discovered targets can be scraped again.", zap.String("job", job))
		return
	}
	d.settings.Logger.Warn("Some of the discovered targets cannot be scraped, the others are; "+
		"correct what lists them, or relabel_configs.", zap.String("job", job), zap.Error(err))
}

// observe reports what became of the targets that were discovered last.
func (d *discoverer) observe(_ context.Context, observer metric.Int64Observer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for of, n := range d.states {
		observer.Observe(n, metric.WithAttributes(
			attribute.String("receiver", d.settings.ID.String()),
			attribute.String("job", of.job), attribute.String("state", of.state)))
	}
	return nil
}
