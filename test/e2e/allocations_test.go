// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	steps = 3
	// allocatedByPage is what main.page of test/programs/gobusy allocates in a step.
	allocatedByPage = 4 << 20
)

// tape stands before a program and keeps the profiles that it passes on.
type tape struct {
	server *httptest.Server
	t      *testing.T
	dir    string

	mu       sync.Mutex
	profiles []string // files, in order
	ended    bool
}

func newTape(t *testing.T, p *busyProgram) *tape {
	t.Helper()
	tp := &tape{t: t, dir: t.TempDir()}
	tp.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tp.mu.Lock()
		defer tp.mu.Unlock()
		if tp.ended {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		body, err := get(r.Context(), p.url()+r.URL.RequestURI())
		if !assert.NoError(t, err) {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		file := filepath.Join(tp.dir, strconv.Itoa(len(tp.profiles)))
		assert.NoError(t, os.WriteFile(file, body, 0o600))
		tp.profiles = append(tp.profiles, file)
		_, err = w.Write(body)
		assert.NoError(t, err)
	}))
	t.Cleanup(tp.server.Close)
	return tp
}

// end lets no more profiles pass, and returns the first and the last that did.
func (tp *tape) end() (first, last string) {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	tp.ended = true
	require.NotEmpty(tp.t, tp.profiles)
	return tp.profiles[0], tp.profiles[len(tp.profiles)-1]
}

// flatAndCumulative are the bytes of a function.
type flatAndCumulative struct{ flat, cumulative float64 }

// What functions have allocated between two profiles is, for every function of the program and to the
// byte, what pprof reports as the difference of the two.
func TestAllocationsAreTheDifferenceThatPprofReports(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		args []string
		// tolerance of what main.page is known to allocate, 0 if that is an estimate from samples;
		// a few bytes are the runtime's own
		tolerance float64
	}{
		{"every allocation is sampled", []string{"-memprofilerate", "1"}, 1e-3},
		{"allocations are sampled as Go does by default", nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := startGoProgram(t, tc.args...)
			profiles := newTape(t, p)
			c, prom := p.scrape(t, profiles.server.URL, `{cpu: {enabled: false}, memory: {collection_interval: 1s}}`)
			// The first profile gives no increment; then one is taken before, between and after the steps.
			for range steps {
				c.awaitScrapes(t, 1)
				_, err := get(t.Context(), p.url()+"/allocate")
				require.NoError(t, err)
			}
			c.awaitScrapes(t, 1)
			want := reportDifference(t, profiles.end)
			require.EventuallyWithT(t, func(collect *assert.CollectT) {
				got, err := p.allocations(t, prom)
				require.NoError(collect, err)
				assert.Equal(collect, want, got)
			}, settleTimeout, pollInterval)

			t.Logf("%d functions; main.page: %v", len(want), want["main.page"])
			assert.Positive(t, want["main.page"].flat)
			if tc.tolerance > 0 {
				assert.InEpsilon(t, steps*allocatedByPage, want["main.page"].flat, tc.tolerance)
			}
		})
	}
}

// reportDifference is what go tool pprof prints of two profiles, less its percentages.
func reportDifference(t *testing.T, profiles func() (first, last string)) map[string]flatAndCumulative {
	t.Helper()
	first, last := profiles()
	report := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-top", "-sample_index=alloc_space", "-unit=B",
		"-nodecount=1000000", "-nodefraction=0", "-symbolize=none", "-base="+first, last)
	output, err := report.Output()
	require.NoError(t, err)
	functions := map[string]flatAndCumulative{}
	for _, line := range reportLine.FindAllStringSubmatch(string(output), -1) {
		var amounts flatAndCumulative
		amounts.flat, err = strconv.ParseFloat(line[1], 64)
		require.NoError(t, err)
		amounts.cumulative, err = strconv.ParseFloat(line[2], 64)
		require.NoError(t, err)
		require.NotContains(t, functions, line[3])
		functions[line[3]] = amounts
	}
	return functions
}

//	flat  flat%   sum%        cum   cum%
//
// 4194304B 54.87% 54.87%   4194304B 54.87%  main.page
var reportLine = regexp.MustCompile(`(?m)^ *(\d+)B? +\S+% +\S+% +(\d+)B? +\S+% +(\S.*?)(?: \(\S*inline\))?$`)

// allocations are the counters of all functions.
func (p *busyProgram) allocations(t *testing.T, prom *prometheus) (map[string]flatAndCumulative, error) {
	t.Helper()
	functions := map[string]flatAndCumulative{}
	for _, kind := range []string{"flat", "cumulative"} {
		result, err := prom.query(t.Context(), fmt.Sprintf("memory_allocation_%s_bytes_total{service_name=%q}", kind, p.service))
		if err != nil {
			return nil, err
		}
		for _, one := range result {
			name := one.labels["code_function_name"]
			amounts := functions[name]
			if kind == "flat" {
				amounts.flat += one.value
			} else {
				amounts.cumulative += one.value
			}
			functions[name] = amounts
		}
	}
	return functions, nil
}
