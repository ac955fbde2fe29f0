// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const programs = repository + "/test/programs"

const (
	burnedCPU = 4 * time.Second
	// burnTimeout is how long a program may take to use that on a busy machine.
	burnTimeout = 90 * time.Second
	// visibleTimeout is how long the collector and Prometheus may take to show a profile.
	visibleTimeout = 20 * time.Second
)

// scrapesProgram leaves a program that gets hardly any time of its processor enough for an answer.
const scrapesProgram = `
receivers:
  pprofscrape:
    timeout: 30s
    targets:
      - endpoint: %q
        service_name: %s
        profiles: %s
connectors:
  profiletometrics: {metrics_flush_interval: 1s}
exporters:
  prometheus: {endpoint: "${env:PROMETHEUS_ENDPOINT}", resource_to_telemetry_conversion: {enabled: true}}
service:
  pipelines:
    profiles: {receivers: [pprofscrape], exporters: [profiletometrics]}
    metrics: {receivers: [profiletometrics], exporters: [prometheus]}
`

// busyProgram is a program that works only when it is asked to.
type busyProgram struct {
	*process
	service, address string
}

func (p *busyProgram) url() string { return "http://" + p.address }

// scrape starts a collector that takes profiles of the program, at url or through what stands before
// it there, and a Prometheus behind it.
func (p *busyProgram) scrape(t *testing.T, url, profiles string) (*collector, *prometheus) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config.yaml")
	text := fmt.Appendf(nil, scrapesProgram, url, p.service, profiles)
	require.NoError(t, os.WriteFile(config, text, 0o600))
	c := newCollector(t)
	c.runWith(t, config)
	return c, startPrometheus(t, c)
}

// startGoProgram builds test/programs/gobusy and runs it with further arguments.
func startGoProgram(t *testing.T, args ...string) *busyProgram {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "gobusy")
	output, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, programs+"/gobusy").CombinedOutput()
	require.NoError(t, err, "%s", output)
	p := &busyProgram{service: "gobusy", address: "127.0.0.1:" + freePorts(t, 1)[0]}
	// Of a program that is alone on its processors, nothing need be interrupted. Where others compete
	// for them, the profiler finds it again and again in the moment in which it is.
	env := []string{"GODEBUG=asyncpreemptoff=1"}
	p.process = start(t, env, binary, append([]string{"-listen", p.address}, args...)...)
	p.awaitServing(t, p.url()+"/debug/pprof/cmdline")
	return p
}

// startNodeProgram runs test/programs/nodebusy, or skips the test where there is no Node.js.
func startNodeProgram(t *testing.T) *busyProgram {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no Node.js here: its programs are not tested")
	}
	require.NotEmpty(t, os.Getenv("NODE_PATH"), "NODE_PATH is not set: run the tests with `make e2e`")
	port := freePorts(t, 1)[0]
	p := &busyProgram{service: "nodebusy", address: "127.0.0.1:" + port}
	p.process = start(t, []string{"PORT=" + port}, node, programs+"/nodebusy/server.js")
	p.awaitServing(t, p.url()+"/burn?cpu=0")
	return p
}

// burn makes the program use CPU time, and returns when it is idle again.
func (p *busyProgram) burn(t *testing.T, cpu time.Duration) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := get(t.Context(), p.url()+"/burn?cpu="+strconv.FormatFloat(cpu.Seconds(), 'f', -1, 64))
		done <- err
	}()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(burnTimeout):
		require.FailNow(t, "the program gets no CPU time")
	}
}

// cpuTime is what the operating system has accounted to the process.
func (p *process) cpuTime(t *testing.T) float64 {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	require.NoError(t, err)
	// The name of the program, in parentheses, is the second of the fields and may have blanks.
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	require.Greater(t, len(fields), 12)
	ticks := 0
	for _, field := range fields[11:13] { // utime and stime
		n, err := strconv.Atoi(field)
		require.NoError(t, err)
		ticks += n
	}
	const ticksPerSecond = 100 // on every Linux
	return float64(ticks) / ticksPerSecond
}

// awaitScrapes waits until the collector has taken so many more profiles. It asks the collector: what
// Prometheus knows is a second old.
func (c *collector) awaitScrapes(t *testing.T, n int) {
	t.Helper()
	taken := func() int {
		body, err := get(t.Context(), "http://127.0.0.1:"+c.telemetry+"/metrics")
		require.NoError(t, err)
		count := 0
		for _, found := range successfulScrapes.FindAllSubmatch(body, -1) {
			one, err := strconv.Atoi(string(found[1]))
			require.NoError(t, err)
			count += one
		}
		return count
	}
	target := taken() + n
	require.Eventually(t, func() bool { return taken() >= target }, settleTimeout, pollInterval, "no profiles")
}

var successfulScrapes = regexp.MustCompile(`(?m)^pprofscrape_scrapes\{.*outcome="success".*\} (\d+)$`)

// cpuSeconds is the CPU time in the metrics: all of it where function is "".
func (p *busyProgram) cpuSeconds(t *testing.T, prom *prometheus, kind, function string) float64 {
	t.Helper()
	selector := fmt.Sprintf("{service_name=%q}", p.service)
	if function != "" {
		selector = fmt.Sprintf("{service_name=%q,code_function_name=%q}", p.service, function)
	}
	seconds, err := prom.scalar(t.Context(), "sum(cpu_time"+kind+"_seconds_total"+selector+") or vector(0)")
	require.NoError(t, err)
	return seconds
}

// share is what a function has of the CPU time that a program has burned.
type share struct {
	function         string
	flat, cumulative float64
}

// The CPU time of a program in Prometheus is what the operating system accounts to it, and is divided
// among its functions as the program divides its work. The program is idle at the beginning and at
// the end, so both tell of the same period.
func TestCPUTimeIsWhatTheOperatingSystemAccounts(t *testing.T) {
	t.Parallel() // the wait for profiles is most of the time
	for _, tc := range []struct {
		name     string
		start    func(*testing.T) *busyProgram
		profiles string
		shares   []share
	}{
		{
			"Go", func(t *testing.T) *busyProgram { t.Helper(); return startGoProgram(t) },
			// Go measures for as long as it is asked to: all the time, but for a moment between two.
			`{memory: {enabled: false}, cpu: {seconds: 10}}`,
			[]share{
				{"main.handle", 0, 1},
				{"main.parse", 0.25, 0.25},
				{"main.render", 0.25, 0.75},
				{"main.escape", 0.5, 0.5}, // calls itself, and counts once
			},
		},
		{
			"Node.js", startNodeProgram,
			// The profiler runs on between two requests.
			`{memory: {enabled: false}, cpu: {seconds: 1, collection_interval: 4s, keep_sample_types: [{type: cpu}]}}`,
			[]share{
				{"handle", 0, 1},
				{"parse", 0.25, 0.25},
				{"render", 0.75, 0.75},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := tc.start(t)
			c, prom := p.scrape(t, p.url(), tc.profiles)
			c.awaitScrapes(t, 1)
			// Where other programs leave this one and the collector hardly any time, more than that may
			// happen between two profiles. What is lost by a mistake is lost again.
			if !p.burnIsMeasured(t, c, prom) {
				require.True(t, p.burnIsMeasured(t, c, prom), "the operating system says otherwise")
			}

			total := p.cpuSeconds(t, prom, "", "")
			for _, want := range tc.shares {
				assert.InDelta(t, want.flat, p.cpuSeconds(t, prom, "_flat", want.function)/total, 0.1, want.function)
				assert.InDelta(t, want.cumulative, p.cpuSeconds(t, prom, "_cumulative", want.function)/total, 0.1, want.function)
			}
		})
	}
}

// burnIsMeasured compares the increase in Prometheus with the operating system's account while the
// program works, to 10 %.
func (p *busyProgram) burnIsMeasured(t *testing.T, c *collector, prom *prometheus) bool {
	t.Helper()
	accounted, measured := p.cpuTime(t), p.cpuSeconds(t, prom, "", "")
	p.burn(t, burnedCPU)
	c.awaitScrapes(t, 1) // has the end of the work
	accounted = p.cpuTime(t) - accounted
	const tolerance = 0.1
	increase := 0.0
	for deadline := time.Now().Add(visibleTimeout); time.Now().Before(deadline); time.Sleep(pollInterval) {
		increase = p.cpuSeconds(t, prom, "", "") - measured
		if math.Abs(increase-accounted) <= tolerance*accounted {
			break
		}
	}
	t.Logf("%.2f s in the metrics, %.2f s in the operating system", increase, accounted)
	return math.Abs(increase-accounted) <= tolerance*accounted
}

// The recipe for Node.js has the code that the tests run.
func TestTheRecipeForNodeServesProfilesAsTheProgramDoes(t *testing.T) {
	code, err := os.ReadFile(programs + "/nodebusy/pprof.js")
	require.NoError(t, err)
	_, code, found := bytes.Cut(code, []byte("\n\n")) // after the license
	require.True(t, found)
	recipe, err := os.ReadFile(repository + "/docs/recipes/nodejs.md")
	require.NoError(t, err)
	assert.Contains(t, string(recipe), "```js\n"+string(code)+"```\n")
	manifest, err := os.ReadFile(programs + "/nodebusy/package.json")
	require.NoError(t, err)
	var pins struct{ Dependencies map[string]string }
	require.NoError(t, json.Unmarshal(manifest, &pins))
	assert.Contains(t, string(recipe), "npm install --save-exact @datadog/pprof@"+pins.Dependencies["@datadog/pprof"]+"\n")
}
