// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// targetResource describes where a profile of a target comes from. The
// configured attributes win over what the receiver knows by itself.
func targetResource(t *TargetConfig, p *profile.Profile) (pcommon.Map, error) {
	attributes := processResource(t.ServiceName, p)
	u, err := url.Parse(t.Client.Endpoint)
	if err == nil {
		attributes.PutStr("server.address", u.Hostname())
		attributes.PutInt("server.port", port(u))
	}
	configured := pcommon.NewMap()
	if err := configured.FromRaw(t.ResourceAttributes); err != nil {
		return attributes, err
	}
	for key, value := range configured.All() {
		value.CopyTo(attributes.PutEmpty(key))
	}
	return attributes, nil
}

// processResource has what a profile says about its process. Without a service
// name the semantic conventions ask for unknown_service, followed by the name of
// the executable if it is known.
func processResource(serviceName string, p *profile.Profile) pcommon.Map {
	attributes := pcommon.NewMap()
	executable := executableName(p)
	if serviceName == "" {
		serviceName = "unknown_service"
		if executable != "" {
			serviceName += ":" + executable
		}
	}
	attributes.PutStr("service.name", serviceName)
	if executable != "" {
		attributes.PutStr("process.executable.name", executable)
	}
	return attributes
}

// executableName is the base name of the first mapping's file: pprof puts the
// main binary first. Empty if there is none, as in profiles of interpreters.
func executableName(p *profile.Profile) string {
	if len(p.Mapping) == 0 {
		return ""
	}
	file := p.Mapping[0].File
	return file[strings.LastIndexAny(file, `/\`)+1:]
}

func port(u *url.URL) int64 {
	if n, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		return int64(n)
	}
	if u.Scheme == "https" {
		return 443
	}
	return 80
}
