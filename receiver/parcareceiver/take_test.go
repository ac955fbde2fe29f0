// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
	"github.com/profiletometrics/profiletometrics/internal/parcaapi/parcatest"
)

// closed is the end of a window that Parca is asked for up to T3 inclusive, as
// the recorded requests were.
var closed = at(30*time.Second + time.Nanosecond)

// cpu is what the functions of a recorded CPU profile of so many seconds have.
func cpu(seconds int64) map[string]int64 {
	return map[string]int64{"main.hot": seconds * 7e8, "main.helper": seconds * 2e8, "main.fib": seconds * 1e8}
}

func TestAWindowIsOneProfileForEachSetOfGroupedLabels(t *testing.T) {
	for _, tc := range []struct {
		name, query string
		groupBy     []string
		want        map[string]map[string]int64 // by the values of the grouped label
	}{
		{"no label", cpuType + ofA, nil, map[string]map[string]int64{"": cpu(1 + 2 + 3 + 4)}},
		{
			"a label that all series have", cpuType + `{job="fix"}`,
			[]string{"instance"},
			map[string]map[string]int64{"a:1": cpu(10), "b:1": cpu(100)},
		},
		{
			"a label that one series lacks", cpuType + `{job="fix"}`,
			[]string{"env"},
			map[string]map[string]int64{"prod": cpu(10), "": cpu(100)},
		},
		{
			"a label that no series has", cpuType + `{job="fix"}`,
			[]string{"tenant"},
			map[string]map[string]int64{"": cpu(110)},
		},
		{
			"a count of samples, which comes back as time",
			"process_cpu:samples:count:cpu:nanoseconds:delta" + ofA, nil,
			map[string]map[string]int64{"": cpu(10)},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHarness(t, testConfig(), parcatest.NewServer(t), nil).start(t)
			h.query(t, "shop", tc.query, tc.groupBy...).pollUpTo(t, closed)
			got := map[string]map[string]int64{}
			for _, d := range h.delivered(t) {
				assert.Equal(t, "cpu/nanoseconds", d.sampleType)
				assert.Equal(t, at(0), d.start)
				assert.Equal(t, closed.Sub(at(0)), d.length)
				assert.Equal(t, tc.query, d.resource["parca.query"])
				assert.Equal(t, "shop", d.resource["parca.query.name"])
				assert.Equal(t, "shop", d.resource["service.name"])
				value := ""
				if len(tc.groupBy) > 0 && d.resource[tc.groupBy[0]] != nil {
					value = d.resource[tc.groupBy[0]].(string)
				}
				got[value] = d.flat
			}
			assert.Equal(t, tc.want, got)
			assert.Empty(t, h.logs.All())
			assert.Equal(t, map[string]float64{"shop success": 1}, h.counts(t, "queries", "query", "outcome"))
		})
	}
}

func TestTheJobIsTheServiceIfGroupedBy(t *testing.T) {
	h := newHarness(t, testConfig(), storeServer(t), nil).start(t)
	h.query(t, "shop", cpuType, "job", "instance").pollUpTo(t, closed)
	resources := map[any]map[string]any{}
	for _, d := range h.delivered(t) {
		resources[d.resource["instance"]] = d.resource
	}
	want := func(instance string) map[string]any {
		return map[string]any{
			"parca.query": cpuType, "parca.query.name": "shop",
			"service.name": "fix", "job": "fix", "instance": instance,
		}
	}
	assert.Equal(t, map[any]map[string]any{"a:1": want("a:1"), "b:1": want("b:1")}, resources)
}

func TestWindowsFollowEachOtherToTheNanosecond(t *testing.T) {
	server := parcatest.NewServer(t)
	server.Serve(parcatest.RecordedStore(t, 8))
	h := newHarness(t, testConfig(), server, nil).start(t)
	query := h.query(t, "shop", cpuType+ofA)
	// The first ends on a profile, which belongs to the second.
	for _, end := range []time.Time{at(10 * time.Second), at(20*time.Second + 1), closed} {
		query.pollUpTo(t, end)
	}
	var totals []int64
	for _, d := range h.delivered(t) {
		totals = append(totals, d.flat["main.hot"]/7e8)
	}
	assert.Equal(t, []int64{1, 2 + 3, 4}, totals)
	next := at(0)
	for _, request := range server.Requests() {
		merge := request.Message.(*querypb.QueryRequest).GetMerge()
		assert.Equal(t, next, merge.GetStart().AsTime())
		next = merge.GetEnd().AsTime().Add(time.Nanosecond)
	}
	assert.Equal(t, closed, next)
}

func TestNoDataIsNoFailure(t *testing.T) {
	for _, query := range []string{
		cpuType + `{job="other"}`,
		inuseType + `{job="other"}`,
		allocType + `{job="other"}`,
		"memory:inuse_space:bytes:space:bytes:delta", // the wrong suffix
	} {
		h := newHarness(t, testConfig(), storeServer(t), nil).start(t)
		p := h.query(t, "shop", query)
		p.pollUpTo(t, closed)
		assert.Empty(t, h.sink.AllProfiles())
		assert.Equal(t, closed, p.cursor)
		assert.Equal(t, map[string]float64{"no_data": 1}, h.counts(t, "queries", "outcome"))
		assert.Empty(t, h.logs.All())
	}
}

// storeServer answers from the recorded profiles.
func storeServer(t *testing.T) *parcatest.Server {
	t.Helper()
	server := parcatest.NewServer(t)
	server.Serve(parcatest.RecordedStore(t, 8))
	return server
}

func TestNamesAndAddressesComeThroughAsTheyAre(t *testing.T) {
	labels, p := parcatest.RecordedProfile(t, "write_cpu_a_0")
	labels["path"] = "/srv/\"ä b\"\\{}"
	p.Function[0].Name = `(*T[go.shape.int]).Do·"x" 日本`
	p.Function[0].Filename = `C:\src\a b.go`
	native := p.Sample[1].Location[0]
	native.Line, native.Address = nil, native.Mapping.Start+0x1234
	store := parcatest.NewStore()
	store.Write(labels, p, at(0))
	server := parcatest.NewServer(t)
	server.Serve(store)
	h := newHarness(t, testConfig(), server, nil).start(t)
	h.query(t, "näme", cpuType, "path").pollUpTo(t, closed)

	data := h.sink.AllProfiles()[0]
	d := read(t, data)[0]
	assert.Equal(t, labels["path"], d.resource["path"])
	assert.Contains(t, d.flat, p.Sample[1].Location[0].Mapping.File+"+0x401234")
	names, files := map[string]bool{}, map[string]bool{}
	text := data.Dictionary().StringTable()
	for _, f := range data.Dictionary().FunctionTable().All() {
		names[text.At(int(f.NameStrindex()))] = true
		files[text.At(int(f.FilenameStrindex()))] = true
	}
	assert.Contains(t, names, p.Function[0].Name)
	assert.Contains(t, files, p.Function[0].Filename)
	assert.Equal(t, "github.com/profiletometrics/profiletometrics/receiver/parcareceiver",
		data.ResourceProfiles().At(0).ScopeProfiles().At(0).Scope().Name())
	assert.Equal(t, "v9", data.ResourceProfiles().At(0).ScopeProfiles().At(0).Scope().Version())
}

func TestTheSizeOfAnswersIsCounted(t *testing.T) {
	h := newHarness(t, testConfig(), parcatest.NewServer(t), nil).start(t)
	h.query(t, "shop", cpuType+ofA).pollUpTo(t, closed)
	report := parcatest.Named(t, "merge_all_nanos").Response.(*querypb.QueryResponse).GetPprof()
	assert.Equal(t, map[string]float64{"shop": float64(len(report))}, h.counts(t, "answer_size", "query"))
}

func FuzzAnswers(f *testing.F) {
	for _, e := range parcatest.Recorded(f) {
		response, ok := e.Response.(*querypb.QueryResponse)
		if !ok || len(response.GetPprof()) == 0 {
			continue
		}
		f.Add(response.GetPprof())
		p, err := profile.ParseData(response.GetPprof())
		require.NoError(f, err)
		var plain bytes.Buffer
		require.NoError(f, p.WriteUncompressed(&plain))
		f.Add(plain.Bytes())
	}
	server := parcatest.NewServer(f)
	query := &deltas{
		source:  newSource(parcaapi.New(server.Connection()), time.Minute),
		query:   cpuType,
		groupBy: []string{"instance", "job"},
	}
	w := window{start: at(0), end: closed}
	f.Fuzz(func(t *testing.T, report []byte) {
		server.AnswerQuery(&querypb.QueryResponse{Report: &querypb.QueryResponse_Pprof{Pprof: report}})
		got, err := query.take(t.Context(), w)
		if err != nil {
			require.Equal(t, parcaapi.InvalidAnswer, parcaapi.KindOf(err))
			return
		}
		profiles, err := convert(identity{name: "shop", query: cpuType}, got.groups, w, "v9")
		require.NoError(t, err)
		// Sums may overflow, but both in the same way.
		answered, delivered := int64(0), int64(0)
		for _, g := range got.groups {
			for _, s := range g.profile.Sample {
				answered += s.Value[0]
			}
		}
		for _, rp := range profiles.ResourceProfiles().All() {
			for _, s := range rp.ScopeProfiles().At(0).Profiles().At(0).Samples().All() {
				delivered += s.Values().At(0)
			}
		}
		require.Equal(t, answered, delivered)
		_, err = (&pprofile.ProtoMarshaler{}).MarshalProfiles(profiles)
		require.NoError(t, err)
	})
}
