// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"context"

	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
	"github.com/profiletometrics/profiletometrics/internal/pprofotlp"
	"github.com/profiletometrics/profiletometrics/receiver/parcareceiver/internal/metadata"
)

// identity is what a query puts on the resource of all its profiles.
type identity struct {
	name  string
	query string // as it was configured
}

// resource describes where the profiles of a group come from.
func (id identity) resource(l labels) pcommon.Map {
	attributes := pcommon.NewMap()
	attributes.PutStr("parca.query", id.query)
	attributes.PutStr("parca.query.name", id.name)
	for name, value := range l {
		attributes.PutStr(name, value)
	}
	// Parca's jobs are what Prometheus calls so: services.
	service := l["job"]
	if service == "" {
		service = id.name
	}
	attributes.PutStr("service.name", service)
	return attributes
}

// convert makes OTLP of what a window gave: one ResourceProfiles for each group,
// as of the start of the window, and as long as it.
func convert(id identity, groups []group, w window, version string) (pprofile.Profiles, error) {
	builder := pprofotlp.NewBuilder()
	for _, g := range groups {
		p := withSamples(g.profile, g.profile.Sample)
		p.TimeNanos, p.DurationNanos = w.start.UnixNano(), w.length().Nanoseconds()
		if err := builder.Add(p, id.resource(g.labels), pprofotlp.WithScope(metadata.ScopeName, version)); err != nil {
			return pprofile.Profiles{}, parcaapi.NewError(parcaapi.InvalidAnswer, err)
		}
	}
	return builder.Profiles(), nil
}

// pipeline is what comes after the receiver, with the Collector's own counts of
// what it accepted and refused.
type pipeline struct {
	next   xconsumer.Profiles
	report *receiverhelper.ObsReport
}

func newPipeline(settings receiver.Settings, next xconsumer.Profiles) (*pipeline, error) {
	report, err := receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{
		ReceiverID: settings.ID, Transport: "grpc", LongLivedCtx: true, ReceiverCreateSettings: settings,
	})
	return &pipeline{next: next, report: report}, err
}

func (p *pipeline) accept(ctx context.Context, profiles pprofile.Profiles) error {
	samples := profiles.SampleCount() // before the next consumer may change them
	ctx = p.report.StartProfilesOp(ctx)
	err := p.next.ConsumeProfiles(ctx, profiles)
	p.report.EndProfilesOp(ctx, "pprof", samples, err)
	return err
}
