// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi/parcatest"
)

// discoverer discovers when the test says so; it returns the queries it added.
func (h *harness) discoverer(t *testing.T) (*discovery, func() []string) {
	t.Helper()
	var added []string
	d, err := newDiscovery(h.shared, func(p *poller) { added = append(added, p.identity.query) })
	require.NoError(t, err)
	return d, func() []string { return added }
}

// idle starts the receiver without discovering by itself.
func (h *harness) idle(t *testing.T) {
	t.Helper()
	h.config.Controller.InitialDelay = time.Hour
	h.start(t)
}

func discoverConfig(configure func(*DiscoverConfig)) *Config {
	cfg := testConfig()
	cfg.Discover.Enabled = true
	configure(&cfg.Discover)
	return cfg
}

func TestEveryProfileTypeOfTheServerIsQueried(t *testing.T) {
	memory := func(selector string) []string {
		return []string{
			"memory:alloc_objects:count:space:bytes" + selector, "memory:alloc_space:bytes:space:bytes" + selector,
			"memory:inuse_objects:count:space:bytes" + selector, "memory:inuse_space:bytes:space:bytes" + selector,
		}
	}
	for _, tc := range []struct {
		name      string
		configure func(*DiscoverConfig)
		want      []string
	}{
		// process_cpu:samples is answered with what process_cpu:cpu has.
		{"all", func(*DiscoverConfig) {}, append(memory(""), cpuType)},
		{"of one name", func(d *DiscoverConfig) { d.Types = []string{"memory"} }, memory("")},
		{"as they begin", func(d *DiscoverConfig) { d.Types = []string{"memory:alloc_space", "process_cpu:cpu:nanoseconds"} }, []string{allocType, cpuType}},
		{"no part is half a part", func(d *DiscoverConfig) { d.Types = []string{"mem", "process_cpu:cp"} }, nil},
		{
			"a count of samples alone", func(d *DiscoverConfig) { d.Types = []string{"process_cpu:samples"} },
			[]string{"process_cpu:samples:count:cpu:nanoseconds:delta"},
		},
		{"with a selector", func(d *DiscoverConfig) { d.Types, d.Selector = []string{"memory"}, `job="fix"` }, memory(`{job="fix"}`)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHarness(t, discoverConfig(tc.configure), storeServer(t), nil)
			h.idle(t)
			d, added := h.discoverer(t)
			assert.True(t, d.discover(t.Context(), at(time.Minute)))
			assert.True(t, d.discover(t.Context(), at(2*time.Minute)))
			assert.Equal(t, tc.want, added())
			assert.Equal(t, map[string]float64{"success": 2}, h.counts(t, "discoveries", "outcome"))
		})
	}
}

func TestADiscoveredQueryIsPolled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(at(time.Minute)))
		cfg := discoverConfig(func(d *DiscoverConfig) { d.Types, d.GroupBy = []string{"process_cpu"}, []string{"job"} })
		h := newHarness(t, cfg, storeServer(t), nil).start(t)
		time.Sleep(time.Minute)
		synctest.Wait()
		all := h.delivered(t)
		require.Len(t, all, 1)
		assert.Equal(t, cpu(110), all[0].flat)
		assert.Equal(t, map[string]any{
			"parca.query": cpuType, "parca.query.name": cpuType, "service.name": "fix", "job": "fix",
		}, all[0].resource)
	})
}

func TestATypeThatAppearsLaterIsDiscoveredLater(t *testing.T) {
	store := parcatest.NewStore()
	server := parcatest.NewServer(t)
	server.Serve(store)
	h := newHarness(t, discoverConfig(func(*DiscoverConfig) {}), server, nil)
	h.idle(t)
	d, added := h.discoverer(t)
	d.discover(t.Context(), at(time.Minute))
	assert.Empty(t, added())
	labels, p := parcatest.RecordedProfile(t, "write_cpu_a_0")
	store.Write(labels, p, at(0))
	d.discover(t.Context(), at(time.Minute))
	assert.Equal(t, []string{cpuType}, added())
}

func TestAConfiguredQueryIsNotDiscovered(t *testing.T) {
	cfg := discoverConfig(func(d *DiscoverConfig) { d.Types = []string{"process_cpu"} })
	cfg.Queries = []QueryConfig{{Name: "shop", Query: `{__name__='` + cpuType + `'}`}}
	h := newHarness(t, cfg, storeServer(t), nil)
	h.idle(t)
	d, added := h.discoverer(t)
	d.discover(t.Context(), at(time.Minute))
	assert.Empty(t, added())
}

func TestDiscoverySurvivesAPoisonedServer(t *testing.T) {
	server := parcatest.NewServer(t)
	store := parcatest.RecordedStore(t, 8)
	// A profile with an empty period type, half an hour before.
	_, poison := parcatest.RecordedProfile(t, "write_noperiod")
	store.Write(map[string]string{"__name__": "custom"}, poison, at(-30*time.Minute))
	server.Serve(store)
	h := newHarness(t, discoverConfig(func(d *DiscoverConfig) { d.Types = []string{"process_cpu"} }), server, nil)
	h.idle(t)
	d, added := h.discoverer(t)
	assert.True(t, d.discover(t.Context(), at(time.Minute)), "the last minutes are not poisoned")
	assert.Equal(t, []string{cpuType}, added())

	store.Write(map[string]string{"__name__": "custom"}, poison, at(5*time.Minute))
	for range 3 {
		assert.False(t, d.discover(t.Context(), at(5*time.Minute+time.Second)))
	}
	require.Len(t, h.messages(zapcore.ErrorLevel), 1)
	assert.Contains(t, h.messages(zapcore.ErrorLevel)[0], "one stored profile has an empty type or unit")
	assert.True(t, d.discover(t.Context(), at(11*time.Minute)))
	assert.Contains(t, h.messages(zapcore.InfoLevel), "Discovering profile types works again.")
}

func TestAFailingDiscoveryStopsNoConfiguredQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(at(time.Minute)))
		server := storeServer(t)
		server.OnRequest(func(ctx context.Context, r parcatest.Request) error {
			if _, isTypes := r.Message.(*querypb.ProfileTypesRequest); !isTypes {
				return nil
			}
			if len(server.Requests())%2 == 0 {
				<-ctx.Done()
				return ctx.Err()
			}
			return status.Error(codes.Unknown, "arrow/array: index out of range")
		})
		cfg := discoverConfig(func(*DiscoverConfig) {})
		cfg.Queries = []QueryConfig{{Name: "shop", Query: cpuType}}
		h := newHarness(t, cfg, server, nil).start(t)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		assert.Equal(t, cpu(110), h.delivered(t)[0].flat)
		assert.LessOrEqual(t, h.counts(t, "lag", "query")["shop"], 35.0)
		// It is tried every collection_interval, not only every discover::interval.
		assert.Greater(t, h.counts(t, "discoveries")[""], 10.0)
	})
}

func TestTypesWithoutEndAreNotAllQueried(t *testing.T) {
	server := parcatest.NewServer(t)
	store := parcatest.NewStore()
	_, p := parcatest.RecordedProfile(t, "write_noperiod")
	p.PeriodType.Type, p.PeriodType.Unit = "x", "y"
	for i := range maxDiscovered + 10 {
		store.Write(map[string]string{"__name__": fmt.Sprint("type", i)}, p, at(0))
	}
	server.Serve(store)
	h := newHarness(t, discoverConfig(func(*DiscoverConfig) {}), server, nil)
	h.idle(t)
	d, added := h.discoverer(t)
	d.discover(t.Context(), at(time.Minute))
	d.discover(t.Context(), at(time.Minute))
	assert.Len(t, added(), maxDiscovered)
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(added()))), maxDiscovered)
	require.Len(t, h.messages(zapcore.WarnLevel), 1)
	assert.Contains(t, h.messages(zapcore.WarnLevel)[0], "discover::types")
}
