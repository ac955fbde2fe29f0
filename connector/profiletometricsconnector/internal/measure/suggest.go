// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package measure // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"

import (
	"fmt"
	"strings"
)

// Suggest returns an entry that takes profiles like one that nothing takes, and
// whose metric has no name that is taken. It returns false where no entry can:
// a sample type without a name cannot be asked for.
func Suggest(profile Profile, taken func(name string) bool) (SampleType, bool) {
	if profile.Type == "" {
		return SampleType{}, false
	}
	entry := SampleType{
		Type:     profile.Type,
		Unit:     profile.Unit,
		Snapshot: isState(strings.ToLower(profile.Type)),
	}
	switch unit := ParseUnit(profile.Unit); unit.Dimension {
	case Time:
		entry.MetricUnit = "s"
	case Bytes:
		entry.MetricUnit = "By"
	default:
	}
	entry.Name = free(metricName(profile), taken)
	if !entry.Takes(profile) {
		entry.Unit = "" // one whose case cannot be folded
	}
	return entry, entry.Takes(profile)
}

// Takes says whether an entry asks for profiles like this one.
func (e SampleType) Takes(profile Profile) bool {
	return len(NewTable(BuiltIn{}, BuiltIn{}, BuiltIn{}, []SampleType{e}).Resolve(nil, profile)) > 0
}

// BuiltInName names the built-in measure that a profile is: cpu, memory or
// memory_usage, as the configuration has it. It returns "" for none.
func BuiltInName(profile Profile) string {
	measure, _, ok := recognize(profile)
	if !ok {
		return ""
	}
	return [builtIns]string{"cpu", "memory", "memory_usage"}[measure]
}

// isState guesses from the name of a sample type, in lower case, whether it
// describes a moment: what is there, and not what happened.
func isState(name string) bool {
	for _, part := range []string{"goroutine", "thread", "inuse", "in_use", "live", "heap"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return name == "objects" || name == "space" // of Node.js' heap profiles
}

// metricName makes a name of letters, digits and underscores: that of the
// sample type, or for want of letters one that says what it is.
func metricName(profile Profile) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '_'
		}
	}, profile.Type)
	name = strings.Trim(name, "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = strings.TrimRight("sample_type_"+name, "_")
	}
	return name
}

// free appends a number to a name until it is not taken.
func free(name string, taken func(string) bool) string {
	numbered := name
	for i := 2; taken(numbered); i++ {
		numbered = fmt.Sprintf("%s_%d", name, i)
	}
	return numbered
}
