// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc/metadata"
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
// method, with a report of the same type.
type replay struct{ *parcatest.Server }

func newReplay(t *testing.T) replay {
	t.Helper()
	server := parcatest.NewServer(t)
	server.AnswerAlike(alike)
	return replay{server}
}

// startReplay starts a server that calls the hook first, if there is one; its error is the answer.
func startReplay(t *testing.T, hook func(ctx context.Context, method string) error) (server replay, address string) {
	t.Helper()
	started, address := parcatest.Start(t)
	started.AnswerAlike(alike)
	if hook != nil {
		started.OnRequest(func(ctx context.Context, request parcatest.Request) error { return hook(ctx, request.Method) })
	}
	return replay{started}, address
}

// count is how often a method was asked for.
func (s replay) count(method string) int {
	n := 0
	for _, request := range s.Requests() {
		if request.Method == method {
			n++
		}
	}
	return n
}

func alike(asked, recorded proto.Message) bool {
	switch asked := asked.(type) {
	case *querypb.ProfileTypesRequest:
		recorded := recorded.(*querypb.ProfileTypesRequest)
		// Of a moment without profiles, or of any other.
		isEmpty := recorded.GetStart() != nil && proto.Equal(recorded.GetStart(), recorded.GetEnd())
		return isEmpty || asked.GetEnd().AsTime().Year() != 1970
	case *querypb.QueryRequest:
		recorded := recorded.(*querypb.QueryRequest)
		switch asked.GetReportType() {
		case querypb.QueryRequest_REPORT_TYPE_PPROF, querypb.QueryRequest_REPORT_TYPE_TOP,
			querypb.QueryRequest_REPORT_TYPE_TABLE_ARROW, querypb.QueryRequest_REPORT_TYPE_FLAMEGRAPH_ARROW,
			querypb.QueryRequest_REPORT_TYPE_FLAMEGRAPH_TABLE:
			return recorded.GetReportType() == asked.GetReportType()
		}
	}
	return true // of the other reports none is recorded
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
