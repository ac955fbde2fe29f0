// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dashboard is what is checked of a dashboard of Grafana.
type dashboard struct {
	UID        string `json:"uid"`
	Templating struct {
		List []struct {
			Name       string      `json:"name"`
			Label      string      `json:"label"`
			Type       string      `json:"type"`
			Datasource *datasource `json:"datasource"`
		} `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type panel struct {
	ID          int         `json:"id"`
	Type        string      `json:"type"`
	Title       string      `json:"title"`
	Description string      `json:"description"`
	Datasource  *datasource `json:"datasource"`
	GridPos     area        `json:"gridPos"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Targets []struct {
		RefID      string      `json:"refId"`
		Expr       string      `json:"expr"`
		Datasource *datasource `json:"datasource"`
	} `json:"targets"`
}

type datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// area is a panel's place on a grid of 24 columns.
type area struct{ X, Y, W, H int }

func (a area) overlaps(b area) bool {
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "dashboards", "profiletometrics.json"))
	require.NoError(t, err)
	var result dashboard
	require.NoError(t, json.Unmarshal(text, &result))
	require.NotEmpty(t, result.Panels)
	return result
}

// chosen is the data source that the viewer chooses.
var chosen = &datasource{Type: "prometheus", UID: "${datasource}"}

func TestDashboardHasOneDatasourceVariable(t *testing.T) {
	d := readDashboard(t)
	assert.NotEmpty(t, d.UID)
	require.NotEmpty(t, d.Templating.List)
	assert.Equal(t, "datasource", d.Templating.List[0].Name, "the other variables are queries to it")
	assert.Equal(t, "datasource", d.Templating.List[0].Type)
	for _, variable := range d.Templating.List[1:] {
		if variable.Type == "query" {
			assert.Equal(t, chosen, variable.Datasource, variable.Name)
		}
	}
	for _, p := range d.Panels {
		if p.Type == "row" {
			continue
		}
		assert.Equal(t, chosen, p.Datasource, p.Title)
		for _, target := range p.Targets {
			assert.Equal(t, chosen, target.Datasource, p.Title)
		}
	}
}

func TestDashboardPanelsAreWhole(t *testing.T) {
	ids := make(map[int]string)
	titles := make(map[string]bool)
	for _, p := range readDashboard(t).Panels {
		assert.Positive(t, p.ID, p.Title)
		assert.Empty(t, ids[p.ID], "%s has the id of another panel", p.Title)
		ids[p.ID] = p.Title
		assert.NotEmpty(t, p.Title)
		assert.False(t, titles[p.Title], "two panels are called %s", p.Title)
		titles[p.Title] = true
		if p.Type == "row" {
			continue
		}
		assert.NotEmpty(t, p.Description, p.Title)
		assert.NotEmpty(t, p.FieldConfig.Defaults.Unit, p.Title)
		assert.NotEmpty(t, p.Targets, p.Title)
		refs := make(map[string]bool)
		for _, target := range p.Targets {
			assert.False(t, refs[target.RefID], "%s: two queries are called %s", p.Title, target.RefID)
			refs[target.RefID] = true
		}
	}
}

func TestDashboardPanelsDoNotOverlap(t *testing.T) {
	panels := readDashboard(t).Panels
	for i, p := range panels {
		assert.Positive(t, p.GridPos.W, p.Title)
		assert.Positive(t, p.GridPos.H, p.Title)
		assert.GreaterOrEqual(t, p.GridPos.X, 0, p.Title)
		assert.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		for _, other := range panels[:i] {
			assert.False(t, p.GridPos.overlaps(other.GridPos), "%s lies on %s", p.Title, other.Title)
		}
	}
}

// Every variable that a query uses is defined, by the dashboard or by Grafana.
func TestDashboardVariablesExist(t *testing.T) {
	d := readDashboard(t)
	known := []string{"$__rate_interval", "", "$__range", ""}
	for _, variable := range d.Templating.List {
		known = append(known, "$"+variable.Name, "")
	}
	replace := strings.NewReplacer(known...)
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			assert.NotContains(t, replace.Replace(target.Expr), "$", p.Title)
		}
	}
}
