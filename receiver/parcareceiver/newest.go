// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

// newest is the newest profile of one series in a window.
type newest struct {
	labels labels
	// at is its time, and before that of the profile before it, or later; both in
	// nanoseconds since the Unix epoch. Between the two the series has no profile.
	at, before int64
}

// findNewest returns the newest profile of each series within a range.
//
// The server is asked for the profiles by the second: it tells how many there
// are of a series in each, and the time of one of them, whichever. Where the last
// second has several, halving it finds the newest. (A smaller step would tell at
// once, but ends the process of an older server.)
func findNewest(ctx context.Context, s *source, query parcaapi.Query, r parcaapi.Range) ([]newest, error) {
	series, err := s.series(ctx, query.String(), r)
	if err != nil {
		return nil, err
	}
	found := make([]newest, 0, len(series))
	for _, one := range series {
		if len(one.GetSamples()) == 0 {
			continue
		}
		n, crowded := lastOf(one)
		if crowded {
			if err := n.narrow(ctx, s, query, r); err != nil {
				return nil, err
			}
		}
		found = append(found, n)
	}
	return found, nil
}

// lastOf reads the times of a series; crowded says that its last step has several
// profiles, of which at is any.
func lastOf(series *querypb.MetricsSeries) (n newest, crowded bool) {
	samples := slices.Clone(series.GetSamples())
	slices.SortFunc(samples, func(a, b *querypb.MetricsSample) int { return cmp.Compare(timeOf(a), timeOf(b)) })
	last := samples[len(samples)-1]
	n = newest{labels: labelsOf(series), at: timeOf(last), before: math.MinInt64}
	if len(samples) > 1 {
		previous := samples[len(samples)-2]
		n.before = timeOf(previous)
		if previous.GetCount() > 1 {
			n.before = endOfStep(n.before)
		}
	}
	return n, last.GetCount() > 1
}

func timeOf(sample *querypb.MetricsSample) int64 { return sample.GetTimestamp().AsTime().UnixNano() }

func labelsOf(series *querypb.MetricsSeries) labels {
	set := labels{}
	for _, l := range series.GetLabelset().GetLabels() {
		set[l.GetName()] = l.GetValue()
	}
	return set
}

// endOfStep is the last nanosecond of the step that holds a time. Parca's steps
// begin at the Unix epoch.
func endOfStep(at int64) int64 {
	step := int64(parcaapi.MinStep)
	return at - at%step + step - 1
}

// narrow finds the newest of several profiles within one step.
func (n *newest) narrow(ctx context.Context, s *source, query parcaapi.Query, r parcaapi.Range) error {
	for _, name := range slices.Sorted(maps.Keys(n.labels)) {
		query = query.Where(parcaapi.Matcher{Label: name, Operator: "=", Value: n.labels[name]})
	}
	low, high := n.at, min(endOfStep(n.at), r.End.UnixNano())
	for low < high {
		middle := low + (high-low)/2 + 1
		upper := parcaapi.Range{Start: time.Unix(0, middle), End: time.Unix(0, high)}
		series, err := s.series(ctx, query.String(), upper)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(series, func(one *querypb.MetricsSeries) bool {
			return maps.Equal(labelsOf(one), n.labels)
		})
		if at < 0 || len(series[at].GetSamples()) == 0 {
			high = middle - 1
			continue
		}
		one := series[at].GetSamples()[0]
		low = max(middle, timeOf(one))
		if one.GetCount() == 1 {
			high = low
		}
	}
	// Where in the second the one before it lies is not known.
	n.at, n.before = low, low-1
	return nil
}

// batch is a range in which each of its series has no profile but its newest, so
// that one merge gives them all.
type batch struct {
	low, high int64 // nanoseconds since the Unix epoch, both inclusive
	before    int64 // the range must not reach down to here
	series    []newest
}

// batches puts as many series as possible into each merge. As a rule all series
// are profiled equally often, and their newest profiles fit into one.
func batches(found []newest) []batch {
	slices.SortFunc(found, func(a, b newest) int { return cmp.Compare(b.at, a.at) })
	var all []batch
	for _, n := range found {
		if last := len(all) - 1; last >= 0 && n.at > max(all[last].before, n.before) {
			b := &all[last]
			b.low, b.before = n.at, max(b.before, n.before)
			b.series = append(b.series, n)
			continue
		}
		all = append(all, batch{low: n.at, high: n.at, before: n.before, series: []newest{n}})
	}
	return all
}

// labelNames are the names of all labels of the batch.
func (b *batch) labelNames() []string {
	names := map[string]bool{}
	for _, n := range b.series {
		for name := range n.labels {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
