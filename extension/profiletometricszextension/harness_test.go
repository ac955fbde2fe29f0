// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricszextension

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/profiletometrics/profiletometrics/internal/livepage"
	"github.com/profiletometrics/profiletometrics/internal/livepage/pagetest"
)

var (
	started = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first   = component.MustNewIDWithName("profiletometrics", "first")
	second  = component.MustNewIDWithName("profiletometrics", "second")
)

// start runs an extension until the test ends.
func start(t *testing.T, change func(*Config)) (*liveExtension, *observer.ObservedLogs) {
	t.Helper()
	cfg := newDefaultConfig()
	cfg.Server.NetAddr.Endpoint = "127.0.0.1:0"
	if change != nil {
		change(cfg)
	}
	core, logs := observer.New(zapcore.InfoLevel)
	settings := extensiontest.NewNopSettings(NewFactory().Type())
	settings.Logger = zap.New(core)
	e := newExtension(cfg, settings)
	require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() {
		require.NoError(t, e.Shutdown(context.Background()))
		http.DefaultClient.CloseIdleConnections()
	})
	return e, logs
}

func (e *liveExtension) url(query string) string {
	return "http://" + e.server.Address().String() + path + query
}

type reply struct {
	status int
	header http.Header
	length int64
	body   []byte
}

func do(t *testing.T, method, target string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, target, http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return reply{response.StatusCode, response.Header, response.ContentLength, body}
}

// read asks for the page and reads it.
func (e *liveExtension) read(t *testing.T, query string) pagetest.Page {
	t.Helper()
	answer := do(t, http.MethodGet, e.url(query))
	require.Equal(t, http.StatusOK, answer.status, "%s", answer.body)
	require.Equal(t, "text/html; charset=utf-8", answer.header.Get("Content-Type"))
	page, err := pagetest.Read(bytes.NewReader(answer.body))
	require.NoError(t, err)
	return page
}

func table(t *testing.T, page pagetest.Page, caption string) pagetest.Table {
	t.Helper()
	found, err := page.Table(caption)
	require.NoError(t, err)
	return found
}

// example is a connector with something in every part of the page.
func example() livepage.Connector {
	return livepage.Connector{
		Started:       started,
		FlushInterval: 15 * time.Second,
		Outcomes: []livepage.Outcome{
			{Name: "converted", Samples: 1_234_567}, {Name: "ignored", Samples: 20}, {Name: "filtered"}, {Name: "malformed", Samples: 3},
		},
		Taken: []livepage.SampleType{{
			Type: "cpu", Unit: "nanoseconds", PeriodType: "cpu", PeriodUnit: "nanoseconds",
			Samples: 1_234_567, Metrics: []string{"cpu_time", "a_rule"},
		}},
		Ignored: []livepage.SampleType{
			{
				Type: "goroutine", Unit: "count", Samples: 20, Reason: "no entry of sample_types asks for it",
				Entry: "- type: goroutine\n  metric_name: goroutine",
			},
			{Unit: "count", Samples: 1, Reason: "it has no name"},
		},
		OtherSamples: 5,
		Series:       livepage.Series{Live: 1500, Limit: 20000, FunctionLimit: 500, Overflowed: 7, Resources: 3, Shown: 2},
		Resources: []livepage.Resource{
			{
				Attributes: []livepage.Attribute{{Key: "service.name", Value: "checkout"}, {Key: "pid", Value: "7"}}, MoreAttributes: 2, Series: 1200,
				Measures: []livepage.ResourceMeasure{
					{
						Metric: "cpu_time", Functions: 500, Series: 1100, Overflow: []string{"cpu_time.flat", "cpu_time.cumulative"},
						Refused: 9, Heaviest: []string{"one", "two"},
					},
					{Metric: "memory_usage", Functions: 50, Series: 100},
				},
			},
			{Series: 300, Measures: []livepage.ResourceMeasure{{Metric: "cpu_time", Functions: 150, Series: 300}}},
		},
		Measures: []livepage.Measure{
			{
				Metric: "cpu_time", Unit: "s", From: started, To: started.Add(75 * time.Second), Total: 1.75, Functions: 134,
				HasFlat: true, HasCumulative: true,
				ByFlat:       []livepage.Function{{Name: "main.work", Flat: 1.5, Cumulative: 1.5}, {Name: "main.main", Flat: 0.125, Cumulative: 1.75}},
				ByCumulative: []livepage.Function{{Name: "main.main", Flat: 0.125, Cumulative: 1.75}, {Name: "main.work", Flat: 1.5, Cumulative: 1.5}},
				OverflowFlat: 0.125, OverflowCumulative: 0.25,
			},
			{Metric: "memory_usage", Unit: "By", Gauge: true, Total: 4096, HasFlat: true, ByFlat: []livepage.Function{{Name: "main.work", Flat: 4096}}, Functions: 1},
			{Metric: "a_rule"},
		},
		Errors: []livepage.Error{{What: "The metrics pipeline did not take a flush", Detail: "closed", Times: 4, First: started, Last: started.Add(time.Hour)}},
	}
}
