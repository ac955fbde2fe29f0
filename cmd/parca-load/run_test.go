// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// fast are flags with which a test does not wait.
func fast(address string, more ...string) []string {
	return append([]string{"-url", address, "-query-interval", "20ms", "-query-range", "15m;1h"}, more...)
}

func TestQueriesForADurationAndSumsUp(t *testing.T) {
	server, address := startReplay(t, nil)
	p := startProgram(t, fast(address, "-duration", "300ms")...)
	require.Equal(t, exitOK, <-p.exit, p.stderr.String())

	for _, want := range []string{
		"labels", "values", "profile_types", "range", "timestamps", "single  ", "merge  ", "flamegraph_arrow",
		"P50", "P90", "P99", "total",
	} {
		assert.Contains(t, p.stdout.String(), want)
	}
	assert.NotContains(t, p.stderr.String(), "last error")
	for _, method := range []string{"Labels", "Values", "ProfileTypes", "QueryRange", "Query"} {
		assert.Positive(t, server.count(method), method)
	}
}

func TestMetricsAgreeWithTheServersCounts(t *testing.T) {
	release := make(chan struct{})
	server, address := startReplay(t, func(ctx context.Context, method string) error {
		if method != "Values" {
			return nil
		}
		// Requests under way are in no count yet, so there is a moment without any.
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	})
	p := startProgram(t, fast(address, "-query-interval", "1h", "-labels", `{job="fix"}`)...)
	url := p.metricsURL(t)
	// One round of each kind: 7 reports of 2 ranges.
	require.Eventually(t, func() bool {
		return counted(scrape(t, url), "merge") == 14 && counted(scrape(t, url), "range") == 2
	}, 10*time.Second, 20*time.Millisecond)
	close(release)
	require.Eventually(t, func() bool {
		return counted(scrape(t, url), "values") == uint64(server.count("Values")) && counted(scrape(t, url), "values") > 2
	}, 10*time.Second, 20*time.Millisecond)

	families := scrape(t, url)
	assert.EqualValues(t, server.count("Query"), counted(families, "merge")+counted(families, "single"))
	assert.EqualValues(t, server.count("QueryRange"), counted(families, "range")+counted(families, "timestamps"))
	assert.EqualValues(t, server.count("Labels"), counted(families, "labels"))
	assert.EqualValues(t, server.count("ProfileTypes"), counted(families, "profile_types"))
	for _, metric := range families["parca_load_request_duration_seconds"].GetMetric() {
		labels := labelsOf(metric)
		assert.Equal(t, "OK", labels["code"])
		if labels["query"] == "merge" {
			assert.Contains(t, []string{"15m", "1h"}, labels["range"])
			assert.Equal(t, `{job="fix"}`, labels["labels"])
		}
		assert.NotEmpty(t, metric.GetHistogram().GetPositiveSpan(), "a native histogram")
	}
	p.interrupt()
	assert.Equal(t, exitOK, <-p.exit)
}

// scrape reads metrics as Prometheus does when it takes native histograms.
func scrape(t *testing.T, url string) map[string]*dto.MetricFamily {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Accept", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	require.Equal(t, http.StatusOK, response.StatusCode)
	families := map[string]*dto.MetricFamily{}
	decoder := expfmt.NewDecoder(response.Body, expfmt.ResponseFormat(response.Header))
	for {
		family := &dto.MetricFamily{}
		if err := decoder.Decode(family); err != nil {
			return families
		}
		families[family.GetName()] = family
	}
}

// counted returns how many requests of a kind are in the histograms; the counters have to agree.
func counted(families map[string]*dto.MetricFamily, query string) uint64 {
	var measured, counted uint64
	for _, metric := range families["parca_load_request_duration_seconds"].GetMetric() {
		if labelsOf(metric)["query"] == query {
			measured += metric.GetHistogram().GetSampleCount()
		}
	}
	for _, metric := range families["parca_load_requests_total"].GetMetric() {
		if labelsOf(metric)["query"] == query {
			counted += uint64(metric.GetCounter().GetValue())
		}
	}
	return min(measured, counted)
}

func labelsOf(metric *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, label := range metric.GetLabel() {
		labels[label.GetName()] = label.GetValue()
	}
	return labels
}

func TestTheTokenIsSentAndShownNowhere(t *testing.T) {
	const token, tenant = "s3cret-token", "s3cret-tenant"
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(token+"\n"), 0o600))
	for name, flags := range map[string][]string{
		"flag":   {"-token", token},
		"file":   {"-token-file", file},
		"header": {"-headers", "Authorization=Bearer " + token},
	} {
		t.Run(name, func(t *testing.T) {
			_, address := startReplay(t, func(ctx context.Context, method string) error {
				if bearerOf(ctx) != "Bearer "+token {
					return status.Error(codes.Unauthenticated, "no token")
				}
				if method == "Labels" { // a proxy that tells too much
					return status.Error(codes.PermissionDenied, "not for "+bearerOf(ctx)+" of "+tenant)
				}
				return nil
			})
			if len(flags) == 2 && name != "header" {
				flags = append(flags, "-headers", "X-Tenant="+tenant)
			} else {
				flags[1] += ";X-Tenant=" + tenant
			}
			p := startProgram(t, fast(address, flags...)...)
			url := p.metricsURL(t)
			require.Eventually(t, func() bool {
				families := scrape(t, url)
				return counted(families, "labels") > 0 && counted(families, "merge") > 0
			}, 10*time.Second, 20*time.Millisecond)
			for _, family := range scrape(t, url) {
				assert.NotContains(t, family.String(), "s3cret")
			}
			p.interrupt()
			require.Equal(t, exitOK, <-p.exit, p.stderr.String())
			assert.Contains(t, p.stderr.String(), "PermissionDenied")
			assert.NotContains(t, p.stderr.String()+p.stdout.String(), "s3cret")
		})
	}
}

func TestExitCodes(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	_, address := startReplay(t, nil)
	_, refusing := startReplay(t, func(context.Context, string) error {
		return status.Error(codes.Unauthenticated, "no token")
	})
	tests := []struct {
		name   string
		args   []string
		want   int
		stderr string
	}{
		{"requests succeed", fast(address, "-duration", "100ms"), exitOK, "requests"},
		{"every request fails", fast(refusing, "-duration", "100ms"), exitFailed, refusing + " answered no request"},
		{"nobody listens", fast("127.0.0.1:1", "-duration", "100ms"), exitFailed, "connection refused"},
		{"the server speaks no TLS", fast("https://"+address, "-duration", "100ms"), exitFailed, "first record does not look like a TLS handshake"},
		{"the metrics' port is taken", fast(address, "-addr", taken.Addr().String()), exitFailed, "-addr: listen tcp " + taken.Addr().String()},
		{"a flag is wrong", []string{"-nosuch"}, exitUsage, "parca-load -help lists the flags"},
		{"help", []string{"-help"}, exitOK, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := startProgram(t, tt.args...)
			assert.Equal(t, tt.want, <-p.exit)
			if tt.name != "requests succeed" {
				assert.Contains(t, p.stderr.String(), tt.stderr)
			}
		})
	}
}

// startBlocked starts a program whose server is asked for a range and does not answer until the
// channel is closed or the request is given up.
func startBlocked(t *testing.T) (p *program, release chan struct{}) {
	t.Helper()
	asked, release := make(chan struct{}), make(chan struct{})
	_, address := startReplay(t, func(ctx context.Context, method string) error {
		if method != "QueryRange" {
			return nil
		}
		select {
		case asked <- struct{}{}:
		default:
		}
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	p = startProgram(t, fast(address)...)
	<-asked
	return p, release
}

func TestTheFirstInterruptLetsRequestsEnd(t *testing.T) {
	p, release := startBlocked(t)
	p.interrupt()
	select {
	case <-p.exit:
		require.FailNow(t, "it did not wait")
	case <-time.After(100 * time.Millisecond):
	}
	close(release)
	require.Equal(t, exitOK, <-p.exit)
}

func TestTheSecondInterruptGivesThemUp(t *testing.T) {
	p, _ := startBlocked(t)
	p.interrupt()
	p.interrupt()
	require.Equal(t, exitOK, <-p.exit)
	assert.NotContains(t, p.stderr.String(), "last error", "what the user gave up is no error")
}

func TestCredentialsWithoutTLSAreWarnedOf(t *testing.T) {
	const warning = "credentials are sent without TLS"
	// Nothing is contacted: the context has ended.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		url  string
		want bool
	}{{"192.0.2.1:7070", true}, {"https://192.0.2.1", false}, {"localhost:7070", false}} {
		var stdout, stderr strings.Builder
		run(ctx, []string{"-addr", "127.0.0.1:0", "-url", tt.url, "-token", "t"}, nil, &stdout, &stderr)
		assert.Equal(t, tt.want, strings.Contains(stderr.String(), warning), tt.url)
	}
}

// What a proxy with TLS in front of Parca is to parca-load.
func TestTLS(t *testing.T) {
	service := grpc.NewServer()
	querypb.RegisterQueryServiceServer(service, newReplay(t))
	proxy := httptest.NewUnstartedServer(service)
	proxy.EnableHTTP2 = true
	proxy.Config.ErrorLog = log.New(io.Discard, "", 0) // of clients that do not trust it
	proxy.StartTLS()
	defer proxy.Close()
	authority := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw})
	require.NoError(t, os.WriteFile(authority, block, 0o600))

	// The system's certificates are read once in a process, so each case has one of its own.
	runTrusting := func(file string) (string, error) {
		args := fast(proxy.URL, "-addr", "127.0.0.1:0", "-duration", "200ms")
		cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
		cmd.Env = append(os.Environ(), runAsProgram+"=1", "SSL_CERT_FILE="+file)
		output, err := cmd.CombinedOutput()
		return string(output), err
	}
	output, err := runTrusting(authority)
	require.NoError(t, err, output)
	assert.NotContains(t, output, "last error")

	output, err = runTrusting(filepath.Join(t.TempDir(), "none.pem"))
	require.Error(t, err)
	assert.Contains(t, output, "certificate signed by unknown authority")
}
