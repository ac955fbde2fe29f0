// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a collector's service account may beyond what every account may: read
// pods, where it has to find them, and nothing anywhere else.
func (k *kubernetes) testAccess(t *testing.T) {
	for _, directory := range overlays(t) {
		t.Run(filepath.Base(directory), func(t *testing.T) {
			k.must(t, "apply", "--server-side", "-k", directory)
			account := filepath.Base(k.workload(t, directory))
			var more [][]string
			anyone := k.rights(t, "someone")
			for _, right := range k.rights(t, account) {
				if !slices.Contains(anyone, right) {
					more = append(more, strings.Fields(right))
				}
			}
			if filepath.Base(directory) == "scrape" {
				assert.Equal(t, [][]string{{"pods", "[]", "[]", "[get", "list", "watch]"}}, more)
			} else {
				assert.Empty(t, more)
			}
		})
	}

	t.Run("with a token", func(t *testing.T) {
		mine := "--kubeconfig=" + k.scrapeConfig(t)
		_, err := k.kubectl(t, mine, "get", "pods", "--all-namespaces", "-o", "name")
		require.NoError(t, err)
		for command, want := range map[string]string{
			"get secrets":     `cannot list resource "secrets"`,
			"get configmaps":  `cannot list resource "configmaps"`,
			"get nodes":       `cannot list resource "nodes"`,
			"delete pod cart": `cannot delete resource "pods"`,
		} {
			t.Run(command, func(t *testing.T) {
				_, err := k.kubectl(t, append([]string{mine, "-n", kubernetesNamespace}, strings.Fields(command)...)...)
				require.ErrorContains(t, err, want)
			})
		}
	})
}

// rights are the lines in which kubectl tells what an account may.
func (k *kubernetes) rights(t *testing.T, account string) []string {
	t.Helper()
	list := k.must(t, "auth", "can-i", "--list", "--no-headers", "-n", kubernetesNamespace,
		"--as=system:serviceaccount:"+kubernetesNamespace+":"+account)
	return strings.Split(strings.TrimSpace(list), "\n")
}

// scrapeConfig is the path of a kubeconfig with a token of the account that the
// overlay scrape gives its collector.
func (k *kubernetes) scrapeConfig(t *testing.T) string {
	t.Helper()
	k.must(t, "apply", "--server-side", "-k", manifests+"/overlays/scrape")
	return k.accountConfig(t, "otelcol-profiletometrics-scrape")
}

// accountConfig is the path of a kubeconfig with a token of a service account.
func (k *kubernetes) accountConfig(t *testing.T, account string) string {
	t.Helper()
	token := k.must(t, "-n", kubernetesNamespace, "create", "token", account)
	return k.kubeconfig(t, filepath.Join(t.TempDir(), account+".yaml"), strings.TrimSpace(token))
}
