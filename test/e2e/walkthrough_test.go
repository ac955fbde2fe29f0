// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whoever does what the README says sees the functions of a service in Prometheus.
func TestTheReadmeLeadsToAGraph(t *testing.T) {
	onDefaultPorts(t, func(t *testing.T) {
		t.Helper()
		text := page(t, "README.md")
		followPage(t, section(t, text, "## Try it")+section(t, text, "## Your own service, in Prometheus"))
	})
}

func TestGettingStartedLeadsToAGraph(t *testing.T) {
	onDefaultPorts(t, func(t *testing.T) {
		t.Helper()
		followPage(t, page(t, "docs/getting-started.md"))
	})
}

// A Go service that has what the pages show serves its profiles.
func TestGoServicesServeProfilesAsDocumented(t *testing.T) {
	onDefaultPorts(t, func(t *testing.T) {
		t.Helper()
		for _, name := range []string{"docs/getting-started.md", "docs/recipes/go-services.md"} {
			blocks := fencedBlocks(page(t, name), "go")
			require.Len(t, blocks, 1, name)
			code := regexp.MustCompile(`(?m)^\t// .*$`).ReplaceAllString(blocks[0].text, "\tselect {}") // the service
			directory := t.TempDir()
			file, service := filepath.Join(directory, "main.go"), filepath.Join(directory, "service")
			require.NoError(t, os.WriteFile(file, []byte("package main\n\n"+code), 0o600))
			output, err := exec.CommandContext(t.Context(), "go", "build", "-o", service, file).CombinedOutput()
			require.NoError(t, err, "%s: %s", name, output)
			p := start(t, nil, service)
			p.awaitServing(t, "http://localhost:6060/debug/pprof/profile?seconds=1")
			p.stop()
		}
	})
}

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, name))
	require.NoError(t, err)
	return string(text)
}

// section returns a text's part under a heading, up to the next one of its kind.
func section(t *testing.T, text, heading string) string {
	t.Helper()
	_, after, found := strings.Cut(text, heading+"\n")
	require.True(t, found, "there is no section %q", heading)
	after, _, _ = strings.Cut(after, "\n## ")
	return after
}

// followPage does what a page says, beginning with nothing but the tools that it asks for; then every
// query of the page gives data, and so do those behind its links to Prometheus.
func followPage(t *testing.T, text string) {
	t.Helper()
	began := time.Now()
	r := &reader{T: t, directory: t.TempDir(), env: readerEnvironment(t)}
	r.before = func(command string) {
		if command == "make run" { // the build is what is not repeated here
			place(t, program(t, "OTELCOL_BIN"), filepath.Join(r.directory, "dist", "otelcol-profiletometrics"))
		}
	}
	r.follow(text)

	prom := &prometheus{address: "localhost:9090"}
	var all []string
	for _, block := range fencedBlocks(text, "promql") {
		all = append(all, queries(block.text)...)
	}
	for _, linked := range graphs(t, text) {
		assert.Contains(t, all, linked+"\n", "the link to the graph has another query than the page")
		all = append(all, linked)
	}
	require.NotEmpty(t, all)
	for _, query := range all {
		require.EventuallyWithT(t, func(collect *assert.CollectT) {
			result, err := prom.query(t.Context(), query)
			require.NoError(collect, err)
			require.NotEmpty(collect, result)
			t.Logf("%s of all after %s: %s", result[0].labels, time.Since(began).Round(time.Second), query)
		}, patience, time.Second, query)
	}
	assertHottest(t, prom, "main.escape")
}

// assertHottest checks what the pages say of test/programs/gobusy: which function uses the most, half of
// all that the service uses.
func assertHottest(t *testing.T, prom *prometheus, function string) {
	t.Helper()
	const service = `{service_name="checkout"}[5m]))`
	require.EventuallyWithT(t, func(collect *assert.CollectT) { // a few samples are no half
		hottest, err := prom.query(t.Context(), "topk(1, sum by (code_function_name) (rate(cpu_time_flat_seconds_total"+service+")")
		require.NoError(collect, err)
		require.Len(collect, hottest, 1)
		assert.Equal(collect, function, hottest[0].labels["code_function_name"])
		total, err := prom.scalar(t.Context(), "sum(rate(cpu_time_seconds_total"+service)
		require.NoError(collect, err)
		assert.InDelta(collect, 0.5, hottest[0].value/total, 0.1, "the share of "+function)
	}, patience, time.Second)
}

var graphLink = regexp.MustCompile(`\]\((http://localhost:9090/graph\?[^)]*)\)`)

// graphs returns the queries behind a text's links to Prometheus.
func graphs(t *testing.T, text string) []string {
	t.Helper()
	var found []string
	for _, match := range graphLink.FindAllStringSubmatch(text, -1) {
		link, err := url.Parse(match[1])
		require.NoError(t, err)
		found = append(found, link.Query().Get("g0.expr"))
	}
	require.NotEmpty(t, found)
	return found
}

// readerEnvironment lets the page's commands find Prometheus, and the public repository in a copy of
// this checkout.
func readerEnvironment(t *testing.T) []string {
	t.Helper()
	checkout, err := filepath.Abs(repository)
	require.NoError(t, err)
	origin := filepath.Join(t.TempDir(), "origin.git")
	git := func(args ...string) {
		command := exec.CommandContext(t.Context(), "git", args...)
		command.Env = append(os.Environ(), "GIT_DIR="+origin, "GIT_WORK_TREE="+checkout, "GIT_CONFIG_GLOBAL=/dev/null")
		output, err := command.CombinedOutput()
		require.NoError(t, err, "git %v: %s", args, output)
	}
	git("init", "--quiet", "--initial-branch=main")
	git("add", "--all")
	git("-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "--quiet", "--message=as it is")

	config := filepath.Join(t.TempDir(), "gitconfig")
	insteadOf := "[url \"file://" + origin + "\"]\n\tinsteadOf = https://github.com/profiletometrics/profiletometrics\n"
	require.NoError(t, os.WriteFile(config, []byte(insteadOf), 0o600))
	path := []string{prometheusAsReleased(t), filepath.Dir(promtool(t)), os.Getenv("PATH")}
	return []string{
		"GIT_CONFIG_GLOBAL=" + config,
		"PATH=" + strings.Join(path, string(os.PathListSeparator)),
	}
}

// prometheusAsReleased returns a directory with a prometheus that keeps its data below the directory in
// which it is started, as releases of Prometheus do. Debian's keeps them where all of a machine share
// them, those of other tests that run at the same time too.
func prometheusAsReleased(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	script := "#!/bin/sh\nexec '" + program(t, "PROMETHEUS_BIN") + "' --storage.tsdb.path=data \"$@\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(directory, "prometheus"), []byte(script), 0o700)) //nolint:gosec // it has to be executable
	return directory
}

// place copies a program to where a build would have made it.
func place(t *testing.T, program, target string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(target), 0o700))
	from, err := os.Open(program)
	require.NoError(t, err)
	to, err := os.OpenFile(target, os.O_CREATE|os.O_WRONLY, 0o700) //nolint:gosec // a program has to be executable
	require.NoError(t, err)
	_, err = io.Copy(to, from)
	require.NoError(t, err)
	require.NoError(t, from.Close())
	require.NoError(t, to.Close())
}
