// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaqueryextension

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi/parcatest"
)

// compact takes the line breaks and their indentation out of a JSON text that is
// written for people.
func compact(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimSpace(line))
	}
	return b.String() + "\n"
}

// From T0 to T3 instance a:1 used 1+2+3+4 = 10 s of CPU time: 70 % in main.hot,
// 20 % in main.helper and 10 % in main.fib, which calls itself twice.
func TestFlamegraphOfRecordedProfiles(t *testing.T) {
	h, _ := startRecorded(t)
	want := compact(`
		{"name":"root","system_name":"","filename":"","start_line":0,"value":10000000000,"children":[
			{"name":"main.main","system_name":"main.main","filename":"/src/main.main.go","start_line":30,"value":10000000000,"children":[
				{"name":"main.run","system_name":"main.run","filename":"/src/main.run.go","start_line":20,"value":9000000000,"children":[
					{"name":"main.hot","system_name":"main.hot","filename":"/src/main.hot.go","start_line":10,"value":7000000000,"children":[]},
					{"name":"main.warm","system_name":"main.warm","filename":"/src/main.warm.go","start_line":50,"value":2000000000,"children":[
						{"name":"main.helper","system_name":"main.helper","filename":"/src/main.helper.go","start_line":40,"value":2000000000,"children":[]}
					]}
				]},
				{"name":"main.fib","system_name":"main.fib","filename":"/src/main.fib.go","start_line":60,"value":1000000000,"children":[
					{"name":"main.fib","system_name":"main.fib","filename":"/src/main.fib.go","start_line":60,"value":1000000000,"children":[
						{"name":"main.fib","system_name":"main.fib","filename":"/src/main.fib.go","start_line":60,"value":1000000000,"children":[]}
					]}
				]}
			]}
		]}`)
	assert.Equal(t, want, get(t, h.url(recorded("json_flamegraph"))).text(t))
}

// The window from T1 to just before T2 has one profile, of 2 s.
func TestStacksOfRecordedProfiles(t *testing.T) {
	h, _ := startRecorded(t)
	want := compact(`
		{"report_type":"json_stacks","unit":"nanoseconds","unique_stack_traces":3,"total_value":2000000000,"samples":[
			{"value":1400000000,"labels":{},"stack":[
				{"function_name":"main.main","file_name":"/src/main.main.go","line_number":33,"binary_name":"fixture"},
				{"function_name":"main.run","file_name":"/src/main.run.go","line_number":23,"binary_name":"fixture"},
				{"function_name":"main.hot","file_name":"/src/main.hot.go","line_number":13,"binary_name":"fixture"}
			]},
			{"value":400000000,"labels":{},"stack":[
				{"function_name":"main.main","file_name":"/src/main.main.go","line_number":33,"binary_name":"fixture"},
				{"function_name":"main.run","file_name":"/src/main.run.go","line_number":23,"binary_name":"fixture"},
				{"function_name":"main.warm","file_name":"/src/main.warm.go","line_number":53,"binary_name":"fixture"},
				{"function_name":"main.helper","file_name":"/src/main.helper.go","line_number":43,"binary_name":"fixture"}
			]},
			{"value":200000000,"labels":{},"stack":[
				{"function_name":"main.main","file_name":"/src/main.main.go","line_number":33,"binary_name":"fixture"},
				{"function_name":"main.fib","file_name":"/src/main.fib.go","line_number":63,"binary_name":"fixture"},
				{"function_name":"main.fib","file_name":"/src/main.fib.go","line_number":63,"binary_name":"fixture"},
				{"function_name":"main.fib","file_name":"/src/main.fib.go","line_number":63,"binary_name":"fixture"}
			]}
		]}`)
	assert.Equal(t, want, get(t, h.url(recorded("json_stacks",
		[2]string{paramStart, "2026-07-01T12:00:10Z"}, [2]string{paramEnd, "2026-07-01T12:00:19.999999999Z"}))).text(t))
}

// Instance b:1 has no label env. It used 100 s, instance a:1 10 s, in the same
// three stacks.
func TestGroupsAreLabelsOfStacks(t *testing.T) {
	h, server := startRecorded(t)
	text := get(t, h.url(recorded("json_stacks",
		[2]string{paramQuery, `process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{job="fix"}`}, [2]string{paramGroupBy, "env"}))).text(t)
	var heads []string
	for _, sample := range strings.SplitAfter(text, `{"value":`)[1:] {
		head, _, _ := strings.Cut(sample, `,"stack"`)
		heads = append(heads, head)
	}
	assert.Equal(t, []string{
		`70000000000,"labels":{}`,
		`20000000000,"labels":{}`,
		`10000000000,"labels":{}`,
		`7000000000,"labels":{"env":"prod"}`,
		`2000000000,"labels":{"env":"prod"}`,
		`1000000000,"labels":{"env":"prod"}`,
	}, heads)
	assert.Contains(t, text, `"unique_stack_traces":3,"total_value":110000000000,`)

	requests := server.Requests()
	require.Len(t, requests, 1)
	asked, ok := requests[0].Message.(*querypb.QueryRequest)
	require.True(t, ok)
	assert.Equal(t, []string{"labels.env"}, asked.GetGroupBy().GetFields())
}

// Each report of the server comes through as it is, as JSON or as bytes.
func TestReportsOfTheServer(t *testing.T) {
	h, _ := startRecorded(t)
	const samples = `process_cpu:samples:count:cpu:nanoseconds:delta{job="fix",instance="a:1"}`
	for _, tc := range []struct {
		reportType, exchange, query string
		fileName                    string
		record                      func(*querypb.QueryResponse) []byte
	}{
		{"pprof", "merge_all_nanos", recordedQuery, "profile.pb.gz", (*querypb.QueryResponse).GetPprof},
		{"pprof", "merge_all_samples", samples, "profile.pb.gz", (*querypb.QueryResponse).GetPprof},
		{
			"flamegraph_arrow", "merge_all_nanos_FLAMEGRAPH_ARROW", recordedQuery, "flamegraph.arrow",
			func(r *querypb.QueryResponse) []byte { return r.GetFlamegraphArrow().GetRecord() },
		},
		{
			"table_arrow", "merge_all_samples_TABLE", samples, "table.arrow",
			func(r *querypb.QueryResponse) []byte { return r.GetTableArrow().GetRecord() },
		},
	} {
		t.Run(tc.exchange, func(t *testing.T) {
			want, ok := parcatest.Named(t, tc.exchange).Response.(*querypb.QueryResponse)
			require.True(t, ok)
			require.NotEmpty(t, tc.record(want))
			target := h.url(recorded(tc.reportType, [2]string{paramQuery, tc.query}))

			asJSON := get(t, target)
			var got querypb.QueryResponse
			require.NoError(t, protojson.Unmarshal([]byte(asJSON.text(t)), &got))
			assert.True(t, proto.Equal(want, &got))
			assert.Equal(t, "Accept", asJSON.header.Get("Vary"))

			asBytes := do(t, http.MethodGet, target, http.Header{"Accept": {contentTypeBytes}})
			require.Equal(t, http.StatusOK, asBytes.status)
			asBytes.requireType(t, contentTypeBytes)
			assert.Equal(t, "attachment; filename="+tc.fileName, asBytes.header.Get("Content-Disposition"))
			assert.Equal(t, tc.record(want), asBytes.body)
		})
	}
}

// What the bytes of a pprof report are, go tool pprof can read: 5 s from T1 to T2,
// as both ends of a window belong to it.
func TestBytesOfPprofAreAProfile(t *testing.T) {
	h, _ := startRecorded(t)
	reply := do(t, http.MethodGet, h.url(recorded("pprof",
		[2]string{paramStart, "2026-07-01T14:00:10+02:00"}, [2]string{paramEnd, "2026-07-01T12:00:20Z"})),
		http.Header{"Accept": {contentTypeBytes}})
	p, err := profile.ParseData(reply.body)
	require.NoError(t, err)
	var sum int64
	for _, s := range p.Sample {
		sum += s.Value[0]
	}
	assert.Equal(t, int64(5_000_000_000), sum)
}

// A document is JSON, whatever the caller prefers.
func TestDocumentsHaveNoBytes(t *testing.T) {
	h, _ := startRecorded(t)
	reply := do(t, http.MethodGet, h.url(recorded("json_flamegraph")), http.Header{"Accept": {contentTypeBytes}})
	assert.True(t, strings.HasPrefix(reply.text(t), `{"name":"root"`))
}

func TestHeadIsGetWithoutTheBody(t *testing.T) {
	h, _ := startRecorded(t)
	for _, reportType := range []string{"json_flamegraph", "json_stacks", "pprof"} {
		target := h.url(recorded(reportType))
		full, head := get(t, target), do(t, http.MethodHead, target, http.Header{})
		assert.Equal(t, http.StatusOK, head.status)
		assert.Empty(t, head.body)
		assert.Equal(t, full.length, head.length)
		assert.Equal(t, full.header.Get("Content-Type"), head.header.Get("Content-Type"))
	}
	missing := do(t, http.MethodHead, h.url(nil), http.Header{})
	assert.Equal(t, http.StatusBadRequest, missing.status)
	assert.Empty(t, missing.body)
}

func TestPreferenceForBytes(t *testing.T) {
	for _, tc := range []struct {
		accept string
		want   bool
	}{
		{"", false},
		{"*/*", false},
		{"application/json", false},
		{"application/octet-stream", true},
		{"APPLICATION/Octet-Stream", true},
		{"text/html, application/octet-stream;q=0.1", true},
		{"application/octet-stream, */*;q=0.8", true},
		{"application/json;q=0.5, application/octet-stream", true},
		{"application/json, application/octet-stream;q=0.5", false},
		{"application/json, application/octet-stream", false},
		{"application/octet-stream;q=0", false},
		{"application/octet-stream;q=2", false},
		{"application/octet-stream;q=NaN", false},
		{"application/octet-stream;q=x", false},
		{";;;", false},
	} {
		t.Run(tc.accept, func(t *testing.T) {
			assert.Equal(t, tc.want, wantsBytes(http.Header{"Accept": {tc.accept}}))
		})
	}
}
