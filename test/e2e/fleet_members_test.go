// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

const (
	fleetsPage      = repository + "/docs/deployment/fleets.md"
	betweenProfiles = 50 * time.Millisecond
)

// untilItListens makes a client wait for a collector that has just been started: its metrics about itself
// are served before it listens.
var untilItListens = grpc.WithDefaultCallOptions(grpc.WaitForReady(true))

// member is a collector of a fleet: a configuration of the documentation, and what is different here.
type member struct {
	*collector
	name      string // its service.instance.id
	config    string // a file
	different []string
}

// newMember is a collector with the configuration of the page that begins with "# file". What is
// different here is YAML, with :: between keys.
func newMember(t *testing.T, file, name string, different ...string) *member {
	t.Helper()
	m := &member{collector: newCollector(t), name: name, config: documented(t, file)}
	m.change("service::telemetry::resource::attributes: [{name: service.instance.id, value: " + name + "}]")
	m.change("receivers::otlp::protocols::grpc::endpoint: " + m.otlpGRPC)
	m.change(different...)
	return m
}

func (m *member) change(different ...string) {
	for _, one := range different {
		m.different = append(m.different, "--config", "yaml:"+one)
	}
}

// documented writes a configuration of the page to a file.
func documented(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile(fleetsPage)
	require.NoError(t, err)
	for _, block := range fencedBlocks(string(page), "yaml") {
		if strings.HasPrefix(block.text, "# "+name+"\n") {
			file := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.WriteFile(file, []byte(block.text), 0o600))
			return file
		}
	}
	require.FailNow(t, "no configuration "+name, fleetsPage)
	return ""
}

// runAll starts collectors, the first time or again, and waits until all are ready.
func runAll(t *testing.T, members ...*member) {
	t.Helper()
	for _, m := range members {
		m.start(t, m.config, append([]string{profilesSupport}, m.different...)...)
	}
	for _, m := range members {
		m.awaitServing(t, "http://127.0.0.1:"+m.telemetry+"/metrics")
	}
}

// serveNames answers what the addresses of a name are, and returns the gRPC target that asks it.
func serveNames(t *testing.T, name, port string, addresses ...string) (target string) {
	t.Helper()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, request *dns.Msg) {
		answer := new(dns.Msg).SetReply(request)
		question := request.Question[0]
		if question.Name == name+"." && question.Qtype == dns.TypeA {
			for _, address := range addresses {
				header := dns.RR_Header{Name: question.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 1}
				answer.Answer = append(answer.Answer, &dns.A{Hdr: header, A: net.ParseIP(address)})
			}
		}
		_ = w.WriteMsg(answer) // whoever asked asks again
	})
	server := &dns.Server{PacketConn: packets, Handler: handler}
	go func() { _ = server.ActivateAndServe() }() // ends with the shutdown
	t.Cleanup(func() { assert.NoError(t, server.Shutdown()) })
	return "dns://" + packets.LocalAddr().String() + "/" + name + ":" + port
}

// profiler sends profiles of one service to collectors, and knows what it has sent.
type profiler struct {
	t       *testing.T
	pid     int
	clients []pprofileotlp.GRPCClient

	// end stops sending; nil before run.
	end func()

	mu    sync.Mutex
	count int64
	total int64            // ns
	flat  map[string]int64 // ns by function
}

// newProfiler sends to the collectors by turns.
func newProfiler(t *testing.T, pid int, to ...*member) *profiler {
	t.Helper()
	p := &profiler{t: t, pid: pid, flat: map[string]int64{}}
	for _, m := range to {
		conn, err := grpc.NewClient(m.otlpGRPC, grpc.WithTransportCredentials(insecure.NewCredentials()), untilItListens)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, conn.Close()) })
		p.clients = append(p.clients, pprofileotlp.NewGRPCClient(conn))
	}
	return p
}

// run sends profiles one after the other until end is called or the test ends.
func (p *profiler) run() {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			p.send()
			select {
			case <-done:
				return
			case <-time.After(betweenProfiles):
			}
		}
	}()
	p.end = sync.OnceFunc(func() { close(done); <-ended })
	p.t.Cleanup(p.end)
}

// send sends the next profile, whose weights no other has.
func (p *profiler) send() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	flat := map[string]int64{
		"main.work":                         10_000_000 + p.count,
		"main.main":                         1_000_003 * p.count % 7_919,
		fmt.Sprint("main.step", p.count%10): 1 + int64(p.pid),
	}
	var samples []testprofile.Sample
	for function, weight := range flat {
		stack := []string{function, "main.main"}
		if function == "main.main" {
			stack = stack[:1]
		}
		samples = append(samples, testprofile.Sample{Stack: testprofile.Stack(stack...), Values: []int64{weight}})
		p.total += weight
		p.flat[function] += weight
	}
	batch := testprofile.Batch{Resources: []testprofile.Resource{{
		// With an instance, Prometheus does not call what it scrapes after the collector.
		Attributes: testprofile.Attributes{"service.name": "shop", "service.instance.id": "1", "process.pid": p.pid},
		Profiles: []testprofile.Profile{{
			SampleType: "cpu/nanoseconds", Time: time.Now(), Duration: betweenProfiles, Samples: samples,
		}},
	}}}
	profiles, err := batch.Profiles()
	if err == nil {
		client := p.clients[p.count%int64(len(p.clients))]
		_, err = client.Export(context.Background(), pprofileotlp.NewExportRequestFromProfiles(profiles))
	}
	assert.NoError(p.t, err)
}

// cumulative are the weights by function in whose stack it stands; main.main is in all.
func (p *profiler) cumulative() map[string]int64 {
	weights := maps.Clone(p.flat)
	weights["main.main"] = p.total
	return weights
}

// sent is all that was sent so far, in ns.
func (p *profiler) sent() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}
