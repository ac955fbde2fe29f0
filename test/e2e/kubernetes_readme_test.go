// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checkoutDeployment is the service that the README's reader has in the cluster.
const checkoutDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: checkout, namespace: default}
spec:
  selector: {matchLabels: {app: checkout}}
  template:
    metadata: {labels: {app: checkout}}
    spec: {containers: [{name: checkout, image: registry.example.com/checkout}]}
`

// The README's way through a cluster: the collector is applied from a directory beside the checkout, with
// the image that the reader has pushed, and the reader's own service is annotated.
func (k *kubernetes) testReadmeCommands(t *testing.T) {
	text := section(t, page(t, "README.md"), "## In a container, in Kubernetes")
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "profiletometrics", "k8s"), os.DirFS(manifests)))
	writeFile(t, filepath.Join(dir, "kustomization.yaml"), fencedBlocks(text, "yaml")[0].text)
	k.mustApply(t, checkoutDeployment)

	ran := 0
	for _, block := range fencedBlocks(text, "sh") {
		if !strings.HasPrefix(block.text, "kubectl apply") {
			continue // builds an image, or needs a node
		}
		ran++
		sh := exec.CommandContext(t.Context(), "sh", "-ec", block.text)
		sh.Dir = dir
		sh.Env = k.environment()
		output, err := outputOf(sh)
		require.NoError(t, err, block.text)
		assert.Contains(t, output, "deployment.apps/otelcol-profiletometrics-scrape ")
		assert.Contains(t, output, "deployment.apps/checkout patched\n")
	}
	assert.Equal(t, 1, ran)
	const image = "jsonpath={.spec.template.spec.containers[0].image}"
	assert.Equal(t, "registry.example.com/otelcol-profiletometrics-full:0.1.0-dev", k.must(t, "-n", kubernetesNamespace,
		"get", "deployment", "otelcol-profiletometrics-scrape", "-o", image))
	assert.JSONEq(t, `{"parca.dev/scrape": "true", "parca.dev/port": "6060"}`, k.must(t, "-n", "default",
		"get", "deployment", "checkout", "-o", "jsonpath={.spec.template.metadata.annotations}"))

	const scrape = "app.kubernetes.io/component=scrape"
	k.must(t, "-n", kubernetesNamespace, "delete", "all,cm,sa", "-l", scrape)
	k.must(t, "delete", "clusterrole,clusterrolebinding", "-l", scrape)
	k.must(t, "-n", "default", "delete", "deployment", "checkout")
}
