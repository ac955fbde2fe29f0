// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"time"

	"github.com/prometheus/prometheus/discovery/targetgroup"
	"go.opentelemetry.io/collector/confmap"

	"github.com/profiletometrics/profiletometrics/receiver/pprofscrapereceiver/internal/discovery"
)

// defaultScheme is that of targets of which nothing else is known.
const defaultScheme = "http"

// ScrapeConfig is a job: targets that are found, with the service discovery of
// Prometheus, instead of listed.
type ScrapeConfig struct {
	// Target is what every target of the job is given: all that a target has
	// but the endpoint, which is found.
	Target TargetConfig `mapstructure:",squash"`

	// JobName is the label job of the targets, and from it service.name.
	JobName string `mapstructure:"job_name"`

	// Scheme is http or https.
	Scheme string `mapstructure:"scheme"`

	// RelabelConfigs are Prometheus' relabel_configs, as written.
	RelabelConfigs []any `mapstructure:"relabel_configs"`

	// Discovery has Prometheus' static_configs and *_sd_configs, as written.
	Discovery map[string]any `mapstructure:",remain"`

	_ struct{}
}

// Unmarshal reads a job over the defaults. What Prometheus' packages read
// themselves is kept as it is written.
func (s *ScrapeConfig) Unmarshal(conf *confmap.Conf) error {
	fields := struct {
		JobName        string         `mapstructure:"job_name"`
		Scheme         string         `mapstructure:"scheme"`
		RelabelConfigs []any          `mapstructure:"relabel_configs"`
		Others         map[string]any `mapstructure:",remain"`
	}{Scheme: defaultScheme}
	if err := conf.Unmarshal(&fields); err != nil {
		return err
	}
	s.JobName, s.Scheme, s.RelabelConfigs = fields.JobName, fields.Scheme, fields.RelabelConfigs
	s.Discovery = map[string]any{}
	target := map[string]any{}
	for key, value := range confmap.NewFromStringMap(fields.Others).ToStringMap() {
		if discovery.IsSource(key) {
			s.Discovery[key] = value
		} else {
			target[key] = value
		}
	}
	return s.Target.Unmarshal(confmap.NewFromStringMap(target))
}

// job is a ScrapeConfig that is ready to run.
type job struct {
	discovery.Job
	template TargetConfig
	sources  discovery.Sources
}

// compile reports every mistake at once, each with the path of its key.
func (s *ScrapeConfig) compile(key string, cfg *Config) (*job, error) {
	var errs []error
	fail := func(err error) { errs = append(errs, fmt.Errorf("%s::%w", key, err)) }
	if s.JobName == "" {
		fail(errors.New("job_name: missing; name the job, which is the label job of its targets"))
	}
	if s.Scheme != "http" && s.Scheme != "https" {
		fail(fmt.Errorf("scheme: %q is neither http nor https", s.Scheme))
	}
	if s.Target.Client.Endpoint != "" {
		fail(errors.New("endpoint: a job finds its targets; remove it, or list the target under targets"))
	}
	sources, mistakes := discovery.ParseSources(s.Discovery)
	if len(s.Discovery) == 0 {
		mistakes = append(mistakes, errors.New("static_configs: nothing to scrape; give static_configs, file_sd_configs, http_sd_configs or dns_sd_configs"))
	}
	rules, wrong := discovery.ParseRules(s.RelabelConfigs)
	for _, err := range append(mistakes, wrong...) {
		fail(err)
	}
	template := s.Target
	template.Client.Endpoint = placeholderEndpoint
	errs = append(errs, template.validate(key, cfg.CollectionInterval)...)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	j, err := newJob(s.JobName, s.Scheme, template, rules)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	j.sources = sources
	return j, nil
}

// placeholderEndpoint stands for that of any target while a job is checked.
const placeholderEndpoint = "http://discovered"

func newJob(name, scheme string, template TargetConfig, rules discovery.Rules) (*job, error) {
	j := &job{
		Job: discovery.Job{
			Name: name, Scheme: scheme, ServiceName: template.ServiceName, Rules: rules, Profiles: map[string]*url.URL{},
		},
		template: template,
	}
	for _, profile := range template.enabledProfiles() {
		p := template.Profiles[profile]
		p.Seconds = 0 // is added again for each target
		u, err := template.profileURL(p)
		if err != nil {
			return nil, fmt.Errorf("profiles::%s: %w", profile, err)
		}
		j.Profiles[profile] = u
	}
	return j, nil
}

// find makes targets of what was discovered. What the labels made invalid is
// left out and said in the outcome.
func (j *job) find(groups []*targetgroup.Group, interval time.Duration) ([]TargetConfig, discovery.Outcome) {
	outcome := j.Targets(groups)
	var targets []TargetConfig
	for _, found := range outcome.Targets {
		t := j.target(found)
		if errs := t.validate(j.Describe(t.displayName()), interval); len(errs) > 0 {
			outcome.Invalid = append(outcome.Invalid, errors.Join(errs...))
			continue
		}
		targets = append(targets, t)
	}
	return targets, outcome
}

// target is the configuration of a target that was found. The paths that were
// found have the prefix and all parameters.
func (j *job) target(found discovery.Target) TargetConfig {
	cfg := j.template
	cfg.Client.Endpoint = found.Endpoint
	cfg.PathPrefix, cfg.Params = "", nil
	attributes := discovery.Attributes(found.Labels)
	cfg.ServiceName, _ = attributes["service.name"].(string)
	delete(attributes, "service.name")
	cfg.ResourceAttributes = map[string]any{}
	maps.Copy(cfg.ResourceAttributes, j.template.ResourceAttributes)
	maps.Copy(cfg.ResourceAttributes, attributes)
	cfg.Profiles = map[string]ProfileConfig{}
	for name, path := range found.Paths {
		p := j.template.Profiles[name]
		p.Path, p.Params = path, nil
		cfg.Profiles[name] = p
	}
	return cfg
}

// compileScrapeConfigs makes jobs of all scrape_configs.
func (cfg *Config) compileScrapeConfigs() ([]*job, []error) {
	var jobs []*job
	var errs []error
	seen := map[string]int{}
	for i := range cfg.ScrapeConfigs {
		s := &cfg.ScrapeConfigs[i]
		key := fmt.Sprintf("scrape_configs::%d", i)
		if other, twice := seen[s.JobName]; twice && s.JobName != "" {
			errs = append(errs, fmt.Errorf("%s::job_name: %q is the name of scrape_configs::%d too; give each job its own", key, s.JobName, other))
		}
		seen[s.JobName] = i
		j, err := s.compile(key, cfg)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		jobs = append(jobs, j)
	}
	return jobs, errs
}
