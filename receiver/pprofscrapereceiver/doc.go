// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate mdatagen metadata.yaml

// Package pprofscrapereceiver pulls pprof profiles over HTTP and emits them as
// OTLP profiles.
package pprofscrapereceiver
