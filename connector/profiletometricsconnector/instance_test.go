// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector"
)

// The golden cases collector-instance-attribute… show what comes out; here is
// what a collector may have for an id.
func TestTheInstanceIDIsThatOfTheCollector(t *testing.T) {
	tests := []struct {
		name string
		id   any // nil for none
		want string
		err  string
	}{
		{"a text", "gateway-0", "gateway-0", ""},
		{"a number", int64(7), "7", ""},
		{"none", nil, "", "service::telemetry::resource::attributes"},
		{"an empty text", "", "", "service::telemetry::resource::attributes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			settings := settings()
			settings.Resource = pcommon.NewResource()
			if tt.id != nil {
				require.NoError(t, settings.Resource.Attributes().FromRaw(map[string]any{"service.instance.id": tt.id}))
			}
			config, err := loadConfig([]byte("collector_instance_attribute: collector.instance.id"))
			require.NoError(t, err)
			sink := new(consumertest.MetricsSink)
			conn, err := profiletometricsconnector.NewFactory().CreateProfilesToMetrics(t.Context(), settings, config, sink)
			require.NoError(t, err, "a configuration that is only validated has a collector without an id")
			err = conn.Start(t.Context(), componenttest.NewNopHost())
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				require.ErrorContains(t, err, "collector_instance_attribute: ")
				require.NoError(t, conn.Shutdown(t.Context()))
				return
			}
			require.NoError(t, err)
			consume(t, conn, cpuOf(t, 1))
			require.NoError(t, conn.Shutdown(t.Context()))

			require.Len(t, sink.AllMetrics(), 1)
			resource := sink.AllMetrics()[0].ResourceMetrics().At(0).Resource()
			got, ok := resource.Attributes().Get("collector.instance.id")
			require.True(t, ok)
			assert.Equal(t, pcommon.NewValueStr(tt.want), got)
		})
	}
}

// Without the key, nothing asks for an id.
func TestACollectorWithoutAnIDNeedsNone(t *testing.T) {
	settings := settings()
	settings.Resource = pcommon.NewResource()
	config, err := loadConfig(nil)
	require.NoError(t, err)
	conn, err := profiletometricsconnector.NewFactory().CreateProfilesToMetrics(t.Context(), settings, config, consumertest.NewNop())
	require.NoError(t, err)
	require.NoError(t, conn.Start(t.Context(), componenttest.NewNopHost()))
	require.NoError(t, conn.Shutdown(t.Context()))
}
