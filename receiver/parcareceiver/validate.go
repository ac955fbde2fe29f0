// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"errors"
	"fmt"
	"slices"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

// Validate reports every mistake at once, each with the path of its key and what
// to write instead.
func (cfg *Config) Validate() error {
	errs := cfg.validateTimes()
	if cfg.Client.Endpoint == "" {
		errs = append(errs, errors.New("endpoint: missing; give the address of Parca's gRPC service, such as localhost:7070"))
	}
	if len(cfg.Queries) == 0 && !cfg.Discover.Enabled {
		errs = append(errs, errors.New("queries: nothing to query; give queries, or enable discover"))
	}
	names := map[string]int{}
	for i, q := range cfg.Queries {
		key := fmt.Sprintf("queries::%d", i)
		errs = append(errs, q.validate(key)...)
		if other, twice := names[q.Name]; twice && q.Name != "" {
			errs = append(errs, fmt.Errorf("%s::name: is that of queries::%d too; give each query a name of its own", key, other))
		}
		names[q.Name] = i
	}
	return errors.Join(append(errs, cfg.Discover.validate()...)...)
}

func (cfg *Config) validateTimes() []error {
	var errs []error
	if cfg.Delay < 0 {
		errs = append(errs, errors.New("delay: must not be negative: there are no profiles of the future"))
	}
	if cfg.MaxWindow < minWindow {
		errs = append(errs, fmt.Errorf("max_window: must be at least %s", minWindow))
	}
	// A poll may come a little late, and must not find its window out of reach.
	if least := cfg.Delay + 2*cfg.Controller.CollectionInterval; cfg.MaxLookback < least {
		errs = append(errs, fmt.Errorf("max_lookback: %s does not reach over delay and two collection intervals; give at least %s",
			cfg.MaxLookback, least))
	}
	return errs
}

func (q *QueryConfig) validate(key string) []error {
	var errs []error
	if q.Name == "" {
		errs = append(errs, fmt.Errorf("%s::name: missing; give a name, it becomes the attribute parca.query.name", key))
	}
	if _, err := parcaapi.ParseQuery(q.Query); err != nil {
		errs = append(errs, fmt.Errorf("%s::query: %w", key, err))
	}
	return append(errs, validateGroupBy(key, q.GroupBy)...)
}

func (d *DiscoverConfig) validate() []error {
	if !d.Enabled {
		return nil
	}
	var errs []error
	if d.Interval <= 0 {
		errs = append(errs, errors.New("discover::interval: must be positive"))
	}
	if _, err := parcaapi.ParseSelector(d.Selector); err != nil {
		errs = append(errs, fmt.Errorf("discover::selector: %w", err))
	}
	for i, prefix := range d.Types {
		if prefix == "" {
			errs = append(errs, fmt.Errorf("discover::types::%d: empty; give a profile type, or how it begins, such as process_cpu", i))
		}
	}
	return append(errs, validateGroupBy("discover", d.GroupBy)...)
}

func validateGroupBy(key string, labels []string) []error {
	var errs []error
	for i, label := range labels {
		if !parcaapi.IsLabelName(label) {
			errs = append(errs, fmt.Errorf("%s::group_by::%d: %q is no label; give the label's name alone, such as job", key, i, label))
		}
		if slices.Contains(labels[:i], label) {
			errs = append(errs, fmt.Errorf("%s::group_by::%d: %s is there twice", key, i, label))
		}
	}
	return errs
}
