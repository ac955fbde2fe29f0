// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/connector/xconnector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector"
	"github.com/profiletometrics/profiletometrics/internal/livepage"
	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// pageHost is a host with an extension that shows connectors.
type pageHost struct {
	component.Host
	component.StartFunc
	component.ShutdownFunc

	mu    sync.Mutex
	shown map[component.ID]func() livepage.Connector
}

func newPageHost() *pageHost {
	return &pageHost{Host: componenttest.NewNopHost(), shown: map[component.ID]func() livepage.Connector{}}
}

func (h *pageHost) GetExtensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{component.MustNewID("other"): nil, component.MustNewID("profiletometricsz"): h}
}

func (h *pageHost) Show(id component.ID, look func() livepage.Connector) func() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shown[id] = look
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.shown, id)
	}
}

// watched is a connector that a page shows.
type watched struct {
	xconnector.Profiles
	host *pageHost
	id   component.ID
}

func (w *watched) look(tb testing.TB) livepage.Connector {
	tb.Helper()
	look := w.host.shown[w.id]
	require.NotNil(tb, look)
	return look()
}

func startWatched(tb testing.TB, cfg component.Config, next consumer.Metrics) *watched {
	tb.Helper()
	factory := profiletometricsconnector.NewFactory()
	settings := connectortest.NewNopSettings(factory.Type())
	settings.ID = component.MustNewIDWithName("profiletometrics", "shown")
	conn, err := factory.CreateProfilesToMetrics(tb.Context(), settings, cfg, next)
	require.NoError(tb, err)
	w := &watched{conn, newPageHost(), settings.ID}
	require.NoError(tb, conn.Start(tb.Context(), w.host))
	return w
}

func configOf(tb testing.TB, text string) component.Config {
	tb.Helper()
	cfg, err := loadConfig([]byte(text))
	require.NoError(tb, err)
	return cfg
}

// sampled is a batch with one profile of a sample type.
func sampled(tb testing.TB, sampleType string, values ...int64) pprofile.Profiles {
	tb.Helper()
	profile := testprofile.Profile{SampleType: testprofile.ValueType(sampleType)}
	for _, value := range values {
		profile.Samples = append(profile.Samples, testprofile.Sample{Stack: testprofile.Stack("main.work", "main.main"), Values: []int64{value}})
	}
	return testprofile.New(tb, testprofile.Resource{
		Attributes: testprofile.Attributes{"service.name": "checkout"}, Profiles: []testprofile.Profile{profile},
	})
}

func TestThePageShowsAConnectorFromStartToShutdown(t *testing.T) {
	w := startWatched(t, configOf(t, "{}"), consumertest.NewNop())
	assert.Contains(t, w.host.shown, w.id)
	require.NoError(t, w.Shutdown(t.Context()))
	assert.Empty(t, w.host.shown)
}

func TestThePageTellsWhatCame(t *testing.T) {
	w := startWatched(t, configOf(t, "metrics: {memory: {enabled: false}}"), consumertest.NewNop())
	defer func() { require.NoError(t, w.Shutdown(context.Background())) }()
	consume(t, w, testprofile.New(t, testprofile.Resource{
		Attributes: testprofile.Attributes{"service.name": "checkout"},
		Profiles: []testprofile.Profile{
			{SampleType: "cpu/nanoseconds", PeriodType: "cpu/nanoseconds", Period: 1e7, Samples: []testprofile.Sample{
				{Stack: testprofile.Stack("main.work"), Values: []int64{1e9}},
				{Stack: testprofile.Stack("main.main"), Values: []int64{1e9}},
			}},
			{SampleType: "samples/count", PeriodType: "cpu/nanoseconds", Period: 1e7, Samples: []testprofile.Sample{
				{Stack: testprofile.Stack("main.work"), Values: []int64{200}},
			}},
			{SampleType: "alloc_space/bytes", Samples: []testprofile.Sample{{Stack: testprofile.Stack("main.work"), Values: []int64{1}}}},
		},
	}))
	for range 3 {
		consume(t, w, sampled(t, "goroutine/count", 1, 2))
	}

	view := w.look(t)
	assert.Equal(t, []livepage.Outcome{
		{Name: "converted", Samples: 2}, {Name: "ignored", Samples: 8}, {Name: "filtered"}, {Name: "malformed"},
	}, view.Outcomes)
	assert.Equal(t, []livepage.SampleType{{
		Type: "cpu", Unit: "nanoseconds", PeriodType: "cpu", PeriodUnit: "nanoseconds", Samples: 2, Metrics: []string{"cpu_time"},
	}}, view.Taken)
	assert.Equal(t, []livepage.SampleType{
		{
			Type: "goroutine", Unit: "count", Samples: 6, Reason: "no entry of sample_types asks for it",
			Entry: "- type: goroutine\n  unit: count\n  metric_name: goroutine\n  instrument: gauge",
		},
		{
			Type: "alloc_space", Unit: "bytes", Samples: 1, Reason: "metrics.memory.enabled is false",
			Entry: "- type: alloc_space\n  unit: bytes\n  metric_name: alloc_space\n  metric_unit: By\n  instrument: counter",
		},
		{
			Type: "samples", Unit: "count", PeriodType: "cpu", PeriodUnit: "nanoseconds", Samples: 1,
			Reason: "the same samples as the CPU time that came beside them, which is counted",
		},
	}, view.Ignored)
}

// loadAsTheCollectorDoes resolves a configuration with all its variables.
func loadAsTheCollectorDoes(tb testing.TB, text string) component.Config {
	tb.Helper()
	resolver, err := confmap.NewResolver(confmap.ResolverSettings{
		URIs:              []string{"yaml:" + text},
		ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory(), envprovider.NewFactory()},
		DefaultScheme:     "env",
	})
	require.NoError(tb, err)
	conf, err := resolver.Resolve(tb.Context())
	require.NoError(tb, err)
	require.NoError(tb, resolver.Shutdown(tb.Context()))
	cfg := profiletometricsconnector.NewFactory().CreateDefaultConfig()
	require.NoError(tb, conf.Unmarshal(cfg))
	require.NoError(tb, confmap.Validate(cfg))
	return cfg
}

// Every entry that the page suggests can be pasted as it is, all of them together, and what was
// ignored is then converted.
func TestSuggestedEntriesTakeWhatWasIgnored(t *testing.T) {
	t.Setenv("SECRET", "leaked")
	for _, tt := range []struct {
		name  string
		types []string // that come
		names []string // of metrics
	}{
		{"goroutines", []string{"goroutine/count"}, []string{"goroutine"}},
		{"time and its count", []string{"delay/nanoseconds", "contentions/count"}, []string{"contentions", "delay"}},
		{"one type in two units", []string{"wall/nanoseconds", "wall/count"}, []string{"wall", "wall_2"}},
		{"one unit in two spellings", []string{"wall/nanoseconds", "wall/ns"}, []string{"wall"}},
		{"no unit", []string{"events"}, []string{"events"}},
		{"the name of a metric that is there", []string{"cpu_time/count"}, []string{"cpu_time_2"}},
		{"not a word", []string{"42/count", "…/count"}, []string{"sample_type", "sample_type_42"}},
		{"what YAML takes for something else", []string{"yes/count", "null/count", "1e3/count", "- a: b/count", "# c/count"}, []string{"a__b", "c", "null", "sample_type_1e3", "yes"}},
		{"what the Collector takes for a variable", []string{"${env:SECRET}/count", "$$SECRET/count", "a${env:SECRET}/$x"}, []string{"a__env_secret", "env_secret", "secret"}},
		{"what a terminal takes for a command", []string{"\x1b[31m/count", "a\nb/count", " blank /count", "\"'\\`/count"}, []string{"a_b", "blank", "sample_type", "sample_type_31m"}},
		{"upper case", []string{"WALL/COUNT"}, []string{"wall"}},
		{"letters that are more than one in the other case", []string{"İ/İ"}, []string{"sample_type"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := startWatched(t, configOf(t, "{}"), consumertest.NewNop())
			for _, sampleType := range tt.types {
				consume(t, w, sampled(t, sampleType, 1))
			}
			view := w.look(t)
			require.NoError(t, w.Shutdown(t.Context()))
			require.Len(t, view.Ignored, len(tt.types))
			lines := []string{"sample_types:"}
			for _, ignored := range view.Ignored {
				lines = append(lines, ignored.Entry)
			}
			text := strings.Join(lines, "\n")

			w = startWatched(t, loadAsTheCollectorDoes(t, text), consumertest.NewNop())
			defer func() { require.NoError(t, w.Shutdown(context.Background())) }()
			for _, sampleType := range tt.types {
				consume(t, w, sampled(t, sampleType, 1))
			}
			view = w.look(t)
			assert.Empty(t, view.Ignored, text)
			names := map[string]bool{}
			for _, taken := range view.Taken {
				for _, name := range taken.Metrics {
					names[name] = true
				}
			}
			for _, name := range tt.names {
				assert.Contains(t, names, name)
			}
			assert.Len(t, names, len(tt.names))
		})
	}
}

func TestWhatNoEntryCanTakeHasNone(t *testing.T) {
	w := startWatched(t, configOf(t, "{}"), consumertest.NewNop())
	defer func() { require.NoError(t, w.Shutdown(context.Background())) }()
	consume(t, w, sampled(t, "", 1))
	consume(t, w, sampled(t, "\xff/count", 1))
	view := w.look(t)
	require.Len(t, view.Ignored, 2)
	assert.Equal(t, "the sample type has no name, so that nothing can ask for it", view.Ignored[0].Reason)
	assert.Empty(t, view.Ignored[0].Entry)
	assert.Equal(t, "the name is not valid UTF-8, so that nothing can ask for it", view.Ignored[1].Reason)
	assert.Empty(t, view.Ignored[1].Entry)
}

// However many sample types come, and however long their names are, the page stays bounded and
// their samples are counted.
func TestSampleTypesAreToldApartUpToALimit(t *testing.T) {
	w := startWatched(t, configOf(t, "{}"), consumertest.NewNop())
	defer func() { require.NoError(t, w.Shutdown(context.Background())) }()
	for i := range 1000 {
		consume(t, w, sampled(t, fmt.Sprintf("type%d/count", i), 1, 1))
	}
	consume(t, w, sampled(t, strings.Repeat("x", 1<<20)+"/count", 1))
	consume(t, w, sampled(t, "cpu/nanoseconds", 1))
	view := w.look(t)
	assert.Len(t, view.Ignored, 100)
	assert.Equal(t, int64(2*900+1), view.OtherSamples)
	assert.Len(t, view.Taken, 1)
}

func TestThePageTellsTheLastErrors(t *testing.T) {
	broken := errors.New("the backend is closed")
	w := startWatched(t, configOf(t, "aggregation_temporality: delta\nmetrics_flush_interval: 0s"), consumertest.NewErr(broken))
	defer func() { require.NoError(t, w.Shutdown(context.Background())) }()
	begun := time.Now()
	require.ErrorIs(t, w.ConsumeProfiles(t.Context(), sampled(t, "cpu/nanoseconds", 1)), broken)
	for range 3 {
		malformed := sampled(t, "cpu/nanoseconds", 1, 1)
		malformed.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).Samples().At(1).SetStackIndex(77)
		require.ErrorIs(t, w.ConsumeProfiles(t.Context(), malformed), broken)
	}
	errs := w.look(t).Errors
	require.Len(t, errs, 2)
	assert.Equal(t, "The metrics pipeline did not take a flush", errs[0].What)
	assert.Equal(t, "the backend is closed", errs[0].Detail)
	assert.Equal(t, int64(4), errs[0].Times)
	assert.Equal(t, "A batch had malformed samples: stack_index", errs[1].What)
	assert.Equal(t, "stack_index: 1; the first: resource_profiles[0].scope_profiles[0].profiles[0].samples[1]: "+
		"stack_index 77 is outside of its table of 2 entries", errs[1].Detail)
	assert.Equal(t, int64(3), errs[1].Times)
	for _, err := range errs {
		assert.False(t, err.First.Before(begun))
		assert.False(t, err.Last.Before(err.First))
	}
}
