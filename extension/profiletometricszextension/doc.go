// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate mdatagen metadata.yaml

// Package profiletometricszextension serves a page that shows what the
// profiletometrics connectors of the Collector do right now.
package profiletometricszextension
