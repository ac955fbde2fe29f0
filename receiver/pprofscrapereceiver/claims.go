// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

// claims are the profiles of processes that have a target.
type claims map[string]bool

// claimsOf are those of the targets.
func claimsOf(targets []TargetConfig) claims {
	c := claims{}
	for _, t := range targets {
		c.claim(t)
	}
	return c
}

// claim returns the target with those of its profiles that no other target has
// claimed, and whether any are left. Two targets of one profile would count
// everything twice.
func (c claims) claim(t TargetConfig) (claimed TargetConfig, left bool) {
	free := map[string]ProfileConfig{}
	for _, name := range t.enabledProfiles() {
		u, err := t.profileURL(t.Profiles[name])
		if err != nil || c[processOf(u)] {
			continue
		}
		c[processOf(u)] = true
		free[name] = t.Profiles[name]
	}
	t.Profiles = free
	return t, len(free) > 0
}
