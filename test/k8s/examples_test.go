// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"cmp"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// readExample reads a file of k8s/examples; a field that the type of into lacks is an error.
func readExample(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(manifests, "examples", name))
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(text, into))
}

// requireValid has the collector of an image check a configuration.
func requireValid(t *testing.T, image string, config map[string]any, env ...string) {
	t.Helper()
	require.NotEmpty(t, config)
	text, err := yaml.Marshal(config)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	command := exec.CommandContext(t.Context(), binary(t, image),
		"validate", "--feature-gates=+service.profilesSupport", "--config="+file)
	command.Env = env
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.NotContains(t, string(output), "unset environment variable")
}

// The type of the operator's resource is not among Kubernetes' own; test/e2e
// applies the example to an API server that has its definition.
func TestConfigurationOfTheOperatorsResourceIsValid(t *testing.T) {
	var collector struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       struct {
			corev1.Container
			Mode               string                     `json:"mode"`
			Replicas           int                        `json:"replicas"`
			PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext"`
			Config             map[string]any             `json:"config"`
		} `json:"spec"`
	}
	readExample(t, "operator.yaml", &collector)
	assert.Equal(t, "otelcol-profiletometrics:"+version(t), collector.Spec.Image)
	requireValid(t, collector.Spec.Image, collector.Spec.Config, "POD_NAME=pod")
	requireRestricted(t, collector.Spec.PodSecurityContext, collector.Spec.Container)
}

// helmValues are those values of the chart opentelemetry-collector that the
// examples set. The chart refuses keys that it does not know, and so does this.
type helmValues struct {
	Mode  string `json:"mode"`
	Image struct {
		Repository string `json:"repository"`
		Tag        string `json:"tag"`
	} `json:"image"`
	Command struct {
		Name string `json:"name"`
	} `json:"command"`
	ReplicaCount int `json:"replicaCount"`
	Autoscaling  struct {
		Enabled     bool           `json:"enabled"`
		MinReplicas int            `json:"minReplicas"`
		MaxReplicas int            `json:"maxReplicas"`
		TargetCPU   int            `json:"targetCPUUtilizationPercentage"`
		Behavior    map[string]any `json:"behavior"`
	} `json:"autoscaling"`
	PodDisruptionBudget struct {
		Enabled        bool `json:"enabled"`
		MaxUnavailable int  `json:"maxUnavailable"`
	} `json:"podDisruptionBudget"`
	Resources      corev1.ResourceRequirements `json:"resources"`
	UseGOMEMLIMIT  bool                        `json:"useGOMEMLIMIT"`
	ServiceAccount struct {
		Automount bool `json:"automountServiceAccountToken"`
	} `json:"serviceAccount"`
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext"`
	SecurityContext    *corev1.SecurityContext    `json:"securityContext"`
	PodAnnotations     map[string]string          `json:"podAnnotations"`
	ExtraEnvs          []corev1.EnvVar            `json:"extraEnvs"`
	Tolerations        []corev1.Toleration        `json:"tolerations"`
	Service            struct {
		Enabled               bool   `json:"enabled"`
		InternalTrafficPolicy string `json:"internalTrafficPolicy"`
	} `json:"service"`
	Ports           map[string]helmPort `json:"ports"`
	AlternateConfig map[string]any      `json:"alternateConfig"`
}

type helmPort struct {
	Enabled       *bool  `json:"enabled"`
	ContainerPort int32  `json:"containerPort"`
	ServicePort   int32  `json:"servicePort"`
	HostPort      *int32 `json:"hostPort"`
	Protocol      string `json:"protocol"`
}

// chartPort is a port as the chart has it unless told otherwise.
type chartPort struct {
	open   bool
	number int32
	host   int32 // at the node, in a DaemonSet
}

var chartPorts = map[string]chartPort{
	"otlp":           {open: true, number: 4317, host: 4317},
	"otlp-http":      {open: true, number: 4318, host: 4318},
	"jaeger-compact": {open: true, number: 6831, host: 6831},
	"jaeger-grpc":    {open: true, number: 14250, host: 14250},
	"jaeger-thrift":  {open: true, number: 14268, host: 14268},
	"zipkin":         {open: true, number: 9411, host: 9411},
	"metrics":        {number: 8888},
}

// ports are those of the container that the chart makes.
func (v *helmValues) ports() []corev1.ContainerPort {
	merged := maps.Clone(chartPorts)
	for name, set := range v.Ports {
		port := merged[name]
		if set.Enabled != nil {
			port.open = *set.Enabled
		}
		if set.HostPort != nil {
			port.host = *set.HostPort
		}
		port.number = cmp.Or(set.ContainerPort, port.number)
		merged[name] = port
	}
	var ports []corev1.ContainerPort
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		port := merged[name]
		if !port.open {
			continue
		}
		if v.Mode != "daemonset" {
			port.host = 0
		}
		ports = append(ports, corev1.ContainerPort{Name: name, ContainerPort: port.number, HostPort: port.host})
	}
	return ports
}

func TestHelmValues(t *testing.T) {
	for name, mode := range map[string]string{"gateway": "deployment", "agent": "daemonset"} {
		t.Run(name, func(t *testing.T) {
			var values helmValues
			readExample(t, "helm-values-"+name+".yaml", &values)
			assert.Equal(t, mode, values.Mode)
			image := values.Image.Repository + ":" + values.Image.Tag
			assert.Equal(t, "otelcol-profiletometrics:"+version(t), image)
			// With a command, the chart would replace the entrypoint, which has the feature gate.
			assert.Empty(t, values.Command.Name)
			assert.False(t, values.ServiceAccount.Automount)
			requireValid(t, image, values.AlternateConfig, "POD_NAME=pod", "NODE_NAME=node")

			ports := values.ports()
			assert.Equal(t, []corev1.ContainerPort{
				{Name: "metrics", ContainerPort: 8888},
				{Name: "otlp", ContainerPort: 4317},
				{Name: "otlp-http", ContainerPort: 4318},
				{Name: "profile-metrics", ContainerPort: 9464},
			}, ports)
			requireRestricted(t, values.PodSecurityContext, corev1.Container{
				SecurityContext: values.SecurityContext, Env: values.ExtraEnvs, Ports: ports, Resources: values.Resources,
			})
			// What the overlay of that name has, the values have.
			_, pod := workload(t, render(t, "overlays/"+name))
			container := pod.Spec.Containers[0]
			assert.Equal(t, container.Resources, values.Resources)
			assert.Equal(t, container.SecurityContext, values.SecurityContext)
			assert.Equal(t, pod.Annotations, values.PodAnnotations)
			assert.Equal(t, pod.Spec.Tolerations, values.Tolerations)
		})
	}
}

// requireRestricted requires that a pod with a container like that keeps the restricted standard.
func requireRestricted(t *testing.T, security *corev1.PodSecurityContext, container corev1.Container) {
	t.Helper()
	assert.Empty(t, violations(t, corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		SecurityContext: security, Containers: []corev1.Container{container},
	}}))
	assert.True(t, *container.SecurityContext.ReadOnlyRootFilesystem)
	assert.False(t, container.Resources.Limits.Memory().IsZero())
}
