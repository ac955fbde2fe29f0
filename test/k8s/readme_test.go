// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// The README's way through a cluster fits together, as far as it can be seen without one: the image that
// is built is the one that runs, the annotations are those that the collector looks for, and the service
// whose ports are forwarded has them.
func TestTheReadmesWayThroughACluster(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(readme), "\n## In a container, in Kubernetes\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "\n## ")
	find := func(pattern string) []string {
		match := regexp.MustCompile(pattern).FindStringSubmatch(text)
		require.NotNil(t, match, pattern)
		return match[1:]
	}

	root := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(root, "profiletometrics", "k8s"), os.DirFS(manifests)))
	kustomization := find("(?s)```yaml\n(.*?)```")[0]
	require.NoError(t, os.WriteFile(filepath.Join(root, "kustomization.yaml"), []byte(kustomization), 0o600))
	objects := kustomize(t, root)
	_, pod := workload(t, objects)
	image := pod.Spec.Containers[0].Image
	assert.Equal(t, "registry.example.com/otelcol-profiletometrics-full:"+version(t), image)
	assert.Equal(t, image, find(`make docker-full FULL_IMAGE=(\S+)`)[0])
	assert.Equal(t, image, find(`docker push (\S+)`)[0])
	assert.Equal(t, "true", pod.Annotations["prometheus.io/scrape"])
	assert.Equal(t, "9464", pod.Annotations["prometheus.io/port"])

	var patch appsv1.Deployment
	require.NoError(t, yaml.UnmarshalStrict([]byte(find(`(?s)kubectl patch deployment checkout --patch '(.*?)'`)[0]), &patch))
	require.NotEmpty(t, patch.Spec.Template.Annotations)
	pods := all[*corev1.ConfigMap](objects)[0].Data["pods.yaml"]
	for annotation := range patch.Spec.Template.Annotations {
		meta := "__meta_kubernetes_pod_annotation_" + strings.NewReplacer(".", "_", "/", "_").Replace(annotation)
		assert.Contains(t, pods, "["+meta+"]")
	}

	forward := find(`kubectl -n (\S+) port-forward service/(\S+) (.*)\n`)
	service := named[*corev1.Service](t, objects, forward[1])
	assert.Equal(t, forward[0], service.Namespace)
	var ports []string
	for _, port := range service.Spec.Ports {
		ports = append(ports, strconv.Itoa(int(port.Port)))
	}
	assert.Subset(t, ports, strings.Fields(forward[2]))
}
