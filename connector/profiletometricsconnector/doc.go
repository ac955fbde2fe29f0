// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate mdatagen metadata.yaml
// mdatagen leaves the imports of the profiles packages to be completed.
//go:generate goimports -w generated_component_test.go

// Package profiletometricsconnector turns OTLP profiles into metrics: totals,
// and per function flat and cumulative, as google/pprof defines them.
package profiletometricsconnector // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector"
