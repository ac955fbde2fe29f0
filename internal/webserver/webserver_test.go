// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package webserver

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOnlyLoopbackAddressesAreOurOwn(t *testing.T) {
	for _, tc := range []struct {
		address net.Addr
		want    bool
	}{
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, true},
		{&net.TCPAddr{IP: net.IPv6loopback}, true},
		{&net.UnixAddr{Name: "/run/extension.sock"}, true},
		{&net.TCPAddr{IP: net.IPv4zero}, false},
		{&net.TCPAddr{IP: net.IPv6unspecified}, false},
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}, false},
	} {
		assert.Equal(t, tc.want, isLoopback(tc.address), tc.address)
	}
}
