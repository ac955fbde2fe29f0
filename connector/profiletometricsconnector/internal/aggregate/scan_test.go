// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// What is read of samples in advance says of their weight what the samples do, or nothing.
func TestWeightsReadInAdvanceAreThoseOfTheSamples(t *testing.T) {
	samples := pprofile.NewSampleSlice()
	for _, values := range [][]int64{nil, {0}, {7}, {-1}, {math.MaxInt64}, {math.MinInt64}, {1, 2}, {0, 0}, {-3, 4}} {
		for timestamps := range 4 {
			sample := samples.AppendEmpty()
			sample.Values().FromRaw(values)
			sample.TimestampsUnixNano().FromRaw(make([]uint64, timestamps))
		}
	}
	read := make([]rawSample, samples.Len())
	readSamples(read, samples, 0)
	told := 0
	for i := range read {
		if weight := read[i].weight(); weight >= 0 {
			want, problem := weigh(samples.At(i))
			assert.Empty(t, problem, "sample %d", i)
			assert.Equal(t, want, weight, "sample %d", i)
			told++
		}
	}
	assert.Equal(t, 3+2*3, told, "timestamps without a value, and a value that isn't negative with at most one")
}
