// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"go.yaml.in/yaml/v3"
)

const (
	staticKey    = "static_configs"
	sourceSuffix = "_sd_configs"
)

// Sources are where the targets of a job are found.
type Sources = discovery.Configs

// IsSource tells whether a key of a job says where its targets are found,
// whether or not this program has that mechanism.
func IsSource(key string) bool {
	return key == staticKey || strings.HasSuffix(key, sourceSuffix)
}

// ParseSources reads static_configs and *_sd_configs as Prometheus does. Each
// mistake is an error that begins with its place below the job, such as
// http_sd_configs::0.
func ParseSources(raw map[string]any) (Sources, []error) {
	var sources Sources
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		if advice := adviceOnMechanism(key); advice != "" {
			errs = append(errs, fmt.Errorf("%s: %s", key, advice))
			continue
		}
		list, isList := raw[key].([]any)
		if !isList {
			errs = append(errs, fmt.Errorf("%s: expected a list, got %T", key, raw[key]))
			continue
		}
		// One at a time: an error of the whole would name a line of a text that
		// the user has never seen.
		for i, entry := range list {
			var parsed Sources
			err := decode(map[string]any{key: []any{entry}}, &parsed)
			if err == nil {
				err = checkRefresh(parsed)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s::%d: %w", key, i, err))
				continue
			}
			sources = append(sources, parsed...)
		}
	}
	return mergeStatic(sources), errs
}

// ParseGroups reads a list of groups of targets, the content of a file of
// Prometheus' file_sd_configs. Each mistake is an error that begins with its
// place in the list.
func ParseGroups(list []any) ([]*targetgroup.Group, []error) {
	var groups []*targetgroup.Group
	var errs []error
	for i, entry := range list {
		var group *targetgroup.Group
		err := decode(entry, &group)
		if err == nil && group == nil {
			err = errors.New("empty; give targets, a list of host:port")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%d: %w", i, err))
			continue
		}
		groups = append(groups, group)
	}
	return groups, errs
}

// adviceOnMechanism says what to do if this program lacks the mechanism of a key.
func adviceOnMechanism(key string) string {
	names := discovery.RegisteredConfigNames()
	name := strings.TrimSuffix(key, sourceSuffix)
	if key == staticKey || slices.Contains(names, name) {
		return ""
	}
	return fmt.Sprintf("this build of the collector cannot discover targets with %s, only with %s; "+
		"builder-config.full.yaml builds one that has all of Prometheus' mechanisms, "+
		"and a manifest that imports receiver/pprofscrapereceiver/kubernetessd one that has kubernetes",
		name, strings.Join(names, ", "))
}

// decode reads raw as Prometheus reads its configuration: unknown keys are
// errors, and each type's own rules apply.
func decode(raw, into any) error {
	text, err := yaml.Marshal(raw)
	if err != nil {
		return err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	return withoutLines(decoder.Decode(into))
}

// withoutLines takes the line numbers out of an error of the YAML decoder: they
// are those of a text that was made on the way.
func withoutLines(err error) error {
	var typed *yaml.TypeError
	if !errors.As(err, &typed) {
		return err
	}
	var errs []error
	for _, text := range typed.Errors {
		if _, rest, found := strings.Cut(text, ": "); found && strings.HasPrefix(text, "line ") {
			text = rest
		}
		// The type is one that Prometheus makes while it runs, pages long.
		text, _, _ = strings.Cut(text, " in type struct {")
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}

// checkRefresh refuses what Prometheus would panic of: a ticker needs a positive
// interval.
func checkRefresh(sources Sources) error {
	for _, source := range sources {
		fields := reflect.Indirect(reflect.ValueOf(source))
		if fields.Kind() != reflect.Struct {
			continue
		}
		interval, has := fields.FieldByName("RefreshInterval"), false
		if interval.IsValid() {
			_, has = interval.Interface().(model.Duration)
		}
		if has && interval.Int() <= 0 {
			return errors.New("refresh_interval: must be positive; give one such as 60s, or leave it out")
		}
	}
	return nil
}

// mergeStatic makes one source of all static ones, whose groups it numbers: the
// manager tells groups of a source apart by that name.
func mergeStatic(sources Sources) Sources {
	var merged Sources
	var static discovery.StaticConfig
	for _, source := range sources {
		if groups, isStatic := source.(discovery.StaticConfig); isStatic {
			static = append(static, groups...)
			continue
		}
		merged = append(merged, source)
	}
	for i, group := range static {
		group.Source = strconv.Itoa(i)
	}
	if len(static) > 0 {
		merged = append(merged, static)
	}
	return merged
}
