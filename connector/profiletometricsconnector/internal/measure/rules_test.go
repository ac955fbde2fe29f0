// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRulesResolve(t *testing.T) {
	bytes := Profile{Type: "alloc_in_new_tlab_bytes", Unit: "bytes"}
	counted := Profile{Type: "samples", Unit: "count", PeriodType: "cpu", PeriodUnit: "nanoseconds", Period: 10}
	tests := []struct {
		name        string
		profileType string
		profile     Profile
		want        bool
		unit        string
		snapshot    bool
		factor      int64
	}{
		{"CPU time is the default", "", Profile{Type: "process_cpu", Unit: "ms"}, true, "s", false, 1_000_000},
		{"CPU time in capitals", "CPU", Profile{Type: "cpu", Unit: "nanoseconds"}, true, "s", false, 1},
		{"CPU time from a count", "cpu", counted, true, "s", false, 10},
		{"a count by its name", "samples", counted, true, "{samples}", false, 1},
		{"one kind of CPU time", "itimer", Profile{Type: "itimer", Unit: "ns"}, true, "s", false, 1},
		{"not another", "itimer", Profile{Type: "cpu", Unit: "ns"}, false, "", false, 0},
		{"off-CPU time is none", "", Profile{Type: "off_cpu", Unit: "ns"}, false, "", false, 0},
		{"allocated bytes under any name", "alloc_space", bytes, true, "By", false, 1},
		{"one kind of allocated bytes", "alloc_in_new_tlab_bytes", bytes, true, "By", false, 1},
		{"not another kind", "alloc_outside_tlab_bytes", bytes, false, "", false, 0},
		{"allocated bytes in another unit", "alloc_space", Profile{Type: "alloc_space", Unit: "kB"}, true, "By", false, 1024},
		{"allocated bytes in no unit of bytes", "alloc_space", Profile{Type: "alloc_space", Unit: "count"}, false, "", false, 0},
		{"allocated objects", "alloc_objects", Profile{Type: "alloc_objects", Unit: "count"}, true, "{alloc_objects}", false, 1},
		{"live bytes", "inuse_space", Profile{Type: "live", Unit: "bytes"}, true, "By", true, 1},
		{"live objects", "inuse_objects", Profile{Type: "inuse_objects", Unit: "count"}, true, "{inuse_objects}", true, 1},
		{"a configured gauge", "Goroutine", Profile{Type: "goroutine", Unit: "count"}, true, "{goroutine}", true, 1},
		{"a configured counter", "delay", Profile{Type: "delay", Unit: "ms"}, true, "s", false, 1_000_000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := NewTable(BuiltIn{}, BuiltIn{}, BuiltIn{}, []SampleType{
				{Type: "goroutine", Name: "goroutines", Snapshot: true},
				{Type: "delay", Unit: "ns", Name: "delay"},
			})
			if tt.profileType != "" {
				assert.True(t, table.NamesType(tt.profileType))
			}
			table.AddRule(Rule{Name: "other", ProfileType: "alloc_objects"})
			table.AddRule(Rule{Name: "rule", ProfileType: tt.profileType})
			var found []Target
			for _, target := range table.Resolve(nil, tt.profile) {
				if target.Rule == 2 {
					found = append(found, target)
				}
			}
			if !tt.want {
				assert.Empty(t, found)
				return
			}
			assert.Len(t, found, 1)
			stream := table.Streams()[found[0].Stream]
			assert.Equal(t, "rule", stream.Name)
			assert.Equal(t, tt.unit, stream.Unit)
			assert.Equal(t, tt.snapshot, stream.Snapshot)
			assert.Equal(t, tt.unit == "s", stream.Double)
			assert.Equal(t, tt.factor, found[0].Factor)
		})
	}
}

func TestRulesComeAfterTheMeasures(t *testing.T) {
	table := NewTable(BuiltIn{Name: "cpu", Unit: "s"}, BuiltIn{}, BuiltIn{}, []SampleType{{Type: "cpu", Name: "more"}})
	table.AddRule(Rule{Name: "a"})
	table.AddRule(Rule{Name: "b", ProfileType: "cpu"})
	var rules []int
	for _, target := range table.Resolve(nil, Profile{Type: "cpu", Unit: "ns"}) {
		assert.True(t, target.CPUTime || target.Rule == 0)
		rules = append(rules, target.Rule)
	}
	assert.Equal(t, []int{0, 0, 1, 2}, rules)
}

func TestNamesThatAreNoProfileType(t *testing.T) {
	table := NewTable(BuiltIn{}, BuiltIn{}, BuiltIn{}, nil)
	for _, name := range []string{"", "app", "goroutine", "off_cpu", "cpus"} {
		assert.False(t, table.NamesType(name), name)
	}
}
