// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricszextension

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// longestText is how many characters of a text from outside are shown.
const longestText = 300

// visible makes a text from outside readable: it is cut if it is long, and
// characters that show nothing or direct what a terminal or browser shows are
// written as escapes. Escaping for HTML is the template's part.
func visible(text string) string {
	var out strings.Builder
	shown := 0
	for i, r := range text {
		if shown == longestText {
			out.WriteString("…")
			break
		}
		shown++
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			out.WriteString(`\x` + strconv.FormatUint(uint64(text[i]), 16))
		case strconv.IsGraphic(r):
			out.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return out.String()
}

const digits = 4 // that are significant

// number writes a value: whole numbers in full, others to a few digits.
func number(value float64) string {
	decimals := 0
	if value != math.Trunc(value) {
		decimals = digits - 1 - int(math.Floor(math.Log10(math.Abs(value))))
	}
	if decimals <= 0 {
		return count(strconv.FormatFloat(value, 'f', 0, 64))
	}
	text := strconv.FormatFloat(value, 'f', min(decimals, 12), 64)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

// count writes a whole number in groups of three digits.
func count(value any) string {
	text := fmt.Sprint(value)
	first := strings.IndexFunc(text, unicode.IsDigit)
	for i := len(text) - 3; i > first; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// share is a part of a whole in percent.
func share(part, whole float64) string {
	if whole == 0 {
		return "–"
	}
	return strconv.FormatFloat(100*part/whole, 'f', 1, 64) + "%"
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

func duration(d time.Duration) string {
	if d >= time.Second {
		d = d.Round(time.Second)
	}
	return d.String()
}
