// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaqueryextension

import (
	"context"
	"io"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

const (
	contentTypeJSON  = "application/json"
	contentTypeBytes = "application/octet-stream"
)

// answer is a successful answer.
type answer struct {
	contentType string
	fileName    string // "" for what is to be read rather than kept
	size        int64  // of the body, in bytes
	body        io.WriterTo
}

// text is a body that is at hand.
type text []byte

// WriteTo implements io.WriterTo.
func (t text) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(t)
	return int64(n), err
}

// ask queries Parca and makes the answer; raw asks for the bytes of the server's
// report instead of JSON.
func (h *handler) ask(ctx context.Context, r *request, raw bool) (*answer, *failure) {
	response, err := h.parca.Query(ctx, parcaapi.MergeRequest(r.query.String(), r.window, r.report.asked, r.groupBy))
	if err != nil {
		return nil, parcaFailed(ctx, err)
	}
	if r.report.asked == querypb.QueryRequest_REPORT_TYPE_PPROF {
		return h.answerPprof(ctx, r, response, raw)
	}
	record := r.report.raw(response)
	switch {
	case response.GetTotal() == 0 && response.GetFiltered() == 0:
		return nil, noData(r)
	case len(record) == 0:
		return nil, unexpected(r, response)
	}
	return h.answerReport(r, response, record, raw)
}

// answerPprof answers with the pprof report or what is computed from it. It is
// read in any case: of this report the server gives no total, which would tell
// that it is empty.
func (h *handler) answerPprof(ctx context.Context, r *request, response *querypb.QueryResponse, raw bool) (*answer, *failure) {
	if len(response.GetPprof()) == 0 {
		return nil, unexpected(r, response)
	}
	p, err := parcaapi.ParsePprof(response.GetPprof())
	switch {
	case err != nil:
		return nil, parcaFailed(ctx, err)
	case len(p.Sample) == 0:
		return nil, noData(r)
	case r.report.document == nil:
		return h.answerReport(r, response, response.GetPprof(), raw)
	}
	document, err := r.report.document(ctx, p, h.maxResponseSize)
	if err != nil {
		return nil, documentFailed(err, h.maxResponseSize)
	}
	// Written once to know its size: an answer that turns out too large halfway
	// cannot be taken back, and held as text it would take many times the memory.
	size, err := document.WriteTo(io.Discard)
	if err != nil {
		return nil, documentFailed(err, h.maxResponseSize)
	}
	return h.limited(&answer{contentType: contentTypeJSON, size: size, body: document})
}

// answerReport answers with a report of the server, as it is or as JSON.
func (h *handler) answerReport(r *request, response *querypb.QueryResponse, record []byte, raw bool) (*answer, *failure) {
	if raw {
		return h.limited(&answer{
			contentType: contentTypeBytes, fileName: r.report.fileName,
			size: int64(len(record)), body: text(record),
		})
	}
	body, err := protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(response)
	if err != nil {
		return nil, documentFailed(err, h.maxResponseSize)
	}
	body = append(body, '\n')
	return h.limited(&answer{contentType: contentTypeJSON, size: int64(len(body)), body: text(body)})
}

func (h *handler) limited(a *answer) (*answer, *failure) {
	if a.size > h.maxResponseSize {
		return nil, tooLarge(h.maxResponseSize)
	}
	return a, nil
}
