// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// checkout has 1.75 s of CPU time: 1.5 s in main.work, called by main.main, and 0.25 s in
// main.main itself; and a heap on which main.work holds 4096 bytes.
func checkout(t *testing.T) pprofile.Profiles {
	t.Helper()
	return testprofile.New(t, testprofile.Resource{
		Attributes: testprofile.Attributes{"service.name": "checkout", "deployment.environment.name": "e2e"},
		Profiles: []testprofile.Profile{
			{
				SampleType: "cpu/nanoseconds",
				PeriodType: "cpu/nanoseconds",
				Period:     10_000_000,
				Time:       time.Now(),
				Duration:   10 * time.Second,
				Samples: []testprofile.Sample{
					{Stack: testprofile.Stack("main.work", "main.main"), Values: []int64{1_000_000_000}},
					{Stack: testprofile.Stack("main.main"), Values: []int64{250_000_000}},
					{Stack: testprofile.Stack("main.work", "main.main"), Values: []int64{500_000_000}},
				},
			},
			{
				SampleType: "inuse_space/bytes",
				PeriodType: "space/bytes",
				Period:     524_288,
				Time:       time.Now(),
				Samples: []testprofile.Sample{
					{Stack: testprofile.Stack("main.work", "main.main"), Values: []int64{4096}},
				},
			},
		},
	})
}

// Profiles that are sent over OTLP arrive in Prometheus with exactly the numbers they hold.
func TestOTLPProfilesBecomeExactMetrics(t *testing.T) {
	c := startCollector(t)
	prom := startPrometheus(t, c)

	sendGRPC(t, c.otlpGRPC, checkout(t))
	requireValues(t, prom, map[string]float64{
		`cpu_time_seconds_total{}`:                                          1.75,
		`cpu_time_flat_seconds_total{code_function_name="main.work"}`:       1.5,
		`cpu_time_flat_seconds_total{code_function_name="main.main"}`:       0.25,
		`cpu_time_cumulative_seconds_total{code_function_name="main.work"}`: 1.5,
		`cpu_time_cumulative_seconds_total{code_function_name="main.main"}`: 1.75,
		`memory_usage_bytes{}`:                                              4096,
		`memory_usage_flat_bytes{code_function_name="main.work"}`:           4096,
		`memory_usage_cumulative_bytes{code_function_name="main.main"}`:     4096,
	})

	// CPU time adds up; the heap is what the newest profile says.
	sendHTTP(t, c.otlpHTTP, checkout(t))
	requireValues(t, prom, map[string]float64{
		`cpu_time_seconds_total{}`:                                          3.5,
		`cpu_time_flat_seconds_total{code_function_name="main.work"}`:       3,
		`cpu_time_flat_seconds_total{code_function_name="main.main"}`:       0.5,
		`cpu_time_cumulative_seconds_total{code_function_name="main.main"}`: 3.5,
		`memory_usage_bytes{}`:                                              4096,
		`memory_usage_flat_bytes{code_function_name="main.work"}`:           4096,
	})
}

// requireValues waits until Prometheus has these values for the service checkout.
func requireValues(t *testing.T, prom *prometheus, want map[string]float64) {
	t.Helper()
	for selector, value := range want {
		require.EventuallyWithT(t, func(collect *assert.CollectT) {
			expr := "sum(" + strings.Replace(selector, "{", `{service_name="checkout",`, 1) + ")"
			got, err := prom.scalar(t.Context(), expr)
			require.NoError(collect, err)
			assert.InDelta(collect, value, got, 1e-9, expr)
		}, settleTimeout, pollInterval, selector)
	}
}

func sendGRPC(t *testing.T, address string, profiles pprofile.Profiles) {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	response, err := pprofileotlp.NewGRPCClient(conn).Export(t.Context(), pprofileotlp.NewExportRequestFromProfiles(profiles))
	require.NoError(t, err)
	require.Zero(t, response.PartialSuccess().RejectedProfiles(), response.PartialSuccess().ErrorMessage())
}

func sendHTTP(t *testing.T, address string, profiles pprofile.Profiles) {
	t.Helper()
	body, err := pprofileotlp.NewExportRequestFromProfiles(profiles).MarshalProto()
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		"http://"+address+"/v1development/profiles", bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-protobuf")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
}
