// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofotlp

import (
	"regexp"
	"slices"
	"sync"

	"github.com/google/pprof/profile"
)

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
	drop, keep := frames.get(p.DropFrames), frames.get(p.KeepFrames)
	if drop == nil || p.KeepFrames != "" && keep == nil {
		return p
	}
	pruned := &profile.Profile{
		SampleType: p.SampleType,
		DropFrames: p.DropFrames,
		KeepFrames: p.KeepFrames,
		Sample:     make([]*profile.Sample, len(p.Sample)),
		Location:   make([]*profile.Location, len(p.Location)),
	}
	locations := make([]profile.Location, len(p.Location))
	var copies slots[profile.Location]
	copies.reset(len(p.Location))
	for i, l := range p.Location {
		locations[i] = *l
		pruned.Location[i] = &locations[i]
		copies.set(l.ID, l, int32(i))
	}
	samples := make([]profile.Sample, len(p.Sample))
	for i, s := range p.Sample {
		samples[i] = *s
		pruned.Sample[i] = &samples[i]
		samples[i].Location = slices.Clone(s.Location)
		for j, l := range s.Location {
			if at, copied := copies.get(l.ID, l); copied {
				samples[i].Location[j] = &locations[at]
			}
		}
	}
	pruned.Prune(drop, keep)
	return pruned
}

// frames are the expressions of drop_frames and keep_frames. A producer writes the
// same ones into each of its profiles, and compiling them takes longer than
// reading a small profile.
var frames expressions

// maxExpressions bounds what producers can make us remember.
const maxExpressions = 64

// expressions remembers what was compiled. The zero value is ready to use, and it
// is safe for concurrent use.
type expressions struct {
	mu       sync.Mutex
	compiled map[string]*regexp.Regexp // nil for what is no regular expression
}

// get returns the expression that matches whole names, or nil if it is none.
func (e *expressions) get(text string) *regexp.Regexp {
	if text == "" {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if compiled, found := e.compiled[text]; found {
		return compiled
	}
	if len(e.compiled) >= maxExpressions || e.compiled == nil {
		e.compiled = map[string]*regexp.Regexp{}
	}
	compiled, err := regexp.Compile("^(" + text + ")$")
	if err != nil {
		compiled = nil
	}
	e.compiled[text] = compiled
	return compiled
}
