// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/profiletometrics/profiletometrics/cmd/parca-load/internal/stats"
)

// numbers is a Source.
type numbers struct {
	byRequest []stats.Row
	failure   stats.Failure
}

func (n numbers) ByQuery() []stats.Row {
	return []stats.Row{{Request: stats.Request{Query: stats.Merge}, Requests: 3}}
}

func (n numbers) Total() stats.Row {
	return stats.Row{
		Request: stats.Request{Query: "total"}, Requests: 12, Errors: 1, NoData: 1, Answered: 10,
		P50: 1500 * time.Microsecond, P90: 250 * time.Millisecond, P99: 12345 * time.Millisecond,
	}
}

func (n numbers) ByRequest() []stats.Row     { return n.byRequest }
func (n numbers) LastFailure() stats.Failure { return n.failure }

func asIs(text string) string { return text }

func TestSummaryIsATable(t *testing.T) {
	var out strings.Builder
	require.NoError(t, Summary(&out, numbers{byRequest: []stats.Row{
		{
			Request: stats.Request{Query: stats.Labels, Range: "15m"}, Requests: 10, Answered: 10,
			P50: 900 * time.Microsecond, P90: time.Millisecond, P99: 1234 * time.Microsecond,
		},
		{
			Request:  stats.Request{Query: stats.Merge, Report: "pprof", Range: "15m", Labels: `{job="ä"}`},
			Requests: 2, Errors: 2,
		},
	}}))
	assert.Equal(t, ""+
		"  QUERY   REPORT  RANGE  LABELS     REQUESTS  ERRORS  NO DATA    P50    P90     P99\n"+
		"  labels          15m                     10       0        0  900µs    1ms  1.23ms\n"+
		"  merge   pprof   15m    {job=\"ä\"}         2       2        0      -      -       -\n"+
		"  total                                   12       1        1  1.5ms  250ms   12.3s\n",
		out.String())
}

func TestElsewhereThereAreLines(t *testing.T) {
	var out strings.Builder
	failure := stats.Failure{
		Request: stats.Request{Query: stats.Merge, Range: "15m"},
		Err:     errors.New("no \x1b[2J\nsecret"),
		Time:    time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC),
	}
	d := New(numbers{failure: failure}, &out, nil, func(text string) string {
		return strings.ReplaceAll(text, "secret", "[redacted]")
	})
	require.NoError(t, d.line())
	require.NoError(t, d.line())
	assert.Equal(t, ""+
		"0s: 12 requests, 1 errors, p50 1.5ms, p90 250ms, p99 12.3s\n"+
		"last error, at 12:00:00: merge 15m: no  [2J [redacted]\n"+
		"0s: 12 requests, 1 errors, p50 1.5ms, p90 250ms, p99 12.3s\n", // the same error is not told again
		out.String())
}

func TestTerminalIsRedrawn(t *testing.T) {
	var out strings.Builder
	const width = 40
	d := New(numbers{}, &out, func() int { return width }, asIs)
	require.NoError(t, d.redraw())
	first := out.String()
	assert.Equal(t, 4, strings.Count(first, "\n"), "a head, two rows and the time")
	for line := range strings.Lines(first) {
		assert.LessOrEqual(t, len([]rune(line)), width+1)
	}

	out.Reset()
	require.NoError(t, d.redraw())
	assert.Equal(t, "\x1b[4A\x1b[J"+first, out.String())
}

func TestTheEndShowsWhatIsNew(t *testing.T) {
	var terminal, file strings.Builder
	done := make(chan struct{})
	close(done)
	source := numbers{failure: stats.Failure{Err: errors.New("down"), Time: time.Now()}}
	require.NoError(t, New(source, &terminal, func() int { return 80 }, asIs).Run(done))
	assert.Contains(t, terminal.String(), "total")
	assert.Contains(t, terminal.String(), ": down\n")
	require.NoError(t, New(source, &file, nil, asIs).Run(done))
	assert.NotContains(t, file.String(), "requests", "the summary has the numbers")
	assert.Contains(t, file.String(), ": down\n")
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestErrorsOfWritingAreReturned(t *testing.T) {
	done := make(chan struct{})
	close(done)
	for _, width := range []func() int{nil, func() int { return 80 }} {
		source := numbers{failure: stats.Failure{Err: errors.New("down"), Time: time.Now()}}
		require.EqualError(t, New(source, brokenPipe{}, width, asIs).Run(done), "broken pipe")
	}
	require.EqualError(t, Summary(brokenPipe{}, numbers{}), "broken pipe")
}

func TestDurationsHaveThreeDigits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                              "0s",
		1234 * time.Nanosecond:         "1.23µs",
		123456 * time.Nanosecond:       "123µs",
		12345678 * time.Nanosecond:     "12.3ms",
		9_999_999:                      "10ms",
		999 * time.Millisecond:         "999ms",
		61234 * time.Millisecond:       "1m1.2s",
		20*time.Minute + time.Second/3: "20m0s",
	} {
		assert.Equal(t, want, shorten(d))
	}
}
