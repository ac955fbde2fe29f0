// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
)

// Census counts the samples that come by what their profiles say they measure.
// It is bounded, whatever the profiles say, and safe for concurrent use.
type Census struct {
	mu     sync.Mutex
	kinds  map[kind]*Counted
	told   [fates]int // kinds by fate
	others int64
}

// Fate is what becomes of the profiles of a kind.
type Fate uint8

const (
	// Taken profiles feed streams.
	Taken Fate = iota
	// Duplicate profiles count samples whose CPU time came beside them.
	Duplicate
	// Ignored profiles are of no enabled measure.
	Ignored
	fates
)

// kind tells profiles apart. Their period does not, apart from its type.
type kind struct {
	sampleType, unit       string
	periodType, periodUnit string
	fate                   Fate
}

// Counted are the samples of all profiles of a kind.
type Counted struct {
	// Profile is what the latest of them says.
	Profile measure.Profile
	// Streams are those that they feed.
	Streams []int
	Samples int64
}

const (
	// mostKinds bounds how many kinds of each fate are told apart.
	mostKinds = 100
	// longestName bounds, in bytes, the names that are kept.
	longestName = 200
)

// Watch makes the aggregator count into a census, which costs a look-up for
// each profile. It comes before the first Add.
func (a *Aggregator) Watch() *Census {
	a.census = &Census{kinds: make(map[kind]*Counted)}
	return a.census
}

// noteTaken counts a profile that feeds streams.
func (b *batch) noteTaken(profile pprofile.Profile, targets []measure.Target) {
	if b.census != nil {
		b.census.add(b.describe(profile), Taken, targets, profile.Samples().Len())
	}
}

// noteIgnored counts a profile that feeds none.
func (b *batch) noteIgnored(profile pprofile.Profile) {
	if b.census == nil {
		return
	}
	described, fate := b.describe(profile), Ignored
	var scratch [4]measure.Target
	if len(b.measures.Resolve(scratch[:0], described)) > 0 {
		fate = Duplicate // by itself it would have been taken
	}
	b.census.add(described, fate, nil, profile.Samples().Len())
}

func (c *Census) add(profile measure.Profile, fate Fate, targets []measure.Target, samples int) {
	key := kind{profile.Type, profile.Unit, profile.PeriodType, profile.PeriodUnit, fate}
	c.mu.Lock()
	defer c.mu.Unlock()
	counted := c.kinds[key]
	if counted == nil {
		if !c.hasRoom(key) {
			c.others += int64(samples)
			return
		}
		key = key.clone()
		counted = &Counted{Streams: streamsOf(targets)}
		counted.Profile = measure.Profile{Type: key.sampleType, Unit: key.unit, PeriodType: key.periodType, PeriodUnit: key.periodUnit}
		c.kinds[key] = counted
		c.told[key.fate]++
	}
	counted.Profile.Period = profile.Period
	counted.Samples += int64(samples)
}

func (c *Census) hasRoom(key kind) bool {
	for _, name := range []string{key.sampleType, key.unit, key.periodType, key.periodUnit} {
		if len(name) > longestName {
			return false
		}
	}
	return c.told[key.fate] < mostKinds
}

// clone lets go of the message that the names came in.
func (k kind) clone() kind {
	return kind{
		sampleType: strings.Clone(k.sampleType), unit: strings.Clone(k.unit),
		periodType: strings.Clone(k.periodType), periodUnit: strings.Clone(k.periodUnit),
		fate: k.fate,
	}
}

func streamsOf(targets []measure.Target) []int {
	streams := make([]int, 0, len(targets))
	for _, target := range targets {
		streams = append(streams, target.Stream)
	}
	return streams
}

// Kinds returns what was counted, by fate, the most samples first; others are
// the samples of profiles beyond the limits.
func (c *Census) Kinds() (kinds [fates][]Counted, others int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, counted := range c.kinds {
		kinds[key.fate] = append(kinds[key.fate], *counted)
	}
	for _, list := range kinds {
		slices.SortFunc(list, func(a, b Counted) int {
			return cmp.Or(cmp.Compare(b.Samples, a.Samples), a.Profile.Compare(b.Profile))
		})
	}
	return kinds, c.others
}
