// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaqueryextension

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/config/configoptional"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi/parcatest"
	"github.com/profiletometrics/profiletometrics/internal/webserver"
)

func TestEveryAnswerHasTheSecurityHeaders(t *testing.T) {
	h, _ := startRecorded(t)
	for _, reply := range []*reply{
		get(t, h.url(recorded("json_stacks"))),
		get(t, h.url(nil)),
		get(t, "http://"+h.server.Address().String()+"/"),
		do(t, http.MethodPost, h.url(nil), http.Header{}),
	} {
		assert.Equal(t, "nosniff", reply.header.Get("X-Content-Type-Options"))
		assert.Equal(t, "no-store", reply.header.Get("Cache-Control"))
		assert.Equal(t, "default-src 'none'; frame-ancestors 'none'", reply.header.Get("Content-Security-Policy"))
		assert.Equal(t, "same-origin", reply.header.Get("Cross-Origin-Resource-Policy"))
		assert.Equal(t, "no-referrer", reply.header.Get("Referrer-Policy"))
		assert.Empty(t, reply.header.Get("Access-Control-Allow-Origin"))
	}
}

func TestResponseHeadersOfTheUserWin(t *testing.T) {
	_, address := parcatest.Start(t)
	cfg := testConfig(address)
	cfg.Server.ResponseHeaders = configopaque.MapList{{Name: "Cache-Control", Value: "max-age=60"}}
	h := start(t, cfg)
	reply := get(t, h.url(recorded("json_stacks")))
	assert.Equal(t, []string{"max-age=60"}, reply.header.Values("Cache-Control"))
	assert.Equal(t, "nosniff", reply.header.Get("X-Content-Type-Options"))
}

const (
	secretToken  = "tok-6ba7b810-9dad"
	secretHeader = "hdr-6ba7b811-9dad"
)

// tokenAuth gives a bearer token to gRPC clients, as bearertokenauth does; and
// asks for none of HTTP servers, but for a password.
type tokenAuth struct {
	component.StartFunc
	component.ShutdownFunc
}

func (tokenAuth) PerRPCCredentials() (credentials.PerRPCCredentials, error) { return tokenAuth{}, nil }

func (tokenAuth) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + secretToken}, nil
}

func (tokenAuth) RequireTransportSecurity() bool { return false }

var errNoPassword = errors.New("the password is not swordfish")

func (tokenAuth) Authenticate(ctx context.Context, sources map[string][]string) (context.Context, error) {
	if !slices.Contains(sources["Authorization"], "swordfish") {
		return ctx, errNoPassword
	}
	return ctx, nil
}

type hostWithAuth struct{ component.Host }

func (hostWithAuth) GetExtensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{component.MustNewID("token"): tokenAuth{}}
}

func withAuth() configauth.Config {
	return configauth.Config{AuthenticatorID: component.MustNewID("token")}
}

// A server, or a proxy before it, that quotes credentials in every error shows
// them to nobody.
func TestSecretsAppearNowhere(t *testing.T) {
	var next atomic.Uint32 // code that the server fails with
	address := serveParca(t, func(ctx context.Context, _ *querypb.QueryRequest) (*querypb.QueryResponse, error) {
		sent, _ := metadata.FromIncomingContext(ctx)
		assert.Equal(t, []string{"Bearer " + secretToken}, sent.Get("authorization"))
		assert.Equal(t, []string{secretHeader}, sent.Get("x-api-key"))
		return nil, status.Errorf(codes.Code(next.Load()), "rejected %v: authorization=Bearer %s, key %s", sent, secretToken, secretHeader)
	})
	cfg := testConfig(address)
	cfg.Parca.Auth = configoptional.Some(withAuth())
	cfg.Parca.Headers = configopaque.MapList{{Name: "x-api-key", Value: secretHeader}}
	h := startOn(t, cfg, hostWithAuth{componenttest.NewNopHost()})

	said := &strings.Builder{}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		next.Store(uint32(code))
		reply := get(t, h.url(recorded("json_stacks")))
		require.GreaterOrEqual(t, reply.status, http.StatusBadRequest, code)
		fmt.Fprintln(said, reply.header, string(reply.body))
	}
	for _, entry := range h.logs.All() {
		fmt.Fprintln(said, entry.Message, entry.ContextMap())
	}
	fmt.Fprintf(said, "%v %+v %#v", cfg.Parca.Headers, cfg.Parca.Headers, cfg.Parca.Headers)
	require.Contains(t, said.String(), "Bearer "+hidden)
	require.Contains(t, said.String(), "key "+hidden)
	assert.NotContains(t, said.String(), secretToken)
	assert.NotContains(t, said.String(), secretHeader)
}

func TestRedaction(t *testing.T) {
	r := newRedactor(configopaque.MapList{
		{Name: "authorization", Value: "Custom s3cr3t-value"}, {Name: "x-tenant", Value: "a"}, {Name: "x-key", Value: "k-1234567"},
	})
	for text, want := range map[string]string{
		"nothing to hide":                      "nothing to hide",
		"got Custom s3cr3t-value there":        "got [hidden] there",
		"the token s3cr3t-value is bad":        "the token [hidden] is bad",
		"key k-1234567, tenant a":              "key [hidden], tenant a",
		`map[authorization:[Bearer abc.def-_]`: "map[authorization:[Bearer [hidden]]",
		"BASIC dXNlcjpwYXNz; next":             "BASIC [hidden]; next",
	} {
		assert.Equal(t, want, r.redact(text))
	}
}

// Callers may have to give credentials of their own, if the user wants so; what
// the authenticator says is not repeated.
func TestCallersCanBeAuthenticated(t *testing.T) {
	_, address := parcatest.Start(t)
	cfg := testConfig(address)
	cfg.Server.Auth = configoptional.Some(confighttp.AuthConfig{Config: withAuth()})
	h := startOn(t, cfg, hostWithAuth{componenttest.NewNopHost()})
	target := h.url(recorded("json_stacks"))

	reply := get(t, target)
	assert.Contains(t, reply.failure(t, http.StatusUnauthorized), "the credentials are missing or wrong")
	assert.NotContains(t, string(reply.body), "swordfish")
	assert.Equal(t, "nosniff", reply.header.Get("X-Content-Type-Options"))
	do(t, http.MethodGet, target, http.Header{"Authorization": {"swordfish"}}).text(t)
}

// What a caller sends to us is not sent to Parca.
func TestCredentialsOfCallersAreNotPassedOn(t *testing.T) {
	h, server := startRecorded(t)
	do(t, http.MethodGet, h.url(recorded("json_stacks")), http.Header{"Authorization": {"Bearer of-the-caller"}}).text(t)
	for _, request := range server.Requests() {
		assert.Empty(t, request.Metadata.Get("authorization"))
	}
}

func dial(t *testing.T, h *harness) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", h.server.Address().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	return conn
}

// A caller that sends its request a byte at a time is cut off.
func TestSlowRequestsAreCutOff(t *testing.T) {
	_, address := parcatest.Start(t)
	cfg := testConfig(address)
	cfg.Server.ReadHeaderTimeout = 50 * time.Millisecond
	h := start(t, cfg)
	conn := dial(t, h)
	_, err := conn.Write([]byte("GET /parcaquery?query="))
	require.NoError(t, err)
	_, err = io.ReadAll(conn)
	require.NoError(t, err, "the server has closed the connection")
}

// startWithSlowReader runs an extension one of whose callers has asked for more
// than the sockets hold, and does not read it.
func startWithSlowReader(t *testing.T, writeTimeout time.Duration) (*harness, net.Conn) {
	t.Helper()
	report := make([]byte, 16<<20)
	address := serveParca(t, func(context.Context, *querypb.QueryRequest) (*querypb.QueryResponse, error) {
		return &querypb.QueryResponse{
			Report: &querypb.QueryResponse_TableArrow{TableArrow: &querypb.TableArrow{Record: report}}, Total: 1,
		}, nil
	})
	cfg := testConfig(address)
	cfg.Server.WriteTimeout = writeTimeout
	h := start(t, cfg)
	conn := dial(t, h)
	_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAccept: %s\r\n\r\n",
		strings.TrimPrefix(h.url(recorded("table_arrow")), "http://"+h.server.Address().String()), contentTypeBytes)
	require.NoError(t, err)
	return h, conn
}

// A caller that does not read its answer gives back its place when the time is
// over in which it must have been written.
func TestSlowReadersGiveBackTheirPlace(t *testing.T) {
	h, _ := startWithSlowReader(t, time.Second)
	eventually(t, func() bool { return h.logs.FilterMessage("A caller did not take the whole answer.").Len() == 1 }, "the caller is cut off")
	eventually(t, func() bool { return h.inFlight(t) == 0 }, "the request has ended")
}

func TestSlowReadersDoNotHoldUpTheShutdown(t *testing.T) {
	h, conn := startWithSlowReader(t, patience)
	_, err := bufio.NewReaderSize(conn, 16).ReadByte() // the answer has begun
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.NoError(t, h.Shutdown(ctx))
	eventually(t, func() bool { return h.inFlight(t) == 0 }, "the request has ended")
}

func TestOversizedHeadersAreRefused(t *testing.T) {
	h, server := startRecorded(t)
	reply := get(t, h.url(nil)+"x="+strings.Repeat("x", 2*webserver.MaxHeaderBytes))
	assert.Equal(t, http.StatusRequestHeaderFieldsTooLarge, reply.status)
	assert.Empty(t, server.Requests())
}
