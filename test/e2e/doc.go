// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e runs the built distribution as a process, with the repository's own config.yaml, a real
// Prometheus server behind it and, before it, a real Parca server or programs in Go and Node.js that
// are profiled (test/programs), and browsers that show its live page; and the manifests against a real
// Kubernetes API server. Its tests have the build tag e2e: `make e2e` builds the distribution, Parca and
// Kubernetes, fetches Prometheus and what the programs need, finds the browsers, and names all of them
// in the environment.
package e2e
