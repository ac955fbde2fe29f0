// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricszextension

import (
	"fmt"
	"time"

	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/confmap"

	"github.com/profiletometrics/profiletometrics/internal/webserver"
)

const (
	defaultEndpoint     = "localhost:55680" // the port after that of zpages
	defaultWriteTimeout = time.Minute
)

// Config is what the user writes under profiletometricsz.
type Config struct {
	// Server is the HTTP server: endpoint, tls, auth, timeouts…
	Server confighttp.ServerConfig `mapstructure:",squash"`

	_ struct{}
}

func newDefaultConfig() *Config {
	return &Config{Server: webserver.NewDefaultConfig(defaultEndpoint, defaultWriteTimeout)}
}

// Unmarshal reads the keys strictly.
func (cfg *Config) Unmarshal(conf *confmap.Conf) error {
	return webserver.Unmarshal(conf, &cfg.Server)
}

// Validate reports what is wrong, with its key and what to write instead.
func (cfg *Config) Validate() error {
	if cfg.Server.NetAddr.Endpoint == "" {
		return fmt.Errorf("endpoint: missing; give the address to listen on, such as %s", defaultEndpoint)
	}
	return nil
}
