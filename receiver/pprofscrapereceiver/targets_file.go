// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"go.opentelemetry.io/collector/confmap"
	"go.uber.org/zap"

	"github.com/profiletometrics/profiletometrics/receiver/pprofscrapereceiver/internal/discovery"
)

// targetsFile is a file with a list of targets, in YAML or JSON: the same blocks
// as under targets, or groups of addresses and labels, as in Prometheus.
type targetsFile struct {
	path    string
	config  *Config
	logger  *zap.Logger
	content []byte // of the last read, good or bad
	failing string // the error that was logged last, empty if the file is good
}

// newTargetsFile returns nil if there is none.
func newTargetsFile(shared *shared) *targetsFile {
	if shared.config.TargetsFile == "" {
		return nil
	}
	return &targetsFile{
		path:   shared.config.TargetsFile,
		config: shared.config,
		logger: shared.settings.Logger.With(zap.String("targets_file", shared.config.TargetsFile)),
	}
}

// read returns the targets in the file, and whether it has changed since the
// last read. It compares the content, since neither time nor size tell apart two
// quick writes, or the links that a mounted ConfigMap is made of.
func (f *targetsFile) read() (targets []TargetConfig, changed bool, err error) {
	content, err := os.ReadFile(f.path)
	if err != nil {
		f.content = nil
		return nil, true, f.wrap(err)
	}
	if f.content != nil && bytes.Equal(content, f.content) {
		return nil, false, nil
	}
	f.content = content
	targets, err = f.parse(content)
	if err != nil {
		return nil, true, f.wrap(err)
	}
	return targets, true, nil
}

func (f *targetsFile) parse(content []byte) ([]TargetConfig, error) {
	retrieved, err := confmap.NewRetrievedFromYAML(content)
	if err != nil {
		return nil, err
	}
	raw, err := retrieved.AsRaw()
	if err != nil {
		return nil, err
	}
	list, isList := raw.([]any)
	if !isList && raw != nil {
		return nil, fmt.Errorf("expected a list of targets, such as \"- endpoint: http://localhost:6060\", got %T", raw)
	}
	if areGroups(list) {
		return f.parseGroups(list)
	}
	return f.parseTargets(list)
}

// areGroups tells the files of Prometheus' file_sd_configs from lists of targets.
func areGroups(list []any) bool {
	return slices.ContainsFunc(list, func(entry any) bool {
		fields, _ := entry.(map[string]any)
		_, is := fields["targets"]
		return is
	})
}

func (f *targetsFile) parseTargets(list []any) ([]TargetConfig, error) {
	var parsed struct {
		Targets []TargetConfig `mapstructure:"targets"`
	}
	conf := confmap.NewFromStringMap(map[string]any{"targets": list})
	if err := conf.Unmarshal(&parsed); err != nil {
		return nil, err
	}
	errs := f.config.validateTargets(parsed.Targets, f.config.Targets)
	errs = append(errs, confmap.Validate(&parsed))
	return parsed.Targets, errors.Join(errs...)
}

// parseGroups makes targets with all defaults of groups of addresses and labels.
func (f *targetsFile) parseGroups(list []any) ([]TargetConfig, error) {
	groups, errs := discovery.ParseGroups(list)
	job, err := newJob("", defaultScheme, newDefaultTargetConfig(), nil)
	if err != nil {
		return nil, err
	}
	found, outcome := job.find(groups, f.config.CollectionInterval)
	errs = append(errs, outcome.Invalid...)
	taken := claimsOf(f.config.Targets)
	var targets []TargetConfig
	for _, t := range found {
		if claimed, left := taken.claim(t); left {
			targets = append(targets, claimed)
		}
	}
	return targets, errors.Join(errs...)
}

func (f *targetsFile) wrap(err error) error {
	return fmt.Errorf("targets_file %q: %w", f.path, err)
}

// report logs an error when it is a new one, and when it is over.
func (f *targetsFile) report(err error) {
	switch {
	case err != nil && err.Error() != f.failing:
		f.failing = err.Error()
		f.logger.Error("Cannot use the new targets, the old ones stay; correct the file.", zap.Error(err))
	case err == nil && f.failing != "":
		f.failing = ""
		f.logger.Info("The targets file is good again.")
	}
}

// prepare reads the file at the start, when every mistake in it is an error. It
// is ready for a nil file, which has nothing to do.
func (f *targetsFile) prepare(ctx context.Context, targets *targetSet) (change, error) {
	if f == nil {
		return change{}, nil
	}
	configs, _, err := f.read()
	if err != nil {
		return change{}, err
	}
	c, err := targets.prepare(ctx, sourceFile, configs)
	if err != nil {
		return change{}, f.wrap(err)
	}
	return c, nil
}

// watch looks at the file once per collection interval and replaces the targets
// when it has changed.
func (f *targetsFile) watch(ctx context.Context, targets *targetSet) {
	ticker := time.NewTicker(f.config.CollectionInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		configs, changed, err := f.read()
		if err == nil && changed {
			if err = targets.replace(ctx, sourceFile, configs, 0); err != nil {
				err = f.wrap(err)
				f.content = nil // what was missing may come later: try again
			}
		}
		if changed {
			f.report(err)
		}
	}
}
