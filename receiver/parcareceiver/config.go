// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/scraper/scraperhelper"
)

// Config is what the user writes under parca.
type Config struct {
	// Client is the gRPC client: endpoint, tls, auth, headers, compression…
	Client configgrpc.ClientConfig `mapstructure:",squash"`

	// Controller has collection_interval, initial_delay and timeout. The timeout
	// bounds each request; without one a request may take as long as a
	// collection interval.
	Controller scraperhelper.ControllerConfig `mapstructure:",squash"`

	// Delay is how far behind now a window ends. What Parca stores later than
	// that after a profile's time is lost.
	Delay time.Duration `mapstructure:"delay"`

	// MaxLookback is how far back the first start, or the end of a long outage,
	// reaches.
	MaxLookback time.Duration `mapstructure:"max_lookback"`

	// MaxWindow is the longest time that one query is about.
	MaxWindow time.Duration `mapstructure:"max_window"`

	// Storage is the storage extension that keeps the cursors; nil keeps them in
	// memory.
	Storage *component.ID `mapstructure:"storage"`

	// Retry is how a query that failed is repeated before the next interval.
	Retry configretry.BackOffConfig `mapstructure:"retry_on_failure"`

	// Queries are the configured queries.
	Queries []QueryConfig `mapstructure:"queries"`

	// Discover adds a query for each profile type that the server has.
	Discover DiscoverConfig `mapstructure:"discover"`

	_ struct{}
}

// QueryConfig is one query.
type QueryConfig struct {
	// Name is the resource attribute parca.query.name, and names the cursor.
	Name string `mapstructure:"name"`

	// Query is a profile type and label matchers, as in Parca's UI.
	Query string `mapstructure:"query"`

	// GroupBy are the labels that become resource attributes.
	GroupBy []string `mapstructure:"group_by"`

	_ struct{}
}

// DiscoverConfig is what to query without naming it.
type DiscoverConfig struct {
	// Enabled says whether the server's profile types are asked for at all.
	Enabled bool `mapstructure:"enabled"`

	// Types are the profile types to query, or how they begin: the name alone,
	// or the name and some of the parts after it. Empty means all.
	Types []string `mapstructure:"types"`

	// Selector are label matchers for all discovered queries.
	Selector string `mapstructure:"selector"`

	// GroupBy are the labels that become resource attributes.
	GroupBy []string `mapstructure:"group_by"`

	// Interval is how often the server is asked for its profile types.
	Interval time.Duration `mapstructure:"interval"`

	_ struct{}
}

func newDefaultConfig() *Config {
	controller := scraperhelper.NewDefaultControllerConfig()
	controller.CollectionInterval = 20 * time.Second
	retry := configretry.NewDefaultBackOffConfig()
	retry.InitialInterval = time.Second
	retry.MaxInterval = 10 * time.Second
	retry.MaxElapsedTime = 0 // the collection interval bounds it
	return &Config{
		Client:      configgrpc.NewDefaultClientConfig(),
		Controller:  controller,
		Delay:       15 * time.Second,
		MaxLookback: time.Hour,
		MaxWindow:   5 * time.Minute,
		Retry:       retry,
		Discover:    DiscoverConfig{Interval: 5 * time.Minute},
	}
}

// requestTimeout bounds a request. A server that hangs must not hang for ever.
func (cfg *Config) requestTimeout() time.Duration {
	if cfg.Controller.Timeout > 0 {
		return cfg.Controller.Timeout
	}
	return cfg.Controller.CollectionInterval
}

// retryFor bounds for how long a failed query is repeated before the next
// interval has its turn.
func (cfg *Config) retryFor() time.Duration {
	interval := cfg.Controller.CollectionInterval
	if !cfg.Retry.Enabled {
		return 0
	}
	if limit := cfg.Retry.MaxElapsedTime; limit > 0 && limit < interval {
		return limit
	}
	return interval
}
