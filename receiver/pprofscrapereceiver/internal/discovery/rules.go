// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"errors"
	"fmt"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/relabel"
)

// Rules are relabel_configs, applied in order.
type Rules []*relabel.Config

// ParseRules reads relabel_configs as Prometheus does. Label names may have any
// character, so that a rule can write k8s.pod.name. Each mistake is an error that
// begins with its place below the job, such as relabel_configs::0.
func ParseRules(raw []any) (Rules, []error) {
	var rules Rules
	var errs []error
	for i, entry := range raw {
		var rule *relabel.Config
		err := decode(entry, &rule)
		if err == nil && rule == nil {
			err = errors.New("empty; give source_labels, action and so on, or remove it")
		}
		if err == nil {
			err = rule.Validate(model.UTF8Validation)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("relabel_configs::%d: %w", i, err))
			continue
		}
		rules = append(rules, rule)
	}
	return rules, errs
}
