// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package testprofile_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

const everything = `
batches:
  - resources:
      - attributes: {process.executable.name: api, process.pid: 12}
        scopes:
          - name: otel.ebpf
            version: "1.0"
            attributes: {a: true}
            profiles:
              - sample_type: cpu/nanoseconds
                period_type: cpu/nanoseconds
                period: 10000000
                time: 2000-01-01T00:00:01Z
                duration: 10s
                attributes: {p: 1.5}
                samples:
                  - stack: ["leaf@leaf.go:3", "inner|?|outer", "@/usr/lib/libc.so", "?"]
                    values: [10, 20]
                    timestamps: [1, 2]
                    attributes: {thread.name: worker, size: {value: 512, unit: bytes}}
                    link: {trace_id: 0102030405060708090a0b0c0d0e0f10, span_id: 0102030405060708}
                  - stack:
                      - lines: [{name: f, system_name: _Z1fv, file: f.cc, line: 12}, leaf@leaf.go]
                        mapping: /usr/bin/app
                        address: 4096
                        attributes: {k: v}
  - after: 5s
    resources:
      - profiles: [{samples: [{values: [1]}]}]
wait: 30s
`

// everythingInGo is the first batch of everything.
func everythingInGo() testprofile.Batch {
	return testprofile.Batch{Resources: []testprofile.Resource{{
		Attributes: testprofile.Attributes{"process.executable.name": "api", "process.pid": 12},
		Scopes: []testprofile.Scope{{
			Name: "otel.ebpf", Version: "1.0", Attributes: testprofile.Attributes{"a": true},
			Profiles: []testprofile.Profile{{
				SampleType: "cpu/nanoseconds", PeriodType: "cpu/nanoseconds", Period: 10_000_000,
				Time:       time.Date(2000, 1, 1, 0, 0, 1, 0, time.UTC),
				Duration:   10 * time.Second,
				Attributes: testprofile.Attributes{"p": 1.5},
				Samples: []testprofile.Sample{{
					Stack:      testprofile.Stack("leaf@leaf.go:3", "inner|?|outer", "@/usr/lib/libc.so", "?"),
					Values:     []int64{10, 20},
					Timestamps: []uint64{1, 2},
					Attributes: testprofile.Attributes{
						"thread.name": "worker",
						"size":        testprofile.Quantity{Value: 512, Unit: "bytes"},
					},
					Link: testprofile.Link{TraceID: "0102030405060708090a0b0c0d0e0f10", SpanID: "0102030405060708"},
				}, {
					Stack: []testprofile.Location{{
						Lines: []testprofile.Line{
							{Name: "f", SystemName: "_Z1fv", File: "f.cc", Line: 12},
							{Name: "leaf", File: "leaf.go"},
						},
						Mapping: "/usr/bin/app", Address: 4096,
						Attributes: testprofile.Attributes{"k": "v"},
					}},
				}},
			}},
		}},
	}}}
}

func TestNotationAndGoBuildTheSameProfiles(t *testing.T) {
	script, err := testprofile.Parse([]byte(everything))
	require.NoError(t, err)
	require.Len(t, script.Batches, 2)
	assert.Equal(t, 5*time.Second, script.Batches[1].After)
	assert.Equal(t, 30*time.Second, script.Wait)

	fromYAML, err := script.Batches[0].Profiles()
	require.NoError(t, err)
	fromGo := testprofile.New(t, everythingInGo().Resources...)
	assert.Equal(t, asJSON(t, fromGo), asJSON(t, fromYAML))
}

func TestBuiltProfilesHoldWhatIsWritten(t *testing.T) {
	profiles := testprofile.New(t, everythingInGo().Resources...)
	dict := profiles.Dictionary()
	resource := profiles.ResourceProfiles().At(0)
	assert.Equal(t, map[string]any{"process.executable.name": "api", "process.pid": int64(12)},
		resource.Resource().Attributes().AsRaw())
	scope := resource.ScopeProfiles().At(0)
	assert.Equal(t, "otel.ebpf", scope.Scope().Name())

	profile := scope.Profiles().At(0)
	assert.Equal(t, "cpu", stringAt(dict, profile.SampleType().TypeStrindex()))
	assert.Equal(t, "nanoseconds", stringAt(dict, profile.PeriodType().UnitStrindex()))
	assert.Equal(t, pcommon.Timestamp(946684801_000_000_000), profile.Time())
	assert.Equal(t, uint64(10_000_000_000), profile.DurationNano())

	sample := profile.Samples().At(0)
	assert.Equal(t, []int64{10, 20}, sample.Values().AsRaw())
	assert.Equal(t, []uint64{1, 2}, sample.TimestampsUnixNano().AsRaw())
	attributes, err := pprofile.FromAttributeIndices(dict.AttributeTable(), sample, dict)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"thread.name": "worker", "size": int64(512)}, attributes.AsRaw())
	assert.Equal(t, byte(1), dict.LinkTable().At(int(sample.LinkIndex())).TraceID()[0])

	assert.Equal(t, []string{"leaf@leaf.go", "inner", "", "outer"}, functionsOf(dict, sample))
	native := locationAt(dict, sample, 2)
	assert.Zero(t, native.Lines().Len())
	assert.Equal(t, "/usr/lib/libc.so",
		stringAt(dict, dict.MappingTable().At(int(native.MappingIndex())).FilenameStrindex()))
	assert.Zero(t, locationAt(dict, sample, 3).MappingIndex())
}

func TestDictionaryStartsWithZeroAndRepeatsNothing(t *testing.T) {
	dict := testprofile.New(t, everythingInGo().Resources...).Dictionary()
	assert.Empty(t, dict.StringTable().At(0))
	assert.Equal(t, pprofile.NewMapping(), dict.MappingTable().At(0))
	assert.Equal(t, pprofile.NewLocation(), dict.LocationTable().At(0))
	assert.Equal(t, pprofile.NewFunction(), dict.FunctionTable().At(0))
	assert.Equal(t, pprofile.NewLink(), dict.LinkTable().At(0))
	assert.Equal(t, pprofile.NewStack(), dict.StackTable().At(0))
	assert.Zero(t, dict.AttributeTable().At(0).KeyStrindex())

	seen := map[string]bool{}
	for _, s := range dict.StringTable().All() {
		assert.False(t, seen[s], "string %q twice", s)
		seen[s] = true
	}
	// leaf, inner, outer, f and the zero entry: leaf stands in two locations.
	assert.Equal(t, 5, dict.FunctionTable().Len())
}

func TestParseRefusesWhatTheNotationDoesNotHave(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"an unknown key of a sample", "resources: [{profiles: [{samples: [{stak: [a]}]}]}]", "stak"},
		{"an unknown key of a location", "resources: [{profiles: [{samples: [{stack: [{line: a}]}]}]}]", `unknown key "line"`},
		{"an unknown key of a line", "resources: [{profiles: [{samples: [{stack: [{lines: [{fn: a}]}]}]}]}]", `unknown key "fn"`},
		{"a list as a location", "resources: [{profiles: [{samples: [{stack: [[a]]}]}]}]", "want a string or a mapping"},
		{"batches beside resources", "batches: []\nresources: []", "not both"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := testprofile.Parse([]byte(tt.text))
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

func TestProfilesNamesThePositionOfAnError(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{
			"scopes beside profiles",
			"resources: [{scopes: [{}], profiles: [{}]}]", "resources[0]: either scopes or profiles",
		},
		{
			"a trace id that is too short",
			"resources: [{profiles: [{}, {samples: [{link: {trace_id: '01'}}]}]}]",
			"resources[0].scopes[0].profiles[1].samples[0].link",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			script, err := testprofile.Parse([]byte(tt.text))
			require.NoError(t, err)
			_, err = script.Batches[0].Profiles()
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

func asJSON(t *testing.T, profiles pprofile.Profiles) string {
	t.Helper()
	json, err := (&pprofile.JSONMarshaler{}).MarshalProfiles(profiles)
	require.NoError(t, err)
	return string(json)
}

func stringAt(dict pprofile.ProfilesDictionary, i int32) string {
	return dict.StringTable().At(int(i))
}

func locationAt(dict pprofile.ProfilesDictionary, sample pprofile.Sample, i int) pprofile.Location {
	stack := dict.StackTable().At(int(sample.StackIndex()))
	return dict.LocationTable().At(int(stack.LocationIndices().At(i)))
}

// functionsOf lists name@file of every line, leaf first.
func functionsOf(dict pprofile.ProfilesDictionary, sample pprofile.Sample) []string {
	var names []string
	for i := range dict.StackTable().At(int(sample.StackIndex())).LocationIndices().Len() {
		for _, line := range locationAt(dict, sample, i).Lines().All() {
			function := dict.FunctionTable().At(int(line.FunctionIndex()))
			name := stringAt(dict, function.NameStrindex())
			if file := stringAt(dict, function.FilenameStrindex()); file != "" {
				name += "@" + file
			}
			names = append(names, name)
		}
	}
	return names
}

func TestAttributeValuesKeepTheirType(t *testing.T) {
	const text = "resources: [{attributes: {s: text, i: 1, f: 0.5, b: true, list: [1, a], map: {k: {n: 2}}}}]"
	script, err := testprofile.Parse([]byte(text))
	require.NoError(t, err)
	profiles, err := script.Batches[0].Profiles()
	require.NoError(t, err)
	assert.Equal(t, map[string]any{
		"s": "text", "i": int64(1), "f": 0.5, "b": true,
		"list": []any{int64(1), "a"}, "map": map[string]any{"k": map[string]any{"n": int64(2)}},
	}, profiles.ResourceProfiles().At(0).Resource().Attributes().AsRaw())
}
