// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"context"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"

	"github.com/profiletometrics/profiletometrics/internal/pprofotlp"
	"github.com/profiletometrics/profiletometrics/receiver/pprofscrapereceiver/internal/metadata"
)

// delivery hands profiles to the next consumer. It is safe for concurrent use.
type delivery struct {
	next    xconsumer.Profiles
	obsrecv *receiverhelper.ObsReport
	version string
}

// batch is what goes to the next consumer at once.
type batch struct {
	builder *pprofotlp.Builder
	scope   pprofotlp.Option
	size    int
}

func newDelivery(settings receiver.Settings, next xconsumer.Profiles) (*delivery, error) {
	obsrecv, err := receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{
		ReceiverID:             settings.ID,
		Transport:              "http",
		ReceiverCreateSettings: settings,
	})
	if err != nil {
		return nil, err
	}
	return &delivery{next: next, obsrecv: obsrecv, version: settings.BuildInfo.Version}, nil
}

func (d *delivery) newBatch() *batch {
	return &batch{
		builder: pprofotlp.NewBuilder(),
		scope:   pprofotlp.WithScope(metadata.ScopeName, d.version),
	}
}

func (b *batch) add(p *profile.Profile, resource pcommon.Map) error {
	if err := b.builder.Add(p, resource, b.scope); err != nil {
		return err
	}
	b.size++
	return nil
}

// consume hands the batch on.
func (d *delivery) consume(ctx context.Context, b *batch) error {
	data := b.builder.Profiles()
	// Counted first: the next consumer may change what it is given.
	samples := data.SampleCount()
	ctx = d.obsrecv.StartProfilesOp(ctx)
	err := d.next.ConsumeProfiles(ctx, data)
	d.obsrecv.EndProfilesOp(ctx, "pprof", samples, err)
	return err
}
