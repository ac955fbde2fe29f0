// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi/parcatest"
)

// load reads a configuration over the defaults, as the Collector does.
func load(t *testing.T, yaml string) (*Config, error) {
	t.Helper()
	retrieved, err := confmap.NewRetrievedFromYAML([]byte(yaml))
	require.NoError(t, err)
	conf, err := retrieved.AsConf()
	require.NoError(t, err)
	cfg := newDefaultConfig()
	if err := conf.Unmarshal(cfg); err != nil {
		return nil, err
	}
	return cfg, confmap.Validate(cfg)
}

func TestDefaultsAreThoseOfTheReadme(t *testing.T) {
	cfg, err := load(t, "{endpoint: localhost:7070, queries: [{name: cpu, query: "+cpuType+"}]}")
	require.NoError(t, err)
	assert.Equal(t, 20*time.Second, cfg.Controller.CollectionInterval)
	assert.Equal(t, time.Second, cfg.Controller.InitialDelay)
	assert.Equal(t, 20*time.Second, cfg.requestTimeout())
	assert.Equal(t, 15*time.Second, cfg.Delay)
	assert.Equal(t, time.Hour, cfg.MaxLookback)
	assert.Equal(t, 5*time.Minute, cfg.MaxWindow)
	assert.Nil(t, cfg.Storage)
	assert.True(t, cfg.Retry.Enabled)
	assert.Equal(t, time.Second, cfg.Retry.InitialInterval)
	assert.Equal(t, 10*time.Second, cfg.Retry.MaxInterval)
	assert.InDelta(t, 1.5, cfg.Retry.Multiplier, 0)
	assert.InDelta(t, 0.5, cfg.Retry.RandomizationFactor, 0)
	assert.Equal(t, 20*time.Second, cfg.retryFor())
	assert.Equal(t, DiscoverConfig{Interval: 5 * time.Minute}, cfg.Discover)
}

func TestEveryKeyIsRead(t *testing.T) {
	conf, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	cfg := newDefaultConfig()
	require.NoError(t, conf.Unmarshal(cfg))
	require.NoError(t, confmap.Validate(cfg))
	assert.Equal(t, "parca:7070", cfg.Client.Endpoint)
	assert.True(t, cfg.Client.TLS.Insecure)
	assert.Equal(t, "bearertokenauth", cfg.Client.Auth.Get().AuthenticatorID.String())
	header, _ := cfg.Client.Headers.Get("X-Scope")
	assert.Equal(t, configopaque.String("team"), header)
	assert.Equal(t, "gzip", string(cfg.Client.Compression))
	assert.Equal(t, 30*time.Second, cfg.Controller.CollectionInterval)
	assert.Equal(t, 2*time.Second, cfg.Controller.InitialDelay)
	assert.Equal(t, 25*time.Second, cfg.requestTimeout())
	assert.Equal(t, 10*time.Second, cfg.Delay)
	assert.Equal(t, 2*time.Hour, cfg.MaxLookback)
	assert.Equal(t, time.Minute, cfg.MaxWindow)
	assert.Equal(t, "file_storage", cfg.Storage.String())
	assert.Equal(t, 12*time.Second, cfg.retryFor())
	assert.Equal(t, []QueryConfig{
		{Name: "WriteRawAPI", Query: `process_cpu:samples:count:cpu:nanoseconds:delta{job="parca"}`, GroupBy: []string{"job", "instance"}},
		{Name: "heap", Query: inuseType},
	}, cfg.Queries)
	assert.Equal(t, DiscoverConfig{
		Enabled: true, Types: []string{"goroutine", "memory:alloc_space"}, Selector: `job=~"^shop$"`,
		GroupBy: []string{"job"}, Interval: time.Minute,
	}, cfg.Discover)
}

func TestMistakesAreReportedTogetherEachWithItsKey(t *testing.T) {
	_, err := load(t, `
collection_interval: 20s
delay: -1s
max_lookback: 30s
max_window: 10ms
retry_on_failure: { initial_interval: -1s }
queries:
  - query: 'process_cpu:cpu{job="x"}'
  - { name: a, query: 'a:b:c:d:e{job=x}', group_by: [labels.job, job, job] }
  - { name: a, query: 'a:b:c:d:e' }
discover: { enabled: true, types: [""], selector: '{', group_by: [""], interval: 0s }
`)
	require.Error(t, err)
	for _, want := range []string{
		"endpoint: missing",
		"delay: must not be negative",
		"max_lookback: 30s does not reach over delay and two collection intervals; give at least 39s",
		"max_window: must be at least 1s",
		"retry_on_failure: initial_interval value must be",
		"queries::0::name: missing",
		"queries::0::query: the query does not name a profile type",
		"queries::1::query: the query cannot be understood",
		`queries::1::group_by::0: "labels.job" is no label; give the label's name alone`,
		"queries::1::group_by::2: job is there twice",
		"queries::2::name: is that of queries::1 too",
		"discover::types::0: empty",
		"discover::selector: the query cannot be understood",
		`discover::group_by::0: "" is no label`,
		"discover::interval: must be positive",
	} {
		require.ErrorContains(t, err, want)
	}
}

func TestSomethingMustBeQueried(t *testing.T) {
	_, err := load(t, "endpoint: localhost:7070")
	require.ErrorContains(t, err, "queries: nothing to query; give queries, or enable discover")
	_, err = load(t, "{endpoint: localhost:7070, discover: {enabled: true}}")
	require.NoError(t, err)
}

func TestAKeyThatDoesNotExistIsAMistake(t *testing.T) {
	for _, yaml := range []string{
		"lookback: 1h", "tls: {insecur: true}", "queries: [{nam: x}]", "discover: {type: x}", "retry_on_failure: {on: true}",
	} {
		_, err := load(t, yaml)
		require.ErrorContains(t, err, "invalid keys", yaml)
	}
}

func TestATokenIsSentAndNeverShown(t *testing.T) {
	const token = "s3cret-t0ken"
	for _, code := range []codes.Code{codes.Unauthenticated, codes.PermissionDenied, codes.Unknown, codes.Unavailable, codes.InvalidArgument} {
		t.Run(code.String(), func(t *testing.T) {
			server, address := parcatest.Start(t)
			server.OnRequest(func(_ context.Context, r parcatest.Request) error {
				return status.Error(code, "you sent authorization: "+strings.Join(r.Metadata.Get("authorization"), ""))
			})
			cfg := testConfig()
			cfg.Client.Endpoint = address
			cfg.Client.Headers.Set("authorization", configopaque.String("Bearer "+token))
			cfg.Retry.Enabled = false
			cfg.Discover.Enabled = true
			cfg.Queries = []QueryConfig{{Name: "cpu", Query: cpuType}, {Name: "heap", Query: inuseType}}
			h := newHarness(t, cfg, nil, nil).start(t)
			require.Eventually(t, func() bool { return len(h.messages(zapcore.ErrorLevel)) == 3 }, time.Minute, 10*time.Millisecond)
			for _, request := range server.Requests() {
				assert.Equal(t, []string{"Bearer " + token}, request.Metadata.Get("authorization"))
			}
			for _, entry := range h.logs.All() {
				assert.NotContains(t, fmt.Sprint(entry.Message, entry.ContextMap()), token)
			}
			assert.NotContains(t, fmt.Sprintf("%v %+v", cfg, cfg.Client), token)
		})
	}
}

func TestTheReceiverAsksARealServerOverTheNetwork(t *testing.T) {
	server, address := parcatest.Start(t)
	server.Serve(parcatest.RecordedStore(t, 8))
	cfg := testConfig()
	cfg.Client.Endpoint = address
	h := newHarness(t, cfg, nil, nil).start(t)
	h.query(t, "shop", cpuType).pollUpTo(t, closed)
	assert.Equal(t, cpu(110), h.delivered(t)[0].flat)
}

func TestAConnectionThatCannotBeSetUpIsAnErrorOfTheStart(t *testing.T) {
	cfg, err := load(t, "{endpoint: localhost:7070, auth: {authenticator: missing}, queries: [{name: cpu, query: "+cpuType+"}]}")
	require.NoError(t, err)
	err = newHarness(t, cfg, nil, nil).Start(t.Context(), componenttest.NewNopHost())
	require.ErrorContains(t, err, "the connection to Parca cannot be set up")
	require.ErrorContains(t, err, "missing")
}
