// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate mdatagen metadata.yaml

// Package parcareceiver polls a Parca server for its stored profiles and emits
// them as OTLP profiles.
package parcareceiver
