// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package series // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
)

// The attributes of the semantic conventions that points carry beyond those of
// their group.
const (
	FunctionAttribute = "code.function.name"
	FileAttribute     = "code.file.path"
	OverflowAttribute = "otel.metric.overflow"
)

// writer writes the points of one metric.
type writer struct {
	*collection
	kind     kind
	measure  measure.Stream
	begin    func() pmetric.ScopeMetrics
	points   pmetric.NumberDataPointSlice
	hasBegun bool
}

func (c *collection) newWriter(stream int, k kind, begin func() pmetric.ScopeMetrics) writer {
	return writer{collection: c, kind: k, measure: c.store.settings.Streams[stream], begin: begin}
}

// stream writes every point of a stream's metric.
func (w *writer) stream(s *stream) {
	if !w.due(s) {
		return
	}
	for _, g := range s.ordered {
		if w.kind == total {
			w.point(g.total.point(), g.attributes, nil)
			continue
		}
		for i := range g.functions {
			w.point(g.point(int32(i), w.kind), g.attributes, &g.functions[i].function)
		}
	}
	w.point(s.overflow[w.kind].point(), overflowAttributes, nil)
	w.vanished(s)
}

// due says whether a stream has anything to tell. In delta temporality a gauge
// is told only when it was measured again.
func (w *writer) due(s *stream) bool {
	return !w.measure.Snapshot || !w.store.settings.Delta || s.touched
}

var overflowAttributes = func() pcommon.Map {
	attributes := pcommon.NewMap()
	attributes.PutBool(OverflowAttribute, true)
	return attributes
}()

// point writes one series if there is anything to tell of it.
func (w *writer) point(p point, attributes pcommon.Map, function *Function) {
	switch {
	case !p.exists():
		return
	case w.measure.Snapshot:
		out := w.append(attributes, function)
		out.SetTimestamp(p.measured)
		w.setValue(out, p.value)
		w.exemplify(out, p)
		p.reported = true
	case w.store.settings.Delta:
		if p.value == 0 {
			return
		}
		out := w.append(attributes, function)
		out.SetStartTimestamp(w.start)
		out.SetTimestamp(w.end)
		w.setValue(out, p.value)
		w.exemplify(out, p)
		p.inFlight = p.value
	default:
		out := w.append(attributes, function)
		out.SetStartTimestamp(p.started)
		out.SetTimestamp(w.end)
		w.setValue(out, p.value)
		w.exemplify(out, p)
	}
}

// vanished marks the series that have been emitted and are no more, each in a
// metric of its own: the Prometheus exporter looks at no further point of a
// metric once it has seen one such mark.
func (w *writer) vanished(s *stream) {
	if !w.store.settings.MarkVanished {
		return
	}
	for _, gone := range s.vanished {
		if gone.kind != w.kind || s.isBack(gone) {
			continue
		}
		attributes, function := overflowAttributes, (*Function)(nil)
		if gone.group != nil {
			attributes = gone.group.attributes
		}
		if gone.group != nil && gone.kind != total {
			function = &gone.function
		}
		w.hasBegun = false
		out := w.append(attributes, function)
		out.SetTimestamp(w.end)
		out.SetFlags(pmetric.DefaultDataPointFlags.WithNoRecordedValue(true))
	}
}

// isBack says whether a series that vanished has begun again.
func (s *stream) isBack(gone vanished) bool {
	if gone.group == nil {
		return s.overflow[gone.kind].exists()
	}
	g := s.groups[gone.group.key]
	switch {
	case g == nil:
		return false
	case gone.kind == total:
		return g.total.exists()
	default:
		position, known := g.positions[gone.id]
		return known && g.point(position, gone.kind).exists()
	}
}

func (w *writer) append(attributes pcommon.Map, function *Function) pmetric.NumberDataPoint {
	if !w.hasBegun {
		w.hasBegun = true
		w.points = w.newMetric()
	}
	out := w.points.AppendEmpty()
	if function == nil {
		attributes.CopyTo(out.Attributes())
		return out
	}
	out.Attributes().EnsureCapacity(attributes.Len() + 2)
	for key, value := range attributes.All() {
		value.CopyTo(out.Attributes().PutEmpty(key))
	}
	out.Attributes().PutStr(FunctionAttribute, function.Name)
	if w.store.settings.FileAttribute && function.File != "" {
		out.Attributes().PutStr(FileAttribute, function.File)
	}
	return out
}

func (w *writer) newMetric() pmetric.NumberDataPointSlice {
	metric := w.begin().Metrics().AppendEmpty()
	metric.SetName(w.measure.Name + suffix[w.kind])
	metric.SetDescription(describe(w.measure.Description, w.kind))
	metric.SetUnit(w.measure.Unit)
	if w.measure.Snapshot {
		return metric.SetEmptyGauge().DataPoints()
	}
	sum := metric.SetEmptySum()
	sum.SetIsMonotonic(true)
	sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	if w.store.settings.Delta {
		sum.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	}
	return sum.DataPoints()
}

// describe says what a kind of metric counts of its measure.
func describe(description string, k kind) string {
	if description == "" {
		return ""
	}
	switch k {
	case flat:
		return description + ", in the function itself"
	case cumulative:
		return description + ", in the function and whatever it called"
	default:
		return description
	}
}

func (w *writer) setValue(out pmetric.NumberDataPoint, value int64) {
	if w.measure.Double {
		out.SetDoubleValue(float64(value) / float64(w.measure.PerUnit))
		return
	}
	out.SetIntValue(value / w.measure.PerUnit)
}
