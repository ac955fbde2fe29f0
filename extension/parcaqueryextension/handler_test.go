// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaqueryextension

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/profiletometrics/profiletometrics/extension/parcaqueryextension/internal/profilejson"
	"github.com/profiletometrics/profiletometrics/internal/parcaapi/parcatest"
)

func TestBadRequests(t *testing.T) {
	h, server := startRecorded(t)
	good := h.url(recorded("json_stacks"))
	for _, tc := range []struct {
		name, method, target string
		status               int
		text                 []string
	}{
		{
			"no parameters", http.MethodGet, h.url(nil), http.StatusBadRequest,
			[]string{"query: missing", "start: missing", "end: missing", "reportType: missing", "give one of pprof, flamegraph_arrow, table_arrow, json_flamegraph, json_stacks"},
		},
		{"another path", http.MethodGet, strings.Replace(good, path, "/api", 1), http.StatusNotFound, []string{"ask for /parcaquery?query="}},
		{"a path below", http.MethodGet, strings.Replace(good, path, path+"/", 1), http.StatusNotFound, []string{"there is only /parcaquery"}},
		{"POST", http.MethodPost, good, http.StatusMethodNotAllowed, []string{"the method POST is not served; use GET"}},
		{"DELETE", http.MethodDelete, good, http.StatusMethodNotAllowed, []string{"use GET"}},
		{"OPTIONS", http.MethodOptions, good, http.StatusMethodNotAllowed, []string{"use GET"}},
		{"a method of the caller's own", "BREW", good, http.StatusMethodNotAllowed, []string{"use GET"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			reply := do(t, tc.method, tc.target, http.Header{})
			message := reply.failure(t, tc.status)
			for _, text := range tc.text {
				assert.Contains(t, message, text)
			}
			if tc.status == http.StatusMethodNotAllowed {
				assert.Equal(t, "GET, HEAD", reply.header.Get("Allow"))
			}
		})
	}
	assert.Empty(t, server.Requests(), "Parca is asked nothing that is wrong already")
}

// Every error of Parca has a status and says what to do.
func TestErrorsOfParca(t *testing.T) {
	for _, tc := range []struct {
		name   string
		err    error
		status int
		text   string
	}{
		{"a query that it does not understand", status.Error(codes.InvalidArgument, "failed to parse query"), http.StatusBadRequest, "failed to parse query"},
		{"nothing found", status.Error(codes.NotFound, "could not find profile"), http.StatusNotFound, "check the query and the time"},
		{"no credentials", status.Error(codes.Unauthenticated, "who?"), http.StatusBadGateway, "give credentials with auth"},
		{"not permitted", status.Error(codes.PermissionDenied, "no"), http.StatusBadGateway, "credentials of somebody who may read profiles"},
		{"a failure of its own", status.Error(codes.Unknown, "arrow/array: index out of range"), http.StatusBadGateway, "see Parca's own log"},
		{"given up by the server", status.Error(codes.Canceled, "restarting"), http.StatusBadGateway, "restarting"},
		{"unavailable", status.Error(codes.Unavailable, "draining"), http.StatusBadGateway, "check that the server runs"},
		{"too slow", status.Error(codes.DeadlineExceeded, "slow"), http.StatusGatewayTimeout, "ask for a shorter time"},
		{"hanging", status.Error(codes.Unavailable, "keepalive ping failed to receive ACK within timeout"), http.StatusGatewayTimeout, "Parca hangs, or the network does"},
		{"cut by its write timeout", status.Error(codes.Internal, "stream terminated by RST_STREAM with error code: INTERNAL_ERROR"), http.StatusGatewayTimeout, "ask for a shorter time"},
		{"too large", status.Error(codes.ResourceExhausted, "grpc: received message larger than max"), http.StatusUnprocessableEntity, "ask for a shorter time"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			address := serveParca(t, func(context.Context, *querypb.QueryRequest) (*querypb.QueryResponse, error) { return nil, tc.err })
			h := start(t, testConfig(address))
			for _, r := range reports {
				assert.Contains(t, get(t, h.url(recorded(r.name))).failure(t, tc.status), tc.text)
			}
		})
	}
}

func TestParcaUnreachable(t *testing.T) {
	h := start(t, testConfig("127.0.0.1:9")) // the discard port, which nothing listens on
	message := get(t, h.url(recorded("json_stacks"))).failure(t, http.StatusBadGateway)
	assert.Contains(t, message, "Parca cannot be reached")
	assert.Contains(t, message, "check that the server runs and that endpoint is its address")
}

func TestAnswersThatCannotBeUsed(t *testing.T) {
	pprof := func(report []byte) *querypb.QueryResponse {
		return &querypb.QueryResponse{Report: &querypb.QueryResponse_Pprof{Pprof: report}}
	}
	for _, tc := range []struct {
		name, reportType string
		response         *querypb.QueryResponse
		status           int
		text             string
	}{
		{"no report at all", "pprof", &querypb.QueryResponse{}, http.StatusBadGateway, "instead of REPORT_TYPE_PPROF"},
		{"another report", "json_stacks", &querypb.QueryResponse{Report: &querypb.QueryResponse_Top{}, Total: 5}, http.StatusBadGateway, "instead of REPORT_TYPE_PPROF; check that the server's version has this report"},
		{"no record", "table_arrow", &querypb.QueryResponse{Total: 5}, http.StatusBadGateway, "instead of REPORT_TYPE_TABLE_ARROW"},
		{"no pprof", "json_flamegraph", pprof([]byte("<html>")), http.StatusBadGateway, "Parca's answer cannot be read"},
		{"no pprof either", "pprof", pprof([]byte{0x1f, 0x8b, 1}), http.StatusBadGateway, "Parca's answer cannot be read"},
		{"an empty table", "table_arrow", &querypb.QueryResponse{Report: &querypb.QueryResponse_TableArrow{TableArrow: &querypb.TableArrow{Record: []byte("x")}}}, http.StatusNotFound, "Parca has no samples"},
		{"an empty flame graph", "flamegraph_arrow", &querypb.QueryResponse{}, http.StatusNotFound, "Parca has no samples"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			address := serveParca(t, func(context.Context, *querypb.QueryRequest) (*querypb.QueryResponse, error) { return tc.response, nil })
			h := start(t, testConfig(address))
			assert.Contains(t, get(t, h.url(recorded(tc.reportType))).failure(t, tc.status), tc.text)
		})
	}
}

// A query without any match is an empty report of Parca, whatever it missed.
func TestNothingThere(t *testing.T) {
	server, address := parcatest.Start(t)
	server.Serve(parcatest.NewStore())
	h := start(t, testConfig(address))
	for _, reportType := range []string{"pprof", "json_flamegraph", "json_stacks"} {
		assert.Equal(t, "Parca has no samples of "+recordedQuery+" from 2026-07-01T12:00:00Z to 2026-07-01T12:00:30Z; "+
			"check the profile type (profiles over a time end in :delta), the matchers and the time",
			get(t, h.url(recorded(reportType))).failure(t, http.StatusNotFound))
	}
}

func TestTooSlow(t *testing.T) {
	address := serveParca(t, func(ctx context.Context, _ *querypb.QueryRequest) (*querypb.QueryResponse, error) {
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	})
	cfg := testConfig(address)
	cfg.Timeout = 50 * time.Millisecond
	h := start(t, cfg)
	assert.Contains(t, get(t, h.url(recorded("json_stacks"))).failure(t, http.StatusGatewayTimeout), "Parca did not answer in time")
}

func TestTooLarge(t *testing.T) {
	_, address := parcatest.Start(t)
	for _, r := range reports {
		cfg := testConfig(address)
		cfg.MaxResponseSize = 1
		h := start(t, cfg)
		message := get(t, h.url(recorded(r.name, [2]string{paramQuery, queryRecordedAs(r.name)}))).failure(t, http.StatusUnprocessableEntity)
		assert.Contains(t, message, "larger than max_response_size (1 bytes); ask for a shorter time", r.name)
	}

	// What fits exactly is given.
	size := get(t, start(t, testConfig(address)).url(recorded("json_stacks"))).length
	cfg := testConfig(address)
	cfg.MaxResponseSize = size
	get(t, start(t, cfg).url(recorded("json_stacks"))).text(t)
	cfg = testConfig(address)
	cfg.MaxResponseSize = size - 1
	get(t, start(t, cfg).url(recorded("json_stacks"))).failure(t, http.StatusUnprocessableEntity)
}

func TestDocumentsThatCannotBeMade(t *testing.T) {
	for _, tc := range []struct {
		name   string
		err    error
		status int
		text   string
	}{
		{"too large", profilejson.ErrTooLarge, http.StatusUnprocessableEntity, "larger than max_response_size (7 bytes)"},
		{"too slow", context.DeadlineExceeded, http.StatusGatewayTimeout, "could not be computed in time (context deadline exceeded); ask for a shorter time, or raise timeout"},
		{"in vain", context.Canceled, statusClientGone, "canceled"},
		{"impossible", errors.New("no sample type"), http.StatusBadGateway, "cannot be used (no sample type); check Parca's version"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := documentFailed(tc.err, 7)
			assert.Equal(t, tc.status, f.status)
			assert.Contains(t, f.Error(), tc.text)
		})
	}
}

// queryRecordedAs is the query with which a report was recorded.
func queryRecordedAs(reportType string) string {
	if reportType == "table_arrow" {
		return strings.Replace(recordedQuery, "cpu:nanoseconds", "samples:count", 1)
	}
	return recordedQuery
}

func TestFurtherQueriesThanTheLimitAreRefused(t *testing.T) {
	server, address := parcatest.Start(t)
	hold := make(chan struct{})
	server.OnRequest(func(ctx context.Context, _ parcatest.Request) error {
		select {
		case <-hold:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	cfg := testConfig(address)
	cfg.MaxConcurrentQueries = 2
	h := start(t, cfg)
	target := h.url(recorded("json_stacks"))
	replies := make(chan *reply, cfg.MaxConcurrentQueries)
	for range cfg.MaxConcurrentQueries {
		go func() { replies <- send(t.Context(), http.MethodGet, target, http.Header{}) }()
	}
	eventually(t, func() bool { return len(server.Requests()) == cfg.MaxConcurrentQueries }, "both queries reach Parca")

	refusedReply := get(t, target)
	assert.Contains(t, refusedReply.failure(t, http.StatusServiceUnavailable), "2 queries are running already; try again later")
	assert.Equal(t, "1", refusedReply.header.Get("Retry-After"))
	assert.Equal(t, int64(2), h.inFlight(t))
	get(t, h.url(nil)).failure(t, http.StatusBadRequest) // a mistake is told all the same

	close(hold)
	for range cfg.MaxConcurrentQueries {
		r := <-replies
		require.NoError(t, r.err)
		r.text(t)
	}
	get(t, target).text(t) // the places are free again
}

func (h *harness) inFlight(t *testing.T) int64 {
	t.Helper()
	got, err := h.telemetry.GetMetric("otelcol_extension_parcaquery_in_flight")
	require.NoError(t, err)
	sum, ok := got.Data.(metricdata.Sum[int64])
	require.True(t, ok)
	require.Len(t, sum.DataPoints, 1)
	return sum.DataPoints[0].Value
}

func TestTelemetry(t *testing.T) {
	h, _ := startRecorded(t)
	get(t, h.url(recorded("json_stacks")))
	get(t, h.url(recorded("json_stacks")))
	get(t, h.url(recorded("pprof")))
	get(t, h.url(recorded("pprof", [2]string{paramEnd, "never"})))
	do(t, http.MethodPost, h.url(nil), http.Header{})
	// Nothing like it was recorded, which is a failure of the server.
	get(t, h.url(recorded("table_arrow", [2]string{paramEnd, "2026-07-01T12:00:29Z"})))
	want := map[[2]string]int64{
		{"200", "json_stacks"}: 2,
		{"200", "pprof"}:       1,
		{"400", "unknown"}:     1,
		{"405", "unknown"}:     1,
		{"502", "table_arrow"}: 1,
	}
	// The last is counted after its answer has been read.
	eventually(t, func() bool { return len(h.requests(t)) == len(want) }, "all requests are counted")
	assert.Equal(t, want, h.requests(t))
	assert.Zero(t, h.inFlight(t))

	got, err := h.telemetry.GetMetric("otelcol_extension_parcaquery_duration")
	require.NoError(t, err)
	durations, ok := got.Data.(metricdata.Histogram[float64])
	require.True(t, ok)
	counts := uint64(0)
	for _, p := range durations.DataPoints {
		counts += p.Count
		assert.Positive(t, p.Sum)
	}
	assert.Equal(t, uint64(6), counts)
}

func TestACallerThatDoesNotWaitEndsItsQuery(t *testing.T) {
	reached, ended := make(chan struct{}), make(chan struct{})
	address := serveParca(t, func(ctx context.Context, _ *querypb.QueryRequest) (*querypb.QueryResponse, error) {
		close(reached)
		<-ctx.Done()
		close(ended)
		return nil, status.FromContextError(ctx.Err()).Err()
	})
	h := start(t, testConfig(address))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-reached
		cancel()
	}()
	require.ErrorIs(t, send(ctx, http.MethodGet, h.url(recorded("pprof")), http.Header{}).err, context.Canceled)
	<-ended
	eventually(t, func() bool { return h.requests(t)[[2]string{"499", "pprof"}] == 1 }, "the request is counted")
	assert.Empty(t, h.logs.All())
}

// What is wrong with Parca is logged when it begins and when it ends.
func TestChangesOfStateAreLogged(t *testing.T) {
	server, address := parcatest.Start(t)
	h := start(t, testConfig(address))
	failing := errors.New("disk full")
	server.OnRequest(func(context.Context, parcatest.Request) error { return failing })
	target := h.url(recorded("pprof"))
	for range 3 {
		get(t, target).failure(t, http.StatusBadGateway)
	}
	require.Equal(t, 1, h.logs.Len())
	assert.Equal(t, "Queries fail: Parca failed (Unknown: disk full); see Parca's own log", h.logs.All()[0].Message)

	server.OnRequest(func(context.Context, parcatest.Request) error { return status.Error(codes.DeadlineExceeded, "") })
	get(t, target).failure(t, http.StatusGatewayTimeout)
	require.Equal(t, 1, h.logs.Len(), "a slow query says nothing of the server")

	server.OnRequest(func(context.Context, parcatest.Request) error { return status.Error(codes.Unauthenticated, "") })
	get(t, target).failure(t, http.StatusBadGateway)
	require.Equal(t, 2, h.logs.Len(), "another problem")

	server.OnRequest(nil)
	for range 2 {
		get(t, target).text(t)
	}
	require.Equal(t, 3, h.logs.Len())
	assert.Equal(t, "Parca answers again.", h.logs.All()[2].Message)
}
