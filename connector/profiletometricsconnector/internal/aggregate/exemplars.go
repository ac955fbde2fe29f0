// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/symbols"
)

// exemplarTable holds the heaviest samples with a link, in weights of their
// profile. Most profiles have none, and leave it empty.
type exemplarTable struct {
	limit    int                 // per point; 0 for none
	measured pcommon.Timestamp   // of the profile
	ofSlots  [][]series.Exemplar // lists that slots refer to

	// Of one output:
	ofTotal    []series.Exemplar
	ofFunction map[symbols.FunctionID]*functionExemplars
	scaled     [2][]series.Exemplar
}

type functionExemplars struct {
	flat, cumulative []series.Exemplar
}

func (t *exemplarTable) clear() { t.ofSlots = t.ofSlots[:0] }

// exemplify offers a sample that has a link as an exemplar of its slot.
func (b *batch) exemplify(s *slot, sample pprofile.Sample, weight int64) symbols.Problem {
	t := &b.exemplars
	traceID, spanID, problem := b.symbols.Link(sample.LinkIndex())
	if t.limit == 0 || traceID.IsEmpty() {
		return problem
	}
	if s.exemplars == 0 {
		if len(t.ofSlots) < cap(t.ofSlots) {
			t.ofSlots = t.ofSlots[:len(t.ofSlots)+1]
			t.ofSlots[len(t.ofSlots)-1] = t.ofSlots[len(t.ofSlots)-1][:0]
		} else {
			t.ofSlots = append(t.ofSlots, nil)
		}
		s.exemplars = int32(len(t.ofSlots))
	}
	exemplar := series.Exemplar{TraceID: traceID, SpanID: spanID, Timestamp: t.measured, Weight: weight}
	if timestamps := sample.TimestampsUnixNano(); timestamps.Len() > 0 {
		exemplar.Timestamp = pcommon.Timestamp(timestamps.At(0))
	}
	list := &t.ofSlots[s.exemplars-1]
	*list = series.KeepHeaviest(*list, exemplar, t.limit)
	return problem
}

// addExemplars adds the exemplars of an output's slots to the points that the
// slots contributed to.
func (b *batch) addExemplars(update *series.Update, name series.Group, out output, factor int64) {
	t := &b.exemplars
	if len(t.ofSlots) == 0 {
		return
	}
	b.foldExemplars(out)
	if len(t.ofTotal) == 0 {
		return
	}
	update.Exemplify(name, t.scale(0, t.ofTotal, factor))
	for function, lists := range t.ofFunction {
		if b.isChosen(function) {
			update.ExemplifyFunction(name, b.identify(update, function),
				t.scale(0, lists.flat, factor), t.scale(1, lists.cumulative, factor))
		}
	}
}

// foldExemplars finds the heaviest exemplars of the total and of each function.
func (b *batch) foldExemplars(out output) {
	t := &b.exemplars
	t.ofTotal = t.ofTotal[:0]
	t.ofFunction = make(map[symbols.FunctionID]*functionExemplars)
	for number := out.first; number != endOfList; number = b.slots.slots[number].next {
		s := &b.slots.slots[number]
		if s.exemplars == 0 || s.weight == 0 {
			continue
		}
		for _, exemplar := range t.ofSlots[s.exemplars-1] {
			t.ofTotal = series.KeepHeaviest(t.ofTotal, exemplar, t.limit)
			for i, function := range b.symbols.StackFunctions(s.stack) {
				lists := t.ofFunction[function]
				if lists == nil {
					lists = &functionExemplars{}
					t.ofFunction[function] = lists
				}
				lists.cumulative = series.KeepHeaviest(lists.cumulative, exemplar, t.limit)
				if i == 0 {
					lists.flat = series.KeepHeaviest(lists.flat, exemplar, t.limit)
				}
			}
		}
	}
}

// scale turns weights into base units.
func (t *exemplarTable) scale(scratch int, list []series.Exemplar, factor int64) []series.Exemplar {
	scaled := t.scaled[scratch][:0]
	for _, exemplar := range list {
		exemplar.Weight = measure.Multiply(exemplar.Weight, factor)
		scaled = append(scaled, exemplar)
	}
	t.scaled[scratch] = scaled
	return scaled
}
