// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricszextension

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/extension/extensiontest"

	"github.com/profiletometrics/profiletometrics/internal/livepage"
)

func TestThePageCanOnlyBeRead(t *testing.T) {
	e, _ := start(t, nil)
	e.Show(first, example)
	root := "http://" + e.server.Address().String()
	for _, tc := range []struct {
		name, method, url string
		status            int
		says              string
	}{
		{"the page", http.MethodGet, e.url(""), http.StatusOK, "<!DOCTYPE html>"},
		{"the page, sorted", http.MethodGet, e.url("?sort=flat"), http.StatusOK, "<!DOCTYPE html>"},
		{"another parameter", http.MethodGet, e.url("?utm=1"), http.StatusOK, "<!DOCTYPE html>"},
		{"another path", http.MethodGet, root + "/", http.StatusNotFound, "There is only /debug/profiletometricsz."},
		{"a path below", http.MethodGet, e.url("/x"), http.StatusNotFound, "There is only /debug/profiletometricsz."},
		{"another order", http.MethodGet, e.url("?sort=name"), http.StatusBadRequest, "The parameter sort is flat or cumulative."},
		{"POST", http.MethodPost, e.url(""), http.StatusMethodNotAllowed, "The page can only be read: use GET."},
		{"DELETE", http.MethodDelete, e.url(""), http.StatusMethodNotAllowed, "The page can only be read: use GET."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			answer := do(t, tc.method, tc.url)
			assert.Equal(t, tc.status, answer.status)
			assert.Contains(t, string(answer.body), tc.says)
			if tc.status == http.StatusMethodNotAllowed {
				assert.Equal(t, "GET, HEAD", answer.header.Get("Allow"))
			}
			assert.Equal(t, "nosniff", answer.header.Get("X-Content-Type-Options"))
			assert.Equal(t, "no-store", answer.header.Get("Cache-Control"))
			assert.Equal(t, "same-origin", answer.header.Get("Cross-Origin-Resource-Policy"))
			assert.Equal(t, "no-referrer", answer.header.Get("Referrer-Policy"))
		})
	}
}

func TestHeadTellsTheLengthOnly(t *testing.T) {
	e, _ := start(t, nil)
	answer := do(t, http.MethodHead, e.url(""))
	assert.Equal(t, http.StatusOK, answer.status)
	assert.Empty(t, answer.body)
	assert.Equal(t, int64(len(do(t, http.MethodGet, e.url("")).body)), answer.length)
}

// A browser applies the style that stands in the page, and nothing else.
func TestThePolicyAllowsTheStyleAlone(t *testing.T) {
	e, _ := start(t, nil)
	answer := do(t, http.MethodGet, e.url(""))
	style := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindSubmatch(answer.body)
	require.Len(t, style, 2)
	assert.Equal(t, "default-src 'none'; style-src '"+hashOf(string(style[1]))+"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		answer.header.Get("Content-Security-Policy"))
}

func TestResponseHeadersOfTheUserWin(t *testing.T) {
	e, _ := start(t, func(cfg *Config) {
		cfg.Server.ResponseHeaders = configopaque.MapList{{Name: "Cache-Control", Value: "max-age=60"}}
	})
	assert.Equal(t, []string{"max-age=60"}, do(t, http.MethodGet, e.url("")).header.Values("Cache-Control"))
}

func TestListeningForOthersWarns(t *testing.T) {
	_, logs := start(t, nil)
	assert.Empty(t, logs.FilterMessageSnippet("Everybody").All())
	_, logs = start(t, func(cfg *Config) { cfg.Server.NetAddr.Endpoint = "0.0.0.0:0" })
	assert.Len(t, logs.FilterMessageSnippet("Everybody who reaches this address can read the names of services and functions").All(), 1)
}

func TestAnAddressInUseIsAnErrorOfTheStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	cfg := newDefaultConfig()
	cfg.Server.NetAddr.Endpoint = taken.Addr().String()
	e := newExtension(cfg, extensiontest.NewNopSettings(NewFactory().Type()))
	require.ErrorContains(t, e.Start(t.Context(), componenttest.NewNopHost()), "endpoint: listen tcp "+taken.Addr().String())
	require.NoError(t, e.Shutdown(context.Background()))
}

// However many ask, the connectors are looked at by one request at a time.
func TestRequestsLookOneAtATime(t *testing.T) {
	e, _ := start(t, nil)
	var looking, most, looked atomic.Int64
	e.Show(first, func() livepage.Connector {
		most.Store(max(most.Load(), looking.Add(1)))
		time.Sleep(time.Millisecond)
		looking.Add(-1)
		looked.Add(1)
		return example()
	})
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { assert.Equal(t, http.StatusOK, do(t, http.MethodGet, e.url("")).status) })
	}
	group.Wait()
	assert.Equal(t, int64(1), most.Load())
	assert.Equal(t, int64(20), looked.Load())
}

// A request that waits for another ends with its caller, and with the collector.
func TestRequestsThatWaitEnd(t *testing.T) {
	e, _ := start(t, nil)
	h := newHandler(e)
	h.looking <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan *httptest.ResponseRecorder)
	go func() {
		recorder := httptest.NewRecorder()
		h.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, http.NoBody).WithContext(ctx))
		answered <- recorder
	}()
	select {
	case <-answered:
		t.Error("the request did not wait")
	case <-time.After(20 * time.Millisecond):
	}
	cancel()
	answer := <-answered
	assert.Equal(t, http.StatusServiceUnavailable, answer.Code)
	assert.Contains(t, answer.Body.String(), "The collector is shutting down.")
}
