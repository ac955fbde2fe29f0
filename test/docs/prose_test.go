// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
)

func text(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repository, name))
	require.NoError(t, err)
	return string(content)
}

// guides are the documents that describe the components as they are: the READMEs' tables have a test of
// their own, and CHANGELOG.md tells of the past.
func guides(t *testing.T) map[string]string {
	t.Helper()
	_, texts := documents(t)
	found := map[string]string{"README.md": texts["README.md"]}
	for name, text := range texts {
		if strings.HasPrefix(name, "docs/") {
			found[name] = text
		}
	}
	return found
}

var (
	// A key and its default, as in `metrics_expiration` (5m) or `metrics_flush_interval`, 15s.
	keyWithValue = regexp.MustCompile("`(?:[a-z_]+\\.)*([a-z_]+)`,? \\(?(\\d[\\d,]*[smh]?)[,);]")
	metricInCode = regexp.MustCompile("`((?:cpu_time|memory_allocation|memory_usage)_\\w+|otelcol_(?:connector|receiver|process)_\\w+|pprofscrape_\\w+|parca_load_\\w+)(?:\\{[^`]*)?`")
)

// A number in parentheses behind a key is the key's default.
func TestDefaultsInSentences(t *testing.T) {
	defaults := make(map[string][]any)
	for _, factory := range components() {
		config := confmap.New()
		require.NoError(t, config.Marshal(factory.CreateDefaultConfig()))
		for _, path := range config.AllKeys() {
			parts := strings.Split(path, confmap.KeyDelimiter)
			key := parts[len(parts)-1]
			defaults[key] = append(defaults[key], plain(t, config.Get(path)))
		}
	}
	checked := 0
	for name, text := range guides(t) {
		lines, _ := prose(text, "")
		for _, match := range keyWithValue.FindAllStringSubmatch(strings.Join(lines, " "), -1) {
			known, ok := defaults[match[1]]
			if !ok {
				continue // of a component of the Collector
			}
			checked++
			value := plain(t, strings.ReplaceAll(match[2], ",", ""))
			if number, isInt := value.(int); isInt {
				value = int64(number)
			}
			assert.Contains(t, known, value, "%s: %s", name, match[0])
		}
	}
	assert.Greater(t, checked, 5)
}

// Metrics that sentences and tables name are metrics that exist.
func TestMetricsInSentencesExist(t *testing.T) {
	known := metricNames(t)
	checked := 0
	for name, text := range guides(t) {
		if strings.HasPrefix(name, "docs/migration/") {
			continue // names those of others
		}
		lines, _ := prose(text, "")
		for _, match := range metricInCode.FindAllStringSubmatch(strings.Join(lines, "\n"), -1) {
			checked++
			assert.True(t, known[match[1]], "%s: there is no metric %s", name, match[1])
		}
	}
	assert.Greater(t, checked, 20)
}

// column returns the code spans in one column of the table below a header.
func column(t *testing.T, text, header string, number int) []string {
	t.Helper()
	_, table, found := strings.Cut(text, header+"\n")
	require.True(t, found, "there is no table %q", header)
	var spans []string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			break
		}
		for _, match := range inCode.FindAllStringSubmatch(cells[number], -1) {
			spans = append(spans, match[1])
		}
	}
	require.NotEmpty(t, spans)
	return spans
}

func TestAddressesFollowTheEnvironment(t *testing.T) {
	config, page := text(t, "config.yaml"), text(t, "README.md")
	const header = "| variable | default | what listens there |\n|---|---|---|"
	variables, defaults := column(t, page, header, 1), column(t, page, header, 2)
	for i, variable := range variables {
		assert.Contains(t, config, "${env:"+variable+":-"+defaults[i]+"}")
	}
	for _, match := range regexp.MustCompile(`\$\{env:(\w+)`).FindAllStringSubmatch(config, -1) {
		assert.Contains(t, variables, match[1], "README.md does not name the variable")
	}
}

func TestVersionsAreThoseOfTheBuild(t *testing.T) {
	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(text(t, "go.mod"))
	require.NotNil(t, goVersion)
	collector := regexp.MustCompile(`otlpreceiver (v\S+)`).FindStringSubmatch(text(t, "builder-config.yaml"))
	require.NotNil(t, collector)
	for _, name := range []string{"README.md", "docs/getting-started.md"} {
		assert.Contains(t, text(t, name), "Go "+goVersion[1]+" or newer", name)
	}
	assert.Contains(t, text(t, "README.md"), "for Collector "+collector[1])
}

func TestDescribedAlertsAreThoseOfTheRules(t *testing.T) {
	described := column(t, text(t, "docs/recipes/alerts.md"), "| alert | when |\n|---|---|", 1)
	found := readRules(t)
	var alerts []string
	for name := range found.exprs {
		if !found.recorded[name] {
			alerts = append(alerts, name)
		}
	}
	assert.ElementsMatch(t, alerts, described)
}

func TestDescribedRowsAndVariablesAreThoseOfTheDashboard(t *testing.T) {
	page := text(t, "docs/recipes/dashboard.md")
	d := readDashboard(t)
	for _, p := range d.Panels {
		if p.Type == "row" {
			assert.Contains(t, page, "\n| "+p.Title+" | ")
		}
	}
	for _, variable := range d.Templating.List[1:] { // the first is the data source
		assert.Contains(t, page, "\n| "+variable.Label+" | ")
	}
}

// The reasons in the table on malformed samples are all that there are.
func TestDescribedReasonsAreThoseOfTheConnector(t *testing.T) {
	described := column(t, text(t, "docs/troubleshooting.md"), "| reason | the sample | what was done |\n|---|---|---|", 1)
	files, err := filepath.Glob(filepath.Join(repository, "connector", "profiletometricsconnector", "internal", "*", "*.go"))
	require.NoError(t, err)
	constant := regexp.MustCompile(`(?m)^\s+\w+\s+(?:symbols\.)?Reason += "(\w+)"|symbols\.Reason\("(\w+)"\)`)
	var reasons []string
	for _, file := range files {
		code, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range constant.FindAllStringSubmatch(string(code), -1) {
			reasons = append(reasons, match[1]+match[2])
		}
	}
	slices.Sort(reasons)
	assert.ElementsMatch(t, slices.Compact(reasons), described)
}

// The table on accuracy follows from the number of samples.
func TestHowAccurateSamplesAre(t *testing.T) {
	page := text(t, "docs/concepts/accuracy.md")
	rows := regexp.MustCompile(`(?m)^\| ([\d,]+) \| (\d+) (ms|s) \| (\d+) % \| (\d+|–)`).FindAllStringSubmatch(page, -1)
	require.Len(t, rows, 6)
	for _, row := range rows {
		samples, err := strconv.ParseFloat(strings.ReplaceAll(row[1], ",", ""), 64)
		require.NoError(t, err)
		milliseconds, err := strconv.Atoi(row[2])
		require.NoError(t, err)
		if row[3] == "s" {
			milliseconds *= 1000
		}
		assert.InDelta(t, 10*samples, milliseconds, 0, "at 100 Hz, each sample is 10 ms: %s", row[0])
		assert.Equal(t, percent(1/math.Sqrt(samples)), row[4]+" %", row[0])
		if row[5] != "–" {
			assert.Equal(t, percent(2/math.Sqrt(samples)), row[5]+" %", row[0])
		}
	}
	assert.Contains(t, page, "300 samples, ±"+percent(2/math.Sqrt(300)))
	assert.Contains(t, page, "60 samples, ±"+percent(2/math.Sqrt(60)))
	assert.Contains(t, page, fmt.Sprintf("errors %.1f times (√20) smaller", math.Sqrt(20)))
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// What the table of failures quotes of the log is what the receiver writes. A span of code is cut where
// the receiver puts other texts together.
func TestQuotedFailuresAreThoseOfTheReceiver(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(repository, "receiver", "pprofscrapereceiver", "*.go"))
	require.NoError(t, err)
	var code strings.Builder
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			code.Write(content)
		}
	}
	const shortest = 12 // less than that is a status or the like
	checked := 0
	for _, quote := range column(t, text(t, "docs/troubleshooting.md"), "| the log says | do |\n|---|---|", 1) {
		for _, part := range regexp.MustCompile(`; | ?\(?…\)?`).Split(quote, -1) {
			part = strings.TrimSpace(part)
			if len(part) < shortest || strings.HasPrefix(part, "status ") || part == "already in use" { // the target's words
				continue
			}
			checked++
			assert.True(t, strings.Contains(code.String(), part), "the receiver never says %q", part) //nolint:testifylint // would print all the code
		}
	}
	assert.Greater(t, checked, 8)
}
