// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"fmt"
	"time"

	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/scraper/scraperhelper"
)

const (
	defaultCollectionInterval  = 10 * time.Second
	defaultMaxResponseBodySize = 64 << 20
)

// Config is what the user writes under pprofscrape.
type Config struct {
	// ControllerConfig has collection_interval, initial_delay and timeout. The
	// timeout bounds each request, to which a profile's seconds are added;
	// without one a request may take as long as a collection interval.
	scraperhelper.ControllerConfig `mapstructure:",squash"`

	// Targets are the processes to scrape, each at its own pace: none waits for
	// another.
	Targets []TargetConfig `mapstructure:"targets"`

	// TargetsFile is a YAML or JSON file with a list of further targets, either
	// as under targets or as in a file of Prometheus' file_sd_configs. It is read
	// again when it changes.
	TargetsFile string `mapstructure:"targets_file"`

	// ScrapeConfigs are jobs, whose targets are found by service discovery.
	ScrapeConfigs []ScrapeConfig `mapstructure:"scrape_configs"`

	// IncludeFiles are globs of pprof files that are read once, at start, and
	// taken whole.
	IncludeFiles []string `mapstructure:"include_files"`

	// MaxResponseBodySize is the limit of a response body, or an included file,
	// in bytes, before and after decompression.
	MaxResponseBodySize int64 `mapstructure:"max_response_body_size"`

	_ struct{}
}

// TargetConfig is one process to scrape.
type TargetConfig struct {
	// Client is the HTTP client: endpoint, tls, auth, headers, proxy_url…
	Client confighttp.ClientConfig `mapstructure:",squash"`

	// ServiceName is the resource attribute service.name.
	ServiceName string `mapstructure:"service_name"`

	// ResourceAttributes are added to the resource, and win over all others.
	ResourceAttributes map[string]any `mapstructure:"resource_attributes"`

	// PathPrefix stands between the endpoint and the path of each profile.
	PathPrefix string `mapstructure:"path_prefix"`

	// Params are parameters of the query of every request.
	Params map[string][]string `mapstructure:"params"`

	// Profiles are the profiles to take, by name.
	Profiles map[string]ProfileConfig `mapstructure:"profiles"`

	_ struct{}
}

// ProfileConfig is one profile of a target.
type ProfileConfig struct {
	// Enabled says whether the profile is taken.
	Enabled bool `mapstructure:"enabled"`

	// Path is what comes after the target's endpoint and path_prefix; it may have
	// a query.
	Path string `mapstructure:"path"`

	// Params are further parameters of the query; they win over the target's
	// parameters, and those in the path, of the same name.
	Params map[string][]string `mapstructure:"params"`

	// Seconds is how long the target is asked to measure; 0 does not ask.
	Seconds int `mapstructure:"seconds"`

	// Delta says that what the target answers is what happened since its previous
	// answer, also where the sample types look as if they counted since the
	// process started. A profile with a duration is known to be so.
	Delta bool `mapstructure:"delta"`

	// KeepSampleTypes are the sample types to keep; empty keeps all.
	KeepSampleTypes []SampleTypeConfig `mapstructure:"keep_sample_types"`

	// CollectionInterval is how often this profile is taken; 0 is as often as the
	// receiver's others.
	CollectionInterval time.Duration `mapstructure:"collection_interval"`

	_ struct{}
}

// SampleTypeConfig names a sample type of a profile.
type SampleTypeConfig struct {
	// Type is the name, such as alloc_space.
	Type string `mapstructure:"type"`

	// Unit is its unit, such as bytes; empty takes any.
	Unit string `mapstructure:"unit"`

	_ struct{}
}

func newDefaultConfig() *Config {
	controller := scraperhelper.NewDefaultControllerConfig()
	controller.CollectionInterval = defaultCollectionInterval
	return &Config{ControllerConfig: controller, MaxResponseBodySize: defaultMaxResponseBodySize}
}

func newDefaultTargetConfig() TargetConfig {
	return TargetConfig{Client: confighttp.NewDefaultClientConfig(), Profiles: newDefaultProfiles()}
}

// newDefaultProfiles are the paths of Go's net/http/pprof, and of fgprof.
func newDefaultProfiles() map[string]ProfileConfig {
	return map[string]ProfileConfig{
		"cpu":          {Enabled: true, Path: "/debug/pprof/profile", Seconds: 5},
		"memory":       {Enabled: true, Path: "/debug/pprof/allocs"},
		"goroutine":    {Path: "/debug/pprof/goroutine"},
		"mutex":        {Path: "/debug/pprof/mutex"},
		"block":        {Path: "/debug/pprof/block"},
		"threadcreate": {Path: "/debug/pprof/threadcreate"},
		"fgprof":       {Path: "/debug/pprof/fgprof", Seconds: 5},
	}
}

// newNamedProfile is what a profile without a default begins with: it is switched
// on by naming it. The path of heap is well known, but what it has is in the
// profile memory already.
func newNamedProfile(name string) ProfileConfig {
	p := ProfileConfig{Enabled: true}
	if name == "heap" {
		p.Path = "/debug/pprof/heap"
	}
	return p
}

// ownSettings are the settings of a target that are not the client's.
type ownSettings struct {
	ServiceName        string              `mapstructure:"service_name"`
	ResourceAttributes map[string]any      `mapstructure:"resource_attributes"`
	PathPrefix         string              `mapstructure:"path_prefix"`
	Params             map[string][]string `mapstructure:"params"`
}

// Unmarshal reads a target over the defaults. The decoder would pass over keys
// that neither struct knows, because the squashed client has an Unmarshal of its
// own; so the client's keys and the rest are read apart, each strictly.
func (t *TargetConfig) Unmarshal(conf *confmap.Conf) error {
	*t = newDefaultTargetConfig()
	client := map[string]any{}
	own := map[string]any{}
	for key, value := range conf.ToStringMap() {
		switch key {
		case "service_name", "resource_attributes", "path_prefix", "params":
			own[key] = value
		case "profiles":
		default:
			client[key] = value
		}
	}
	if err := t.unmarshalClient(confmap.NewFromStringMap(client)); err != nil {
		return err
	}
	var rest ownSettings
	if err := confmap.NewFromStringMap(own).Unmarshal(&rest); err != nil {
		return err
	}
	t.ServiceName, t.ResourceAttributes = rest.ServiceName, rest.ResourceAttributes
	t.PathPrefix, t.Params = rest.PathPrefix, rest.Params
	return t.unmarshalProfiles(conf.Get("profiles"))
}

func (t *TargetConfig) unmarshalClient(conf *confmap.Conf) error {
	// The same fields without the methods: all that is left to find is a key
	// that no field has.
	type fields confighttp.ClientConfig
	unused := fields(t.Client)
	if err := conf.Unmarshal(&unused); err != nil {
		return err
	}
	return t.Client.Unmarshal(conf)
}

// unmarshalProfiles merges what the user wrote into the default of that name: a
// profile may be switched on, or given another time, without repeating the rest.
// A name without a default is switched on by naming it.
func (t *TargetConfig) unmarshalProfiles(raw any) error {
	if raw == nil {
		return nil
	}
	profiles, ok := raw.(map[string]any)
	if !ok {
		return fmt.Errorf("profiles: expected a map of profiles by name, got %T", raw)
	}
	for name, value := range profiles {
		p, known := t.Profiles[name]
		if !known {
			p = newNamedProfile(name)
		}
		fields, isMap := value.(map[string]any)
		if !isMap && value != nil {
			return fmt.Errorf("profiles::%s: expected enabled, path or seconds, got %T", name, value)
		}
		if err := confmap.NewFromStringMap(fields).Unmarshal(&p); err != nil {
			return fmt.Errorf("profiles::%s: %w", name, err)
		}
		t.Profiles[name] = p
	}
	return nil
}
