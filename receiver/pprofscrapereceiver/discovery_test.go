// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"

	"github.com/profiletometrics/profiletometrics/receiver/pprofscrapereceiver/internal/discovery"
)

// serveProfiles serves the profiles of this process.
func serveProfiles(t *testing.T) (address string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	return strings.TrimPrefix(serve(t, mux.ServeHTTP), "http://")
}

// listing serves a list of targets that can be changed.
type listing struct{ content atomic.Value }

func (l *listing) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprint(w, l.content.Load())
}

func (l *listing) set(format string, args ...any) { l.content.Store(fmt.Sprintf(format, args...)) }

// resources are the attributes of everything that came, by service.instance.id.
func (h *harness) resources() map[string]map[string]any {
	resources := map[string]map[string]any{}
	for _, data := range h.sink.AllProfiles() {
		for _, rp := range data.ResourceProfiles().All() {
			attributes := rp.Resource().Attributes().AsRaw()
			instance, _ := attributes["service.instance.id"].(string)
			resources[instance] = attributes
		}
	}
	return resources
}

const onlyGoroutine = `{cpu: {enabled: false}, memory: {enabled: false}, goroutine: {enabled: true}}`

// discovering is a receiver with the jobs in text.
func discovering(t *testing.T, text string, args ...any) *harness {
	t.Helper()
	cfg, err := loadYAML(t, fmt.Sprintf("initial_delay: 0s\ntimeout: 1m\n"+text, args...))
	require.NoError(t, err)
	return newHarness(t, cfg, nil)
}

func TestTargetsComeAndGoAsHTTPListsThem(t *testing.T) {
	a, b := serveProfiles(t), serveProfiles(t)
	list := &listing{}
	list.set(`[{"targets": [%q], "labels": {"__meta_zone": "west", "team": "x", "skip": "no"}}]`, a)
	h := discovering(t, `
collection_interval: 50ms
scrape_configs:
  - job_name: shop
    http_sd_configs: [{url: '%s', refresh_interval: 50ms}]
    relabel_configs:
      - {source_labels: [skip], regex: 'yes', action: drop}
      - {action: labeldrop, regex: skip}
      - {source_labels: [__meta_zone], target_label: cloud.availability_zone}
    profiles: %s
`, serve(t, list.ServeHTTP), onlyGoroutine).start(t)

	eventually(t, func() bool { return h.resources()[a] != nil }, "the first target")
	host, port, _ := strings.Cut(a, ":")
	got := h.resources()[a]
	assert.Equal(t, "shop", got["service.name"])
	assert.Equal(t, host, got["server.address"])
	assert.Equal(t, port, fmt.Sprint(got["server.port"]))
	assert.Equal(t, "x", got["team"])
	assert.Equal(t, "west", got["cloud.availability_zone"])
	assert.NotContains(t, got, "skip")
	assert.NotContains(t, got, "job")
	assert.NotContains(t, got, "instance")

	list.set(`[{"targets": [%q]}, {"targets": ["127.0.0.1:9"], "labels": {"skip": "yes"}}, {"targets": ["http://x"]}]`, b)
	eventually(t, func() bool { return h.resources()[b] != nil && len(h.targetsUp(t)) == 1 }, "the second instead of the first")
	assert.Contains(t, h.targetsUp(t), "http://"+b)
	assert.Equal(t, map[string]int64{"scraped": 1, "dropped": 1, "duplicate": 0, "invalid": 1}, h.counts(t, "discovery.targets", "state"))
	warnings := h.logs.FilterMessageSnippet("cannot be scraped")
	require.Equal(t, 1, warnings.Len())
	assert.Contains(t, fmt.Sprint(warnings.All()[0].ContextMap()["error"]), `target "http://x" of job "shop"`)
}

func TestTargetsComeAndGoAsFilesListThem(t *testing.T) {
	a, b := serveProfiles(t), serveProfiles(t)
	dir := t.TempDir()
	write := func(name, content string, args ...any) {
		t.Helper()
		writeTargets(t, filepath.Join(dir, name), fmt.Sprintf(content, args...))
	}
	write("a.yaml", "- {targets: ['%s'], labels: {service_name: cart}}", a)
	h := discovering(t, `
collection_interval: 50ms
scrape_configs:
  - job_name: shop
    file_sd_configs: [{files: ['%s/*.yaml']}]
    profiles: %s
`, dir, onlyGoroutine).start(t)
	eventually(t, func() bool { return h.resources()[a] != nil }, "the target of the first file")
	assert.Equal(t, "cart", h.resources()[a]["service.name"])

	write("b.yaml", "- targets: ['%s']", b)
	eventually(t, func() bool { return h.resources()[b] != nil }, "the target of the second file")
	require.NoError(t, os.Remove(filepath.Join(dir, "a.yaml")))
	eventually(t, func() bool { return len(h.targetsUp(t)) == 1 }, "one target less")
}

// Whether a target goes on is seen by its increments: one that is new would give
// none of what was allocated before.
func TestATargetThatIsListedAgainGoesOn(t *testing.T) {
	address := strings.TrimPrefix(serve(t, changing(heap(t, 1, 1))), "http://")
	h := discovering(t, `
collection_interval: 50ms
scrape_configs:
  - job_name: shop
    static_configs: [{targets: ['%s']}]
    profiles: {cpu: {enabled: false}, memory: {path: /memory}}
`, address)
	targets := newTargetSet(h.shared, componenttest.NewNopHost())
	d, err := newDiscoverer(t.Context(), targets)
	require.NoError(t, err)
	group := func(labels model.LabelSet) discovery.Groups {
		return discovery.Groups{"shop": {{Targets: []model.LabelSet{{model.AddressLabel: model.LabelValue(address)}}, Labels: labels}}}
	}
	running := func() *runningTarget {
		targets.mu.Lock()
		defer targets.mu.Unlock()
		require.Len(t, targets.bySource[sourceJob+"shop"], 1)
		return targets.bySource[sourceJob+"shop"][0]
	}
	d.update(t.Context(), group(nil))
	first := running()
	d.update(t.Context(), group(model.LabelSet{"__meta_changes": "often"}))
	assert.Same(t, first, running())
	d.update(t.Context(), group(model.LabelSet{"team": "x"}))
	assert.NotSame(t, first, running())
	d.update(t.Context(), discovery.Groups{"shop": {}})
	assert.Empty(t, targets.bySource[sourceJob+"shop"])
	targets.wait()
}

func TestAProfileHasOneTarget(t *testing.T) {
	h := discovering(t, `
targets: [{endpoint: 'http://h:1'}]
scrape_configs:
  - {job_name: a, static_configs: [{targets: ['h:1', 'h:2']}]}
  - {job_name: b, static_configs: [{targets: ['h:2', 'h:3']}], profiles: {goroutine: {enabled: true}}}
`)
	targets := newTargetSet(h.shared, componenttest.NewNopHost())
	d, err := newDiscoverer(t.Context(), targets)
	require.NoError(t, err)
	d.delay = patience
	group := func(labels model.LabelSet, addresses ...model.LabelValue) *targetgroup.Group {
		g := &targetgroup.Group{Labels: labels}
		for _, address := range addresses {
			g.Targets = append(g.Targets, model.LabelSet{model.AddressLabel: address})
		}
		return g
	}
	d.update(t.Context(), discovery.Groups{
		"a": {group(nil, "h:1", "h:2"), group(model.LabelSet{"team": "x"}, "h:2")},
		"b": {group(nil, "h:2", "h:3")},
	})
	assert.Equal(t, int64(1), d.states[jobState{"a", stateScraped}])
	assert.Equal(t, int64(2), d.states[jobState{"a", stateDuplicate}])
	assert.Equal(t, int64(2), d.states[jobState{"b", stateScraped}])
	var left []string
	for _, running := range targets.bySource[sourceJob+"b"] {
		left = append(left, running.config.displayName()+" "+fmt.Sprint(running.config.enabledProfiles()))
	}
	assert.Equal(t, []string{"http://h:2 [goroutine]", "http://h:3 [cpu goroutine memory]"}, left)
	d.update(t.Context(), discovery.Groups{})
	targets.wait()
}

func TestInvalidTargetsAreLoggedOnceInWhateverOrderTheyCome(t *testing.T) {
	h := discovering(t, "scrape_configs: [{job_name: shop, static_configs: [{targets: ['h:1']}]}]")
	d, err := newDiscoverer(t.Context(), newTargetSet(h.shared, componenttest.NewNopHost()))
	require.NoError(t, err)
	group := &targetgroup.Group{}
	for i := range maxInvalid + 2 {
		address := model.LabelValue(fmt.Sprintf("http://h:%d", i))
		group.Targets = append(group.Targets, model.LabelSet{model.AddressLabel: address})
	}
	d.update(t.Context(), discovery.Groups{"shop": {group}})
	slices.Reverse(group.Targets)
	d.update(t.Context(), discovery.Groups{"shop": {group}})
	warnings := h.logs.FilterMessageSnippet("cannot be scraped").All()
	require.Len(t, warnings, 1)
	text := fmt.Sprint(warnings[0].ContextMap()["error"])
	assert.Equal(t, maxInvalid, strings.Count(text, "host:port"))
	assert.Contains(t, text, "and 2 more")

	d.update(t.Context(), discovery.Groups{})
	assert.Equal(t, 1, h.logs.FilterMessageSnippet("can be scraped again").Len())
}

func TestWhatADiscoveryNeedsIsAnErrorOfTheStart(t *testing.T) {
	for _, tc := range []struct{ name, job, want string }{
		{"a certificate for the list", "http_sd_configs: [{url: 'http://localhost:1', tls_config: {ca_file: missing.pem}}]", `job "shop": http: unable to read CA cert`},
		{"a certificate for the targets", "static_configs: [{targets: ['h:1']}]\n    tls: {ca_file: missing.pem}", "missing.pem"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := discovering(t, "scrape_configs:\n  - job_name: shop\n    profiles: {cpu: {enabled: false}}\n    "+tc.job)
			require.ErrorContains(t, h.Start(t.Context(), componenttest.NewNopHost()), tc.want)
		})
	}
}

// A cluster tells of some change every few seconds; what did not change must cost
// little.
func BenchmarkUpdateOfTargetsThatStay(b *testing.B) {
	for _, n := range []int{100, 2000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			j, err := newJob("shop", defaultScheme, newDefaultTargetConfig(), nil)
			require.NoError(b, err)
			group := &targetgroup.Group{}
			for i := range n {
				address := fmt.Sprintf("10.0.%d.%d:6060", i/250, i%250)
				group.Targets = append(group.Targets, model.LabelSet{model.AddressLabel: model.LabelValue(address)})
			}
			wanted, _ := j.find([]*targetgroup.Group{group}, defaultCollectionInterval)
			var current []*runningTarget
			for _, t := range wanted {
				current = append(current, &runningTarget{target: &target{config: t}})
			}
			b.Run("find", func(b *testing.B) {
				for b.Loop() {
					j.find([]*targetgroup.Group{group}, defaultCollectionInterval)
				}
			})
			b.Run("compare", func(b *testing.B) {
				for b.Loop() {
					compareTargets(current, wanted)
				}
			})
		})
	}
}
