// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofotlp

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExactlyTheLimitIsAllowed(t *testing.T) {
	data, err := ReadLimited(strings.NewReader("12345"), 5)
	require.NoError(t, err)
	assert.Equal(t, "12345", string(data))
	_, err = ReadLimited(strings.NewReader("123456"), 5)
	require.ErrorIs(t, err, ErrTooLarge)
}

func TestWhatIsDecompressedIsLimited(t *testing.T) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := w.Write(bytes.Repeat([]byte("0"), 1<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Less(t, zipped.Len(), 1<<12)
	require.True(t, IsGzip(zipped.Bytes()))

	data, err := Decompress(zipped.Bytes(), 1<<20)
	require.NoError(t, err)
	assert.Len(t, data, 1<<20)
	_, err = Decompress(zipped.Bytes(), 1<<20-1)
	require.ErrorIs(t, err, ErrTooLarge)
	_, err = Decompress(zipped.Bytes()[:zipped.Len()-5], 1<<20)
	require.ErrorContains(t, err, "unexpected EOF")
	assert.False(t, IsGzip([]byte("\x1f")))
}
