// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// The type of the operator's resource is not among Kubernetes' own: of the
// example, only what this project answers for is checked.
func TestConfigurationOfTheOperatorsResourceIsValid(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(manifests, "examples", "operator.yaml"))
	require.NoError(t, err)
	var collector struct {
		Spec struct {
			Image  string         `json:"image"`
			Config map[string]any `json:"config"`
		} `json:"spec"`
	}
	require.NoError(t, yaml.Unmarshal(text, &collector))
	assert.Equal(t, "otelcol-profiletometrics:"+version(t), collector.Spec.Image)

	config, err := yaml.Marshal(collector.Spec.Config)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, config, 0o600))
	command := exec.CommandContext(t.Context(), binary(t, collector.Spec.Image),
		"validate", "--feature-gates=+service.profilesSupport", "--config="+file)
	command.Env = []string{"POD_NAME=pod"}
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
}
