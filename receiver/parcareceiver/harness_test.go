// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
	"github.com/profiletometrics/profiletometrics/internal/parcaapi/parcatest"
	"github.com/profiletometrics/profiletometrics/receiver/parcareceiver/internal/metadatatest"
)

const (
	cpuType   = "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"
	inuseType = "memory:inuse_space:bytes:space:bytes"
	allocType = "memory:alloc_space:bytes:space:bytes"
	ofA       = `{job="fix",instance="a:1"}`
)

// at is a time after the first recorded profile.
func at(after time.Duration) time.Time { return parcatest.T0.Add(after) }

// harness is a receiver under test and everything it says. Its queries are
// polled when the test says so, unless it is started.
type harness struct {
	*parca
	sink      *consumertest.ProfilesSink
	logs      *observer.ObservedLogs
	telemetry *componenttest.Telemetry
}

// testConfig polls what is between T0 and now less the delay.
func testConfig() *Config {
	cfg := newDefaultConfig()
	cfg.Client.TLS.Insecure = true
	cfg.Controller.InitialDelay = 0
	cfg.MaxLookback = 24 * time.Hour
	return cfg
}

// newHarness makes a receiver that asks the server, or its endpoint if there is
// none; next nil means a sink.
func newHarness(t *testing.T, cfg *Config, server *parcatest.Server, next xconsumer.Profiles) *harness {
	t.Helper()
	h := &harness{sink: &consumertest.ProfilesSink{}, telemetry: componenttest.NewTelemetry()}
	core, logs := observer.New(zapcore.DebugLevel)
	h.logs = logs
	settings := metadatatest.NewSettings(h.telemetry)
	settings.ID = component.MustNewID("parca")
	settings.Logger = zap.New(core)
	settings.BuildInfo.Version = "v9"
	if next == nil {
		next = h.sink
	}
	var err error
	h.parca, err = newReceiver(cfg, settings, next)
	require.NoError(t, err)
	if server != nil {
		h.dial = func(context.Context, component.Host) (*parcaapi.Client, error) {
			return parcaapi.New(server.Connection()), nil
		}
	}
	t.Cleanup(func() { h.stopAll(t) })
	return h
}

func (h *harness) stopAll(t *testing.T) {
	t.Helper()
	require.NoError(t, h.Shutdown(context.Background()))
	require.NoError(t, h.telemetry.Shutdown(context.Background()))
}

func (h *harness) start(t *testing.T) *harness {
	t.Helper()
	require.NoError(t, h.Start(t.Context(), componenttest.NewNopHost()))
	return h
}

// query makes a query that begins at T0. It needs a receiver that was started
// without queries.
func (h *harness) query(t *testing.T, name, text string, groupBy ...string) *poller {
	t.Helper()
	query, err := parcaapi.ParseQuery(text)
	require.NoError(t, err)
	p := newPoller(h.shared, identity{name: name, query: text}, query, groupBy)
	p.cursor, p.loaded = at(0), true
	return p
}

// pollUpTo polls when the window ends at the time.
func (p *poller) pollUpTo(t *testing.T, end time.Time) {
	t.Helper()
	p.poll(t.Context(), end.Add(p.config.Delay))
}

// delivered is one Profile of what was delivered, in the test's own words.
type delivered struct {
	resource   map[string]any
	sampleType string
	start      time.Time
	length     time.Duration
	flat       map[string]int64 // by leaf: function, or mapping and address
}

func (h *harness) delivered(t *testing.T) []delivered {
	t.Helper()
	var all []delivered
	for _, data := range h.sink.AllProfiles() {
		all = append(all, read(t, data)...)
	}
	h.sink.Reset()
	return all
}

func read(t *testing.T, data pprofile.Profiles) []delivered {
	t.Helper()
	var all []delivered
	text := data.Dictionary().StringTable()
	for _, rp := range data.ResourceProfiles().All() {
		require.Equal(t, 1, rp.ScopeProfiles().Len())
		require.Equal(t, 1, rp.ScopeProfiles().At(0).Profiles().Len())
		p := rp.ScopeProfiles().At(0).Profiles().At(0)
		d := delivered{
			resource:   rp.Resource().Attributes().AsRaw(),
			sampleType: text.At(int(p.SampleType().TypeStrindex())) + "/" + text.At(int(p.SampleType().UnitStrindex())),
			start:      p.Time().AsTime(),
			length:     time.Duration(p.DurationNano()),
			flat:       map[string]int64{},
		}
		for _, s := range p.Samples().All() {
			require.Zero(t, s.AttributeIndices().Len(), "the grouped labels are the resource's")
			d.flat[leaf(data.Dictionary(), s)] += s.Values().At(0)
		}
		all = append(all, d)
	}
	return all
}

func leaf(dictionary pprofile.ProfilesDictionary, s pprofile.Sample) string {
	text := dictionary.StringTable()
	stack := dictionary.StackTable().At(int(s.StackIndex()))
	location := dictionary.LocationTable().At(int(stack.LocationIndices().At(0)))
	if location.Lines().Len() == 0 {
		mapping := dictionary.MappingTable().At(int(location.MappingIndex()))
		return fmt.Sprintf("%s+%#x", text.At(int(mapping.FilenameStrindex())), location.Address())
	}
	function := dictionary.FunctionTable().At(int(location.Lines().At(0).FunctionIndex()))
	return text.At(int(function.NameStrindex()))
}

// counts returns a counter or gauge of the receiver, by the values of attributes.
func (h *harness) counts(t *testing.T, name string, by ...string) map[string]float64 {
	t.Helper()
	totals := map[string]float64{}
	add := func(set attribute.Set, value float64) {
		values := make([]string, 0, len(by))
		for _, key := range by {
			v, _ := set.Value(attribute.Key(key))
			values = append(values, v.AsString())
		}
		totals[strings.Join(values, " ")] += value
	}
	got, err := h.telemetry.GetMetric("otelcol_receiver_parca_" + name)
	if err != nil {
		return totals
	}
	switch data := got.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			add(p.Attributes, float64(p.Value))
		}
	case metricdata.Sum[float64]:
		for _, p := range data.DataPoints {
			add(p.Attributes, p.Value)
		}
	case metricdata.Gauge[float64]:
		for _, p := range data.DataPoints {
			add(p.Attributes, p.Value)
		}
	}
	return totals
}

// messages returns what was logged at a level or above.
func (h *harness) messages(level zapcore.Level) []string {
	var messages []string
	for _, entry := range h.logs.FilterLevelExact(level).All() {
		messages = append(messages, entry.Message)
	}
	return messages
}

// refusing is a consumer that refuses as long as it says so.
type refusing struct {
	consumertest.ProfilesSink
	err error
}

func (r *refusing) ConsumeProfiles(ctx context.Context, data pprofile.Profiles) error {
	if r.err != nil {
		return r.err
	}
	return r.ProfilesSink.ConsumeProfiles(ctx, data)
}

var errRefused = errors.New("out of memory")
