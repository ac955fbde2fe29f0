// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
)

const fileTarget = `
- endpoint: %s
  profiles: { cpu: { enabled: false }, memory: { path: /memory } }
`

func writeTargets(t *testing.T, path, content string) {
	t.Helper()
	temporary := path + ".new"
	require.NoError(t, os.WriteFile(temporary, []byte(content), 0o600))
	require.NoError(t, os.Rename(temporary, path))
}

// targetsUp are the targets that the telemetry shows as up.
func (h *harness) targetsUp(t *testing.T) map[string]int64 {
	t.Helper()
	return h.counts(t, "target.up", "target")
}

func TestTheTargetsFileIsReadAgainWhenItChanges(t *testing.T) {
	first := serve(t, changing(heap(t, 1, 1), heap(t, 3, 1)))
	second := serve(t, changing(heap(t, 1, 1)))
	cfg := testConfig()
	cfg.TargetsFile = filepath.Join(t.TempDir(), "targets.yaml")
	writeTargets(t, cfg.TargetsFile, fmt.Sprintf(fileTarget, first))
	h := newHarness(t, cfg, nil).start(t)
	eventually(t, func() bool { return h.targetsUp(t)[first] == 1 }, "the first target")

	writeTargets(t, cfg.TargetsFile, fmt.Sprintf(fileTarget+fileTarget, first, second))
	eventually(t, func() bool { return h.targetsUp(t)[second] == 1 }, "a target that is added")
	assert.Contains(t, h.targetsUp(t), first)

	writeTargets(t, cfg.TargetsFile, fmt.Sprintf(`[{"endpoint": %q, "profiles": {"cpu": {"enabled": false}, "memory": {"path": "/memory"}}}]`, second))
	eventually(t, func() bool { _, there := h.targetsUp(t)[first]; return !there }, "a target that is removed, in JSON")
	assert.Contains(t, h.targetsUp(t), second)

	writeTargets(t, cfg.TargetsFile, "")
	eventually(t, func() bool { return len(h.targetsUp(t)) == 0 }, "no targets at all")
	assert.Empty(t, h.logs.All())
}

func TestTheTargetsFileMayBeOneOfPrometheus(t *testing.T) {
	cfg := testConfig(memoryOnly("http://taken:1"))
	cfg.CollectionInterval = defaultCollectionInterval
	cfg.TargetsFile = filepath.Join(t.TempDir(), "targets.yaml")
	cfg.Targets[0].Profiles["memory"] = ProfileConfig{Enabled: true, Path: "/debug/pprof/allocs"}
	for _, tc := range []struct{ name, content string }{
		{"in YAML", `
- targets: [a:1, taken:1]
  labels: {job: shop, team: x, __scheme__: https, __meta_x: y, __param_debug: '0'}
- targets: ['b:2', 'b:2']
`},
		{"in JSON", `[
  {"targets": ["a:1", "taken:1"], "labels": {"job": "shop", "team": "x", "__scheme__": "https", "__meta_x": "y", "__param_debug": "0"}},
  {"targets": ["b:2", "b:2"]}]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			writeTargets(t, cfg.TargetsFile, tc.content)
			h := newHarness(t, cfg, nil)
			targets, changed, err := newTargetsFile(h.shared).read()
			require.NoError(t, err)
			assert.True(t, changed)
			require.Len(t, targets, 3)
			assert.Equal(t, map[string]string{
				"cpu":    "http://b:2/debug/pprof/profile?seconds=5",
				"memory": "http://b:2/debug/pprof/allocs",
			}, targets[0].profileURLs())
			assert.Empty(t, targets[0].ServiceName)
			assert.Equal(t, "https://a:1/debug/pprof/allocs?debug=0", targets[1].profileURLs()["memory"])
			assert.Equal(t, "shop", targets[1].ServiceName)
			assert.Equal(t, map[string]any{"team": "x", "service.instance.id": "a:1"}, targets[1].ResourceAttributes)
		})
	}
	t.Run("with a target that is listed", func(t *testing.T) {
		writeTargets(t, cfg.TargetsFile, "[{targets: ['taken:1']}]")
		targets, _, err := newTargetsFile(newHarness(t, cfg, nil).shared).read()
		require.NoError(t, err)
		require.Len(t, targets, 1)
		assert.Equal(t, []string{"cpu"}, targets[0].enabledProfiles())
	})
}

func TestATargetThatDidNotChangeKeepsItsIncrements(t *testing.T) {
	const url = "http://127.0.0.1:1"
	same, other := memoryOnly(url), memoryOnly(url)
	other.ServiceName = "renamed"
	running := &runningTarget{target: &target{config: memoryOnly(url)}}

	kept, dropped, added := compareTargets([]*runningTarget{running}, []TargetConfig{same})
	assert.Equal(t, []*runningTarget{running}, kept)
	assert.Empty(t, dropped)
	assert.Empty(t, added)

	kept, dropped, added = compareTargets([]*runningTarget{running}, []TargetConfig{other})
	assert.Empty(t, kept)
	assert.Equal(t, []*runningTarget{running}, dropped)
	assert.Equal(t, []TargetConfig{other}, added)
}

func TestATargetWhoseAttributesChangeLosesNoIncrement(t *testing.T) {
	url := serve(t, changing(heap(t, 10, 1), heap(t, 15, 1), heap(t, 22, 1)))
	h := newHarness(t, testConfig(), nil)
	set := newTargetSet(h.shared, componenttest.NewNopHost())
	ctx, stop := context.WithCancel(t.Context())
	defer set.wait()
	defer stop()
	for _, name := range []string{"checkout", "checkout", "cart"} {
		cfg := memoryOnly(url)
		cfg.ServiceName = name
		require.NoError(t, set.replace(ctx, "test", []TargetConfig{cfg}, time.Hour))
		set.bySource["test"][0].scrape(ctx)
	}
	got := h.sink.AllProfiles()
	require.Len(t, got, 3)
	assert.Equal(t, int64(5), sums(got[1])["alloc_objects"])
	assert.Equal(t, int64(7), sums(got[2])["alloc_objects"])
	assert.Equal(t, "cart", got[2].ResourceProfiles().At(0).Resource().Attributes().AsRaw()["service.name"])
}

func TestABadTargetsFileKeepsTheOldTargets(t *testing.T) {
	url := serve(t, changing(heap(t, 1, 1)))
	cfg := testConfig()
	cfg.TargetsFile = filepath.Join(t.TempDir(), "targets.yaml")
	writeTargets(t, cfg.TargetsFile, fmt.Sprintf(fileTarget, url))
	h := newHarness(t, cfg, nil).start(t)
	eventually(t, func() bool { return h.targetsUp(t)[url] == 1 }, "the target")

	for i, bad := range []string{"- endpoint: localhost", "- {endpoint: 'http://localhost:1', tls: {ca_file: testdata/missing.pem}}"} {
		writeTargets(t, cfg.TargetsFile, bad)
		eventually(t, func() bool { return h.logs.FilterMessageSnippet("the old ones stay").Len() == i+1 }, bad)
	}
	scraped := len(h.sink.AllProfiles())
	eventually(t, func() bool { return len(h.sink.AllProfiles()) > scraped+2 }, "scrapes of the old target")
	assert.Equal(t, 2, h.logs.Len(), "once per change of state")

	writeTargets(t, cfg.TargetsFile, fmt.Sprintf(fileTarget, url))
	eventually(t, func() bool { return h.logs.FilterMessageSnippet("good again").Len() == 1 }, "a good file")
}

func TestMistakesInTheTargetsFileAreErrorsOfTheStart(t *testing.T) {
	for _, tc := range []struct {
		name, content string
		want          string
	}{
		{"no YAML", "{", "targets_file"},
		{"no list", "targets: []", "expected a list of targets"},
		{"an unknown key", "- {endpoint: 'http://localhost:1', servce_name: a}", "invalid keys: servce_name"},
		{"no endpoint", "- {service_name: a}", "targets::0::endpoint: missing"},
		{"groups with an unknown key", "[{targets: ['h:1']}, {targets: ['h:2'], label: {}}]", "1: field label not found"},
		{"groups with an address that is a URL", "[{targets: ['http://h:1']}]", "without scheme, user and path"},
		{"groups among targets", "[{targets: ['h:1']}, {endpoint: 'http://localhost:1'}]", "1: field endpoint not found"},
		{"a target that is scraped already", "- {endpoint: 'http://localhost:6060'}", "the profile memory of http://localhost:6060 under targets"},
		{"a file of certificates that is missing", "- {endpoint: 'http://localhost:1', tls: {ca_file: testdata/missing.pem}}", "missing.pem"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := loadExample(t, "pprofscrape")
			cfg.TargetsFile = filepath.Join(t.TempDir(), "targets.yaml")
			writeTargets(t, cfg.TargetsFile, tc.content)
			h := newHarness(t, cfg, nil)
			err := h.Start(t.Context(), componenttest.NewNopHost())
			require.ErrorContains(t, err, cfg.TargetsFile)
			require.ErrorContains(t, err, tc.want)
		})
	}
	t.Run("no file", func(t *testing.T) {
		cfg := testConfig()
		cfg.TargetsFile = "testdata/missing.yaml"
		h := newHarness(t, cfg, nil)
		require.ErrorIs(t, h.Start(t.Context(), componenttest.NewNopHost()), os.ErrNotExist)
	})
}
