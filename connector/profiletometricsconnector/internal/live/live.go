// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package live watches a connector at work for the page that shows it.
package live // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/live"

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"
	"github.com/profiletometrics/profiletometrics/internal/livepage"
)

// Settings are what is shown of the configuration.
type Settings struct {
	FlushInterval time.Duration
	Series        series.Settings
}

// Live is what is known of a connector that is watched. A nil Live watches
// nothing, at no cost. It is safe for concurrent use.
type Live struct {
	settings Settings
	store    *series.Store
	census   *aggregate.Census
	started  time.Time

	converted, filtered, ignored, malformed atomic.Int64

	errors livepage.Errors
}

// Watch begins to watch, before anything comes.
func Watch(settings Settings, aggregator *aggregate.Aggregator, store *series.Store, now time.Time) *Live {
	store.Watch(now)
	return &Live{settings: settings, store: store, census: aggregator.Watch(), started: now}
}

// Record notes what became of a batch.
func (l *Live) Record(report aggregate.Report, now time.Time) {
	if l == nil {
		return
	}
	l.converted.Add(report.Converted)
	l.filtered.Add(report.Filtered)
	l.ignored.Add(report.Ignored)
	if report.Malformed == nil {
		return
	}
	var reasons []string
	numbers := make([]string, 0, len(report.Malformed))
	for _, reason := range slices.Sorted(maps.Keys(report.Malformed)) {
		samples := report.Malformed[reason]
		l.malformed.Add(samples)
		reasons = append(reasons, string(reason))
		numbers = append(numbers, fmt.Sprintf("%s: %d", reason, samples))
	}
	l.errors.Add("A batch had malformed samples: "+strings.Join(reasons, ", "),
		fmt.Sprintf("%s; the first: %s", strings.Join(numbers, ", "), report.First), now)
}

// Refused notes that the metrics pipeline did not take a flush.
func (l *Live) Refused(err error, now time.Time) {
	if l != nil {
		l.errors.Add("The metrics pipeline did not take a flush", err.Error(), now)
	}
}

const (
	mostFunctions = 20 // of a measure, by flat and by cumulative weight each
	mostResources = 50
)

// Look returns what is to be seen now.
func (l *Live) Look() livepage.Connector {
	kinds, others := l.census.Kinds()
	view := livepage.Connector{
		Started:       l.started,
		FlushInterval: l.settings.FlushInterval,
		Delta:         l.settings.Series.Delta,
		Outcomes: []livepage.Outcome{
			{Name: "converted", Samples: l.converted.Load()},
			{Name: "ignored", Samples: l.ignored.Load()},
			{Name: "filtered", Samples: l.filtered.Load()},
			{Name: "malformed", Samples: l.malformed.Load()},
		},
		OtherSamples: others,
		Errors:       l.errors.List(),
	}
	streams := make([]bool, len(l.settings.Series.Streams)) // that have been fed
	for _, counted := range kinds[aggregate.Taken] {
		view.Taken = append(view.Taken, l.taken(counted))
		for _, stream := range counted.Streams {
			streams[stream] = true
		}
	}
	view.Ignored = l.ignoredTypes(kinds[aggregate.Ignored])
	for _, counted := range kinds[aggregate.Duplicate] {
		entry := sampleType(counted)
		entry.Reason = "the same samples as the CPU time that came beside them, which is counted"
		view.Ignored = append(view.Ignored, entry)
	}
	for stream, fed := range streams {
		if fed {
			view.Measures = append(view.Measures, l.measure(stream))
		}
	}
	l.lookAtResources(&view)
	return view
}

func sampleType(counted aggregate.Counted) livepage.SampleType {
	return livepage.SampleType{
		Type: counted.Profile.Type, Unit: counted.Profile.Unit,
		PeriodType: counted.Profile.PeriodType, PeriodUnit: counted.Profile.PeriodUnit,
		Samples: counted.Samples,
	}
}

func (l *Live) stream(stream int) measure.Stream { return l.settings.Series.Streams[stream] }

func (l *Live) taken(counted aggregate.Counted) livepage.SampleType {
	taken := sampleType(counted)
	for _, stream := range counted.Streams {
		taken.Metrics = append(taken.Metrics, l.stream(stream).Name)
	}
	return taken
}

func (l *Live) measure(stream int) livepage.Measure {
	top := l.store.Top(stream, mostFunctions)
	value := func(base int64) float64 { return l.store.Value(stream, base) }
	functions := func(list []series.FunctionNow) []livepage.Function {
		shown := make([]livepage.Function, len(list))
		for i, function := range list {
			shown[i] = livepage.Function{Name: function.String(), Flat: value(function.Flat), Cumulative: value(function.Cumulative)}
		}
		return shown
	}
	return livepage.Measure{
		Metric:             l.stream(stream).Name,
		Unit:               l.stream(stream).Unit,
		Gauge:              l.stream(stream).Snapshot,
		From:               top.From,
		To:                 top.To,
		Total:              value(top.Total),
		Functions:          top.Functions,
		HasFlat:            l.settings.Series.Flat,
		HasCumulative:      l.settings.Series.Cumulative,
		ByFlat:             functions(top.ByFlat),
		ByCumulative:       functions(top.ByCumulative),
		OverflowFlat:       value(top.OverflowFlat),
		OverflowCumulative: value(top.OverflowCumulative),
	}
}
