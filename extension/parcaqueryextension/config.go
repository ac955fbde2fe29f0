// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaqueryextension

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/confmap"

	"github.com/profiletometrics/profiletometrics/internal/webserver"
)

const (
	defaultEndpoint             = "localhost:7171"
	defaultWriteTimeout         = 2 * time.Minute
	defaultTimeout              = 30 * time.Second
	defaultMaxConcurrentQueries = 4
	defaultMaxWindow            = 24 * time.Hour
	defaultMaxResponseSize      = 256 << 20
)

// Config is what the user writes under parcaquery.
type Config struct {
	// Server is the HTTP server: endpoint, tls, auth, cors, timeouts…
	Server confighttp.ServerConfig `mapstructure:",squash"`

	// Parca is the gRPC client of the Parca server: endpoint, tls, auth, headers…
	Parca configgrpc.ClientConfig `mapstructure:"parca"`

	// Timeout bounds each query, and what is computed from its answer.
	Timeout time.Duration `mapstructure:"timeout"`

	// MaxConcurrentQueries is how many requests are worked on at a time; further
	// ones are refused.
	MaxConcurrentQueries int `mapstructure:"max_concurrent_queries"`

	// MaxWindow is the longest time from start to end that may be asked for.
	MaxWindow time.Duration `mapstructure:"max_window"`

	// MaxResponseSize is the limit of an answer, in bytes.
	MaxResponseSize int64 `mapstructure:"max_response_size"`

	_ struct{}
}

func newDefaultConfig() *Config {
	return &Config{
		Server:               webserver.NewDefaultConfig(defaultEndpoint, defaultWriteTimeout),
		Parca:                configgrpc.NewDefaultClientConfig(),
		Timeout:              defaultTimeout,
		MaxConcurrentQueries: defaultMaxConcurrentQueries,
		MaxWindow:            defaultMaxWindow,
		MaxResponseSize:      defaultMaxResponseSize,
	}
}

// Unmarshal reads the server's keys apart from all others, each strictly.
func (cfg *Config) Unmarshal(conf *confmap.Conf) error {
	if err := webserver.Unmarshal(conf, &cfg.Server,
		"parca", "timeout", "max_concurrent_queries", "max_window", "max_response_size"); err != nil {
		return err
	}
	parca, err := conf.Sub("parca")
	if err != nil {
		return fmt.Errorf("parca: expected the settings of a gRPC client: %w", err)
	}
	if err := parca.Unmarshal(&cfg.Parca); err != nil {
		return fmt.Errorf("parca: %w", err)
	}

	own := struct {
		Timeout              *time.Duration `mapstructure:"timeout"`
		MaxConcurrentQueries *int           `mapstructure:"max_concurrent_queries"`
		MaxWindow            *time.Duration `mapstructure:"max_window"`
		MaxResponseSize      *int64         `mapstructure:"max_response_size"`
	}{&cfg.Timeout, &cfg.MaxConcurrentQueries, &cfg.MaxWindow, &cfg.MaxResponseSize}
	return conf.Unmarshal(&own, confmap.WithIgnoreUnused())
}

// Validate reports every mistake at once, each with its key and what to write
// instead.
func (cfg *Config) Validate() error {
	var errs []error
	fail := func(key, format string, args ...any) {
		errs = append(errs, fmt.Errorf(key+": "+format, args...))
	}
	if cfg.Server.NetAddr.Endpoint == "" {
		fail("endpoint", "missing; give the address to listen on, such as %s", defaultEndpoint)
	}
	if cfg.Parca.Endpoint == "" {
		fail("parca::endpoint", "missing; give the address of Parca's gRPC service, such as parca:7070")
	}
	if cfg.Timeout <= 0 {
		fail("timeout", "%s leaves no time for a query; give a positive duration", cfg.Timeout)
	}
	if write := cfg.Server.WriteTimeout; write > 0 && write <= cfg.Timeout {
		fail("write_timeout", "%s must be longer than timeout (%s): it includes the query", write, cfg.Timeout)
	}
	if cfg.MaxConcurrentQueries <= 0 {
		fail("max_concurrent_queries", "%d would refuse every query; give a positive number", cfg.MaxConcurrentQueries)
	}
	if cfg.MaxWindow <= 0 {
		fail("max_window", "%s would refuse every query; give a positive duration", cfg.MaxWindow)
	}
	if cfg.MaxResponseSize <= 0 {
		fail("max_response_size", "%d bytes would refuse every answer; give a positive number", cfg.MaxResponseSize)
	}
	return errors.Join(errs...)
}
