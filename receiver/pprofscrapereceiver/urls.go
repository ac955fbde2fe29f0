// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"errors"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// enabledProfiles are the names of the profiles to take, sorted.
func (t *TargetConfig) enabledProfiles() []string {
	var names []string
	for name, p := range t.Profiles {
		if p.Enabled {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// profileURLs are the URLs of the enabled profiles by name; those that are not
// valid are left out.
func (t *TargetConfig) profileURLs() map[string]string {
	urls := map[string]string{}
	for _, name := range t.enabledProfiles() {
		if u, err := t.profileURL(t.Profiles[name]); err == nil {
			urls[name] = u.String()
		}
	}
	return urls
}

// profileURL joins the endpoint, which may have a path of its own, path_prefix,
// the path of the profile, and all parameters.
func (t *TargetConfig) profileURL(p ProfileConfig) (*url.URL, error) {
	base, err := url.Parse(t.Client.Endpoint)
	if err != nil {
		return nil, errors.New("endpoint is not a valid URL")
	}
	path, err := url.Parse(p.Path)
	if err != nil {
		return nil, errors.New("path is not valid")
	}
	u := base.JoinPath(t.PathPrefix, path.EscapedPath())
	query := url.Values{}
	maps.Copy(query, t.Params)
	maps.Copy(query, path.Query())
	maps.Copy(query, p.Params)
	if p.Seconds > 0 {
		query.Set("seconds", strconv.Itoa(p.Seconds))
	}
	u.RawQuery = query.Encode()
	return u, nil
}

// processOf identifies what a URL measures, whoever asks and for how long.
func processOf(u *url.URL) string {
	query := u.Query()
	query.Del("seconds")
	process := url.URL{
		Scheme:   u.Scheme,
		Host:     net.JoinHostPort(strings.ToLower(u.Hostname()), strconv.FormatInt(port(u), 10)),
		Path:     u.Path,
		RawQuery: query.Encode(),
	}
	return process.String()
}

// displayName is the endpoint as logs, errors and telemetry may show it: without
// user information and query, which may be secret.
func (t *TargetConfig) displayName() string {
	u, err := url.Parse(t.Client.Endpoint)
	if err != nil {
		return "invalid endpoint"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
