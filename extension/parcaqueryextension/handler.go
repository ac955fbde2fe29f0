// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaqueryextension

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"

	"github.com/profiletometrics/profiletometrics/internal/webserver"
)

// path is the only one that is served.
const path = "/parcaquery"

// retryAfter is when a refused caller may try again, in seconds.
const retryAfter = "1"

// querier is the part of the Parca client that is used here.
type querier interface {
	Query(context.Context, *querypb.QueryRequest) (*querypb.QueryResponse, error)
}

// handler answers HTTP requests.
type handler struct {
	parca           querier
	timeout         time.Duration
	maxWindow       time.Duration
	maxResponseSize int64
	slots           chan struct{}   // holds one for each request that is worked on
	running         context.Context // ends with the extension
	redactor        redactor
	journal         *journal
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	end := h.journal.begin(r.Context())
	secure(w.Header())
	req, f := h.read(w.Header(), r)
	if f == nil {
		f = h.answer(w, r, req)
	}
	status := http.StatusOK
	if f != nil {
		h.writeFailure(w, f)
		status = f.status
	}
	end(req, status)
}

// secure sets the headers of an answer, which is no page.
func secure(header http.Header) {
	webserver.Secure(header, "default-src 'none'; frame-ancestors 'none'")
}

// read checks what a caller asks for.
func (h *handler) read(header http.Header, r *http.Request) (*request, *failure) {
	switch {
	case r.URL.Path != path:
		return nil, fail(http.StatusNotFound, "there is only %s; ask for %s?query=…&start=…&end=…&reportType=…", path, path)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		return nil, fail(http.StatusMethodNotAllowed, "the method %s is not served; use GET, with the parameters in the URL", r.Method)
	}
	req, err := parseRequest(r.URL.RawQuery, h.maxWindow)
	if err != nil {
		return nil, &failure{http.StatusBadRequest, err}
	}
	return req, nil
}

// answer works on a request, unless too many others are worked on.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, req *request) *failure {
	select {
	case h.slots <- struct{}{}:
		// Until the answer is written: it is held in memory as long.
		defer func() { <-h.slots }()
	default:
		w.Header().Set("Retry-After", retryAfter)
		return fail(http.StatusServiceUnavailable,
			"%d queries are running already; try again later, or raise max_concurrent_queries", cap(h.slots))
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.timeout)
	defer cancel()
	a, f := h.ask(ctx, req, wantsBytes(r.Header))
	if f != nil && h.running.Err() != nil {
		w.Header().Set("Retry-After", retryAfter)
		return fail(http.StatusServiceUnavailable, "the collector is shutting down; try again when it runs")
	}
	h.journal.asked(f, h.redactor)
	if f != nil {
		return f
	}
	h.write(w, r, a)
	return nil
}

func (h *handler) write(w http.ResponseWriter, r *http.Request, a *answer) {
	header := w.Header()
	header.Set("Content-Type", a.contentType)
	header.Set("Content-Length", strconv.FormatInt(a.size, 10))
	header.Add("Vary", "Accept")
	if a.fileName != "" {
		header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": a.fileName}))
	}
	if r.Method == http.MethodHead {
		return
	}
	if _, err := a.body.WriteTo(w); err != nil {
		h.journal.broke(err)
	}
}

// writeFailure answers with {"error": …}.
func (h *handler) writeFailure(w http.ResponseWriter, f *failure) {
	writeError(w, f.status, h.redactor.redact(f.Error()))
}

func writeError(w http.ResponseWriter, status int, message string) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(struct {
		Error string `json:"error"`
	}{strings.ReplaceAll(message, "\n", "; ")}) // neither the text nor the buffer can fail
	w.Header().Set("Content-Type", contentTypeJSON)
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // a caller that is gone has no use for an error
}

// refused answers in the place of the HTTP server's own layers: authentication,
// and the decompression of bodies. What an authenticator says is not repeated.
func refused(w http.ResponseWriter, _ *http.Request, message string, status int) {
	secure(w.Header())
	if status == http.StatusUnauthorized {
		message = "the credentials are missing or wrong; send those that the extension's auth setting asks for"
	}
	writeError(w, status, message)
}

// wantsBytes tells whether the caller prefers the bytes of a report to JSON.
func wantsBytes(header http.Header) bool {
	var asBytes, asJSON float64
	for _, list := range header.Values("Accept") {
		for item := range strings.SplitSeq(list, ",") {
			mediaType, quality, err := parseAccept(item)
			switch {
			case err != nil:
			case mediaType == contentTypeBytes:
				asBytes = quality
			case mediaType == contentTypeJSON:
				asJSON = quality
			}
		}
	}
	return asBytes > asJSON
}

var errQuality = errors.New("q is not a number from 0 to 1")

func parseAccept(item string) (mediaType string, quality float64, err error) {
	mediaType, parameters, err := mime.ParseMediaType(item)
	if err != nil {
		return "", 0, err
	}
	quality = 1
	if q, given := parameters["q"]; given {
		if quality, err = strconv.ParseFloat(q, 64); err != nil || !(quality >= 0 && quality <= 1) {
			return "", 0, errQuality
		}
	}
	return mediaType, quality, nil
}
