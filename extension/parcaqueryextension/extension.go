// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaqueryextension

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/extension"

	"github.com/profiletometrics/profiletometrics/extension/parcaqueryextension/internal/metadata"
	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
	"github.com/profiletometrics/profiletometrics/internal/webserver"
)

// parcaQuery is the extension: an HTTP server and a client of Parca.
type parcaQuery struct {
	config    *Config
	settings  extension.Settings
	telemetry *metadata.TelemetryBuilder

	// Of what has been started; nil until then.
	client *parcaapi.Client
	server *webserver.Server
	stop   context.CancelFunc // ends all queries
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
	e.server, err = webserver.Settings{
		Config:    &e.config.Server,
		Host:      host,
		Telemetry: e.settings.TelemetrySettings,
		Reveals:   "read all profiles",
	}.Start(ctx, running, e.newHandler(running), confighttp.WithErrorHandler(refused))
	return err
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

// Shutdown ends all queries and waits a little, at most as long as ctx allows, for
// their callers to be told.
func (e *parcaQuery) Shutdown(ctx context.Context) error {
	var errs []error
	if e.stop != nil {
		e.stop()
	}
	if e.server != nil {
		errs = append(errs, e.server.Shutdown(ctx))
	}
	if e.client != nil {
		errs = append(errs, e.client.Close())
	}
	e.server, e.client = nil, nil // nothing is left for a second call
	e.telemetry.Shutdown()
	return errors.Join(errs...)
}
