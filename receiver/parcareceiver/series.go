// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
)

// labels are those of a series, or the grouped ones of them.
type labels map[string]string

// key identifies labels by the values of some names, absent ones being empty.
func (l labels) key(names []string) string {
	var key strings.Builder
	for _, name := range names {
		key.WriteString(strconv.Quote(l[name]))
	}
	return key.String()
}

// canonical identifies labels by their names and values.
func (l labels) canonical() string {
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(l)) {
		key.WriteString(strconv.Quote(name) + strconv.Quote(l[name]))
	}
	return key.String()
}

// only returns the labels of some names, those that are there.
func (l labels) only(names []string) labels {
	kept := make(labels, len(names))
	for _, name := range names {
		if value := l[name]; value != "" {
			kept[name] = value
		}
	}
	return kept
}

// group is what all samples with the same values of some labels measured.
type group struct {
	labels  labels
	profile *profile.Profile
}

// split tells the samples of an answer apart by the labels that it was grouped
// by, in the order in which they first appear, and takes those labels off the
// samples. The profiles share their tables with the answer.
func split(answer *profile.Profile, names []string) []group {
	var groups []group
	position := map[string]int{}
	for _, s := range answer.Sample {
		set := labels{}
		for _, name := range names {
			// Parca gives each grouped label at most one value.
			if values := s.Label[name]; len(values) > 0 && values[0] != "" {
				set[name] = values[0]
			}
			delete(s.Label, name)
		}
		key := set.key(names)
		at, seen := position[key]
		if !seen {
			at = len(groups)
			position[key] = at
			groups = append(groups, group{labels: set, profile: withSamples(answer, nil)})
		}
		p := groups[at].profile
		p.Sample = append(p.Sample, s)
	}
	return groups
}

// withSamples returns a profile with the type and tables of p, and the samples.
// Parca does not set the rest, or sets it to nonsense.
func withSamples(p *profile.Profile, samples []*profile.Sample) *profile.Profile {
	return &profile.Profile{
		SampleType: p.SampleType,
		PeriodType: p.PeriodType,
		Mapping:    p.Mapping,
		Location:   p.Location,
		Function:   p.Function,
		Sample:     samples,
	}
}

// regroup adds up the profiles of series that have the same values of the names.
func regroup(series []group, names []string) ([]group, error) {
	members := map[string][]group{}
	var order []string
	for _, s := range series {
		key := s.labels.key(names)
		if members[key] == nil {
			order = append(order, key)
		}
		members[key] = append(members[key], s)
	}
	groups := make([]group, 0, len(order))
	for _, key := range order {
		sum, err := addUp(members[key])
		if err != nil {
			return nil, err
		}
		groups = append(groups, group{labels: members[key][0].labels.only(names), profile: sum})
	}
	return groups, nil
}

// addUp makes one profile of several: samples of one answer are put together,
// those of different answers, whose tables differ, are merged.
func addUp(members []group) (*profile.Profile, error) {
	var parts []*profile.Profile
	for _, m := range members {
		if at := slices.IndexFunc(parts, func(p *profile.Profile) bool { return sameTables(p, m.profile) }); at >= 0 {
			parts[at].Sample = append(parts[at].Sample, m.profile.Sample...)
			continue
		}
		parts = append(parts, withSamples(m.profile, slices.Clone(m.profile.Sample)))
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return profile.Merge(parts)
}

func sameTables(a, b *profile.Profile) bool {
	return len(a.Location) == len(b.Location) && (len(a.Location) == 0 || a.Location[0] == b.Location[0])
}
