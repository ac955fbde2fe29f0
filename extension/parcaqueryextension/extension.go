// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaqueryextension

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
	"go.opentelemetry.io/collector/extension"
	"go.uber.org/zap"

	"github.com/profiletometrics/profiletometrics/extension/parcaqueryextension/internal/metadata"
	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

// maxHeaderBytes is the limit of a request's line and headers. It is ample for a
// query, and keeps callers from filling the memory.
const maxHeaderBytes = 64 << 10

// parcaQuery is the extension: an HTTP server and a client of Parca.
type parcaQuery struct {
	config    *Config
	settings  extension.Settings
	telemetry *metadata.TelemetryBuilder

	// Of what has been started; nil until then.
	client   *parcaapi.Client
	listener net.Listener
	server   *http.Server
	stop     context.CancelFunc // ends all queries
	served   chan struct{}      // closed when the server has ended
}

func newExtension(cfg *Config, settings extension.Settings) (*parcaQuery, error) {
	telemetry, err := metadata.NewTelemetryBuilder(settings.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	return &parcaQuery{config: cfg, settings: settings, telemetry: telemetry}, nil
}

// Start listens, and does not wait for Parca.
func (e *parcaQuery) Start(ctx context.Context, host component.Host) (err error) {
	e.client, err = parcaapi.Dial(ctx, &e.config.Parca, host.GetExtensions(), e.settings.TelemetrySettings)
	if err != nil {
		return fmt.Errorf("parca: %w", err)
	}
	// The requests outlive the start, whose context ends with it.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.stop = stop
	e.server, err = e.config.Server.ToServer(ctx, host.GetExtensions(), e.settings.TelemetrySettings,
		e.newHandler(running), confighttp.WithErrorHandler(refused))
	if err != nil {
		return fmt.Errorf("endpoint: the server cannot be set up: %w", err)
	}
	e.server.MaxHeaderBytes = maxHeaderBytes
	e.server.BaseContext = func(net.Listener) context.Context { return running }
	e.listener, err = e.config.Server.ToListener(ctx)
	if err != nil {
		return fmt.Errorf("endpoint: %w", err)
	}
	if e.config.Server.Auth.Get() == nil && !isLoopback(e.listener.Addr()) {
		e.settings.Logger.Warn("Everybody who reaches this address can read all profiles: set auth and tls, or listen on localhost.",
			zap.Stringer("address", e.listener.Addr()))
	}
	e.served = make(chan struct{})
	go func() {
		defer close(e.served)
		if err := e.server.Serve(e.listener); !errors.Is(err, http.ErrServerClosed) {
			componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
		}
	}()
	return nil
}

// isLoopback tells whether only this machine can reach an address.
func isLoopback(address net.Addr) bool {
	tcp, isTCP := address.(*net.TCPAddr)
	return !isTCP || tcp.IP.IsLoopback()
}

func (e *parcaQuery) newHandler(running context.Context) *handler {
	return &handler{
		parca:           e.client,
		timeout:         e.config.Timeout,
		maxWindow:       e.config.MaxWindow,
		maxResponseSize: e.config.MaxResponseSize,
		slots:           make(chan struct{}, e.config.MaxConcurrentQueries),
		running:         running,
		redactor:        newRedactor(e.config.Parca.Headers),
		journal:         &journal{logger: e.settings.Logger, telemetry: e.telemetry},
	}
}

// shutdownGrace is how long callers may take to read the rest of an answer.
const shutdownGrace = 5 * time.Second

// Shutdown ends all queries and waits a little, at most as long as ctx allows, for
// their callers to be told.
func (e *parcaQuery) Shutdown(ctx context.Context) error {
	var errs []error
	if e.stop != nil {
		e.stop()
	}
	if e.served != nil {
		ctx, cancel := context.WithTimeout(ctx, shutdownGrace)
		defer cancel()
		if err := e.server.Shutdown(ctx); err != nil {
			errs = append(errs, e.server.Close()) // a slow reader does not hold up the Collector
		}
		<-e.served
	}
	if e.client != nil {
		errs = append(errs, e.client.Close())
	}
	e.served, e.client = nil, nil // nothing is left for a second call
	e.telemetry.Shutdown()
	return errors.Join(errs...)
}
