// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Validate reports every mistake at once, each with the path of its key and what
// to write instead.
func (cfg *Config) Validate() error {
	var errs []error
	if len(cfg.Targets) == 0 && cfg.TargetsFile == "" && len(cfg.ScrapeConfigs) == 0 && len(cfg.IncludeFiles) == 0 {
		errs = append(errs, errors.New("targets: nothing to scrape; give targets, targets_file, scrape_configs or include_files"))
	}
	if cfg.MaxResponseBodySize <= 0 {
		errs = append(errs, fmt.Errorf("max_response_body_size: %d bytes would refuse everything; give a positive number",
			cfg.MaxResponseBodySize))
	}
	for i, pattern := range cfg.IncludeFiles {
		if _, err := filepath.Match(pattern, ""); err != nil || pattern == "" {
			errs = append(errs, fmt.Errorf(`include_files::%d: %q is no glob; give a path with *, ? or […]`, i, pattern))
		}
	}
	errs = append(errs, cfg.validateTargets(cfg.Targets, nil)...)
	_, mistakes := cfg.compileScrapeConfigs()
	return errors.Join(append(errs, mistakes...)...)
}

// validateTargets checks the targets of one list; others are already scraped and
// must not be scraped twice.
func (cfg *Config) validateTargets(targets, others []TargetConfig) []error {
	var errs []error
	seen := map[string]string{} // URL of a profile -> the key that gave it
	for _, t := range others {
		for name, u := range t.profileURLs() {
			seen[u] = fmt.Sprintf("the profile %s of %s under targets", name, t.displayName())
		}
	}
	for i, t := range targets {
		key := fmt.Sprintf("targets::%d", i)
		errs = append(errs, t.validate(key, cfg.CollectionInterval)...)
		urls := t.profileURLs()
		for _, name := range slices.Sorted(maps.Keys(urls)) {
			profileKey := key + "::profiles::" + name
			if other, twice := seen[urls[name]]; twice {
				errs = append(errs, fmt.Errorf("%s: has the same URL as %s; remove one of the two", profileKey, other))
			}
			seen[urls[name]] = profileKey
		}
	}
	return errs
}

func (t *TargetConfig) validate(key string, interval time.Duration) []error {
	var errs []error
	fail := func(subkey, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s::%s: "+format, append([]any{key, subkey}, args...)...))
	}
	if advice := adviceOnEndpoint(t.Client.Endpoint); advice != "" {
		fail("endpoint", "%s", advice)
	}
	if _, err := url.ParseRequestURI(t.Client.ProxyURL); err != nil && t.Client.ProxyURL != "" {
		fail("proxy_url", "is not a valid URL; give one such as http://localhost:3128")
	}
	if t.Client.Compression.IsCompressed() {
		fail("compression", "compresses the bodies of requests, and a scrape has none; remove it")
	}
	if err := pcommon.NewMap().FromRaw(t.ResourceAttributes); err != nil {
		fail("resource_attributes", "%w; give strings, numbers, booleans, or lists and maps of them", err)
	}
	if _, unnamed := t.ResourceAttributes[""]; unnamed {
		fail("resource_attributes", "an attribute needs a name")
	}
	enabled := t.enabledProfiles()
	if len(enabled) == 0 {
		fail("profiles", "no profile is enabled; enable one, or remove the target")
	}
	for _, name := range enabled {
		p := t.Profiles[name]
		if advice := adviceOnPath(p.Path); advice != "" {
			fail("profiles::"+name+"::path", "%s", advice)
		}
		if advice := t.adviceOnSeconds(name, p.Seconds, interval); advice != "" {
			fail("profiles::"+name+"::seconds", "%s", advice)
		}
	}
	return errs
}

// adviceOnEndpoint says what is wrong with an endpoint, if anything is. It never
// quotes it: the endpoint may hold a password.
func adviceOnEndpoint(endpoint string) string {
	if endpoint == "" {
		return "missing; give the URL of the target, such as http://localhost:6060"
	}
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return "is not a valid URL; give one such as http://localhost:6060"
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return "needs a scheme and a host; give a URL such as http://localhost:6060"
	case u.RawQuery != "" || u.Fragment != "":
		return "must not have a query or a fragment; write the query into the path of each profile"
	}
	return ""
}

func adviceOnPath(path string) string {
	if path == "" {
		return "missing; only " + strings.Join(slices.Sorted(maps.Keys(newDefaultProfiles())), ", ") +
			" have a default; give a path such as /debug/pprof/heap"
	}
	if u, err := url.Parse(path); err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(path, "/") {
		return fmt.Sprintf("%q is not a path on the target; give one that begins with a single /, such as /debug/pprof/heap", path)
	}
	return ""
}

func (t *TargetConfig) adviceOnSeconds(name string, seconds int, interval time.Duration) string {
	duration := time.Duration(seconds) * time.Second
	switch {
	case seconds < 0:
		return "must not be negative"
	case seconds == 0 && needsSeconds(name):
		return "must be positive: this profile is measured over a time"
	case seconds == 0:
		return ""
	case interval > 0 && duration >= interval:
		return fmt.Sprintf("%d is not less than collection_interval (%s): the next scrape would begin before this one ends",
			seconds, interval)
	case t.Client.Timeout > 0 && duration >= t.Client.Timeout:
		return fmt.Sprintf("%d is not less than the target's timeout (%s): no request could ever succeed",
			seconds, t.Client.Timeout)
	}
	return ""
}

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

// profileURL joins the endpoint, which may have a path of its own, the path of
// the profile, and the seconds.
func (t *TargetConfig) profileURL(p ProfileConfig) (*url.URL, error) {
	base, err := url.Parse(t.Client.Endpoint)
	if err != nil {
		return nil, errors.New("endpoint is not a valid URL")
	}
	path, err := url.Parse(p.Path)
	if err != nil {
		return nil, errors.New("path is not valid")
	}
	u := base.JoinPath(path.EscapedPath())
	query := path.Query()
	if p.Seconds > 0 {
		query.Set("seconds", strconv.Itoa(p.Seconds))
	}
	u.RawQuery = query.Encode()
	return u, nil
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
