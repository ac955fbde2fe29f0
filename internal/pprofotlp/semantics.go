// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofotlp

import "github.com/google/pprof/profile"

// Where the semantic conventions put what pprof has and OTLP has no field for.
const (
	buildIDGNU             = "process.executable.build_id.gnu"
	locationIsFolded       = "pprof.location.is_folded"
	mappingHasFilenames    = "pprof.mapping.has_filenames"
	mappingHasFunctions    = "pprof.mapping.has_functions"
	mappingHasInlineFrames = "pprof.mapping.has_inline_frames"
	mappingHasLineNumbers  = "pprof.mapping.has_line_numbers"
	profileComment         = "pprof.profile.comment"
	profileDocURL          = "pprof.profile.doc_url"
	profileDropFrames      = "pprof.profile.drop_frames"
	profileKeepFrames      = "pprof.profile.keep_frames"
	scopeDefaultSampleType = "pprof.scope.default_sample_type"
)

// profileAttributes returns the attribute set of the profile as a whole.
func (in *interner) profileAttributes(p *profile.Profile) int32 {
	var attributes []int32
	if len(p.Comments) > 0 {
		attributes = append(attributes, in.tables.attributes.add(attributeEntry{
			key:   in.tables.strings.add(profileComment),
			array: in.array(p.Comments, nil),
		}))
	}
	for _, field := range []struct{ key, value string }{
		{profileDocURL, p.DocURL},
		{profileDropFrames, p.DropFrames},
		{profileKeepFrames, p.KeepFrames},
	} {
		if field.value != "" {
			attributes = append(attributes, in.attribute(field.key, text(field.value)))
		}
	}
	return in.attributeSet(attributes...)
}

// withoutUninteresting returns p without the frames that its drop_frames name
// and its keep_frames do not. pprof cuts stacks and lines by slicing them anew,
// never by writing into them, so copies of the structs that hold the slices are
// enough to leave p as it is. Like pprof, it takes the profile as it is if
// drop_frames or keep_frames is no regular expression.
func withoutUninteresting(p *profile.Profile) *profile.Profile {
	if p.DropFrames == "" {
		return p
	}
	pruned := &profile.Profile{
		SampleType: p.SampleType,
		DropFrames: p.DropFrames,
		KeepFrames: p.KeepFrames,
		Sample:     make([]*profile.Sample, len(p.Sample)),
		Location:   make([]*profile.Location, len(p.Location)),
	}
	copies := make(map[*profile.Location]*profile.Location, len(p.Location))
	for i, l := range p.Location {
		c := *l
		pruned.Location[i], copies[l] = &c, &c
	}
	for i, s := range p.Sample {
		c := *s
		c.Location = make([]*profile.Location, len(s.Location))
		for j, l := range s.Location {
			c.Location[j] = l
			if copied, ok := copies[l]; ok {
				c.Location[j] = copied
			}
		}
		pruned.Sample[i] = &c
	}
	if err := pruned.RemoveUninteresting(); err != nil {
		return p
	}
	return pruned
}
