// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package k8s tests the manifests in the directory k8s as far as that goes
// without an API server, which test/e2e has; `make k8s-test` runs it. It is a
// module of its own, which keeps Kubernetes out of the components' dependencies.
package k8s
