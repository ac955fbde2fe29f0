// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	dashboardFile = repository + "/dashboards/profiletometrics.json"
	ruleFile      = repository + "/alerts/profiletometrics.rules.yaml"
	ruleTestFile  = repository + "/alerts/profiletometrics.rules.test.yaml"
)

// Every query of the dashboard is evaluated by a Prometheus with real data, and gives some, but for
// what a healthy collector without Parca does not have.
func TestQueriesOfTheDashboard(t *testing.T) {
	c := startCollector(t)
	prom := startPrometheus(t, c)
	empty := map[string]bool{
		"Overflow": true, "Malformed samples": true, "Failed scrapes and queries": true, "Parca: behind now": true,
	}
	for _, query := range dashboardQueries(t) {
		t.Run(query.panel, func(t *testing.T) {
			if empty[query.panel] {
				_, err := prom.query(t.Context(), query.expr)
				require.NoError(t, err, query.expr)
				return
			}
			require.EventuallyWithT(t, func(collect *assert.CollectT) {
				result, err := prom.query(t.Context(), query.expr)
				require.NoError(collect, err, query.expr)
				assert.NotEmpty(collect, result, query.expr)
			}, visibleWithin+settleTimeout, pollInterval)
		})
	}
}

type dashboardQuery struct{ panel, expr string }

// dashboardQueries returns the queries as Grafana sends them, with everything chosen and a short range.
func dashboardQueries(t *testing.T) []dashboardQuery {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	variables := strings.NewReplacer("$__rate_interval", "30s", "$__range", "1m", "$service", ".*", "$function", ".*", "$top", "10")
	var queries []dashboardQuery
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, dashboardQuery{panel: panel.Title, expr: variables.Replace(target.Expr)})
		}
	}
	require.NotEmpty(t, queries)
	return queries
}

// Prometheus accepts the rules, and they do what their unit tests say.
func TestRulesForPrometheus(t *testing.T) {
	promtool := promtool(t)
	for _, args := range [][]string{{"check", "rules", ruleFile}, {"test", "rules", ruleTestFile}} {
		t.Run(args[0], func(t *testing.T) {
			output, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput()
			require.NoError(t, err, "%s", output)
		})
	}
}

// promtool returns the program beside Prometheus.
func promtool(t *testing.T) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(program(t, "PROMETHEUS_BIN")), "promtool")
	if _, err := os.Stat(path); err != nil {
		t.Skip("no promtool beside Prometheus")
	}
	return path
}
