// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// The collector of each overlay accepts the configuration that its arguments
// name, with the variables that it gets, as `otelcol-profiletometrics validate`
// says.
func TestConfigurationsAreValid(t *testing.T) {
	for directory := range kinds {
		t.Run(directory, func(t *testing.T) {
			objects := render(t, directory)
			_, pod := workload(t, objects)
			container := pod.Spec.Containers[0]
			paths := mounts(t, objects, pod.Spec)

			// The image's entrypoint and its default arguments.
			args := []string{"--feature-gates=+service.profilesSupport", "validate"}
			if len(container.Args) == 0 {
				args = append(args, "--config=/etc/otelcol-profiletometrics/config.yaml")
			}
			args = append(args, container.Args...)
			for i := range args {
				args[i] = paths.Replace(args[i])
			}
			command := exec.CommandContext(t.Context(), binary(t, container.Image), args...)
			command.Env = []string{}
			for _, variable := range container.Env {
				value := variable.Value
				if variable.ValueFrom != nil {
					value = "from-" + variable.ValueFrom.FieldRef.FieldPath
				}
				command.Env = append(command.Env, variable.Name+"="+value)
			}
			output, err := command.CombinedOutput()
			require.NoError(t, err, "%s", output)
			// A variable without a value is only a warning.
			require.NotContains(t, string(output), "unset environment variable")
		})
	}
}

// mounts makes the container's volumes in a directory of the test, and returns
// what puts their paths there in place of those in the container.
func mounts(t *testing.T, objects []object, pod corev1.PodSpec) *strings.Replacer {
	t.Helper()
	root := t.TempDir()
	var pairs []string
	for _, mount := range pod.Containers[0].VolumeMounts {
		pairs = append(pairs, mount.MountPath, filepath.Join(root, mount.Name))
	}
	paths := strings.NewReplacer(pairs...)
	for i := range pod.Volumes {
		volume := &pod.Volumes[i]
		directory := filepath.Join(root, volume.Name)
		require.NoError(t, os.Mkdir(directory, 0o700))
		if volume.ConfigMap == nil {
			continue
		}
		for name, text := range named[*corev1.ConfigMap](t, objects, volume.ConfigMap.Name).Data {
			require.NoError(t, os.WriteFile(filepath.Join(directory, name), []byte(paths.Replace(text)), 0o600))
		}
	}
	return paths
}

// binary returns the program that is in an image.
func binary(t *testing.T, image string) string {
	t.Helper()
	variable := "OTELCOL_BIN"
	if strings.Contains(image, "-full:") {
		variable = "OTELCOL_FULL_BIN"
		if os.Getenv(variable) == "" {
			t.Skip("OTELCOL_FULL_BIN does not name a collector with all components: `make full` builds one")
		}
	}
	path := os.Getenv(variable)
	require.FileExists(t, path, "%s names no file: run the tests with `make k8s-test`", variable)
	return path
}
