// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofotlp // import "github.com/profiletometrics/profiletometrics/internal/pprofotlp"

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
)

// ErrTooLarge is the error of data over a limit.
var ErrTooLarge = errors.New("over the limit")

// IsGzip says whether data is gzip, as the files of pprof are.
func IsGzip(data []byte) bool { return len(data) >= 2 && data[0] == 0x1f && data[1] == 0x8b }

// Decompress returns what is in gzip data, at most limit bytes: of more, the
// error is ErrTooLarge. A few kilobytes may decompress to gigabytes, so that a
// parser of pprof must not be left to do it.
func Decompress(data []byte, limit int64) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return ReadLimited(r, limit)
}

// ReadLimited reads all of r, or fails with ErrTooLarge once limit is exceeded.
func ReadLimited(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) < limit {
		return data, nil
	}
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return nil, ErrTooLarge
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	}
	return data, nil
}
