// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/google/pprof/profile"
)

// maxCompressions is how many times a profile may be compressed: pprof's own
// format is gzip already, and a server may compress the response once more.
const maxCompressions = 2

var errTooLarge = errors.New("over the limit")

// decode returns the profile in data, which may be compressed, and its size in
// bytes without compression. limit is the most it may have.
func decode(data []byte, limit int64) (*profile.Profile, int64, *failure) {
	for range maxCompressions {
		if !isGzip(data) {
			break
		}
		var err error
		if data, err = decompress(data, limit); err != nil {
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
	case isGzip(data):
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

func isGzip(data []byte) bool { return len(data) >= 2 && data[0] == 0x1f && data[1] == 0x8b }

func decompress(data []byte, limit int64) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return readLimited(r, limit)
}

// readLimited reads all of r, or fails with errTooLarge once limit is exceeded.
func readLimited(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) < limit {
		return data, nil
	}
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return nil, errTooLarge
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	}
	return data, nil
}

func decompressFailed(err error, limit int64) *failure {
	if errors.Is(err, errTooLarge) {
		return tooLarge(limit)
	}
	return fail(outcomeCorrupt, "broken gzip (%w); the answer was cut short or changed on its way", err)
}

func tooLarge(limit int64) *failure {
	return fail(outcomeTooLarge, "the profile is over max_response_body_size (%d bytes); raise it if the target is to be trusted", limit)
}
