// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/connector/xconnector"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// TestConcurrentCallersAddUpToWhatOneWould flushes while 8 goroutines consume.
func TestConcurrentCallersAddUpToWhatOneWould(t *testing.T) {
	const callers, messages = 8, 40
	for name, config := range map[string]string{
		"cumulative":                "metrics: {cpu: {unit: ns}}\nmetrics_flush_interval: 1h\nmetrics_expiration: 0s\n",
		"delta":                     "metrics: {cpu: {unit: ns}}\naggregation_temporality: delta\nmetrics_flush_interval: 1ms\n",
		"delta within each call":    "metrics: {cpu: {unit: ns}}\naggregation_temporality: delta\nmetrics_flush_interval: 0s\n",
		"cumulative, many overflow": "metrics: {cpu: {unit: ns}, function: {enabled: false}}\naggregation_cardinality_limit: 3\nmetrics_flush_interval: 1h\nmetrics_expiration: 0s\n",
	} {
		t.Run(name, func(t *testing.T) {
			one := new(consumertest.MetricsSink)
			conn := start(t, config, one)
			for caller := range callers {
				for message := range messages {
					consume(t, conn, busyMessage(t, caller, message))
				}
			}
			require.NoError(t, conn.Shutdown(t.Context()))

			many := new(consumertest.MetricsSink)
			conn = start(t, config, many)
			consumeConcurrently(t, conn, callers, messages)
			require.NoError(t, conn.Shutdown(t.Context()))

			assert.Equal(t, sumsOf(one.AllMetrics()), sumsOf(many.AllMetrics()))
		})
	}
}

// busyMessage has something in common with those of other callers, and
// something of its own.
func busyMessage(tb testing.TB, caller, message int) pprofile.Profiles {
	tb.Helper()
	own := fmt.Sprintf("own%d", (caller+message)%5)
	return testprofile.New(tb, testprofile.Resource{
		Attributes: testprofile.Attributes{"service.name": own},
		Profiles: []testprofile.Profile{
			{SampleType: "cpu/nanoseconds", Samples: []testprofile.Sample{
				{Stack: testprofile.Stack(own, "shared", "main"), Values: []int64{int64(message + 1)}},
				{Stack: testprofile.Stack("shared", "main"), Values: []int64{int64(caller + 1)}},
			}},
			{SampleType: "alloc_space/bytes", Samples: []testprofile.Sample{
				{Stack: testprofile.Stack("shared", own), Values: []int64{512}},
			}},
		},
	})
}

func consumeConcurrently(t *testing.T, conn xconnector.Profiles, callers, messages int) {
	t.Helper()
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() {
			for message := range messages {
				profiles := busyMessage(t, caller, message)
				profiles.MarkReadOnly()
				assert.NoError(t, conn.ConsumeProfiles(t.Context(), profiles))
			}
		})
	}
	group.Wait()
}
