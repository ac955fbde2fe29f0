// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package profilejson turns a pprof profile into JSON for scripts: a flame
// graph, or the list of its stacks.
//
// A document is built once and may be written any number of times; it is never
// held in memory as text. Equal profiles give equal text, byte for byte: what has
// no order of its own is sorted, the heaviest first.
package profilejson // import "github.com/profiletometrics/profiletometrics/extension/parcaqueryextension/internal/profilejson"

import (
	"context"
	"errors"
	"io"
	"math"

	"github.com/google/pprof/profile"
)

// ErrTooLarge is returned for a profile whose document would be over the limit.
var ErrTooLarge = errors.New("the document is over the limit")

var errNoSampleType = errors.New("the profile has no sample type")

// Document is a profile, ready to be written as JSON.
type Document interface {
	// WriteTo writes the text and returns its size in bytes.
	io.WriterTo
}

// weights gives the weight of each sample of a profile: its value of the default
// sample type, which is the only one in what Parca reports.
type weights struct {
	unit  string
	index int
}

func newWeights(p *profile.Profile) (weights, error) {
	index, err := p.SampleIndexByName("")
	if err != nil {
		return weights{}, err
	}
	if index < 0 {
		return weights{}, errNoSampleType
	}
	return weights{unit: p.SampleType[index].Unit, index: index}, nil
}

func (w weights) of(s *profile.Sample) int64 { return s.Value[w.index] }

// add returns a + b, or the nearest representable number where the sum is out of
// range.
func add(a, b int64) int64 {
	sum := a + b
	// Overflow shows as a sum whose sign differs from that of both operands.
	if (a^sum)&(b^sum) >= 0 {
		return sum
	}
	if a < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}

// stepsPerCheck is how many frames are walked between two looks at the context.
const stepsPerCheck = 1 << 16

// budget ends the work on a document that gets too large, or that nobody waits
// for any more. A profile is small compared with what it stands for: a few bytes
// of pprof can be a stack of a thousand frames.
type budget struct {
	ctx   context.Context
	limit int64 // of the document, in bytes
	bytes int64 // what the document may still have
	steps int   // frames until the next look at the context
}

func newBudget(ctx context.Context, limit int64) *budget {
	return &budget{ctx: ctx, limit: limit, bytes: limit}
}

// step accounts for the walk to one frame.
func (b *budget) step() error {
	if b.steps--; b.steps > 0 {
		return nil
	}
	b.steps = stepsPerCheck
	return b.ctx.Err()
}

// spend accounts for text.
func (b *budget) spend(bytes int) error {
	if b.bytes -= int64(bytes); b.bytes < 0 {
		return ErrTooLarge
	}
	return nil
}
