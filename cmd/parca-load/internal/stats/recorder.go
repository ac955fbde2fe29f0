// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/status"
)

// bucketFactor is the largest ratio of neighboring bounds in the native histogram: quantiles that
// are computed from it are right to within 10 %.
const bucketFactor = 1.1

// labelNames are the labels of the metrics, in the order of [Recorder.Observe].
var labelNames = []string{"query", "report", "range", "labels", "code"}

// Recorder counts requests. It is safe for concurrent use.
type Recorder struct {
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec

	mu      sync.Mutex
	total   *aggregate
	queries map[string]*aggregate
	details map[Request]*aggregate
	failure Failure
}

// Failure is the newest request that failed.
type Failure struct {
	// Request is what was asked for.
	Request Request

	// Err is a gRPC status error; nil if no request failed.
	Err error

	// Time is when the answer came.
	Time time.Time
}

// NewRecorder registers the metrics parca_load_requests_total and
// parca_load_request_duration_seconds.
func NewRecorder(registerer prometheus.Registerer) (*Recorder, error) {
	r := &Recorder{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parca_load_requests_total",
			Help: "Requests to Parca that have ended, by what was asked for and the gRPC status code.",
		}, labelNames),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "parca_load_request_duration_seconds",
			Help: "Time from sending a request to Parca to having read the whole answer.",
			// Classic buckets too, for servers that do not scrape native histograms.
			Buckets:                        []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
			NativeHistogramBucketFactor:    bucketFactor,
			NativeHistogramMaxBucketNumber: 160,
		}, labelNames),
		total:   newAggregate(),
		queries: map[string]*aggregate{},
		details: map[Request]*aggregate{},
	}
	for _, collector := range []prometheus.Collector{r.requests, r.durations} {
		if err := registerer.Register(collector); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Observe records a request that has ended, with a gRPC status error or nil.
func (r *Recorder) Observe(request Request, took time.Duration, err error) {
	labels := []string{request.Query, request.Report, request.Range, request.Labels, status.Code(err).String()}
	r.requests.WithLabelValues(labels...).Inc()
	r.durations.WithLabelValues(labels...).Observe(took.Seconds())

	result := request.outcomeOf(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total.add(result, took)
	aggregateOf(r.queries, request.Query).add(result, took)
	aggregateOf(r.details, request).add(result, took)
	if result == failed {
		r.failure = Failure{Request: request, Err: err, Time: time.Now()}
	}
}

// Total returns the row of all requests.
func (r *Recorder) Total() Row {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total.row(Request{Query: "total"})
}

// ByQuery returns a row for each kind of query, sorted.
func (r *Recorder) ByQuery() []Row {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := make([]Row, 0, len(r.queries))
	for query, one := range r.queries {
		rows = append(rows, one.row(Request{Query: query}))
	}
	return sorted(rows)
}

// ByRequest returns a row for each distinct request, sorted.
func (r *Recorder) ByRequest() []Row {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := make([]Row, 0, len(r.details))
	for request, one := range r.details {
		rows = append(rows, one.row(request))
	}
	return sorted(rows)
}

// LastFailure returns the newest request that failed.
func (r *Recorder) LastFailure() Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

func sorted(rows []Row) []Row {
	slices.SortFunc(rows, func(a, b Row) int { return a.Request.compare(b.Request) })
	return rows
}

func aggregateOf[K comparable](aggregates map[K]*aggregate, key K) *aggregate {
	one, ok := aggregates[key]
	if !ok {
		one = newAggregate()
		aggregates[key] = one
	}
	return one
}
