// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricszextension

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"time"

	"go.opentelemetry.io/collector/component"

	"github.com/profiletometrics/profiletometrics/internal/livepage"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	pageStyle string

	pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
		"style":    func() template.CSS { return template.CSS(pageStyle) }, //nolint:gosec // it is our own
		"visible":  visible,
		"number":   number,
		"count":    count,
		"share":    share,
		"moment":   moment,
		"clock":    clock,
		"duration": duration,
	}).Parse(pageText))

	// contentPolicy allows nothing but the style that stands in the page.
	contentPolicy = "default-src 'none'; style-src '" + hashOf(pageStyle) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// hashOf is how a content security policy names an inline text.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// page is what the template shows.
type page struct {
	Build        component.BuildInfo
	Now          time.Time
	ByCumulative bool
	Connectors   []section
}

// section shows a connector.
type section struct {
	livepage.Connector
	Anchor, ID   string
	Now          time.Time
	ByCumulative bool
}

// Tables are those of the top functions.
func (s section) Tables() []topTable {
	tables := make([]topTable, len(s.Measures))
	for i, measure := range s.Measures {
		tables[i] = topTable{Measure: measure, Rows: measure.ByFlat}
		if s.ByCumulative && measure.HasCumulative || !measure.HasFlat {
			tables[i].Rows = measure.ByCumulative
		}
	}
	return tables
}

// topTable shows the top functions of a measure.
type topTable struct {
	livepage.Measure
	Rows []livepage.Function
}

// HasFunctions says whether there are function metrics.
func (t topTable) HasFunctions() bool { return t.HasFlat || t.HasCumulative }

// Covers is for how long a counter counted.
func (t topTable) Covers() time.Duration { return t.To.Sub(t.From) }

// Waits says that no flush interval of a counter has ended yet.
func (t topTable) Waits() bool { return !t.Gauge && t.To.IsZero() }
