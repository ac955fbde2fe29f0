// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package docs tests the documentation, the dashboard and the rules as files: that links lead
// somewhere, that keys and defaults are those of the components, and that the metrics that are
// queried exist. What needs the built distribution or a Prometheus server to test is in test/e2e.
package docs
