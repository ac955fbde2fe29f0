// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stopTimeout is how long a process may take to end after SIGTERM.
const stopTimeout = 10 * time.Second

// process is a running program whose output is kept.
type process struct {
	name   string
	cmd    *exec.Cmd
	output syncBuffer
	// ended is closed when the program has ended; err is valid from then on.
	ended chan struct{}
	err   error
}

// start runs a program until the test ends, and shows what it wrote if the test failed.
func start(t *testing.T, env []string, program string, args ...string) *process {
	t.Helper()
	p := &process{
		name:  filepath.Base(program),
		cmd:   exec.Command(program, args...),
		ended: make(chan struct{}),
	}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout = &p.output
	p.cmd.Stderr = &p.output
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.ended)
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			t.Logf("output of %s:\n%s", p.name, p.output.String())
		}
	})
	return p
}

// stop asks the program to end and kills it if it does not.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails if it has ended, which is what is wanted
	select {
	case <-p.ended:
	case <-time.After(stopTimeout):
		p.kill()
	}
}

// kill ends the program without its doing anything about it.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails if it has ended, which is what is wanted
	<-p.ended
}

// wait returns how the program ended by itself.
func (p *process) wait(t *testing.T, timeout time.Duration) error {
	t.Helper()
	select {
	case <-p.ended:
		return p.err
	case <-time.After(timeout):
		require.FailNow(t, p.name+" is still running after "+timeout.String())
		return nil
	}
}

// program returns the path in an environment variable that `make e2e` sets.
func program(t *testing.T, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	require.NotEmpty(t, path, "%s is not set: run the tests with `make e2e`", variable)
	require.FileExists(t, path, "%s names no file", variable)
	return path
}

// freePorts returns ports that nothing listens on.
func freePorts(t *testing.T, n int) []string {
	t.Helper()
	ports := make([]string, n)
	listeners := make([]net.Listener, n)
	for i := range ports {
		listeners[i] = listen(t)
		ports[i] = portOf(t, listeners[i])
	}
	// Closed only when all are chosen, so that none is chosen twice.
	for _, listener := range listeners {
		require.NoError(t, listener.Close())
	}
	return ports
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return listener
}

func portOf(t *testing.T, listener net.Listener) string {
	t.Helper()
	addr, ok := listener.Addr().(*net.TCPAddr)
	require.True(t, ok)
	return strconv.Itoa(addr.Port)
}

// syncBuffer is a buffer that a process writes while a test reads.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
