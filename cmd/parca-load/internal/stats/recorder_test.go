// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func newRecorder(t *testing.T) (*Recorder, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	recorder, err := NewRecorder(registry)
	require.NoError(t, err)
	return recorder, registry
}

func TestQuantilesAreThoseOfAnsweredRequests(t *testing.T) {
	recorder, _ := newRecorder(t)
	request := Request{Query: Merge, Report: "pprof", Range: "15m", Labels: "{}"}
	for i := range 1000 {
		recorder.Observe(request, time.Duration(i+1)*time.Millisecond, nil)
	}
	recorder.Observe(request, time.Hour, status.Error(codes.Unavailable, "down"))
	recorder.Observe(request, time.Hour, status.Error(codes.Canceled, "interrupted"))

	row := recorder.Total()
	assert.EqualValues(t, 1002, row.Requests)
	assert.EqualValues(t, 1, row.Errors)
	assert.EqualValues(t, 1000, row.Answered)
	assert.InDelta(t, 500, row.P50.Milliseconds(), 10)
	assert.InDelta(t, 900, row.P90.Milliseconds(), 5)
	assert.InDelta(t, 990, row.P99.Milliseconds(), 1)
}

func TestOutcomes(t *testing.T) {
	notFound := status.Error(codes.NotFound, "no data")
	tests := []struct {
		name    string
		request Request
		err     error
		want    Row
	}{
		{"an answer", Request{Query: Labels}, nil, Row{Requests: 1, Answered: 1}},
		{"a range without profiles", Request{Query: Range}, notFound, Row{Requests: 1, Answered: 1, NoData: 1}},
		{"no profile to ask for", Request{Query: Timestamps}, notFound, Row{Requests: 1, Answered: 1, NoData: 1}},
		{"a profile that is gone", Request{Query: Single}, notFound, Row{Requests: 1, Errors: 1}},
		{"a merge that is not found", Request{Query: Merge}, notFound, Row{Requests: 1, Errors: 1}},
		{"a bad query", Request{Query: Range}, status.Error(codes.InvalidArgument, ""), Row{Requests: 1, Errors: 1}},
		{"no answer in time", Request{Query: Merge}, status.Error(codes.DeadlineExceeded, ""), Row{Requests: 1, Errors: 1}},
		{"an error that is not gRPC's", Request{Query: Merge}, errors.New("x"), Row{Requests: 1, Errors: 1}},
		{"an interrupted request", Request{Query: Merge}, status.Error(codes.Canceled, ""), Row{Requests: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			recorder, _ := newRecorder(t)
			recorder.Observe(tt.request, 0, tt.err)
			tt.want.Request = tt.request
			assert.Equal(t, []Row{tt.want}, recorder.ByRequest())

			failure := recorder.LastFailure()
			if tt.want.Errors == 0 {
				assert.NoError(t, failure.Err)
				return
			}
			assert.Equal(t, tt.request, failure.Request)
			assert.Equal(t, tt.err, failure.Err)
		})
	}
}

func TestRowsAreSorted(t *testing.T) {
	recorder, _ := newRecorder(t)
	sorted := []Request{
		{Query: Labels},
		{Query: Labels, Range: "15m"},
		{Query: Labels, Range: "1h"},
		{Query: Merge, Report: "pprof", Range: "15m", Labels: `{a="1"}`},
		{Query: Merge, Report: "top", Range: "15m", Labels: `{a="1"}`},
		{Query: Merge, Report: "pprof", Range: "12h", Labels: `{a="2"}`},
	}
	for i := range sorted {
		recorder.Observe(sorted[len(sorted)-1-i], time.Millisecond, nil)
	}
	var requests []Request
	for _, row := range recorder.ByRequest() {
		requests = append(requests, row.Request)
	}
	assert.Equal(t, sorted, requests)

	byQuery := recorder.ByQuery()
	require.Len(t, byQuery, 2)
	assert.Equal(t, Labels, byQuery[0].Request.Query)
	assert.EqualValues(t, 3, byQuery[0].Requests)
	assert.Equal(t, Merge, byQuery[1].Request.Query)
	assert.EqualValues(t, 3, byQuery[1].Requests)
}

func TestMetricsCountByCodeRangeAndLabels(t *testing.T) {
	recorder, registry := newRecorder(t)
	request := Request{Query: Merge, Report: "pprof", Range: "15m", Labels: `{job="a"}`}
	recorder.Observe(request, 20*time.Millisecond, nil)
	recorder.Observe(request, 40*time.Millisecond, nil)
	recorder.Observe(request, time.Second, status.Error(codes.Unavailable, "down"))

	counter := recorder.requests.WithLabelValues(Merge, "pprof", "15m", `{job="a"}`, "OK")
	assert.InDelta(t, 2, testutil.ToFloat64(counter), 0)
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	assert.Empty(t, problems)

	families, err := registry.Gather()
	require.NoError(t, err)
	histograms := map[string]*dto.Histogram{}
	for _, family := range families {
		if family.GetName() != "parca_load_request_duration_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "code" {
					histograms[label.GetValue()] = metric.GetHistogram()
				}
			}
		}
	}
	require.Len(t, histograms, 2)
	answered := histograms["OK"]
	assert.EqualValues(t, 2, answered.GetSampleCount())
	assert.InDelta(t, 0.06, answered.GetSampleSum(), 1e-9)
	assert.NotEmpty(t, answered.GetPositiveSpan(), "it is a native histogram")
	assert.NotEmpty(t, answered.GetBucket(), "and a classic one")
	assert.EqualValues(t, 1, histograms["Unavailable"].GetSampleCount())
}

func TestMetricsAreRegisteredOnce(t *testing.T) {
	_, registry := newRecorder(t)
	_, err := NewRecorder(registry)
	require.Error(t, err)
}

func TestRequestsAreNamedInOneLine(t *testing.T) {
	assert.Equal(t, `merge pprof 15m {job="a"}`,
		Request{Query: Merge, Report: "pprof", Range: "15m", Labels: `{job="a"}`}.String())
	assert.Equal(t, "labels 15m", Request{Query: Labels, Range: "15m"}.String())
}
