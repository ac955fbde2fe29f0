// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"errors"
	"testing"

	"github.com/prometheus/prometheus/discovery"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func sourcesOf(tb testing.TB, text string) (Sources, error) {
	tb.Helper()
	raw := map[string]any{}
	require.NoError(tb, yaml.Unmarshal([]byte(text), &raw))
	sources, errs := ParseSources(raw)
	return sources, errors.Join(errs...)
}

func TestSourcesAreThoseOfPrometheus(t *testing.T) {
	sources, err := sourcesOf(t, `
static_configs: [{targets: ['a:1', 'b:2'], labels: {team: x, k8s.pod.name: y}}, {targets: ['c:3']}]
file_sd_configs: [{files: [targets/*.yaml], refresh_interval: 1m}]
http_sd_configs:
  - url: http://localhost:1/targets
    basic_auth: {username: u, password: p}
    tls_config: {insecure_skip_verify: true}
dns_sd_configs: [{names: [_pprof._tcp.example], type: SRV}, {names: [a.example], type: A, port: 6060}]
`)
	require.NoError(t, err)
	var names []string
	for _, source := range sources {
		names = append(names, source.Name())
	}
	assert.Equal(t, []string{"dns", "dns", "file", "http", "static"}, names)
	groups := sources[4].(discovery.StaticConfig)
	require.Len(t, groups, 2)
	assert.NotEqual(t, groups[0].Source, groups[1].Source)
}

func TestMistakesInSourcesNameTheirPlace(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"no list", `static_configs: {targets: [a]}`, "static_configs: expected a list, got map"},
		{"an unknown key", `http_sd_configs: [{url: 'http://h', urll: x}]`, "http_sd_configs::0: field urll not found"},
		{"an unknown key of a group", `static_configs: [{targets: [a], label: x}]`, "static_configs::0: field label not found"},
		{"a wrong type", `static_configs: [{targets: a}]`, "static_configs::0: cannot unmarshal !!str `a` into []string"},
		{"nothing", `file_sd_configs: [null]`, "file_sd_configs::0: empty or null section"},
		{"no URL", `http_sd_configs: [{}]`, "http_sd_configs::0: URL is missing"},
		{"the second of a list", `dns_sd_configs: [{names: [a]}, {names: [b], type: A}]`, "dns_sd_configs::1: a port is required"},
		{"a file of another kind", `file_sd_configs: [{files: [targets.txt]}]`, `"targets.txt" is not valid for file discovery`},
		{"no refresh", `http_sd_configs: [{url: 'http://h', refresh_interval: 0s}]`, "refresh_interval: must be positive"},
		{"a mechanism that is not linked", `kubernetes_sd_configs: [{role: pod}]`, "kubernetes_sd_configs: this build of the collector cannot discover targets with kubernetes, only with dns, file, http, static"},
		{"a mechanism that does not exist", `crystal_sd_configs: []`, "cannot discover targets with crystal"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := sourcesOf(t, tc.text)
			require.ErrorContains(t, err, tc.want)
			assert.NotContains(t, err.Error(), "line ")
			assert.NotContains(t, err.Error(), "struct {")
		})
	}
}

func TestAllMistakesInSourcesAreReported(t *testing.T) {
	_, err := sourcesOf(t, `
http_sd_configs: [{}, {url: 'http://h'}, {url: 'ftp://h'}]
file_sd_configs: [{}]
`)
	require.ErrorContains(t, err, "http_sd_configs::0: ")
	require.ErrorContains(t, err, "http_sd_configs::2: ")
	require.ErrorContains(t, err, "file_sd_configs::0: ")
}

func TestMistakesInRulesNameTheirPlace(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"an unknown action", `[{action: keepp}]`, `relabel_configs::0: unknown relabel action "keepp"`},
		{"an unknown key", `[{sources: [a]}]`, "relabel_configs::0: field sources not found"},
		{"a bad expression", `[{action: drop}, {regex: '('}]`, "relabel_configs::1: error parsing regexp"},
		{"no target", `[{action: replace}]`, "relabel_configs::0: relabel configuration for replace action requires 'target_label' value"},
		{"nothing", `[null]`, "relabel_configs::0: empty"},
		{"a string", `[drop]`, "relabel_configs::0: cannot unmarshal !!str `drop`"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var raw []any
			require.NoError(t, yaml.Unmarshal([]byte(tc.text), &raw))
			_, errs := ParseRules(raw)
			require.ErrorContains(t, errors.Join(errs...), tc.want)
		})
	}
}

// FuzzParse reads anything as sources and rules, and applies what is valid.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"static_configs: [{targets: ['a:1', '[::1]'], labels: {__scheme__: https}}]",
		"http_sd_configs: [{url: 'http://h', refresh_interval: 1s}]\nrelabel_configs: [{action: labelmap, regex: '(.*)', replacement: 'x_$1'}]",
		"static_configs: [{targets: [a]}]\nrelabel_configs: [{action: hashmod, modulus: 2, source_labels: [__address__], target_label: s}]",
		"static_configs: [{targets: [a]}]\nrelabel_configs: [{action: labeldrop, regex: '.*'}]",
		"relabel_configs: [{target_label: '$1', regex: '(a|b)', replacement: '${1}'}]",
		"file_sd_configs: [{files: ['*.json']}]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw := map[string]any{}
		if yaml.Unmarshal([]byte(text), &raw) != nil {
			return
		}
		rawRules, _ := raw["relabel_configs"].([]any)
		delete(raw, "relabel_configs")
		sources, _ := ParseSources(raw)
		job := testJob(t, "[]")
		job.Rules, _ = ParseRules(rawRules)
		for _, source := range sources {
			groups, isStatic := source.(discovery.StaticConfig)
			if !isStatic {
				continue
			}
			found := 0
			for _, target := range job.Targets(groups).Targets {
				found += len(target.Paths)
			}
			all := 0
			for _, group := range groups {
				all += len(group.Targets) * len(job.Profiles)
			}
			require.LessOrEqual(t, found, all)
		}
	})
}
