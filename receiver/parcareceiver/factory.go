// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/profiletometrics/profiletometrics/receiver/parcareceiver/internal/metadata"
)

// NewFactory returns the factory of the parca receiver.
func NewFactory() receiver.Factory {
	return xreceiver.NewFactory(
		metadata.Type,
		func() component.Config { return newDefaultConfig() },
		xreceiver.WithProfiles(createProfiles, metadata.ProfilesStability),
	)
}

func createProfiles(
	_ context.Context,
	settings receiver.Settings,
	cfg component.Config,
	next xconsumer.Profiles,
) (xreceiver.Profiles, error) {
	return newReceiver(cfg.(*Config), settings, next)
}
