// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofotlp

import (
	"slices"

	"github.com/google/pprof/profile"
)

// identity says which samples are the same: profiles.proto, Sample: the tuple
// of stack, set of attributes, and link, of which pprof has none.
type identity struct {
	stack, attributes int32
}

// weight is what all samples of one identity measured together.
type weight struct {
	identity
	values []int64         // one per sample type
	sample *profile.Sample // the first of them
}

// weigh interns the samples of a profile and adds up those of equal identity.
//
// A sample whose values are all zero is left out, and with it what only it
// refers to: zero adds nothing to any flat or cumulative weight, and pprof's own
// reports skip it. (The heap profiles of Go are full of them.)
func weigh(p *profile.Profile, in *interner) []weight {
	weights := make([]weight, 0, len(p.Sample))
	position := make(map[identity]int, len(p.Sample))
	for _, s := range p.Sample {
		if isZero(s.Value) {
			continue
		}
		id := identity{stack: in.stack(s.Location), attributes: in.labelSet(s)}
		at, seen := position[id]
		if seen && addTo(&weights[at], s) {
			continue
		}
		position[id] = len(weights)
		weights = append(weights, weight{identity: id, values: s.Value, sample: s})
	}
	return weights
}

func isZero(values []int64) bool {
	for _, v := range values {
		if v != 0 {
			return false
		}
	}
	return true
}

// addTo adds the values of a sample, unless a sum would overflow: then nothing
// is added, the sample stays on its own, and no value is lost.
func addTo(w *weight, s *profile.Sample) bool {
	sums := slices.Clone(w.values)
	for i, v := range s.Value {
		sum := sums[i] + v
		if v > 0 && sum < sums[i] || v < 0 && sum > sums[i] {
			return false
		}
		sums[i] = sum
	}
	w.values = sums // a copy: the values of the first sample belong to the caller's profile
	return true
}
