// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package stats counts requests and measures how long they take: as metrics for Prometheus, and as
// rows for the tables that a person reads.
package stats

import (
	"cmp"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The kinds of queries.
const (
	ProfileTypes = "profile_types"
	Labels       = "labels"
	Values       = "values"
	// Range is one value for each step of a time.
	Range = "range"
	// Timestamps is a Range whose step is so short that it tells when each profile was taken.
	Timestamps = "timestamps"
	// Single is the report of the profiles taken at one moment.
	Single = "single"
	// Merge is the report of all profiles of a time.
	Merge = "merge"
)

// Request says what was asked for, as far as it is told apart in metrics and tables.
type Request struct {
	// Query is the kind of the query.
	Query string

	// Report is the form of the answer, e.g. "pprof"; empty if the query has no choice.
	Report string

	// Range is the length of the time asked about, as the user wrote it, e.g. "15m".
	Range string

	// Labels is the selector of series, e.g. `{job="checkout"}`; empty if the query takes none.
	Labels string
}

// String names the request in one line.
func (r Request) String() string {
	parts := []string{r.Query}
	for _, part := range []string{r.Report, r.Range, r.Labels} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " ")
}

func (r Request) compare(to Request) int {
	return cmp.Or(
		strings.Compare(r.Query, to.Query),
		strings.Compare(r.Labels, to.Labels),
		cmp.Compare(length(r.Range), length(to.Range)),
		strings.Compare(r.Range, to.Range),
		strings.Compare(r.Report, to.Report),
	)
}

// length is how long a range is; 0 if there is none.
func length(name string) time.Duration {
	d, err := time.ParseDuration(name)
	if err != nil {
		return 0
	}
	return d
}

// outcome is what a status code means for the one who reads a table.
type outcome int

const (
	succeeded outcome = iota
	// empty answers are right, but nothing matched.
	empty
	failed
	// abandoned requests were canceled on this side.
	abandoned
)

// outcomeOf classifies an error.
func (r Request) outcomeOf(err error) outcome {
	switch status.Code(err) {
	case codes.OK:
		return succeeded
	case codes.Canceled:
		return abandoned
	case codes.NotFound:
		// So Parca answers queries of a range in which there is no profile. Other queries do not
		// know that answer, or are about a profile that Parca has just named.
		if r.Query == Range || r.Query == Timestamps {
			return empty
		}
		return failed
	default:
		return failed
	}
}
