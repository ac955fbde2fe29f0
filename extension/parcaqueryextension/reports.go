// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaqueryextension

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/pprof/profile"
	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"

	"github.com/profiletometrics/profiletometrics/extension/parcaqueryextension/internal/profilejson"
)

// report is one of the values of the parameter reportType.
type report struct {
	name string
	// asked is the report that the server makes.
	asked querypb.QueryRequest_ReportType
	// groups says whether the report keeps samples apart by labels.
	groups bool
	// raw takes the report's bytes out of the answer, for those who want them;
	// fileName is what they are called then. nil for a document.
	raw      func(*querypb.QueryResponse) []byte
	fileName string
	// document computes JSON from the server's pprof report.
	document func(ctx context.Context, p *profile.Profile, limit int64) (profilejson.Document, error)
}

// reports are all of them, in the order in which they are listed to users.
var reports = []*report{
	{
		name:     "pprof",
		asked:    querypb.QueryRequest_REPORT_TYPE_PPROF,
		groups:   true,
		raw:      (*querypb.QueryResponse).GetPprof,
		fileName: "profile.pb.gz",
	},
	{
		name:     "flamegraph_arrow",
		asked:    querypb.QueryRequest_REPORT_TYPE_FLAMEGRAPH_ARROW,
		groups:   true,
		raw:      func(r *querypb.QueryResponse) []byte { return r.GetFlamegraphArrow().GetRecord() },
		fileName: "flamegraph.arrow",
	},
	{
		name:     "table_arrow",
		asked:    querypb.QueryRequest_REPORT_TYPE_TABLE_ARROW,
		raw:      func(r *querypb.QueryResponse) []byte { return r.GetTableArrow().GetRecord() },
		fileName: "table.arrow",
	},
	{
		name:     "json_flamegraph",
		asked:    querypb.QueryRequest_REPORT_TYPE_PPROF,
		document: newFlamegraph,
	},
	{
		name:     "json_stacks",
		asked:    querypb.QueryRequest_REPORT_TYPE_PPROF,
		groups:   true,
		document: newStacks,
	},
}

func newFlamegraph(ctx context.Context, p *profile.Profile, limit int64) (profilejson.Document, error) {
	return profilejson.NewFlamegraph(ctx, p, limit)
}

func newStacks(ctx context.Context, p *profile.Profile, limit int64) (profilejson.Document, error) {
	return profilejson.NewStacks(ctx, "json_stacks", p, limit)
}

func reportNamed(name string) (*report, error) {
	names := make([]string, 0, len(reports))
	for _, r := range reports {
		if r.name == name {
			return r, nil
		}
		names = append(names, r.name)
	}
	choice := strings.Join(names, ", ")
	if name == "" {
		return nil, fmt.Errorf("reportType: missing; give one of %s", choice)
	}
	return nil, fmt.Errorf("reportType: there is no %q; give one of %s", name, choice)
}
