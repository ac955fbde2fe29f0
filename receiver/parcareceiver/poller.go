// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

// minWindow is the shortest window that is tried where the server cannot answer
// a longer one in time.
const minWindow = time.Second

// poller polls one query, in a goroutine of its own. Each window begins where the
// last delivered one ended: the cursor moves on only when the pipeline has
// accepted what a window gave.
type poller struct {
	*shared
	identity identity
	taker    taker
	journal  *journal

	loaded  bool          // the cursor was read from the storage
	cursor  time.Time     // zero before the first window
	longest time.Duration // of the next windows
	behind  atomic.Int64  // the cursor in nanoseconds since the Unix epoch, for the telemetry; 0 = none
}

func newPoller(s *shared, id identity, query parcaapi.Query, groupBy []string) *poller {
	p := &poller{
		shared:   s,
		identity: id,
		journal:  newJournal(s.settings.Logger, s.telemetry, id.name),
		longest:  s.config.MaxWindow,
	}
	if query.Type.Delta {
		p.taker = &deltas{source: s.source, query: id.query, groupBy: groupBy}
	} else {
		p.taker = newSnapshots(s, query, groupBy)
	}
	return p
}

// run polls until ctx is done, first after the delay.
func (p *poller) run(ctx context.Context, delay time.Duration) {
	if !sleep(ctx, delay) {
		return
	}
	// A poll that outlasts the interval makes the ticker drop ticks; the next one
	// has more to catch up.
	ticker := time.NewTicker(p.config.Controller.CollectionInterval)
	defer ticker.Stop()
	for {
		p.poll(ctx, time.Now())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// poll takes one window after the other until delay before now, or until one
// cannot be taken within the time for retries.
func (p *poller) poll(ctx context.Context, now time.Time) {
	if !p.load(ctx) {
		return
	}
	end, reach := now.Add(-p.config.Delay), now.Add(-p.config.MaxLookback)
	if p.cursor.After(now) {
		p.journal.future(p.cursor)
		return
	}
	p.behind.CompareAndSwap(0, p.start(reach).UnixNano())
	retry := p.newRetry()
	lost := false
	for ctx.Err() == nil && p.start(reach).Before(end) {
		w := window{start: p.start(reach), end: end}
		if w.length() > p.longest {
			w.end = w.start.Add(p.longest)
		}
		err := p.step(ctx, w)
		switch {
		case err == nil:
			lost = p.moveTo(ctx, w) || lost
			retry = p.newRetry()
		case !retry.again(ctx, err, p.shorten(w, err)):
			if ctx.Err() == nil { // a shutdown is no failure
				p.report(err)
			}
			return
		}
	}
	p.journal.works()
	if !lost {
		p.journal.keptUp()
	}
}

// load reads the cursor from the storage. Without knowing it nothing can be
// queried: it might be counted twice.
func (p *poller) load(ctx context.Context) bool {
	if p.loaded {
		return true
	}
	cursor, err := p.cursors.load(ctx, p.identity.name)
	if errors.Is(err, errCursor) {
		p.journal.cursorLost(err)
		err = nil
	}
	p.journal.stored(err)
	if err != nil {
		return false
	}
	p.loaded, p.cursor = true, cursor
	return true
}

// start is where the next window begins; reach is as far back as it may.
func (p *poller) start(reach time.Time) time.Time {
	if p.cursor.Before(reach) {
		return reach
	}
	return p.cursor
}

// step takes one window and delivers what it gives.
func (p *poller) step(ctx context.Context, w window) error {
	if err := p.taker.prepare(ctx, w.start); err != nil {
		return p.asked(ctx, err, taken{})
	}
	got, err := p.taker.take(ctx, w)
	if err != nil {
		return p.asked(ctx, err, got)
	}
	profiles, err := convert(p.identity, got.groups, w, p.settings.BuildInfo.Version)
	if err != nil {
		return p.asked(ctx, err, got)
	}
	outcome := outcomeNoData
	if len(got.groups) > 0 {
		outcome = outcomeSuccess
		// A shutdown waits for a delivery that has begun: broken off, nobody would
		// know whether it was accepted.
		if err := p.pipeline.accept(context.WithoutCancel(ctx), profiles); err != nil {
			p.journal.queried(ctx, outcomeRefused, got.bytes)
			return &refusal{err}
		}
		p.journal.delivered(nil)
	}
	if got.accept != nil {
		got.accept()
	}
	p.journal.restarted(ctx, got.starts)
	p.journal.queried(ctx, outcome, got.bytes)
	return nil
}

// asked counts a window that Parca gave nothing for.
func (p *poller) asked(ctx context.Context, err error, got taken) error {
	if ctx.Err() == nil {
		p.journal.queried(ctx, string(parcaapi.KindOf(err)), got.bytes)
	}
	return err
}

// refusal is the error of the next consumer.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }

// report logs why a poll ended before it was done.
func (p *poller) report(err error) {
	var refused *refusal
	if errors.As(err, &refused) {
		p.journal.works()
		p.journal.delivered(refused.error)
		return
	}
	p.journal.failed(err)
}

// moveTo moves the cursor to the end of a delivered window, and tells whether
// anything before it was given up.
func (p *poller) moveTo(ctx context.Context, w window) (lost bool) {
	if lost = !p.cursor.IsZero() && w.start.After(p.cursor); lost {
		p.journal.gaveUp(ctx, p.cursor, w.start)
	}
	p.cursor = w.end
	p.behind.Store(w.end.UnixNano())
	// The delivery cannot be undone, so that this must be kept even in a shutdown.
	p.journal.stored(p.cursors.save(context.WithoutCancel(ctx), p.identity.name, w.end))
	p.longest = min(2*p.longest, p.config.MaxWindow)
	return lost
}

// shorten halves the windows after one that the server could not answer in time,
// and tells whether that can help.
func (p *poller) shorten(w window, err error) bool {
	if !parcaapi.KindOf(err).Smaller() || w.length() <= minWindow {
		return false
	}
	p.longest = max(w.length()/2, minWindow)
	return true
}

// retry is how a poll repeats what failed, until the next poll is due.
type retry struct {
	began   time.Time
	limit   time.Duration
	backoff *backoff.ExponentialBackOff
}

func (p *poller) newRetry() *retry {
	cfg := p.config.Retry
	return &retry{
		began: time.Now(),
		limit: p.config.retryFor(),
		backoff: &backoff.ExponentialBackOff{
			InitialInterval:     cfg.InitialInterval,
			RandomizationFactor: cfg.RandomizationFactor,
			Multiplier:          cfg.Multiplier,
			MaxInterval:         cfg.MaxInterval,
		},
	}
}

// again waits until it is time to try again, and tells whether it is. What is
// shorter than before is tried at once.
func (r *retry) again(ctx context.Context, err error, shorter bool) bool {
	var refused *refusal
	if errors.As(err, &refused) || !parcaapi.KindOf(err).Retryable() {
		return false
	}
	wait := time.Duration(0)
	if !shorter {
		wait = r.backoff.NextBackOff()
	}
	if time.Since(r.began)+wait >= r.limit {
		return false
	}
	return sleep(ctx, wait)
}

// sleep waits, and tells whether ctx is still good after that.
func sleep(ctx context.Context, wait time.Duration) bool {
	if wait <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(wait):
		return true
	}
}
