// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaapi

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Kind is what went wrong, as far as it matters for what to do about it. Its
// text is fit for an attribute of a metric.
type Kind string

// The kinds of errors.
const (
	Unreachable      Kind = "unreachable"       // no connection, or it broke
	TLSMismatch      Kind = "tls"               // one side speaks TLS and the other does not, or the certificate is not trusted
	Unauthenticated  Kind = "unauthenticated"   // no credentials, or bad ones
	PermissionDenied Kind = "permission_denied" // the credentials do not suffice
	InvalidQuery     Kind = "invalid_query"     // the server does not understand the query
	ImpossibleType   Kind = "impossible_type"   // the query does not name a profile type
	Timeout          Kind = "timeout"           // no complete answer in time
	TooLarge         Kind = "too_large"         // the answer is larger than MaxReceiveBytes, or the server is exhausted
	NotFound         Kind = "not_found"         // nothing matches
	NotParca         Kind = "not_parca"         // something answers that has no query service
	InvalidAnswer    Kind = "invalid_answer"    // the answer cannot be read
	ServerFailed     Kind = "server_failed"     // the server failed for reasons of its own
	Canceled         Kind = "canceled"          // the caller gave up, or somebody in between
)

// Retryable tells whether the same request may succeed a little later without
// anybody doing anything.
func (k Kind) Retryable() bool {
	switch k {
	case Unreachable, Timeout, ServerFailed, InvalidAnswer, TooLarge, Canceled:
		return true
	default:
		return false
	}
}

// Smaller tells whether the request may succeed over a shorter range.
func (k Kind) Smaller() bool { return k == Timeout || k == TooLarge }

// Error is why Parca gave no answer. Its text says what happened and what to do.
type Error struct {
	Kind Kind
	err  error
}

// NewError returns an error of the kind.
func NewError(kind Kind, err error) *Error { return &Error{Kind: kind, err: err} }

// Error says what happened and what to do, in one line that is fit for a log.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (%s); %s", explanations[e.Kind].what, e.detail(), e.Advice())
}

// Unwrap returns the error of gRPC, or of whatever else failed.
func (e *Error) Unwrap() error { return e.err }

// KindOf returns the kind of an error of this package; ServerFailed for others.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ServerFailed
}

// Advice is what the user can do.
func (e *Error) Advice() string { return explanations[e.Kind].advice }

// explanations say of each kind what happened and what to do.
var explanations = map[Kind]struct{ what, advice string }{
	Unreachable: {"Parca cannot be reached", "check that the server runs and that endpoint is its address"},
	TLSMismatch: {
		"there is no secure connection to Parca",
		"Parca itself speaks no TLS: set tls::insecure: true for it, or check the certificates of the proxy before it",
	},
	Unauthenticated: {
		"Parca, or a proxy before it, does not know who asks",
		"give credentials with auth, such as the bearertokenauth extension, or headers",
	},
	PermissionDenied: {
		"Parca, or a proxy before it, does not permit this",
		"give the credentials of somebody who may read profiles",
	},
	InvalidQuery:   {"the query cannot be understood", "check the query's matchers and the labels it is grouped by"},
	ImpossibleType: {"the query does not name a profile type", "write " + typeSyntax + ", as Parca's UI shows it"},
	Timeout: {
		"Parca did not answer in time",
		"ask for a shorter time, raise the timeout (Parca itself gives up after a minute), or give Parca more memory and CPU",
	},
	TooLarge:      {"the answer is too large", "ask for a shorter time, or select less with matchers"},
	NotFound:      {"Parca has no such profile", "check the query and the time"},
	NotParca:      {"what answers is not Parca's query service", "give endpoint the address of Parca's gRPC service, by default port 7070"},
	InvalidAnswer: {"Parca's answer cannot be read", "check for a proxy in between, and Parca's version"},
	ServerFailed:  {"Parca failed", "see Parca's own log"},
	Canceled:      {"the query was given up", "if nobody stopped it, check for a proxy in between"},
}

const maxDetail = 300

// credentials are those of an authorization header that somebody quotes.
var credentials = regexp.MustCompile(`(?i)\b(bearer|basic)[ "':=]+[^ "',;]+`)

// detail is what the other side said. What it says about credentials is not
// repeated: it may quote them.
func (e *Error) detail() string {
	if e.Kind == Unauthenticated || e.Kind == PermissionDenied {
		return status.Code(e.err).String()
	}
	text := e.err.Error()
	if s, ok := status.FromError(e.err); ok {
		text = s.Code().String() + ": " + s.Message()
	}
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	text = credentials.ReplaceAllString(text, "$1 [redacted]")
	if len(text) > maxDetail {
		text = strings.ToValidUTF8(text[:maxDetail], "") + "…"
	}
	return text
}

// classify turns an error of gRPC into one of this package.
func classify(err error) error {
	if err == nil {
		return nil
	}
	return NewError(kindOfStatus(err), err)
}

// kinds are those that the status code alone tells.
var kinds = map[codes.Code]Kind{
	codes.Unavailable:       Unreachable,
	codes.Unauthenticated:   Unauthenticated,
	codes.PermissionDenied:  PermissionDenied,
	codes.InvalidArgument:   InvalidQuery,
	codes.DeadlineExceeded:  Timeout,
	codes.ResourceExhausted: TooLarge,
	codes.NotFound:          NotFound,
	codes.Unimplemented:     NotParca,
	codes.Canceled:          Canceled,
}

func kindOfStatus(err error) Kind {
	code, message := status.Code(err), status.Convert(err).Message()
	says := func(text string) bool { return strings.Contains(message, text) }
	switch {
	case code == codes.Unavailable && (says("authentication handshake failed") || says("first record does not look like a TLS handshake")):
		return TLSMismatch
	case code == codes.InvalidArgument && says("profile-type selection"):
		// The name has not five or six parts, or there is none.
		return ImpossibleType
	case code == codes.Internal && says("RST_STREAM"):
		// So a client sees it when the server's write timeout cuts a call short.
		return Timeout
	case code == codes.Unknown && says("content-type"):
		// gRPC's own words for an answer that is none of gRPC.
		return NotParca
	}
	if kind, known := kinds[code]; known {
		return kind
	}
	return ServerFailed
}
