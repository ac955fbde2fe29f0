// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package series // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"

import (
	"bytes"
	"cmp"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// Exemplar links a point to the span in which one of its samples was taken.
type Exemplar struct {
	TraceID   pcommon.TraceID
	SpanID    pcommon.SpanID
	Timestamp pcommon.Timestamp
	Weight    int64 // of the sample, in base units
}

// compare orders exemplars from the heaviest to the lightest; among equals the
// order does not depend on which came first.
func (e Exemplar) compare(other Exemplar) int {
	return cmp.Or(
		cmp.Compare(other.Weight, e.Weight),
		cmp.Compare(e.Timestamp, other.Timestamp),
		bytes.Compare(e.TraceID[:], other.TraceID[:]),
		bytes.Compare(e.SpanID[:], other.SpanID[:]),
	)
}

// KeepHeaviest adds an exemplar to a list of at most limit, from the heaviest
// to the lightest.
func KeepHeaviest(list []Exemplar, exemplar Exemplar, limit int) []Exemplar {
	position, known := slices.BinarySearchFunc(list, exemplar, Exemplar.compare)
	if known || position >= limit {
		return list
	}
	if len(list) == limit {
		list = list[:limit-1]
	}
	return slices.Insert(list, position, exemplar)
}

// exemplars are those of a series. They belong to the latest interval that
// brought any: a cumulative series goes on showing them until there are newer
// ones.
type exemplars struct {
	list []Exemplar
	// told says that a flush has handed them on, inFlight that one has taken
	// them out.
	told, inFlight bool
}

func (e *exemplars) keep(exemplar Exemplar, limit int) {
	if e.told || e.inFlight {
		e.list, e.told, e.inFlight = e.list[:0], false, false
	}
	e.list = KeepHeaviest(e.list, exemplar, limit)
}

// Exemplify adds exemplars to the total of a group that Add has counted.
func (u *Update) Exemplify(name Group, list []Exemplar) {
	if g := u.stream.groups[string(name.Key)]; g != nil && g.total.exists() {
		u.keep(g.total.point(), list)
		return
	}
	u.keep(u.stream.overflow[total].point(), list)
}

// ExemplifyFunction adds exemplars to the points of a function that Add has
// counted.
func (u *Update) ExemplifyFunction(name Group, function FunctionID, ofFlat, ofCumulative []Exemplar) {
	g := u.stream.groups[string(name.Key)]
	position, known := int32(0), false
	if g != nil {
		position, known = g.positions[function]
	}
	for i, list := range [functionKinds][]Exemplar{ofFlat, ofCumulative} {
		k := flat + kind(i)
		if known && g.tallies[position].count(k).exists() {
			u.keep(g.point(position, k), list)
		} else {
			u.keep(u.stream.overflow[k].point(), list)
		}
	}
}

// landed and returned end the flight of a flush.
func (e *exemplars) landed() {
	if e != nil && e.inFlight {
		e.told, e.inFlight = true, false
	}
}

func (e *exemplars) returned() {
	if e != nil {
		e.inFlight = false
	}
}

func (u *Update) keep(p point, list []Exemplar) {
	if !p.exists() || len(list) == 0 {
		return
	}
	if p.exemplars == nil {
		p.exemplars = &exemplars{}
	}
	for _, exemplar := range list {
		p.exemplars.keep(exemplar, u.store.settings.Exemplars)
	}
}

// exemplify writes the exemplars of a series to its point.
func (w *writer) exemplify(out pmetric.NumberDataPoint, p point) {
	if p.exemplars == nil || (w.store.settings.Delta && p.exemplars.told) {
		return
	}
	for _, exemplar := range p.exemplars.list {
		to := out.Exemplars().AppendEmpty()
		to.SetTraceID(exemplar.TraceID)
		to.SetSpanID(exemplar.SpanID)
		to.SetTimestamp(exemplar.Timestamp)
		if w.measure.Double {
			to.SetDoubleValue(float64(exemplar.Weight) / float64(w.measure.PerUnit))
		} else {
			to.SetIntValue(exemplar.Weight / w.measure.PerUnit)
		}
	}
	p.exemplars.inFlight = true
}
