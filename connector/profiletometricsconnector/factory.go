// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/connector/xconnector"
	"go.opentelemetry.io/collector/consumer"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/metadata"
)

// NewFactory returns the factory of the connector from a profiles pipeline to
// a metrics pipeline.
func NewFactory() xconnector.Factory {
	return xconnector.NewFactory(
		metadata.Type,
		createDefaultConfig,
		xconnector.WithProfilesToMetrics(createProfilesToMetrics, metadata.ProfilesToMetricsStability),
	)
}

func createProfilesToMetrics(_ context.Context, settings connector.Settings, config component.Config, next consumer.Metrics) (xconnector.Profiles, error) {
	return newProfilesToMetrics(settings, config.(*Config), next)
}
