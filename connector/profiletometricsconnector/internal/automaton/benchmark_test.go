// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package automaton

import (
	"slices"
	"testing"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"
	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// BenchmarkStacks applies six patterns to the 20,000 stacks of a host's batch:
// with what is known of the functions from the batch before (known), without
// (new), and as regexp does, on some of them. It reports the time for a frame,
// all patterns together; that for reading the stacks, alone in read, is part of
// each.
func BenchmarkStacks(b *testing.B) {
	host := testprofile.Host(20_000)
	host.Stacks = 20_000
	var dictionary symbols.Dictionary
	dictionary.Reset(host.Profiles().Dictionary(), false)
	nameOf := func(function symbols.FunctionID) string { return dictionary.Function(function).Name }
	program := programOf(b, `runtime\.(gcBgMarkWorker|mallocgc|scanobject)`, `handlers\.\(\*API\)\.`, `go/types\.\(\*Checker\)\.checkFiles`,
		`Function00\d;[^;]*Function\d|mallocgc;runtime\.`, `Function\d+$|runtime\.memclrNoHeapPointers$`, `^runtime\.(main|goexit);main\.`)
	matcher := NewMatcher(program, nameOf)

	measure := func(name string, stacks int, begin func(), apply func(stack []symbols.FunctionID)) {
		b.Run(name, func(b *testing.B) {
			frames := 0
			for b.Loop() {
				begin()
				matcher.Begin(dictionary.Functions())
				for i := range stacks {
					stack := dictionary.StackFrames(int32(i + 1))
					frames += len(stack)
					apply(stack)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(frames), "ns/frame")
		})
	}
	nothing := func() {}
	match := func(stack []symbols.FunctionID) { matcher.Match(stack) }
	measure("read", host.Stacks, nothing, func([]symbols.FunctionID) {})
	measure("known", host.Stacks, nothing, match)
	measure("new", host.Stacks, matcher.Forget, match)
	var text []byte
	measure("regexp", 200, nothing, func(stack []symbols.FunctionID) {
		text = text[:0]
		for _, function := range slices.Backward(stack) {
			text = append(append(text, nameOf(function)...), Separator)
		}
		for _, pattern := range program.patterns {
			_ = pattern.regexp.Match(text[:len(text)-1])
		}
	})
	machine := matcher.blocks[0].machines[0]
	b.Logf("%d states between names, %d within, %d bytes for those", len(machine.edges)-1, len(machine.runes.states)-1, machine.runes.used)
}
