// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/google/pprof/profile"

	"github.com/profiletometrics/profiletometrics/internal/pprofotlp"
)

// maxCompressions is how many times a profile may be compressed: pprof's own
// format is gzip already, and a server may compress the response once more.
const maxCompressions = 2

// decode returns the profile in data, which may be compressed, and its size in
// bytes without compression. limit is the most it may have.
func decode(data []byte, limit int64) (*profile.Profile, int64, *failure) {
	for range maxCompressions {
		if !pprofotlp.IsGzip(data) {
			break
		}
		var err error
		if data, err = pprofotlp.Decompress(data, limit); err != nil {
			return nil, 0, decompressFailed(err, limit)
		}
	}
	p, f := parse(data)
	return p, int64(len(data)), f
}

func parse(data []byte) (*profile.Profile, *failure) {
	switch {
	case len(data) == 0:
		return nil, fail(outcomeInvalid, "the answer is empty; check the path")
	case looksLikeHTML(data):
		return nil, fail(outcomeHTML, "the answer is an HTML page, not a profile; check the path, and whether a login page or proxy is in between")
	case pprofotlp.IsGzip(data):
		// The parser would decompress it, without a limit.
		return nil, fail(outcomeInvalid, "not a pprof profile: compressed more than %d times", maxCompressions)
	}
	p, err := profile.ParseData(data)
	if err == nil && len(p.SampleType) == 0 {
		err = errors.New("it has no sample types")
	}
	if err != nil {
		return nil, fail(outcomeInvalid, "not a pprof profile (%w)%s; check the path", err, quoted(data))
	}
	if isContention(data) {
		// What these give is the time since the counts began, not one that the
		// profile was measured over.
		p.DurationNanos = 0
	}
	return p, nil
}

// isContention recognizes the older text format of mutex and block profiles.
func isContention(data []byte) bool { return bytes.HasPrefix(data, []byte("--- ")) }

// quoted shows how a text begins that should have been a profile.
func quoted(data []byte) string {
	if bytes.IndexByte(data[:min(len(data), maxQuoted)], 0) >= 0 {
		return ""
	}
	if line := firstLine(data[:min(len(data), 2*maxQuoted)]); line != "" {
		return fmt.Sprintf(", it begins with %q", line)
	}
	return ""
}

func decompressFailed(err error, limit int64) *failure {
	if errors.Is(err, pprofotlp.ErrTooLarge) {
		return tooLarge(limit)
	}
	return fail(outcomeCorrupt, "broken gzip (%w); the answer was cut short or changed on its way", err)
}

func tooLarge(limit int64) *failure {
	return fail(outcomeTooLarge, "the profile is over max_response_body_size (%d bytes); raise it if the target is to be trusted", limit)
}
