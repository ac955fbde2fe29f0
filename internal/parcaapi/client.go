// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package parcaapi is a thin client of Parca's query service
// (parca.query.v1alpha1.QueryService): it knows how to reach the service, how a
// query selects profiles, and what a user must do about each error.
package parcaapi

import (
	"context"
	"fmt"
	"time"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configgrpc"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// MaxReceiveBytes is the largest answer the client takes. It is what a Parca
// server sends at the most; gRPC's own default, 4 MiB, is too small for real
// profiles.
const MaxReceiveBytes = 64 << 20

// Client asks one Parca server. Every error of its methods is an *Error. It is
// safe for concurrent use.
type Client struct {
	service querypb.QueryServiceClient
	close   func() error
}

// New makes a client of a connection, which stays the caller's to close.
func New(connection grpc.ClientConnInterface) *Client {
	return &Client{
		service: querypb.NewQueryServiceClient(connection),
		close:   func() error { return nil },
	}
}

// Dial makes a client; it does not wait for the server. The extensions are the
// host's, for auth and middlewares.
func Dial(
	ctx context.Context,
	cfg *configgrpc.ClientConfig,
	extensions map[component.ID]component.Component,
	settings component.TelemetrySettings,
) (*Client, error) {
	limit := grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxReceiveBytes))
	connection, err := cfg.ToClientConn(ctx, extensions, settings, configgrpc.WithGrpcDialOption(limit))
	if err != nil {
		return nil, fmt.Errorf("the connection to Parca cannot be set up: %w", err)
	}
	client := New(connection)
	client.close = connection.Close
	return client, nil
}

// Close ends the connection that Dial made, and all calls with it.
func (c *Client) Close() error { return c.close() }

// Range is a time range as Parca's MERGE and QueryRange take it: both ends are
// inclusive, to the nanosecond.
type Range struct {
	Start, End time.Time
}

// Window returns the range that holds the nanoseconds of the half-open window
// [start, end), which must not be empty.
func Window(start, end time.Time) Range {
	return Range{Start: start, End: end.Add(-time.Nanosecond)}
}

// MergeRequest asks for everything that matches a query within a range, as one
// report of the type, in which samples are told apart by the labels in groupBy.
func MergeRequest(query string, r Range, report querypb.QueryRequest_ReportType, groupBy []string) *querypb.QueryRequest {
	request := &querypb.QueryRequest{
		Mode: querypb.QueryRequest_MODE_MERGE,
		Options: &querypb.QueryRequest_Merge{Merge: &querypb.MergeProfile{
			Query: query,
			Start: timestamppb.New(r.Start),
			End:   timestamppb.New(r.End),
		}},
		ReportType: report,
	}
	if len(groupBy) > 0 {
		request.GroupBy = &querypb.GroupBy{}
		for _, label := range groupBy {
			request.GroupBy.Fields = append(request.GroupBy.Fields, "labels."+label)
		}
	}
	return request
}

// Query asks for a report.
//
// A MERGE without any match is an empty report, not an error. A SINGLE without
// one is an error of the kind NotFound. Never ask for REPORT_TYPE_SOURCE without
// a reference: it ends the server's process.
func (c *Client) Query(ctx context.Context, request *querypb.QueryRequest) (*querypb.QueryResponse, error) {
	response, err := c.service.Query(ctx, request)
	return response, classify(err)
}

// MergePprof asks for everything that matches a query within a range, as the
// gzipped pprof that Parse reads. Each sample has the labels of groupBy as
// string labels, those that its series has.
func (c *Client) MergePprof(ctx context.Context, query string, r Range, groupBy []string) ([]byte, error) {
	response, err := c.Query(ctx, MergeRequest(query, r, querypb.QueryRequest_REPORT_TYPE_PPROF, groupBy))
	if err != nil {
		return nil, err
	}
	report, ok := response.GetReport().(*querypb.QueryResponse_Pprof)
	if !ok {
		return nil, NewError(InvalidAnswer, fmt.Errorf("the answer has no pprof report but %T", response.GetReport()))
	}
	return report.Pprof, nil
}

// MinStep is the smallest step that is safe to ask QueryRange for: servers up to
// v0.24 divide by its whole seconds, and a division by zero ends their process.
const MinStep = time.Second

// QueryRange asks for the values of a query over a range, in buckets of step,
// summed by the labels in sumBy. No match is an error of the kind NotFound.
//
// For a type that is not delta the server ignores sumBy, and gives one series
// for each full label set, with one arbitrary profile for each bucket: its true
// timestamp, and in Count how many profiles the bucket holds.
func (c *Client) QueryRange(
	ctx context.Context, query string, r Range, step time.Duration, sumBy []string,
) ([]*querypb.MetricsSeries, error) {
	response, err := c.service.QueryRange(ctx, &querypb.QueryRangeRequest{
		Query: query,
		Start: timestamppb.New(r.Start),
		End:   timestamppb.New(r.End),
		Step:  durationpb.New(max(step, MinStep)),
		SumBy: sumBy,
	})
	return response.GetSeries(), classify(err)
}

// ProfileTypes asks which profile types have data strictly between the ends of
// the range; the zero Range asks for all. One profile with an empty type or unit
// makes the server fail for every range that it lies in (an error of the kind
// ServerFailed), while all other calls go on.
func (c *Client) ProfileTypes(ctx context.Context, r Range) ([]ProfileType, error) {
	start, end := r.bounds()
	response, err := c.service.ProfileTypes(ctx, &querypb.ProfileTypesRequest{Start: start, End: end})
	if err != nil {
		return nil, classify(err)
	}
	types := make([]ProfileType, 0, len(response.GetTypes()))
	for _, t := range response.GetTypes() {
		types = append(types, ProfileType{
			Name:       t.GetName(),
			SampleType: t.GetSampleType(), SampleUnit: t.GetSampleUnit(),
			PeriodType: t.GetPeriodType(), PeriodUnit: t.GetPeriodUnit(),
			Delta: t.GetDelta(),
		})
	}
	return types, nil
}

// Labels asks for the names of the labels that profiles have strictly between the
// ends of the range, of one profile type or, if that is empty, of all. The zero
// Range asks for all times.
func (c *Client) Labels(ctx context.Context, r Range, profileType string) ([]string, error) {
	start, end := r.bounds()
	response, err := c.service.Labels(ctx, &querypb.LabelsRequest{
		Start: start, End: end, ProfileType: optional(profileType),
	})
	return response.GetLabelNames(), classify(err)
}

// Values asks for the values of a label; for the rest it is as Labels.
func (c *Client) Values(ctx context.Context, r Range, label, profileType string) ([]string, error) {
	start, end := r.bounds()
	response, err := c.service.Values(ctx, &querypb.ValuesRequest{
		LabelName: label, Start: start, End: end, ProfileType: optional(profileType),
	})
	return response.GetLabelValues(), classify(err)
}

// bounds are the ends of the range, or nothing if it is the zero Range.
func (r Range) bounds() (start, end *timestamppb.Timestamp) {
	if r.Start.IsZero() || r.End.IsZero() {
		return nil, nil
	}
	return timestamppb.New(r.Start), timestamppb.New(r.End)
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
