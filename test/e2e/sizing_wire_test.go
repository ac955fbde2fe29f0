// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e && sizing

package e2e

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip"
)

// exporter sends the same message again and again. It is encoded once, so that it is the collector
// that has the work.
type exporter struct {
	t       *testing.T
	conn    *grpc.ClientConn
	message []byte
	samples int
	options []grpc.CallOption
	written *atomic.Int64 // bytes on the wire
}

// compression is how a message goes over the wire: plain or gzip.
type compression []grpc.CallOption

var (
	plain   = compression{}
	gzipped = compression{grpc.UseCompressor(gzip.Name)}
)

func newExporter(t *testing.T, address string, profiles pprofile.Profiles, compression compression) *exporter {
	t.Helper()
	e := &exporter{t: t, samples: profiles.SampleCount(), written: new(atomic.Int64)}
	e.message = encode(t, profiles)
	var err error
	e.options = append([]grpc.CallOption{grpc.ForceCodec(encoded{})}, compression...)
	e.conn, err = grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), untilItListens,
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
			return countingConn{conn, e.written}, err
		}))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, e.conn.Close()) })
	return e
}

func (e *exporter) send() error {
	const method = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
	var answer []byte
	return e.conn.Invoke(context.Background(), method, e.message, &answer, e.options...)
}

// saturate sends as fast as the collector takes it, and returns how many samples it took.
func (e *exporter) saturate(duration time.Duration) (samples int64) {
	var messages atomic.Int64
	var senders sync.WaitGroup
	deadline := time.Now().Add(duration)
	for range 2 {
		senders.Go(func() {
			for time.Now().Before(deadline) {
				if err := e.send(); err != nil {
					e.t.Error(err)
					return
				}
				messages.Add(1)
			}
		})
	}
	senders.Wait()
	return messages.Load() * int64(e.samples)
}

// encode returns what a gRPC client would send. It differs from what MarshalProto returns, where the
// keys of resource attributes are in the dictionary, which the receiver resolves over HTTP only.
func encode(t *testing.T, profiles pprofile.Profiles) (message []byte) {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:nobody", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(func(_ context.Context, _ string, request, _ any, _ *grpc.ClientConn, _ grpc.UnaryInvoker, _ ...grpc.CallOption) error {
			buffers, err := encoding.GetCodecV2("proto").Marshal(request)
			message = buffers.Materialize()
			return err
		}))
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close()) }()
	_, err = pprofileotlp.NewGRPCClient(conn).Export(t.Context(), pprofileotlp.NewExportRequestFromProfiles(profiles))
	require.NoError(t, err)
	return message
}

// encoded is a codec for messages that are.
type encoded struct{}

func (encoded) Name() string                    { return "proto" }
func (encoded) Marshal(v any) ([]byte, error)   { return v.([]byte), nil }
func (encoded) Unmarshal(b []byte, v any) error { *v.(*[]byte) = b; return nil }

// countingConn counts what is written to it.
type countingConn struct {
	net.Conn
	written *atomic.Int64
}

func (c countingConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.written.Add(int64(n))
	return n, err
}

// wire passes connections on, and counts the bytes that go there.
type wire struct {
	address string
	bytes   atomic.Int64
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	listener := listen(t)
	t.Cleanup(func() { _ = listener.Close() }) // it is what ends Accept
	w := &wire{address: listener.Addr().String()}
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go w.pass(from, to)
		}
	}()
	return w
}

func (w *wire) pass(from net.Conn, address string) {
	defer func() { _ = from.Close() }()
	to, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	go func() { _, _ = io.Copy(from, to) }()                              // ends with the connection
	_, _ = io.Copy(countingConn{to, &w.bytes}, struct{ io.Reader }{from}) // so does this
}

// swallow takes whatever is posted, as a remote write server does, and counts the bytes.
func swallow(t *testing.T) (url string, bytes *atomic.Int64) {
	t.Helper()
	bytes = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		assert.NoError(t, err)
		bytes.Add(n)
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(server.Close)
	return server.URL, bytes
}
