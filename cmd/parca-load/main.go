// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Command parca-load queries a Parca server continuously, and measures how long that takes.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(context.Background(), os.Args[1:], interrupts, os.Stdout, os.Stderr))
}
