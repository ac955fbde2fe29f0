// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaapi

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/google/pprof/profile"
)

// maxPprofBytes is the limit of a decompressed pprof report. An answer of
// MaxReceiveBytes that is larger than this is no profile but an attack.
const maxPprofBytes = 8 * MaxReceiveBytes

// ParsePprof reads a pprof report of Query. It has one sample type; period,
// duration and time are not set or mean nothing, except in reports of one single
// profile. Errors are of the kind InvalidAnswer.
func ParsePprof(report []byte) (*profile.Profile, error) {
	data, err := decompress(report)
	if err != nil {
		return nil, NewError(InvalidAnswer, err)
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

func decompress(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(r, maxPprofBytes+1))
	}
	if err == nil && len(data) > maxPprofBytes {
		err = errors.New("over the limit")
	}
	if err != nil {
		return nil, fmt.Errorf("broken gzip: %w", err)
	}
	return data, nil
}
