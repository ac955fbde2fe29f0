// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// Every metric that the dashboard, the rules and the documentation query is one that exists.
func TestQueriedMetricsExist(t *testing.T) {
	known := metricNames(t)
	rules := readRules(t)
	for name := range rules.recorded {
		known[name] = true
	}
	check := func(where, expr string) {
		names := metricsOf(expr)
		assert.NotEmpty(t, names, "%s: %s", where, expr)
		for _, name := range names {
			assert.True(t, known[name], "%s: there is no metric %s", where, name)
		}
	}
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			check("dashboard, "+p.Title, target.Expr)
		}
	}
	for name, expr := range rules.exprs {
		check("rule "+name, expr)
	}
	paths, texts := documents(t)
	for _, path := range paths {
		_, queries := prose(texts[path], "promql")
		for _, expr := range queries {
			if !slices.ContainsFunc(metricsOf(expr), func(name string) bool { return strings.Contains(texts[path], "  "+name+":") }) {
				check(path, expr) // and not the metric of an export rule in the document itself
			}
		}
	}
}

// metricNames returns the metrics of the connector as the Prometheus exporter calls them, which
// test/e2e finds there, and those of the collector about itself.
func metricNames(t *testing.T) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	for _, family := range []struct{ stem, suffix string }{
		{"cpu_time", "_seconds_total"}, {"memory_allocation", "_bytes_total"}, {"memory_usage", "_bytes"},
	} {
		for _, form := range []string{"", "_flat", "_cumulative"} {
			names[family.stem+form+family.suffix] = true
		}
	}
	for _, name := range []string{ // of the Collector, and of parca-load
		"otelcol_process_cpu_seconds", "otelcol_process_memory_rss",
		"otelcol_receiver_accepted_profile_samples", "otelcol_receiver_refused_profile_samples",
		"parca_load_request_duration_seconds",
	} {
		names[name] = true
	}
	files, err := filepath.Glob(filepath.Join(repository, "*", "*", "documentation.md"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	documented := regexp.MustCompile(`(?sm)^### (\S+)\n.*?\| (Sum|Gauge|Histogram) \|`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range documented.FindAllStringSubmatch(string(text), -1) {
			name := strings.ReplaceAll(match[1], ".", "_")
			if match[2] == "Histogram" {
				names[name+"_bucket"], names[name+"_sum"], names[name+"_count"] = true, true, true
			} else {
				names[name] = true
			}
		}
	}
	return names
}

var (
	quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	// What holds names of labels and units of time: matchers, ranges, groupings.
	notMetrics = regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]|\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`)
	call       = regexp.MustCompile(`[a-z_]\w*\s*\(`)
	identifier = regexp.MustCompile(`(?:^|[^\w:$])([a-zA-Z_:][\w:]*)`)
	keywords   = []string{"and", "or", "unless", "offset", "bool"}
)

// metricsOf returns the metrics that a PromQL expression names. That it parses is tested with a
// Prometheus server, in test/e2e.
func metricsOf(expr string) []string {
	for _, other := range []*regexp.Regexp{quoted, notMetrics, call} {
		expr = other.ReplaceAllString(expr, " ")
	}
	var names []string
	for _, match := range identifier.FindAllStringSubmatch(expr, -1) {
		if !slices.Contains(keywords, match[1]) {
			names = append(names, match[1])
		}
	}
	return names
}

func TestMetricsOfExpressions(t *testing.T) {
	for expr, want := range map[string][]string{
		`a`:                                   {"a"},
		`sum by (x) (rate(a{b="c}d"}[5m]))`:   {"a"},
		`a / on (x) group_left (y) b > 0.5`:   {"a", "b"},
		`x:y:z offset 1d or on() vector(0)`:   {"x:y:z"},
		`topk($top, a[$__range] @ end()) * b`: {"a", "b"},
	} {
		assert.Equal(t, want, metricsOf(expr), expr)
	}
}

// rules are those of the file for Prometheus.
type rules struct {
	recorded map[string]bool
	exprs    map[string]string // by the name of the rule
}

func readRules(t *testing.T) rules {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "alerts", "profiletometrics.rules.yaml"))
	require.NoError(t, err)
	var file struct {
		Groups []struct {
			Rules []struct{ Record, Alert, Expr string }
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	result := rules{recorded: make(map[string]bool), exprs: make(map[string]string)}
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			if rule.Record != "" {
				result.recorded[rule.Record] = true
			}
			result.exprs[rule.Record+rule.Alert] = rule.Expr
		}
	}
	require.NotEmpty(t, result.exprs)
	return result
}

// Every alert has a unit test, for promtool, in which it fires.
func TestEveryAlertIsTested(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, "alerts", "profiletometrics.rules.test.yaml"))
	require.NoError(t, err)
	var file struct {
		Tests []struct {
			Alerts []struct {
				Name string `yaml:"alertname"`
				Want []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	fires := make(map[string]bool)
	for _, test := range file.Tests {
		for _, alert := range test.Alerts {
			fires[alert.Name] = fires[alert.Name] || len(alert.Want) > 0
		}
	}
	found := readRules(t)
	for name := range found.exprs {
		if !found.recorded[name] {
			assert.True(t, fires[name], "no test in which %s fires", name)
		}
	}
}
