// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package workload asks a Parca server again and again what its user interface and other clients
// ask for: label names and values, profile types, values over time, and reports of single and
// merged profiles.
package workload

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"google.golang.org/grpc"

	"github.com/profiletometrics/profiletometrics/cmd/parca-load/internal/stats"
	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

// Config is what is asked, and how often.
type Config struct {
	// Interval is the time from the start of a round to the start of the next one. A round that
	// takes longer is followed by the next at once.
	Interval time.Duration

	// Timeout is how long a request may take; 0 is no limit.
	Timeout time.Duration

	// Ranges are the times to ask about, up to now. There is at least one.
	Ranges []Range

	// Selectors are the series to ask for. There is at least one.
	Selectors []Selector

	// Types are the profile types to ask for; if empty, those that the server has.
	Types []parcaapi.ProfileType

	// ValuesFor are the labels whose values are asked for; if empty, those that the server has.
	ValuesFor []string
}

// Range is a length of time.
type Range struct {
	// Name is how the user wrote it, e.g. "15m".
	Name string

	// Length is positive.
	Length time.Duration
}

// Selector is a choice of series.
type Selector struct {
	// Name stands for it in metrics and tables, e.g. `{job="checkout"}`.
	Name string

	// Matchers choose the series; all of them if empty.
	Matchers []parcaapi.Matcher
}

// Observer is told of each request that has ended, with its gRPC status error or nil. It is called
// concurrently.
type Observer interface {
	Observe(request stats.Request, took time.Duration, err error)
}

// Workload sends requests.
type Workload struct {
	config   Config
	client   querypb.QueryServiceClient
	observer Observer
	types    *catalog[parcaapi.ProfileType]
	labels   *catalog[string]

	// exactSteps tells that the server is known to take steps of less than a second.
	exactSteps atomic.Bool
}

// New returns a workload that uses the client.
func New(config Config, client querypb.QueryServiceClient, observer Observer) *Workload {
	return &Workload{
		config:   config,
		client:   client,
		observer: observer,
		types:    newCatalog(config.Types),
		labels:   newCatalog(config.ValuesFor),
	}
}

// Run sends requests until stop is closed, and returns when the last one has ended. Canceling the
// context ends requests that are under way.
func (w *Workload) Run(ctx context.Context, stop <-chan struct{}) {
	// Each of these asks one question at a time, and does not wait for the others.
	rounds := []func(*round){
		w.metadata,
		w.series,
		w.singleProfiles,
		w.mergedProfiles,
	}
	var group sync.WaitGroup
	for _, ask := range rounds {
		group.Go(func() { w.repeat(ctx, stop, ask) })
	}
	group.Wait()
}

// round is one pass over all requests of a kind.
type round struct {
	ctx  context.Context
	stop <-chan struct{}

	// number counts from 0.
	number int
}

// over reports whether no more requests are to be sent.
func (r *round) over() bool {
	select {
	case <-r.stop:
		return true
	case <-r.ctx.Done():
		return true
	default:
		return false
	}
}

func (w *Workload) repeat(ctx context.Context, stop <-chan struct{}, ask func(*round)) {
	for number := 0; ; number++ {
		next := time.NewTimer(w.config.Interval)
		this := &round{ctx: ctx, stop: stop, number: number}
		ask(this)
		select {
		case <-next.C:
		case <-stop:
		case <-ctx.Done():
		}
		next.Stop()
		if this.over() {
			return
		}
	}
}

// send sends a request and has it observed. It returns the answer and whether there is one; there
// is none if the round is over before.
func send[Q, A any](
	w *Workload,
	r *round,
	what stats.Request,
	method func(context.Context, *Q, ...grpc.CallOption) (*A, error),
	request *Q,
) (*A, bool) {
	if r.over() {
		return nil, false
	}
	ctx := r.ctx
	if w.config.Timeout > 0 {
		timed, cancel := context.WithTimeout(ctx, w.config.Timeout)
		defer cancel()
		ctx = timed
	}
	start := time.Now()
	answer, err := method(ctx, request)
	w.observer.Observe(what, time.Since(start), err)
	return answer, err == nil
}
