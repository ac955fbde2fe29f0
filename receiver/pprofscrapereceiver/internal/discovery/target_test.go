// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"net/url"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// testJob takes two profiles by the rules in text.
func testJob(tb testing.TB, rules string) *Job {
	tb.Helper()
	var raw []any
	require.NoError(tb, yaml.Unmarshal([]byte(rules), &raw))
	parsed, errs := ParseRules(raw)
	require.Empty(tb, errs)
	return &Job{
		Name: "shop", Scheme: "http", Rules: parsed,
		Profiles: map[string]*url.URL{
			"cpu":    {Path: "/debug/pprof/profile"},
			"memory": {Path: "/debug/pprof/heap", RawQuery: "gc=1&x=a&x=b"},
		},
	}
}

func groupOf(common model.LabelSet, targets ...model.LabelSet) []*targetgroup.Group {
	return []*targetgroup.Group{{Targets: targets, Labels: common, Source: "0"}}
}

func at(address string) model.LabelSet {
	return model.LabelSet{model.AddressLabel: model.LabelValue(address)}
}

const (
	cpuPath    = "/debug/pprof/profile"
	memoryPath = "/debug/pprof/heap?gc=1&x=a&x=b"
)

func TestTargetsAreWhereTheLabelsSay(t *testing.T) {
	both := map[string]string{"cpu": cpuPath, "memory": memoryPath}
	for _, tc := range []struct {
		name   string
		rules  string
		common model.LabelSet
		own    model.LabelSet
		want   []Target
	}{
		{
			"without rules, job and instance are added and reserved labels go", "",
			model.LabelSet{"team": "a", "__meta_kind": "x", "__tmp": "y"},
			at("h:1"),
			[]Target{{Endpoint: "http://h:1", Labels: map[string]string{"job": "shop", "instance": "h:1", "team": "a"}, Paths: both}},
		},
		{
			"a target's labels win over its group's, and both over the job's", "",
			model.LabelSet{"job": "group", "instance": "i", "team": "a"},
			model.LabelSet{model.AddressLabel: "h:1", "team": "b"},
			[]Target{{Endpoint: "http://h:1", Labels: map[string]string{"job": "group", "instance": "i", "team": "b"}, Paths: both}},
		},
		{
			"an address without port gets that of the scheme", `[{target_label: __scheme__, replacement: https}]`, nil, at("h"),
			[]Target{{Endpoint: "https://h:443", Labels: map[string]string{"job": "shop", "instance": "h:443"}, Paths: both}},
		},
		{
			"an IPv6 address", "", nil, at("[fd00::1]:7"),
			[]Target{{Endpoint: "http://[fd00::1]:7", Labels: map[string]string{"job": "shop", "instance": "[fd00::1]:7"}, Paths: both}},
		},
		{
			"a rule drops a profile", `[{source_labels: [__name__], regex: cpu, action: drop}]`, nil, at("h:1"),
			[]Target{{
				Endpoint: "http://h:1", Labels: map[string]string{"job": "shop", "instance": "h:1"},
				Paths: map[string]string{"memory": memoryPath},
			}},
		},
		{
			"each profile has a port of its own",
			`[{source_labels: [__name__], regex: cpu, target_label: __address__, replacement: 'h:2'}]`, nil, at("h:1"),
			[]Target{
				{
					Endpoint: "http://h:1", Labels: map[string]string{"job": "shop", "instance": "h:1"},
					Paths: map[string]string{"memory": memoryPath},
				},
				{
					Endpoint: "http://h:2", Labels: map[string]string{"job": "shop", "instance": "h:2"},
					Paths: map[string]string{"cpu": cpuPath},
				},
			},
		},
		{
			"rules rewrite the path and the parameters", `
- {source_labels: [__profile_path__], target_label: __profile_path__, replacement: '/app$1'}
- {target_label: __param_x, replacement: c}
- {target_label: __param_y, replacement: d}`, nil, at("h:1"),
			[]Target{{
				Endpoint: "http://h:1", Labels: map[string]string{"job": "shop", "instance": "h:1"},
				Paths: map[string]string{
					"cpu":    "/app/debug/pprof/profile?x=c&y=d",
					"memory": "/app/debug/pprof/heap?gc=1&x=c&x=b&y=d",
				},
			}},
		},
		{
			"a path begins with one slash", `
- {source_labels: [__name__], regex: memory, action: drop}
- {target_label: __profile_path__, replacement: '//other/path'}`, nil, at("h:1"),
			[]Target{{
				Endpoint: "http://h:1", Labels: map[string]string{"job": "shop", "instance": "h:1"},
				Paths: map[string]string{"cpu": "/other/path"},
			}},
		},
		{
			"a label may be named as a resource attribute",
			`[{source_labels: [__meta_pod], target_label: k8s.pod.name}]`, nil,
			model.LabelSet{model.AddressLabel: "h:1", "__meta_pod": "p-0"},
			[]Target{{
				Endpoint: "http://h:1", Paths: both,
				Labels: map[string]string{"job": "shop", "instance": "h:1", "k8s.pod.name": "p-0"},
			}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := testJob(t, tc.rules).Targets(groupOf(tc.common, tc.own))
			assert.Equal(t, Outcome{Targets: tc.want}, got)
		})
	}
}

func TestTargetsThatAreEqualAreOne(t *testing.T) {
	job := testJob(t, `[{source_labels: [__meta_ip], target_label: __address__, replacement: '$1:9'}]`)
	got := job.Targets(groupOf(model.LabelSet{"__meta_ip": "10.0.0.1"}, at("10.0.0.1:80"), at("10.0.0.1:81")))
	require.Len(t, got.Targets, 1)
	assert.Equal(t, "http://10.0.0.1:9", got.Targets[0].Endpoint)
}

func TestDroppedTargetsAreCounted(t *testing.T) {
	job := testJob(t, `[{source_labels: [keep], regex: "true", action: keep}]`)
	got := job.Targets(groupOf(nil, at("a:1"), model.LabelSet{model.AddressLabel: "b:1", "keep": "true"}, at("c:1")))
	require.Len(t, got.Targets, 1)
	assert.Equal(t, 2, got.Dropped)
	assert.Empty(t, got.Invalid)
}

func TestInvalidTargetsAreNamedAndTheOthersGoOn(t *testing.T) {
	for _, tc := range []struct{ name, address, rules, want string }{
		{"no address", "", "", `target "" of job "shop": the label __address__ is empty; give host:port`},
		{"a URL", "http://h:1/debug", "", "without scheme, user and path"},
		{"a user and a password", "user:secret@h:1", "", "without scheme, user and path"},
		{"no host", ":80", "", `the label __address__ is ":80"`},
		{"another scheme", "h:1", `[{target_label: __scheme__, replacement: ftp}]`, `the label __scheme__ is "ftp"; give http or https`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := testJob(t, tc.rules).Targets(groupOf(nil, at(tc.address), model.LabelSet{model.AddressLabel: "good:1"}))
			require.NotEmpty(t, got.Invalid)
			require.ErrorContains(t, got.Invalid[0], tc.want)
			assert.NotContains(t, got.Invalid[0].Error(), "secret")
			if tc.rules == "" {
				require.Len(t, got.Targets, 1)
				assert.Equal(t, "http://good:1", got.Targets[0].Endpoint)
			}
		})
	}
}
