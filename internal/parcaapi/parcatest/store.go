// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcatest

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	storepb "github.com/parca-dev/parca/gen/proto/go/parca/profilestore/v1alpha1"
	"github.com/stretchr/testify/require"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

// Store holds profiles and answers queries about them as Parca does, as far as
// the receiver and the extension ask: merged pprof reports, ranges of types that
// are not delta, profile types. It is safe for concurrent use.
type Store struct {
	mu     sync.Mutex
	stored []stored
}

// stored is one sample type of one profile of one series.
type stored struct {
	labels  map[string]string
	kind    parcaapi.ProfileType
	nanos   int64 // the profile's time
	profile *profile.Profile
}

// NewStore returns an empty store.
func NewStore() *Store { return &Store{} }

// RecordedStore returns a store of what was written when the exchanges were
// recorded, up to the one of that number.
func RecordedStore(tb testing.TB, upTo int) *Store {
	tb.Helper()
	s := NewStore()
	for _, e := range Recorded(tb) {
		request, isWrite := e.Request.(*storepb.WriteRawRequest)
		if !isWrite || e.Err != nil || e.Seq > upTo {
			continue
		}
		for _, series := range request.GetSeries() {
			labels := map[string]string{}
			for _, l := range series.GetLabels().GetLabels() {
				labels[l.GetName()] = l.GetValue()
			}
			for _, sample := range series.GetSamples() {
				p, err := profile.ParseData(sample.GetRawProfile())
				require.NoError(tb, err)
				s.Write(labels, p, time.Unix(0, p.TimeNanos))
			}
		}
	}
	return s
}

// RecordedProfile returns the profile that the write of that name stored.
func RecordedProfile(tb testing.TB, name string) (map[string]string, *profile.Profile) {
	tb.Helper()
	series := Named(tb, name).Request.(*storepb.WriteRawRequest).GetSeries()[0]
	labels := map[string]string{}
	for _, l := range series.GetLabels().GetLabels() {
		labels[l.GetName()] = l.GetValue()
	}
	p, err := profile.ParseData(series.GetSamples()[0].GetRawProfile())
	require.NoError(tb, err)
	return labels, p
}

// Write stores a profile under its labels, of which __name__ is the name of its
// types, as of the time. As Parca does, it leaves out values of zero, the
// labels of samples, and the addresses of locations that have lines.
func (s *Store) Write(labels map[string]string, p *profile.Profile, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	labels = maps.Clone(labels)
	name := labels[metricName]
	delete(labels, metricName)
	period := p.PeriodType
	if period == nil {
		period = &profile.ValueType{}
	}
	for i, st := range p.SampleType {
		column := p.Copy()
		column.SampleType = column.SampleType[i : i+1]
		column.Sample = slices.DeleteFunc(column.Sample, func(sample *profile.Sample) bool {
			sample.Value = sample.Value[i : i+1]
			sample.Label, sample.NumLabel, sample.NumUnit = nil, nil, nil
			return sample.Value[0] == 0
		})
		for _, l := range column.Location {
			if len(l.Line) > 0 {
				l.Address = 0
			}
		}
		s.stored = append(s.stored, stored{
			labels: labels,
			kind: parcaapi.ProfileType{
				Name: name, SampleType: st.Type, SampleUnit: st.Unit,
				PeriodType: period.Type, PeriodUnit: period.Unit,
				Delta: p.DurationNanos != 0,
			},
			nanos:   at.UnixNano(),
			profile: column,
		})
	}
}

const metricName = "__name__"

// Forget drops what is older than the time, as a server without persistence does.
func (s *Store) Forget(before time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = slices.DeleteFunc(s.stored, func(p stored) bool { return p.nanos < before.UnixNano() })
}

// selected returns what matches a query, from start to end, both inclusive.
func (s *Store) selected(text string, start, end time.Time) (parcaapi.Query, []stored, error) {
	query, err := parcaapi.ParseQuery(text)
	if err != nil {
		return query, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []stored
	for _, p := range s.stored {
		if p.kind == query.Type && p.nanos >= start.UnixNano() && p.nanos <= end.UnixNano() &&
			len(p.profile.Sample) > 0 && matches(p.labels, query.Matchers) {
			found = append(found, p)
		}
	}
	return query, found, nil
}

func matches(labels map[string]string, matchers []parcaapi.Matcher) bool {
	for _, m := range matchers {
		value := labels[m.Label]
		var holds bool
		switch m.Operator {
		case "=":
			holds = value == m.Value
		case "!=":
			holds = value != m.Value
		case "=~":
			holds = regexp.MustCompile(m.Value).MatchString(value)
		case "!~":
			holds = !regexp.MustCompile(m.Value).MatchString(value)
		}
		if !holds {
			return false
		}
	}
	return true
}

// merge adds up profiles, and tells their samples apart by the labels in groupBy.
func merge(query parcaapi.Query, found []stored, start time.Time, groupBy []string) ([]byte, error) {
	t := query.Type
	result := &profile.Profile{}
	if len(found) > 0 {
		parts := make([]*profile.Profile, 0, len(found))
		for _, p := range found {
			part := p.profile.Copy()
			for _, sample := range part.Sample {
				sample.Label = labelsOf(p.labels, groupBy)
				if t.SampleType == "samples" && t.SampleUnit == "count" {
					sample.Value[0] *= part.Period
				}
			}
			parts = append(parts, part)
		}
		var err error
		if result, err = profile.Merge(parts); err != nil {
			return nil, err
		}
	}
	result.SampleType = []*profile.ValueType{{Type: t.SampleType, Unit: t.SampleUnit}}
	result.PeriodType = &profile.ValueType{Type: t.PeriodType, Unit: t.PeriodUnit}
	if t.SampleType == "samples" && t.SampleUnit == "count" {
		result.SampleType[0] = result.PeriodType
	}
	// As the server sets them: the time is nonsense, the rest is not set.
	result.TimeNanos = start.UnixNano() * int64(time.Millisecond)
	result.Period, result.DurationNanos = 0, 0
	var report bytes.Buffer
	err := result.Write(&report)
	return report.Bytes(), err
}

func labelsOf(labels map[string]string, names []string) map[string][]string {
	values := map[string][]string{}
	for _, name := range names {
		if value, found := labels[name]; found {
			values[name] = []string{value}
		}
	}
	return values
}
