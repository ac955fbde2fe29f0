// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaqueryextension

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/extension/extensiontest"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi/parcatest"
)

func TestAnAddressInUseIsAnErrorOfTheStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	cfg := testConfig("127.0.0.1:9")
	cfg.Server.NetAddr.Endpoint = taken.Addr().String()
	e, err := newExtension(cfg, extensiontest.NewNopSettings(NewFactory().Type()))
	require.NoError(t, err)
	require.ErrorContains(t, e.Start(t.Context(), componenttest.NewNopHost()), "endpoint: listen tcp "+taken.Addr().String())
	require.NoError(t, e.Shutdown(context.Background()))
}

func TestMissingAuthExtensionsAreErrorsOfTheStart(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"parca":    func(cfg *Config) { cfg.Parca.Auth = configoptional.Some(withAuth()) },
		"endpoint": func(cfg *Config) { cfg.Server.Auth = configoptional.Some(confighttp.AuthConfig{Config: withAuth()}) },
	} {
		cfg := testConfig("127.0.0.1:9")
		change(cfg)
		e, err := newExtension(cfg, extensiontest.NewNopSettings(NewFactory().Type()))
		require.NoError(t, err)
		err = e.Start(t.Context(), componenttest.NewNopHost())
		require.ErrorContains(t, err, name+": ")
		require.NoError(t, e.Shutdown(context.Background()))
	}
}

// A collector that ends does not wait for Parca, and tells its callers so.
func TestShutdownEndsRunningQueries(t *testing.T) {
	server, address := parcatest.Start(t)
	reached := make(chan struct{})
	server.OnRequest(func(ctx context.Context, _ parcatest.Request) error {
		close(reached)
		<-ctx.Done()
		return ctx.Err()
	})
	cfg := testConfig(address)
	h := &harness{telemetry: componenttest.NewTelemetry()}
	var err error
	h.parcaQuery, err = newExtension(cfg, extensiontest.NewNopSettings(NewFactory().Type()))
	require.NoError(t, err)
	require.NoError(t, h.Start(t.Context(), componenttest.NewNopHost()))
	target := h.url(recorded("json_stacks"))
	answered := make(chan *reply, 1)
	go func() { answered <- send(t.Context(), http.MethodGet, target, http.Header{}) }()
	<-reached

	begin := time.Now()
	require.NoError(t, h.Shutdown(context.Background()))
	assert.Less(t, time.Since(begin), patience/2)
	reply := <-answered
	require.NoError(t, reply.err)
	assert.Contains(t, reply.failure(t, http.StatusServiceUnavailable), "the collector is shutting down")
	assert.Equal(t, "1", reply.header.Get("Retry-After"))
	http.DefaultClient.CloseIdleConnections()
}
