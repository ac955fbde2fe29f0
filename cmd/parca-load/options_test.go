// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/profiletometrics/profiletometrics/cmd/parca-load/internal/workload"
	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

func TestDefaultsAreThoseOfTheReadme(t *testing.T) {
	o, err := parseOptions(nil, &strings.Builder{})
	require.NoError(t, err)
	assert.Equal(t, server{address: "localhost:7070"}, o.server)
	assert.Equal(t, "127.0.0.1:7171", o.metricsAddr)
	assert.Zero(t, o.duration)
	assert.Equal(t, workload.Config{
		Interval: 5 * time.Second,
		Timeout:  30 * time.Second,
		Ranges: []workload.Range{
			{Name: "15m", Length: 15 * time.Minute},
			{Name: "12h", Length: 12 * time.Hour},
			{Name: "168h", Length: 168 * time.Hour},
		},
		Selectors: []workload.Selector{{Name: "{}"}},
	}, o.workload)
	assert.False(t, o.credentials.any())
}

func TestListsAreRead(t *testing.T) {
	o, err := parseOptions([]string{
		"-query-range", " 90s ;1h;",
		"-labels", `{job="a;b", pod=~"\";"} ; env='";"'; `,
		"-types", "memory:inuse_space:bytes:space:bytes; process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta",
		"-values-for-labels", "job;instance",
		"-headers", "X-Scope-OrgID = tenant 1;x-other=a=b",
		"-duration", "1m",
	}, &strings.Builder{})
	require.NoError(t, err)
	assert.Equal(t, []workload.Range{
		{Name: "90s", Length: 90 * time.Second}, {Name: "1h", Length: time.Hour},
	}, o.workload.Ranges)
	assert.Equal(t, []workload.Selector{
		{Name: `{job="a;b",pod=~"\";"}`, Matchers: []parcaapi.Matcher{
			{Label: "job", Operator: "=", Value: "a;b"}, {Label: "pod", Operator: "=~", Value: `";`},
		}},
		{Name: `{env="\";\""}`, Matchers: []parcaapi.Matcher{{Label: "env", Operator: "=", Value: `";"`}}},
	}, o.workload.Selectors)
	assert.Equal(t, []parcaapi.ProfileType{
		{Name: "memory", SampleType: "inuse_space", SampleUnit: "bytes", PeriodType: "space", PeriodUnit: "bytes"},
		{Name: "process_cpu", SampleType: "cpu", SampleUnit: "nanoseconds", PeriodType: "cpu", PeriodUnit: "nanoseconds", Delta: true},
	}, o.workload.Types)
	assert.Equal(t, []string{"job", "instance"}, o.workload.ValuesFor)
	assert.Equal(t, map[string]string{"x-scope-orgid": "tenant 1", "x-other": "a=b"}, o.credentials.headers)
	assert.Equal(t, time.Minute, o.duration)
}

func TestWrongFlagsAreNamed(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"an unknown flag", []string{"-nosuch"}, "flag provided but not defined: -nosuch"},
		{"an argument", []string{"localhost:7070"}, `"localhost:7070" is no flag`},
		{"a scheme that gRPC does not have", []string{"-url", "grpc://localhost:7070"}, `-url: the scheme "grpc" is neither http nor https`},
		{"a URL with a path", []string{"-url", "http://localhost:7070/parca"}, "-url: nothing may follow the port, as gRPC knows no path"},
		{"a URL without a host", []string{"-url", "http://:7070"}, "-url: there is no host"},
		{"a URL that is none", []string{"-url", "http://localhost:port"}, "-url: it is not host:port"},
		{"a port that is none", []string{"-url", "http://localhost:70700"}, "-url: the port is not between 1 and 65535"},
		{"a host that is none", []string{"-url", "http://]:7070"}, "-url: the host is neither a name nor an IP address"},
		{"a range without a unit", []string{"-query-range", "15"}, `-query-range: "15" is no positive duration such as 90s, 15m or 168h`},
		{"a range that is negative", []string{"-query-range", "-15m"}, `-query-range: "-15m" is no positive duration`},
		{"no range", []string{"-query-range", ";"}, "-query-range: at least one is needed"},
		{"a selector without its second brace", []string{"-labels", `{job="a"`}, `-labels: "{job=\"a\"": after the matcher job="a" comes neither a comma nor a closing brace`},
		{"a type with too few parts", []string{"-types", "cpu"}, `-types: "cpu" has 1 of the 5 or 6 parts of a profile type`},
		{"a header without a value", []string{"-headers", "a=b;c"}, "-headers: element 2 is not name=value"},
		{"a header with a bad name", []string{"-headers", "a b=c"}, "-headers: the name of element 1 is not allowed in gRPC"},
		{"a header of gRPC's own", []string{"-headers", "grpc-timeout=1s"}, "-headers: the name of element 1 is not allowed in gRPC"},
		{"a header with a bad value", []string{"-headers", "a=b\nc"}, `-headers: the value of "a" has other characters than printable ASCII`},
		{"a header twice", []string{"-headers", "a=b;A=c"}, `-headers: "a" is there twice`},
		{"two tokens", []string{"-token", "a", "-token-file", "b"}, "-token and -token-file: only one may be given"},
		{"a token and a header for it", []string{"-token", "a", "-headers", "Authorization=b"}, "-headers: authorization is what -token and -token-file send"},
		{"a token file that is not there", []string{"-token-file", "/nosuch"}, "-token-file: open /nosuch: no such file or directory"},
		{"a negative timeout", []string{"-client-timeout", "-1s"}, "-client-timeout: -1s is negative"},
		{"a negative interval", []string{"-query-interval", "-1s"}, "-query-interval: -1s is negative"},
		{"a negative duration", []string{"-duration", "-1s"}, "-duration: -1s is negative"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parseOptions(tt.args, &strings.Builder{})
			require.Error(t, err)
			assert.Contains(t, err.Error(), tt.want)
		})
	}
}

func TestAllMistakesAreReportedTogether(t *testing.T) {
	_, err := parseOptions([]string{"-url", "ftp://a", "-query-range", "x", "-duration", "-1s"}, &strings.Builder{})
	require.Error(t, err)
	for _, flagName := range []string{"-url", "-query-range", "-duration"} {
		assert.Contains(t, err.Error(), flagName)
	}
}

func TestHelpListsEveryFlag(t *testing.T) {
	var help strings.Builder
	_, err := parseOptions([]string{"-h"}, &help)
	require.ErrorIs(t, err, flag.ErrHelp)
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, name := range []string{
		"url", "addr", "token", "token-file", "headers", "client-timeout", "query-interval", "query-range",
		"labels", "types", "values-for-labels", "duration",
	} {
		assert.Contains(t, help.String(), "  -"+name+" ")
		assert.Contains(t, string(readme), "| `-"+name+"` |")
	}
}

func TestServers(t *testing.T) {
	tests := []struct {
		url      string
		want     server
		loopback bool
	}{
		{"parca:7070", server{address: "parca:7070"}, false},
		{"localhost:7070", server{address: "localhost:7070"}, true},
		{"127.0.0.1:7070", server{address: "127.0.0.1:7070"}, true},
		{"[::1]:7070", server{address: "[::1]:7070"}, true},
		{"http://parca:7070/", server{address: "parca:7070"}, false},
		{"http://parca", server{address: "parca:80"}, false},
		{"https://parca.example.com", server{address: "parca.example.com:443", tls: true}, false},
		{"https://parca.example.com:8443", server{address: "parca.example.com:8443", tls: true}, false},
	}
	for _, tt := range tests {
		t.Run(tt.url, func(t *testing.T) {
			got, err := parseServer(tt.url)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.loopback, got.loopback())
		})
	}
}

// A connection is made to the host, even one that is called as one of gRPC's schemes.
func TestConnectionsAreToTheHost(t *testing.T) {
	for url, want := range map[string]string{
		"localhost:7070":           "dns:///localhost:7070",
		"unix:7070":                "dns:///unix:7070",
		"http://[fe80::1%25eth0]/": "dns:///[fe80::1%eth0]:80",
	} {
		parsed, err := parseServer(url)
		require.NoError(t, err)
		connection, err := parsed.connect(&credentials{})
		require.NoError(t, err)
		assert.Equal(t, want, connection.CanonicalTarget())
		require.NoError(t, connection.Close())
	}
}

func TestSecretsAreInNoError(t *testing.T) {
	const secret = "s3cret-value"
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(secret+"\n"+secret), 0o600))
	for _, args := range [][]string{
		{"-url", "http://user:" + secret + "@localhost:7070"},
		{"-url", "http://user:" + secret + "%zz@localhost:7070"},
		{"-token", secret + "\n"},
		{"-token-file", file},
		{"-token", secret, "-headers", "authorization=" + secret},
		{"-headers", "a=" + secret + "\nb"},
		{"-headers", secret},
		{"-headers", "Bearer " + secret + "=x"},
	} {
		_, err := parseOptions(args, &strings.Builder{})
		require.Error(t, err)
		assert.NotContains(t, err.Error(), secret)
	}
}
