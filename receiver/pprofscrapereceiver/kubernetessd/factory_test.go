// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetessd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/collector/receiver/xreceiver"
	"go.uber.org/goleak"

	"github.com/profiletometrics/profiletometrics/receiver/pprofscrapereceiver"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

const example = "../../../docs/recipes/kubernetes-pods.yaml"

// loadExample reads the receiver of the documented configuration, whose jobs find
// their pods at an API server.
func loadExample(t *testing.T, apiServer string) *pprofscrapereceiver.Config {
	t.Helper()
	conf, err := confmaptest.LoadConf(filepath.FromSlash(example))
	require.NoError(t, err)
	conf, err = conf.Sub("receivers::pprofscrape")
	require.NoError(t, err)
	raw := conf.ToStringMap()
	raw["initial_delay"] = "0s"
	for _, job := range raw["scrape_configs"].([]any) {
		source := job.(map[string]any)["kubernetes_sd_configs"].([]any)[0].(map[string]any)
		source["api_server"] = apiServer
	}
	cfg := NewFactory().CreateDefaultConfig().(*pprofscrapereceiver.Config)
	require.NoError(t, confmap.NewFromStringMap(raw).Unmarshal(cfg))
	require.NoError(t, confmap.Validate(cfg))
	return cfg
}

// pod is what the API server tells of a pod, in the form of the API.
type pod map[string]any

// newPod is a running pod with two container ports, http and other.
func newPod(name, ip string, annotations map[string]string) pod {
	return pod{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"name": name, "namespace": "shop", "uid": "uid-of-" + name, "resourceVersion": "1",
			"annotations": annotations, "labels": map[string]string{"app": name + "-app"},
		},
		"spec": map[string]any{
			"nodeName": "node-1",
			"containers": []any{map[string]any{
				"name": "main",
				"ports": []any{
					map[string]any{"name": "http", "containerPort": 8080, "protocol": "TCP"},
					map[string]any{"name": "other", "containerPort": 9090, "protocol": "TCP"},
				},
			}},
		},
		"status": map[string]any{"phase": "Running", "podIP": ip},
	}
}

// serveAPI serves the part of the Kubernetes API that lists and watches pods.
func serveAPI(t *testing.T, pods ...pod) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		encoder := json.NewEncoder(w)
		switch {
		case r.URL.Path != "/api/v1/pods":
			w.WriteHeader(http.StatusNotFound)
			_ = encoder.Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404})
		case r.URL.Query().Get("watch") == "":
			_ = encoder.Encode(map[string]any{
				"kind": "PodList", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "1"}, "items": pods,
			})
		default:
			if r.URL.Query().Get("sendInitialEvents") == "true" {
				for _, p := range pods {
					_ = encoder.Encode(map[string]any{"type": "ADDED", "object": p})
				}
				_ = encoder.Encode(map[string]any{"type": "BOOKMARK", "object": map[string]any{
					"kind": "Pod", "apiVersion": "v1", "metadata": map[string]any{
						"resourceVersion": "1", "annotations": map[string]string{"k8s.io/initial-events-end": "true"},
					},
				}})
			}
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// serveProfiles serves the profiles of this process below a path, and tells which
// were asked for.
func serveProfiles(t *testing.T) (port string, asked func() []string) {
	t.Helper()
	requests := make(chan string, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case requests <- r.URL.Path:
		default:
		}
		pprof.Handler(filepath.Base(r.URL.Path)).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	seen := map[string]bool{}
	return port, func() []string {
		for {
			select {
			case path := <-requests:
				seen[path] = true
			default:
				return slices.Sorted(maps.Keys(seen))
			}
		}
	}
}

func TestPodsAreScrapedAsTheirAnnotationsSay(t *testing.T) {
	grafana, askedOfGrafana := serveProfiles(t)
	parca, askedOfParca := serveProfiles(t)
	cfg := loadExample(t, serveAPI(t,
		newPod("cart", "127.0.0.1", map[string]string{
			"profiles.grafana.com/goroutine.scrape": "true",
			"profiles.grafana.com/goroutine.port":   grafana,
			"profiles.grafana.com/goroutine.path":   "/internal/goroutine",
			"profiles.grafana.com/mutex.scrape":     "false",
			"profiles.grafana.com/mutex.port":       grafana,
			"profiles.grafana.com/memory.port":      grafana,
		}),
		newPod("pay", "127.0.0.1", map[string]string{"parca.dev/scrape": "true", "parca.dev/port": parca}),
		newPod("quiet", "127.0.0.1", nil),
	))
	cfg.CollectionInterval = 100 * time.Millisecond
	for i := range cfg.ScrapeConfigs {
		for name, p := range cfg.ScrapeConfigs[i].Target.Profiles {
			p.Seconds, p.Enabled = 0, name != "cpu" && name != "fgprof" && p.Enabled
			cfg.ScrapeConfigs[i].Target.Profiles[name] = p
		}
	}
	sink := &consumertest.ProfilesSink{}
	factory := NewFactory().(xreceiver.Factory)
	r, err := factory.CreateProfiles(t.Context(), receivertest.NewNopSettings(component.MustNewType("pprofscrape")), cfg, sink)
	require.NoError(t, err)
	require.NoError(t, r.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { require.NoError(t, r.Shutdown(context.Background())) })

	resources := func() map[string]map[string]any {
		byPod := map[string]map[string]any{}
		for _, data := range sink.AllProfiles() {
			for _, rp := range data.ResourceProfiles().All() {
				attributes := rp.Resource().Attributes().AsRaw()
				byPod[fmt.Sprint(attributes["k8s.pod.name"])] = attributes
			}
		}
		return byPod
	}
	require.Eventually(t, func() bool { return len(resources()) == 2 }, time.Minute, 10*time.Millisecond)
	assert.Equal(t, []string{"/internal/goroutine"}, askedOfGrafana())
	assert.Equal(t, []string{"/debug/pprof/allocs"}, askedOfParca())

	got := resources()["cart"]
	delete(got, "process.executable.name")
	port, err := strconv.ParseInt(grafana, 10, 64)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{
		"service.name": "cart-app", "service.instance.id": "127.0.0.1:" + grafana,
		"k8s.namespace.name": "shop", "k8s.pod.name": "cart", "k8s.pod.uid": "uid-of-cart", "k8s.node.name": "node-1",
		"server.address": "127.0.0.1", "server.port": port,
	}, got)
}
