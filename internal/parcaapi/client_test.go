// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaapi_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
	"github.com/profiletometrics/profiletometrics/internal/parcaapi/parcatest"
)

const ofA = `{job="fix",instance="a:1"}`

func dial(t *testing.T, address string) *parcaapi.Client {
	t.Helper()
	cfg := configgrpc.NewDefaultClientConfig()
	cfg.Endpoint = address
	cfg.TLS.Insecure = true
	return dialConfig(t, &cfg)
}

func dialConfig(t *testing.T, cfg *configgrpc.ClientConfig) *parcaapi.Client {
	t.Helper()
	client, err := parcaapi.Dial(t.Context(), cfg, nil, componenttest.NewNopTelemetrySettings())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

func seconds(n int) time.Time { return parcatest.T0.Add(time.Duration(n) * time.Second) }

func TestAMergeIsAPprofReport(t *testing.T) {
	_, address := parcatest.Start(t)
	window := parcaapi.Window(seconds(10), seconds(20)) // of the profiles at T1 and T2 it has the first
	report, err := dial(t, address).MergePprof(t.Context(), cpuType+ofA, window, nil)
	require.NoError(t, err)
	p, err := parcaapi.ParsePprof(report)
	require.NoError(t, err)
	total := int64(0)
	for _, sample := range p.Sample {
		total += sample.Value[0]
	}
	assert.Equal(t, int64(2_000_000_000), total)
}

func TestAMergeIsGroupedByLabels(t *testing.T) {
	_, address := parcatest.Start(t)
	closed := parcaapi.Range{Start: seconds(0), End: seconds(30)}
	report, err := dial(t, address).MergePprof(t.Context(), cpuType+`{job="fix"}`, closed, []string{"instance"})
	require.NoError(t, err)
	p, err := parcaapi.ParsePprof(report)
	require.NoError(t, err)
	totals := map[string]int64{}
	for _, sample := range p.Sample {
		totals[sample.Label["instance"][0]] += sample.Value[0]
	}
	assert.Equal(t, map[string]int64{"a:1": 10_000_000_000, "b:1": 100_000_000_000}, totals)
}

func TestARangeOfSnapshotsHasTheirTimes(t *testing.T) {
	_, address := parcatest.Start(t)
	series, err := dial(t, address).QueryRange(t.Context(), "memory:inuse_space:bytes:space:bytes"+ofA,
		parcaapi.Range{Start: seconds(0), End: seconds(30)}, 10*time.Second, nil)
	require.NoError(t, err)
	require.Len(t, series, 1)
	var times []time.Duration
	for _, sample := range series[0].GetSamples() {
		times = append(times, sample.GetTimestamp().AsTime().Sub(parcatest.T0))
	}
	half := 500 * time.Microsecond
	assert.Equal(t, []time.Duration{half, 10*time.Second + half, 20*time.Second + half}, times)
}

func TestNoStepIsSentThatEndsAnOldServer(t *testing.T) {
	server, address := parcatest.Start(t)
	_, err := dial(t, address).QueryRange(t.Context(), cpuType, parcaapi.Range{Start: seconds(0), End: seconds(1)}, 1, nil)
	require.Error(t, err) // nothing of the kind was recorded
	step := server.Requests()[0].Message.(*querypb.QueryRangeRequest).GetStep().AsDuration()
	assert.Equal(t, time.Second, step)
}

func TestTypesLabelsAndValuesAreListed(t *testing.T) {
	_, address := parcatest.Start(t)
	client := dial(t, address)
	types, err := client.ProfileTypes(t.Context(), parcaapi.Range{})
	require.NoError(t, err)
	var names []string
	for _, profileType := range types {
		names = append(names, profileType.String())
	}
	assert.ElementsMatch(t, []string{
		"memory:alloc_objects:count:space:bytes", "memory:alloc_space:bytes:space:bytes",
		"memory:inuse_objects:count:space:bytes", "memory:inuse_space:bytes:space:bytes",
		cpuType, "process_cpu:samples:count:cpu:nanoseconds:delta",
	}, names)
	inRange, err := client.ProfileTypes(t.Context(), parcaapi.Range{Start: seconds(0).Add(-1), End: seconds(0).Add(1)})
	require.NoError(t, err)
	assert.Len(t, inRange, 2)

	labels, err := client.Labels(t.Context(), parcaapi.Range{}, "process_cpu:samples:count:cpu:nanoseconds:delta")
	require.NoError(t, err)
	assert.Equal(t, []string{"env", "instance", "job"}, labels)
	values, err := client.Values(t.Context(), parcaapi.Range{}, "instance", "")
	require.NoError(t, err)
	assert.Equal(t, []string{"a:1", "b:1"}, values)
}

func TestErrorsSayWhatToDo(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		kind parcaapi.Kind
		says string
	}{
		{"the server is gone", status.Error(codes.Unavailable, "EOF"), parcaapi.Unreachable, "check that the server runs"},
		{"no credentials", status.Error(codes.Unauthenticated, "token s3cret is bad"), parcaapi.Unauthenticated, "bearertokenauth"},
		{"too few permissions", status.Error(codes.PermissionDenied, "token s3cret"), parcaapi.PermissionDenied, "who may read"},
		{"a query it cannot read", status.Error(codes.InvalidArgument, "failed to parse query"), parcaapi.InvalidQuery, "check the query's matchers"},
		{"a type that is none", status.Error(codes.InvalidArgument, "profile-type selection must be of the form"), parcaapi.ImpossibleType, "name:sample_type"},
		{"the server is too slow", status.Error(codes.DeadlineExceeded, "x"), parcaapi.Timeout, "a shorter time"},
		{"the server cuts the call", status.Error(codes.Internal, "stream terminated by RST_STREAM with error code: INTERNAL_ERROR"), parcaapi.Timeout, "a shorter time"},
		{"a large answer", status.Error(codes.ResourceExhausted, "larger than max"), parcaapi.TooLarge, "select less"},
		{"no profile", status.Error(codes.NotFound, "x"), parcaapi.NotFound, "check the query and the time"},
		{"another service", status.Error(codes.Unimplemented, "unknown service"), parcaapi.NotParca, "7070"},
		{"a failing store", status.Error(codes.Unknown, "arrow/array: index\n out of range"), parcaapi.ServerFailed, "arrow/array: index out of range"},
		{"a proxy that quotes the header", status.Error(codes.Unknown, `bad header "authorization: Bearer s3cret"`), parcaapi.ServerFailed, "Bearer [redacted]"},
		{"a panic", status.Error(codes.Internal, "x"), parcaapi.ServerFailed, "Parca's own log"},
		{"data loss", status.Error(codes.DataLoss, "x"), parcaapi.ServerFailed, "Parca's own log"},
		{"the caller gave up", status.Error(codes.Canceled, "x"), parcaapi.Canceled, "given up"},
		{"a long story", status.Error(codes.Unknown, strings.Repeat("é", 1000)), parcaapi.ServerFailed, "é…"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server, address := parcatest.Start(t)
			server.OnRequest(func(context.Context, parcatest.Request) error { return tc.err })
			_, err := dial(t, address).MergePprof(t.Context(), cpuType, parcaapi.Window(seconds(0), seconds(1)), nil)
			require.ErrorContains(t, err, tc.says)
			assert.Equal(t, tc.kind, parcaapi.KindOf(err))
			assert.NotContains(t, err.Error(), "s3cret")
			assert.NotContains(t, err.Error(), "\n")
			assert.Less(t, len(err.Error()), 700)
		})
	}
}

func TestWrongServersAreRecognized(t *testing.T) {
	page := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html>"))
	}))
	page.Config.Protocols = new(http.Protocols)
	page.Config.Protocols.SetUnencryptedHTTP2(true)
	page.Start()
	t.Cleanup(page.Close)
	_, plaintext := parcatest.Start(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	for _, tc := range []struct {
		name, address string
		insecure      bool
		kind          parcaapi.Kind
	}{
		{"nobody listens", closed.Addr().String(), true, parcaapi.Unreachable},
		{"a web page", page.Listener.Addr().String(), true, parcaapi.NotParca},
		{"TLS to a server without", plaintext, false, parcaapi.TLSMismatch},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := configgrpc.NewDefaultClientConfig()
			cfg.Endpoint = tc.address
			cfg.TLS.Insecure = tc.insecure
			_, err := dialConfig(t, &cfg).ProfileTypes(t.Context(), parcaapi.Range{})
			require.Error(t, err)
			assert.Equal(t, tc.kind, parcaapi.KindOf(err), "%v", err)
		})
	}
}

func TestADeadlineIsATimeout(t *testing.T) {
	server, address := parcatest.Start(t)
	server.OnRequest(func(ctx context.Context, _ parcatest.Request) error {
		<-ctx.Done()
		return ctx.Err()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := dial(t, address).ProfileTypes(ctx, parcaapi.Range{})
	assert.Equal(t, parcaapi.Timeout, parcaapi.KindOf(err), "%v", err)
	assert.True(t, parcaapi.Timeout.Retryable())
	assert.True(t, parcaapi.Timeout.Smaller())
}

func serve(t *testing.T, server querypb.QueryServiceServer) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	service := grpc.NewServer(grpc.MaxSendMsgSize(2 * parcaapi.MaxReceiveBytes))
	querypb.RegisterQueryServiceServer(service, server)
	go func() { _ = service.Serve(listener) }() // it ends with Stop
	t.Cleanup(service.Stop)
	return listener.Addr().String()
}

// largeServer answers with a report of a size.
type largeServer struct {
	querypb.UnimplementedQueryServiceServer
	size int
}

func (s *largeServer) Query(context.Context, *querypb.QueryRequest) (*querypb.QueryResponse, error) {
	return &querypb.QueryResponse{Report: &querypb.QueryResponse_Pprof{Pprof: make([]byte, s.size)}}, nil
}

func TestAnswersAreTakenUpToWhatAParcaSends(t *testing.T) {
	server := &largeServer{}
	client := dial(t, serve(t, server))

	server.size = parcaapi.MaxReceiveBytes - 100
	report, err := client.MergePprof(t.Context(), cpuType, parcaapi.Window(seconds(0), seconds(1)), nil)
	require.NoError(t, err)
	assert.Len(t, report, server.size)

	server.size = parcaapi.MaxReceiveBytes
	_, err = client.MergePprof(t.Context(), cpuType, parcaapi.Window(seconds(0), seconds(1)), nil)
	assert.Equal(t, parcaapi.TooLarge, parcaapi.KindOf(err), "%v", err)
}

func TestAReportOfAnotherKindIsNoPprof(t *testing.T) {
	_, err := dial(t, serve(t, &topServer{})).MergePprof(t.Context(), cpuType, parcaapi.Window(seconds(0), seconds(1)), nil)
	require.ErrorContains(t, err, "no pprof report")
	assert.Equal(t, parcaapi.InvalidAnswer, parcaapi.KindOf(err))
}

// topServer answers with another report than was asked for.
type topServer struct {
	querypb.UnimplementedQueryServiceServer
}

func (*topServer) Query(context.Context, *querypb.QueryRequest) (*querypb.QueryResponse, error) {
	return &querypb.QueryResponse{Report: &querypb.QueryResponse_Top{}}, nil
}
