// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// The outcomes of a scrape, as the telemetry names them.
const (
	outcomeSuccess     = "success"
	outcomeUnreachable = "unreachable" // no connection, or it broke
	outcomeDNS         = "dns"         // no address of the host
	outcomeTLS         = "tls"         // no agreement on encryption, or on who is who
	outcomeTimeout     = "timeout"     // no complete answer in time
	outcomeStatus      = "status"      // a status other than 200
	outcomeHTML        = "html"        // a page for people
	outcomeTooLarge    = "too_large"   // over max_response_body_size
	outcomeCorrupt     = "corrupt"     // cut short, or broken compression
	outcomeInvalid     = "invalid"     // not a pprof profile
	outcomeRefused     = "refused"     // the next consumer did not take it
)

// failure is why a scrape gave nothing. Its text says what to do.
type failure struct {
	outcome string
	status  int // of the response, for outcomeStatus
	err     error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// condition names the state a failure is: two failures of one condition are one
// continuing problem, however much their texts differ.
func (f *failure) condition() string { return fmt.Sprint(f.outcome, f.status) }

func fail(outcome, format string, args ...any) *failure {
	return &failure{outcome: outcome, err: fmt.Errorf(format, args...)}
}

// requestFailed explains an error of the HTTP client.
func requestFailed(err error) *failure {
	// The client's own wrapping repeats the URL with its user name and query;
	// the target's name is said elsewhere, without them.
	var wrapped *url.Error
	timeout := errors.As(err, &wrapped) && wrapped.Timeout()
	if wrapped != nil {
		err = wrapped.Err
	}
	var unresolved *net.DNSError
	switch advice := adviceOnTLS(err); {
	case errors.As(err, &unresolved):
		return fail(outcomeDNS, "no address (%w); check the host in the endpoint, and the name servers of this machine", err)
	case advice != "":
		return fail(outcomeTLS, "no TLS connection (%w); %s", err, advice)
	case timeout || isTimeout(err):
		return fail(outcomeTimeout, "no complete answer in time (%w); raise timeout, or check why the target is slow", err)
	}
	return fail(outcomeUnreachable, "no connection (%w); check that the target runs and that its endpoint is right", err)
}

// adviceOnTLS is empty if an error is none of TLS.
func adviceOnTLS(err error) string {
	var certificate *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	var operation *net.OpError
	switch {
	case errors.As(err, &certificate):
		return "check the target's certificate, and tls::ca_file and tls::server_name_override"
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &header):
		return "the target does not speak TLS: give its endpoint with http://"
	case errors.As(err, &operation) && operation.Op == "remote error":
		// A TLS alert.
		return "the target ended the handshake: check tls::cert_file and tls::key_file, and the TLS versions"
	}
	return ""
}

// readFailed explains an error while the body was read.
func readFailed(err error) *failure {
	switch {
	case isTimeout(err):
		return requestFailed(err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fail(outcomeCorrupt, "the answer ended before it was complete (%w); check for a proxy or a write timeout in between", err)
	default:
		return fail(outcomeUnreachable, "the connection broke (%w); check the network between", err)
	}
}

func isTimeout(err error) bool {
	var netErr net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &netErr) && netErr.Timeout()
}

// statusFailed explains a status other than 200. Go's pprof handlers, and most
// others, give the reason as the first line of the body.
func statusFailed(status int, body []byte) *failure {
	text := fmt.Sprintf("status %d %s", status, http.StatusText(status))
	line := firstLine(body)
	if line != "" && !looksLikeHTML(body) {
		text += fmt.Sprintf(" (%s)", line)
	}
	f := fail(outcomeStatus, "%s; %s", text, adviceOnStatus(status, line))
	f.status = status
	return f
}

func adviceOnStatus(status int, line string) string {
	switch {
	case strings.Contains(line, "already in use"):
		return "a process takes one CPU profile at a time: stop the other profiler, or disable one of the two"
	case strings.Contains(line, "HTTP request to an HTTPS server"):
		return "the target speaks TLS: give its endpoint with https://"
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return "check auth and headers"
	case status == http.StatusNotFound:
		return "check the path, and that the target serves pprof"
	case status >= 300 && status < 400:
		return "redirects to another host are not followed: give the endpoint it leads to"
	case status == http.StatusTooManyRequests, status >= 500:
		return "see the target's own log"
	default:
		return "check the path and seconds"
	}
}

const maxQuoted = 200

// firstLine is the first line with text in it, fit for a log.
func firstLine(body []byte) string {
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSpace(strings.Map(printable, line))
		if len(line) > maxQuoted {
			line = strings.ToValidUTF8(line[:maxQuoted], "") + "…"
		}
		if line != "" {
			return line
		}
	}
	return ""
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r == '\uFFFD' {
		return -1
	}
	return r
}

func looksLikeHTML(body []byte) bool {
	start := strings.ToLower(strings.TrimSpace(string(body[:min(len(body), 512)])))
	return strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html")
}
