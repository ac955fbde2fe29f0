// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	promdiscovery "github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
)

// compileJob reads a configuration with one job.
func compileJob(t *testing.T, text string) *job {
	t.Helper()
	cfg, err := loadYAML(t, text)
	require.NoError(t, err)
	jobs, errs := cfg.compileScrapeConfigs()
	require.Empty(t, errs)
	require.Len(t, jobs, 1)
	return jobs[0]
}

// targetsAt are the targets that a job makes of addresses with labels.
func (j *job) targetsAt(common model.LabelSet, addresses ...string) []TargetConfig {
	group := &targetgroup.Group{Labels: common}
	for _, address := range addresses {
		group.Targets = append(group.Targets, model.LabelSet{model.AddressLabel: model.LabelValue(address)})
	}
	targets, _ := j.find([]*targetgroup.Group{group}, defaultCollectionInterval)
	return targets
}

func TestADiscoveredTargetIsAListedOne(t *testing.T) {
	j := compileJob(t, `
scrape_configs:
  - job_name: shop
    scheme: https
    static_configs: [{targets: ['h:1'], labels: {deployment_environment_name: prod}}]
    timeout: 20s
    headers: {X-Scope: team}
    tls: {insecure_skip_verify: true}
    resource_attributes: {shard: 3, deployment.environment.name: dev}
    path_prefix: /app
    params: {x: [a, b]}
    profiles:
      cpu: {seconds: 2}
      memory: {path: /debug/pprof/heap, params: {gc: ['1']}, collection_interval: 1m, keep_sample_types: [{type: alloc_space}]}
`)
	targets := j.targetsAt(model.LabelSet{"deployment_environment_name": "prod"}, "h:1")
	require.Len(t, targets, 1)

	want, err := loadYAML(t, `
targets:
  - endpoint: https://h:1
    service_name: shop
    timeout: 20s
    headers: {X-Scope: team}
    tls: {insecure_skip_verify: true}
    resource_attributes: {shard: 3, deployment.environment.name: prod, service.instance.id: 'h:1'}
    profiles:
      cpu: {path: '/app/debug/pprof/profile?x=a&x=b', seconds: 2}
      memory: {path: '/app/debug/pprof/heap?gc=1&x=a&x=b', collection_interval: 1m, keep_sample_types: [{type: alloc_space}]}
`)
	require.NoError(t, err)
	listed := want.Targets[0]
	for name, p := range listed.Profiles {
		if !p.Enabled {
			delete(listed.Profiles, name)
		}
	}
	assert.Equal(t, listed, targets[0])
	assert.Equal(t, 20*time.Second, targets[0].Client.Timeout)
}

func TestWhatRulesMakeInvalidIsNamed(t *testing.T) {
	j := compileJob(t, `
scrape_configs:
  - job_name: shop
    static_configs: [{targets: ['h:1']}]
    relabel_configs: [{source_labels: [bad], regex: (.+), target_label: __param_seconds}]
`)
	group := &targetgroup.Group{Targets: []model.LabelSet{
		{model.AddressLabel: "bad:1", "bad": "3"}, {model.AddressLabel: "good:1"},
	}}
	targets, outcome := j.find([]*targetgroup.Group{group}, defaultCollectionInterval)
	require.Len(t, targets, 1)
	assert.Equal(t, "http://good:1", targets[0].Client.Endpoint)
	require.Len(t, outcome.Invalid, 1)
	assert.ErrorContains(t, outcome.Invalid[0],
		`target "http://bad:1" of job "shop"::profiles::cpu::path: has the parameter seconds`)
}

func TestTheServiceIsNamedByItsLabel(t *testing.T) {
	for _, tc := range []struct {
		name, job string
		labels    model.LabelSet
		want      string
	}{
		{"the job", "job_name: shop", nil, "shop"},
		{"the label job", "job_name: shop", model.LabelSet{"job": "cart"}, "cart"},
		{"the service_name of the job", "{job_name: shop, service_name: checkout}", model.LabelSet{"job": "cart"}, "checkout"},
		{"the label service_name", "{job_name: shop, service_name: checkout}", model.LabelSet{"service_name": "pay"}, "pay"},
		{"the label service.name", "{job_name: shop, service_name: checkout}", model.LabelSet{"service.name": "pay"}, "pay"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fields := strings.Trim(tc.job, "{}")
			j := compileJob(t, "scrape_configs: [{static_configs: [{targets: ['h:1']}], "+fields+"}]")
			targets := j.targetsAt(tc.labels, "h:1")
			require.Len(t, targets, 1)
			assert.Equal(t, tc.want, targets[0].ServiceName)
			assert.Equal(t, map[string]any{"service.instance.id": "h:1"}, targets[0].ResourceAttributes)
		})
	}
}

func TestMistakesInScrapeConfigsAreAllNamedWithTheirKeys(t *testing.T) {
	_, err := loadYAML(t, `
scrape_configs:
  - scheme: ftp
    endpoint: http://h:1
    http_sd_configs: [{url: 'http://h'}, {}]
    relabel_configs: [{action: keepp}]
    profiles: {cpu: {seconds: 11}, other: {}}
  - job_name: a
  - job_name: a
    kubernetes_sd_configs: [{role: pod}]
`)
	for _, want := range []string{
		"scrape_configs::0::job_name: missing",
		`scrape_configs::0::scheme: "ftp" is neither http nor https`,
		"scrape_configs::0::endpoint: a job finds its targets",
		"scrape_configs::0::http_sd_configs::1: URL is missing",
		`scrape_configs::0::relabel_configs::0: unknown relabel action "keepp"`,
		"scrape_configs::0::profiles::cpu::seconds: 11 is more than",
		"scrape_configs::0::profiles::other::path: missing",
		"scrape_configs::1::static_configs: nothing to scrape",
		`scrape_configs::2::job_name: "a" is the name of scrape_configs::1 too`,
		"scrape_configs::2::kubernetes_sd_configs: this build of the collector cannot discover targets with kubernetes",
		"receiver/pprofscrapereceiver/kubernetessd",
	} {
		require.ErrorContains(t, err, want)
	}

	_, err = loadYAML(t, "scrape_configs: [{job_name: a, static_configs: [{targets: []}], relabel_config: []}]")
	require.ErrorContains(t, err, "relabel_config")
}

// The Collector expands ${…} and $$ before a receiver sees its configuration.
func TestDollarsInRulesAreWhatTheReadmeSays(t *testing.T) {
	t.Setenv("SHOP_SUFFIX", "prod")
	for _, tc := range []struct{ name, written, want string }{
		{"$1 stays", "'$1'", "h"},
		{"$$1 is $1", "'$$1'", "h"},
		{"$${1} is ${1}", "'$${1}x'", "hx"},
		{"a variable of the environment", "'$1-${env:SHOP_SUFFIX}'", "h-prod"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := strings.ReplaceAll(`
scrape_configs:
  - job_name: shop
    static_configs: [{targets: ['h:1']}]
    relabel_configs:
      - {source_labels: [__address__], regex: '(.*):\d+', target_label: host, replacement: WRITTEN}
`, "WRITTEN", tc.written)
			cfg := newDefaultConfig()
			conf, err := resolve(t, text)
			require.NoError(t, err)
			require.NoError(t, conf.Unmarshal(cfg))
			jobs, errs := cfg.compileScrapeConfigs()
			require.Empty(t, errs)
			assert.Equal(t, tc.want, jobs[0].targetsAt(nil, "h:1")[0].ResourceAttributes["host"])
		})
	}
	t.Setenv("SHOP_NUMBER", "0123")
	conf, err := resolve(t, "scrape_configs: [{job_name: '${env:SHOP_NUMBER}', static_configs: [{targets: ['${env:SHOP_SUFFIX}']}]}]")
	require.NoError(t, err)
	cfg := newDefaultConfig()
	require.NoError(t, conf.Unmarshal(cfg))
	assert.Equal(t, "0123", cfg.ScrapeConfigs[0].JobName)
	jobs, errs := cfg.compileScrapeConfigs()
	require.Empty(t, errs)
	assert.Equal(t, "prod", string(jobs[0].sources[0].(promdiscovery.StaticConfig)[0].Targets[0][model.AddressLabel]))

	_, err = resolve(t, "replacement: '${1}'")
	require.ErrorContains(t, err, "environment variable \"1\" has invalid name")
}

// resolve reads a configuration as the collector's command line does.
func resolve(t *testing.T, text string) (*confmap.Conf, error) {
	t.Helper()
	resolver, err := confmap.NewResolver(confmap.ResolverSettings{
		URIs:              []string{"yaml:" + text},
		ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory(), envprovider.NewFactory()},
		DefaultScheme:     "env",
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, resolver.Shutdown(t.Context())) })
	return resolver.Resolve(t.Context())
}
