// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profilejson

import (
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
)

// Stacks is the list of the distinct stacks of a profile with their weights.
//
// As JSON it is {report_type, unit, unique_stack_traces, total_value, samples},
// a sample {value, labels, stack} and a stack a list of {function_name,
// file_name, line_number, binary_name}, caller first. Samples of equal stack and
// labels are one.
type Stacks struct {
	reportType string
	unit       string
	total      int64
	unique     int      // distinct stacks, whatever their labels
	frames     [][]byte // as text, by number
	samples    []stackSample
}

type stackSample struct {
	value  int64
	labels string  // as text
	stack  []int32 // numbers of frames, caller first
}

const (
	sampleBefore = `{"value":`
	sampleLabels = `,"labels":`
	sampleStack  = `,"stack":[`
	sampleAfter  = `]}`
	// sampleMin is the least that a sample adds to its labels and frames.
	sampleMin = len(sampleBefore + "0" + sampleLabels + sampleStack + sampleAfter)
)

// NewStacks lists the stacks of a valid profile, or fails with ErrTooLarge if
// the text would have more than limit bytes, or with the error of ctx. reportType
// is repeated in the document.
func NewStacks(ctx context.Context, reportType string, p *profile.Profile, limit int64) (*Stacks, error) {
	weights, err := newWeights(p)
	if err != nil {
		return nil, err
	}
	b := stackBuilder{
		budget:  newBudget(ctx, limit),
		frames:  newFrameTable(lineOf),
		stacks:  map[string]int32{},
		samples: map[labelledStack]int64{},
	}
	var total int64
	for _, s := range p.Sample {
		total = add(total, weights.of(s))
		if err := b.add(s, weights.of(s)); err != nil {
			return nil, err
		}
	}
	return &Stacks{
		reportType: reportType,
		unit:       weights.unit,
		total:      total,
		unique:     len(b.sequences),
		frames:     b.texts,
		samples:    b.sorted(),
	}, nil
}

// stackBuilder merges samples of equal stack and labels.
type stackBuilder struct {
	budget    *budget
	frames    *frameTable
	texts     [][]byte         // of the frames
	stacks    map[string]int32 // a stack's number by its frames
	sequences [][]int32        // the frames of the stacks
	samples   map[labelledStack]int64

	scratch []int32
	key     []byte
}

type labelledStack struct {
	stack  int32
	labels string
}

func lineOf(l *profile.Location, line profile.Line) frame {
	f := frame{name: functionName(l, line), binary: binaryName(l), line: line.Line}
	if line.Function != nil {
		f.file = line.Function.Filename
	}
	return f
}

func (b *stackBuilder) add(s *profile.Sample, weight int64) error {
	stack, err := b.stack(s.Location)
	if err != nil {
		return err
	}
	id := labelledStack{stack: stack, labels: labelText(s)}
	value, known := b.samples[id]
	if !known {
		if err := b.spend(id); err != nil {
			return err
		}
	}
	b.samples[id] = add(value, weight)
	return nil
}

// spend accounts for the text of a new sample.
func (b *stackBuilder) spend(id labelledStack) error {
	if err := b.budget.spend(sampleMin + len(id.labels)); err != nil {
		return err
	}
	for _, f := range b.sequences[id.stack] {
		if err := b.budget.spend(len(b.texts[f])); err != nil {
			return err
		}
	}
	return nil
}

// stack returns the number of a stack, which is leaf first.
func (b *stackBuilder) stack(locations []*profile.Location) (int32, error) {
	b.scratch, b.key = b.scratch[:0], b.key[:0]
	size := int64(0)
	for _, location := range slices.Backward(locations) {
		for _, f := range b.frames.of(location) {
			// One stack alone may be more than the document can hold.
			if size += int64(len(b.text(f))); size > b.budget.limit {
				return 0, ErrTooLarge
			}
			if err := b.budget.step(); err != nil {
				return 0, err
			}
			b.scratch = append(b.scratch, f)
			b.key = binary.LittleEndian.AppendUint32(b.key, uint32(f))
		}
	}
	if n, known := b.stacks[string(b.key)]; known {
		return n, nil
	}
	n := int32(len(b.sequences))
	b.stacks[string(b.key)] = n
	b.sequences = append(b.sequences, slices.Clone(b.scratch))
	return n, nil
}

// text is a frame as JSON.
func (b *stackBuilder) text(number int32) []byte {
	for i := int32(len(b.texts)); i <= number; i++ {
		f := b.frames.frames[i]
		text := appendField(nil, `{"function_name":`, f.name)
		text = appendField(text, `,"file_name":`, f.file)
		text = appendNumber(text, `,"line_number":`, f.line)
		text = appendField(text, `,"binary_name":`, f.binary)
		b.texts = append(b.texts, append(text, '}'))
	}
	return b.texts[number]
}

// sorted returns the samples by weight, then by stack, then by labels.
func (b *stackBuilder) sorted() []stackSample {
	samples := make([]stackSample, 0, len(b.samples))
	for id, value := range b.samples {
		samples = append(samples, stackSample{value: value, labels: id.labels, stack: b.sequences[id.stack]})
	}
	ranks := b.frames.ranks()
	slices.SortFunc(samples, func(x, y stackSample) int {
		return cmp.Or(
			cmp.Compare(y.value, x.value),
			slices.CompareFunc(x.stack, y.stack, func(f, g int32) int { return cmp.Compare(ranks[f], ranks[g]) }),
			cmp.Compare(x.labels, y.labels),
		)
	})
	return samples
}

// labelText is the JSON of a sample's labels, which are what the query grouped
// by. Several values of one label, which pprof permits, are joined by commas.
func labelText(s *profile.Sample) string {
	if len(s.Label) == 0 && len(s.NumLabel) == 0 {
		return "{}"
	}
	labels := map[string]string{}
	for key, values := range s.NumLabel {
		texts := make([]string, len(values))
		for i, value := range values {
			texts[i] = strconv.FormatInt(value, 10)
		}
		labels[key] = strings.Join(texts, ",")
	}
	for key, values := range s.Label {
		labels[key] = strings.Join(values, ",")
	}
	text := []byte{'{'}
	for i, key := range slices.Sorted(maps.Keys(labels)) {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(appendString(text, key), ':')
		text = appendString(text, labels[key])
	}
	return string(append(text, '}'))
}

// WriteTo writes the list.
func (s *Stacks) WriteTo(w io.Writer) (int64, error) {
	out := newOutput(w)
	head := appendField(nil, `{"report_type":`, s.reportType)
	head = appendField(head, `,"unit":`, s.unit)
	head = appendNumber(head, `,"unique_stack_traces":`, int64(s.unique))
	head = appendNumber(head, `,"total_value":`, s.total)
	out.bytes(append(head, `,"samples":[`...))
	for i := range s.samples {
		if i > 0 {
			out.text(",")
		}
		s.write(out, &s.samples[i])
		if out.err != nil {
			break
		}
	}
	out.text("]}")
	return out.close()
}

func (s *Stacks) write(out *output, sample *stackSample) {
	out.text(sampleBefore)
	out.number(sample.value)
	out.text(sampleLabels)
	out.text(sample.labels)
	out.text(sampleStack)
	for i, f := range sample.stack {
		if i > 0 {
			out.text(",")
		}
		out.bytes(s.frames[f])
	}
	out.text(sampleAfter)
}
