// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/profiletometrics/profiletometrics/cmd/parca-load/internal/stats"
	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

const (
	// stepsPerRange is how many values a graph of a range has.
	stepsPerRange = 120
	// exactStep is as short as the resolution in which single profiles are found. Not every server
	// can be asked for it: see parcaapi.MinStep.
	exactStep = time.Millisecond
)

// report is one form in which Parca answers a query.
type report struct {
	name  string
	value querypb.QueryRequest_ReportType
}

// reports are all forms but three. SOURCE needs uploaded source code, and ends servers that are asked
// for it without naming a file. CALLGRAPH never ends for profiles with recursive functions: it keeps
// a processor of the server busy, and fills its memory, long after the request was given up.
// FLAMECHART does not exist for profiles that are added up.
var reports = []report{
	{"pprof", querypb.QueryRequest_REPORT_TYPE_PPROF},
	{"flamegraph_arrow", querypb.QueryRequest_REPORT_TYPE_FLAMEGRAPH_ARROW},
	{"table_arrow", querypb.QueryRequest_REPORT_TYPE_TABLE_ARROW},
	{"flamegraph", querypb.QueryRequest_REPORT_TYPE_FLAMEGRAPH_UNSPECIFIED}, //nolint:staticcheck // old clients ask for it
	{"flamegraph_table", querypb.QueryRequest_REPORT_TYPE_FLAMEGRAPH_TABLE},
	{"top", querypb.QueryRequest_REPORT_TYPE_TOP},
	{"profile_metadata", querypb.QueryRequest_REPORT_TYPE_PROFILE_METADATA},
}

// metadata asks which profile types, labels and values of labels there are.
func (w *Workload) metadata(r *round) {
	told := false
	for _, one := range w.config.Ranges {
		start, end := one.now()
		answer, ok := send(w, r, stats.Request{Query: stats.ProfileTypes, Range: one.Name},
			w.client.ProfileTypes, &querypb.ProfileTypesRequest{Start: start, End: end})
		if ok && len(answer.GetTypes()) > 0 {
			told = true
			w.types.learn(typesOf(answer), compareTypes)
		}
	}
	if told && !w.exactSteps.Load() {
		w.tryExactSteps(r)
	}
	for _, one := range w.config.Ranges {
		start, end := one.now()
		answer, ok := send(w, r, stats.Request{Query: stats.Labels, Range: one.Name},
			w.client.Labels, &querypb.LabelsRequest{Start: start, End: end})
		if ok {
			w.labels.learn(answer.GetLabelNames(), strings.Compare)
		}
		for _, name := range w.labels.all() {
			send(w, r, stats.Request{Query: stats.Values, Range: one.Name},
				w.client.Values, &querypb.ValuesRequest{LabelName: name, Start: start, End: end})
		}
	}
}

// tryExactSteps finds out whether a server that has profile types takes steps of less than a second.
// Those that do also know the types of a time, and there are none in 1970.
func (w *Workload) tryExactSteps(r *round) {
	start, end := timestamppb.New(time.Unix(1, 0)), timestamppb.New(time.Unix(2, 0))
	answer, ok := send(w, r, stats.Request{Query: stats.ProfileTypes},
		w.client.ProfileTypes, &querypb.ProfileTypesRequest{Start: start, End: end})
	if ok && len(answer.GetTypes()) == 0 {
		w.exactSteps.Store(true)
	}
}

// series asks for values over time.
func (w *Workload) series(r *round) {
	profileType, ok := w.types.pick(r)
	if !ok {
		return
	}
	for _, selector := range w.config.Selectors {
		for _, one := range w.config.Ranges {
			start, end := one.now()
			send(w, r, stats.Request{Query: stats.Range, Range: one.Name, Labels: selector.Name},
				w.client.QueryRange, &querypb.QueryRangeRequest{
					Query: selector.query(profileType),
					Start: start,
					End:   end,
					Step:  durationpb.New(max(one.Length/stepsPerRange, parcaapi.MinStep)),
				})
		}
	}
}

// singleProfiles asks for every report of a profile that was taken in the shortest range. The server
// tells when that was: to the step for an increment, exactly for a snapshot.
func (w *Workload) singleProfiles(r *round) {
	profileType, ok := w.types.pick(r)
	if !ok {
		return
	}
	step := parcaapi.MinStep
	if w.exactSteps.Load() {
		step = exactStep
	} else if profileType.Delta {
		return
	}
	shortest := slices.MinFunc(w.config.Ranges, func(a, b Range) int { return cmp.Compare(a.Length, b.Length) })
	for _, selector := range w.config.Selectors {
		query := selector.query(profileType)
		start, end := shortest.now()
		answer, ok := send(w, r, stats.Request{Query: stats.Timestamps, Range: shortest.Name, Labels: selector.Name},
			w.client.QueryRange, &querypb.QueryRangeRequest{
				Query: query, Start: start, End: end, Step: durationpb.New(step),
			})
		if !ok {
			continue
		}
		taken := anyTimestamp(answer.GetSeries())
		if taken == nil {
			continue
		}
		for _, form := range reports {
			send(w, r, stats.Request{Query: stats.Single, Report: form.name, Range: shortest.Name, Labels: selector.Name},
				w.client.Query, &querypb.QueryRequest{
					Mode:       querypb.QueryRequest_MODE_SINGLE_UNSPECIFIED,
					Options:    &querypb.QueryRequest_Single{Single: &querypb.SingleProfile{Query: query, Time: taken}},
					ReportType: form.value,
				})
		}
	}
}

// mergedProfiles asks for every report of the sum of all profiles of each range.
func (w *Workload) mergedProfiles(r *round) {
	profileType, ok := w.types.pick(r)
	if !ok {
		return
	}
	for _, selector := range w.config.Selectors {
		for _, one := range w.config.Ranges {
			for _, form := range reports {
				end := time.Now()
				over := parcaapi.Range{Start: end.Add(-one.Length), End: end}
				send(w, r, stats.Request{Query: stats.Merge, Report: form.name, Range: one.Name, Labels: selector.Name},
					w.client.Query, parcaapi.MergeRequest(selector.query(profileType), over, form.value, nil))
			}
		}
	}
}

// now returns the range that ends now.
func (r Range) now() (start, end *timestamppb.Timestamp) {
	now := time.Now()
	return timestamppb.New(now.Add(-r.Length)), timestamppb.New(now)
}

func (s Selector) query(profileType parcaapi.ProfileType) string {
	return parcaapi.Query{Type: profileType, Matchers: s.Matchers}.String()
}

func typesOf(answer *querypb.ProfileTypesResponse) []parcaapi.ProfileType {
	types := make([]parcaapi.ProfileType, 0, len(answer.GetTypes()))
	for _, one := range answer.GetTypes() {
		types = append(types, parcaapi.ProfileType{
			Name:       one.GetName(),
			SampleType: one.GetSampleType(),
			SampleUnit: one.GetSampleUnit(),
			PeriodType: one.GetPeriodType(),
			PeriodUnit: one.GetPeriodUnit(),
			Delta:      one.GetDelta(),
		})
	}
	return types
}

func compareTypes(a, b parcaapi.ProfileType) int {
	return strings.Compare(a.String(), b.String())
}

// anyTimestamp returns when some profile was taken; nil if there is none.
func anyTimestamp(series []*querypb.MetricsSeries) *timestamppb.Timestamp {
	var all []*timestamppb.Timestamp
	for _, one := range series {
		for _, sample := range one.GetSamples() {
			all = append(all, sample.GetTimestamp())
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[rand.IntN(len(all))]
}
