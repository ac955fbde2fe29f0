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

const kubernetesPage = repository + "/docs/deployment/kubernetes.md"

// The commands of the page, one after the other, in a directory like a user's:
// the repository's manifests, and what the page says to write.
func (k *kubernetes) testDocumentedCommands(t *testing.T) {
	page, err := os.ReadFile(kubernetesPage)
	require.NoError(t, err)
	dir := t.TempDir()
	for _, copied := range []string{"k8s", "profiletometrics/k8s"} {
		require.NoError(t, os.CopyFS(filepath.Join(dir, copied), os.DirFS(manifests)))
	}
	writeFile(t, filepath.Join(dir, "kustomization.yaml"), fencedBlocks(string(page), "yaml")[0].text)
	writeFile(t, filepath.Join(dir, "token"), "secret")
	writeFile(t, filepath.Join(dir, "ca.crt"), "certificate")
	shell := func(command string) string {
		t.Helper()
		sh := exec.CommandContext(t.Context(), "sh", "-ec", command)
		sh.Dir = dir
		sh.Env = k.environment()
		output, err := outputOf(sh)
		require.NoError(t, err, command)
		return output
	}
	ran, deletion := 0, ""
	for _, block := range fencedBlocks(string(page), "sh") {
		if !strings.Contains(block.text, "kubectl ") {
			continue
		}
		ran++
		output := shell(block.text)
		switch {
		case strings.Contains(block.text, "kubectl apply -k .\n"):
			assert.Equal(t, "registry.example.com/otelcol-profiletometrics:0.1.0-dev", k.must(t, "-n", kubernetesNamespace,
				"get", "deployment", "otelcol-profiletometrics-gateway", "-o", "jsonpath={.spec.template.spec.containers[0].image}"))
		case strings.Contains(block.text, "component=gateway"):
			deletion = block.text
			// The gateway's objects are gone, those of the base are not.
			assert.Equal(t, 7, strings.Count(output, "\""+"otelcol-profiletometrics-gateway"+"\" deleted"), output)
			assert.Equal(t, "deployment.apps/otelcol-profiletometrics\n", k.must(t, "-n", kubernetesNamespace, "get", "deployments", "-o", "name"))
		}
	}
	assert.Equal(t, 5, ran)
	assert.Equal(t, "secret", k.must(t, "-n", kubernetesNamespace, "get", "secret", "parca-client", "-o", "go-template={{.data.token | base64decode}}"))

	const restart = "kubectl -n profiletometrics rollout restart deployment,daemonset"
	require.Contains(t, string(page), "`"+restart+"`")
	assert.Contains(t, shell(restart), "deployment.apps/otelcol-profiletometrics-parca restarted\n")

	output := shell(strings.ReplaceAll(deletion, "component=gateway", "component=parca"))
	assert.Contains(t, output, `persistentvolumeclaim "otelcol-profiletometrics-parca" deleted`)
}

// testOperator applies the example for the OpenTelemetry operator, whose type is
// of the operator's own definition.
func (k *kubernetes) testOperator(t *testing.T) {
	definitions := os.Getenv("OPERATOR_CRDS")
	require.NotEmpty(t, definitions, "OPERATOR_CRDS is not set: run the tests with `make e2e`")
	k.must(t, "apply", "--server-side", "-f", filepath.Join(definitions, "opentelemetry.io_opentelemetrycollectors.yaml"))
	require.Eventually(t, func() bool {
		_, err := k.kubectl(t, "get", "otelcol", "--all-namespaces", "-o", "name")
		return err == nil
	}, readyTimeout, pollInterval, "the server does not serve the new type")
	k.must(t, "apply", "--server-side", "-f", manifests+"/base/namespace.yaml")

	example, err := os.ReadFile(manifests + "/examples/operator.yaml")
	require.NoError(t, err)
	k.mustApply(t, string(example))
	assert.Equal(t, "deployment", k.must(t, "-n", kubernetesNamespace, "get", "otelcol", "profiletometrics", "-o", "jsonpath={.spec.mode}"))

	for _, tc := range []struct{ name, old, changed, want string }{
		{"a field that the type does not have", "replicas: 2", "replica: 2", "field not declared in schema"},
		{"a mode that there is not", "mode: deployment", "mode: gateway", "Unsupported value"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Contains(t, string(example), tc.old)
			_, err := k.kubectlWith(t, strings.Replace(string(example), tc.old, tc.changed, 1),
				"apply", "--server-side", "--validate=strict", "--dry-run=server", "-f", "-")
			require.ErrorContains(t, err, tc.want)
		})
	}
}
