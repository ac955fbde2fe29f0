// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e runs the built distribution as a process, with the repository's own config.yaml and a
// real Prometheus server behind it. Its tests have the build tag e2e: `make e2e` builds the
// distribution, fetches Prometheus and names both in the environment.
package e2e
