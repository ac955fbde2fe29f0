// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// kinds are the objects of each directory that kustomize can render, sorted.
var kinds = map[string][]string{
	"base": {"ConfigMap", "Deployment", "Namespace", "Service", "ServiceAccount"},
	"overlays/gateway": {
		"ConfigMap", "Deployment", "HorizontalPodAutoscaler", "Namespace", "NetworkPolicy", "PodDisruptionBudget",
		"Service", "ServiceAccount",
	},
	"overlays/agent": {"ConfigMap", "DaemonSet", "Namespace", "Service", "ServiceAccount"},
	"overlays/parca": {"ConfigMap", "Deployment", "Namespace", "PersistentVolumeClaim", "Service", "ServiceAccount"},
	"overlays/scrape": {
		"ClusterRole", "ClusterRoleBinding", "ConfigMap", "Deployment", "Namespace", "Service", "ServiceAccount",
	},
}

// clusterScoped are the kinds that belong to no namespace.
var clusterScoped = []string{"ClusterRole", "ClusterRoleBinding", "Namespace"}

func TestEveryOverlayIsTested(t *testing.T) {
	overlays, err := filepath.Glob(filepath.Join(manifests, "overlays", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, overlays)
	for _, overlay := range overlays {
		assert.Contains(t, kinds, "overlays/"+filepath.Base(overlay))
	}
}

func TestEachFileOfTheBaseCanBeAppliedByItself(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(manifests, "base", "*.yaml"))
	require.NoError(t, err)
	var found []string
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		objects, err := decode(text)
		require.NoError(t, err, file)
		for _, o := range objects {
			found = append(found, o.kind)
			requireNamespace(t, o)
		}
	}
	assert.ElementsMatch(t, kinds["base"], found)
}

func TestRenderedManifests(t *testing.T) {
	for directory, want := range kinds {
		t.Run(directory, func(t *testing.T) {
			objects := render(t, directory)
			var got []string
			for _, o := range objects {
				got = append(got, o.kind)
				requireNamespace(t, o)
			}
			slices.Sort(got)
			require.Equal(t, want, got)

			t.Run("references lead to what is there", func(t *testing.T) { requireReferences(t, objects) })
			t.Run("selectors choose the pods", func(t *testing.T) { requireSelectors(t, objects) })
			t.Run("ports are those of the container", func(t *testing.T) { requirePorts(t, objects) })
			t.Run("no more access than needed", func(t *testing.T) { requireLeastPrivilege(t, directory, objects) })
			t.Run("the image has the version of the distribution", func(t *testing.T) {
				_, pod := workload(t, objects)
				assert.Regexp(t, `^otelcol-profiletometrics(-full)?:`+regexp.QuoteMeta(version(t))+`$`, pod.Spec.Containers[0].Image)
			})
		})
	}
}

// Overlays are applied to one cluster together, so that they may share nothing
// but the namespace.
func TestOverlaysDoNotOverwriteEachOther(t *testing.T) {
	owner := map[string]string{}
	for directory := range kinds {
		for _, o := range render(t, directory) {
			if o.kind == "Namespace" {
				continue
			}
			assert.NotContains(t, owner, o.String(), "also in %s", directory)
			owner[o.String()] = directory
		}
	}
}

func requireNamespace(t *testing.T, o object) {
	t.Helper()
	want := namespace
	if slices.Contains(clusterScoped, o.kind) {
		want = ""
	}
	require.Equal(t, want, o.meta.GetNamespace(), "namespace of %s", o)
}

func requireReferences(t *testing.T, objects []object) {
	t.Helper()
	owner, pod := workload(t, objects)
	named[*corev1.ServiceAccount](t, objects, pod.Spec.ServiceAccountName)
	volumes := map[string]bool{}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		volumes[volume.Name] = true
		switch {
		case volume.ConfigMap != nil:
			named[*corev1.ConfigMap](t, objects, volume.ConfigMap.Name)
		case volume.PersistentVolumeClaim != nil:
			named[*corev1.PersistentVolumeClaim](t, objects, volume.PersistentVolumeClaim.ClaimName)
		}
	}
	for _, mount := range pod.Spec.Containers[0].VolumeMounts {
		assert.True(t, volumes[mount.Name], "volume %s of a mount", mount.Name)
	}
	for _, autoscaler := range all[*autoscalingv2.HorizontalPodAutoscaler](objects) {
		assert.Equal(t, owner.kind, autoscaler.Spec.ScaleTargetRef.Kind)
		assert.Equal(t, owner.meta.GetName(), autoscaler.Spec.ScaleTargetRef.Name)
		deployment := named[*appsv1.Deployment](t, objects, owner.meta.GetName())
		assert.Nil(t, deployment.Spec.Replicas, "replicas beside an autoscaler")
		assert.NotEmpty(t, pod.Spec.Containers[0].Resources.Requests.Cpu().String())
	}
}

func requireSelectors(t *testing.T, objects []object) {
	t.Helper()
	_, pod := workload(t, objects)
	selects := func(selector *metav1.LabelSelector) {
		t.Helper()
		compiled, err := metav1.LabelSelectorAsSelector(selector)
		require.NoError(t, err)
		assert.False(t, compiled.Empty(), "a selector of every pod")
		assert.True(t, compiled.Matches(labels.Set(pod.Labels)), "%s does not select the pods", compiled)
	}
	for _, o := range objects {
		switch typed := o.Object.(type) {
		case *appsv1.Deployment:
			selects(typed.Spec.Selector)
		case *appsv1.DaemonSet:
			selects(typed.Spec.Selector)
		case *corev1.Service:
			selects(&metav1.LabelSelector{MatchLabels: typed.Spec.Selector})
		case *policyv1.PodDisruptionBudget:
			selects(typed.Spec.Selector)
		case *networkingv1.NetworkPolicy:
			selects(&typed.Spec.PodSelector)
		}
	}
	for i := range pod.Spec.TopologySpreadConstraints {
		selects(pod.Spec.TopologySpreadConstraints[i].LabelSelector)
	}
}

func requirePorts(t *testing.T, objects []object) {
	t.Helper()
	_, pod := workload(t, objects)
	container := pod.Spec.Containers[0]
	ports := map[string]int32{}
	for _, port := range container.Ports {
		ports[port.Name] = port.ContainerPort
		assert.Zero(t, port.HostPort)
	}
	exists := func(port intstr.IntOrString, where string) {
		t.Helper()
		assert.Contains(t, ports, port.StrVal, "port of %s", where)
	}
	for _, probe := range []*corev1.Probe{container.StartupProbe, container.ReadinessProbe, container.LivenessProbe} {
		require.NotNil(t, probe)
		exists(probe.HTTPGet.Port, "a probe")
	}
	for _, service := range all[*corev1.Service](objects) {
		for _, port := range service.Spec.Ports {
			exists(port.TargetPort, "service "+service.Name)
			assert.Equal(t, ports[port.TargetPort.StrVal], port.Port)
		}
	}
	for _, policy := range all[*networkingv1.NetworkPolicy](objects) {
		for _, rule := range policy.Spec.Ingress {
			for _, port := range rule.Ports {
				exists(*port.Port, "network policy "+policy.Name)
			}
		}
	}
}

// Only what asks the API server has a token and a role, and the role only reads.
func requireLeastPrivilege(t *testing.T, directory string, objects []object) {
	t.Helper()
	_, pod := workload(t, objects)
	account := named[*corev1.ServiceAccount](t, objects, pod.Spec.ServiceAccountName)
	roles := all[*rbacv1.ClusterRole](objects)
	asks := directory == "overlays/scrape"
	for _, mounts := range []*bool{account.AutomountServiceAccountToken, pod.Spec.AutomountServiceAccountToken} {
		require.NotNil(t, mounts)
		assert.Equal(t, asks, *mounts)
	}
	if !asks {
		assert.Empty(t, roles)
		return
	}
	require.Len(t, roles, 1)
	assert.Equal(t, []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}}},
		roles[0].Rules)
	bindings := all[*rbacv1.ClusterRoleBinding](objects)
	require.Len(t, bindings, 1)
	assert.Equal(t, roles[0].Name, bindings[0].RoleRef.Name)
	assert.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Name: account.Name, Namespace: namespace}}, bindings[0].Subjects)
}

// version is the distribution's, as the manifest of ocb has it.
func version(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../builder-config.yaml")
	require.NoError(t, err)
	match := regexp.MustCompile(`(?m)^ {2}version: *(\S+)$`).FindSubmatch(text)
	require.NotNil(t, match)
	return string(match[1])
}
