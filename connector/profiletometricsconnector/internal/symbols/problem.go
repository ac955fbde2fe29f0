// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package symbols // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"

import "fmt"

// Reason says in one word what is wrong with a sample.
type Reason string

// The reasons that lie in a reference to the dictionary.
const (
	StackIndex     Reason = "stack_index"
	LocationIndex  Reason = "location_index"
	FunctionIndex  Reason = "function_index"
	MappingIndex   Reason = "mapping_index"
	StringIndex    Reason = "string_index"
	AttributeIndex Reason = "attribute_index"
	LinkIndex      Reason = "link_index"
)

// Problem is a reference that leads nowhere. The zero value is no problem.
type Problem struct {
	Reason Reason
	// Index is the offending index, Length that of the table that it is
	// outside of.
	Index  int32
	Length int
}

// String describes the problem for a log.
func (p Problem) String() string {
	return fmt.Sprintf("%s %d is outside of its table of %d entries", p.Reason, p.Index, p.Length)
}
