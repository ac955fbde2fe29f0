// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofotlp

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"go/parser"
	"go/token"
	"io"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"text/template"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Go writes the newest stacks first, and how it groups inlined functions into
// locations depends on what it wrote before. So a process that does something
// new at every turn is what could be taken for another process.
func TestAGoProcessThatDoesNewThingsIsNotTakenForRestarted(t *testing.T) {
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 1
	runtime.SetMutexProfileFraction(1)
	defer runtime.SetMutexProfileFraction(0)
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)

	work := []func(){
		func() { _, _ = json.Marshal(map[string]any{"a": []int{1}, "b": map[string]string{"x": "y"}}) },
		func() { regexp.MustCompile(`[ab]+x*`).FindAllString(strings.Repeat("abz", 100), -1) },
		func() {
			_ = template.Must(template.New("").Parse("{{range .}}{{.}}{{end}}")).Execute(io.Discard, []int{1})
		},
		func() { _, _ = parser.ParseFile(token.NewFileSet(), "builder.go", nil, 0) },
		func() { _, _ = gzip.NewWriter(io.Discard).Write(make([]byte, 1000)) },
		contend,
	}
	increments := map[string]*Increments{"allocs": {}, "mutex": {}, "block": {}}
	for turn := range 2 * len(work) {
		work[turn%len(work)]()
		runtime.GC()
		for name, inc := range increments {
			var raw bytes.Buffer
			require.NoError(t, pprof.Lookup(name).WriteTo(&raw, 0))
			step := inc.Compare(parse(t, raw.Bytes()))
			assert.False(t, step.Restarted, "%s at turn %d", name, turn)
			inc.Advance(step)
		}
	}
}

func contend() {
	var mu sync.Mutex
	var all sync.WaitGroup
	ready := make(chan struct{})
	for range 10 {
		all.Go(func() {
			<-ready
			mu.Lock()
			defer mu.Unlock()
			runtime.Gosched()
		})
	}
	close(ready)
	all.Wait()
}
