// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricszextension

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/profiletometrics/profiletometrics/internal/livepage"
	"github.com/profiletometrics/profiletometrics/internal/livepage/pagetest"
)

func TestThePageShowsEverything(t *testing.T) {
	e, _ := start(t, nil)
	e.Show(first, example)
	page := e.read(t, "")
	assert.Contains(t, page.Text, "profiletometrics/first")
	assert.Contains(t, page.Text, "since 2026-01-02 03:04:05 UTC. Flushes every 15s, with cumulative temporality.")
	assert.Contains(t, page.Text, "5 samples are of still other types")

	for _, want := range []pagetest.Table{
		{
			Caption: "Errors, the latest first",
			Header:  []string{"last", "first", "times", "error", "the last one in detail"},
			Rows:    [][]string{{"2026-01-02 04:04:05 UTC", "2026-01-02 03:04:05 UTC", "4", "The metrics pipeline did not take a flush", "closed"}},
		},
		{
			Caption: "Samples since the start, by what became of them",
			Header:  []string{"converted", "ignored", "filtered", "malformed", ""},
			Rows:    [][]string{{"1,234,567", "20", "0", "3", ""}},
		},
		{
			Caption: "Measures seen: sample types that become metrics",
			Header:  []string{"samples", "sample type", "unit", "period", "metrics"},
			Rows:    [][]string{{"1,234,567", "cpu", "nanoseconds", "cpu, nanoseconds", "cpu_time, a_rule"}},
		},
		{
			Caption: "Sample types ignored. Put an entry into the list sample_types of profiletometrics/first to make a metric of them. " +
				"The name is yours to choose. Check the instrument: counter for what happens, gauge for what is there",
			Header: []string{"samples", "sample type", "unit", "period", "ignored because", "entry"},
			Rows: [][]string{
				{"20", "goroutine", "count", "", "no entry of sample_types asks for it", "- type: goroutine\n  metric_name: goroutine"},
				{"1", "(none)", "count", "", "it has no name", ""},
			},
		},
		{
			Caption: "Series of all resources, overflow series aside",
			Header:  []string{"live", "aggregation_cardinality_limit", "resources", "weight of a batch that found no series and went to overflow"},
			Rows:    [][]string{{"1,500", "20,000", "3", "7 times since the start"}},
		},
		{
			Caption: "Series by resource: the 2 of 3 resources that have the most. Functions with series of their own, of metrics.function.limit (500)",
			Header:  []string{"resource", "measure", "series", "functions", "has overflow series", "heaviest functions in overflow"},
			Rows: [][]string{
				{"service.name=checkout, pid=7, and 2 more", "cpu_time", "1,100", "500 of 500", "cpu_time.flat, cpu_time.cumulative", "one, two, and more"},
				{"service.name=checkout, pid=7, and 2 more", "memory_usage", "100", "50 of 500", "none", "none"},
				{"(no attributes)", "cpu_time", "300", "150 of 500", "none", "none"},
			},
		},
		{
			Caption: "cpu_time in s, a counter: from 03:04:05 to 03:05:20 (1m15s); 2 of 134 functions",
			Header:  []string{"flat", "flat %", "cumulative", "cumulative %", "function"},
			Rows: [][]string{
				{"1.75", "100.0%", "1.75", "100.0%", "total"},
				{"1.5", "85.7%", "1.5", "85.7%", "main.work"},
				{"0.125", "7.1%", "1.75", "100.0%", "main.main"},
				{"0.125", "7.1%", "0.25", "14.3%", "in overflow series"},
			},
		},
		{
			Caption: "memory_usage in By, a gauge: now; 1 of 1 functions",
			Header:  []string{"flat", "flat %", "function"},
			Rows:    [][]string{{"4,096", "100.0%", "total"}, {"4,096", "100.0%", "main.work"}},
		},
		{
			Caption: "a_rule: the first flush interval has not ended yet",
			Header:  []string{"value", "what"},
			Rows:    [][]string{{"0", "total"}},
		},
	} {
		assert.Equal(t, want, table(t, page, want.Caption))
	}
	assert.Len(t, page.Tables, 9)
}

func TestThePageSortsByCumulativeWeight(t *testing.T) {
	e, _ := start(t, nil)
	e.Show(first, example)
	top := table(t, e.read(t, "?sort=cumulative"), "cpu_time")
	assert.Equal(t, "main.main", top.Rows[1][4])
	assert.Equal(t, "main.work", top.Rows[2][4])
	assert.Len(t, table(t, e.read(t, "?sort=cumulative"), "memory_usage").Rows, 2, "it has no cumulative metric")
}

func TestThePageShowsSeveralConnectorsOrNone(t *testing.T) {
	e, _ := start(t, nil)
	assert.Contains(t, e.read(t, "").Text, "No profiletometrics connector runs in this collector.")
	hideSecond := e.Show(second, func() livepage.Connector { return livepage.Connector{Delta: true} })
	e.Show(first, example)
	text := e.read(t, "").Text
	assert.Contains(t, text, "Connectors: profiletometrics/first profiletometrics/second")
	assert.Contains(t, text, "Flushes with each batch, with delta temporality.")
	assert.Contains(t, text, "Last errors None since the start.")
	assert.Contains(t, text, "Nothing that is measured has come yet.")
	hideSecond()
	hideSecond()
	assert.NotContains(t, e.read(t, "").Text, "second")
}

// The page fetches nothing and runs nothing.
func TestThePageStandsAlone(t *testing.T) {
	e, _ := start(t, nil)
	e.Show(first, example)
	body := string(do(t, "GET", e.url("")).body)
	for _, element := range e.read(t, "").Elements {
		assert.NotContains(t, []string{"script", "link", "img", "iframe", "form", "object", "embed", "base"}, element)
	}
	assert.NotRegexp(t, `(?i)\bsrc\s*=|url\(|@import|\bon\w+\s*=|https?:`, body)
	for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(body, -1) {
		assert.Regexp(t, `^(\?sort=\w+)?#connector-1(-\w+)?$`, link[1])
	}
}

// everywhere is a connector that has a text in every place that holds one.
func everywhere(text string) livepage.Connector {
	view := example()
	kind := livepage.SampleType{
		Type: text, Unit: text, PeriodType: text, PeriodUnit: text,
		Metrics: []string{text, text}, Reason: text, Entry: "- type: " + text,
	}
	view.Outcomes = []livepage.Outcome{{Name: text}}
	view.Taken, view.Ignored = []livepage.SampleType{kind}, []livepage.SampleType{kind}
	view.Resources = []livepage.Resource{{
		Attributes: []livepage.Attribute{{Key: text, Value: text}},
		Measures:   []livepage.ResourceMeasure{{Metric: text, Overflow: []string{text}, Heaviest: []string{text}}},
	}}
	view.Measures = []livepage.Measure{{
		Metric: text, Unit: text, HasFlat: true, HasCumulative: true,
		ByFlat: []livepage.Function{{Name: text, Flat: 1}}, ByCumulative: []livepage.Function{{Name: text, Flat: 1}},
	}}
	view.Errors = []livepage.Error{{What: text, Detail: text}}
	return view
}

func render(tb testing.TB, view livepage.Connector) (body string, read pagetest.Page) {
	tb.Helper()
	var out bytes.Buffer
	require.NoError(tb, pageTemplate.Execute(&out, page{Connectors: []section{{Connector: view, Anchor: "a", ID: "profiletometrics"}}}))
	read, err := pagetest.Read(bytes.NewReader(out.Bytes()))
	require.NoError(tb, err)
	return out.String(), read
}

// FuzzTextsAreOnlyText: no text from outside changes what the page is made of, and what a browser or
// terminal shows of it is what stands there.
func FuzzTextsAreOnlyText(f *testing.F) {
	for _, text := range []string{
		"main.work",
		"<script>alert(1)</script>",
		`"><img src=x onerror=alert(1)>`,
		"</td></tr></table></main></body></html>",
		"</pre><style>*{display:none}</style>",
		"<!-- ", "]]>", "<![CDATA[", "{{.Now}}", "&lt;&#60;&amp;",
		"javascript:alert(1)", "' onmouseover='alert(1)",
		"\x1b[2J\x1b]0;owned\x07", "\x00\x01\x7f", "\xff\xfe", "a\u202etxt.exe", "\u2066x\u2069", "\ufeff", "\u200b",
		"std::vector<std::pair<int, char const*>>::operator[](unsigned long) const",
		"run<T>\n  metric_name: x",
		strings.Repeat("long", 1000),
		"", " ", "\t\r\n",
	} {
		f.Add(text)
	}
	_, harmless := render(f, everywhere("harmless"))
	f.Fuzz(func(t *testing.T, text string) {
		body, read := render(t, everywhere(text))
		assert.Equal(t, harmless.Elements, read.Elements)
		require.Len(t, read.Tables, len(harmless.Tables))
		for _, r := range visible(text) {
			assert.True(t, unicode.IsGraphic(r), "%q", r)
		}
		top := read.Tables[len(read.Tables)-1]
		assert.Equal(t, strings.TrimSpace(visible(text)), top.Rows[1][len(top.Rows[1])-1])
		assert.Equal(t, "- type: "+asHTML(text), entryOf(t, read))
		assert.Less(t, len(body), 50_000+30*6*longestText+12*len(text))
	})
}

// entryOf is the entry of the first sample type that is ignored, as it is copied.
func entryOf(t *testing.T, read pagetest.Page) string {
	t.Helper()
	ignored := table(t, read, "Sample types ignored")
	return ignored.Rows[0][len(ignored.Rows[0])-1]
}

// asHTML is what HTML makes of a text that holds what HTML cannot.
func asHTML(text string) string {
	text = strings.ReplaceAll(text, "\x00", "\ufffd")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	return html.UnescapeString(html.EscapeString(text))
}

func TestNumbersAreReadable(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0", 1: "1", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123",
		1.75: "1.75", 0.25: "0.25", 12.3456: "12.35", 1234.6: "1,235", 1234567.8: "1,234,568",
		0.000012345: "0.00001234", 1e-15: "0", 9.3e18: "9,300,000,000,000,000,000", 0.1 + 0.2: "0.3",
	} {
		assert.Equal(t, want, number(value), value)
	}
	assert.Equal(t, "85.7%", share(1.5, 1.75))
	assert.Equal(t, "–", share(0, 0))
}
