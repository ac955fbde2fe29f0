// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/profiletometrics/profiletometrics/internal/pprofotlp"
)

// endpoint is one URL that gives profiles.
type endpoint struct {
	client  *http.Client
	url     *url.URL
	timeout time.Duration // of a whole request
	limit   int64         // bytes of a body, before and after decompression
}

// maxErrorBody is how much is read of the body of an answer that is not 200.
const maxErrorBody = 4 << 10

// fetch returns the body of one answer, which may be compressed.
func (e *endpoint) fetch(ctx context.Context) ([]byte, *failure) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url.String(), http.NoBody)
	if err != nil {
		return nil, requestFailed(err)
	}
	response, err := e.client.Do(request)
	if err != nil {
		return nil, requestFailed(err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if response.StatusCode != http.StatusOK {
		// What can be read of the body explains the status; if nothing can, the
		// status stands for itself.
		body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
		return nil, statusFailed(response.StatusCode, body)
	}
	if response.ContentLength > e.limit {
		return nil, tooLarge(e.limit)
	}
	body, err := pprofotlp.ReadLimited(response.Body, e.limit)
	switch {
	case errors.Is(err, pprofotlp.ErrTooLarge):
		return nil, tooLarge(e.limit)
	case err != nil && isBrokenGzip(err):
		return nil, decompressFailed(err, e.limit)
	case err != nil:
		return nil, readFailed(err)
	}
	return body, nil
}

// isBrokenGzip recognizes what the transport says of a response that it was to
// decompress and could not.
func isBrokenGzip(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt)
}

// stayOnHost follows redirects within a host only. The client sends its headers
// with every request it follows, and they may hold credentials that no other
// host should see. A redirect that is not followed is the answer.
func stayOnHost(next *http.Request, before []*http.Request) error {
	if next.URL.Host != before[0].URL.Host || next.URL.Scheme != before[0].URL.Scheme || len(before) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

const maxRedirects = 5
