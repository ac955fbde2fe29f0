// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package profiletometricsconnector

func init() { raceDetector = true }
