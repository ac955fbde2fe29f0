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
	summed bool            // the values are those of several
}

// weigh interns the samples of a profile and adds up those of equal identity.
//
// A sample whose values are all zero is left out, and with it what only it
// refers to: zero adds nothing to any flat or cumulative weight, and pprof's own
// reports skip it. (The heap profiles of Go are full of them.)
func weigh(p *profile.Profile, in *interner) []weight {
	weights := make([]weight, 0, len(p.Sample))
	var positions index // of weights, from 1
	positions.reserve(len(p.Sample))
	for _, s := range p.Sample {
		if isZero(s.Value) {
			continue
		}
		id := identity{stack: in.stack(s.Location), attributes: in.labelSet(s)}
		hash := mix(seedOfMix, pair(id.stack, id.attributes))
		at := positions.find(hash, func(i int32) bool { return weights[i-1].identity == id })
		if at != 0 && weights[at-1].add(s) {
			continue
		}
		positions.add(hash)
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

// add adds the values of a sample, unless a sum would overflow: then nothing is
// added, the sample stays on its own, and no value is lost.
func (w *weight) add(s *profile.Sample) bool {
	for i, v := range s.Value {
		sum := w.values[i] + v
		if v > 0 && sum < w.values[i] || v < 0 && sum > w.values[i] {
			return false
		}
	}
	if !w.summed {
		// A copy: the values of the first sample belong to the caller's profile.
		w.values, w.summed = slices.Clone(w.values), true
	}
	for i, v := range s.Value {
		w.values[i] += v
	}
	return true
}
