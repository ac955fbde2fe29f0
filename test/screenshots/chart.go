// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// colors are those of the lines, in the order of the legend.
var colors = []string{"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#76b7b2", "#edc948", "#9c755f", "#ff9da7", "#bab0ac"}

func color(i int) string { return colors[i%len(colors)] }

// Room for the axes' numbers, in pixels.
const (
	leftOf  = 64
	below   = 20
	above   = 8
	rightOf = 12
)

// chart is a graph that is being drawn.
type chart struct {
	svg           strings.Builder
	width, height float64
	start, end    time.Time
	highest       float64 // a round number at the top of the axis
}

// chart returns a graph of series over the time, as SVG.
func (p *prometheus) chart(all []series, width, height int, stacked bool, unit string) string {
	c := &chart{width: float64(width), height: float64(height), start: p.start, end: p.end}
	lines := curves(all, stacked)
	most := 0.0
	for _, line := range lines {
		for _, value := range line.upper {
			most = math.Max(most, value)
		}
	}
	step := roundStep(most/3, unit)
	c.highest = math.Max(step*math.Ceil(most/step), step)
	fmt.Fprintf(&c.svg, `<svg viewBox="0 0 %d %d" width="%d" height="%d">`, width, height, width, height)
	for value := 0.0; value <= c.highest*1.001; value += step {
		fmt.Fprintf(&c.svg, `<line class="grid" x1="%d" x2="%.1f" y1="%.1f" y2="%.1f"/>`, leftOf, c.width-rightOf, c.y(value), c.y(value))
		fmt.Fprintf(&c.svg, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`, leftOf-6, c.y(value)+4, format(value, unit))
	}
	for at, every := c.start.Truncate(time.Minute), c.every(); !at.After(c.end); at = at.Add(time.Minute) {
		if at.Before(c.start) || at.Minute()%every != 0 {
			continue
		}
		fmt.Fprintf(&c.svg, `<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%.1f"/>`, c.x(at), c.x(at), above, c.height-below)
		fmt.Fprintf(&c.svg, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, c.x(at), c.height-4, at.UTC().Format("15:04"))
	}
	for i, line := range lines {
		c.area(line, color(i), stacked)
	}
	c.svg.WriteString("</svg>")
	return c.svg.String()
}

func (c *chart) x(at time.Time) float64 {
	return leftOf + (c.width-leftOf-rightOf)*float64(at.Sub(c.start))/float64(c.end.Sub(c.start))
}

func (c *chart) y(value float64) float64 {
	return above + (c.height-above-below)*(1-value/c.highest)
}

// every is after how many minutes the axis has a time.
func (c *chart) every() int {
	minutes := c.end.Sub(c.start).Minutes()
	for _, every := range []int{1, 2, 5, 10, 15, 30} {
		if minutes/float64(every) <= (c.width-leftOf)/70 {
			return every
		}
	}
	return 60
}

// curve is a line, and where the area under it ends.
type curve struct {
	at           []time.Time
	lower, upper []float64
}

// curves are the lines of all series, each upon those before it if they are stacked.
func curves(all []series, stacked bool) []curve {
	sums := make(map[time.Time]float64)
	lines := make([]curve, len(all))
	for i, s := range all {
		lines[i].at = s.at
		for j, at := range s.at {
			lower := 0.0
			if stacked {
				lower = sums[at]
			}
			lines[i].lower = append(lines[i].lower, lower)
			lines[i].upper = append(lines[i].upper, lower+s.values[j])
			sums[at] += s.values[j]
		}
	}
	return lines
}

func (c *chart) area(line curve, color string, stacked bool) {
	var edge, back strings.Builder
	for i, at := range line.at {
		fmt.Fprintf(&edge, "%.1f,%.1f ", c.x(at), c.y(line.upper[i]))
		j := len(line.at) - 1 - i
		fmt.Fprintf(&back, "%.1f,%.1f ", c.x(line.at[j]), c.y(line.lower[j]))
	}
	opacity := 0.1
	if stacked {
		opacity = 0.6
	}
	fmt.Fprintf(&c.svg, `<polygon points="%s%s" fill="%s" fill-opacity="%.1f"/>`, edge.String(), back.String(), color, opacity)
	fmt.Fprintf(&c.svg, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>`, edge.String(), color)
}

// roundStep returns 1, 2, 2.5 or 5 times a power of ten, the first that is not less; of bytes, a power of two.
func roundStep(least float64, unit string) float64 {
	switch {
	case least <= 0:
		return 1
	case unit == "bytes":
		return math.Exp2(math.Ceil(math.Log2(least)))
	}
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, factor := range []float64{1, 2, 2.5, 5} {
		if factor*power >= least {
			return factor * power
		}
	}
	return 10 * power
}
