// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Pixels of the dashboard's grid, and of a panel without its content.
const (
	columns      = 24
	columnWidth  = 50
	margin       = 8
	heading      = 34
	lineHeight   = 32
	panelPadding = 12
	titleHeight  = 34
	entryHeight  = 18
)

// drawn is a panel as the template takes it.
type drawn struct {
	Title   string
	Area    area
	Chart   template.HTML
	Legend  []entry
	Table   []entry // of function, flat and cumulative
	Bars    []entry
	Nothing bool
}

// entry is a line of a legend or a table.
type entry struct {
	Color, Name string
	Last, Mean  string
	Width       float64 // of a bar, in percent
}

// size returns the width and height of a row's page in pixels.
func (r *row) size() (width, height int) {
	bottom := 0
	for _, p := range r.panels {
		bottom = max(bottom, p.GridPos.Y+p.GridPos.H-r.panels[0].GridPos.Y)
	}
	return columns*columnWidth + 2*margin, bottom*lineHeight + heading + margin
}

// draw returns a row as a page.
func (p *prometheus) draw(ctx context.Context, r row) ([]byte, error) {
	panels := make([]drawn, 0, len(r.panels))
	top := r.panels[0].GridPos.Y
	for _, one := range r.panels {
		d, err := p.drawPanel(ctx, &one)
		if err != nil {
			return nil, fmt.Errorf("panel %q: %w", one.Title, err)
		}
		d.Title, d.Area = one.Title, one.GridPos
		d.Area.X, d.Area.Y = one.GridPos.X+1, one.GridPos.Y-top+1 // grids of CSS begin with 1
		panels = append(panels, d)
	}
	var page bytes.Buffer
	err := pageTemplate.Execute(&page, map[string]any{
		"Title": r.title, "Panels": panels, "ColumnWidth": columnWidth, "LineHeight": lineHeight,
	})
	return page.Bytes(), err
}

func (p *prometheus) drawPanel(ctx context.Context, one *panel) (drawn, error) {
	switch one.Type {
	case "timeseries":
		return p.drawGraph(ctx, one)
	case "table":
		return p.drawTable(ctx, one)
	case "bargauge":
		return p.drawBars(ctx, one)
	default:
		return drawn{}, fmt.Errorf("panels of type %q cannot be drawn", one.Type)
	}
}

// mostEntries is how many lines a legend has at most.
const mostEntries = 6

func (p *prometheus) drawGraph(ctx context.Context, one *panel) (drawn, error) {
	var all []series
	for _, target := range one.Targets {
		found, err := p.overTime(ctx, target.Expr, target.Legend)
		if err != nil {
			return drawn{}, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return drawn{Nothing: true}, nil
	}
	slices.SortStableFunc(all, func(a, b series) int { return cmp.Compare(b.mean(), a.mean()) })
	var d drawn
	for i, s := range all[:min(len(all), mostEntries)] {
		d.Legend = append(d.Legend, entry{
			Color: color(i), Name: s.name, Last: format(s.last(), one.unit()), Mean: format(s.mean(), one.unit()),
		})
	}
	width := one.GridPos.W*columnWidth - 2*panelPadding
	height := one.GridPos.H*lineHeight - 2*panelPadding - titleHeight - entryHeight*(len(d.Legend)+1)
	d.Chart = template.HTML(p.chart(all, width, height, one.stacked(), one.unit())) //nolint:gosec // has numbers and colors only
	return d, nil
}

func (p *prometheus) drawTable(ctx context.Context, one *panel) (drawn, error) {
	if len(one.Targets) != 2 {
		return drawn{}, fmt.Errorf("a table has %d queries, not one of flat and one of cumulative values", len(one.Targets))
	}
	flat, err := p.atEnd(ctx, one.Targets[0].Expr, "{{code_function_name}}")
	if err != nil {
		return drawn{}, err
	}
	cumulative, err := p.atEnd(ctx, one.Targets[1].Expr, "{{code_function_name}}")
	if err != nil {
		return drawn{}, err
	}
	byName := make(map[string]string)
	for _, s := range cumulative {
		byName[s.name] = format(s.last(), one.unit())
	}
	slices.SortStableFunc(flat, func(a, b series) int { return cmp.Compare(b.last(), a.last()) })
	d := drawn{Nothing: len(flat) == 0}
	for _, s := range flat {
		d.Table = append(d.Table, entry{Name: s.name, Last: format(s.last(), one.unit()), Mean: byName[s.name]})
	}
	return d, nil
}

func (p *prometheus) drawBars(ctx context.Context, one *panel) (drawn, error) {
	all, err := p.atEnd(ctx, one.Targets[0].Expr, one.Targets[0].Legend)
	if err != nil {
		return drawn{}, err
	}
	slices.SortStableFunc(all, func(a, b series) int { return cmp.Compare(b.last(), a.last()) })
	d := drawn{Nothing: len(all) == 0}
	for i, s := range all {
		d.Bars = append(d.Bars, entry{
			Color: color(i), Name: s.name, Last: format(s.last(), one.unit()),
			Width: 100 * max(s.last(), 0) / max(all[0].last(), 1e-9),
		})
	}
	return d, nil
}
