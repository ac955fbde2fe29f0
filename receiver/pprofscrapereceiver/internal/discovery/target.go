// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
)

// The labels that relabeling sees of a profile, beside those that Prometheus has
// for metrics. They are those of Parca.
const (
	profileNameLabel = model.MetricNameLabel
	profilePathLabel = "__profile_path__"
	serviceNameLabel = "service_name"
)

// Job is what the targets that are discovered together have in common.
type Job struct {
	// Name is the label job of targets that have none. Empty gives none.
	Name string
	// Scheme is that of targets without the label __scheme__: http or https.
	Scheme string
	// ServiceName is the label service_name of targets that have none. Empty
	// gives none.
	ServiceName string
	// Profiles are the URLs of the profiles by name, of which path and query
	// count.
	Profiles map[string]*url.URL
	// Rules decide which targets and profiles are scraped, and where.
	Rules Rules
}

// Target is a process that was discovered.
type Target struct {
	// Endpoint is scheme, host and port.
	Endpoint string
	// Labels are what relabeling left, without those that begin with __.
	Labels map[string]string
	// Paths are the paths of the profiles by name, with their queries.
	Paths map[string]string
}

// Outcome is what became of the profiles of all discovered targets.
type Outcome struct {
	// Targets are sorted by endpoint and labels, no two of which are the same.
	Targets []Target
	// Dropped is the number of targets of which the rules left no profile.
	Dropped int
	// Invalid are the targets that cannot be scraped, and why.
	Invalid []error
}

// Targets applies the rules of the job to the groups. As in Parca the rules see
// each profile of a target apart, so that they may drop one or find it on a port
// of its own; what ends at one endpoint with the same labels is one target.
func (j *Job) Targets(groups []*targetgroup.Group) Outcome {
	var outcome Outcome
	found := map[string]*Target{}
	for _, group := range groups {
		for _, own := range group.Targets {
			kept, err := j.locate(own, group.Labels, found)
			switch {
			case err != nil:
				outcome.Invalid = append(outcome.Invalid, err)
			case !kept:
				outcome.Dropped++
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		outcome.Targets = append(outcome.Targets, *found[key])
	}
	return outcome
}

// locate adds one target's profiles to those found, and tells whether the rules
// kept any.
func (j *Job) locate(own, common model.LabelSet, found map[string]*Target) (kept bool, err error) {
	builder := labels.NewBuilder(labels.EmptyLabels())
	for _, name := range slices.Sorted(maps.Keys(j.Profiles)) {
		params := j.label(builder, name, own, common)
		if !relabel.ProcessBuilder(builder, j.Rules...) {
			continue
		}
		endpoint, err := endpointOf(builder)
		if err != nil {
			return false, fmt.Errorf("%s: %w", j.Describe(string(own[model.AddressLabel])), err)
		}
		kept = true
		public := publicLabels(builder)
		key := endpoint + " " + labels.FromMap(public).String()
		if found[key] == nil {
			found[key] = &Target{Endpoint: endpoint, Labels: public, Paths: map[string]string{}}
		}
		found[key].Paths[name] = pathOf(builder, params)
	}
	return kept, nil
}

// label sets the labels that the rules see: the target's own, then those of its
// group, then what the job has for those that are missing; and where the profile
// is. It returns the parameters of the query, of which labels show the first
// value each.
func (j *Job) label(builder *labels.Builder, profile string, own, common model.LabelSet) url.Values {
	builder.Reset(labels.EmptyLabels())
	for _, set := range []model.LabelSet{common, own} {
		for name, value := range set {
			builder.Set(string(name), string(value))
		}
	}
	defaults := map[string]string{
		model.JobLabel: j.Name, model.SchemeLabel: j.Scheme, serviceNameLabel: j.ServiceName,
	}
	for name, value := range defaults {
		if builder.Get(name) == "" {
			builder.Set(name, value)
		}
	}
	u := j.Profiles[profile]
	builder.Set(profileNameLabel, profile)
	builder.Set(profilePathLabel, rooted(u.Path))
	params := u.Query()
	for name, values := range params {
		builder.Set(model.ParamLabelPrefix+name, values[0])
	}
	return params
}

// endpointOf is where the labels say that the target is.
func endpointOf(builder *labels.Builder) (string, error) {
	scheme, address := builder.Get(model.SchemeLabel), builder.Get(model.AddressLabel)
	standardPort, known := map[string]string{"http": ":80", "https": ":443"}[scheme]
	switch {
	case !known:
		return "", fmt.Errorf("the label __scheme__ is %q; give http or https", scheme)
	case address == "":
		return "", errors.New("the label __address__ is empty; give host:port")
	case needsPort(address):
		address += standardPort
	}
	u, err := url.Parse(scheme + "://" + address)
	if err != nil || u.Host != address || u.Hostname() == "" {
		return "", fmt.Errorf("the label __address__ is %q; give host:port, without scheme, user and path", withoutUser(address))
	}
	if builder.Get(model.InstanceLabel) == "" {
		builder.Set(model.InstanceLabel, address)
	}
	return u.String(), nil
}

// Describe names a target of the job in errors.
func (j *Job) Describe(address string) string {
	text := fmt.Sprintf("target %q", withoutUser(address))
	if j.Name != "" {
		text += fmt.Sprintf(" of job %q", j.Name)
	}
	return text
}

// withoutUser is an address as logs may show it: what stands before an @ may be
// a password.
func withoutUser(address string) string { return address[strings.LastIndexByte(address, '@')+1:] }

// needsPort tells whether an address becomes one with a port by adding it. IPv6
// addresses stand in brackets.
func needsPort(address string) bool {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return false
	}
	_, _, err := net.SplitHostPort(address + ":80")
	return err == nil
}

// pathOf is the path of the profile, and the query: what relabeling left of the
// labels wins over the parameters they were made of.
func pathOf(builder *labels.Builder, params url.Values) string {
	builder.Range(func(l labels.Label) {
		name, isParam := strings.CutPrefix(l.Name, model.ParamLabelPrefix)
		switch {
		case !isParam:
		case len(params[name]) > 0:
			params[name][0] = l.Value
		default:
			params[name] = []string{l.Value}
		}
	})
	u := url.URL{Path: rooted(builder.Get(profilePathLabel)), RawQuery: params.Encode()}
	return u.String()
}

// rooted is a path that begins with one slash; with two it would name a host.
func rooted(path string) string { return "/" + strings.TrimLeft(path, "/") }

func publicLabels(builder *labels.Builder) map[string]string {
	public := map[string]string{}
	builder.Range(func(l labels.Label) {
		if !strings.HasPrefix(l.Name, model.ReservedLabelPrefix) {
			public[l.Name] = l.Value
		}
	})
	return public
}
