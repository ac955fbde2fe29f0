// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const insideNamespaces = "TEST_INSIDE_NAMESPACES"

// defaultAddresses are where the commands of the documentation listen.
var defaultAddresses = []string{
	"localhost:1777", "localhost:4317", "localhost:4318", "localhost:6060", "localhost:8888", "localhost:9090", "localhost:9464",
}

// onDefaultPorts runs a test that needs the ports that users have: in a network of its own, by
// running the test binary once more; or, where the system does not let it have one, when nothing else uses
// the ports.
func onDefaultPorts(t *testing.T, test func(*testing.T)) {
	t.Helper()
	if os.Getenv(insideNamespaces) != "" {
		output, err := exec.CommandContext(t.Context(), "ip", "link", "set", "lo", "up").CombinedOutput()
		if err != nil {
			t.Skipf("no loopback: %v %s", err, output)
		}
		test(t)
		return
	}
	t.Parallel() // with what has networks of its own
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), insideNamespaces+"=1")
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	output, err := command.CombinedOutput()
	if !strings.Contains(string(output), "--- SKIP") && (err == nil || len(output) > 0) {
		require.NoError(t, err, "%s", output)
		t.Logf("%s", output)
		return
	}
	t.Logf("no namespaces here: %v %s", err, output)
	sharedPorts.Lock()
	defer sharedPorts.Unlock()
	requireFree(t, defaultAddresses)
	test(t)
}

var sharedPorts sync.Mutex

// requireFree skips the test if an address is in use; in CI, where none should be, it fails.
func requireFree(t *testing.T, addresses []string) {
	t.Helper()
	for _, address := range addresses {
		listener, err := net.Listen("tcp", address)
		if err == nil {
			require.NoError(t, listener.Close())
			continue
		}
		if os.Getenv("CI") == "" {
			t.Skipf("the commands of the documentation need this port: %v", err)
		}
		require.NoError(t, err, "the commands of the documentation need this port")
	}
}
