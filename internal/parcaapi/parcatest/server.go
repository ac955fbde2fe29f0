// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package parcatest is a Parca query service for tests. It answers with what a
// real server answered to the same request (testdata), and has a Store for
// requests that were not recorded, which is held to the recorded answers by its
// own tests.
//
// What was recorded, on 2026-07-01, T0 = 12:00:00 UTC and every 10 s after it
// (T1, T2, T3): CPU profiles at T0…T3 of instance a:1 (job fix, env prod), worth
// 1, 2, 3 and 4 s, and at T0 of instance b:1 (job fix), worth 100 s; memory
// profiles of instance a:1 half a millisecond after T0, T1 and T2. Of each second
// of CPU time main.hot has 70 %, main.helper 20 % and main.fib 10 %.
package parcatest

import (
	"context"
	"net"
	"path"
	"sync"
	"testing"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Server is a query service on loopback. It is safe for concurrent use.
type Server struct {
	querypb.UnimplementedQueryServiceServer
	recorded   []Exchange
	recordings map[string]Exchange // by request

	mu       sync.Mutex
	requests []Request
	hook     Hook
	store    *Store
	always   *querypb.QueryResponse
	alike    func(asked, recorded proto.Message) bool
}

// Request is what a client asked.
type Request struct {
	Method   string        // its name without the service's
	Message  proto.Message // of the type of the method
	Metadata metadata.MD
}

// Hook is called with each request before it is answered. An error of it is the
// answer; it may also wait.
type Hook func(ctx context.Context, request Request) error

// Start starts a server that the end of the test stops, and returns its address
// as well.
func Start(tb testing.TB) (server *Server, address string) {
	tb.Helper()
	server = NewServer(tb)
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	service := grpc.NewServer()
	querypb.RegisterQueryServiceServer(service, server)
	stopped := make(chan error, 1)
	go func() { stopped <- service.Serve(listener) }()
	tb.Cleanup(func() {
		service.Stop()
		require.NoError(tb, <-stopped)
	})
	return server, listener.Addr().String()
}

// NewServer makes a server that is to be registered by the caller.
func NewServer(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{recorded: Recorded(tb), recordings: map[string]Exchange{}}
	for _, e := range s.recorded {
		// Of requests that were sent twice the first counts: later the server was poisoned.
		key := keyOf(e.Method, e.Request)
		if _, seen := s.recordings[key]; !seen {
			s.recordings[key] = e
		}
	}
	return s
}

// OnRequest sets the hook; nil removes it.
func (s *Server) OnRequest(hook Hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = hook
}

// Serve makes the store answer all requests, instead of the recordings.
func (s *Server) Serve(store *Store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store = store
}

// AnswerQuery makes the server answer every Query with the same report.
func (s *Server) AnswerQuery(response *querypb.QueryResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = response
}

// AnswerAlike makes the server answer a request that was not recorded with what
// was answered to the first one, without an error, of the same method that is
// alike: for clients that ask about the present.
func (s *Server) AnswerAlike(alike func(asked, recorded proto.Message) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alike = alike
}

// Requests returns what was asked so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

func keyOf(method string, request proto.Message) string {
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		panic(err) // a message that was just decoded can be encoded
	}
	return method + "\x00" + string(text)
}

// answer returns what was recorded, or what the store says, in a response of the
// right type.
func (s *Server) answer(ctx context.Context, method string, request, response proto.Message) error {
	md, _ := metadata.FromIncomingContext(ctx)
	asked := Request{Method: method, Message: request, Metadata: md}
	s.mu.Lock()
	s.requests = append(s.requests, asked)
	hook, store, always, alike := s.hook, s.store, s.always, s.alike
	s.mu.Unlock()
	if hook != nil {
		if err := hook(ctx, asked); err != nil {
			return err
		}
	}
	if _, isQuery := response.(*querypb.QueryResponse); isQuery && always != nil {
		proto.Merge(response, always)
		return nil
	}
	if store != nil {
		answer, err := store.Answer(request)
		if err == nil {
			proto.Merge(response, answer)
		}
		return err
	}
	recorded, found := s.recordings[keyOf(method, request)]
	if !found && alike != nil {
		recorded, found = s.find(method, func(message proto.Message) bool { return alike(request, message) })
	}
	switch {
	case !found:
		return status.Errorf(codes.Internal, "parcatest: no real server was asked this: %s %v", method, request)
	case recorded.Err != nil:
		return recorded.Err
	}
	proto.Merge(response, recorded.Response)
	return nil
}

// find returns the first exchange of a method without an error whose request is
// wanted.
func (s *Server) find(method string, wanted func(request proto.Message) bool) (Exchange, bool) {
	for _, e := range s.recorded {
		if e.Method == method && e.Err == nil && wanted(e.Request) {
			return e, true
		}
	}
	return Exchange{}, false
}

// Query answers as QueryServiceServer has it; so do the others.
func (s *Server) Query(ctx context.Context, r *querypb.QueryRequest) (*querypb.QueryResponse, error) {
	response := &querypb.QueryResponse{}
	return response, s.answer(ctx, "Query", r, response)
}

// QueryRange is a method of the service.
func (s *Server) QueryRange(ctx context.Context, r *querypb.QueryRangeRequest) (*querypb.QueryRangeResponse, error) {
	response := &querypb.QueryRangeResponse{}
	return response, s.answer(ctx, "QueryRange", r, response)
}

// ProfileTypes is a method of the service.
func (s *Server) ProfileTypes(ctx context.Context, r *querypb.ProfileTypesRequest) (*querypb.ProfileTypesResponse, error) {
	response := &querypb.ProfileTypesResponse{}
	return response, s.answer(ctx, "ProfileTypes", r, response)
}

// Labels is a method of the service.
func (s *Server) Labels(ctx context.Context, r *querypb.LabelsRequest) (*querypb.LabelsResponse, error) {
	response := &querypb.LabelsResponse{}
	return response, s.answer(ctx, "Labels", r, response)
}

// Values is a method of the service.
func (s *Server) Values(ctx context.Context, r *querypb.ValuesRequest) (*querypb.ValuesResponse, error) {
	response := &querypb.ValuesResponse{}
	return response, s.answer(ctx, "Values", r, response)
}

// HasProfileData is a method of the service.
func (s *Server) HasProfileData(ctx context.Context, r *querypb.HasProfileDataRequest) (*querypb.HasProfileDataResponse, error) {
	response := &querypb.HasProfileDataResponse{}
	return response, s.answer(ctx, "HasProfileData", r, response)
}

// Connection is a connection to the server that needs no network, for tests with
// a clock of their own.
func (s *Server) Connection() grpc.ClientConnInterface { return connection{s} }

type connection struct{ server *Server }

// Invoke answers a call.
func (c connection) Invoke(ctx context.Context, method string, request, response any, _ ...grpc.CallOption) error {
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	err := c.server.answer(ctx, path.Base(method), request.(proto.Message), response.(proto.Message))
	if ctxErr := ctx.Err(); ctxErr != nil {
		return status.FromContextError(ctxErr).Err()
	}
	return err
}

// NewStream fails: the service has no streams.
func (connection) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "parcatest: the query service has no streams")
}
