// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

func TestPodsKeepTheRestrictedSecurityStandard(t *testing.T) {
	for directory := range kinds {
		t.Run(directory, func(t *testing.T) {
			objects := render(t, directory)
			space := named[*corev1.Namespace](t, objects, namespace)
			for _, mode := range []string{api.EnforceLevelLabel, api.AuditLevelLabel, api.WarnLevelLabel} {
				assert.Equal(t, string(api.LevelRestricted), space.Labels[mode], mode)
			}
			_, pod := workload(t, objects)
			assert.Empty(t, violations(t, pod))
			// The standard does not ask for these.
			security := pod.Spec.Containers[0].SecurityContext
			assert.True(t, *security.ReadOnlyRootFilesystem)
			assert.False(t, pod.Spec.Containers[0].Resources.Limits.Memory().IsZero())
		})
	}
}

// The checks above would mean nothing if they let everything pass.
func TestWhatTheChecksRefuse(t *testing.T) {
	_, pod := workload(t, render(t, "base"))

	t.Run("a privileged container", func(t *testing.T) {
		changed := pod.DeepCopy()
		yes := true
		changed.Spec.Containers[0].SecurityContext.Privileged = &yes
		assert.Equal(t, []string{"privileged"}, violations(t, *changed))
	})
	t.Run("a directory of the node", func(t *testing.T) {
		changed := pod.DeepCopy()
		changed.Spec.Volumes = append(changed.Spec.Volumes, corev1.Volume{
			Name: "sys", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/sys"}},
		})
		assert.Equal(t, []string{"restricted volume types"}, violations(t, *changed))
	})
	t.Run("a field that the type does not have", func(t *testing.T) {
		_, err := decode([]byte("apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {port: [{port: 1}]}\n"))
		assert.ErrorContains(t, err, `unknown field "spec.port"`)
	})
	t.Run("a field that stands twice", func(t *testing.T) {
		_, err := decode([]byte("apiVersion: v1\nkind: Service\nmetadata: {name: a, name: b}\n"))
		assert.Error(t, err)
	})
}

// violations returns what in a pod the restricted standard forbids.
func violations(t *testing.T, pod corev1.PodTemplateSpec) []string {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	require.NoError(t, err)
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	var reasons []string
	for _, result := range evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
		if !result.Allowed {
			reasons = append(reasons, result.ForbiddenReason)
		}
	}
	return reasons
}
