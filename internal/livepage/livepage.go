// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package livepage is what the connector and the extension that shows it know of
// each other: where to register, and what there is to show.
package livepage

import (
	"time"

	"go.opentelemetry.io/collector/component"
)

// Page is an extension that shows connectors.
type Page interface {
	// Show adds a connector to the page, until the function that it returns is
	// called. Look is called for each request, and by several at a time; it
	// returns what is to be seen now.
	Show(id component.ID, look func() Connector) (remove func())
}

// Pages returns the extensions of a host that show connectors.
func Pages(host component.Host) []Page {
	var pages []Page
	for _, extension := range host.GetExtensions() {
		if page, ok := extension.(Page); ok {
			pages = append(pages, page)
		}
	}
	return pages
}

// Connector is what is to be seen of a connector. All of it is a copy, and
// bounded, whatever the data is. Its texts may hold anything.
type Connector struct {
	Started       time.Time
	FlushInterval time.Duration // 0: with each batch
	Delta         bool

	Outcomes []Outcome // of all samples since the start
	Taken    []SampleType
	Ignored  []SampleType
	// OtherSamples are those of sample types that were not told apart any more.
	OtherSamples int64

	Series    Series
	Resources []Resource // those with the most series
	Measures  []Measure
	Errors    []Error // the latest first
}

// Outcome is what became of so many samples.
type Outcome struct {
	Name    string
	Samples int64
}

// SampleType is a kind of profiles that came.
type SampleType struct {
	Type, Unit             string
	PeriodType, PeriodUnit string
	Samples                int64
	// Metrics are those that the samples feed.
	Metrics []string
	// Reason says why they are ignored, and Entry is the YAML of an entry of
	// sample_types that would take them; empty for none.
	Reason, Entry string
}

// Series are how many there are, and may be.
type Series struct {
	Live  int64
	Limit int64 // aggregation_cardinality_limit; 0 for none
	// FunctionLimit is that of functions with series, for each resource and
	// measure; 0 for none.
	FunctionLimit int
	// Overflowed is how often the weight of a batch found no series.
	Overflowed int64
	// Resources is how many there are, of which Shown are in Connector.Resources.
	Resources, Shown int
}

// Resource is what an output resource holds.
type Resource struct {
	Attributes []Attribute
	// MoreAttributes is how many there are beyond these.
	MoreAttributes int
	Series         int
	Measures       []ResourceMeasure
}

// Attribute is one of a resource.
type Attribute struct{ Key, Value string }

// ResourceMeasure is what a resource holds of a measure.
type ResourceMeasure struct {
	Metric            string
	Functions, Series int
	// Overflow names the metrics that have overflow series.
	Overflow []string
	// Refused is how many functions without series are known, and Heaviest are
	// the heaviest of them.
	Refused  int
	Heaviest []string
}

// Measure is what a metric tells of all resources together.
type Measure struct {
	Metric, Unit string
	Gauge        bool
	// From and To are when a counter counted this; zero if it did not yet.
	From, To time.Time
	Total    float64
	// Functions is how many have any weight.
	Functions              int
	HasFlat, HasCumulative bool
	ByFlat, ByCumulative   []Function
	// OverflowFlat and OverflowCumulative are the weights in overflow series.
	OverflowFlat, OverflowCumulative float64
}

// Function is what a function weighs.
type Function struct {
	Name             string
	Flat, Cumulative float64
}
