// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/metadatatest"
	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// TestEveryReasonIsToldByTelemetryAndLog spoils the second of two samples: one
// is converted, and one is malformed for the reason.
func TestEveryReasonIsToldByTelemetryAndLog(t *testing.T) {
	const second = "resource_profiles[0].scope_profiles[0].profiles[0].samples[1]: "
	for reason, tt := range map[string]struct {
		spoil func(parts)
		first string
	}{
		"no_weight":       {func(p parts) { p.sample.Values().FromRaw(nil) }, "has neither values nor timestamps"},
		"length_mismatch": {func(p parts) { p.sample.TimestampsUnixNano().Append(1, 2) }, "has 1 values but 2 timestamps"},
		"negative_value":  {func(p parts) { p.sample.Values().SetAt(0, -1) }, "has a negative value, which a counter cannot take"},
		"stack_index":     {func(p parts) { p.sample.SetStackIndex(99) }, "stack_index 99 is outside of its table of 3 entries"},
		"location_index":  {func(p parts) { p.stack.LocationIndices().SetAt(1, -1) }, "location_index -1 is outside of its table of 5 entries"},
		"function_index":  {func(p parts) { p.leaf.Lines().At(0).SetFunctionIndex(99) }, "function_index 99 is outside of its table of 4 entries"},
		"mapping_index":   {func(p parts) { p.native.SetMappingIndex(99) }, "mapping_index 99 is outside of its table of 3 entries"},
		"string_index":    {func(p parts) { p.function.SetNameStrindex(999) }, "string_index 999 is outside of its table of"},
		"attribute_index": {func(p parts) { p.sample.AttributeIndices().SetAt(0, 99) }, "attribute_index 99 is outside of its table of"},
		"link_index":      {func(p parts) { p.sample.SetLinkIndex(99) }, "link_index 99 is outside of its table of 2 entries"},
	} {
		t.Run(reason, func(t *testing.T) {
			core, logs := observer.New(zapcore.WarnLevel)
			telemetry := componenttest.NewTelemetry()
			settings := metadatatest.NewSettings(telemetry)
			settings.Logger = zap.New(core)
			cfg, err := loadConfig([]byte(lookEverywhere))
			require.NoError(t, err)
			conn, err := profiletometricsconnector.NewFactory().CreateProfilesToMetrics(t.Context(), settings, cfg, consumertest.NewNop())
			require.NoError(t, err)

			profiles := testprofile.New(t, twoSamples())
			tt.spoil(partsOf(profiles))
			consume(t, conn, profiles)

			metadatatest.AssertEqualConnectorProfiletometricsMalformed(t, telemetry, []metricdata.DataPoint[int64]{
				countOf("reason", reason, 1),
			}, metricdatatest.IgnoreTimestamp())
			metadatatest.AssertEqualConnectorProfiletometricsSamples(t, telemetry, []metricdata.DataPoint[int64]{
				countOf("outcome", "converted", 1), countOf("outcome", "malformed", 1),
				countOf("outcome", "filtered", 0), countOf("outcome", "ignored", 0),
			}, metricdatatest.IgnoreTimestamp())
			require.Equal(t, 1, logs.Len())
			assert.Contains(t, logs.All()[0].ContextMap()["first"], second+tt.first)
			require.NoError(t, conn.Shutdown(t.Context()))
			require.NoError(t, telemetry.Shutdown(t.Context()))
		})
	}
}

func countOf(key, value string, n int64) metricdata.DataPoint[int64] {
	return metricdata.DataPoint[int64]{Attributes: attribute.NewSet(attribute.String(key, value)), Value: n}
}
