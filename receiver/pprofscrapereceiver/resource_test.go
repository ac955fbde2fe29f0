// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheResourceOfATarget(t *testing.T) {
	shop := &profile.Profile{Mapping: []*profile.Mapping{{File: "/usr/bin/shop"}, {File: "/lib/libc.so"}}}
	for _, tc := range []struct {
		name, endpoint, service string
		attributes              map[string]any
		profile                 *profile.Profile
		want                    map[string]any
	}{
		{"the name the user gives", "http://localhost:6060", "checkout", nil, shop, map[string]any{
			"service.name": "checkout", "process.executable.name": "shop",
			"server.address": "localhost", "server.port": int64(6060),
		}},
		{"a configured attribute wins", "http://localhost:6060", "checkout", map[string]any{"service.name": "cart"}, shop, map[string]any{
			"service.name": "cart", "process.executable.name": "shop",
			"server.address": "localhost", "server.port": int64(6060),
		}},
		{"no name but an executable", "https://localhost/app", "", nil, shop, map[string]any{
			"service.name": "unknown_service:shop", "process.executable.name": "shop",
			"server.address": "localhost", "server.port": int64(443),
		}},
		{"nothing known", "http://[::1]", "", nil, &profile.Profile{}, map[string]any{
			"service.name": "unknown_service", "server.address": "::1", "server.port": int64(80),
		}},
		{
			"an executable of Windows", "http://localhost:1", "a", nil,
			&profile.Profile{Mapping: []*profile.Mapping{{File: `C:\bin\shop.exe`}}},
			map[string]any{
				"service.name": "a", "process.executable.name": "shop.exe",
				"server.address": "localhost", "server.port": int64(1),
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := testTarget(tc.endpoint, nil)
			cfg.ServiceName, cfg.ResourceAttributes = tc.service, tc.attributes
			got, err := targetResource(&cfg, tc.profile)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got.AsRaw())
		})
	}
}
