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
	if t.PathPrefix != "" {
		if advice := adviceOnPrefix(t.PathPrefix); advice != "" {
			fail("path_prefix", "%s", advice)
		}
	}
	if advice := adviceOnParams(t.Params); advice != "" {
		fail("params", "%s", advice)
	}
	enabled := t.enabledProfiles()
	if len(enabled) == 0 {
		fail("profiles", "no profile is enabled; enable one, or remove the target")
	}
	for _, name := range enabled {
		errs = append(errs, t.validateProfile(key+"::profiles::"+name, name, interval)...)
	}
	return errs
}

func (t *TargetConfig) validateProfile(key, name string, interval time.Duration) []error {
	p := t.Profiles[name]
	var errs []error
	check := func(subkey, advice string) {
		if advice != "" {
			errs = append(errs, fmt.Errorf("%s::%s: %s", key, subkey, advice))
		}
	}
	check("path", adviceOnPath(p.Path))
	check("params", adviceOnParams(p.Params))
	check("seconds", t.adviceOnSeconds(name, p, p.interval(interval)))
	if p.CollectionInterval < 0 {
		check("collection_interval", "must be positive, or left out to be that of the receiver")
	}
	for i, st := range p.KeepSampleTypes {
		if st.Type == "" {
			check(fmt.Sprintf("keep_sample_types::%d::type", i), "missing; give the name of a sample type, such as alloc_space")
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
			" and heap have a default; give a path such as /debug/pprof/profile"
	}
	u := pathOnTarget(path)
	if u == nil {
		return fmt.Sprintf("%q is not a path on the target; give one that begins with a single /, such as /debug/pprof/heap", path)
	}
	return adviceOnParams(u.Query())
}

func adviceOnPrefix(prefix string) string {
	if u := pathOnTarget(prefix); u == nil || u.RawQuery != "" {
		return fmt.Sprintf("%q is not the beginning of a path; give one that begins with a single / and has no query, such as /app", prefix)
	}
	return ""
}

// pathOnTarget returns nil if text is not a path, with or without a query.
func pathOnTarget(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(text, "/") {
		return nil
	}
	return u
}

// adviceOnParams never quotes values: they may be secret.
func adviceOnParams(params url.Values) string {
	if _, unnamed := params[""]; unnamed {
		return "a parameter needs a name"
	}
	if _, there := params["seconds"]; there {
		return "has the parameter seconds, which the receiver must know of; write it as the setting seconds of the profile"
	}
	return ""
}

func (t *TargetConfig) adviceOnSeconds(name string, p ProfileConfig, interval time.Duration) string {
	duration := time.Duration(p.Seconds) * time.Second
	switch {
	case p.Seconds < 0:
		return "must not be negative"
	case p.Seconds == 0 && needsSeconds(name, p.Path):
		return "must be positive: this profile is measured over a time"
	case p.Seconds == 0:
		return ""
	case interval > 0 && duration > interval:
		return fmt.Sprintf("%d is more than collection_interval (%s): the next scrape would begin before this one ends",
			p.Seconds, interval)
	case t.Client.Timeout > 0 && duration >= t.Client.Timeout:
		return fmt.Sprintf("%d is not less than the target's timeout (%s): no request could ever succeed",
			p.Seconds, t.Client.Timeout)
	}
	return ""
}

// needsSeconds are the profiles that mean nothing without a time to measure.
// Go's handlers take 30 seconds where none are asked for.
func needsSeconds(name, path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return name == "cpu" || name == "fgprof" || strings.HasSuffix(path, "/pprof/profile") || strings.HasSuffix(path, "/fgprof")
}

// interval is how often a profile is taken.
func (p ProfileConfig) interval(ofReceiver time.Duration) time.Duration {
	if p.CollectionInterval > 0 {
		return p.CollectionInterval
	}
	return ofReceiver
}
