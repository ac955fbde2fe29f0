// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector"

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// withNamedAttributes returns the profiles with the attributes of resources and
// scopes as they are meant. A sender may write keys and texts of these as
// indices of the message's string table (KeyValue.key_strindex and
// AnyValue.string_value_strindex in common.proto). Receivers of OTLP over HTTP
// put the texts in their place, those of v0.161.0 over gRPC do not: there,
// all keys are empty, services would be without names and all be one. What is
// in their place cannot be read through pdata, but pdata's decoder can. The
// profiles themselves are not changed.
func withNamedAttributes(profiles pprofile.Profiles) (pprofile.Profiles, error) {
	if !refersToNames(profiles) {
		return profiles, nil
	}
	named, err := decodeNames(profiles)
	if err != nil {
		return profiles, err
	}
	whole := pprofile.NewProfiles()
	profiles.CopyTo(whole)
	for i, resource := range named.ResourceProfiles().All() {
		to := whole.ResourceProfiles().At(i)
		resource.Resource().CopyTo(to.Resource())
		for j, scope := range resource.ScopeProfiles().All() {
			scope.Scope().CopyTo(to.ScopeProfiles().At(j).Scope())
		}
	}
	return whole, nil
}

// refersToNames says whether an attribute lacks its key or value, as one does
// that is written by reference.
func refersToNames(profiles pprofile.Profiles) bool {
	for _, resource := range profiles.ResourceProfiles().All() {
		if isIncomplete(resource.Resource().Attributes()) {
			return true
		}
		for _, scope := range resource.ScopeProfiles().All() {
			if isIncomplete(scope.Scope().Attributes()) {
				return true
			}
		}
	}
	return false
}

func isIncomplete(attributes pcommon.Map) bool {
	for key, value := range attributes.All() {
		if key == "" || value.Type() == pcommon.ValueTypeEmpty {
			return true
		}
	}
	return false
}

// decodeNames encodes and decodes the resources and scopes alone.
func decodeNames(profiles pprofile.Profiles) (pprofile.Profiles, error) {
	bare := pprofile.NewProfiles()
	profiles.Dictionary().StringTable().CopyTo(bare.Dictionary().StringTable())
	for _, resource := range profiles.ResourceProfiles().All() {
		to := bare.ResourceProfiles().AppendEmpty()
		resource.Resource().CopyTo(to.Resource())
		for _, scope := range resource.ScopeProfiles().All() {
			scope.Scope().CopyTo(to.ScopeProfiles().AppendEmpty().Scope())
		}
	}
	encoded, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(bare)
	if err != nil {
		return pprofile.Profiles{}, err
	}
	return (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(encoded)
}
