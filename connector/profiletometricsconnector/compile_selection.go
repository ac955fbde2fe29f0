// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector"

import (
	"fmt"
	"slices"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/selection"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"
)

func (c *compiler) selection() *selection.Selection {
	c.checkAttributeKeys()
	c.checkInstance()
	compiled := &selection.Selection{
		Process:    c.filter("process_filter", c.config.ProcessFilter),
		Thread:     c.filter("thread_filter", c.config.ThreadFilter),
		Pattern:    c.filter("pattern_filter", c.config.PatternFilter),
		Functions:  c.functions(),
		Dimensions: c.dimensions(),
		Extractors: c.extractors(),
		Resource:   c.resourceAttributes(),
	}
	compiled.Compile()
	return compiled
}

func (c *compiler) filter(path string, config FilterConfig) *selection.Filter {
	if !config.Enabled {
		return nil
	}
	filter, err := selection.NewFilter(path, config.Pattern, config.Patterns, config.ExcludePatterns)
	c.join(err)
	return filter
}

// join takes an error that names its key itself.
func (c *compiler) join(err error) {
	if err != nil {
		c.errs = append(c.errs, err)
	}
}

func (c *compiler) functions() *selection.Functions {
	function := c.config.Metrics.Function
	functions, err := selection.NewFunctions("metrics.function", matchers(function.Include), matchers(function.Exclude))
	c.join(err)
	return functions
}

func matchers(configs []MatcherConfig) []selection.Matcher {
	var compiled []selection.Matcher
	for _, config := range configs {
		compiled = append(compiled, selection.Matcher{
			Contains: config.Contains,
			Equals:   config.Equals,
			Regex:    config.Regex,
			When:     config.When,
		})
	}
	return compiled
}

// dimensions are those that are looked up. The file of a function is not: it
// belongs to the function.
func (c *compiler) dimensions() []string {
	return slices.DeleteFunc(slices.Clone(c.config.Dimensions), func(key string) bool {
		return key == series.FileAttribute
	})
}

// checkAttributeKeys makes sure that no two sources set one attribute.
func (c *compiler) checkAttributeKeys() {
	owners := map[string]string{
		series.FunctionAttribute: "the function metrics",
		series.OverflowAttribute: "the overflow series",
	}
	claim := func(path, key string) {
		if key == "" {
			c.fail(path, "is empty; name an attribute")
			return
		}
		if owner, taken := owners[key]; taken {
			c.fail(path, "the attribute %q is set by %s already; remove one, or choose another key", key, owner)
			return
		}
		owners[key] = path
	}
	if key := c.config.CollectorInstanceAttribute; key != "" {
		claim(instancePath, key)
	}
	for i, key := range c.config.Dimensions {
		claim(fmt.Sprintf("dimensions[%d]", i), key)
	}
	for i, attribute := range c.config.Attributes {
		claim(fmt.Sprintf("attributes[%d].key", i), attribute.Key)
	}
}

func (c *compiler) extractors() []*selection.Extractor {
	var compiled []*selection.Extractor
	for i, config := range c.config.Attributes {
		path := fmt.Sprintf("attributes[%d]", i)
		switch c.oneOf(path+".type", config.Type, attributeLiteral, attributeRegex) {
		case attributeLiteral:
			c.checkLiteral(path, config)
			compiled = append(compiled, selection.NewLiteral(config.Key, config.Value))
		case attributeRegex:
			extractor, err := selection.NewRegex(path, config.Key, config.Value, config.From, config.Default)
			c.join(err)
			compiled = append(compiled, extractor)
		}
	}
	return compiled
}

// checkLiteral rejects what only a regex uses: a key without effect is a
// mistake.
func (c *compiler) checkLiteral(path string, config AttributeConfig) {
	if config.Value == "" {
		c.fail(path+".value", "is missing; write the attribute's value")
	}
	if len(config.From) > 0 {
		c.fail(path+".from", "has no effect on a literal; remove it, or set %s.type to regex", path)
	}
	if config.Default != nil {
		c.fail(path+".default", "has no effect on a literal; remove it, or set %s.type to regex", path)
	}
}

func (c *compiler) resourceAttributes() selection.ResourceAttributes {
	config := c.config.ResourceAttributes
	for name, keys := range map[string][]string{"include": config.Include, "exclude": config.Exclude} {
		for i, key := range keys {
			if key == "" {
				c.fail(fmt.Sprintf("resource_attributes.%s[%d]", name, i), "is empty; name a resource attribute")
			}
		}
	}
	for i, key := range config.Exclude {
		if slices.Contains(config.Include, key) {
			c.fail(fmt.Sprintf("resource_attributes.exclude[%d]", i), "%q is both included and excluded; remove it from one list", key)
		}
	}
	if instance := c.config.CollectorInstanceAttribute; instance != "" {
		// The collector's own value takes the place of the input's.
		config.Exclude = append(slices.Clone(config.Exclude), instance)
	}
	return selection.ResourceAttributes{Include: config.Include, Exclude: config.Exclude}
}
