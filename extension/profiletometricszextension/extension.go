// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricszextension

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"

	"github.com/profiletometrics/profiletometrics/internal/livepage"
	"github.com/profiletometrics/profiletometrics/internal/webserver"
)

// liveExtension is the extension: an HTTP server, and the connectors that
// registered to be shown.
type liveExtension struct {
	config   *Config
	settings extension.Settings

	// Of what has been started; nil until then.
	server *webserver.Server
	stop   context.CancelFunc // ends all requests

	mu    sync.Mutex
	shown []*shown
}

// shown is a connector that registered.
type shown struct {
	id   component.ID
	look func() livepage.Connector
}

var _ livepage.Page = (*liveExtension)(nil)

func newExtension(config *Config, settings extension.Settings) *liveExtension {
	return &liveExtension{config: config, settings: settings}
}

// Start listens. Connectors register when they start, which is later.
func (e *liveExtension) Start(ctx context.Context, host component.Host) (err error) {
	// The requests outlive the start, whose context ends with it.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.stop = stop
	e.server, err = webserver.Settings{
		Config:    &e.config.Server,
		Host:      host,
		Telemetry: e.settings.TelemetrySettings,
		Reveals:   "read the names of services and functions, and what they use",
	}.Start(ctx, running, newHandler(e))
	return err
}

// Shutdown ends all requests, and the server.
func (e *liveExtension) Shutdown(ctx context.Context) error {
	if e.stop != nil {
		e.stop()
	}
	if e.server == nil {
		return nil
	}
	server := e.server
	e.server = nil // nothing is left for a second call
	return server.Shutdown(ctx)
}

// Show implements livepage.Page.
func (e *liveExtension) Show(id component.ID, look func() livepage.Connector) (remove func()) {
	entry := &shown{id, look}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shown = append(e.shown, entry)
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.shown = slices.DeleteFunc(e.shown, func(other *shown) bool { return other == entry })
	}
}

// connectors returns those that are shown, in the order of their names.
func (e *liveExtension) connectors() []*shown {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(e.shown), func(a, b *shown) int {
		return cmp.Compare(a.id.String(), b.id.String())
	})
}
