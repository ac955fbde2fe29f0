// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

const insideNamespaces = "TEST_INSIDE_NAMESPACES"

// Prometheus asks the servers in /etc/resolv.conf at port 53, whatever a test
// would like better. So the test runs itself once more, in namespaces where file
// and port are its own.
func TestTargetsAreFollowedAsDNSNamesThem(t *testing.T) {
	if os.Getenv(insideNamespaces) != "" {
		testDNS(t)
		return
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), insideNamespaces+"=1")
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	output, err := command.CombinedOutput()
	if strings.Contains(string(output), "--- SKIP") || err != nil && len(output) == 0 {
		t.Skipf("no namespaces here: %v %s", err, output)
	}
	require.NoError(t, err, string(output))
}

// testDNS runs as the only process of its network.
func testDNS(t *testing.T) {
	t.Helper()
	resolvConf := filepath.Join(t.TempDir(), "resolv.conf")
	require.NoError(t, os.WriteFile(resolvConf, []byte("nameserver 127.0.0.1\n"), 0o600))
	if err := syscall.Mount(resolvConf, "/etc/resolv.conf", "", syscall.MS_BIND, ""); err != nil {
		t.Skip("cannot replace /etc/resolv.conf: ", err)
	}
	if output, err := exec.CommandContext(t.Context(), "ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Skipf("no loopback: %v %s", err, output)
	}
	zone := &zone{records: map[string][]string{}}
	zone.set("_pprof._tcp.shop.", "_pprof._tcp.shop. 1 IN SRV 0 0 6060 cart.shop.")
	zone.set("pay.shop.", "pay.shop. 1 IN A 10.0.0.1", "pay.shop. 1 IN A 10.0.0.2")
	packets, err := net.ListenPacket("udp", "127.0.0.1:53")
	require.NoError(t, err)
	server := &dns.Server{PacketConn: packets, Handler: zone}
	go func() { _ = server.ActivateAndServe() }() // ends with the shutdown
	t.Cleanup(func() { assert.NoError(t, server.Shutdown()) })

	told := watch(t, zap.NewNop(), map[string]string{"shop": `
dns_sd_configs:
  - {names: [_pprof._tcp.shop], refresh_interval: 50ms}
  - {names: [pay.shop, gone.shop], type: A, port: 7070, refresh_interval: 50ms}
`})
	told.eventually(t, "shop", "10.0.0.1:7070", "10.0.0.2:7070", "cart.shop:6060")
	zone.set("pay.shop.", "pay.shop. 1 IN A 10.0.0.3")
	told.eventually(t, "shop", "10.0.0.3:7070", "cart.shop:6060")
}

// zone answers with records of a type by name.
type zone struct {
	mu      sync.Mutex
	records map[string][]string
}

func (z *zone) set(name string, records ...string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.records[name] = records
}

// ServeDNS implements dns.Handler.
func (z *zone) ServeDNS(w dns.ResponseWriter, request *dns.Msg) {
	z.mu.Lock()
	defer z.mu.Unlock()
	answer := new(dns.Msg).SetReply(request)
	for _, record := range z.records[request.Question[0].Name] {
		rr, err := dns.NewRR(record)
		if err == nil && rr.Header().Rrtype == request.Question[0].Qtype {
			answer.Answer = append(answer.Answer, rr)
		}
	}
	if len(answer.Answer) == 0 {
		answer.Rcode = dns.RcodeNameError
	}
	_ = w.WriteMsg(answer) // whoever asked asks again
}
