// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector"

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/selection"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"
)

// definition is the compiled configuration: what runs.
type definition struct {
	measures    *measure.Table
	selection   *selection.Selection
	aggregation aggregate.Options
	series      series.Settings
}

// compiler compiles a configuration and gathers all its errors.
type compiler struct {
	config *Config
	errs   []error
}

func (c *Config) compile() (*definition, error) {
	compiler := &compiler{config: c}
	compiled := &definition{
		measures:  compiler.measures(),
		selection: compiler.selection(),
		aggregation: aggregate.Options{
			TellFilesApart: slices.Contains(c.Dimensions, series.FileAttribute),
			Exemplars:      compiler.exemplars(),
		},
	}
	compiled.selection.Rules = compiler.exportRules(compiled.measures)
	compiled.series = compiler.series(compiled)
	compiler.checkNames()
	return compiled, errors.Join(compiler.errs...)
}

// fail reports an error of a key.
func (c *compiler) fail(path, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s: "+format, append([]any{path}, args...)...))
}

// oneOf checks a value against a list; an empty value stands for the first.
func (c *compiler) oneOf(path, value string, allowed ...string) string {
	if value == "" {
		return allowed[0]
	}
	if !slices.Contains(allowed, value) {
		c.fail(path, "%q is not known; use one of %s", value, strings.Join(allowed, ", "))
	}
	return value
}

func (c *compiler) notNegative(path string, value int) {
	if value < 0 {
		c.fail(path, "is %d; use a positive number, or 0 for no limit", value)
	}
}

func (c *compiler) measures() *measure.Table {
	metrics := &c.config.Metrics
	if !metrics.CPU.Enabled && !metrics.Memory.Enabled && !metrics.MemoryUsage.Enabled && len(c.config.SampleTypes) == 0 && len(c.config.ExportRules) == 0 {
		c.fail("metrics", "no metric is enabled; set metrics.cpu.enabled, metrics.memory.enabled or metrics.memory_usage.enabled to true, or add to sample_types or export_rules")
	}
	return measure.NewTable(
		c.builtIn("metrics.cpu", metrics.CPU, measure.Time, "s, ms, us or ns"),
		c.builtIn("metrics.memory", metrics.Memory, measure.Bytes, "By, KiBy or MiBy"),
		c.builtIn("metrics.memory_usage", metrics.MemoryUsage, measure.Bytes, "By, KiBy or MiBy"),
		c.sampleTypes(),
	)
}

func (c *compiler) builtIn(path string, config MeasureConfig, dimension measure.Dimension, units string) measure.BuiltIn {
	if !config.Enabled {
		return measure.BuiltIn{}
	}
	if config.MetricName == "" {
		c.fail(path+".metric_name", "is empty; name the metric, or set %s.enabled to false", path)
	}
	if measure.ParseUnit(config.Unit).Dimension != dimension {
		c.fail(path+".unit", "%q is no unit to convert to; use %s", config.Unit, units)
	}
	return measure.BuiltIn{Name: config.MetricName, Description: config.Description, Unit: config.Unit}
}

func (c *compiler) sampleTypes() []measure.SampleType {
	var compiled []measure.SampleType
	for i, config := range c.config.SampleTypes {
		path := fmt.Sprintf("sample_types[%d]", i)
		if config.Type == "" {
			c.fail(path+".type", "is missing; name the sample type, as in `type: goroutine`")
		}
		if config.MetricName == "" {
			c.fail(path+".metric_name", "is missing; name the metric")
		}
		instrument := c.oneOf(path+".instrument", config.Instrument, instrumentCounter, instrumentGauge)
		c.checkConversion(path, config)
		compiled = append(compiled, measure.SampleType{
			Type:        config.Type,
			Unit:        config.Unit,
			MetricUnit:  config.MetricUnit,
			Name:        config.MetricName,
			Description: config.Description,
			Snapshot:    instrument == instrumentGauge,
		})
	}
	return compiled
}

// checkConversion rejects an entry that could never match anything.
func (c *compiler) checkConversion(path string, config SampleTypeConfig) {
	if config.Unit == "" || config.MetricUnit == "" {
		return
	}
	if measure.ParseUnit(config.Unit).Dimension != measure.ParseUnit(config.MetricUnit).Dimension {
		c.fail(path+".metric_unit", "%q does not convert from unit %q; use a unit of the same kind, or leave metric_unit out", config.MetricUnit, config.Unit)
	}
}

// checkNames rejects metrics that share a name, be it as a measure's total or
// as one of its function metrics.
func (c *compiler) checkNames() {
	owners := make(map[string]string)
	claim := func(path, name string) {
		if name == "" {
			return
		}
		for _, suffix := range []string{"", ".flat", ".cumulative"} {
			if owner, taken := owners[name+suffix]; taken {
				c.fail(path, "the metric name %q is that of %s already; choose another", name+suffix, owner)
				return
			}
		}
		for _, suffix := range []string{"", ".flat", ".cumulative"} {
			owners[name+suffix] = path
		}
	}
	metrics := &c.config.Metrics
	for _, measure := range []struct {
		path   string
		config MeasureConfig
	}{
		{"metrics.cpu.metric_name", metrics.CPU},
		{"metrics.memory.metric_name", metrics.Memory},
		{"metrics.memory_usage.metric_name", metrics.MemoryUsage},
	} {
		if measure.config.Enabled {
			claim(measure.path, measure.config.MetricName)
		}
	}
	for i, sampleType := range c.config.SampleTypes {
		claim(fmt.Sprintf("sample_types[%d].metric_name", i), sampleType.MetricName)
	}
	for _, name := range c.ruleNames() {
		if owner, taken := owners[name]; taken {
			c.fail(rulePath(name), "the metric name %q is that of %s already; choose another", name, owner)
		}
	}
}

func (c *compiler) series(compiled *definition) series.Settings {
	config := c.config
	function := config.Metrics.Function
	if function.Enabled && !function.Flat && !function.Cumulative {
		c.fail("metrics.function", "neither flat nor cumulative is set; set one, or set metrics.function.enabled to false")
	}
	c.notNegative("metrics.function.limit", function.Limit)
	c.notNegative("aggregation_cardinality_limit", config.AggregationCardinalityLimit)
	temporality := c.oneOf("aggregation_temporality", config.AggregationTemporality, temporalityCumulative, temporalityDelta)
	c.checkTimes(temporality)
	return series.Settings{
		Streams:       compiled.measures.Streams(),
		Flat:          function.Enabled && function.Flat,
		Cumulative:    function.Enabled && function.Cumulative,
		FileAttribute: compiled.aggregation.TellFilesApart,
		Delta:         temporality == temporalityDelta,
		Expiration:    config.MetricsExpiration,
		FunctionLimit: function.Limit,
		SeriesLimit:   config.AggregationCardinalityLimit,
		MarkVanished:  config.MetricsFlushInterval > 0,
		Exemplars:     compiled.aggregation.Exemplars,
	}
}

// exemplars is how many exemplars a point has at most.
func (c *compiler) exemplars() int {
	config := c.config.Exemplars
	if !config.Enabled {
		return 0
	}
	if config.MaxPerDataPoint < 1 || config.MaxPerDataPoint > maxExemplars {
		c.fail("exemplars.max_per_data_point", "is %d; use a number from 1 to %d, or set exemplars.enabled to false", config.MaxPerDataPoint, maxExemplars)
	}
	return config.MaxPerDataPoint
}

func (c *compiler) checkTimes(temporality string) {
	interval, expiration := c.config.MetricsFlushInterval, c.config.MetricsExpiration
	switch {
	case interval < 0:
		c.fail("metrics_flush_interval", "is %s; use a positive duration such as 15s, or 0s with aggregation_temporality: delta", interval)
	case interval == 0 && temporality == temporalityCumulative:
		c.fail("metrics_flush_interval", "is 0s, which emits each batch on its own; set aggregation_temporality to delta, or use a positive duration such as 15s")
	}
	switch {
	case expiration < 0:
		c.fail("metrics_expiration", "is %s; use a positive duration such as 5m, or 0s for never", expiration)
	case expiration > 0 && expiration < interval:
		c.fail("metrics_expiration", "is %s, less than metrics_flush_interval (%s), so that series would expire before they are emitted; make it longer", expiration, interval)
	}
}
