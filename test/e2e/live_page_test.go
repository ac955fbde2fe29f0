// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/internal/livepage/pagetest"
	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

const livePageConfig = `
extensions: {profiletometricsz: {endpoint: %q}}
receivers: {otlp: {protocols: {grpc: {endpoint: %q}}}}
connectors:
  profiletometrics/shown:
    metrics_flush_interval: 1s
    metrics: {function: {limit: 3}}
%s
exporters: {otlp_http: {endpoint: "http://127.0.0.1:9", retry_on_failure: {enabled: false}, sending_queue: {enabled: false}}}
service:
  extensions: [profiletometricsz]
  telemetry: {metrics: {level: none}, logs: {disable_stacktrace: true}}
  pipelines:
    profiles: {receivers: [otlp], exporters: [profiletometrics/shown]}
    metrics: {receivers: [profiletometrics/shown], exporters: [otlp_http]}
`

// livePage is a collector that shows what it does.
type livePage struct {
	*process
	url, otlp string
}

// startLivePage starts one whose metrics pipeline takes nothing, with further settings of the
// connector.
func startLivePage(t *testing.T, settings string) *livePage {
	t.Helper()
	ports := freePorts(t, 2)
	page := &livePage{url: "http://127.0.0.1:" + ports[0] + "/debug/profiletometricsz", otlp: "127.0.0.1:" + ports[1]}
	file := filepath.Join(t.TempDir(), "config.yaml")
	config := fmt.Sprintf(livePageConfig, "127.0.0.1:"+ports[0], page.otlp, settings)
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	page.process = start(t, nil, program(t, "OTELCOL_BIN"), "--config", file, profilesSupport)
	page.awaitServing(t, page.url)
	return page
}

// hostileName is that of a function, and what the page shows of it.
const (
	hostileName  = "</th><script>document.title='owned'</script>\x1b[2J<img src=x>"
	hostileShown = `</th><script>document.title='owned'</script>\x1b[2J<img src=x>`
)

// observed is a batch of which something can be seen in every part of the page. Of CPU time there
// are 10 s: 6 s in main.work, 2 s in a function with a hostile name, both called by main.main, and 2 s
// in what finds no series.
func observed(t *testing.T) pprofile.Profiles {
	t.Helper()
	profiles := testprofile.New(t, testprofile.Resource{
		Attributes: testprofile.Attributes{"service.name": "checkout"},
		Profiles: []testprofile.Profile{
			{
				SampleType: "cpu/nanoseconds", PeriodType: "cpu/nanoseconds", Period: 10_000_000, Time: time.Now(),
				Samples: []testprofile.Sample{
					{Stack: testprofile.Stack("main.work", "main.main"), Values: []int64{6_000_000_000}},
					{Stack: testprofile.Stack(hostileName, "main.main"), Values: []int64{2_000_000_000}},
					{Stack: testprofile.Stack("main.light"), Values: []int64{1_500_000_000}},
					{Stack: testprofile.Stack("main.lighter"), Values: []int64{500_000_000}},
				},
			},
			{SampleType: "inuse_space/bytes", Time: time.Now(), Samples: []testprofile.Sample{
				{Stack: testprofile.Stack("main.work", "main.main"), Values: []int64{4096}},
			}},
			{SampleType: "goroutine/count", Time: time.Now(), Samples: []testprofile.Sample{
				{Stack: testprofile.Stack("main.work"), Values: []int64{8}},
				{Stack: testprofile.Stack("main.main"), Values: []int64{1}},
			}},
			{SampleType: "contentions/count", Samples: []testprofile.Sample{{Stack: testprofile.Stack("main.work"), Values: []int64{3}}}},
		},
	})
	samples := profiles.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(1).Samples()
	samples.At(0).CopyTo(samples.AppendEmpty())
	samples.At(1).Values().FromRaw(nil) // malformed: it has no weight
	return profiles
}

// chromium is the path of a browser.
type chromium string

// load returns a page as the browser has built it, its scripts run if it had any.
func (c chromium) load(t *testing.T, url string) (pagetest.Page, error) {
	t.Helper()
	browser := exec.CommandContext(t.Context(), string(c),
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(), "--dump-dom", url)
	var problems bytes.Buffer
	browser.Stderr = &problems
	dom, err := browser.Output()
	if err != nil {
		return pagetest.Page{}, fmt.Errorf("%w: %s", err, problems.String())
	}
	return pagetest.Read(bytes.NewReader(dom))
}

// optionalProgram is program for what `make e2e` may not find outside of CI.
func optionalProgram(t *testing.T, variable string) string {
	t.Helper()
	if os.Getenv(variable) == "" && os.Getenv("CI") == "" {
		t.Skipf("%s is not set, so that a browser is missing; `make e2e` sets it if there is one", variable)
	}
	return program(t, variable)
}

// await loads a page until it has a table that begins with a caption.
func (c chromium) await(t *testing.T, url, caption string) pagetest.Page {
	t.Helper()
	var page pagetest.Page
	require.EventuallyWithT(t, func(collect *assert.CollectT) {
		var err error
		page, err = c.load(t, url)
		require.NoError(collect, err)
		_, err = page.Table(caption)
		require.NoError(collect, err)
	}, settleTimeout, pollInterval)
	return page
}

func tableOf(t *testing.T, page pagetest.Page, caption string) pagetest.Table {
	t.Helper()
	table, err := page.Table(caption)
	require.NoError(t, err)
	return table
}

// A browser shows of profiles that were sent exactly the numbers that they hold.
func TestLivePageInChromium(t *testing.T) {
	browser := chromium(optionalProgram(t, "CHROMIUM_BIN"))
	p := startLivePage(t, "")
	sendGRPC(t, p.otlp, observed(t))
	page := browser.await(t, p.url, "cpu_time in s, a counter: from")

	assert.Contains(t, page.Text, "profiletometricsz otelcol-profiletometrics 0.1.0-dev, at 2")
	assert.Contains(t, page.Text, "profiletometrics/shown Running for ")
	assert.Contains(t, page.Text, "Flushes every 1s, with cumulative temporality.")
	assert.NotContains(t, page.Elements, "script")
	assert.NotContains(t, page.Elements, "img")

	assert.Equal(t, [][]string{{"5", "3", "0", "1", ""}}, tableOf(t, page, "Samples since the start").Rows)
	assert.Equal(t, [][]string{
		{"4", "cpu", "nanoseconds", "cpu, nanoseconds", "cpu_time"},
		{"2", "inuse_space", "bytes", "", "memory_usage"},
	}, tableOf(t, page, "Measures seen").Rows)
	assert.Equal(t, [][]string{
		{
			"2", "goroutine", "count", "", "no entry of sample_types asks for it",
			"- type: goroutine\n  unit: count\n  metric_name: goroutine\n  instrument: gauge",
		},
		{
			"1", "contentions", "count", "", "no entry of sample_types asks for it",
			"- type: contentions\n  unit: count\n  metric_name: contentions\n  instrument: counter",
		},
	}, tableOf(t, page, "Sample types ignored").Rows)

	// Total, three functions flat or cumulative; total, main.work flat and cumulative, main.main cumulative.
	assert.Equal(t, [][]string{{"10", "20,000", "1"}}, firstColumns(tableOf(t, page, "Series of all resources"), 3))
	assert.Equal(t, [][]string{
		{"service.name=checkout", "cpu_time", "6", "3 of 3", "cpu_time.flat, cpu_time.cumulative", "main.light, main.lighter"},
		{"service.name=checkout", "memory_usage", "4", "2 of 3", "none", "none"},
	}, tableOf(t, page, "Series by resource. Functions with series of their own, of metrics.function.limit (3)").Rows)

	assert.Equal(t, [][]string{
		{"10", "100.0%", "10", "100.0%", "total"},
		{"6", "60.0%", "6", "60.0%", "main.work"},
		{"2", "20.0%", "2", "20.0%", hostileShown},
		{"2", "20.0%", "2", "20.0%", "in overflow series"},
	}, tableOf(t, page, "cpu_time in s").Rows)
	assert.Equal(t, [][]string{
		{"4,096", "100.0%", "4,096", "100.0%", "total"},
		{"4,096", "100.0%", "4,096", "100.0%", "main.work"},
	}, tableOf(t, page, "memory_usage in By, a gauge: now; 1 of 2 functions").Rows)

	sorted := browser.await(t, p.url+"?sort=cumulative", "Errors, the latest first")
	assert.Equal(t, []string{"0", "0.0%", "8", "80.0%", "main.main"}, tableOf(t, sorted, "cpu_time in s").Rows[1])
	errs := tableOf(t, sorted, "Errors, the latest first")
	malformed := errs.Row("A batch had malformed samples: no_weight")
	require.NotNil(t, malformed)
	assert.Equal(t, "1", malformed[2])
	assert.Equal(t, "no_weight: 1; the first: resource_profiles[0].scope_profiles[0].profiles[1].samples[1]: has neither values nor timestamps", malformed[4])
	refused := errs.Row("The metrics pipeline did not take a flush")
	require.NotNil(t, refused)
	assert.Contains(t, refused[4], "connection refused")
}

func firstColumns(table pagetest.Table, n int) [][]string {
	var rows [][]string
	for _, row := range table.Rows {
		rows = append(rows, row[:n])
	}
	return rows
}

// The entries that the page shows make metrics of what was ignored, as they were copied from the
// browser.
func TestLivePageEntriesCanBePasted(t *testing.T) {
	browser := chromium(optionalProgram(t, "CHROMIUM_BIN"))
	p := startLivePage(t, "")
	sendGRPC(t, p.otlp, observed(t))
	entries := []string{"    sample_types:"}
	for _, row := range tableOf(t, browser.await(t, p.url, "Sample types ignored"), "Sample types ignored").Rows {
		entries = append(entries, strings.Split(row[len(row)-1], "\n")...)
	}
	p.stop()

	p = startLivePage(t, strings.Join(entries, "\n      "))
	sendGRPC(t, p.otlp, observed(t))
	page := browser.await(t, p.url, "contentions in {contentions}, a counter: from")
	_, err := page.Table("Sample types ignored")
	require.Error(t, err, "nothing is ignored any more")
	seen := tableOf(t, page, "Measures seen")
	assert.Equal(t, []string{"2", "goroutine", "count", "", "goroutine"}, seen.Row("goroutine"))
	assert.Equal(t, []string{"1", "contentions", "count", "", "contentions"}, seen.Row("contentions"))
	assert.Equal(t, []string{"9", "100.0%", "9", "100.0%", "total"}, tableOf(t, page, "goroutine in {goroutine}, a gauge: now").Rows[0])
}

// The page can be read in a terminal: every row is a line, in order.
func TestLivePageAsText(t *testing.T) {
	w3m := optionalProgram(t, "W3M_BIN")
	p := startLivePage(t, "")
	sendGRPC(t, p.otlp, observed(t))
	require.EventuallyWithT(t, func(collect *assert.CollectT) {
		output, err := exec.CommandContext(t.Context(), w3m, "-dump", "-cols", "200", p.url).CombinedOutput()
		require.NoError(collect, err, "%s", output)
		text := string(output)
		assert.NotContains(collect, text, "\x1b")
		for _, line := range []string{
			`Last errors`,
			`A batch had malformed samples`,
			`4 +cpu +nanoseconds +cpu, nanoseconds +cpu_time`,
			`- type: goroutine`,
			`metric_name: goroutine`,
			`3 of 3 +cpu_time.flat, cpu_time.cumulative`,
			`main\.light, main\.lighter`,
			`cpu_time in s, a counter: from \d\d:\d\d:\d\d to`,
			`6 +60\.0% +6 +60\.0% +main\.work`,
			`2 +20\.0% +2 +20\.0% +</th><script>document\.title='owned'</script>\\x1b\[2J<img src=x>`,
			`2 +20\.0% +2 +20\.0% +in overflow series`,
		} {
			assert.Regexp(collect, line, text)
		}
	}, settleTimeout, pollInterval)
}
