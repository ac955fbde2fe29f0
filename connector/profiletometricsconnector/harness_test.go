// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/connector/xconnector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector"
)

// loadConfig does with YAML what the Collector does with the text below
// connectors::profiletometrics at start.
func loadConfig(text []byte) (component.Config, error) {
	retrieved, err := confmap.NewRetrievedFromYAML(text)
	if err != nil {
		return nil, err
	}
	conf, err := retrieved.AsConf()
	if err != nil {
		return nil, err
	}
	cfg := profiletometricsconnector.NewFactory().CreateDefaultConfig()
	if err := conf.Unmarshal(cfg); err != nil {
		return nil, err
	}
	return cfg, confmap.Validate(cfg)
}

// settings are those of a collector whose instance id is collector-1.
func settings() connector.Settings {
	settings := connectortest.NewNopSettings(profiletometricsconnector.NewFactory().Type())
	settings.Resource.Attributes().PutStr("service.instance.id", "collector-1")
	return settings
}

// start creates the connector as a pipeline does. The caller shuts it down.
func start(tb testing.TB, config string, next consumer.Metrics) xconnector.Profiles {
	tb.Helper()
	cfg, err := loadConfig([]byte(config))
	require.NoError(tb, err)
	factory := profiletometricsconnector.NewFactory()
	conn, err := factory.CreateProfilesToMetrics(tb.Context(), settings(), cfg, next)
	require.NoError(tb, err)
	require.NoError(tb, conn.Start(tb.Context(), componenttest.NewNopHost()))
	return conn
}

// consume hands over a message that the connector must leave as it is.
func consume(tb testing.TB, conn xconnector.Profiles, profiles pprofile.Profiles) {
	tb.Helper()
	if !profiles.IsReadOnly() {
		profiles.MarkReadOnly()
	}
	assert.NoError(tb, conn.ConsumeProfiles(tb.Context(), profiles))
}

// convert runs messages through a connector and returns all that it emitted.
func convert(tb testing.TB, config string, messages ...pprofile.Profiles) []pmetric.Metrics {
	tb.Helper()
	sink := new(consumertest.MetricsSink)
	conn := start(tb, config, sink)
	for _, profiles := range messages {
		consume(tb, conn, profiles)
	}
	require.NoError(tb, conn.Shutdown(tb.Context()))
	return sink.AllMetrics()
}

const functionName = "code.function.name"

// sums are the values of all points, added up by metric and function name; a
// metric without functions has the one name "". Zeros are left out, so that
// the absence of a point and a point of zero compare equal.
type sums map[string]map[string]float64

func sumsOf(emitted []pmetric.Metrics) sums {
	all := sums{}
	for _, metrics := range emitted {
		for _, resource := range metrics.ResourceMetrics().All() {
			for _, scope := range resource.ScopeMetrics().All() {
				for _, metric := range scope.Metrics().All() {
					all.addPoints(metric.Name(), pointsOf(metric))
				}
			}
		}
	}
	return all
}

func (s sums) addPoints(metric string, points pmetric.NumberDataPointSlice) {
	for _, point := range points.All() {
		if value := valueOf(point); value != 0 {
			if s[metric] == nil {
				s[metric] = map[string]float64{}
			}
			s[metric][functionOf(point)] += value
		}
	}
}

// functionOf is "" for the point of a total, and of an overflow.
func functionOf(point pmetric.NumberDataPoint) string {
	if name, ok := point.Attributes().Get(functionName); ok {
		return name.AsString()
	}
	return ""
}

func pointsOf(metric pmetric.Metric) pmetric.NumberDataPointSlice {
	if metric.Type() == pmetric.MetricTypeGauge {
		return metric.Gauge().DataPoints()
	}
	return metric.Sum().DataPoints()
}

func valueOf(point pmetric.NumberDataPoint) float64 {
	if point.ValueType() == pmetric.NumberDataPointValueTypeDouble {
		return point.DoubleValue()
	}
	return float64(point.IntValue())
}
