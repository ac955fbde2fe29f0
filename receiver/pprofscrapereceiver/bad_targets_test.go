// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"context"
	"encoding/binary"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/goleak"
)

// badTarget is a target that gives no profile.
type badTarget struct {
	name    string
	start   func() string // returns the endpoint
	outcome string
	says    []string
}

func badTargets(t *testing.T) []badTarget {
	t.Helper()
	served := func(handler http.HandlerFunc) func() string {
		return func() string { return serve(t, handler) }
	}
	message, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(otherMessage())
	require.NoError(t, err)
	mutex := fixture(t, "parca-mutex.pb.gz")
	return []badTarget{
		{
			"connection refused", func() string { return "http://" + unusedAddress(t) }, outcomeUnreachable,
			[]string{"connection refused", "check that the target runs"},
		},
		{
			"a name that does not exist", func() string { return "http://shop.invalid:6060" }, outcomeDNS,
			[]string{"no such host", "check the host in the endpoint"},
		},
		{
			"a certificate that nobody knows", func() string { return serveTLS(t).URL }, outcomeTLS,
			[]string{"certificate", "tls::ca_file"},
		},
		{
			"TLS asked of a plain server", func() string { return strings.Replace(serve(t, body(nil)), "http://", "https://", 1) },
			outcomeTLS,
			[]string{"give its endpoint with http://"},
		},
		{
			"a plain request to a TLS server", func() string { return strings.Replace(serveTLS(t).URL, "https://", "http://", 1) },
			outcomeStatus,
			[]string{"status 400", "give its endpoint with https://"},
		},
		{
			"401", served(status(http.StatusUnauthorized, "who are you")), outcomeStatus,
			[]string{"status 401 Unauthorized (who are you)", "check auth and headers"},
		},
		{
			"404 with a page", served(status(http.StatusNotFound, "<!DOCTYPE html><html><body>gone</body></html>")), outcomeStatus,
			[]string{"status 404 Not Found;", "check the path"},
		},
		{
			"500 as another CPU profile is taken", served(status(500, string(fixture(t, "not-a-profile.txt")))), outcomeStatus,
			[]string{"status 500", "cpu profiling already in use", "stop the other profiler"},
		},
		{
			"a gzip that is cut short", served(body(mutex[:len(mutex)/2])), outcomeCorrupt,
			[]string{"unexpected EOF", "cut short"},
		},
		{
			"a gzip bomb", served(body(compressed(t, make([]byte, 4*testLimit)))), outcomeTooLarge,
			[]string{"max_response_body_size (1048576 bytes)", "raise it if"},
		},
		{
			"a body that drips", served(dripping(20*time.Millisecond, 1)), outcomeTimeout,
			[]string{"no complete answer in time", "raise timeout"},
		},
		{
			"a body without end", served(dripping(0, 32<<10)), outcomeTooLarge,
			[]string{"max_response_body_size (1048576 bytes)", "raise it if"},
		},
		{
			"protocol buffers that are no profile", served(body(message)), outcomeInvalid,
			[]string{"not a pprof profile", "check the path"},
		},
	}
}

func serveTLS(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(body(nil))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // the handshakes that fail
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func unusedAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	return listener.Addr().String()
}

// dripping sends pieces of a size until nobody listens.
func dripping(pause time.Duration, size int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, size)); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			time.Sleep(pause)
		}
	}
}

// otherMessage is a message of another protocol.
func otherMessage() pprofile.Profiles {
	data := pprofile.NewProfiles()
	resource := data.ResourceProfiles().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", "shop")
	resource.ScopeProfiles().AppendEmpty().Profiles().AppendEmpty().Samples().AppendEmpty().Values().Append(1)
	data.Dictionary().StringTable().Append("", "main")
	return data
}

// In these tests, names that are not in the machine's own list have no address,
// and no name server is asked.
func init() {
	net.DefaultResolver = &net.Resolver{
		PreferGo: true,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			asker, server := net.Pipe()
			go answerNoSuchName(server)
			return asker, nil
		},
	}
}

// answerNoSuchName speaks DNS as over TCP: each message after its length.
func answerNoSuchName(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return
	}
	message := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(conn, message); err != nil || len(message) < 12 {
		return
	}
	message[2] |= 0x80                  // an answer
	message[3] = message[3]&0xf0 | 0x03 // the name does not exist
	_, _ = conn.Write(append(length[:], message...))
}

func TestEveryBadTargetGivesOneClearError(t *testing.T) {
	for _, bad := range badTargets(t) {
		t.Run(bad.name, func(t *testing.T) {
			endpoint := bad.start()
			cfg := testConfig()
			cfg.MaxResponseBodySize = testLimit
			if bad.outcome == outcomeTimeout {
				cfg.Timeout = 200 * time.Millisecond
			}
			h := newHarness(t, cfg, nil)
			target := h.scraper(t, memoryOnly(endpoint))
			for range 3 {
				target.scrape(t.Context())
			}
			require.Equal(t, 1, h.logs.Len(), "once per change of state")
			message := h.logs.All()[0].Message
			for _, text := range append(bad.says, "memory", endpoint) {
				assert.Contains(t, message, text)
			}
			assert.Less(t, len(message), 500)
			assert.Equal(t, map[string]int64{bad.outcome: 3}, h.counts(t, "scrapes", "outcome"))
			assert.Equal(t, int64(stateDown), target.up())
			assert.Empty(t, h.sink.AllProfiles())
		})
	}
}

// A thousand scrapes of fifty bad targets, and of one that is good.
func TestBadTargetsLeakNothingAndDelayNobody(t *testing.T) {
	before := goleak.IgnoreCurrent()
	const targets, scrapes = 50, 1000
	t.Run("soak", func(t *testing.T) {
		cfg := testConfig()
		cfg.CollectionInterval, cfg.Timeout = 40*time.Millisecond, 2*time.Second
		cfg.MaxResponseBodySize = testLimit
		bad := badTargets(t)
		var endpoints []string
		for i := range targets {
			endpoints = append(endpoints, bad[i%len(bad)].start())
			cfg.Targets = append(cfg.Targets, memoryOnly(endpoints[i]))
		}
		var good atomic.Int64
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			good.Add(1)
			_, _ = w.Write(heap(t, 1, 1))
		})
		cfg.Targets = append(cfg.Targets, memoryOnly(url))
		h := newHarness(t, cfg, nil).start(t)
		failed := func() (n int64) {
			for outcome, count := range h.counts(t, "scrapes", "outcome") {
				if outcome != outcomeSuccess {
					n += count
				}
			}
			return n
		}
		eventually(t, func() bool { return failed() >= scrapes }, "the scrapes of the bad targets")
		assert.Greater(t, good.Load(), int64(scrapes/targets/4), "the good target is scraped as often as any")
		// One scrape of it may fail on a machine that is busy enough.
		eventually(t, func() bool { return h.counts(t, "target.up", "target")[url] == 1 }, "the good target is up")
		up := h.counts(t, "target.up", "target")
		for _, endpoint := range endpoints {
			assert.Zero(t, up[endpoint])
		}
		// Once each, but for what a busy machine does to a target.
		assert.Less(t, h.logs.Len(), 4*targets)
		require.NoError(t, h.Shutdown(t.Context()))
	})
	goleak.VerifyNone(t, before)
}
