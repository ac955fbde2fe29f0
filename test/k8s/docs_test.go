// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheDocumentedKustomizationNamesAnotherImage(t *testing.T) {
	page, err := os.ReadFile("../../docs/deployment/kubernetes.md")
	require.NoError(t, err)
	_, text, _ := strings.Cut(string(page), "```yaml\n")
	text, _, found := strings.Cut(text, "```")
	require.True(t, found)

	root := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(root, "profiletometrics", "k8s"), os.DirFS(manifests)))
	require.NoError(t, os.WriteFile(filepath.Join(root, "kustomization.yaml"), []byte(text), 0o600))

	_, pod := workload(t, kustomize(t, root))
	assert.Equal(t, "registry.example.com/otelcol-profiletometrics:"+version(t), pod.Spec.Containers[0].Image)
}
