// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/profiletometrics/profiletometrics/cmd/parca-load/internal/workload"
	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

const usage = `parca-load queries a Parca server continuously and measures how long that takes.

It runs until it is interrupted, or for -duration, and then writes a table of all requests. It
exits with 0 if a request succeeded, with 1 if none did, with 2 if a flag is wrong. Lists are
separated by ";".

`

// options are what the flags say.
type options struct {
	server      server
	credentials *credentials
	metricsAddr string
	duration    time.Duration
	workload    workload.Config
}

// parseOptions reads the flags. Every mistake is named in the error, which is flag.ErrHelp if the
// user asked for help; help goes to the writer.
func parseOptions(args []string, help io.Writer) (options, error) {
	o := options{credentials: &credentials{}}
	flags := flag.NewFlagSet("parca-load", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are reported once, by the caller
	address := flags.String("url", "http://localhost:7070",
		"Parca's `address`: host:port or http:// for plaintext, https:// for TLS")
	flags.StringVar(&o.metricsAddr, "addr", "127.0.0.1:7171",
		"`address` on which /metrics is served")
	flags.StringVar(&o.credentials.token, "token", "",
		"bearer `token`, which other users of the machine can see: prefer -token-file")
	flags.StringVar(&o.credentials.tokenFile, "token-file", "",
		"`file` with the bearer token; read for each request, as the token may change")
	headers := flags.String("headers", "",
		"`list` of name=value sent with each request")
	flags.DurationVar(&o.workload.Timeout, "client-timeout", 30*time.Second,
		"how long a request may take")
	flags.DurationVar(&o.workload.Interval, "query-interval", 5*time.Second,
		"time between the starts of two rounds of queries; 0 is without a pause")
	ranges := flags.String("query-range", "15m;12h;168h",
		"`list` of how far back to query")
	selectors := flags.String("labels", "",
		"`list` of selectors such as {job=\"checkout\"}, each of which is queried; all series if empty")
	types := flags.String("types", "",
		"`list` of profile types such as process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta; those that Parca has if empty")
	valuesFor := flags.String("values-for-labels", "",
		"`list` of labels whose values are queried; those that Parca has if empty")
	flags.DurationVar(&o.duration, "duration", 0,
		"how long to run; 0 is until interrupted")

	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			err = errors.Join(err, printHelp(flags, help))
		}
		return options{}, err
	}

	var problems []error
	note := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}
	if flags.NArg() > 0 {
		note(fmt.Errorf("%q is no flag", flags.Arg(0)))
	}
	var err error
	o.server, err = parseServer(*address)
	note(err)
	o.credentials.headers, err = parseHeaders(*headers)
	note(err)
	note(o.credentials.validate())
	o.workload.Ranges, err = parseRanges(*ranges)
	note(err)
	o.workload.Selectors, err = parseSelectors(*selectors)
	note(err)
	o.workload.Types, err = parseTypes(*types)
	note(err)
	o.workload.ValuesFor = list(*valuesFor)
	note(notNegative("-client-timeout", o.workload.Timeout))
	note(notNegative("-query-interval", o.workload.Interval))
	note(notNegative("-duration", o.duration))
	return o, errors.Join(problems...)
}

func printHelp(flags *flag.FlagSet, to io.Writer) error {
	text := bytes.NewBufferString(usage)
	flags.SetOutput(text)
	flags.PrintDefaults()
	_, err := to.Write(text.Bytes())
	return err
}

func notNegative(name string, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("%s: %s is negative", name, d)
	}
	return nil
}

func parseRanges(text string) ([]workload.Range, error) {
	var ranges []workload.Range
	for _, name := range list(text) {
		length, err := time.ParseDuration(name)
		if err != nil || length <= 0 {
			return nil, fmt.Errorf("-query-range: %q is no positive duration such as 90s, 15m or 168h", name)
		}
		ranges = append(ranges, workload.Range{Name: name, Length: length})
	}
	if len(ranges) == 0 {
		return nil, errors.New("-query-range: at least one is needed, e.g. 15m")
	}
	return ranges, nil
}

// parseSelectors takes selectors with or without their braces.
func parseSelectors(text string) ([]workload.Selector, error) {
	var selectors []workload.Selector
	for _, one := range listOfQuoted(text) {
		matchers, err := parcaapi.ParseSelector(one)
		if err != nil {
			return nil, fmt.Errorf("-labels: %q: %w", one, errors.Unwrap(err))
		}
		selectors = append(selectors, workload.Selector{Name: selectorName(matchers), Matchers: matchers})
	}
	if len(selectors) == 0 {
		selectors = []workload.Selector{{Name: selectorName(nil)}}
	}
	return selectors, nil
}

func selectorName(matchers []parcaapi.Matcher) string {
	texts := make([]string, len(matchers))
	for i, matcher := range matchers {
		texts[i] = matcher.String()
	}
	return "{" + strings.Join(texts, ",") + "}"
}

func parseTypes(text string) ([]parcaapi.ProfileType, error) {
	var types []parcaapi.ProfileType
	for _, one := range list(text) {
		profileType, err := parcaapi.ParseProfileType(one)
		if err != nil {
			return nil, fmt.Errorf("-types: %w", errors.Unwrap(err))
		}
		types = append(types, profileType)
	}
	return types, nil
}

// list splits a list; spaces and empty elements do not count.
func list(text string) []string {
	return trimmed(strings.Split(text, ";"))
}

// listOfQuoted splits a list whose elements may contain the separator between quotes.
func listOfQuoted(text string) []string {
	var quote rune // 0 outside
	escaped := false
	return trimmed(strings.FieldsFunc(text, func(r rune) bool {
		switch {
		case escaped:
			escaped = false
		case quote == 0 && strings.ContainsRune("\"'`", r):
			quote = r
		case quote == r:
			quote = 0
		case quote != 0 && quote != '`':
			escaped = r == '\\'
		}
		return r == ';' && quote == 0
	}))
}

func trimmed(elements []string) []string {
	var kept []string
	for _, element := range elements {
		if element = strings.TrimSpace(element); element != "" {
			kept = append(kept, element)
		}
	}
	return kept
}
