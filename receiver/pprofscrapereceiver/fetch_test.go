// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"bytes"
	"compress/gzip"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const testLimit = 1 << 20

func compressed(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func plain(t *testing.T, data []byte) []byte {
	t.Helper()
	p, err := profile.ParseData(data)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, p.WriteUncompressed(&b))
	return b.Bytes()
}

func body(data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) }
}

func status(code int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = w.Write([]byte(text))
	}
}

func fetchFrom(t *testing.T, handler http.HandlerFunc) (*profile.Profile, *failure) {
	t.Helper()
	return fetchWithin(t, handler, patience)
}

func fetchWithin(t *testing.T, handler http.HandlerFunc, timeout time.Duration) (*profile.Profile, *failure) {
	t.Helper()
	u, err := url.Parse(serve(t, handler))
	require.NoError(t, err)
	client := &http.Client{CheckRedirect: stayOnHost, Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	answer, f := (&endpoint{client: client, url: u, timeout: timeout, limit: testLimit}).fetch(t.Context())
	if f != nil {
		return nil, f
	}
	p, _, f := decode(answer, testLimit)
	return p, f
}

func TestProfilesAreReadPlainAndCompressed(t *testing.T) {
	gz := fixture(t, "parca-allocs.pb.gz")
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
	}{
		{"gzip, as pprof writes it", body(gz)},
		{"plain", body(plain(t, gz))},
		{"plain, compressed by the server", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(compressed(t, plain(t, gz)))
		}},
		{"gzip, compressed by the server once more", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(compressed(t, gz))
		}},
		{"behind a redirect on the same host", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/there" {
				http.Redirect(w, r, "/there", http.StatusFound)
				return
			}
			_, _ = w.Write(gz)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, f := fetchFrom(t, tc.handler)
			require.Nil(t, f)
			want, err := profile.ParseData(gz)
			require.NoError(t, err)
			assert.Len(t, p.Sample, len(want.Sample))
		})
	}
}

func TestEveryBadAnswerHasAnOutcomeAndAdvice(t *testing.T) {
	gz := fixture(t, "parca-allocs.pb.gz")
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		outcome string
		text    []string
	}{
		{
			"another CPU profile is running", status(500, string(fixture(t, "not-a-profile.txt"))), outcomeStatus,
			[]string{"status 500 Internal Server Error", "cpu profiling already in use", "stop the other profiler"},
		},
		{"not found", http.NotFound, outcomeStatus, []string{"status 404 Not Found", "check the path"}},
		{"unauthorized", status(401, ""), outcomeStatus, []string{"status 401 Unauthorized; check auth and headers"}},
		{"bad request", status(400, "seconds parameter not valid"), outcomeStatus, []string{"seconds parameter not valid", "check the path and seconds"}},
		{"an error as a page", status(502, "<html><body>proxy</body></html>"), outcomeStatus, []string{"status 502 Bad Gateway; see the target's own log"}},
		{"a redirect to another host", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.2:1/", http.StatusFound)
		}, outcomeStatus, []string{"status 302 Found", "another host"}},
		{"a page", body([]byte("\n<!DOCTYPE html><html>login</html>")), outcomeHTML, []string{"HTML page", "login page"}},
		{"nothing", body(nil), outcomeInvalid, []string{"empty"}},
		{"text", body([]byte("hello there\nmore")), outcomeInvalid, []string{"not a pprof profile", `begins with "hello there"`}},
		{"a message without sample types", body([]byte{0x32, 0x00}), outcomeInvalid, []string{"no sample types"}},
		{"a truncated gzip", body(gz[:len(gz)/2]), outcomeCorrupt, []string{"broken gzip"}},
		{"a broken gzip of the server", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("this is no gzip at all"))
		}, outcomeCorrupt, []string{"broken gzip"}},
		{"a body that ends early", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(gz[:1000])
		}, outcomeCorrupt, []string{"before it was complete"}},
		{"a body over the limit", body(make([]byte, testLimit+1)), outcomeTooLarge, []string{"max_response_body_size (1048576 bytes)"}},
		{"a body over the limit that says so", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99999999")
		}, outcomeTooLarge, []string{"max_response_body_size"}},
		{"a gzip bomb", body(compressed(t, make([]byte, 4*testLimit))), outcomeTooLarge, []string{"max_response_body_size"}},
		{"a gzip bomb in a gzip", body(compressed(t, compressed(t, make([]byte, 4*testLimit)))), outcomeTooLarge, []string{"max_response_body_size"}},
		{"compressed three times", body(compressed(t, compressed(t, gz))), outcomeInvalid, []string{"compressed more than 2 times"}},
		{
			"an answer that does not come", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			outcomeTimeout,
			[]string{"raise timeout"},
		},
		{"an answer that does not end", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, outcomeTimeout, []string{"raise timeout"}},
		{
			"a connection that breaks", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			outcomeUnreachable,
			[]string{"no connection"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			timeout := patience
			if tc.outcome == outcomeTimeout {
				timeout = 100 * time.Millisecond
			}
			_, f := fetchWithin(t, tc.handler, timeout)
			require.NotNil(t, f)
			assert.Equal(t, tc.outcome, f.outcome, f.Error())
			for _, text := range tc.text {
				assert.ErrorContains(t, f, text)
			}
		})
	}
}

func TestALongLineOfABodyIsCutAndCleaned(t *testing.T) {
	assert.Equal(t, "ab", firstLine([]byte("\n \x00a\x1bb\r\nnext")))
	assert.Equal(t, strings.Repeat("x", maxQuoted)+"…", firstLine([]byte(strings.Repeat("x", 2*maxQuoted))))
	assert.Empty(t, firstLine(nil))
}

func TestARefusedConnectionIsNamed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())

	h := newHarness(t, testConfig(), nil)
	target := h.scraper(t, memoryOnly("http://"+address))
	require.ErrorIs(t, target.profiles[0].take(t.Context()).failure, syscall.ECONNREFUSED)
	target.scrape(t.Context())
	require.Equal(t, 1, h.logs.Len())
	message := h.logs.All()[0].Message
	for _, text := range []string{"memory", "http://" + address, "connection refused", "check that the target runs"} {
		assert.Contains(t, message, text)
	}
	assert.Equal(t, map[string]int64{"unreachable": 1}, h.counts(t, "scrapes", "outcome"))
}

func TestCredentialsAreSentAndNeverShown(t *testing.T) {
	var user, password, header string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ = r.BasicAuth()
		header = r.Header.Get("X-Token")
		http.Error(w, "no", http.StatusForbidden)
	}))
	h := newHarness(t, testConfig(), nil)
	cfg := memoryOnly(strings.Replace(server.URL, "http://", "http://me:s3cret@", 1))
	cfg.Client.Headers.Set("X-Token", "h1dden")
	target := h.scraper(t, cfg)
	target.scrape(context.Background())
	assert.Equal(t, []string{"me", "s3cret", "h1dden"}, []string{user, password, header})
	server.Close()
	target.scrape(context.Background())

	require.Equal(t, 2, h.logs.Len())
	for _, entry := range h.logs.All() {
		shown := []string{entry.Message}
		for _, field := range entry.Context {
			shown = append(shown, field.String)
		}
		for _, secret := range []string{"me:", "s3cret", "h1dden"} {
			assert.NotContains(t, strings.Join(shown, " "), secret)
		}
	}
	for name := range h.counts(t, "scrapes", "target") {
		assert.NotContains(t, name, "s3cret")
	}
}
