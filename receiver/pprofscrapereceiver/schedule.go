// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"context"
	"hash/fnv"
	"sync"
	"time"
)

// schedule says when a profile is scraped: once in every interval, at a phase of
// it that follows from what is scraped. So the scrapes of many targets are spread
// over the interval instead of coming all at once, and a restart of the Collector
// does not move them.
type schedule struct {
	interval time.Duration
	phase    time.Duration // since the Unix epoch, modulo the interval
}

func newSchedule(interval time.Duration, scraped string) schedule {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(scraped)) // never fails
	return schedule{interval: interval, phase: time.Duration(hash.Sum64() % uint64(interval))}
}

// until is how long it takes from a time to the next scrape.
func (s schedule) until(from time.Time) time.Duration {
	passed := time.Duration(from.UnixNano() % int64(s.interval))
	return (s.phase - passed + s.interval) % s.interval
}

// run calls scrape on schedule, first after the delay, until ctx is done. It
// never calls it twice at a time: a scrape that takes longer than the interval
// makes the next one later.
func (s schedule) run(ctx context.Context, delay time.Duration, scrape func(context.Context)) {
	delay = max(delay, 0)
	select {
	case <-ctx.Done():
		return
	case <-time.After(delay + s.until(time.Now().Add(delay))):
	}
	ticker := time.NewTicker(s.interval) // drops ticks that nobody waits for
	defer ticker.Stop()
	for {
		scrape(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// turns keep measurements of one process from overlapping, as a process refuses a
// second CPU profile while it takes one. The zero value is ready to use.
type turns struct {
	mu     sync.Mutex
	queues map[string]*queue
}

// queue is who measures a process, and who waits to.
type queue struct {
	turn    chan struct{} // holds one while somebody measures
	members int
}

// measurements are the turns of the whole Collector: two of its receivers, or two
// targets of one, may measure the same process.
var measurements turns

// take waits for the turn to measure a process. The caller ends its turn with the
// function that is returned, which is nil if ctx was done before.
func (t *turns) take(ctx context.Context, process string) (end func()) {
	q := t.enter(process)
	select {
	case q.turn <- struct{}{}:
		return func() {
			<-q.turn
			t.leave(process, q)
		}
	case <-ctx.Done():
		t.leave(process, q)
		return nil
	}
}

func (t *turns) enter(process string) *queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	q, found := t.queues[process]
	if !found {
		if t.queues == nil {
			t.queues = map[string]*queue{}
		}
		q = &queue{turn: make(chan struct{}, 1)}
		t.queues[process] = q
	}
	q.members++
	return q
}

func (t *turns) leave(process string, q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.members--; q.members == 0 {
		delete(t.queues, process)
	}
}
