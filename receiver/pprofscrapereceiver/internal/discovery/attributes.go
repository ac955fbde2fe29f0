// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"strings"

	"github.com/prometheus/common/model"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// known are the resource attributes that a label names with underscores instead
// of dots, as Prometheus writes them.
var known = []attribute.Key{
	semconv.ServiceNameKey, semconv.ServiceNamespaceKey, semconv.ServiceVersionKey, semconv.ServiceInstanceIDKey,
	semconv.DeploymentEnvironmentNameKey,
	semconv.HostNameKey, semconv.HostIDKey,
	semconv.ContainerNameKey, semconv.ContainerIDKey, semconv.ContainerImageNameKey,
	semconv.K8SClusterNameKey, semconv.K8SNamespaceNameKey, semconv.K8SNodeNameKey,
	semconv.K8SPodNameKey, semconv.K8SPodUIDKey, semconv.K8SContainerNameKey,
	semconv.K8SDeploymentNameKey, semconv.K8SReplicaSetNameKey, semconv.K8SStatefulSetNameKey,
	semconv.K8SDaemonSetNameKey, semconv.K8SJobNameKey, semconv.K8SCronJobNameKey,
	semconv.CloudProviderKey, semconv.CloudAccountIDKey, semconv.CloudRegionKey, semconv.CloudAvailabilityZoneKey,
}

var (
	attributeOfLabel = attributesOfLabels()
	// lesser are the labels that name an attribute only if no other label does.
	lesser = map[string]string{
		model.JobLabel:      string(semconv.ServiceNameKey),
		model.InstanceLabel: string(semconv.ServiceInstanceIDKey),
	}
)

func attributesOfLabels() map[string]string {
	m := map[string]string{}
	for _, key := range known {
		m[strings.ReplaceAll(string(key), ".", "_")] = string(key)
	}
	return m
}

// Attributes are the resource attributes that labels mean: job is service.name,
// instance is service.instance.id, what the semantic conventions name with dots
// may be written with underscores, and any other label is the attribute of its
// own name. A name with dots wins over one with underscores, and that over job
// and instance.
func Attributes(labels map[string]string) map[string]any {
	attributes := make(map[string]any, len(labels))
	for label, value := range labels {
		if key, underscored := attributeOfLabel[label]; underscored {
			attributes[key] = value
		}
	}
	for label, value := range labels {
		_, underscored := attributeOfLabel[label]
		key, isLesser := lesser[label]
		switch {
		case underscored:
		case !isLesser:
			attributes[label] = value
		case attributes[key] == nil && labels[key] == "":
			attributes[key] = value
		}
	}
	return attributes
}
