// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"

import (
	"fmt"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"
)

// The reasons that lie in a sample itself.
const (
	// NoWeight is a sample with neither values nor timestamps.
	NoWeight symbols.Reason = "no_weight"
	// LengthMismatch is a sample that has both, but not as many of the one as
	// of the other.
	LengthMismatch symbols.Reason = "length_mismatch"
	// NegativeValue is a sample that would make a counter fall.
	NegativeValue symbols.Reason = "negative_value"
)

// Report says what became of the samples of a batch. Every sample is counted
// once.
type Report struct {
	// Converted samples went to at least one metric, or were seen by the rules
	// that read their profiles.
	Converted int64
	// Filtered samples did not pass a filter.
	Filtered int64
	// Ignored samples belong to profiles that no enabled measure and no rule
	// reads.
	Ignored int64
	// Malformed counts samples by what is wrong with them. As far as their
	// weight is known, it was counted. Nil for none.
	Malformed map[symbols.Reason]int64
	// First describes the first malformed sample, and where it is.
	First string
}

// Position is where a sample stands in its message.
type Position struct {
	Resource, Scope, Profile, Sample int
}

// String gives the position as a path of the message's fields.
func (p Position) String() string {
	return fmt.Sprintf("resource_profiles[%d].scope_profiles[%d].profiles[%d].samples[%d]", p.Resource, p.Scope, p.Profile, p.Sample)
}

func (r *Report) malformed(position Position, problem symbols.Problem, samples int64) {
	if r.Malformed == nil {
		r.Malformed = make(map[symbols.Reason]int64)
		r.First = position.String() + ": " + explain(problem)
	}
	r.Malformed[problem.Reason] += samples
}

func explain(problem symbols.Problem) string {
	switch problem.Reason {
	case NoWeight:
		return "has neither values nor timestamps"
	case LengthMismatch:
		return fmt.Sprintf("has %d values but %d timestamps", problem.Length, problem.Index)
	case NegativeValue:
		return "has a negative value, which a counter cannot take"
	default:
		return problem.String()
	}
}
