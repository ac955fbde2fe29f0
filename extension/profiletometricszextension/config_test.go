// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricszextension

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

func loadExample(t *testing.T, name string) *Config {
	t.Helper()
	examples, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	conf, err := examples.Sub(name)
	require.NoError(t, err)
	cfg := newDefaultConfig()
	require.NoError(t, conf.Unmarshal(cfg))
	require.NoError(t, confmap.Validate(cfg))
	return cfg
}

func TestDefaultsAreThoseOfTheReadme(t *testing.T) {
	cfg := loadExample(t, "profiletometricsz")
	assert.Equal(t, "localhost:55680", cfg.Server.NetAddr.Endpoint)
	assert.Equal(t, 10*time.Second, cfg.Server.ReadHeaderTimeout)
	assert.Equal(t, 10*time.Second, cfg.Server.ReadTimeout)
	assert.Equal(t, time.Minute, cfg.Server.WriteTimeout)
}

func TestEveryKeyIsRead(t *testing.T) {
	cfg := loadExample(t, "profiletometricsz/full")
	assert.Equal(t, "127.0.0.1:8080", cfg.Server.NetAddr.Endpoint)
	assert.Equal(t, 5*time.Second, cfg.Server.ReadHeaderTimeout)
	assert.Equal(t, 6*time.Second, cfg.Server.ReadTimeout)
	assert.Equal(t, 90*time.Second, cfg.Server.WriteTimeout)
	team, given := cfg.Server.ResponseHeaders.Get("X-Team")
	assert.True(t, given)
	assert.Equal(t, "profiling", string(team))
}

func TestMistakesNameTheirKey(t *testing.T) {
	for name, tc := range map[string]struct {
		raw  map[string]any
		want string
	}{
		"a key that does not exist":        {map[string]any{"endpiont": "x"}, "endpiont"},
		"a key of TLS that does not exist": {map[string]any{"tls": map[string]any{"cert": "x"}}, "cert"},
		"no address":                       {map[string]any{"endpoint": ""}, "endpoint: missing; give the address to listen on, such as localhost:55680"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := newDefaultConfig()
			err := confmap.NewFromStringMap(tc.raw).Unmarshal(cfg)
			if err == nil {
				err = confmap.Validate(cfg)
			}
			require.ErrorContains(t, err, tc.want)
		})
	}
}
