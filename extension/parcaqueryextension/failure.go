// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaqueryextension

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"go.opentelemetry.io/collector/config/configopaque"

	"github.com/profiletometrics/profiletometrics/extension/parcaqueryextension/internal/profilejson"
	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

// statusClientGone is what the telemetry counts when the caller did not wait for
// the answer; nobody receives it.
const statusClientGone = 499

// failure is an answer that is an error. Its text says what to do.
type failure struct {
	status int
	err    error
}

func (f *failure) Error() string { return f.err.Error() }

func fail(status int, format string, args ...any) *failure {
	return &failure{status: status, err: fmt.Errorf(format, args...)}
}

// parcaFailed explains an error of the Parca client, called with ctx.
func parcaFailed(ctx context.Context, err error) *failure {
	switch kind := parcaapi.KindOf(err); kind {
	case parcaapi.InvalidQuery, parcaapi.ImpossibleType:
		return &failure{http.StatusBadRequest, err}
	case parcaapi.NotFound:
		return &failure{http.StatusNotFound, err}
	case parcaapi.Timeout:
		return &failure{http.StatusGatewayTimeout, err}
	case parcaapi.Unreachable:
		// gRPC's way to say that the server has stopped to react, not that there is none.
		if strings.Contains(err.Error(), "keepalive ping failed") {
			return fail(http.StatusGatewayTimeout,
				"Parca hangs, or the network does (keepalive ping failed); check the server's memory and CPU, and what is in between")
		}
		return &failure{http.StatusBadGateway, err}
	case parcaapi.TooLarge:
		return &failure{http.StatusUnprocessableEntity, err}
	default:
		// A server may give up as well, while its caller waits.
		if kind == parcaapi.Canceled && ctx.Err() != nil {
			return &failure{statusClientGone, err}
		}
		return &failure{http.StatusBadGateway, err}
	}
}

// noData is the failure of a report in which nothing is. Parca itself tells a
// query without any match from an idle process no better than this.
func noData(r *request) *failure {
	return fail(http.StatusNotFound,
		"Parca has no samples of %s from %s to %s; check the profile type (profiles over a time end in :delta), the matchers and the time",
		r.query, r.window.Start.Format(time.RFC3339Nano), r.window.End.Format(time.RFC3339Nano))
}

// unexpected is the failure of an answer with another report than was asked for.
func unexpected(r *request, response *querypb.QueryResponse) *failure {
	return fail(http.StatusBadGateway, "Parca answered with %T instead of %s; check that the server's version has this report",
		response.GetReport(), r.report.asked)
}

func tooLarge(limit int64) *failure {
	return fail(http.StatusUnprocessableEntity,
		"the answer is larger than max_response_size (%d bytes); ask for a shorter time, select less with matchers, or raise the limit", limit)
}

// documentFailed explains why a document could not be made.
func documentFailed(err error, limit int64) *failure {
	switch {
	case errors.Is(err, profilejson.ErrTooLarge):
		return tooLarge(limit)
	case errors.Is(err, context.DeadlineExceeded):
		return fail(http.StatusGatewayTimeout, "the answer could not be computed in time (%w); ask for a shorter time, or raise timeout", err)
	case errors.Is(err, context.Canceled):
		return &failure{statusClientGone, err}
	default:
		return fail(http.StatusBadGateway, "Parca's answer cannot be used (%w); check Parca's version", err)
	}
}

const hidden = "[hidden]"

// redactor takes secrets out of texts. Nothing of our own holds one, but texts
// of Parca, and of what stands before it, may quote what we sent.
type redactor struct{ secrets *strings.Replacer }

// minSecret is the length from which on a header's value is hidden wherever it
// occurs: shorter ones are no secret and would garble texts.
const minSecret = 6

func newRedactor(headers configopaque.MapList) redactor {
	var pairs []string
	for _, value := range headers.Iter {
		// Authorization: Bearer TOKEN
		scheme, token, found := strings.Cut(string(value), " ")
		if !found {
			token = scheme
		}
		for _, secret := range []string{string(value), token} {
			if len(secret) >= minSecret {
				pairs = append(pairs, secret, hidden)
			}
		}
	}
	return redactor{secrets: strings.NewReplacer(pairs...)}
}

var authorization = regexp.MustCompile(`(?i)\b(bearer|basic|digest|negotiate)[\s:=]+[^\s"'\],;)}]+`)

func (r redactor) redact(text string) string {
	return authorization.ReplaceAllString(r.secrets.Replace(text), "$1 "+hidden)
}
