// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// row is a row of a dashboard with its panels.
type row struct {
	title  string
	panels []panel
}

// panel is what is drawn of a panel as Grafana's JSON has it.
type panel struct {
	Type    string `json:"type"`
	Title   string `json:"title"`
	GridPos area   `json:"gridPos"`
	Targets []struct {
		Expr   string `json:"expr"`
		Legend string `json:"legendFormat"`
	} `json:"targets"`
	FieldConfig struct {
		Defaults struct {
			Unit   string `json:"unit"`
			Custom struct {
				Stacking struct {
					Mode string `json:"mode"`
				} `json:"stacking"`
			} `json:"custom"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
}

// area is a panel's place on a grid of 24 columns.
type area struct{ X, Y, W, H int }

func (p *panel) unit() string  { return p.FieldConfig.Defaults.Unit }
func (p *panel) stacked() bool { return p.FieldConfig.Defaults.Custom.Stacking.Mode == "normal" }

// top is the smallest number of functions that the dashboard offers: more lines than that are no picture.
const top = "5"

// readDashboard returns the rows of a dashboard, with queries in which all variables are set.
func readDashboard(o *options) ([]row, error) {
	text, err := os.ReadFile(o.dashboard)
	if err != nil {
		return nil, err
	}
	var dashboard struct{ Panels []panel }
	if err := json.Unmarshal(text, &dashboard); err != nil {
		return nil, fmt.Errorf("%s: %w", o.dashboard, err)
	}
	var rows []row
	for _, p := range dashboard.Panels {
		if p.Type == "row" {
			rows = append(rows, row{title: p.Title})
			continue
		}
		if len(rows) == 0 {
			return nil, fmt.Errorf("%s: the panel %q stands before the first row", o.dashboard, p.Title)
		}
		last := &rows[len(rows)-1]
		for i := range p.Targets {
			p.Targets[i].Expr = variables(o, last).Replace(p.Targets[i].Expr)
		}
		last.panels = append(last.panels, p)
	}
	return rows, nil
}

// variables sets those of the dashboard: what is chosen is chosen in the row on functions' CPU time only, so
// that the others show all that there is.
func variables(o *options, r *row) *strings.Replacer {
	service, function := ".*", ".*"
	if r.title == "Functions: CPU time" {
		service, function = o.service, strings.ReplaceAll(o.function, `\`, `\\`)
	}
	return strings.NewReplacer("$__rate_interval", "1m", "$__range", fmt.Sprintf("%ds", int(o.span.Seconds())),
		"$service", service, "$function", function, "$top", top)
}
