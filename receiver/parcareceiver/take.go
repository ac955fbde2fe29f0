// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"context"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

// window is a time that is queried: half-open, so that windows that follow each
// other neither overlap nor leave a gap.
type window struct {
	start, end time.Time
}

func (w window) length() time.Duration { return w.end.Sub(w.start) }

// bounds are the nanoseconds of the window as Parca takes them.
func (w window) bounds() parcaapi.Range { return parcaapi.Window(w.start, w.end) }

// taken is what one window gave.
type taken struct {
	groups []group
	bytes  int    // of the reports, compressed
	starts int    // series that began to count anew
	accept func() // is called when the groups have been delivered; may be nil
}

// taker takes what a query has in a window.
type taker interface {
	// prepare does what has to be done before the first window, which begins at
	// the time.
	prepare(ctx context.Context, begin time.Time) error
	take(ctx context.Context, w window) (taken, error)
}

// deltas takes profiles that each cover some time: those of a window are added
// up by the server, which can group them by labels in the same answer.
type deltas struct {
	source  *source
	query   string
	groupBy []string
}

func (*deltas) prepare(context.Context, time.Time) error { return nil }

func (d *deltas) take(ctx context.Context, w window) (taken, error) {
	answer, size, err := d.source.profile(ctx, d.query, w.bounds(), d.groupBy)
	if err != nil {
		return taken{}, err
	}
	return taken{groups: split(answer, d.groupBy), bytes: size}, nil
}

// profile returns the merged profile of a range and the size of the report.
func (s *source) profile(
	ctx context.Context, query string, r parcaapi.Range, groupBy []string,
) (*profile.Profile, int, error) {
	report, err := s.merge(ctx, query, r, groupBy)
	if err != nil {
		return nil, 0, err
	}
	p, err := parcaapi.ParsePprof(report)
	return p, len(report), err
}
