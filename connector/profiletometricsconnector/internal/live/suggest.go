// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package live // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/live"

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
	"github.com/profiletometrics/profiletometrics/internal/livepage"
)

// entry is one of sample_types, as the user writes it.
type entry struct {
	Type       string `yaml:"type"`
	Unit       string `yaml:"unit,omitempty"`
	MetricName string `yaml:"metric_name"`
	MetricUnit string `yaml:"metric_unit,omitempty"`
	Instrument string `yaml:"instrument"`
}

// ignoredTypes are shown with entries that would take them. All entries can be
// used together: their metrics have names of their own, and what one takes gets
// no other.
func (l *Live) ignoredTypes(ignored []aggregate.Counted) []livepage.SampleType {
	var shown []livepage.SampleType
	var suggested []measure.SampleType
	taken := func(name string) bool {
		isName := func(of string) bool { return of == name }
		return slices.ContainsFunc(l.settings.Series.Streams, func(s measure.Stream) bool { return isName(s.Name) }) ||
			slices.ContainsFunc(suggested, func(s measure.SampleType) bool { return isName(s.Name) })
	}
	for _, counted := range ignored {
		kind := sampleType(counted)
		kind.Reason = reason(counted.Profile)
		if i := slices.IndexFunc(suggested, func(s measure.SampleType) bool { return s.Takes(counted.Profile) }); i >= 0 {
			kind.Reason = fmt.Sprintf("the entry for %s takes these too", suggested[i].Name)
		} else if suggestion, ok := measure.Suggest(counted.Profile, taken); ok {
			if kind.Entry = text(suggestion); kind.Entry != "" {
				suggested = append(suggested, suggestion)
			}
		}
		shown = append(shown, kind)
	}
	return shown
}

// reason says why profiles are ignored.
func reason(profile measure.Profile) string {
	switch builtIn := measure.BuiltInName(profile); {
	case builtIn != "":
		return fmt.Sprintf("metrics.%s.enabled is false", builtIn)
	case profile.Type == "":
		return "the sample type has no name, so that nothing can ask for it"
	case !utf8.ValidString(profile.Type + profile.Unit):
		return "the name is not valid UTF-8, so that nothing can ask for it"
	default:
		return "no entry of sample_types asks for it"
	}
}

// text is an entry as an item of a list; empty if YAML cannot express it.
func text(suggestion measure.SampleType) string {
	if !utf8.ValidString(suggestion.Type + suggestion.Unit) {
		return ""
	}
	written := entry{
		Type:       literal(suggestion.Type),
		Unit:       literal(suggestion.Unit),
		MetricName: suggestion.Name,
		MetricUnit: suggestion.MetricUnit,
		Instrument: "counter",
	}
	if suggestion.Snapshot {
		written.Instrument = "gauge"
	}
	out, err := yaml.Marshal([]entry{written})
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// literal keeps the Collector from reading ${…} in a name as a variable.
func literal(text string) string { return strings.ReplaceAll(text, "$", "$$") }
