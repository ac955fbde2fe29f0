// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"strconv"
)

// format writes a value in one of the units of the dashboard, as Grafana names them.
func format(value float64, unit string) string {
	switch unit {
	case "percentunit":
		return short(value*100, 1) + " %"
	case "bytes":
		return scaled(value, 1024, []string{" B", " KiB", " MiB", " GiB"})
	case "Bps":
		return scaled(value, 1000, []string{" B/s", " kB/s", " MB/s", " GB/s"})
	case "cps":
		return scaled(value, 1000, []string{" c/s", "k c/s", "M c/s"})
	case "s":
		return seconds(value)
	default:
		return scaled(value, 1000, []string{"", "k", "M"})
	}
}

// scaled writes a value with the largest suffix that leaves at least one before the point.
func scaled(value, base float64, suffixes []string) string {
	i := 0
	for ; i < len(suffixes)-1 && math.Abs(value) >= base; i++ {
		value /= base
	}
	return short(value, 3) + suffixes[i]
}

func seconds(value float64) string {
	switch magnitude := math.Abs(value); {
	case magnitude == 0 || magnitude >= 1:
		return short(value, 2) + " s"
	case magnitude >= 1e-3:
		return short(value*1e3, 2) + " ms"
	default:
		return short(value*1e6, 2) + " µs"
	}
}

// short writes a value to so many digits after the point, fewer where the number is large.
func short(value float64, digits int) string {
	switch {
	case math.Abs(value) >= 100:
		digits = 0
	case math.Abs(value) >= 10:
		digits = min(digits, 1)
	case math.Abs(value) >= 1:
		digits = min(digits, 2)
	}
	scale := math.Pow(10, float64(digits))
	return strconv.FormatFloat(math.Round(value*scale)/scale, 'f', -1, 64)
}
