// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package profiletometricsconnector

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// cpuTime is what this process has used so far, on all cores and in the kernel:
// unlike the time on the clock, it includes the collector of garbage and leaves
// out whatever else the machine does.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
