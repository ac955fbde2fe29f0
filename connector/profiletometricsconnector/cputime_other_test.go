// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package profiletometricsconnector

import (
	"testing"
	"time"
)

func stayOnThread(testing.TB) {}

var clockBegins = time.Now()

// cpuTime is the time on the clock, for want of a thread's own.
func cpuTime(testing.TB) time.Duration { return time.Since(clockBegins) }

// processTime is the time on the clock, too.
func processTime(testing.TB) time.Duration { return time.Since(clockBegins) }
