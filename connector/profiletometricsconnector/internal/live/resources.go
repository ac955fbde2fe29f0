// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package live // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/live"

import (
	"cmp"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"
	"github.com/profiletometrics/profiletometrics/internal/livepage"
)

const (
	mostAttributes = 12
	serviceName    = "service.name"
)

// lookAtResources sees what the resources hold, and what the limits refuse.
func (l *Live) lookAtResources(view *livepage.Connector) {
	resources, count, _ := l.store.Resources(mostResources)
	view.Series = livepage.Series{
		Live:          l.store.Live(),
		Limit:         l.store.Limit(),
		FunctionLimit: l.settings.Series.FunctionLimit,
		Overflowed:    l.store.Overflowed(),
		Resources:     count,
		Shown:         len(resources),
	}
	for _, resource := range resources {
		shown := livepage.Resource{Series: resource.Series}
		shown.Attributes, shown.MoreAttributes = attributes(resource.Attributes)
		for _, stream := range resource.Streams {
			shown.Measures = append(shown.Measures, l.resourceMeasure(stream))
		}
		view.Resources = append(view.Resources, shown)
	}
}

// attributes are in the order of their keys, but for the service's name.
func attributes(all pcommon.Map) (shown []livepage.Attribute, more int) {
	for key, value := range all.All() {
		shown = append(shown, livepage.Attribute{Key: key, Value: value.AsString()})
	}
	slices.SortFunc(shown, func(a, b livepage.Attribute) int {
		switch {
		case a.Key == serviceName:
			return -1
		case b.Key == serviceName:
			return 1
		}
		return cmp.Compare(a.Key, b.Key)
	})
	most := min(mostAttributes, len(shown))
	return shown[:most], len(shown) - most
}

func (l *Live) resourceMeasure(stream series.StreamView) livepage.ResourceMeasure {
	name := l.stream(stream.Stream).Name
	shown := livepage.ResourceMeasure{
		Metric:    name,
		Functions: stream.Functions,
		Series:    stream.Series,
		Refused:   stream.Refused,
	}
	for _, overflow := range []struct {
		exists bool
		metric string
	}{
		{stream.Total, name},
		{stream.Flat, name + ".flat"},
		{stream.Cumulative, name + ".cumulative"},
	} {
		if overflow.exists {
			shown.Overflow = append(shown.Overflow, overflow.metric)
		}
	}
	for _, function := range stream.Heaviest {
		shown.Heaviest = append(shown.Heaviest, function.String())
	}
	return shown
}
