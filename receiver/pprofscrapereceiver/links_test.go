// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The clients of Kubernetes and of clouds take longer to build than the rest of a
// lean collector; who wants the former imports kubernetessd. Prometheus' discovery
// always links the two packages through which Kubernetes' client gives metrics.
func TestTheReceiverLinksNoClientOfAPlatform(t *testing.T) {
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
	output, err := command.Output()
	require.NoError(t, err)
	platforms := []string{
		"k8s.io/client-go/", "k8s.io/api/", "github.com/aws/", "github.com/Azure/", "cloud.google.com/", "google.golang.org/api/",
		"github.com/hashicorp/consul/", "github.com/hashicorp/nomad/", "github.com/moby/", "github.com/digitalocean/",
	}
	var linked []string
	for path := range strings.Lines(string(output)) {
		path = strings.TrimSpace(path)
		if slices.ContainsFunc(platforms, func(prefix string) bool { return strings.HasPrefix(path, prefix) }) {
			linked = append(linked, path)
		}
	}
	assert.ElementsMatch(t, []string{"k8s.io/client-go/tools/metrics", "k8s.io/client-go/util/workqueue"}, linked)
}
