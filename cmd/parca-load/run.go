// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/term"

	"github.com/profiletometrics/profiletometrics/cmd/parca-load/internal/progress"
	"github.com/profiletometrics/profiletometrics/cmd/parca-load/internal/stats"
	"github.com/profiletometrics/profiletometrics/cmd/parca-load/internal/workload"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// httpTimeout bounds every step of serving /metrics.
const httpTimeout = 10 * time.Second

// run is the program. The first interrupt lets requests that are under way end, the second one does
// not. Progress goes to stderr, the summary to stdout.
func run(ctx context.Context, args []string, interrupts <-chan os.Signal, stdout, stderr io.Writer) int {
	messages := log.New(stderr, "", 0)
	opts, err := parseOptions(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		messages.Printf("%v\nparca-load -help lists the flags.", err)
		return exitUsage
	}
	recorder, err := load(ctx, &opts, interrupts, stderr, messages)
	if err != nil {
		messages.Print(opts.credentials.redact(err.Error()))
		return exitFailed
	}
	if err := progress.Summary(stdout, recorder); err != nil {
		messages.Print(err)
		return exitFailed
	}
	if recorder.Total().Answered == 0 {
		messages.Printf("%s answered no request.", opts.server)
		return exitFailed
	}
	return exitOK
}

// load sends requests until it is told to stop. It fails if it cannot start.
func load(
	ctx context.Context, opts *options, interrupts <-chan os.Signal, stderr io.Writer, messages *log.Logger,
) (*stats.Recorder, error) {
	registry := prometheus.NewRegistry()
	recorder, err := stats.NewRecorder(registry)
	if err != nil {
		return nil, err
	}
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	connection, err := opts.server.connect(opts.credentials)
	if err != nil {
		return nil, fmt.Errorf("-url: %w", err)
	}
	defer func() { _ = connection.Close() }() // nothing uses it any more
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", opts.metricsAddr)
	if err != nil {
		return nil, fmt.Errorf("-addr: %w", err)
	}
	stopServing := serveMetrics(listener, registry, messages)
	defer stopServing()

	messages.Printf("querying %s; metrics are at http://%s/metrics", opts.server, listener.Addr())
	if opts.credentials.any() && !opts.server.tls && !opts.server.loopback() {
		messages.Print("warning: credentials are sent without TLS: everybody on the way can read them")
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := untilStopped(ctx, cancel, opts.duration, interrupts)
	done := make(chan struct{})
	go func() {
		defer close(done)
		workload.New(opts.workload, querypb.NewQueryServiceClient(connection), recorder).Run(ctx, stop)
	}()
	display := progress.New(recorder, stderr, terminalWidth(stderr), opts.credentials.redact)
	err = display.Run(done)
	<-done // also if nobody sees the progress any more
	return recorder, err
}

// untilStopped returns a channel that is closed when no more requests are to be sent: after the
// duration, unless that is 0, at the first interrupt, or when the context ends. The second interrupt
// cancels the context.
func untilStopped(
	ctx context.Context, cancel context.CancelFunc, duration time.Duration, interrupts <-chan os.Signal,
) <-chan struct{} {
	stop := make(chan struct{})
	var over <-chan time.Time
	if duration > 0 {
		over = time.After(duration)
	}
	go func() {
		select {
		case <-ctx.Done():
		case <-over:
		case <-interrupts:
		}
		close(stop)
		select {
		case <-ctx.Done():
		case <-interrupts:
			cancel()
		}
	}()
	return stop
}

// serveMetrics serves /metrics until the function that it returns is called.
func serveMetrics(listener net.Listener, registry *prometheus.Registry, messages *log.Logger) (stop func()) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: httpTimeout,
		ReadTimeout:       httpTimeout,
		WriteTimeout:      httpTimeout,
		IdleTimeout:       2 * time.Minute,
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			messages.Printf("serving /metrics ended: %v", err)
		}
	}()
	return func() {
		_ = server.Close() // a scrape that is under way may as well fail
		<-ended
	}
}

// terminalWidth returns how to learn the columns of a terminal; nil if the writer is none.
func terminalWidth(to io.Writer) func() int {
	file, ok := to.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return func() int {
		width, _, err := term.GetSize(int(file.Fd()))
		if err != nil {
			return 80
		}
		return width
	}
}
