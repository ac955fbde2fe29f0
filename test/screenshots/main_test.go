// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const end = 1_800_000_000

// server answers every query of a range with two functions, one of which works more and more, and every
// other query with their last values.
func server(t *testing.T, queries *[]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*queries = append(*queries, r.URL.Query().Get("query"))
		const one = `{"metric": {"code_function_name": %q, "service_name": "shop"}, %s}`
		values := [2]string{`"value": [1800000000, "0.25"]`, `"value": [1800000000, "0.5"]`}
		if strings.HasSuffix(r.URL.Path, "/query_range") {
			const some = `"values": [[1799999400, "0.25"], [1800000000, "%s"]]`
			values = [2]string{fmt.Sprintf(some, "0.25"), fmt.Sprintf(some, "0.5")}
		}
		_, _ = fmt.Fprintf(w, `{"data": {"result": [`+one+`, `+one+`]}}`, "main.calm", values[0], "main.<busy>", values[1])
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Every panel of the dashboard is drawn: each row is a page with its titles and the values of its queries.
func TestEveryRowOfTheDashboardIsDrawn(t *testing.T) {
	var queries []string
	o := options{
		dashboard: "../../dashboards/profiletometrics.json", server: server(t, &queries), directory: t.TempDir(),
		service: "shop", function: `main\..*`, span: 10 * time.Minute, end: end,
	}
	var printed bytes.Buffer
	require.NoError(t, run(t.Context(), o, &printed))
	rows, err := readDashboard(&o)
	require.NoError(t, err)
	assert.Equal(t, len(rows), strings.Count(printed.String(), ".html 1216 "))
	for _, r := range rows {
		page, err := os.ReadFile(filepath.Join(o.directory, fileName(r.title)+".html"))
		require.NoError(t, err)
		for _, p := range r.panels {
			assert.Contains(t, string(page), "<h2>"+p.Title+"</h2>")
		}
		assert.NotContains(t, string(page), "No data", r.title)
		assert.NotContains(t, string(page), "NaN", r.title)
	}
	page, err := os.ReadFile(filepath.Join(o.directory, "functions-cpu-time.html"))
	require.NoError(t, err)
	assert.Contains(t, string(page), `main.&lt;busy&gt;<td>0.5<td>0.375</tr>`, "last value and mean, in the legend")
	assert.Contains(t, string(page), `main.&lt;busy&gt;<td>50 %<td>50 %</tr>`, "flat and cumulative share, in the table")
	assert.Contains(t, queries[3], `{service_name=~"shop",code_function_name=~"main\\..*"`, "the row on functions' CPU time has what is chosen")
	assert.Contains(t, queries[0], `{service_name=~".*"}`, "and the row of services all")
	for _, query := range queries {
		assert.NotContains(t, query, "$")
	}
}

func TestAnErrorNamesThePanel(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "too many samples", http.StatusUnprocessableEntity)
	}))
	defer s.Close()
	err := run(t.Context(), options{
		dashboard: "../../dashboards/profiletometrics.json", server: s.URL, directory: t.TempDir(), span: time.Minute,
	}, new(bytes.Buffer))
	require.ErrorContains(t, err, `panel "CPU time by service"`)
	require.ErrorContains(t, err, "too many samples")
}

func TestStackedLinesLieUponEachOther(t *testing.T) {
	at := []time.Time{time.Unix(0, 0), time.Unix(1, 0)}
	lines := curves([]series{{at: at, values: []float64{1, 2}}, {at: at[1:], values: []float64{3}}}, true)
	assert.Equal(t, []float64{1, 2}, lines[0].upper)
	assert.Equal(t, []float64{2}, lines[1].lower)
	assert.Equal(t, []float64{5}, lines[1].upper)
}

func TestValuesHaveTheDashboardsUnits(t *testing.T) {
	for _, test := range []struct {
		value float64
		unit  string
		want  string
	}{
		{0.1234, "percentunit", "12.3 %"},
		{5 << 20, "bytes", "5 MiB"},
		{1536, "bytes", "1.5 KiB"},
		{2_500_000, "Bps", "2.5 MB/s"},
		{0.00012, "s", "120 µs"},
		{0.25, "none", "0.25"},
		{1400, "short", "1.4k"},
	} {
		assert.Equal(t, test.want, format(test.value, test.unit), "%g %s", test.value, test.unit)
	}
}

func TestStepsOfAnAxisAreRound(t *testing.T) {
	for _, test := range []struct {
		least float64
		unit  string
		want  float64
	}{
		{0.17, "none", 0.2},
		{0.22, "none", 0.25},
		{3, "none", 5},
		{7, "none", 10},
		{0, "none", 1},
		{3 << 20, "bytes", 4 << 20},
	} {
		assert.InDelta(t, test.want, roundStep(test.least, test.unit), 1e-9, "%g %s", test.least, test.unit)
	}
}
