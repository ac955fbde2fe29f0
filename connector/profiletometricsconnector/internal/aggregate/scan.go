// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"
)

// rawSample is what there is to read of a sample that has no more than a stack
// and a value.
type rawSample struct {
	stack, link        int32
	values, timestamps int32 // how many
	value              int64 // the first
}

// samplesAhead is how many samples are read before any is counted.
const samplesAhead = 1 << 10

// scan is the one pass over the samples of a profile. What they hold comes from
// main memory and decides how to go on, so that each would be waited for; read
// without a decision, many come at the same time.
func (b *batch) scan(samples pprofile.SampleSlice, feedsCounter bool) {
	for first := 0; first < samples.Len(); first += samplesAhead {
		read := b.samples[:min(samplesAhead, samples.Len()-first)]
		readSamples(read, samples, first)
		for i := range read {
			if weight := read[i].weight(); weight >= 0 && b.isPlain(&read[i]) {
				slot := b.slots.slot(0, read[i].stack, first+i)
				slot.weight = measure.Add(slot.weight, weight)
				slot.samples++
				continue
			}
			b.count(samples.At(first+i), first+i, feedsCounter)
		}
	}
}

// readSamples reads samples, from the first on.
func readSamples(read []rawSample, samples pprofile.SampleSlice, first int) {
	for i := range read {
		sample := samples.At(first + i)
		read[i] = rawSample{
			stack:      sample.StackIndex(),
			link:       sample.LinkIndex(),
			values:     int32(sample.Values().Len()),
			timestamps: int32(sample.TimestampsUnixNano().Len()),
		}
	}
	for i := range read {
		if read[i].values > 0 {
			read[i].value = samples.At(first + i).Values().At(0)
		}
	}
}

// weight is what weigh says of the sample, or less than 0 if weigh has to be
// asked.
func (r *rawSample) weight() int64 {
	switch {
	case r.values == 1 && r.timestamps <= 1:
		return r.value
	case r.values == 0 && r.timestamps > 0:
		return int64(r.timestamps)
	default:
		return -1
	}
}

// isPlain says whether all that matters of a sample is its stack, which is there,
// and its weight.
func (b *batch) isPlain(sample *rawSample) bool {
	return sample.link == 0 && !b.attributes.relevant && sample.stack > 0 && int(sample.stack) < b.symbols.Stacks()
}

// count counts a sample, whatever it holds.
func (b *batch) count(sample pprofile.Sample, index int, feedsCounter bool) {
	weight, problem := weigh(sample)
	if feedsCounter && weight < 0 {
		problem = symbols.Problem{Reason: NegativeValue}
	}
	if problem.Reason == NoWeight || problem.Reason == NegativeValue {
		b.malformed(index, problem)
		return
	}
	stack, stacks := sample.StackIndex(), int32(b.symbols.Stacks())
	if stack < 0 || stack >= stacks && stack != 0 {
		problem = symbols.Problem{Reason: symbols.StackIndex, Index: stack, Length: int(stacks)}
		stack = noStack
	} else if stack == 0 {
		// "Unset", whatever the table's first entry holds.
		stack = noStack
	}
	group := int32(0)
	if b.attributes.relevant {
		var attributeProblem symbols.Problem
		group, attributeProblem = b.groupOf(sample.AttributeIndices(), stack)
		if problem.Reason == "" {
			problem = attributeProblem
		}
	}
	slot := b.slots.slot(group, stack, index)
	slot.weight = measure.Add(slot.weight, weight)
	slot.samples++
	if link := sample.LinkIndex(); link != 0 {
		linkProblem := b.exemplify(slot, sample, weight)
		if problem.Reason == "" {
			problem = linkProblem
		}
	}
	if problem.Reason != "" {
		b.malformed(index, problem)
		slot.malformed++
	}
}

func (b *batch) malformed(sample int, problem symbols.Problem) {
	b.position.Sample = sample
	b.report.malformed(b.position, problem, 1)
}

// weigh returns the weight of a sample: the sum of its values, or the number
// of its timestamps where it has no values (profiles.proto, message Sample).
func weigh(sample pprofile.Sample) (int64, symbols.Problem) {
	values := sample.Values()
	timestamps := sample.TimestampsUnixNano().Len()
	n := values.Len()
	if n == 0 {
		if timestamps == 0 {
			return 0, symbols.Problem{Reason: NoWeight}
		}
		return int64(timestamps), symbols.Problem{}
	}
	weight := values.At(0)
	for i := 1; i < n; i++ {
		weight = measure.Add(weight, values.At(i))
	}
	if timestamps != 0 && timestamps != n {
		return weight, symbols.Problem{Reason: LengthMismatch, Index: int32(timestamps), Length: n}
	}
	return weight, symbols.Problem{}
}
