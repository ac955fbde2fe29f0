// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package progress shows a person how requests go: a table that is redrawn on a terminal, a line
// from time to time elsewhere, and a table at the end.
package progress

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/profiletometrics/profiletometrics/cmd/parca-load/internal/stats"
)

const (
	// redrawInterval is how often the table on a terminal changes.
	redrawInterval = time.Second
	// lineInterval is how often a line is written where nothing can be redrawn.
	lineInterval = 10 * time.Second

	// eraseLines moves the cursor up by a number of lines and clears what is below.
	eraseLines = "\x1b[%dA\x1b[J"
)

// Source has the numbers to show.
type Source interface {
	Total() stats.Row
	ByQuery() []stats.Row
	ByRequest() []stats.Row
	LastFailure() stats.Failure
}

// Display shows progress. Its methods are not for concurrent use.
type Display struct {
	source Source
	to     io.Writer
	redact func(string) string
	// width returns the columns of the terminal; nil if there is none.
	width   func() int
	started time.Time

	// drawn is how many lines of the terminal are to be replaced.
	drawn int
	// shown is the time of the failure that was written last.
	shown time.Time
}

// New returns a display. Width returns how many columns the terminal has, and is nil if what is
// written does not go to a terminal. Redact removes secrets from what the server said.
func New(source Source, to io.Writer, width func() int, redact func(string) string) *Display {
	return &Display{source: source, to: to, redact: redact, width: width, started: time.Now()}
}

// Run shows progress until done is closed. The error is that of writing.
func (d *Display) Run(done <-chan struct{}) error {
	interval, show, last := lineInterval, d.line, d.lastFailure
	if d.width != nil {
		interval, show, last = redrawInterval, d.redraw, d.redraw
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if err := show(); err != nil {
				return err
			}
		case <-done:
			return last()
		}
	}
}

// line writes what has happened so far in one line.
func (d *Display) line() error {
	total := d.source.Total()
	if _, err := fmt.Fprintf(d.to, "%s: %d requests, %d errors, p50 %s, p90 %s, p99 %s\n", d.elapsed(), total.Requests,
		total.Errors, quantile(total, total.P50), quantile(total, total.P90), quantile(total, total.P99)); err != nil {
		return err
	}
	return d.lastFailure()
}

// lastFailure writes the newest failure in a line, unless that has been done.
func (d *Display) lastFailure() error {
	failure := d.source.LastFailure()
	if failure.Err == nil || failure.Time.Equal(d.shown) {
		return nil
	}
	d.shown = failure.Time
	_, err := fmt.Fprintln(d.to, d.failure(failure))
	return err
}

// redraw replaces the table on the terminal.
func (d *Display) redraw() error {
	var table bytes.Buffer
	if err := write(&table, append(d.source.ByQuery(), d.source.Total())); err != nil {
		return err
	}
	fmt.Fprintf(&table, "running for %s, ends with Ctrl-C\n", d.elapsed())
	if failure := d.source.LastFailure(); failure.Err != nil {
		fmt.Fprintln(&table, d.failure(failure))
	}

	var screen strings.Builder
	if d.drawn > 0 {
		fmt.Fprintf(&screen, eraseLines, d.drawn)
	}
	d.drawn = 0
	// A line that is wider than the terminal would take two, and the next redrawing miss one.
	width := d.width()
	for line := range strings.Lines(table.String()) {
		screen.WriteString(cut(strings.TrimSuffix(line, "\n"), width))
		screen.WriteByte('\n')
		d.drawn++
	}
	_, err := io.WriteString(d.to, screen.String())
	return err
}

func (d *Display) elapsed() time.Duration {
	return time.Since(d.started).Round(time.Second)
}

func (d *Display) failure(failure stats.Failure) string {
	return fmt.Sprintf("last error, at %s: %s: %s", failure.Time.Format(time.TimeOnly), failure.Request,
		printable(d.redact(failure.Err.Error())))
}
