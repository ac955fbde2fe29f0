// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaapi_test

import (
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/google/pprof/profile"
	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
	"github.com/profiletometrics/profiletometrics/internal/parcaapi/parcatest"
)

// reports are all recorded pprof reports.
func reports(tb testing.TB) [][]byte {
	tb.Helper()
	var all [][]byte
	for _, e := range parcatest.Recorded(tb) {
		if response, ok := e.Response.(*querypb.QueryResponse); ok && len(response.GetPprof()) > 0 {
			all = append(all, response.GetPprof())
		}
	}
	require.NotEmpty(tb, all)
	return all
}

func TestEveryRecordedReportCanBeRead(t *testing.T) {
	for _, report := range reports(t) {
		p, err := parcaapi.ParsePprof(report)
		require.NoError(t, err)
		assert.NotEmpty(t, p.Sample)
	}
}

func TestWhatIsNoReportIsAnInvalidAnswer(t *testing.T) {
	var twoTypes bytes.Buffer
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "a", Unit: "b"}, {Type: "c", Unit: "d"}}}
	require.NoError(t, p.Write(&twoTypes))
	var text bytes.Buffer
	w := gzip.NewWriter(&text)
	_, err := w.Write([]byte("heap profile: 1: 2 [3: 4] @ heap/1"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	for name, report := range map[string][]byte{
		"nothing":                nil,
		"text":                   []byte("<html>"),
		"a legacy profile":       text.Bytes(),
		"a report cut short":     reports(t)[0][:100],
		"gzip's first two bytes": {0x1f, 0x8b},
		"two sample types":       twoTypes.Bytes(),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parcaapi.ParsePprof(report)
			require.ErrorContains(t, err, "Parca's answer cannot be read")
			assert.Equal(t, parcaapi.InvalidAnswer, parcaapi.KindOf(err))
		})
	}
}

func FuzzParsePprof(f *testing.F) {
	for _, report := range reports(f) {
		f.Add(report)
	}
	f.Fuzz(func(t *testing.T, report []byte) {
		p, err := parcaapi.ParsePprof(report)
		if err != nil {
			require.Equal(t, parcaapi.InvalidAnswer, parcaapi.KindOf(err))
			return
		}
		require.NoError(t, p.CheckValid())
	})
}
