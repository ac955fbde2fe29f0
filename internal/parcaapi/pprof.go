// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaapi

import (
	"fmt"

	"github.com/google/pprof/profile"

	"github.com/profiletometrics/profiletometrics/internal/pprofotlp"
)

// maxPprofBytes is the limit of a decompressed pprof report. An answer of
// MaxReceiveBytes that is larger than this is no profile but an attack.
const maxPprofBytes = 8 * MaxReceiveBytes

// ParsePprof reads a pprof report of Query. It has one sample type; period,
// duration and time are not set or mean nothing, except in reports of one single
// profile. Errors are of the kind InvalidAnswer.
func ParsePprof(report []byte) (*profile.Profile, error) {
	data := report
	if pprofotlp.IsGzip(report) {
		var err error
		if data, err = pprofotlp.Decompress(report, maxPprofBytes); err != nil {
			return nil, NewError(InvalidAnswer, fmt.Errorf("broken gzip: %w", err))
		}
	}
	p, err := profile.ParseUncompressed(data)
	if err == nil {
		err = p.CheckValid()
	}
	if err == nil && len(p.SampleType) != 1 {
		err = fmt.Errorf("it has %d sample types instead of one", len(p.SampleType))
	}
	if err != nil {
		return nil, NewError(InvalidAnswer, fmt.Errorf("no pprof report: %w", err))
	}
	return p, nil
}
