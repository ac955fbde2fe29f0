// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcatest

import (
	"maps"
	"slices"
	"strings"
	"time"

	storepb "github.com/parca-dev/parca/gen/proto/go/parca/profilestore/v1alpha1"
	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Answer answers a request of the query service; errors are gRPC's.
func (s *Store) Answer(request proto.Message) (proto.Message, error) {
	switch r := request.(type) {
	case *querypb.QueryRequest:
		if err := r.Validate(); err != nil {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
		return s.query(r)
	case *querypb.QueryRangeRequest:
		if err := r.Validate(); err != nil {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
		return s.queryRange(r)
	case *querypb.ProfileTypesRequest:
		return s.profileTypes(r)
	default:
		return nil, status.Errorf(codes.Internal, "parcatest: the store does not know %T", request)
	}
}

func (s *Store) query(r *querypb.QueryRequest) (proto.Message, error) {
	m := r.GetMerge()
	if m == nil || r.GetReportType() != querypb.QueryRequest_REPORT_TYPE_PPROF || len(r.GetFilter()) > 0 {
		return nil, status.Errorf(codes.Internal, "parcatest: the store only merges to pprof, without filters")
	}
	query, found, err := s.selected(m.GetQuery(), m.GetStart().AsTime(), m.GetEnd().AsTime())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, "failed to parse query")
	}
	groupBy := make([]string, 0, len(r.GetGroupBy().GetFields()))
	for _, field := range r.GetGroupBy().GetFields() {
		label, isLabel := strings.CutPrefix(field, "labels.")
		if !isLabel {
			return nil, status.Error(codes.InvalidArgument, "invalid group by field: "+field)
		}
		groupBy = append(groupBy, label)
	}
	report, err := merge(query, found, m.GetStart().AsTime(), groupBy)
	if err != nil {
		return nil, err
	}
	return &querypb.QueryResponse{Report: &querypb.QueryResponse_Pprof{Pprof: report}}, nil
}

// queryRange answers for types that are not delta. Where a bucket holds several
// profiles it keeps the oldest: the server keeps any, and a client that takes it
// for the newest is wrong.
func (s *Store) queryRange(r *querypb.QueryRangeRequest) (proto.Message, error) {
	step := r.GetStep().AsDuration()
	if step < time.Second {
		return nil, status.Error(codes.Unavailable, "parcatest: an old server would have died of this step")
	}
	query, found, err := s.selected(r.GetQuery(), r.GetStart().AsTime(), r.GetEnd().AsTime())
	switch {
	case err != nil:
		return nil, status.Error(codes.InvalidArgument, "failed to parse query")
	case query.Type.Delta:
		return nil, status.Errorf(codes.Internal, "parcatest: the store has no ranges of delta types")
	case len(found) == 0:
		return nil, status.Error(codes.NotFound, "No data found for the query, try a different query or time range or no data has been written to be queried yet.")
	}
	slices.SortStableFunc(found, func(a, b stored) int { return int(a.nanos - b.nanos) })
	response := &querypb.QueryRangeResponse{}
	series := map[string]*querypb.MetricsSeries{}
	for _, p := range found {
		set := labelSet(p.labels)
		current := series[set.String()]
		if current == nil {
			current = &querypb.MetricsSeries{Labelset: set}
			series[set.String()] = current
			response.Series = append(response.Series, current)
		}
		if n := len(current.Samples); n > 0 && current.Samples[n-1].Timestamp.AsTime().UnixNano()/int64(step) == p.nanos/int64(step) {
			current.Samples[n-1].Count++
			continue
		}
		value := int64(0)
		for _, sample := range p.profile.Sample {
			value += sample.Value[0]
		}
		current.Samples = append(current.Samples, &querypb.MetricsSample{
			Timestamp: timestamppb.New(time.Unix(0, p.nanos)), Value: value, ValuePerSecond: float64(value), Count: 1,
		})
	}
	return response, nil
}

func labelSet(labels map[string]string) *storepb.LabelSet {
	set := &storepb.LabelSet{}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		set.Labels = append(set.Labels, &storepb.Label{Name: name, Value: labels[name]})
	}
	return set
}

func (s *Store) profileTypes(r *querypb.ProfileTypesRequest) (proto.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	start, end := r.GetStart().AsTime().UnixNano(), r.GetEnd().AsTime().UnixNano()
	response := &querypb.ProfileTypesResponse{}
	seen := map[string]bool{}
	for _, p := range s.stored {
		if start != 0 && end != 0 && (p.nanos <= start || p.nanos >= end) {
			continue
		}
		t := p.kind
		if t.SampleUnit == "" || t.PeriodType == "" || t.PeriodUnit == "" {
			return nil, status.Error(codes.Unknown, "arrow/array: index out of range")
		}
		if !seen[t.String()] {
			seen[t.String()] = true
			response.Types = append(response.Types, &querypb.ProfileType{
				Name: t.Name, SampleType: t.SampleType, SampleUnit: t.SampleUnit,
				PeriodType: t.PeriodType, PeriodUnit: t.PeriodUnit, Delta: t.Delta,
			})
		}
	}
	return response, nil
}
