// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaqueryextension

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

// The parameters of a request.
const (
	paramQuery      = "query"
	paramStart      = "start"
	paramEnd        = "end"
	paramReportType = "reportType"
	paramGroupBy    = "groupBy"
)

var params = []string{paramQuery, paramStart, paramEnd, paramReportType, paramGroupBy}

// request is what a caller asks for.
type request struct {
	query   parcaapi.Query
	window  parcaapi.Range // both ends belong to it
	report  *report
	groupBy []string
}

// parseRequest reads the query string of a URL. It reports every mistake at once,
// each with the parameter's name and what to write instead.
func parseRequest(rawQuery string, maxWindow time.Duration) (*request, error) {
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, fmt.Errorf("the query string of the URL cannot be read (%w); escape what is special in it, as curl -G --data-urlencode does", err)
	}
	var errs []error
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	for _, name := range unknown(values) {
		note(fmt.Errorf("%q: there is no such parameter; there are %s", name, strings.Join(params, ", ")))
	}
	r := &request{}
	r.query, err = parseQuery(values)
	note(err)
	r.window, err = parseWindow(values, maxWindow)
	note(err)
	name, err := single(values, paramReportType)
	if err == nil || errors.Is(err, errMissing) {
		r.report, err = reportNamed(name)
	}
	note(err)
	r.groupBy, err = parseGroupBy(values[paramGroupBy], r.report)
	note(err)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return r, nil
}

func unknown(values url.Values) []string {
	var names []string
	for name := range values {
		if !slices.Contains(params, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

var errMissing = errors.New("missing")

// single returns the one value of a parameter.
func single(values url.Values, name string) (string, error) {
	switch given := values[name]; {
	case len(given) == 0 || len(given) == 1 && given[0] == "":
		return "", fmt.Errorf("%s: %w", name, errMissing)
	case len(given) > 1:
		return "", fmt.Errorf("%s: given %d times; give it once", name, len(given))
	default:
		return given[0], nil
	}
}

func parseQuery(values url.Values) (parcaapi.Query, error) {
	text, err := single(values, paramQuery)
	if err != nil {
		return parcaapi.Query{}, fmt.Errorf("%w; a profile type and matchers, such as %s", err,
			`process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{job="shop"}`)
	}
	query, err := parcaapi.ParseQuery(text)
	if err != nil {
		return query, fmt.Errorf("%s: %w", paramQuery, err)
	}
	return query, nil
}

// Parca counts nanoseconds since 1970 in 64 bits.
var (
	earliest = time.Unix(0, 0)
	latest   = time.Unix(0, math.MaxInt64)
)

func parseWindow(values url.Values, longest time.Duration) (parcaapi.Range, error) {
	start, startErr := parseTime(values, paramStart)
	end, endErr := parseTime(values, paramEnd)
	if err := errors.Join(startErr, endErr); err != nil {
		return parcaapi.Range{}, err
	}
	if end.Before(start) {
		return parcaapi.Range{}, fmt.Errorf("%s: %s is before %s; give the later time as %s",
			paramEnd, values.Get(paramEnd), paramStart, paramEnd)
	}
	if window := end.Sub(start); window > longest {
		return parcaapi.Range{}, fmt.Errorf("%s: %s after %s is longer than max_window (%s); ask for a shorter time, several times if need be",
			paramEnd, window, paramStart, longest)
	}
	return parcaapi.Range{Start: start, End: end}, nil
}

func parseTime(values url.Values, name string) (time.Time, error) {
	const example = "2026-07-01T12:00:00Z"
	text, err := single(values, name)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w; a time such as %s", err, example)
	}
	t, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil && strings.Contains(text, " "):
		return time.Time{}, fmt.Errorf("%s: %q is no RFC 3339 time; in a URL, write + as %%2B", name, text)
	case err != nil:
		return time.Time{}, fmt.Errorf("%s: %q is no RFC 3339 time; write one such as %s", name, text, example)
	case t.Before(earliest) || t.After(latest):
		return time.Time{}, fmt.Errorf("%s: %q is out of range; give a time from %d to %d", name, text, earliest.UTC().Year(), latest.UTC().Year()-1)
	}
	return t.UTC(), nil
}

// parseGroupBy reads the labels to group by: the parameter may be given several
// times, and be a list.
func parseGroupBy(given []string, r *report) ([]string, error) {
	var labels []string
	for _, list := range given {
		for label := range strings.SplitSeq(list, ",") {
			label = strings.TrimSpace(label)
			if !parcaapi.IsLabelName(label) {
				return nil, fmt.Errorf("%s: %q is no label name; give labels, separated by commas", paramGroupBy, label)
			}
			if !slices.Contains(labels, label) {
				labels = append(labels, label)
			}
		}
	}
	if len(labels) > 0 && r != nil && !r.groups {
		return nil, fmt.Errorf("%s: reportType %s does not tell groups apart; leave it out, or ask for json_stacks", paramGroupBy, r.name)
	}
	return labels, nil
}
