// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Row is one line of a table.
type Row struct {
	// Request is what the line is about; empty fields stand for every value.
	Request Request

	// Requests is how many requests have ended, Errors how many of them failed, NoData how many
	// found no profile where there may be none. Requests given up on this side are in Requests only.
	Requests, Errors, NoData uint64

	// Answered is how many requests the server answered without an error.
	Answered uint64

	// P50, P90 and P99 are quantiles of how long the answered requests took; 0 if there were none.
	P50, P90, P99 time.Duration
}

// aggregate is the state behind a row.
type aggregate struct {
	requests, errors, noData uint64

	// durations estimates quantiles, in a bounded amount of memory however long the program runs.
	durations prometheus.Summary
}

// objectives are the quantiles and by how much their ranks may be off.
var objectives = map[float64]float64{0.5: 0.01, 0.9: 0.005, 0.99: 0.001}

func newAggregate() *aggregate {
	return &aggregate{durations: prometheus.NewSummary(prometheus.SummaryOpts{
		Name:       "durations", // never exported
		Objectives: objectives,
		MaxAge:     math.MaxInt64, // all of the run
		AgeBuckets: 1,
	})}
}

func (a *aggregate) add(result outcome, took time.Duration) {
	a.requests++
	switch result {
	case failed:
		a.errors++
		return
	case abandoned:
		return
	case empty:
		a.noData++
	case succeeded:
	}
	a.durations.Observe(took.Seconds())
}

func (a *aggregate) row(request Request) Row {
	var metric dto.Metric
	// Writing a summary into memory cannot fail.
	_ = a.durations.Write(&metric)
	row := Row{
		Request:  request,
		Requests: a.requests,
		Errors:   a.errors,
		NoData:   a.noData,
		Answered: metric.GetSummary().GetSampleCount(),
	}
	if row.Answered == 0 {
		return row
	}
	for _, quantile := range metric.GetSummary().GetQuantile() {
		took := time.Duration(quantile.GetValue() * float64(time.Second))
		switch quantile.GetQuantile() {
		case 0.5:
			row.P50 = took
		case 0.9:
			row.P90 = took
		case 0.99:
			row.P99 = took
		}
	}
	return row
}
