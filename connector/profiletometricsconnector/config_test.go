// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// invalidConfigs are what users get wrong: each error names the key's path and
// says what to do.
var invalidConfigs = []struct {
	name, yaml string
	path, fix  string
}{
	{
		"no metric is enabled",
		"metrics: {cpu: {enabled: false}, memory: {enabled: false}, memory_usage: {enabled: false}}",
		"metrics", "enabled",
	},
	{
		"an enabled measure has no name",
		"metrics: {cpu: {metric_name: ''}}",
		"metrics.cpu.metric_name", "name the metric",
	},
	{
		"CPU time in bytes",
		"metrics: {cpu: {unit: By}}",
		"metrics.cpu.unit", "s, ms, us or ns",
	},
	{
		"CPU time in a unit that nobody knows",
		"metrics: {cpu: {unit: fortnights}}",
		"metrics.cpu.unit", "s, ms, us or ns",
	},
	{
		"CPU time without a unit",
		"metrics: {cpu: {unit: ''}}",
		"metrics.cpu.unit", "s, ms, us or ns",
	},
	{
		"allocated memory in seconds",
		"metrics: {memory: {unit: s}}",
		"metrics.memory.unit", "By, KiBy or MiBy",
	},
	{
		"live memory in a unit that nobody knows",
		"metrics: {memory_usage: {unit: pages}}",
		"metrics.memory_usage.unit", "By, KiBy or MiBy",
	},
	{
		"two measures of one name",
		"metrics: {cpu: {metric_name: m}, memory: {metric_name: m}}",
		"metrics.memory.metric_name", "choose another",
	},
	{
		"a sample type with the name of a measure",
		"sample_types: [{type: goroutine, metric_name: cpu_time}]",
		"sample_types[0].metric_name", "choose another",
	},
	{
		"a sample type with the name of a function metric",
		"sample_types: [{type: goroutine, metric_name: cpu_time.flat}]",
		"sample_types[0].metric_name", "choose another",
	},
	{
		"a measure whose function metric has the name of a sample type",
		"sample_types: [{type: a, metric_name: x.cumulative}, {type: b, metric_name: x}]",
		"sample_types[1].metric_name", "choose another",
	},
	{
		"a sample type without a type",
		"sample_types: [{metric_name: goroutines}]",
		"sample_types[0].type", "name the sample type",
	},
	{
		"a sample type without a metric name",
		"sample_types: [{type: goroutine, metric_name: goroutines}, {type: wall}]",
		"sample_types[1].metric_name", "name the metric",
	},
	{
		"an instrument that does not exist",
		"sample_types: [{type: goroutine, metric_name: goroutines, instrument: histogram}]",
		"sample_types[0].instrument", "counter, gauge",
	},
	{
		"a conversion from time to bytes",
		"sample_types: [{type: delay, unit: nanoseconds, metric_name: delay, metric_unit: By}]",
		"sample_types[0].metric_unit", "use a unit of the same kind",
	},
	{
		"function metrics of neither kind",
		"metrics: {function: {flat: false, cumulative: false}}",
		"metrics.function", "set metrics.function.enabled to false",
	},
	{
		"a negative function limit",
		"metrics: {function: {limit: -1}}",
		"metrics.function.limit", "0 for no limit",
	},
	{
		"a matcher with a bad regular expression",
		"metrics: {function: {include: [{contains: ok}, {regex: 'a('}]}}",
		"metrics.function.include[1].regex", "RE2",
	},
	{
		"a matcher without a condition",
		"metrics: {function: {exclude: [{when: {service.name: api}}]}}",
		"metrics.function.exclude[0]", "contains, equals",
	},
	{
		"a matcher with two conditions",
		"metrics: {function: {include: [{contains: a, equals: b}]}}",
		"metrics.function.include[0]", "one",
	},
	{
		"an attribute without a key",
		"attributes: [{value: backend}]",
		"attributes[0].key", "name an attribute",
	},
	{
		"a literal without a value",
		"attributes: [{key: tier}]",
		"attributes[0].value", "write the attribute's value",
	},
	{
		"a regular expression that does not compile",
		"attributes: [{key: tier, value: backend}, {key: route, value: '[a-', type: regex}]",
		"attributes[1].value", "RE2",
	},
	{
		"a regular expression with a look-ahead, which RE2 has not",
		"attributes: [{key: route, value: 'a(?=b)', type: regex}]",
		"attributes[0].value", "RE2",
	},
	{
		"a regex without a pattern",
		"attributes: [{key: route, type: regex}]",
		"attributes[0].value", "write a regular expression",
	},
	{
		"an attribute type that does not exist",
		"attributes: [{key: route, value: a, type: glob}]",
		"attributes[0].type", "literal, regex",
	},
	{
		"a source that does not exist",
		"attributes: [{key: route, value: a, type: regex, from: [function, line]}]",
		"attributes[0].from[1]", "function, file, mapping",
	},
	{
		"two attributes of one key",
		"attributes: [{key: tier, value: a}, {key: tier, value: b}]",
		"attributes[1].key", "choose another key",
	},
	{
		"an attribute of a dimension's key",
		"dimensions: [thread.name]\nattributes: [{key: thread.name, value: a}]",
		"attributes[0].key", "choose another key",
	},
	{
		"an attribute that the connector sets itself",
		"attributes: [{key: code.function.name, value: a}]",
		"attributes[0].key", "choose another key",
	},
	{
		"a dimension without a name",
		"dimensions: [thread.name, '']",
		"dimensions[1]", "name an attribute",
	},
	{
		"a dimension twice",
		"dimensions: [thread.name, thread.name]",
		"dimensions[1]", "remove one",
	},
	{
		"an enabled process filter without a pattern",
		"process_filter: {enabled: true}",
		"process_filter", "pattern",
	},
	{
		"an enabled thread filter whose patterns are empty",
		"thread_filter: {enabled: true, pattern: '', patterns: []}",
		"thread_filter", "pattern",
	},
	{
		"a filter with a bad pattern",
		"pattern_filter: {enabled: true, pattern: '*service'}",
		"pattern_filter.pattern", "RE2",
	},
	{
		"a filter with a bad pattern in the list",
		"process_filter: {enabled: true, patterns: [ok, '(']}",
		"process_filter.patterns[1]", "RE2",
	},
	{
		"a filter with a bad pattern to exclude",
		"thread_filter: {enabled: true, pattern: ok, exclude_patterns: ['a{2,1}']}",
		"thread_filter.exclude_patterns[0]", "RE2",
	},
	{
		"a rule whose name is no Prometheus name",
		"export_rules: {cpu-seconds: {}}",
		"export_rules.cpu-seconds", "use letters, digits",
	},
	{
		"a rule whose name begins with a digit",
		"export_rules: {2xx_seconds: {}}",
		"export_rules.2xx_seconds", "the first one not a digit",
	},
	{
		"a rule with the name of a measure",
		"export_rules: {cpu_time: {}}",
		"export_rules.cpu_time", "choose another",
	},
	{
		"a rule with the name of a sample type",
		"sample_types: [{type: goroutine, metric_name: goroutines}]\nexport_rules: {goroutines: {expr: app.goroutine}}",
		"export_rules.goroutines", "choose another",
	},
	{
		"a rule with both spellings of group_by",
		"export_rules: {rule: {group_by: [env], labels: [env]}}",
		"export_rules.rule.labels", "keep group_by alone",
	},
	{
		"a rule grouped by nothing",
		"export_rules: {rule: {group_by: [env, '']}}",
		"export_rules.rule.group_by[1]", "name an attribute",
	},
	{
		"a rule grouped by the same twice",
		"export_rules: {rule: {labels: [env, zone, env]}}",
		"export_rules.rule.labels[2]", "remove one",
	},
	{
		"a rule grouped by what the connector sets itself",
		"export_rules: {rule: {group_by: [otel.metric.overflow]}}",
		"export_rules.rule.group_by[0]", "remove it",
	},
	{
		"a rule whose node does not compile",
		"export_rules: {rule: {node: 'a;(b'}}",
		"export_rules.rule.node", "RE2",
	},
	{
		"a rule whose expression has no application",
		"export_rules: {rule: {expr: '.cpu{env=\"prod\"}'}}",
		"export_rules.rule.expr", "write the service's name",
	},
	{
		"a rule whose expression does not close its braces",
		"export_rules: {rule: {expr: 'app.cpu{env=\"prod\"'}}",
		"export_rules.rule.expr", "add a }",
	},
	{
		"a rule whose expression has its type after the braces",
		"export_rules: {rule: {expr: 'app{env=\"prod\"}.cpu'}}",
		"export_rules.rule.expr", "remove it",
	},
	{
		"a rule with a matcher outside of braces",
		"export_rules: {rule: {expr: 'env=\"prod\"'}}",
		"export_rules.rule.expr", "write it as application.type{name",
	},
	{
		"a rule with a matcher without an operator",
		"export_rules: {rule: {expr: '{env}'}}",
		"export_rules.rule.expr", "write one of =, !=, =~ and !~",
	},
	{
		"a rule with a matcher without a name",
		"export_rules: {rule: {expr: '{=\"prod\"}'}}",
		"export_rules.rule.expr", "write name=",
	},
	{
		"a rule with a value that is not quoted",
		"export_rules: {rule: {expr: '{env=prod}'}}",
		"export_rules.rule.expr", "write it as \"value\"",
	},
	{
		"a rule with a value without its second quote",
		"export_rules: {rule: {expr: '{env=\"prod}'}}",
		"export_rules.rule.expr", "no closing \"",
	},
	{
		"a rule with an escape that does not exist",
		"export_rules: {rule: {expr: '{env=\"\\d\"}'}}",
		"export_rules.rule.expr", "write \\\\ for a backslash",
	},
	{
		"a rule with two matchers and no comma",
		"export_rules: {rule: {expr: '{env=\"prod\" zone=\"a\"}'}}",
		"export_rules.rule.expr", "separate matchers by a comma",
	},
	{
		"a rule with a bad pattern in a matcher",
		"export_rules: {rule: {expr: '{env=~\"(\"}'}}",
		"export_rules.rule.expr", "RE2",
	},
	{
		"a rule with a pattern that closes a group too many",
		"export_rules: {rule: {expr: '{env!~\"a)(b\"}'}}",
		"export_rules.rule.expr", "RE2",
	},
	{
		"a temporality that does not exist",
		"aggregation_temporality: AGGREGATION_DELTA",
		"aggregation_temporality", "cumulative, delta",
	},
	{
		"no flush interval with cumulative temporality",
		"metrics_flush_interval: 0s",
		"metrics_flush_interval", "delta",
	},
	{
		"a negative flush interval",
		"metrics_flush_interval: -1s",
		"metrics_flush_interval", "positive duration",
	},
	{
		"a negative expiration",
		"metrics_expiration: -1s",
		"metrics_expiration", "0s for never",
	},
	{
		"a negative cardinality limit",
		"aggregation_cardinality_limit: -1",
		"aggregation_cardinality_limit", "0 for no limit",
	},
	{
		"a resource attribute both kept and dropped",
		"resource_attributes: {include: [service.name, host.name], exclude: [host.name]}",
		"resource_attributes.exclude[0]", "remove it from one list",
	},
	{
		"a resource attribute without a name",
		"resource_attributes: {exclude: ['']}",
		"resource_attributes.exclude[0]", "name a resource attribute",
	},
	{
		"the collector's instance in place of the service's name",
		"collector_instance_attribute: service.name",
		"collector_instance_attribute", "choose another key",
	},
	{
		"the collector's instance in the attribute of the function metrics",
		"collector_instance_attribute: code.function.name",
		"collector_instance_attribute", "choose another key",
	},
	{
		"the collector's instance in an attribute with a space",
		"collector_instance_attribute: 'collector '",
		"collector_instance_attribute", "remove it",
	},
	{
		"a dimension that is the collector's instance",
		"collector_instance_attribute: collector.instance.id\ndimensions: [collector.instance.id]",
		"dimensions[0]", "set by collector_instance_attribute",
	},
	{
		"an extracted attribute that is the collector's instance",
		"collector_instance_attribute: collector\nattributes: [{key: collector, value: a}]",
		"attributes[0].key", "set by collector_instance_attribute",
	},
	{
		"a rule grouped by the collector's instance",
		"collector_instance_attribute: collector.instance.id\nexport_rules: {rule: {group_by: [env, collector.instance.id]}}",
		"export_rules.rule.group_by[1]", "set by collector_instance_attribute",
	},
	{
		"a rule grouped by the collector's instance as Prometheus spells it",
		"collector_instance_attribute: collector.instance.id\nexport_rules: {rule: {labels: [collector_instance_id]}}",
		"export_rules.rule.labels[0]", "set by collector_instance_attribute",
	},
}

func TestInvalidConfigNamesTheKeyAndTheFix(t *testing.T) {
	for _, tt := range invalidConfigs {
		t.Run(tt.name, func(t *testing.T) {
			_, err := loadConfig([]byte(tt.yaml))
			require.Error(t, err)
			assert.Contains(t, withDots(err), tt.path)
			assert.Contains(t, err.Error(), tt.fix)
		})
	}
}

// withDots writes confmap's a::b as a.b.
func withDots(err error) string {
	return strings.ReplaceAll(err.Error(), "::", ".")
}

// TestConfigOfTheWrongFormNamesTheKey is about what fails before validation:
// the message is confmap's, which names the key.
func TestConfigOfTheWrongFormNamesTheKey(t *testing.T) {
	tests := []struct{ name, yaml, path string }{
		{"an unknown key", "metric: {}", "metric"},
		{"an unknown key of a measure", "metrics: {cpu: {enable: true}}", "metrics.cpu"},
		{"an unknown measure", "metrics: {gpu: {enabled: true}}", "gpu"},
		{"an unknown key of a list's entry", "attributes: [{key: a, value: b, kind: regex}]", "attributes[0]"},
		{"an unknown key of a matcher", "metrics: {function: {include: [{prefix: a}]}}", "metrics.function.include[0]"},
		{"an unknown key of a rule", "export_rules: {rule: {query: app}}", "export_rules[rule]"},
		{"a list of rules", "export_rules: [{expr: app}]", "export_rules"},
		{"a duration that is none", "metrics_flush_interval: soon", "metrics_flush_interval"},
		{"a list where there must be a number", "metrics: {function: {limit: [1]}}", "metrics.function.limit"},
		{"text where there must be true or false", "metrics: {cpu: {enabled: perhaps}}", "metrics.cpu.enabled"},
		{"a map where there must be a list", "dimensions: {a: b}", "dimensions"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := loadConfig([]byte(tt.yaml))
			require.Error(t, err)
			assert.Contains(t, withDots(err), tt.path)
		})
	}
}

func TestAllErrorsOfAConfigAreReportedTogether(t *testing.T) {
	_, err := loadConfig([]byte(`
metrics:
  cpu: {unit: By}
  memory: {metric_name: cpu_time}
  function: {limit: -1, include: [{regex: '('}]}
sample_types: [{type: goroutine}]
attributes: [{key: a, value: '(', type: regex}, {value: b}]
dimensions: ['']
process_filter: {enabled: true}
pattern_filter: {enabled: true, pattern: '(', patterns: [')']}
metrics_flush_interval: 0s
metrics_expiration: -1s
aggregation_cardinality_limit: -1
export_rules:
  memory_usage: {expr: 'app{', node: '(', group_by: ['', ''], labels: [a, a]}
  "no name": {}
`))
	require.Error(t, err)
	for _, path := range []string{
		"metrics.cpu.unit", "metrics.memory.metric_name", "metrics.function.limit", "metrics.function.include[0].regex",
		"sample_types[0].metric_name", "attributes[0].value", "attributes[1].key", "dimensions[0]",
		"process_filter", "pattern_filter.pattern", "pattern_filter.patterns[0]",
		"metrics_flush_interval", "metrics_expiration", "aggregation_cardinality_limit",
		"export_rules.memory_usage: ", "export_rules.memory_usage.expr", "export_rules.memory_usage.node",
		"export_rules.memory_usage.group_by[0]", "export_rules.memory_usage.group_by[1]",
		"export_rules.memory_usage.labels: ", "export_rules.memory_usage.labels[1]", "export_rules.no name",
	} {
		assert.Contains(t, withDots(err), path)
	}
}

func TestValidConfigs(t *testing.T) {
	tests := []struct{ name, yaml string }{
		{"nothing at all", "{}"},
		{"every limit off", "metrics: {function: {limit: 0}}\naggregation_cardinality_limit: 0\nmetrics_expiration: 0s"},
		{"no flush interval with delta", "aggregation_temporality: delta\nmetrics_flush_interval: 0s"},
		{"a bad pattern of a filter that is not enabled", "process_filter: {enabled: false, pattern: ''}"},
		{"only sample types", `
metrics: {cpu: {enabled: false}, memory: {enabled: false}, memory_usage: {enabled: false}}
sample_types: [{type: goroutine, unit: count, metric_name: goroutines, metric_unit: "{goroutine}", instrument: gauge}]`},
		{"a disabled measure leaves its name free", "metrics: {cpu: {enabled: false}, memory: {metric_name: cpu_time}}"},
		{"no dimensions", "dimensions: []"},
		{"only a rule", `
metrics: {cpu: {enabled: false}, memory: {enabled: false}, memory_usage: {enabled: false}}
export_rules: {rule: {}}`},
		{"a rule of which nothing is written", "export_rules: {rule: }"},
		{"no rules", "export_rules: "},
		{"a rule with colons in its name", "export_rules: {job:cpu:total: {}}"},
		{"a rule with an attribute's name in full", `export_rules: {rule: {expr: '{k8s.pod/label-app!="a"}'}}`},
		{"an empty default", "attributes: [{key: a, value: b, type: regex, default: ''}]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := loadConfig([]byte(tt.yaml))
			assert.NoError(t, err)
		})
	}
}

// TestDefaultConfigIsWhatTheDocumentationSays compares a config that is written
// out in full with one of which nothing is written.
func TestDefaultConfigIsWhatTheDocumentationSays(t *testing.T) {
	written, err := loadConfig([]byte(`
metrics:
  cpu: {enabled: true, metric_name: cpu_time, unit: s}
  memory: {enabled: true, metric_name: memory_allocation, unit: By}
  memory_usage: {enabled: true, metric_name: memory_usage, unit: By}
  function: {enabled: true, flat: true, cumulative: true, limit: 500}
dimensions: [process.executable.name]
process_filter: {enabled: false, pattern: ""}
thread_filter: {enabled: false, pattern: ""}
pattern_filter: {enabled: false, pattern: ""}
aggregation_temporality: cumulative
metrics_flush_interval: 15s
metrics_expiration: 5m
aggregation_cardinality_limit: 20000
resource_attributes: {}
export_rules: {}
`))
	require.NoError(t, err)
	implied, err := loadConfig([]byte("{}"))
	require.NoError(t, err)
	assert.Equal(t, implied, written)
}

// publishedConfig is written as the documentation of the published
// ProfileToMetrics connector spells it. The golden case published-config shows
// what it does.
const publishedConfig = `
metrics:
  cpu: {enabled: true, metric_name: cpu_time, description: "CPU time in seconds", unit: "s"}
  memory: {enabled: true, metric_name: memory_allocation, description: "Memory allocation in bytes", unit: "bytes"}
  function: {enabled: true}
attributes:
  - {key: service.name, value: my-service, type: literal}
  - {key: version, value: 'v[0-9]+\.[0-9]+', type: regex}
process_filter: {enabled: true, pattern: "my-app.*", patterns: ["my-app.*", "worker-.*"]}
thread_filter: {enabled: true, pattern: "worker-.*"}
pattern_filter: {enabled: true, pattern: "service-.*"}
`

func TestPublishedConfigKeepsItsDescriptions(t *testing.T) {
	profile := func(sampleType testprofile.ValueType) testprofile.Profile {
		return testprofile.Profile{SampleType: sampleType, Samples: []testprofile.Sample{{
			Stack: testprofile.Stack("service-a"), Values: []int64{1},
			Attributes: testprofile.Attributes{"thread.name": "worker-1"},
		}}}
	}
	emitted := convert(t, publishedConfig, testprofile.New(t, testprofile.Resource{
		Attributes: testprofile.Attributes{"process.executable.name": "my-app"},
		Profiles:   []testprofile.Profile{profile("cpu/nanoseconds"), profile("alloc_space/bytes")},
	}))
	require.Len(t, emitted, 1)
	descriptions, units := map[string]string{}, map[string]string{}
	for _, metric := range emitted[0].ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().All() {
		descriptions[metric.Name()], units[metric.Name()] = metric.Description(), metric.Unit()
	}
	assert.Equal(t, "CPU time in seconds", descriptions["cpu_time"])
	assert.Equal(t, "Memory allocation in bytes", descriptions["memory_allocation"])
	assert.Equal(t, "s", units["cpu_time"])
	assert.Equal(t, "By", units["memory_allocation"])
}
