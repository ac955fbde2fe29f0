// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Command gobusy is a Go service for the end-to-end tests: it serves net/http/pprof, and does
// nothing but what it is asked to. How its functions share CPU time and memory is known.
//
//	GET /burn?cpu=5   answers when the process has used so many more seconds of CPU time
//	GET /allocate      answers when allocate has made its garbage
package main

import (
	"container/list"
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof" // serves /debug/pprof
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

func main() {
	address := flag.String("listen", "127.0.0.1:6060", "address to serve at")
	flag.IntVar(&runtime.MemProfileRate, "memprofilerate", runtime.MemProfileRate,
		"bytes allocated per sample of the memory profile; 1 samples every allocation")
	flag.Parse()
	if err := run(*address); err != nil {
		fmt.Fprintln(os.Stderr, "gobusy:", err)
		os.Exit(1)
	}
}

func run(address string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	http.HandleFunc("GET /burn", burn)
	http.HandleFunc("GET /allocate", func(http.ResponseWriter, *http.Request) { allocate() })
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	// No timeout on answers: they take as long as the request says.
	server := &http.Server{ReadHeaderTimeout: time.Minute}
	go func() {
		<-ctx.Done()
		_ = server.Close() // ends Serve, which reports
	}()
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}

func burn(w http.ResponseWriter, r *http.Request) {
	seconds, err := strconv.ParseFloat(r.URL.Query().Get("cpu"), 64)
	if err != nil {
		http.Error(w, "cpu: "+err.Error(), http.StatusBadRequest)
		return
	}
	for end := cpuTime() + time.Duration(seconds*float64(time.Second)); cpuTime() < end; {
		handle()
	}
}

// cpuTime is what the process has used since its start.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // cannot be: both arguments are right
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// round is some milliseconds of work.
const round = 1_000_000

var sink uint64

// handle and what it calls are never inlined, so that each has frames of its own. They work, in
// rounds: parse 1, render 1 itself, and escape, which it calls and which calls itself, 2.
//
//go:noinline
func handle() {
	parse()
	render()
}

//go:noinline
func parse() {
	for i := range uint64(round) {
		sink = sink*31 + i
	}
}

//go:noinline
func render() {
	for i := range uint64(round) {
		sink = sink*31 + i
	}
	escape(3)
}

//go:noinline
func escape(depth int) {
	if depth > 0 {
		escape(depth - 1)
		return
	}
	for i := range uint64(2 * round) {
		sink = sink*31 + i
	}
}

const (
	pages    = 64
	pageSize = 64 << 10
)

var (
	kept  [][]byte
	queue *list.List
)

// allocate makes pages, and a list through functions of the standard library that the compiler
// inlines. Go's memory profile is as of the last garbage collection, so it ends with one.
//
//go:noinline
func allocate() {
	kept = kept[:0]
	queue = list.New()
	for range pages {
		kept = append(kept, page())
		queue.PushBack(nil)
	}
	runtime.GC()
}

// page allocates 64 KiB, so allocate 4 MiB by it.
//
//go:noinline
func page() []byte { return make([]byte, pageSize) }
