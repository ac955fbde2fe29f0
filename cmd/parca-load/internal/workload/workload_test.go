// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/profiletometrics/profiletometrics/cmd/parca-load/internal/stats"
	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

const (
	cpu  = "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"
	heap = "memory:inuse_space:bytes:space:bytes"
)

var heapType = parcaapi.ProfileType{
	Name: "memory", SampleType: "inuse_space", SampleUnit: "bytes", PeriodType: "space", PeriodUnit: "bytes",
}

var taken = time.Date(2026, 7, 1, 12, 0, 0, 5_000_000, time.UTC)

// server is a Parca server without a network. It keeps what it is asked.
type server struct {
	querypb.QueryServiceClient
	// typesIgnoreTime is how servers up to v0.24 are.
	typesIgnoreTime bool
	typesErr        error
	// block makes reports wait until their request ends.
	block bool

	mu      sync.Mutex
	ranges  []*querypb.QueryRangeRequest
	queries []*querypb.QueryRequest
	values  []string
	blocked chan struct{}
}

func (s *server) ProfileTypes(
	_ context.Context, in *querypb.ProfileTypesRequest, _ ...grpc.CallOption,
) (*querypb.ProfileTypesResponse, error) {
	if s.typesErr != nil {
		return nil, s.typesErr
	}
	if !s.typesIgnoreTime && in.GetEnd().AsTime().Before(taken) {
		return &querypb.ProfileTypesResponse{}, nil
	}
	return &querypb.ProfileTypesResponse{Types: []*querypb.ProfileType{
		{Name: "process_cpu", SampleType: "cpu", SampleUnit: "nanoseconds", PeriodType: "cpu", PeriodUnit: "nanoseconds", Delta: true},
		{Name: "memory", SampleType: "inuse_space", SampleUnit: "bytes", PeriodType: "space", PeriodUnit: "bytes"},
	}}, nil
}

func (*server) Labels(context.Context, *querypb.LabelsRequest, ...grpc.CallOption) (*querypb.LabelsResponse, error) {
	return &querypb.LabelsResponse{LabelNames: []string{"job", "instance"}}, nil
}

func (s *server) Values(_ context.Context, in *querypb.ValuesRequest, _ ...grpc.CallOption) (*querypb.ValuesResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = append(s.values, in.GetLabelName())
	return &querypb.ValuesResponse{}, nil
}

func (s *server) QueryRange(
	_ context.Context, in *querypb.QueryRangeRequest, _ ...grpc.CallOption,
) (*querypb.QueryRangeResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ranges = append(s.ranges, in)
	return &querypb.QueryRangeResponse{Series: []*querypb.MetricsSeries{
		{Samples: []*querypb.MetricsSample{{Timestamp: timestamppb.New(taken)}}},
	}}, nil
}

func (s *server) Query(ctx context.Context, in *querypb.QueryRequest, _ ...grpc.CallOption) (*querypb.QueryResponse, error) {
	s.mu.Lock()
	s.queries = append(s.queries, in)
	s.mu.Unlock()
	if s.block {
		s.blocked <- struct{}{}
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return &querypb.QueryResponse{}, nil
}

// observed keeps what it is told.
type observed struct {
	mu       sync.Mutex
	requests map[stats.Request][]codes.Code
}

func (o *observed) Observe(request stats.Request, _ time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.requests == nil {
		o.requests = map[stats.Request][]codes.Code{}
	}
	o.requests[request] = append(o.requests[request], status.Code(err))
}

var defaults = Config{
	Interval: time.Millisecond,
	Ranges:   []Range{{"1h", time.Hour}, {"15m", 15 * time.Minute}},
	Selectors: []Selector{
		{Name: "{}"},
		{Name: `{job="a"}`, Matchers: []parcaapi.Matcher{{Label: "job", Operator: "=", Value: "a"}}},
	},
}

// rounds runs so many rounds of every kind, one after the other.
func rounds(t *testing.T, config Config, s *server, n int) *observed {
	t.Helper()
	o := &observed{}
	w := New(config, s, o)
	for number := range n {
		r := &round{ctx: t.Context(), number: number}
		w.metadata(r)
		w.series(r)
		w.singleProfiles(r)
		w.mergedProfiles(r)
	}
	return o
}

func TestEveryReportOfEveryRangeAndSelectorIsAskedFor(t *testing.T) {
	s := &server{}
	o := rounds(t, defaults, s, 1)

	want := map[stats.Request]int{
		{Query: stats.ProfileTypes}:               1, // which servers take short steps
		{Query: stats.ProfileTypes, Range: "1h"}:  1,
		{Query: stats.ProfileTypes, Range: "15m"}: 1,
		{Query: stats.Labels, Range: "1h"}:        1,
		{Query: stats.Labels, Range: "15m"}:       1,
		{Query: stats.Values, Range: "1h"}:        2, // two labels
		{Query: stats.Values, Range: "15m"}:       2,
	}
	for _, selector := range defaults.Selectors {
		want[stats.Request{Query: stats.Timestamps, Range: "15m", Labels: selector.Name}] = 1
		for _, one := range defaults.Ranges {
			want[stats.Request{Query: stats.Range, Range: one.Name, Labels: selector.Name}] = 1
		}
		for _, report := range []string{
			"pprof", "flamegraph_arrow", "table_arrow", "flamegraph", "flamegraph_table", "top", "profile_metadata",
		} {
			want[stats.Request{Query: stats.Single, Report: report, Range: "15m", Labels: selector.Name}] = 1
			for _, one := range defaults.Ranges {
				want[stats.Request{Query: stats.Merge, Report: report, Range: one.Name, Labels: selector.Name}] = 1
			}
		}
	}
	got := map[stats.Request]int{}
	for request, results := range o.requests {
		got[request] = len(results)
	}
	assert.Equal(t, want, got)
}

func TestRequestsAreValidAndHarmless(t *testing.T) {
	s := &server{}
	rounds(t, defaults, s, 4)
	require.NotEmpty(t, s.queries)
	for _, request := range s.queries {
		require.NoError(t, request.Validate())
		assert.NotContains(t, []querypb.QueryRequest_ReportType{
			querypb.QueryRequest_REPORT_TYPE_SOURCE,
			querypb.QueryRequest_REPORT_TYPE_CALLGRAPH,
			querypb.QueryRequest_REPORT_TYPE_FLAMECHART,
		}, request.GetReportType())
		if single := request.GetSingle(); single != nil {
			assert.Equal(t, taken, single.GetTime().AsTime(), "a profile that the server has named")
		}
	}
	for _, request := range s.ranges {
		require.NoError(t, request.Validate())
		assert.Positive(t, request.GetStep().AsDuration())
	}
}

func TestRoundsTakeTurnsAmongTheServersTypes(t *testing.T) {
	s := &server{}
	rounds(t, defaults, s, 2)
	merged := map[string]int{}
	for _, request := range s.queries {
		if merge := request.GetMerge(); merge != nil {
			merged[merge.GetQuery()]++
		}
	}
	assert.Equal(t, map[string]int{
		cpu: 14, cpu + `{job="a"}`: 14, heap: 14, heap + `{job="a"}`: 14,
	}, merged)
}

func TestWhatTheUserNamesIsAskedFor(t *testing.T) {
	config := defaults
	config.Types = []parcaapi.ProfileType{heapType}
	config.ValuesFor = []string{"pod"}
	// Parca fails so when there is one profile without a unit.
	s := &server{typesErr: status.Error(codes.Unknown, "arrow/array: index out of range")}
	rounds(t, config, s, 1)
	assert.Equal(t, []string{"pod", "pod"}, s.values)
	require.NotEmpty(t, s.queries)
	for _, request := range s.ranges {
		assert.True(t, strings.HasPrefix(request.GetQuery(), heap), request.GetQuery())
	}
}

func TestServersUpTo024AreNotAskedForStepsThatEndThem(t *testing.T) {
	s := &server{typesIgnoreTime: true}
	rounds(t, defaults, s, 2)
	for _, request := range s.ranges {
		assert.GreaterOrEqual(t, request.GetStep().AsDuration(), time.Second)
	}
	for _, request := range s.queries {
		if single := request.GetSingle(); single != nil {
			assert.True(t, strings.HasPrefix(single.GetQuery(), heap), "only of snapshots the exact time is known")
		}
	}
}

func TestNewerServersTellWhenAnIncrementWasTaken(t *testing.T) {
	s := &server{}
	rounds(t, defaults, s, 2)
	assert.True(t, slices.ContainsFunc(s.ranges, func(request *querypb.QueryRangeRequest) bool {
		return strings.HasPrefix(request.GetQuery(), cpu) && request.GetStep().AsDuration() == time.Millisecond
	}))
	assert.True(t, slices.ContainsFunc(s.queries, func(request *querypb.QueryRequest) bool {
		return strings.HasPrefix(request.GetSingle().GetQuery(), cpu)
	}))
}

func TestStopLetsTheRequestUnderWayEnd(t *testing.T) {
	config := defaults
	config.Timeout = 50 * time.Millisecond
	s := &server{block: true, blocked: make(chan struct{}, 1)}
	o := &observed{}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		New(config, s, o).Run(t.Context(), stop)
	}()
	<-s.blocked
	close(stop)
	select {
	case <-done:
	case <-s.blocked: // the other kind of profiles may have been asked for, too
		<-done
	}
	results := 0
	for request, codesOf := range o.requests {
		if request.Report == "" {
			continue
		}
		for _, code := range codesOf {
			assert.Equal(t, codes.DeadlineExceeded, code)
			results++
		}
	}
	assert.Len(t, s.queries, results, "each was waited for")
}

func TestCancelingEndsRequestsAtOnce(t *testing.T) {
	s := &server{block: true, blocked: make(chan struct{}, 2)}
	o := &observed{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		New(defaults, s, o).Run(ctx, nil)
	}()
	<-s.blocked
	cancel()
	<-done
	for request, results := range o.requests {
		if request.Report != "" {
			assert.Equal(t, []codes.Code{codes.Canceled}, results)
		}
	}
}

func TestNothingIsAskedAboutAServerWithoutProfiles(t *testing.T) {
	s := &server{typesErr: status.Error(codes.Unavailable, "down")}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	o := &observed{}
	New(defaults, s, o).Run(ctx, nil)
	assert.Empty(t, s.queries)
	assert.Empty(t, s.ranges)
	assert.NotEmpty(t, o.requests)
}
