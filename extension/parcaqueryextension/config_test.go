// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaqueryextension

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configcompression"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

func load(conf *confmap.Conf) (*Config, error) {
	cfg := newDefaultConfig()
	if err := conf.Unmarshal(cfg); err != nil {
		return nil, err
	}
	return cfg, confmap.Validate(cfg)
}

func loadExample(t *testing.T, name string) *Config {
	t.Helper()
	examples, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	conf, err := examples.Sub(name)
	require.NoError(t, err)
	cfg, err := load(conf)
	require.NoError(t, err)
	return cfg
}

func TestDefaultsAreThoseOfTheReadme(t *testing.T) {
	cfg := loadExample(t, "parcaquery")
	assert.Equal(t, "localhost:7171", cfg.Server.NetAddr.Endpoint)
	assert.Equal(t, 10*time.Second, cfg.Server.ReadHeaderTimeout)
	assert.Equal(t, 10*time.Second, cfg.Server.ReadTimeout)
	assert.Equal(t, 2*time.Minute, cfg.Server.WriteTimeout)
	assert.Equal(t, "parca:7070", cfg.Parca.Endpoint)
	assert.False(t, cfg.Parca.TLS.Insecure)
	assert.Equal(t, 30*time.Second, cfg.Timeout)
	assert.Equal(t, 4, cfg.MaxConcurrentQueries)
	assert.Equal(t, 24*time.Hour, cfg.MaxWindow)
	assert.Equal(t, int64(268_435_456), cfg.MaxResponseSize)
}

func TestEveryKeyIsRead(t *testing.T) {
	cfg := loadExample(t, "parcaquery/full")
	assert.Equal(t, "127.0.0.1:8080", cfg.Server.NetAddr.Endpoint)
	assert.Equal(t, 5*time.Second, cfg.Server.ReadHeaderTimeout)
	assert.Equal(t, 6*time.Second, cfg.Server.ReadTimeout)
	assert.Equal(t, 90*time.Second, cfg.Server.WriteTimeout)
	team, given := cfg.Server.ResponseHeaders.Get("X-Team")
	assert.True(t, given)
	assert.Equal(t, "profiling", string(team))
	assert.Equal(t, 50*time.Second, cfg.Timeout)
	assert.Equal(t, 2, cfg.MaxConcurrentQueries)
	assert.Equal(t, 168*time.Hour, cfg.MaxWindow)
	assert.Equal(t, int64(1_048_576), cfg.MaxResponseSize)
	assert.Equal(t, "parca.example.com:443", cfg.Parca.Endpoint)
	assert.Equal(t, configcompression.TypeGzip, cfg.Parca.Compression)
	scope, given := cfg.Parca.Headers.Get("X-Scope")
	assert.True(t, given)
	assert.Equal(t, "team", string(scope))
	assert.True(t, cfg.Parca.TLS.InsecureSkipVerify)
	assert.Equal(t, "bearertokenauth", cfg.Parca.Auth.Get().AuthenticatorID.String())
}

func TestMistakesNameTheirKey(t *testing.T) {
	parca := map[string]any{"endpoint": "parca:7070"}
	for _, tc := range []struct {
		name string
		raw  map[string]any
		want []string
	}{
		{"nothing at all", map[string]any{}, []string{"parca::endpoint: missing; give the address of Parca's gRPC service, such as parca:7070"}},
		{"a key that does not exist", map[string]any{"parca": parca, "endpiont": "x"}, []string{"endpiont"}},
		{"a key of Parca's that does not exist", map[string]any{"parca": map[string]any{"host": "x"}}, []string{"parca: ", "host"}},
		{"a key of TLS that does not exist", map[string]any{"parca": map[string]any{"tls": map[string]any{"insecur": true}}}, []string{"insecur"}},
		{"Parca as a text", map[string]any{"parca": "parca:7070"}, []string{"parca: expected the settings of a gRPC client"}},
		{"a duration without unit", map[string]any{"parca": parca, "timeout": "30"}, []string{"timeout", "missing unit"}},
		{"an address without port", map[string]any{"parca": map[string]any{"endpoint": "parca"}}, []string{"parca: ", "missing port"}},
		{
			"everything wrong", map[string]any{
				"endpoint": "", "timeout": "0s", "max_concurrent_queries": 0, "max_window": "-1s", "max_response_size": -1,
			}, []string{
				"\nparca::endpoint: missing", "endpoint: missing; give the address to listen on",
				"timeout: 0s leaves no time for a query; give a positive duration",
				"max_concurrent_queries: 0 would refuse every query; give a positive number",
				"max_window: -1s would refuse every query; give a positive duration",
				"max_response_size: -1 bytes would refuse every answer; give a positive number",
			},
		},
		{
			"an answer cut short by the server",
			map[string]any{"parca": parca, "timeout": "2m"},
			[]string{"write_timeout: 2m0s must be longer than timeout (2m0s): it includes the query"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := load(confmap.NewFromStringMap(tc.raw))
			for _, want := range tc.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestAServerWithoutWriteTimeoutIsAllowed(t *testing.T) {
	_, err := load(confmap.NewFromStringMap(map[string]any{
		"parca": map[string]any{"endpoint": "parca:7070"}, "write_timeout": "0s",
	}))
	require.NoError(t, err)
}
