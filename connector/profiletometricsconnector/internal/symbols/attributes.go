// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package symbols // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Attributes is the number of entries in the attribute table.
func (d *Dictionary) Attributes() int { return d.attributes.Len() }

// Attribute returns an entry of the attribute table. An entry without a key
// (as entry 0 should be) has an empty key and is no attribute.
func (d *Dictionary) Attribute(index int32) (string, pcommon.Value, Problem) {
	if index < 0 || int(index) >= d.attributes.Len() {
		return "", pcommon.Value{}, Problem{AttributeIndex, index, d.attributes.Len()}
	}
	entry := d.attributes.At(int(index))
	key, ok := d.String(entry.KeyStrindex())
	if !ok {
		return "", pcommon.Value{}, d.StringProblem(entry.KeyStrindex())
	}
	return key, entry.Value(), Problem{}
}

// LocationAttributes returns the attribute indices of a location, which must
// exist (see LeafLocation).
func (d *Dictionary) LocationAttributes(location int32) pcommon.Int32Slice {
	return d.locations.At(int(location)).AttributeIndices()
}
