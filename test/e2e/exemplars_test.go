// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"encoding/json"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// The CPU series of a function links to the trace in which its heaviest sample was taken.
func TestFunctionsLinkToTraces(t *testing.T) {
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	c := startCollector(t)
	prom := startPrometheus(t, c)
	sendGRPC(t, c.otlpGRPC, testprofile.New(t, testprofile.Resource{
		Attributes: testprofile.Attributes{"service.name": "checkout"},
		Profiles: []testprofile.Profile{{
			SampleType: "cpu/nanoseconds",
			Time:       time.Now(),
			Samples: []testprofile.Sample{
				{Stack: testprofile.Stack("main.work"), Values: []int64{10_000_000}},
				{
					Stack: testprofile.Stack("main.work"), Values: []int64{30_000_000},
					Link: testprofile.Link{TraceID: trace, SpanID: "00f067aa0ba902b7"},
				},
			},
		}},
	}))
	require.EventuallyWithT(t, func(collect *assert.CollectT) {
		exemplars, err := prom.exemplars(t, `cpu_time_flat_seconds_total{code_function_name="main.work"}`)
		require.NoError(collect, err)
		require.NotEmpty(collect, exemplars)
		assert.Equal(collect, trace, exemplars[0].labels["trace_id"])
		assert.Equal(collect, "00f067aa0ba902b7", exemplars[0].labels["span_id"])
		assert.InDelta(collect, 0.03, exemplars[0].value, 1e-9)
	}, settleTimeout, pollInterval)
}

// exemplars returns those of the last minute.
func (p *prometheus) exemplars(t *testing.T, selector string) ([]series, error) {
	t.Helper()
	now := time.Now()
	query := url.Values{
		"query": {selector},
		"start": {strconv.FormatInt(now.Add(-time.Minute).Unix(), 10)},
		"end":   {strconv.FormatInt(now.Add(time.Minute).Unix(), 10)},
	}
	body, err := get(t.Context(), "http://"+p.address+"/api/v1/query_exemplars?"+query.Encode())
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data []struct {
			Exemplars []struct {
				Labels map[string]string
				Value  float64 `json:",string"`
			}
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	var result []series
	for _, one := range answer.Data {
		for _, exemplar := range one.Exemplars {
			result = append(result, series{labels: exemplar.Labels, value: exemplar.Value})
		}
	}
	return result, nil
}
