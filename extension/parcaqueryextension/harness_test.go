// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaqueryextension

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"

	"github.com/profiletometrics/profiletometrics/extension/parcaqueryextension/internal/metadatatest"
	"github.com/profiletometrics/profiletometrics/internal/parcaapi/parcatest"
)

// patience is how long a test waits for what must come: machines can be slow.
const patience = time.Minute

// What was recorded of instance a:1 from T0 to T3, which is 10 s of CPU time.
const (
	recordedQuery = `process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{job="fix",instance="a:1"}`
	recordedStart = "2026-07-01T12:00:00Z"
	recordedEnd   = "2026-07-01T12:00:30Z"
)

// harness is a running extension and everything it says.
type harness struct {
	*parcaQuery
	logs      *observer.ObservedLogs
	telemetry *componenttest.Telemetry
}

// testConfig asks the Parca server at an address.
func testConfig(parca string) *Config {
	cfg := newDefaultConfig()
	cfg.Server.NetAddr.Endpoint = "127.0.0.1:0"
	cfg.Parca.Endpoint = parca
	cfg.Parca.TLS.Insecure = true
	cfg.Timeout = patience
	return cfg
}

// start runs an extension until the test ends.
func start(t *testing.T, cfg *Config) *harness {
	t.Helper()
	return startOn(t, cfg, componenttest.NewNopHost())
}

func startOn(t *testing.T, cfg *Config, host component.Host) *harness {
	t.Helper()
	h := &harness{telemetry: componenttest.NewTelemetry()}
	core, logs := observer.New(zapcore.DebugLevel)
	h.logs = logs
	settings := metadatatest.NewSettings(h.telemetry)
	settings.Logger = zap.New(core)
	var err error
	h.parcaQuery, err = newExtension(cfg, settings)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, h.Shutdown(context.Background()))
		require.NoError(t, h.telemetry.Shutdown(context.Background()))
		http.DefaultClient.CloseIdleConnections()
	})
	require.NoError(t, h.Start(context.Background(), host))
	return h
}

// startRecorded runs an extension against a server that answers as recorded.
func startRecorded(t *testing.T) (*harness, *parcatest.Server) {
	t.Helper()
	server, address := parcatest.Start(t)
	return start(t, testConfig(address)), server
}

// parcaFunc is a Parca server that answers queries with a function.
type parcaFunc func(context.Context, *querypb.QueryRequest) (*querypb.QueryResponse, error)

type parcaServer struct {
	querypb.UnimplementedQueryServiceServer
	answer parcaFunc
}

func (s *parcaServer) Query(ctx context.Context, r *querypb.QueryRequest) (*querypb.QueryResponse, error) {
	return s.answer(ctx, r)
}

// serveParca starts such a server and returns its address.
func serveParca(t *testing.T, answer parcaFunc) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	querypb.RegisterQueryServiceServer(server, &parcaServer{answer: answer})
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-done)
	})
	return listener.Addr().String()
}

// url is that of a request with these parameters; nil takes one away.
func (h *harness) url(parameters map[string][]string) string {
	values := url.Values{}
	for name, value := range parameters {
		values[name] = value
	}
	return "http://" + h.server.Address().String() + path + "?" + values.Encode()
}

// recorded are the parameters of what was recorded, with some of them changed.
func recorded(reportType string, changes ...[2]string) map[string][]string {
	parameters := map[string][]string{
		paramQuery: {recordedQuery}, paramStart: {recordedStart}, paramEnd: {recordedEnd}, paramReportType: {reportType},
	}
	for _, change := range changes {
		parameters[change[0]] = []string{change[1]}
	}
	return parameters
}

// reply is an answer that was read to the end.
type reply struct {
	status int
	header http.Header
	body   []byte
	length int64
	err    error
}

func do(t *testing.T, method, target string, header http.Header) *reply {
	t.Helper()
	r := send(t.Context(), method, target, header)
	require.NoError(t, r.err)
	return r
}

// send is do for goroutines.
func send(ctx context.Context, method, target string, header http.Header) *reply {
	request, err := http.NewRequestWithContext(ctx, method, target, http.NoBody)
	if err != nil {
		return &reply{err: err}
	}
	request.Header = header.Clone()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return &reply{err: err}
	}
	body, err := io.ReadAll(response.Body)
	return &reply{
		status: response.StatusCode, header: response.Header, body: body, length: response.ContentLength,
		err: errors.Join(err, response.Body.Close()),
	}
}

func get(t *testing.T, target string) *reply {
	t.Helper()
	return do(t, http.MethodGet, target, http.Header{})
}

// text returns the body of an answer that must be JSON with status 200.
func (r *reply) text(t *testing.T) string {
	t.Helper()
	require.Equal(t, http.StatusOK, r.status, string(r.body))
	r.requireType(t, contentTypeJSON)
	assert.Equal(t, int64(len(r.body)), r.length)
	return string(r.body)
}

func (r *reply) requireType(t *testing.T, want string) {
	t.Helper()
	require.Equal(t, want, r.header.Get("Content-Type"))
}

// failure returns what an answer says that must be an error of this status.
func (r *reply) failure(t *testing.T, status int) string {
	t.Helper()
	require.Equal(t, status, r.status, string(r.body))
	r.requireType(t, contentTypeJSON)
	var body map[string]string
	require.NoError(t, json.Unmarshal(r.body, &body), string(r.body))
	require.Len(t, body, 1)
	require.NotEmpty(t, body["error"])
	return body["error"]
}

// requests returns the counter of requests, by code and report type.
func (h *harness) requests(t *testing.T) map[[2]string]int64 {
	t.Helper()
	counts := map[[2]string]int64{}
	got, err := h.telemetry.GetMetric("otelcol_extension_parcaquery_requests")
	if err != nil {
		return counts // nothing was counted yet
	}
	sum, ok := got.Data.(metricdata.Sum[int64])
	require.True(t, ok)
	for _, p := range sum.DataPoints {
		code, _ := p.Attributes.Value("code")
		reportType, _ := p.Attributes.Value("report_type")
		assert.Equal(t, attribute.INT64, code.Type())
		counts[[2]string{code.String(), reportType.AsString()}] += p.Value
	}
	return counts
}

func eventually(t *testing.T, condition func() bool, what string) {
	t.Helper()
	require.Eventually(t, condition, patience, 5*time.Millisecond, what)
}
