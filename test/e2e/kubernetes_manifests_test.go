// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// overlays are the directories of k8s that make a collector.
func overlays(t *testing.T) []string {
	t.Helper()
	directories, err := filepath.Glob(manifests + "/overlays/*")
	require.NoError(t, err)
	require.NotEmpty(t, directories)
	return append(directories, manifests+"/base")
}

// Nothing is refused and nothing warned of: not by a dry run, when only the
// namespace is there, and not when it is applied, the first time or again.
func (k *kubernetes) testManifests(t *testing.T) {
	const file = manifests + "/base/namespace.yaml"
	assert.Equal(t, "namespace/profiletometrics serverside-applied\n",
		k.must(t, "apply", "--server-side", "--validate=strict", "-f", file))

	t.Run("each file of the base by itself", func(t *testing.T) {
		for _, name := range []string{"namespace", "rbac", "configmap", "deployment", "service"} {
			output := k.must(t, "apply", "--server-side", "--validate=strict", "-f", manifests+"/base/"+name+".yaml")
			assert.Equal(t, 1, strings.Count(output, " serverside-applied\n"), name)
		}
	})
	for _, directory := range overlays(t) {
		t.Run(filepath.Base(directory), func(t *testing.T) {
			objects := strings.Count(k.must(t, "kustomize", directory), "\nkind: ")
			require.Positive(t, objects)
			for _, tc := range []struct {
				said string
				args []string
			}{
				{" serverside-applied (server dry run)\n", []string{"--dry-run=server"}},
				{" serverside-applied\n", nil},
				{" serverside-applied\n", nil},
			} {
				args := append([]string{"apply", "--server-side", "--validate=strict", "-k", directory}, tc.args...)
				assert.Equal(t, objects, strings.Count(k.must(t, args...), tc.said))
			}
		})
	}
}

// A Deployment is only warned of, a pod is refused: so the pods that a
// controller would make are made here.
func (k *kubernetes) testPods(t *testing.T) {
	for _, directory := range overlays(t) {
		t.Run(filepath.Base(directory), func(t *testing.T) {
			k.must(t, "apply", "--server-side", "-k", directory)
			pod := k.podOf(t, k.workload(t, directory))
			output, err := k.kubectlWith(t, pod, "create", "--validate=strict", "--dry-run=server", "-f", "-")
			require.NoError(t, err)
			assert.Contains(t, output, "created (server dry run)")
		})
	}
}

// workload names the object of a directory that runs pods.
func (k *kubernetes) workload(t *testing.T, directory string) string {
	t.Helper()
	name := "otelcol-profiletometrics"
	if overlay := filepath.Base(directory); overlay != "base" {
		name += "-" + overlay
	}
	kind := "deployment/"
	if strings.HasSuffix(name, "-agent") {
		kind = "daemonset/"
	}
	return kind + name
}

// podOf is a pod as the controller of a workload makes it.
func (k *kubernetes) podOf(t *testing.T, workload string) string {
	t.Helper()
	var template map[string]any
	text := k.must(t, "-n", kubernetesNamespace, "get", workload, "-o", "jsonpath={.spec.template}")
	require.NoError(t, json.Unmarshal([]byte(text), &template))
	template["apiVersion"], template["kind"] = "v1", "Pod"
	metadata := template["metadata"].(map[string]any)
	metadata["namespace"], metadata["name"] = kubernetesNamespace, filepath.Base(workload)
	pod, err := json.Marshal(template)
	require.NoError(t, err)
	return string(pod)
}

// The checks above would mean nothing if everything passed.
func (k *kubernetes) testRefusals(t *testing.T) {
	deployment, err := os.ReadFile(manifests + "/base/deployment.yaml")
	require.NoError(t, err)
	k.must(t, "apply", "--server-side", "-k", manifests+"/base")
	pod := k.podOf(t, "deployment/otelcol-profiletometrics")
	for _, tc := range []struct {
		name         string
		object       string
		old, changed string
		want         string
	}{
		{
			"a field that the type does not have", string(deployment),
			"replicas: 1", "replica: 1", "field not declared in schema",
		},
		{
			"a port that cannot be", string(deployment),
			"containerPort: 4317\n", "containerPort: 431700\n", "must be between 1 and 65535",
		},
		{
			"a selector of other pods", string(deployment),
			"    matchLabels:\n      app.kubernetes.io/name: otelcol-profiletometrics", "    matchLabels:\n      app: other",
			"`selector` does not match template `labels`",
		},
		{
			"a Deployment of pods that the namespace forbids, by a warning", string(deployment),
			"runAsNonRoot: true", "runAsNonRoot: false", `would violate PodSecurity "restricted:latest"`,
		},
		{
			"a pod that the namespace forbids", pod,
			`"runAsNonRoot":true`, `"runAsNonRoot":false`, `violates PodSecurity "restricted:latest"`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Contains(t, tc.object, tc.old)
			object := strings.Replace(tc.object, tc.old, tc.changed, 1)
			_, err := k.kubectlWith(t, object, "apply", "--server-side", "--validate=strict", "--dry-run=server", "-f", "-")
			require.ErrorContains(t, err, tc.want)
		})
	}
}
