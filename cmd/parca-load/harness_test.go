// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi/parcatest"
)

// runAsProgram is set in the environment of a process that is to be parca-load itself.
const runAsProgram = "PARCA_LOAD_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(runAsProgram) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// replay answers each request with what a real server answered to the like of it: to the same
// method, in the same mode, with a report of the same type. It counts what it is asked.
type replay struct {
	querypb.UnimplementedQueryServiceServer
	recorded []parcatest.Exchange
	// hook is called first; its error is the answer.
	hook func(ctx context.Context, method string) error

	mu    sync.Mutex
	calls map[string]int
}

func newReplay(t *testing.T, hook func(ctx context.Context, method string) error) *replay {
	t.Helper()
	return &replay{recorded: parcatest.Recorded(t), hook: hook, calls: map[string]int{}}
}

func startReplay(t *testing.T, hook func(ctx context.Context, method string) error) (server *replay, address string) {
	t.Helper()
	server = newReplay(t, hook)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	service := grpc.NewServer()
	querypb.RegisterQueryServiceServer(service, server)
	ended := make(chan error, 1)
	go func() { ended <- service.Serve(listener) }()
	t.Cleanup(func() {
		service.Stop()
		require.NoError(t, <-ended)
	})
	return server, listener.Addr().String()
}

func (s *replay) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// answer fills the response, or returns an error.
func (s *replay) answer(ctx context.Context, method string, response proto.Message, like func(proto.Message) bool) error {
	s.mu.Lock()
	s.calls[method]++
	s.mu.Unlock()
	if s.hook != nil {
		if err := s.hook(ctx, method); err != nil {
			return err
		}
	}
	for _, exchange := range s.recorded {
		if exchange.Method == method && exchange.Err == nil && like(exchange.Request) {
			proto.Merge(response, exchange.Response)
			return nil
		}
	}
	return status.Errorf(codes.Internal, "nothing like it is recorded of %s", method)
}

func anyRequest(proto.Message) bool { return true }

func (s *replay) ProfileTypes(ctx context.Context, in *querypb.ProfileTypesRequest) (*querypb.ProfileTypesResponse, error) {
	out := &querypb.ProfileTypesResponse{}
	if in.GetEnd().AsTime().Year() == 1970 {
		return out, s.answer(ctx, "ProfileTypes", out, func(recorded proto.Message) bool {
			asked := recorded.(*querypb.ProfileTypesRequest)
			return asked.GetStart() != nil && proto.Equal(asked.GetStart(), asked.GetEnd())
		})
	}
	return out, s.answer(ctx, "ProfileTypes", out, anyRequest)
}

func (s *replay) Labels(ctx context.Context, _ *querypb.LabelsRequest) (*querypb.LabelsResponse, error) {
	out := &querypb.LabelsResponse{}
	return out, s.answer(ctx, "Labels", out, anyRequest)
}

func (s *replay) Values(ctx context.Context, _ *querypb.ValuesRequest) (*querypb.ValuesResponse, error) {
	out := &querypb.ValuesResponse{}
	return out, s.answer(ctx, "Values", out, anyRequest)
}

func (s *replay) QueryRange(ctx context.Context, _ *querypb.QueryRangeRequest) (*querypb.QueryRangeResponse, error) {
	out := &querypb.QueryRangeResponse{}
	return out, s.answer(ctx, "QueryRange", out, anyRequest)
}

func (s *replay) Query(ctx context.Context, in *querypb.QueryRequest) (*querypb.QueryResponse, error) {
	if err := in.Validate(); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	out := &querypb.QueryResponse{}
	return out, s.answer(ctx, "Query", out, func(recorded proto.Message) bool {
		asked := recorded.(*querypb.QueryRequest)
		switch in.GetReportType() {
		case querypb.QueryRequest_REPORT_TYPE_PPROF, querypb.QueryRequest_REPORT_TYPE_TOP,
			querypb.QueryRequest_REPORT_TYPE_TABLE_ARROW, querypb.QueryRequest_REPORT_TYPE_FLAMEGRAPH_ARROW,
			querypb.QueryRequest_REPORT_TYPE_FLAMEGRAPH_TABLE:
			return asked.GetReportType() == in.GetReportType()
		default:
			return true // of the others none is recorded
		}
	})
}

// bearerOf returns the credentials of a request.
func bearerOf(ctx context.Context) string {
	headers, _ := metadata.FromIncomingContext(ctx)
	for _, value := range headers.Get(authorization) {
		return value
	}
	return ""
}

// program is a running parca-load.
type program struct {
	interrupts     chan os.Signal
	exit           chan int
	stdout, stderr *syncBuffer
}

// startProgram runs the program with its metrics on a free port.
func startProgram(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{
		interrupts: make(chan os.Signal, 2),
		exit:       make(chan int, 1),
		stdout:     &syncBuffer{},
		stderr:     &syncBuffer{},
	}
	args = append([]string{"-addr", "127.0.0.1:0"}, args...)
	go func() { p.exit <- run(t.Context(), args, p.interrupts, p.stdout, p.stderr) }()
	return p
}

func (p *program) interrupt() { p.interrupts <- syscall.SIGINT }

var metricsURL = regexp.MustCompile(`metrics are at (http://\S+)`)

// metricsURL waits until the program has said where its metrics are.
func (p *program) metricsURL(t *testing.T) string {
	t.Helper()
	var found []string
	require.Eventually(t, func() bool {
		found = metricsURL.FindStringSubmatch(p.stderr.String())
		return found != nil
	}, 10*time.Second, 10*time.Millisecond)
	return found[1]
}

// syncBuffer is a buffer that a program writes while a test reads.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

var _ io.Writer = (*syncBuffer)(nil)

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
