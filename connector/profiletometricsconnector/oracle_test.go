// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// topReport is what pprof -top says about one sample type, in whole numbers of
// its unit.
type topReport struct {
	total     int64
	functions map[string]topFunction
}

type topFunction struct {
	flat, cumulative int64
	// rows and largest are of interest for frames without a function: pprof has
	// a row for each mapping and prints the base name, so that several may
	// share a name and a sample may count in more than one of them.
	rows    int
	largest int64
}

// pprofUnknown is what pprof calls a frame of which it knows nothing.
const pprofUnknown = "<unknown>"

// pprofFlags make a report complete and exact: every node, in a unit small
// enough that all numbers are whole.
func pprofFlags(sampleType *profile.ValueType) []string {
	unit := sampleType.Unit
	if unit == "bytes" {
		unit = "B"
	}
	return []string{
		"-top", "-nodecount=0", "-nodefraction=0", "-edgefraction=0", "-symbolize=none",
		"-sample_index=" + sampleType.Type, "-unit=" + unit,
	}
}

// topOfTool asks go tool pprof, as a user would.
func topOfTool(tb testing.TB, file string, sampleType *profile.ValueType) topReport {
	tb.Helper()
	command := exec.CommandContext(tb.Context(), "go", append(append([]string{"tool", "pprof"}, pprofFlags(sampleType)...), file)...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	require.NoError(tb, err, stderr.String())
	return parseTop(tb, out)
}

// topInProcess asks the same of the pprof package.
func topInProcess(tb testing.TB, p *profile.Profile, sampleType *profile.ValueType) topReport {
	tb.Helper()
	arguments := append(pprofFlags(sampleType), "-output=report", "profile")
	var out reportWriter
	err := driver.PProf(&driver.Options{
		Fetch:   fetchCopy{p},
		Flagset: &pprofFlagSet{FlagSet: flag.NewFlagSet("pprof", flag.ContinueOnError), arguments: arguments},
		Writer:  &out,
		UI:      silentUI{},
		Sym:     noSymbols{},
		Obj:     noObjects{},
	})
	require.NoError(tb, err)
	return parseTop(tb, out.Bytes())
}

var (
	topTotal = regexp.MustCompile(`^Showing nodes accounting for .* of (-?\d+)\S* total$`)
	topRow   = regexp.MustCompile(`^ *(-?\d+)\S* +\S+% +\S+% +(-?\d+)\S* +\S+% {2}(.*)$`)
	inlined  = regexp.MustCompile(` \((partial-)?inline\)$`)
)

func parseTop(tb testing.TB, out []byte) topReport {
	tb.Helper()
	report := topReport{functions: map[string]topFunction{}}
	inRows := false
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		line := lines.Text()
		if match := topTotal.FindStringSubmatch(line); match != nil {
			report.total = wholeNumber(tb, match[1])
		}
		if inRows {
			match := topRow.FindStringSubmatch(line)
			require.NotNil(tb, match, "pprof's row %q", line)
			report.add(inlined.ReplaceAllString(match[3], ""), wholeNumber(tb, match[1]), wholeNumber(tb, match[2]))
		}
		inRows = inRows || strings.HasPrefix(strings.TrimSpace(line), "flat ")
	}
	require.True(tb, inRows, "pprof's report has no rows:\n%s", out)
	return report
}

func (r topReport) add(name string, flat, cumulative int64) {
	if name == pprofUnknown {
		name = unknownFunction
	}
	function := r.functions[name]
	function.flat += flat
	function.cumulative += cumulative
	function.rows++
	function.largest = max(function.largest, cumulative)
	r.functions[name] = function
}

func wholeNumber(tb testing.TB, text string) int64 {
	tb.Helper()
	number, err := strconv.ParseInt(text, 10, 64)
	require.NoError(tb, err)
	return number
}

// fetchCopy hands out a copy, as the driver modifies what it gets.
type fetchCopy struct{ *profile.Profile }

func (f fetchCopy) Fetch(string, time.Duration, time.Duration) (*profile.Profile, string, error) {
	return f.Copy(), "", nil
}

type pprofFlagSet struct {
	*flag.FlagSet
	arguments []string
}

func (f *pprofFlagSet) StringList(name, def, usage string) *[]*string {
	return &[]*string{f.String(name, def, usage)}
}

func (*pprofFlagSet) ExtraUsage() string { return "" }

func (*pprofFlagSet) AddExtraUsage(string) {}

func (f *pprofFlagSet) Parse(func()) []string {
	if err := f.FlagSet.Parse(f.arguments); err != nil {
		return nil
	}
	return f.Args()
}

type reportWriter struct{ bytes.Buffer }

func (w *reportWriter) Open(string) (io.WriteCloser, error) { return w, nil }

func (*reportWriter) Close() error { return nil }

type noSymbols struct{}

func (noSymbols) Symbolize(string, driver.MappingSources, *profile.Profile) error { return nil }

// noObjects keeps the driver from running binutils.
type noObjects struct{}

var errNoObjects = errors.New("object files are not looked at")

func (noObjects) Open(string, uint64, uint64, uint64, string) (driver.ObjFile, error) {
	return nil, errNoObjects
}

func (noObjects) Disasm(string, uint64, uint64, bool) ([]driver.Inst, error) {
	return nil, errNoObjects
}

type silentUI struct{}

func (silentUI) ReadLine(string) (string, error)     { return "", io.EOF }
func (silentUI) Print(...any)                        {}
func (silentUI) PrintErr(...any)                     {}
func (silentUI) IsTerminal() bool                    { return false }
func (silentUI) WantBrowser() bool                   { return false }
func (silentUI) SetAutoComplete(func(string) string) {}
