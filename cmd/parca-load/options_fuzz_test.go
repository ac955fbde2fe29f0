// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Flags that are taken say something that can be done, and selectors say the same when they are read
// again.
func FuzzFlags(f *testing.F) {
	f.Add("http://localhost:7070", "a=b;c=d=e", "15m;12h", `{job="a"};env=~"b;c"`, "p:s:u:t:v;p:s:u:t:v:delta")
	f.Add("[::1]:7070", ";", "1h", "x='\"'", "")
	f.Add("https://parca", "A-b_c.d= x ", "1ns", "{a!~`;`}", ":::::")
	f.Add("]", "", "1s", "", "")
	f.Add("://", "=", "-1s", `{"`, ";")
	f.Fuzz(func(t *testing.T, url, headers, ranges, labels, types string) {
		o, err := parseOptions([]string{
			"-url", url, "-headers", headers, "-query-range", ranges, "-labels", labels, "-types", types,
		}, io.Discard)
		if err != nil {
			return
		}
		host, port, err := net.SplitHostPort(o.server.address)
		require.NoError(t, err)
		assert.NotEmpty(t, host)
		assert.NotEmpty(t, port)
		for _, one := range o.workload.Ranges {
			assert.Positive(t, one.Length)
		}
		require.NotEmpty(t, o.workload.Selectors)
		for _, selector := range o.workload.Selectors {
			again, err := parseSelectors(selector.Name)
			require.NoError(t, err)
			assert.Equal(t, selector.Name, again[0].Name)
			assert.Len(t, again[0].Matchers, len(selector.Matchers))
		}
		for _, one := range o.workload.Types {
			again, err := parseTypes(one.String())
			require.NoError(t, err)
			assert.Equal(t, one, again[0])
		}
	})
}
