// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector"

import (
	"fmt"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/selection"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"
)

const (
	instancePath = "collector_instance_attribute"

	// The attributes of the semantic conventions that name a service, and one
	// of the processes that are it. The Collector has them too.
	serviceName       = "service.name"
	serviceInstanceID = "service.instance.id"
)

// checkInstance rejects keys that can't tell collectors apart without spoiling
// something else. That nobody else sets the key is checked with all others.
func (c *compiler) checkInstance() {
	switch key := c.config.CollectorInstanceAttribute; {
	case key != strings.TrimSpace(key):
		c.fail(instancePath, "%q begins or ends with a space; remove it", key)
	case key == serviceName:
		c.fail(instancePath, "%q is the name of what was profiled, which would be lost; choose another key, such as collector.instance.id", key)
	}
}

// isInstance says whether an export rule's attribute is that of the collector,
// under its own name or as Prometheus spells it.
func (c *compiler) isInstance(attribute string) bool {
	key := c.config.CollectorInstanceAttribute
	return key != "" && (attribute == key || selection.Sanitized(attribute) == selection.Sanitized(key))
}

// instance returns the attribute that output resources get, given the resource
// of the collector itself. The Collector makes up an id for itself at each
// start unless the user sets one, or says that there is none.
func (c *Config) instance(collector pcommon.Resource) (series.Attribute, error) {
	if c.CollectorInstanceAttribute == "" {
		return series.Attribute{}, nil
	}
	id, ok := collector.Attributes().Get(serviceInstanceID)
	if !ok || id.AsString() == "" {
		return series.Attribute{}, fmt.Errorf("%s: the collector has no instance id to put into %q; give it a name that no other collector has, for example in service::telemetry::resource::attributes: [{name: %s, value: '${env:HOSTNAME}'}], or remove %s",
			instancePath, c.CollectorInstanceAttribute, serviceInstanceID, instancePath)
	}
	return series.Attribute{Key: c.CollectorInstanceAttribute, Value: id.AsString()}, nil
}
