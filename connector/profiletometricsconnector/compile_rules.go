// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector"

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/selection"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"
)

// prometheusName is what Prometheus' data model calls a valid metric name
// where names are not quoted.
var prometheusName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)

// ruleNames are the names of the export rules in a stable order.
func (c *compiler) ruleNames() []string {
	return slices.Sorted(maps.Keys(c.config.ExportRules))
}

func rulePath(name string) string { return "export_rules." + name }

// exportRules compiles the rules and adds their streams to the measures. Both
// number them from 1 in the order in which they are added.
func (c *compiler) exportRules(measures *measure.Table) *selection.Rules {
	if len(c.config.ExportRules) == 0 {
		return nil
	}
	compiled := &selection.Rules{}
	for _, name := range c.ruleNames() {
		path, config := rulePath(name), c.config.ExportRules[name]
		if !prometheusName.MatchString(name) {
			c.fail(path, "%q is not a valid name of a Prometheus metric; use letters, digits, _ and :, the first one not a digit", name)
		}
		expression, err := selection.ParseExpression(config.Expr, measures.NamesType)
		if err != nil {
			c.fail(path+".expr", "%w", err)
		}
		measures.AddRule(measure.Rule{
			Name:        name,
			Description: describeRule(config),
			ProfileType: expression.ProfileType,
		})
		c.join(compiled.Add(path, expression, config.Node, c.groupBy(path, config)))
	}
	return compiled
}

// groupBy returns the attributes of a rule's points.
func (c *compiler) groupBy(path string, config ExportRuleConfig) []string {
	key, attributes := path+".group_by", config.GroupBy
	if len(config.Labels) > 0 {
		if len(config.GroupBy) > 0 {
			c.fail(path+".labels", "is set beside group_by, of which it is the older spelling; keep group_by alone")
			c.checkGroupBy(key, attributes)
		}
		key, attributes = path+".labels", config.Labels
	}
	c.checkGroupBy(key, attributes)
	return attributes
}

func (c *compiler) checkGroupBy(path string, attributes []string) {
	for i, attribute := range attributes {
		path := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case attribute == "":
			c.fail(path, "is empty; name an attribute")
		case attribute == series.OverflowAttribute:
			c.fail(path, "the attribute %q is set by the overflow series; remove it", attribute)
		case c.isInstance(attribute):
			c.fail(path, "the attribute %q is set by %s; remove it", attribute, instancePath)
		case slices.Contains(attributes[:i], attribute):
			c.fail(path, "%q is named twice; remove one", attribute)
		}
	}
}

// describeRule repeats what the user wrote.
func describeRule(config ExportRuleConfig) string {
	description := "Export rule"
	if config.Expr != "" {
		description += " on " + config.Expr
	}
	if config.Node != "" && config.Node != selection.NodeTotal {
		description += ", stacks with " + config.Node
	}
	return description
}
