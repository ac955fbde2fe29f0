// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package discovery finds targets with Prometheus' own service discovery and
// relabeling, and tells where the profiles of each target are.
//
// Of Prometheus' mechanisms it links those that need no client of a platform:
// static, file, http and dns. Whatever else a program links is registered with
// Prometheus' packages, and works here too.
package discovery

import (
	_ "github.com/prometheus/prometheus/discovery/dns"  // registers dns_sd_configs
	_ "github.com/prometheus/prometheus/discovery/file" // registers file_sd_configs
	_ "github.com/prometheus/prometheus/discovery/http" // registers http_sd_configs
)
