// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/profiletometrics/profiletometrics/cmd/parca-load/internal/stats"
)

// Summary writes the table of everything that was asked.
func Summary(to io.Writer, source Source) error {
	return write(to, append(source.ByRequest(), source.Total()))
}

// columns are the table's columns. Those of requests are left out of tables in which they are empty.
var columns = []struct {
	name   string
	number bool
	value  func(stats.Row) string
}{
	{"QUERY", false, func(r stats.Row) string { return r.Request.Query }},
	{"REPORT", false, func(r stats.Row) string { return r.Request.Report }},
	{"RANGE", false, func(r stats.Row) string { return r.Request.Range }},
	{"LABELS", false, func(r stats.Row) string { return r.Request.Labels }},
	{"REQUESTS", true, func(r stats.Row) string { return count(r.Requests) }},
	{"ERRORS", true, func(r stats.Row) string { return count(r.Errors) }},
	{"NO DATA", true, func(r stats.Row) string { return count(r.NoData) }},
	{"P50", true, func(r stats.Row) string { return quantile(r, r.P50) }},
	{"P90", true, func(r stats.Row) string { return quantile(r, r.P90) }},
	{"P99", true, func(r stats.Row) string { return quantile(r, r.P99) }},
}

// write aligns texts on the left and numbers on the right.
func write(to io.Writer, rows []stats.Row) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	lines := make([]strings.Builder, len(rows)+1)
	for _, column := range columns {
		width := utf8.RuneCountInString(column.name)
		values := []string{column.name}
		used := false
		for _, row := range rows {
			value := column.value(row)
			used = used || value != ""
			width = max(width, utf8.RuneCountInString(value))
			values = append(values, value)
		}
		if !used {
			continue
		}
		for i, value := range values {
			if column.number {
				fmt.Fprintf(&lines[i], "%s\t", value)
			} else {
				fmt.Fprintf(&lines[i], "%-*s\t", width, value)
			}
		}
	}
	for i := range lines {
		if _, err := fmt.Fprintln(table, strings.TrimRight(lines[i].String(), " ")); err != nil {
			return err
		}
	}
	return table.Flush()
}

func count(n uint64) string {
	return strconv.FormatUint(n, 10)
}

func quantile(row stats.Row, took time.Duration) string {
	if row.Answered == 0 {
		return "-"
	}
	return shorten(took)
}

// shorten writes a duration with three digits at most, in the unit that fits: 1.23ms.
func shorten(d time.Duration) string {
	for _, unit := range []time.Duration{time.Microsecond, time.Millisecond, time.Second} {
		if d >= 1000*unit {
			continue
		}
		switch {
		case d < 10*unit:
			return d.Round(unit / 100).String()
		case d < 100*unit:
			return d.Round(unit / 10).String()
		default:
			return d.Round(unit).String()
		}
	}
	return d.Round(time.Second).String()
}

// cut shortens a line to a number of columns.
func cut(line string, columns int) string {
	if letters := []rune(line); columns > 0 && len(letters) > columns {
		return string(letters[:columns-1]) + "…"
	}
	return line
}

// printable replaces what would move the cursor or change the terminal's state.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}
