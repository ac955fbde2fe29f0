// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Command screenshots draws the rows of a Grafana dashboard as pages of HTML, each with the answers that
// a Prometheus server gives to the dashboard's queries: for the images in the documentation, where there
// is no Grafana. It knows the panels that the dashboard in this repository has, and draws them plainly.
//
//	screenshots -dashboard FILE -prometheus URL -service PATTERN -function PATTERN -range 10m -end SECONDS -out DIRECTORY
//
// It prints each page's file, and its width and height in pixels.
//
// `make screenshots` runs it with real data, and makes images of its pages.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.dashboard, "dashboard", "dashboards/profiletometrics.json", "the dashboard's file")
	flag.StringVar(&o.server, "prometheus", "http://localhost:9090", "the server to ask")
	flag.StringVar(&o.service, "service", ".*", "pattern of the services in the row on functions' CPU time")
	flag.StringVar(&o.function, "function", ".*", "pattern of the functions in it")
	flag.DurationVar(&o.span, "range", 10*time.Minute, "how much time the graphs show")
	flag.Int64Var(&o.end, "end", time.Now().Unix(), "when the graphs end, in seconds since 1970")
	flag.StringVar(&o.directory, "out", ".", "where to write ROW.html for each row")
	flag.Parse()
	if err := run(context.Background(), o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

type options struct {
	dashboard, server, directory string
	service, function            string
	span                         time.Duration
	end                          int64
}

func run(ctx context.Context, o options, output io.Writer) error {
	rows, err := readDashboard(&o)
	if err != nil {
		return err
	}
	end := time.Unix(o.end, 0)
	server := prometheus{url: o.server, start: end.Add(-o.span), end: end}
	var failures []error
	for _, r := range rows {
		page, err := server.draw(ctx, r)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		file := filepath.Join(o.directory, fileName(r.title)+".html")
		failures = append(failures, os.WriteFile(file, page, 0o600))
		width, height := r.size()
		_, err = fmt.Fprintln(output, file, width, height)
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// fileName is a row's title in small letters and hyphens.
func fileName(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return r < 'a' || r > 'z' })
	return strings.Join(words, "-")
}
