// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcatest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

func TestTheStoreAnswersAsTheRealServerDid(t *testing.T) {
	compared := 0
	for _, e := range Recorded(t) {
		if !isForTheStore(e) {
			continue
		}
		compared++
		t.Run(e.Name, func(t *testing.T) {
			answer, err := RecordedStore(t, e.Seq).Answer(e.Request)
			if e.Err != nil {
				require.Equal(t, status.Code(e.Err), status.Code(err), "%v", err)
				assert.Equal(t, e.Err.Error(), err.Error())
				return
			}
			require.NoError(t, err)
			assert.Equal(t, content(t, e.Response), content(t, answer))
		})
	}
	assert.Equal(t, 26, compared)
}

// isForTheStore tells which requests the store is for: merges to pprof and
// ranges of snapshots, without what no component asks for.
func isForTheStore(e Exchange) bool {
	switch r := e.Request.(type) {
	case *querypb.QueryRequest:
		return r.GetMerge() != nil && r.GetReportType() == querypb.QueryRequest_REPORT_TYPE_PPROF &&
			len(r.GetFilter()) == 0 && !slices.Contains(r.GetGroupBy().GetFields(), "timestamp")
	case *querypb.QueryRangeRequest:
		// In range_mem_step60 the server kept another profile of the bucket.
		return strings.HasPrefix(r.GetQuery(), "memory:") && e.Name != "range_mem_step60"
	case *querypb.ProfileTypesRequest:
		return true
	default:
		return false
	}
}

// content is what an answer says, in an order of its own.
func content(t *testing.T, answer proto.Message) any {
	t.Helper()
	var lines []string
	switch a := answer.(type) {
	case *querypb.QueryResponse:
		p, err := parcaapi.ParsePprof(a.GetPprof())
		require.NoError(t, err)
		merged, err := profile.Merge([]*profile.Profile{p})
		require.NoError(t, err)
		assert.Zero(t, p.Period)
		lines = append(lines, p.SampleType[0].Type, p.SampleType[0].Unit, p.PeriodType.Type, p.PeriodType.Unit)
		for _, s := range merged.Sample {
			lines = append(lines, fmt.Sprint(stack(s), s.Label))
		}
		return append(lines[:4:4], slices.Sorted(slices.Values(lines[4:]))...)
	case *querypb.QueryRangeResponse:
		for _, series := range a.GetSeries() {
			lines = append(lines, series.String())
		}
	case *querypb.ProfileTypesResponse:
		for _, kind := range a.GetTypes() {
			lines = append(lines, kind.String())
		}
	}
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(line, "  ", " ") // protobuf's text is not stable on purpose
	}
	slices.Sort(lines)
	return lines
}

// stack is a sample as text: its value and its frames, leaf first.
func stack(s *profile.Sample) string {
	var text strings.Builder
	fmt.Fprint(&text, s.Value[0])
	for _, l := range s.Location {
		for _, line := range l.Line {
			fmt.Fprintf(&text, " %s %s:%d", line.Function.Name, line.Function.Filename, line.Line)
		}
		fmt.Fprintf(&text, " %s+%#x;", l.Mapping.File, l.Address)
	}
	return text.String()
}
