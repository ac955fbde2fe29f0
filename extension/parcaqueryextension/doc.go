// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate mdatagen metadata.yaml

// Package parcaqueryextension answers HTTP requests with what a Parca server
// reports: its own reports, or JSON for scripts computed from them.
package parcaqueryextension
