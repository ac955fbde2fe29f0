// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector"

import (
	"time"

	"go.opentelemetry.io/collector/component"
)

// Config is what the user writes. README.md describes every key.
type Config struct {
	Metrics     MetricsConfig      `mapstructure:"metrics"`
	SampleTypes []SampleTypeConfig `mapstructure:"sample_types"`

	// Dimensions are the keys of attributes that are copied from the data to
	// the points.
	Dimensions []string `mapstructure:"dimensions"`
	// Attributes are extracted from the data and put on the points.
	Attributes []AttributeConfig `mapstructure:"attributes"`

	ProcessFilter FilterConfig `mapstructure:"process_filter"`
	ThreadFilter  FilterConfig `mapstructure:"thread_filter"`
	PatternFilter FilterConfig `mapstructure:"pattern_filter"`

	// ExportRules are further metrics, by name, of the samples that an
	// expression and a pattern on stacks choose.
	ExportRules map[string]ExportRuleConfig `mapstructure:"export_rules"`

	// AggregationTemporality of the counters: cumulative or delta.
	AggregationTemporality string `mapstructure:"aggregation_temporality"`
	// MetricsFlushInterval is the time between two flushes; 0 flushes within
	// each ConsumeProfiles call, which only delta temporality allows.
	MetricsFlushInterval time.Duration `mapstructure:"metrics_flush_interval"`
	// MetricsExpiration is how long a series is kept that nothing updates; 0
	// keeps it for ever.
	MetricsExpiration time.Duration `mapstructure:"metrics_expiration"`
	// AggregationCardinalityLimit is how many series there may be over all
	// resources; 0 sets no limit.
	AggregationCardinalityLimit int `mapstructure:"aggregation_cardinality_limit"`

	ResourceAttributes ResourceAttributesConfig `mapstructure:"resource_attributes"`
	// CollectorInstanceAttribute is a resource attribute that every output
	// resource gets, with the collector's own instance id; empty for none.
	CollectorInstanceAttribute string `mapstructure:"collector_instance_attribute"`

	Exemplars ExemplarsConfig `mapstructure:"exemplars"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// MetricsConfig configures the built-in measures and the function metrics.
type MetricsConfig struct {
	CPU         MeasureConfig  `mapstructure:"cpu"`
	Memory      MeasureConfig  `mapstructure:"memory"`
	MemoryUsage MeasureConfig  `mapstructure:"memory_usage"`
	Function    FunctionConfig `mapstructure:"function"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// MeasureConfig configures one built-in measure.
type MeasureConfig struct {
	Enabled     bool   `mapstructure:"enabled"`
	MetricName  string `mapstructure:"metric_name"`
	Description string `mapstructure:"description"`
	// Unit is what values are converted to: s, ms, us or ns for CPU time, By,
	// KiBy or MiBy for memory.
	Unit string `mapstructure:"unit"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// FunctionConfig configures the function metrics of every enabled measure.
type FunctionConfig struct {
	Enabled    bool `mapstructure:"enabled"`
	Flat       bool `mapstructure:"flat"`
	Cumulative bool `mapstructure:"cumulative"`
	// Include and Exclude choose the functions that get series; an empty
	// Include chooses all.
	Include []MatcherConfig `mapstructure:"include"`
	Exclude []MatcherConfig `mapstructure:"exclude"`
	// Limit is how many functions have series of their own, per resource and
	// measure; 0 sets no limit.
	Limit int `mapstructure:"limit"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// MatcherConfig is a condition on a function's name: exactly one of Contains,
// Equals and Regex.
type MatcherConfig struct {
	Contains string `mapstructure:"contains"`
	Equals   string `mapstructure:"equals"`
	Regex    string `mapstructure:"regex"`
	// When restricts the matcher to resources that have all these attribute
	// values.
	When map[string]string `mapstructure:"when"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// SampleTypeConfig asks for a measure beyond the built-in ones.
type SampleTypeConfig struct {
	Type        string `mapstructure:"type"`
	Unit        string `mapstructure:"unit"`
	MetricName  string `mapstructure:"metric_name"`
	MetricUnit  string `mapstructure:"metric_unit"`
	Instrument  string `mapstructure:"instrument"`
	Description string `mapstructure:"description"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// AttributeConfig extracts one attribute.
type AttributeConfig struct {
	Key string `mapstructure:"key"`
	// Value is the attribute's value, or the pattern to look for.
	Value string `mapstructure:"value"`
	// Type is literal (the default) or regex.
	Type string `mapstructure:"type"`
	// From lists where a regex looks: function, file, mapping, attribute.
	From []string `mapstructure:"from"`
	// Default is the value where a regex matches nothing; nil for none.
	Default *string `mapstructure:"default"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// FilterConfig chooses samples by a name.
type FilterConfig struct {
	Enabled         bool     `mapstructure:"enabled"`
	Pattern         string   `mapstructure:"pattern"`
	Patterns        []string `mapstructure:"patterns"`
	ExcludePatterns []string `mapstructure:"exclude_patterns"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// ExportRuleConfig is one export rule.
type ExportRuleConfig struct {
	// Expr chooses samples: [application[.profile type]][{matchers}].
	Expr string `mapstructure:"expr"`
	// Node is total (the default) or a pattern on stacks.
	Node string `mapstructure:"node"`
	// GroupBy lists the attributes of the points.
	GroupBy []string `mapstructure:"group_by"`
	// Labels is the older spelling of GroupBy.
	Labels []string `mapstructure:"labels"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// ResourceAttributesConfig chooses the attributes of input resources that stay
// on the output.
type ResourceAttributesConfig struct {
	// Include lists the keys that stay; empty for all.
	Include []string `mapstructure:"include"`
	// Exclude lists the keys that go.
	Exclude []string `mapstructure:"exclude"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// ExemplarsConfig configures the links from points to traces.
type ExemplarsConfig struct {
	Enabled bool `mapstructure:"enabled"`
	// MaxPerDataPoint is how many exemplars a point has at most.
	MaxPerDataPoint int `mapstructure:"max_per_data_point"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// maxExemplars bounds what a point may carry: exemplars are examples, and each
// costs as much as a point.
const maxExemplars = 100

const (
	temporalityCumulative = "cumulative"
	temporalityDelta      = "delta"

	instrumentCounter = "counter"
	instrumentGauge   = "gauge"

	attributeLiteral = "literal"
	attributeRegex   = "regex"
)

func createDefaultConfig() component.Config {
	return &Config{
		Metrics: MetricsConfig{
			CPU:         MeasureConfig{Enabled: true, MetricName: "cpu_time", Description: "CPU time", Unit: "s"},
			Memory:      MeasureConfig{Enabled: true, MetricName: "memory_allocation", Description: "Bytes allocated", Unit: "By"},
			MemoryUsage: MeasureConfig{Enabled: true, MetricName: "memory_usage", Description: "Bytes of live heap", Unit: "By"},
			Function:    FunctionConfig{Enabled: true, Flat: true, Cumulative: true, Limit: 500},
		},
		Dimensions:                  []string{"process.executable.name"},
		ExportRules:                 map[string]ExportRuleConfig{},
		AggregationTemporality:      temporalityCumulative,
		MetricsFlushInterval:        15 * time.Second,
		MetricsExpiration:           5 * time.Minute,
		AggregationCardinalityLimit: 20000,
		Exemplars:                   ExemplarsConfig{Enabled: true, MaxPerDataPoint: 1},
	}
}

// Validate reports every error of the configuration, each with the path of its
// key.
func (c *Config) Validate() error {
	_, err := c.compile()
	return err
}
