// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package webserver runs the HTTP server of an extension: its settings, its
// start and end, and the headers of its answers.
package webserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/confmap"
	"go.uber.org/zap"
)

// MaxHeaderBytes is the limit of a request's line and headers. It is ample for
// what extensions are asked, and keeps callers from filling the memory.
const MaxHeaderBytes = 64 << 10

// shutdownGrace is how long callers may take to read the rest of an answer.
const shutdownGrace = 5 * time.Second

// readTimeout is within what a request comes: it has no body, and its few lines
// come at once.
const readTimeout = 10 * time.Second

// NewDefaultConfig returns the defaults of a server that listens on endpoint and
// takes up to writeTimeout for an answer.
func NewDefaultConfig(endpoint string, writeTimeout time.Duration) confighttp.ServerConfig {
	server := confighttp.NewDefaultServerConfig()
	server.NetAddr.Endpoint = endpoint
	server.ReadHeaderTimeout = readTimeout
	server.ReadTimeout = readTimeout
	server.WriteTimeout = writeTimeout
	return server
}

// Unmarshal reads the keys of a squashed server, strictly: the decoder passes
// over keys that nothing knows, because the server has an Unmarshal of its own
// that does. The other keys are those that are not the server's.
func Unmarshal(conf *confmap.Conf, server *confighttp.ServerConfig, others ...string) error {
	own := confmap.New()
	if err := own.Merge(conf); err != nil {
		return err
	}
	for _, key := range others {
		own.Delete(key)
	}
	// The same fields without the method: all that is left to find is a key that
	// no field has.
	type fields confighttp.ServerConfig
	unused := fields(*server)
	if err := own.Unmarshal(&unused); err != nil {
		return err
	}
	return own.Unmarshal(server)
}

// Server is one that runs.
type Server struct {
	listener net.Listener
	server   *http.Server
	served   chan struct{} // closed when it has ended
}

// Settings are what a server is started with.
type Settings struct {
	Config    *confighttp.ServerConfig
	Host      component.Host
	Telemetry component.TelemetrySettings
	// Reveals is what everybody can do who reaches the server, for a warning.
	Reveals string
}

// Start listens, and warns if others than this machine can reach the server
// without credentials. Requests get the context running, which outlives ctx.
func (s Settings) Start(ctx, running context.Context, handler http.Handler, options ...confighttp.ToServerOption) (*Server, error) {
	server, err := s.Config.ToServer(ctx, s.Host.GetExtensions(), s.Telemetry, handler, options...)
	if err != nil {
		return nil, fmt.Errorf("endpoint: the server cannot be set up: %w", err)
	}
	server.MaxHeaderBytes = MaxHeaderBytes
	server.BaseContext = func(net.Listener) context.Context { return running }
	listener, err := s.Config.ToListener(ctx)
	if err != nil {
		return nil, fmt.Errorf("endpoint: %w", err)
	}
	if s.Config.Auth.Get() == nil && !isLoopback(listener.Addr()) {
		s.Telemetry.Logger.Warn("Everybody who reaches this address can "+s.Reveals+": set auth and tls, or listen on localhost.",
			zap.Stringer("address", listener.Addr()))
	}
	started := &Server{listener: listener, server: server, served: make(chan struct{})}
	go func() {
		defer close(started.served)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			componentstatus.ReportStatus(s.Host, componentstatus.NewFatalErrorEvent(err))
		}
	}()
	return started, nil
}

// Address is where the server listens.
func (s *Server) Address() net.Addr { return s.listener.Addr() }

// isLoopback tells whether only this machine can reach an address.
func isLoopback(address net.Addr) bool {
	tcp, isTCP := address.(*net.TCPAddr)
	return !isTCP || tcp.IP.IsLoopback()
}

// Shutdown ends the server. It waits a little, at most as long as ctx allows, for
// callers to read the rest of an answer: a slow one does not hold up the
// Collector.
func (s *Server) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownGrace)
	defer cancel()
	var err error
	if s.server.Shutdown(ctx) != nil {
		err = s.server.Close()
	}
	<-s.served
	return err
}

// Secure sets the headers that keep an answer from being kept, guessed at, or
// used by a page of another origin. The policy is that for its contents.
func Secure(header http.Header, policy string) {
	for name, value := range map[string]string{
		"X-Content-Type-Options":       "nosniff",
		"Cache-Control":                "no-store",
		"Content-Security-Policy":      policy,
		"Cross-Origin-Resource-Policy": "same-origin",
		"Referrer-Policy":              "no-referrer",
	} {
		if header.Get(name) == "" { // else the user's response_headers have it
			header.Set(name, value)
		}
	}
}
