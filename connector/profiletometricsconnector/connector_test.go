// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/metadata"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/metadatatest"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"
	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// blocking is a metrics pipeline that takes nothing before its context ends.
type blocking struct{ consumertest.Consumer }

func (blocking) ConsumeMetrics(ctx context.Context, _ pmetric.Metrics) error {
	<-ctx.Done()
	return ctx.Err()
}

func startConnector(t *testing.T, next consumer.Metrics, change func(*Config)) *profilesToMetrics {
	t.Helper()
	config := createDefaultConfig().(*Config)
	if change != nil {
		change(config)
	}
	require.NoError(t, config.Validate())
	c, err := newProfilesToMetrics(connectortest.NewNopSettings(metadata.Type), config, next)
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context(), componenttest.NewNopHost()))
	return c
}

// oneSecond is a second of CPU time in main.work.
func oneSecond(t *testing.T) pprofile.Profiles {
	t.Helper()
	return testprofile.New(t, testprofile.Resource{Profiles: []testprofile.Profile{{
		SampleType: "cpu/nanoseconds",
		Samples:    []testprofile.Sample{{Stack: testprofile.Stack("main.work", "main.main"), Values: []int64{1e9}}},
	}}})
}

func totals(metrics []pmetric.Metrics) []float64 {
	var values []float64
	for _, m := range metrics {
		for _, metric := range m.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().All() {
			if metric.Name() == "cpu_time" {
				values = append(values, metric.Sum().DataPoints().At(0).DoubleValue())
			}
		}
	}
	return values
}

func TestShutdownFlushesWhatIsHeld(t *testing.T) {
	next := new(consumertest.MetricsSink)
	c := startConnector(t, next, nil)
	require.NoError(t, c.ConsumeProfiles(t.Context(), oneSecond(t)))
	require.NoError(t, c.Shutdown(t.Context()))
	assert.Equal(t, []float64{1}, totals(next.AllMetrics()))
}

func TestShutdownDoesNotOutlastItsContext(t *testing.T) {
	c := startConnector(t, blocking{consumertest.NewNop()}, func(config *Config) { config.MetricsFlushInterval = time.Millisecond })
	require.NoError(t, c.ConsumeProfiles(t.Context(), oneSecond(t)))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, c.Shutdown(ctx), context.DeadlineExceeded)
}

// TestBatchesDoNotWaitForThoseOfOtherResources: there is no lock that one holds
// all the time.
func TestBatchesDoNotWaitForThoseOfOtherResources(t *testing.T) {
	c := startConnector(t, consumertest.NewNop(), nil)
	other := c.store.Update(series.Resource{Key: []byte("other"), Fill: func(pcommon.Resource) {}}, time.Now())
	converted := make(chan error)
	go func() { converted <- c.ConsumeProfiles(t.Context(), oneSecond(t)) }()
	select {
	case err := <-converted:
		require.NoError(t, err)
	case <-time.After(30 * time.Second):
		t.Error("the batch waits for another resource")
	}
	other.End()
	require.NoError(t, c.Shutdown(t.Context()))
}

func TestEmptyFlushesAreNotHandedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := new(consumertest.MetricsSink)
		c := startConnector(t, next, nil)
		time.Sleep(time.Minute)
		require.NoError(t, c.Shutdown(t.Context()))
		assert.Empty(t, next.AllMetrics())
	})
}

func TestTheConnectorTellsWhatBecameOfSamples(t *testing.T) {
	telemetry := componenttest.NewTelemetry()
	config := createDefaultConfig().(*Config)
	config.PatternFilter = FilterConfig{Enabled: true, ExcludePatterns: []string{"secret"}}
	config.Metrics.Function.Limit = 2
	c, err := newProfilesToMetrics(metadatatest.NewSettings(telemetry), config, consumertest.NewNop())
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context(), componenttest.NewNopHost()))

	profiles := testprofile.New(t, testprofile.Resource{Profiles: []testprofile.Profile{
		{
			SampleType: "cpu/nanoseconds",
			Samples: []testprofile.Sample{
				{Stack: testprofile.Stack("main.a", "main.main"), Values: []int64{1}},
				{Stack: testprofile.Stack("main.a", "main.main"), Values: []int64{1}},
				{Stack: testprofile.Stack("main.secret", "main.main"), Values: []int64{1}},
				{Stack: testprofile.Stack("main.b", "main.main"), Values: []int64{1}}, // the third function
				{Stack: testprofile.Stack("main.a", "main.main")},                     // no weight
			},
		},
		{
			SampleType: "wall/nanoseconds",
			Samples:    []testprofile.Sample{{Stack: testprofile.Stack("main.a"), Values: []int64{1}}},
		},
	}})
	require.NoError(t, c.ConsumeProfiles(t.Context(), profiles))

	samples := func(outcome string, n int64) metricdata.DataPoint[int64] {
		return metricdata.DataPoint[int64]{Attributes: attribute.NewSet(attribute.String("outcome", outcome)), Value: n}
	}
	metadatatest.AssertEqualConnectorProfiletometricsSamples(t, telemetry, []metricdata.DataPoint[int64]{
		samples("converted", 3), samples("filtered", 1), samples("malformed", 1), samples("ignored", 1),
	}, metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualConnectorProfiletometricsMalformed(t, telemetry, []metricdata.DataPoint[int64]{
		{Attributes: attribute.NewSet(attribute.String("reason", "no_weight")), Value: 1},
	}, metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualConnectorProfiletometricsSeries(t, telemetry, []metricdata.DataPoint[int64]{
		{Value: 4}, // the total, main.a flat and cumulative, main.main cumulative
	}, metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualConnectorProfiletometricsSeriesLimit(t, telemetry, []metricdata.DataPoint[int64]{
		{Value: 20_000},
	}, metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualConnectorProfiletometricsSeriesOverflowed(t, telemetry, []metricdata.DataPoint[int64]{
		{Value: 2}, // main.b flat and cumulative
	}, metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualConnectorProfiletometricsConversionDuration(t, telemetry, []metricdata.HistogramDataPoint[float64]{
		{Count: 1},
	}, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreValue())

	require.NoError(t, c.Shutdown(t.Context()))
	require.NoError(t, telemetry.Shutdown(t.Context()))
}

func TestABatchWarnsOnceAboutMalformedSamples(t *testing.T) {
	core, logs := observer.New(zapcore.WarnLevel)
	settings := connectortest.NewNopSettings(metadata.Type)
	settings.Logger = zap.New(core)
	c, err := newProfilesToMetrics(settings, createDefaultConfig().(*Config), consumertest.NewNop())
	require.NoError(t, err)

	profiles := oneSecond(t)
	profile := profiles.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
	profile.Samples().AppendEmpty()
	broken := profile.Samples().AppendEmpty()
	broken.SetStackIndex(77)
	broken.Values().Append(1)
	require.NoError(t, c.ConsumeProfiles(t.Context(), profiles))

	require.Equal(t, 1, logs.Len())
	assert.Contains(t, logs.All()[0].ContextMap()["first"],
		"resource_profiles[0].scope_profiles[0].profiles[0].samples[1]: has neither values nor timestamps")
	assert.Contains(t, logs.All()[0].ContextMap()["samples_by_reason"], symbols.StackIndex)
	require.NoError(t, c.Shutdown(t.Context()))
}
