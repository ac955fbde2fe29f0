// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package measure // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"

import (
	"slices"
	"strings"
)

// Rule asks for the profiles of one type, whether their measure is enabled or
// not.
type Rule struct {
	// Name is the metric's name.
	Name        string
	Description string
	// ProfileType is a name that NamesType knows; empty for CPU time.
	ProfileType string
}

// rule is a compiled Rule.
type rule struct {
	// measure is what the rule is about, in whatever sample type it comes;
	// builtIns for a rule that is about a sample type.
	measure builtIn
	// sampleType is in lower case.
	sampleType string
	// stream is that of a measure.
	stream int
	// streams are those of a sample type, by the dimension of the data, or
	// disabled.
	streams [dimensions]int
}

// The profile types of rules that stand for a measure; every other one is the
// name of a sample type.
var measureTypes = map[string]builtIn{
	"":            cpuTime,
	"cpu":         cpuTime,
	"alloc_space": allocatedBytes,
	"inuse_space": liveBytes,
}

// objectTypes are the sample types that only ever count objects.
var objectTypes = []string{"alloc_objects", "inuse_objects"}

// sampleTypes are the sample types of the built-in measures that do not stand
// for all of their measure.
var sampleTypes = []string{
	"process_cpu", "on_cpu", "itimer", "samples", "sample",
	"allocated_space", "alloc_in_new_tlab_bytes", "alloc_outside_tlab_bytes", "allocated_bytes",
	"live", "heap_live_size", "inuse_bytes",
}

// liveTypes are the sample types that describe a moment, and not what happened
// since the moment before.
var liveTypes = []string{"inuse_space", "inuse_objects", "live", "heap_live_size", "inuse_bytes"}

// NamesType says whether a name is that of a profile type: a known one, or one
// that an entry asks for.
func (t *Table) NamesType(name string) bool {
	name = strings.ToLower(name)
	if name == "" {
		return false
	}
	if _, ok := measureTypes[name]; ok {
		return true
	}
	_, configured := t.byType[name]
	return configured || slices.Contains(objectTypes, name) || slices.Contains(sampleTypes, name)
}

// AddRule adds the streams of the next rule; rules are numbered from 1. Time
// is emitted in seconds, everything else as it is counted.
func (t *Table) AddRule(asked Rule) {
	name := strings.ToLower(asked.ProfileType)
	added := rule{measure: builtIns, sampleType: name, streams: [dimensions]int{disabled, disabled, disabled}}
	if measure, ok := measureTypes[name]; ok {
		added.measure = measure
	}
	for _, dimension := range added.dimensions() {
		added.stream = t.add(Stream{
			Name:        asked.Name,
			Description: asked.Description,
			Snapshot:    t.isLive(name),
		}, ruleUnit(dimension, name))
		added.streams[dimension] = added.stream
	}
	t.rules = append(t.rules, added)
}

// dimensions are those in which the rule's data can come.
func (r *rule) dimensions() []Dimension {
	switch {
	case r.measure == cpuTime:
		return []Dimension{Time}
	case r.measure < builtIns:
		return []Dimension{Bytes}
	case slices.Contains(objectTypes, r.sampleType):
		return []Dimension{Other}
	default:
		return []Dimension{Other, Time, Bytes}
	}
}

// isLive says whether rules on a profile type are gauges.
func (t *Table) isLive(name string) bool {
	if slices.Contains(liveTypes, name) {
		return true
	}
	if _, ok := measureTypes[name]; ok {
		return false
	}
	return slices.ContainsFunc(t.byType[name], func(m matcher) bool { return t.streams[m.stream].Snapshot })
}

func ruleUnit(dimension Dimension, name string) Unit {
	switch dimension {
	case Time:
		return ParseUnit("s")
	case Bytes:
		return ParseUnit("By")
	default:
		return Unit{Dimension: Other, Factor: 1, UCUM: "{" + name + "}"}
	}
}

func (t *Table) resolveRules(targets []Target, profile Profile) []Target {
	measure, recognized, ok := recognize(profile)
	if !ok {
		measure = builtIns
	}
	unit := ParseUnit(profile.Unit)
	for i := range t.rules {
		r := &t.rules[i]
		switch r.measure {
		case builtIns:
			// The name alone decides, and the weights are taken as they are: a
			// rule on "samples" counts samples, also where these are CPU time.
			if stream := r.streams[unit.Dimension]; stream != disabled && strings.EqualFold(r.sampleType, profile.Type) {
				targets = append(targets, Target{Stream: stream, Rule: i + 1, Factor: unit.Factor})
			}
		case measure:
			target := recognized
			target.Stream, target.Rule = r.stream, i+1
			targets = append(targets, target)
		}
	}
	return targets
}
