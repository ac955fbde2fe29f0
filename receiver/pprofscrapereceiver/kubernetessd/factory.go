// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubernetessd is the pprofscrape receiver with kubernetes_sd_configs. It
// is a package of its own because the Kubernetes client that it links takes more
// time to build than all the rest of a lean collector.
package kubernetessd

import (
	_ "github.com/prometheus/prometheus/discovery/kubernetes" // registers kubernetes_sd_configs
	"go.opentelemetry.io/collector/receiver"

	"github.com/profiletometrics/profiletometrics/receiver/pprofscrapereceiver"
)

// NewFactory returns the factory of the pprofscrape receiver, whose
// scrape_configs may discover targets with kubernetes_sd_configs.
func NewFactory() receiver.Factory { return pprofscrapereceiver.NewFactory() }
