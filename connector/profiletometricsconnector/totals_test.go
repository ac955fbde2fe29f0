// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"fmt"
	"math"
	"strings"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// totalsOf adds up the samples of a message in the plainest way, by metric: CPU
// time in nanoseconds, memory in bytes. It knows the units that the tests'
// messages have.
func totalsOf(profiles pprofile.Profiles) map[string]float64 {
	totals := map[string]float64{"cpu_time": 0, "memory_allocation": 0, "memory_usage": 0}
	newest := map[string]snapshotTotal{}
	for _, resource := range profiles.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			hasTime := false
			for _, profile := range scope.Profiles().All() {
				hasTime = hasTime || measuredBy(profiles.Dictionary(), profile).isTime
			}
			for _, profile := range scope.Profiles().All() {
				by := measuredBy(profiles.Dictionary(), profile)
				switch {
				case by.metric == "" || by.isCount && hasTime:
				case by.metric == "memory_usage":
					source := fmt.Sprint(resource.Resource().Attributes().AsRaw(),
						scope.Scope().Name(), scope.Scope().Version(), scope.Scope().Attributes().AsRaw())
					newest[source] = newest[source].and(profile, by.factor)
				default:
					totals[by.metric] += weightOf(profile) * by.factor
				}
			}
		}
	}
	for _, snapshot := range newest {
		totals["memory_usage"] += snapshot.weight
	}
	return totals
}

// snapshotTotal is what the newest profiles of a source add up to.
type snapshotTotal struct {
	time   uint64
	weight float64
}

func (s snapshotTotal) and(profile pprofile.Profile, factor float64) snapshotTotal {
	time := uint64(profile.Time())
	if time == 0 {
		time = math.MaxUint64 // now
	}
	switch {
	case time < s.time:
		return s
	case time > s.time:
		s = snapshotTotal{time: time}
	}
	s.weight += weightOf(profile) * factor
	return s
}

func weightOf(profile pprofile.Profile) float64 {
	weight := 0.0
	for _, sample := range profile.Samples().All() {
		for _, value := range sample.Values().All() {
			weight += float64(value)
		}
		if sample.Values().Len() == 0 {
			weight += float64(sample.TimestampsUnixNano().Len())
		}
	}
	return weight
}

// recognized is how a profile counts.
type recognized struct {
	metric string // empty for none
	factor float64
	// isTime is CPU time, and isCount a count of samples of CPU time.
	isTime, isCount bool
}

var (
	timeUnits = map[string]float64{
		"ns": 1, "nanoseconds": 1, "us": 1e3, "microseconds": 1e3,
		"ms": 1e6, "milliseconds": 1e6, "s": 1e9, "seconds": 1e9,
	}
	byteUnits = map[string]float64{"b": 1, "by": 1, "byte": 1, "bytes": 1, "kilobytes": 1 << 10, "kb": 1 << 10, "kiby": 1 << 10, "miby": 1 << 20}
)

func measuredBy(dict pprofile.ProfilesDictionary, profile pprofile.Profile) recognized {
	text := func(index int32) string {
		if index < 0 || int(index) >= dict.StringTable().Len() {
			return ""
		}
		return strings.ToLower(dict.StringTable().At(int(index)))
	}
	unit := text(profile.SampleType().UnitStrindex())
	switch sampleType := text(profile.SampleType().TypeStrindex()); sampleType {
	case "cpu", "process_cpu", "on_cpu", "itimer", "samples", "sample":
		isCPU := map[string]bool{"cpu": true, "process_cpu": true, "on_cpu": true, "itimer": true}
		if factor := timeUnits[unit]; factor > 0 && isCPU[sampleType] {
			return recognized{metric: "cpu_time", factor: factor, isTime: true}
		}
		isCounted := sampleType == "cpu" || !isCPU[sampleType]
		factor := timeUnits[text(profile.PeriodType().UnitStrindex())] * float64(profile.Period())
		if isCounted && unit == "count" && factor > 0 && isCPU[text(profile.PeriodType().TypeStrindex())] {
			return recognized{metric: "cpu_time", factor: factor, isCount: true}
		}
	case "alloc_space", "allocated_space", "alloc_in_new_tlab_bytes", "alloc_outside_tlab_bytes", "allocated_bytes":
		if factor := byteUnits[unit]; factor > 0 {
			return recognized{metric: "memory_allocation", factor: factor}
		}
	case "inuse_space", "live", "heap_live_size", "inuse_bytes":
		if factor := byteUnits[unit]; factor > 0 {
			return recognized{metric: "memory_usage", factor: factor}
		}
	}
	return recognized{}
}
