// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector"

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/metadata"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"
)

// telemetry is what the connector tells of itself; documentation.md lists it.
type telemetry struct {
	builder *metadata.TelemetryBuilder

	converted, filtered, malformed, ignored metric.MeasurementOption
}

func newTelemetry(settings component.TelemetrySettings, store *series.Store) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(settings)
	if err != nil {
		return nil, err
	}
	outcome := func(name string) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(attribute.String("outcome", name)))
	}
	err = errors.Join(
		builder.RegisterConnectorProfiletometricsSeriesCallback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(store.Live())
			return nil
		}),
		builder.RegisterConnectorProfiletometricsSeriesLimitCallback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(store.Limit())
			return nil
		}),
		builder.RegisterConnectorProfiletometricsSeriesOverflowedCallback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(store.Overflowed())
			return nil
		}),
	)
	return &telemetry{
		builder:   builder,
		converted: outcome("converted"),
		filtered:  outcome("filtered"),
		malformed: outcome("malformed"),
		ignored:   outcome("ignored"),
	}, err
}

func (t *telemetry) record(ctx context.Context, report aggregate.Report, took time.Duration) {
	samples := t.builder.ConnectorProfiletometricsSamples
	samples.Add(ctx, report.Converted, t.converted)
	samples.Add(ctx, report.Filtered, t.filtered)
	samples.Add(ctx, report.Ignored, t.ignored)
	malformed := int64(0)
	for reason, count := range report.Malformed {
		malformed += count
		t.builder.ConnectorProfiletometricsMalformed.Add(ctx, count, metric.WithAttributes(attribute.String("reason", string(reason))))
	}
	samples.Add(ctx, malformed, t.malformed)
	t.builder.ConnectorProfiletometricsConversionDuration.Record(ctx, took.Seconds())
}

func (t *telemetry) shutdown() { t.builder.Shutdown() }
