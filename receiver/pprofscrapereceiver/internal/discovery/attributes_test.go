// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLabelsAreResourceAttributes(t *testing.T) {
	for _, tc := range []struct {
		name   string
		labels map[string]string
		want   map[string]any
	}{
		{"none", nil, map[string]any{}},
		{
			"job and instance are those of the service",
			map[string]string{"job": "shop", "instance": "h:1"},
			map[string]any{"service.name": "shop", "service.instance.id": "h:1"},
		},
		{
			"underscores stand for the dots of the conventions",
			map[string]string{"k8s_pod_name": "p", "deployment_environment_name": "prod", "cloud_availability_zone": "a"},
			map[string]any{"k8s.pod.name": "p", "deployment.environment.name": "prod", "cloud.availability_zone": "a"},
		},
		{
			"the name of the service wins over the job",
			map[string]string{"job": "pods", "service_name": "shop", "instance": "h:1", "service.instance.id": "i"},
			map[string]any{"service.name": "shop", "service.instance.id": "i"},
		},
		{
			"dots win over underscores",
			map[string]string{"job": "pods", "service_name": "a", "service.name": "b"},
			map[string]any{"service.name": "b"},
		},
		{
			"other labels keep their names",
			map[string]string{"team_name": "x", "my.label": "y"},
			map[string]any{"team_name": "x", "my.label": "y"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, Attributes(tc.labels))
		})
	}
}
