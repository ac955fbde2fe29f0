// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaqueryextension

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

func TestParametersAreRead(t *testing.T) {
	r, err := parseRequest(url.Values{
		paramQuery:      {` process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta { job = "shop", pod =~ "a+b" } `},
		paramStart:      {"2026-07-01T14:00:00.5+02:00"},
		paramEnd:        {"2026-07-01T12:00:01Z"},
		paramReportType: {"pprof"},
		paramGroupBy:    {"job,pod", "node", "job"},
	}.Encode(), time.Minute)
	require.NoError(t, err)
	assert.Equal(t, `process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{job="shop",pod=~"a+b"}`, r.query.String())
	assert.Equal(t, parcaapi.Range{
		Start: time.Date(2026, 7, 1, 12, 0, 0, 5e8, time.UTC),
		End:   time.Date(2026, 7, 1, 12, 0, 1, 0, time.UTC),
	}, r.window)
	assert.Equal(t, "pprof", r.report.name)
	assert.Equal(t, []string{"job", "pod", "node"}, r.groupBy)
}

func TestBadParameters(t *testing.T) {
	const encoded = "query=a%3Ab%3Ac%3Ad%3Ae&start=2026-07-01T12:00:00Z&end=2026-07-01T12:01:00Z&reportType=pprof"
	_, err := parseRequest(encoded, time.Minute)
	require.NoError(t, err)
	change := func(name string, values ...string) string {
		all, err := url.ParseQuery(encoded)
		require.NoError(t, err)
		all[name] = values
		return all.Encode()
	}
	for _, tc := range []struct {
		name, rawQuery, want string
	}{
		{"no query", change("query"), "query: missing; a profile type and matchers, such as process_cpu:"},
		{"an empty query", change("query", ""), "query: missing"},
		{"two queries", change("query", "a", "b"), "query: given 2 times; give it once"},
		{"a query that is no type", change("query", "cpu"), `query: the query does not name a profile type ("cpu" has 1 of the 5 or 6 parts`},
		{"a query with an open brace", change("query", "a:b:c:d:e{"), `is expected comes ""`},
		{"a bad regular expression", change("query", `a:b:c:d:e{job=~"("}`), "missing closing )"},
		{"no start", change("start"), "start: missing; a time such as 2026-07-01T12:00:00Z"},
		{"no end", change("end"), "end: missing; a time such as"},
		{"a start that is no time", change("start", "yesterday"), `start: "yesterday" is no RFC 3339 time; write one such as 2026-07-01T12:00:00Z`},
		{"seconds since 1970", change("end", "1782907200"), `end: "1782907200" is no RFC 3339 time`},
		{"a plus that was not escaped", strings.Replace(encoded, "12:00:00Z", "14:00:00+02:00", 1), "start: \"2026-07-01T14:00:00 02:00\" is no RFC 3339 time; in a URL, write + as %2B"},
		{"a time before 1970", change("start", "1969-12-31T23:59:59Z"), "start: \"1969-12-31T23:59:59Z\" is out of range; give a time from 1970 to 2261"},
		{"a time after what 64 bits hold", change("end", "9999-01-01T00:00:00Z"), "is out of range"},
		{"an end before the start", change("end", "2026-07-01T11:00:00Z"), "end: 2026-07-01T11:00:00Z is before start; give the later time as end"},
		{"a window that is too long", change("end", "2026-07-01T12:01:00.000000001Z"), "end: 1m0.000000001s after start is longer than max_window (1m0s); ask for a shorter time"},
		{"no report type", change("reportType"), "reportType: missing; give one of pprof, flamegraph_arrow"},
		{"an empty report type", change("reportType", ""), "reportType: missing; give one of pprof"},
		{"another report type", change("reportType", "PPROF"), `reportType: there is no "PPROF"; give one of pprof`},
		{"two report types", change("reportType", "pprof", "pprof"), "reportType: given 2 times"},
		{"a label that is none", change("groupBy", "job;DROP"), `groupBy: "job;DROP" is no label name; give labels, separated by commas`},
		{"no label", change("groupBy", ""), `groupBy: "" is no label name`},
		{"a report that does not group", change("groupBy", "job") + "&reportType=table_arrow", "reportType: given 2 times"},
		{"groups of a table", strings.Replace(encoded, "pprof", "table_arrow&groupBy=job", 1), "groupBy: reportType table_arrow does not tell groups apart; leave it out, or ask for json_stacks"},
		{"groups of a flame graph", strings.Replace(encoded, "pprof", "json_flamegraph&groupBy=job", 1), "groupBy: reportType json_flamegraph does not tell groups apart"},
		{"an unknown parameter", encoded + "&token=x", `"token": there is no such parameter; there are query, start, end, reportType, groupBy`},
		{"a broken escape", encoded + "&x=%zz", "the query string of the URL cannot be read"},
		{"a semicolon", encoded + ";x=1", "the query string of the URL cannot be read"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := parseRequest(tc.rawQuery, time.Minute)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestAllMistakesAreReportedTogether(t *testing.T) {
	_, err := parseRequest("query=x&start=y&end=z&reportType=w&groupBy=!&v=u", time.Minute)
	for _, want := range []string{"query: ", "start: ", "end: ", "reportType: ", "groupBy: ", `"v": `} {
		require.ErrorContains(t, err, want)
	}
}

// A window may be one nanosecond: both of its ends belong to it.
func TestAWindowMayBeAMoment(t *testing.T) {
	_, err := parseRequest("query=a:b:c:d:e&start=2026-07-01T12:00:00Z&end=2026-07-01T12:00:00Z&reportType=pprof", time.Minute)
	require.NoError(t, err)
}

// FuzzParameters checks that no query string panics, and that what is taken is
// within the limits and can be sent.
func FuzzParameters(f *testing.F) {
	f.Add("query=a%3Ab%3Ac%3Ad%3Ae&start=2026-07-01T12:00:00Z&end=2026-07-01T12:01:00Z&reportType=pprof&groupBy=job")
	f.Add(`query={__name__%3D"my-app:b:c:d:e",job=~"x"}&start=2026-07-01T12:00:00%2B02:00&end=2026-07-01T12:00:00.1Z&reportType=json_stacks`)
	f.Add("query=&start=0001-01-01T00:00:00Z&end=9999-12-31T23:59:59Z&reportType=&groupBy=a,,b")
	f.Add("%&;=\x00")
	f.Fuzz(func(t *testing.T, rawQuery string) {
		const longest = time.Hour
		r, err := parseRequest(rawQuery, longest)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.NotNil(t, r.report)
		window := r.window.End.Sub(r.window.Start)
		require.True(t, window >= 0 && window <= longest, window)
		require.GreaterOrEqual(t, r.window.Start.UnixNano(), int64(0))
		for _, label := range r.groupBy {
			require.True(t, parcaapi.IsLabelName(label), label)
		}
		again, err := parcaapi.ParseQuery(r.query.String())
		require.NoError(t, err, "what is sent can be read")
		require.Equal(t, r.query.String(), again.String())
	})
}
