// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// stayOnThread makes cpuTime that of the benchmark alone. Garbage of one part
// is collected while the next one runs, and by other threads: in the time of
// the process, what decoding leaves behind would count as conversion.
func stayOnThread(tb testing.TB) {
	tb.Helper()
	runtime.LockOSThread()
	tb.Cleanup(runtime.UnlockOSThread)
}

// cpuTime is what this thread has used so far, in the kernel too. Unlike the
// time on the clock it leaves out whatever else the machine does. (getrusage
// knows it only as of the last tick.)
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	return timeOn(tb, unix.CLOCK_THREAD_CPUTIME_ID)
}

// processTime is what all threads of the process have used so far.
func processTime(tb testing.TB) time.Duration {
	tb.Helper()
	return timeOn(tb, unix.CLOCK_PROCESS_CPUTIME_ID)
}

func timeOn(tb testing.TB, clock int32) time.Duration {
	tb.Helper()
	var used unix.Timespec
	require.NoError(tb, unix.ClockGettime(clock, &used))
	return time.Duration(used.Nano())
}
