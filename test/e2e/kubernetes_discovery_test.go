// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/profiletometrics/profiletometrics/receiver/pprofscrapereceiver"
	"github.com/profiletometrics/profiletometrics/receiver/pprofscrapereceiver/kubernetessd"
)

const (
	discoveryTimeout = 30 * time.Second
	shop             = "shop" // the namespace of the pods that are profiled
)

// profiled is a server of this process' profiles that counts who asks for them.
type profiled struct {
	port  string
	asked atomic.Int64
}

func startProfiled(t *testing.T) *profiled {
	t.Helper()
	p := &profiled{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		pprof.Handler(filepath.Base(r.URL.Path)).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	_, p.port, _ = strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	return p
}

// runPod makes a pod that runs at the address of the server, as far as the API
// can tell, with or without the annotations that ask for its memory profile.
func (k *kubernetes) runPod(t *testing.T, name string, server *profiled, annotated bool) {
	t.Helper()
	annotations := ""
	if annotated {
		annotations = fmt.Sprintf("{profiles.grafana.com/memory.scrape: 'true', profiles.grafana.com/memory.port: '%s'}", server.port)
	}
	k.mustApply(t, fmt.Sprintf(`
{apiVersion: v1, kind: Namespace, metadata: {name: %[1]s}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: %[1]s}}
---
apiVersion: v1
kind: Pod
metadata: {name: %[2]s, namespace: %[1]s, labels: {app.kubernetes.io/name: %[2]s-app}, annotations: %[3]s}
spec:
  nodeName: node-1
  # There is no node that could tell when the pod has ended.
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: none, ports: [{name: http, containerPort: %[4]s}]}]
`, shop, name, annotations, server.port))
	k.must(t, "-n", shop, "patch", "pod", name, "--subresource=status", "--type=merge",
		`--patch={"status": {"phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}}`)
	t.Cleanup(func() { k.deletePod(t, name) })
}

func (k *kubernetes) deletePod(t *testing.T, name string) {
	t.Helper()
	k.must(t, "-n", shop, "delete", "pod", name, "--ignore-not-found")
}

// configuration is what the overlay scrape mounts into its collector, by file,
// as the API server has it; the discovery asks with a kubeconfig instead of what
// a pod is given.
func (k *kubernetes) configuration(t *testing.T, kubeconfig string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{"config.yaml", "pods.yaml"} {
		path := "jsonpath={.data." + strings.ReplaceAll(name, ".", `\.`) + "}"
		files[name] = k.must(t, "-n", kubernetesNamespace, "get", "configmap", "otelcol-profiletometrics-scrape", "-o", path)
	}
	const source = "- role: pod\n"
	require.Equal(t, 2, strings.Count(files["pods.yaml"], source))
	files["pods.yaml"] = strings.ReplaceAll(files["pods.yaml"], source, fmt.Sprintf("- {role: pod, kubeconfig_file: %q}\n", kubeconfig))
	return files
}

// receive runs the receiver of a configuration.
func receive(t *testing.T, text string) *consumertest.ProfilesSink {
	t.Helper()
	retrieved, err := confmap.NewRetrievedFromYAML([]byte(text))
	require.NoError(t, err)
	conf, err := retrieved.AsConf()
	require.NoError(t, err)
	conf, err = conf.Sub("receivers::pprofscrape")
	require.NoError(t, err)
	require.NoError(t, conf.Merge(confmap.NewFromStringMap(map[string]any{"collection_interval": "200ms", "initial_delay": "0s"})))

	factory := kubernetessd.NewFactory()
	cfg := factory.CreateDefaultConfig().(*pprofscrapereceiver.Config)
	require.NoError(t, conf.Unmarshal(cfg))
	for _, job := range cfg.ScrapeConfigs {
		for _, slow := range []string{"cpu", "fgprof"} {
			delete(job.Target.Profiles, slow)
		}
	}
	require.NoError(t, confmap.Validate(cfg))
	settings := receivertest.NewNopSettings(component.MustNewType("pprofscrape"))
	sink := &consumertest.ProfilesSink{}
	receiver, err := factory.(xreceiver.Factory).CreateProfiles(t.Context(), settings, cfg, sink)
	require.NoError(t, err)
	require.NoError(t, receiver.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { require.NoError(t, receiver.Shutdown(context.Background())) })
	return sink
}

// resources are those of the profiles, by the name of the pod.
func resources(sink *consumertest.ProfilesSink) map[string]map[string]any {
	byPod := map[string]map[string]any{}
	for _, profiles := range sink.AllProfiles() {
		for _, resource := range profiles.ResourceProfiles().All() {
			attributes := resource.Resource().Attributes().AsRaw()
			byPod[fmt.Sprint(attributes["k8s.pod.name"])] = attributes
		}
	}
	return byPod
}

// With the overlay's service account and configuration, the receiver follows the
// pods of a real API server.
func (k *kubernetes) testDiscovery(t *testing.T) {
	kubeconfig := k.scrapeConfig(t)
	cart, quiet, late := startProfiled(t), startProfiled(t), startProfiled(t)
	k.runPod(t, "cart", cart, true)
	k.runPod(t, "quiet", quiet, false)
	sink := receive(t, k.configuration(t, kubeconfig)["pods.yaml"])
	scraped := func(server *profiled) {
		t.Helper()
		before := server.asked.Load()
		require.Eventually(t, func() bool { return server.asked.Load() > before+1 }, discoveryTimeout, 10*time.Millisecond)
	}
	scraped(cart)

	// A pod that comes is found, one that goes is left alone.
	k.runPod(t, "late", late, true)
	scraped(late)
	k.deletePod(t, "cart")
	require.Eventually(t, func() bool {
		before := cart.asked.Load()
		scraped(late)
		return cart.asked.Load() == before
	}, discoveryTimeout, 10*time.Millisecond)
	assert.Zero(t, quiet.asked.Load())

	found := resources(sink)
	require.Len(t, found, 2)
	port, err := strconv.ParseInt(cart.port, 10, 64)
	require.NoError(t, err)
	uid := found["cart"]["k8s.pod.uid"]
	assert.Regexp(t, `^[0-9a-f]{8}-[0-9a-f-]{27}$`, uid)
	delete(found["cart"], "process.executable.name")
	assert.Equal(t, map[string]any{
		"service.name": "cart-app", "service.instance.id": "127.0.0.1:" + cart.port,
		"k8s.namespace.name": shop, "k8s.pod.name": "cart", "k8s.pod.uid": uid, "k8s.node.name": "node-1",
		"server.address": "127.0.0.1", "server.port": port,
	}, found["cart"])
}

// The same from the configuration to the metrics, by the distribution with all components.
func (k *kubernetes) testDiscoveryOfTheDistribution(t *testing.T) {
	if os.Getenv("OTELCOL_FULL_BIN") == "" {
		t.Skip("OTELCOL_FULL_BIN does not name a collector with all components: `make full` builds one")
	}
	cart, quiet := startProfiled(t), startProfiled(t)
	k.runPod(t, "cart", cart, true)
	k.runPod(t, "quiet", quiet, false)

	_, address := k.distribution(t, k.scrapeConfig(t))
	var metrics string
	require.Eventually(t, func() bool {
		body, err := get(t.Context(), "http://"+address+"/metrics")
		metrics = string(body)
		return err == nil && strings.Contains(metrics, "\nmemory_usage_flat_bytes{")
	}, discoveryTimeout, pollInterval)
	assert.Regexp(t, `(?m)^memory_usage_bytes\{.*job="cart-app",k8s_namespace_name="shop",k8s_node_name="node-1",k8s_pod_name="cart"`, metrics)
	assert.NotContains(t, metrics, "quiet")
	assert.Zero(t, quiet.asked.Load())

	t.Run("not with an account that may not list pods, which the log says", func(t *testing.T) {
		collector, _ := k.distribution(t, k.accountConfig(t, "otelcol-profiletometrics"))
		require.Eventually(t, func() bool {
			return strings.Contains(collector.output.String(), `pods is forbidden: User \"system:serviceaccount:profiletometrics:`)
		}, discoveryTimeout, pollInterval)
	})
}

// distribution runs the collector of the overlay scrape, which asks the API with
// a kubeconfig, and returns where it serves metrics.
func (k *kubernetes) distribution(t *testing.T, kubeconfig string) (collector *process, address string) {
	t.Helper()
	const host = "127.0.0.1:"
	ports := freePorts(t, 5)
	address = host + ports[0]
	changed := strings.NewReplacer(
		"0.0.0.0:9464", address, "0.0.0.0:13133", host+ports[1], "0.0.0.0:4317", host+ports[2], "0.0.0.0:4318", host+ports[3],
		"host: 0.0.0.0, port: 8888", "host: 127.0.0.1, port: "+ports[4],
		"collection_interval: 15s", "collection_interval: 5s", // no less than a CPU profile takes
	)
	dir := t.TempDir()
	args := []string{profilesSupport, "--set=connectors.profiletometrics.metrics_flush_interval=1s"}
	files := k.configuration(t, kubeconfig)
	for _, name := range []string{"config.yaml", "pods.yaml"} {
		args = append(args, "--config="+writeFile(t, filepath.Join(dir, name), changed.Replace(files[name])))
	}
	collector = start(t, []string{"POD_NAME=collector-0"}, program(t, "OTELCOL_FULL_BIN"), args...)
	collector.awaitServing(t, "http://"+host+ports[1])
	return collector, address
}
