// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"context"
	"time"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

// maxRequests is how many requests the receiver has in flight at a time. Each
// takes the server CPU and memory; a receiver with a hundred queries is not to
// ask all at once.
const maxRequests = 4

// source is the server as the queries share it: each request waits for its turn,
// and then has the timeout to itself. Errors are those of parcaapi.
type source struct {
	client  *parcaapi.Client
	timeout time.Duration
	turns   chan struct{}
}

func newSource(client *parcaapi.Client, timeout time.Duration) *source {
	return &source{client: client, timeout: timeout, turns: make(chan struct{}, maxRequests)}
}

func (s *source) merge(ctx context.Context, query string, r parcaapi.Range, groupBy []string) ([]byte, error) {
	return inTurn(ctx, s, func(ctx context.Context) ([]byte, error) {
		return s.client.MergePprof(ctx, query, r, groupBy)
	})
}

// series returns the series of a type that is not delta, and none where nothing
// matches.
func (s *source) series(ctx context.Context, query string, r parcaapi.Range) ([]*querypb.MetricsSeries, error) {
	return inTurn(ctx, s, func(ctx context.Context) ([]*querypb.MetricsSeries, error) {
		series, err := s.client.QueryRange(ctx, query, r, parcaapi.MinStep, nil)
		if err != nil && parcaapi.KindOf(err) == parcaapi.NotFound {
			return nil, nil
		}
		return series, err
	})
}

func (s *source) types(ctx context.Context, r parcaapi.Range) ([]parcaapi.ProfileType, error) {
	return inTurn(ctx, s, func(ctx context.Context) ([]parcaapi.ProfileType, error) {
		return s.client.ProfileTypes(ctx, r)
	})
}

func inTurn[T any](ctx context.Context, s *source, ask func(context.Context) (T, error)) (T, error) {
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return ask(ctx)
}
