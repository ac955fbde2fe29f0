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
// reports skip it. (The heap profiles of Go are full of them.) What it returns is
// good until the interner is released.
func weigh(p *profile.Profile, in *interner) []weight {
	in.weights = slices.Grow(in.weights[:0], len(p.Sample))
	for _, s := range p.Sample {
		if isZero(s.Value) {
			continue
		}
		id := identity{stack: in.stack(s.Location), attributes: in.labelSet(s)}
		at := in.weightOf(id)
		if at >= 0 && in.weights[at].add(s) {
			continue
		}
		in.weights = append(in.weights, weight{identity: id, values: s.Value, sample: s})
		if at < 0 {
			in.remember(id)
		}
	}
	return in.weights
}

// weightOf returns the position of the weight of an identity, or -1. Most stacks
// have one set of labels, so that the first weight of a stack is looked at before
// the table.
func (in *interner) weightOf(id identity) int32 {
	if int(id.stack) >= len(in.first) || in.first[id.stack] == 0 {
		return -1
	}
	if first := in.first[id.stack] - 1; in.weights[first].identity == id {
		return first
	}
	equal := func(i int32) bool { return in.weights[in.further[i-1]].identity == id }
	if i := in.positions.find(id.hash(), equal); i != 0 {
		return in.further[i-1]
	}
	return -1
}

// remember notes that the latest weight is that of an identity.
func (in *interner) remember(id identity) {
	if more := int(id.stack) + 1 - len(in.first); more > 0 {
		in.first = append(in.first, make([]int32, more)...)
	}
	if in.first[id.stack] == 0 {
		in.first[id.stack] = int32(len(in.weights))
		return
	}
	in.positions.add(id.hash())
	in.further = append(in.further, int32(len(in.weights)-1))
}

func (id identity) hash() uint64 { return mix(seedOfMix, pair(id.stack, id.attributes)) }

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
