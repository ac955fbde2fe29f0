// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricszextension

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"

	"github.com/profiletometrics/profiletometrics/extension/profiletometricszextension/internal/metadata"
)

// NewFactory returns the factory of the profiletometricsz extension.
func NewFactory() extension.Factory {
	return extension.NewFactory(
		metadata.Type,
		func() component.Config { return newDefaultConfig() },
		create,
		metadata.ExtensionStability,
	)
}

func create(_ context.Context, settings extension.Settings, cfg component.Config) (extension.Extension, error) {
	return newExtension(cfg.(*Config), settings), nil
}
