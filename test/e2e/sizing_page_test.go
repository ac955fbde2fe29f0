// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e && sizing

package e2e

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sizingPage is the page with the tables that are measured. Each stands between two comments.
type sizingPage struct {
	file, text string
}

func newSizingPage(t *testing.T) *sizingPage {
	t.Helper()
	file := repository + "/docs/deployment/sizing.md"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	page := &sizingPage{file: file, text: string(text)}
	page.replace("machine", "Measured on "+machine()+".")
	return page
}

// table replaces a table; the first row is its head.
func (p *sizingPage) table(name string, rows [][]string) {
	var b strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString("|" + strings.Repeat("---|", len(row)) + "\n")
		}
	}
	p.replace(name, strings.TrimRight(b.String(), "\n"))
}

func (p *sizingPage) replace(name, text string) {
	section := regexp.MustCompile(`(?s)(<!-- sizing: ` + name + ` -->\n).*?(\n<!-- end -->)`)
	if !section.MatchString(p.text) {
		panic("the page has no section " + name)
	}
	p.text = section.ReplaceAllString(p.text, "${1}\n"+text+"\n${2}")
	fmt.Println(text)
}

func (p *sizingPage) write(t *testing.T) {
	t.Helper()
	require.NoError(t, os.WriteFile(p.file, []byte(p.text), 0o600))
}

// machine says what was measured on: 2 cores (AMD EPYC) with Go 1.26.
func machine() string {
	processor := runtime.GOARCH
	if cpuinfo, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if model := regexp.MustCompile(`(?m)^model name\s*: (.+)$`).FindSubmatch(cpuinfo); model != nil {
			processor = string(model[1])
		}
	}
	version := regexp.MustCompile(`\d+\.\d+`).FindString(runtime.Version())
	return fmt.Sprintf("%d cores (%s) with Go %s", runtime.NumCPU(), processor, version)
}

// perSecond writes a rate with two digits: nobody sizes anything by the third.
func perSecond(rate float64) string { return thousands(twoDigits(rate)) }

func twoDigits(value float64) int {
	if value <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(value))-1)
	return int(math.Round(value/unit) * unit)
}

// thousands separates them.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// size writes bytes with two digits.
func size(bytes float64) string {
	for _, unit := range []string{"B", "kB", "MB"} {
		if bytes < 1000 {
			if bytes >= 10 {
				return fmt.Sprint(twoDigits(bytes), " ", unit)
			}
			return fmt.Sprintf("%.1f %s", bytes, unit)
		}
		bytes /= 1000
	}
	return fmt.Sprint(twoDigits(bytes), " GB")
}
