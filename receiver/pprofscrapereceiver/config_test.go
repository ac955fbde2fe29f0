// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

// loadConfig reads a configuration over the defaults, as the Collector does.
func loadConfig(t *testing.T, raw map[string]any) (*Config, error) {
	t.Helper()
	cfg := newDefaultConfig()
	if err := confmap.NewFromStringMap(raw).Unmarshal(cfg); err != nil {
		return nil, err
	}
	return cfg, confmap.Validate(cfg)
}

func loadYAML(t *testing.T, text string) (*Config, error) {
	t.Helper()
	retrieved, err := confmap.NewRetrievedFromYAML([]byte(text))
	require.NoError(t, err)
	conf, err := retrieved.AsConf()
	require.NoError(t, err)
	return loadConfig(t, conf.ToStringMap())
}

func loadExample(t *testing.T, name string) *Config {
	t.Helper()
	conf, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	sub, err := conf.Sub(name)
	require.NoError(t, err)
	cfg, err := loadConfig(t, sub.ToStringMap())
	require.NoError(t, err)
	return cfg
}

func TestDefaultsAreThoseOfTheReadme(t *testing.T) {
	cfg := loadExample(t, "pprofscrape")
	assert.Equal(t, 10*time.Second, cfg.CollectionInterval)
	assert.Equal(t, time.Second, cfg.InitialDelay)
	assert.Zero(t, cfg.Timeout)
	assert.Equal(t, 10*time.Second, requestTimeout(cfg.Timeout, cfg.CollectionInterval))
	assert.Equal(t, int64(64<<20), cfg.MaxResponseBodySize)
	require.Len(t, cfg.Targets, 1)
	assert.Equal(t, []string{"cpu", "memory"}, cfg.Targets[0].enabledProfiles())
	assert.Equal(t, map[string]string{
		"cpu":    "http://localhost:6060/debug/pprof/profile?seconds=5",
		"memory": "http://localhost:6060/debug/pprof/allocs",
	}, cfg.Targets[0].profileURLs())
}

func TestEveryKeyIsRead(t *testing.T) {
	cfg := loadExample(t, "pprofscrape/full")
	assert.Equal(t, 30*time.Second, cfg.CollectionInterval)
	assert.Equal(t, 2*time.Second, cfg.InitialDelay)
	assert.Equal(t, 3*time.Second, cfg.Timeout)
	assert.Equal(t, 3*time.Second, requestTimeout(cfg.Timeout, cfg.CollectionInterval))
	assert.Equal(t, int64(1<<20), cfg.MaxResponseBodySize)
	assert.Equal(t, "targets.yaml", cfg.TargetsFile)
	assert.Equal(t, []string{"*.pb.gz"}, cfg.IncludeFiles)
	target := cfg.Targets[0]
	assert.Equal(t, "checkout", target.ServiceName)
	assert.Equal(t, map[string]any{"deployment.environment.name": "prod", "shard": 3}, target.ResourceAttributes)
	assert.Equal(t, 20*time.Second, target.Client.Timeout)
	assert.Equal(t, "http://127.0.0.1:3128", target.Client.ProxyURL)
	assert.True(t, target.Client.TLS.InsecureSkipVerify)
	header, _ := target.Client.Headers.Get("X-Scope")
	assert.Equal(t, configopaque.String("team"), header)
	assert.Equal(t, map[string]string{
		"cpu":         "https://localhost:6060/app/pod/debug/pprof/profile?seconds=2&tenant=a",
		"goroutine":   "https://localhost:6060/app/pod/debug/pprof/goroutine?tenant=a",
		"heap":        "https://localhost:6060/app/pod/debug/pprof/heap?gc=1&tenant=b&tenant=c",
		"delta_mutex": "https://localhost:6060/app/pod/debug/pprof/delta_mutex?tenant=a",
	}, target.profileURLs())
	heap := target.Profiles["heap"]
	assert.Equal(t, []SampleTypeConfig{{Type: "inuse_space", Unit: "bytes"}, {Type: "inuse_objects"}}, heap.KeepSampleTypes)
	assert.Equal(t, time.Minute, heap.interval(cfg.CollectionInterval))
	assert.Equal(t, 30*time.Second, target.Profiles["cpu"].interval(cfg.CollectionInterval))
	assert.True(t, target.Profiles["delta_mutex"].Delta)
}

func TestProfilesMergeOverTheirDefaults(t *testing.T) {
	for _, tc := range []struct {
		name, profiles string
		profile        string
		want           ProfileConfig
	}{
		{
			"seconds alone keep path and enabled", "cpu: {seconds: 2}", "cpu",
			ProfileConfig{Enabled: true, Path: "/debug/pprof/profile", Seconds: 2},
		},
		{
			"seconds may be the whole interval", "cpu: {seconds: 10}", "cpu",
			ProfileConfig{Enabled: true, Path: "/debug/pprof/profile", Seconds: 10},
		},
		{
			"enabled alone keeps the path", "goroutine: {enabled: true}", "goroutine",
			ProfileConfig{Enabled: true, Path: "/debug/pprof/goroutine"},
		},
		{
			"an unknown name is enabled by naming it", "heap: {path: /heap}", "heap",
			ProfileConfig{Enabled: true, Path: "/heap"},
		},
		{
			"an unknown name can be disabled", "heap: {path: /heap, enabled: false}", "heap",
			ProfileConfig{Path: "/heap"},
		},
		{
			"the path of heap is known", "heap: ", "heap",
			ProfileConfig{Enabled: true, Path: "/debug/pprof/heap"},
		},
		{
			"an interval alone keeps the rest", "cpu: {collection_interval: 1m}", "cpu",
			ProfileConfig{Enabled: true, Path: "/debug/pprof/profile", Seconds: 5, CollectionInterval: time.Minute},
		},
		{
			"a name without anything keeps its default", "{fgprof: , cpu: }", "fgprof",
			ProfileConfig{Path: "/debug/pprof/fgprof", Seconds: 5},
		},
		{
			"what is not named keeps its default", "block: {enabled: true}", "memory",
			ProfileConfig{Enabled: true, Path: "/debug/pprof/allocs"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg, err := loadYAML(t, "targets: [{endpoint: 'http://localhost:1', profiles: {"+trimBraces(tc.profiles)+"}}]")
			require.NoError(t, err)
			assert.Equal(t, tc.want, cfg.Targets[0].Profiles[tc.profile])
		})
	}
}

func trimBraces(s string) string {
	if s[0] == '{' {
		return s[1 : len(s)-1]
	}
	return s
}

func TestMistakesAreNamedWithTheirKeyAndTheFix(t *testing.T) {
	target := func(rest string) string { return "targets: [{endpoint: 'http://localhost:1', " + rest + "}]" }
	for _, tc := range []struct {
		name, config string
		want         []string
	}{
		{"nothing to scrape", "{}", []string{"targets: nothing to scrape; give targets, targets_file, scrape_configs or include_files"}},
		{"no endpoint", "targets: [{service_name: a}]", []string{"targets::0::endpoint: missing"}},
		{"an endpoint without a scheme", "targets: [{endpoint: 'localhost:6060'}]", []string{"targets::0::endpoint: needs a scheme"}},
		{"an endpoint of another scheme", "targets: [{endpoint: 'ftp://localhost'}]", []string{"targets::0::endpoint: needs a scheme"}},
		{"an endpoint that is no URL", "targets: [{endpoint: 'http://local host'}]", []string{"targets::0::endpoint: is not a valid URL"}},
		{"an endpoint with a query", "targets: [{endpoint: 'http://localhost?a=b'}]", []string{"targets::0::endpoint: must not have a query"}},
		{"no CPU time", target("profiles: {cpu: {seconds: 0}}"), []string{"targets::0::profiles::cpu::seconds: must be positive"}},
		{"no fgprof time", target("profiles: {fgprof: {enabled: true, seconds: 0}}"), []string{"targets::0::profiles::fgprof::seconds: must be positive"}},
		{"negative seconds", target("profiles: {memory: {seconds: -1}}"), []string{"targets::0::profiles::memory::seconds: must not be negative"}},
		{"seconds longer than the interval", target("profiles: {cpu: {seconds: 11}}"), []string{"targets::0::profiles::cpu::seconds: 11 is more than collection_interval (10s)"}},
		{"seconds as long as the timeout", target("timeout: 5s"), []string{"targets::0::profiles::cpu::seconds: 5 is not less than the target's timeout (5s)"}},
		{"no path", target("profiles: {custom: {}}"), []string{"targets::0::profiles::custom::path: missing"}},
		{"a path that is relative", target("profiles: {custom: {path: debug}}"), []string{`targets::0::profiles::custom::path: "debug" is not a path`}},
		{"a path that is a URL", target("profiles: {custom: {path: 'http://localhost/x'}}"), []string{"targets::0::profiles::custom::path:"}},
		{"a path that is another host", target("profiles: {custom: {path: '//localhost/x'}}"), []string{"targets::0::profiles::custom::path:"}},
		{"no profile", target("profiles: {cpu: {enabled: false}, memory: {enabled: false}}"), []string{"targets::0::profiles: no profile is enabled"}},
		{"a bad glob", "include_files: ['[', '']", []string{"include_files::0: \"[\" is no glob", "include_files::1:"}},
		{"a body limit of nothing", "{max_response_body_size: 0, include_files: [a]}", []string{"max_response_body_size: 0 bytes"}},
		{"an attribute without a name", target("resource_attributes: {'': x}"), []string{"targets::0::resource_attributes: an attribute needs a name"}},
		{"a proxy that is no URL", target("proxy_url: 'local host'"), []string{"targets::0::proxy_url: is not a valid URL"}},
		{"an attribute of a type that OTLP does not have", target("resource_attributes: {since: 2001-01-01}"), []string{"targets::0::resource_attributes:"}},
		{"request compression", target("compression: gzip"), []string{"targets::0::compression:"}},
		{
			"a target twice", "targets: [{endpoint: 'http://localhost:1'}, {endpoint: 'http://localhost:1', profiles: {memory: {enabled: false}}}]",
			[]string{"targets::1::profiles::cpu: has the same URL as targets::0::profiles::cpu"},
		},
		{
			"a path twice in one target", target("profiles: {allocs: {path: /debug/pprof/allocs}}"),
			[]string{"targets::0::profiles::memory: has the same URL as targets::0::profiles::allocs"},
		},
		{"no time for a CPU profile of another name", target("profiles: {process_cpu: {path: '/debug/pprof/profile?a=b'}}"), []string{"targets::0::profiles::process_cpu::seconds: must be positive"}},
		{"seconds longer than the profile's interval", target("profiles: {cpu: {collection_interval: 3s}}"), []string{"targets::0::profiles::cpu::seconds: 5 is more than collection_interval (3s)"}},
		{"seconds as a parameter", target("profiles: {memory: {params: {seconds: ['5']}}}"), []string{"targets::0::profiles::memory::params: has the parameter seconds"}},
		{"seconds as a parameter of the target", target("params: {seconds: ['5']}"), []string{"targets::0::params: has the parameter seconds"}},
		{"seconds in the path", target("profiles: {memory: {path: '/allocs?seconds=5'}}"), []string{"targets::0::profiles::memory::path: has the parameter seconds"}},
		{"a parameter without a name", target("params: {'': [x]}"), []string{"targets::0::params: a parameter needs a name"}},
		{"a prefix that is relative", target("path_prefix: app"), []string{`targets::0::path_prefix: "app" is not the beginning of a path`}},
		{"a prefix with a query", target("path_prefix: '/app?a=b'"), []string{"targets::0::path_prefix:"}},
		{"a sample type without a name", target("profiles: {memory: {keep_sample_types: [{unit: bytes}]}}"), []string{"targets::0::profiles::memory::keep_sample_types::0::type: missing"}},
		{"a negative interval of a profile", target("profiles: {memory: {collection_interval: -1s}}"), []string{"targets::0::profiles::memory::collection_interval: must be positive"}},
		{"no interval", "{collection_interval: 0s, include_files: [a]}", []string{`"collection_interval": requires positive value`}},
		{"a negative timeout", "{timeout: -1s, include_files: [a]}", []string{`"timeout": requires positive value`}},
		{"an unknown key", "{target: []}", []string{"invalid keys: target"}},
		{"an unknown key of a target", target("servce_name: a"), []string{"invalid keys: servce_name"}},
		{"an unknown key of a profile", target("profiles: {cpu: {second: 1}}"), []string{"profiles::cpu", "invalid keys: second"}},
		{"profiles that are a list", target("profiles: [cpu]"), []string{"profiles: expected a map"}},
		{"a profile that is a number", target("profiles: {cpu: 5}"), []string{"profiles::cpu: expected enabled, path or seconds"}},
		{"several mistakes at once", "{targets: [{}, {endpoint: 'x', profiles: {cpu: {seconds: 99}}}], include_files: ['[']}", []string{
			"targets::0::endpoint", "targets::1::endpoint", "targets::1::profiles::cpu::seconds", "include_files::0",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := loadYAML(t, tc.config)
			for _, want := range tc.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestNoErrorShowsACredential(t *testing.T) {
	for _, endpoint := range []string{
		"http://user:s3cret@local host", "ftp://user:s3cret@localhost", "http://user:s3cret@localhost:port",
		"http://user:s3cret@localhost?token=s3cret",
	} {
		_, err := loadConfig(t, map[string]any{"targets": []any{map[string]any{"endpoint": endpoint}}})
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "s3cret")
	}
	_, err := loadConfig(t, map[string]any{"targets": []any{map[string]any{
		"endpoint": "http://localhost:1", "proxy_url": "http://me:s3cret@local host",
	}}})
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "s3cret")
}

func TestTheExamplesOfTheReadmeAreValid(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(readme, -1)
	require.Len(t, blocks, 6)
	for _, block := range blocks {
		example := string(block[1])
		if receiver, found := strings.CutPrefix(example, "receivers:\n"); found {
			retrieved, err := confmap.NewRetrievedFromYAML([]byte(receiver))
			require.NoError(t, err)
			conf, err := retrieved.AsConf()
			require.NoError(t, err)
			sub, err := conf.Sub("pprofscrape")
			require.NoError(t, err)
			_, err = loadConfig(t, sub.ToStringMap())
			require.NoError(t, err)
			continue
		}
		_, err := (&targetsFile{config: newDefaultConfig()}).parse([]byte(example))
		require.NoError(t, err)
	}
}
