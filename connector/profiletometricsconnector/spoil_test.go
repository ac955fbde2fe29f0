// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"math"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// mostSpoilings and mostEntries bound what one message may become.
const (
	mostSpoilings = 16
	mostEntries   = 2000
)

// spoil changes a message as the dice decide, until these are used up.
func spoil(profiles pprofile.Profiles, d *dice) {
	for range mostSpoilings {
		if len(d.data) == 0 {
			return
		}
		if d.throw(2) == 0 {
			d.spoilTable(profiles.Dictionary())
		} else {
			d.spoilIndex(profiles)
		}
	}
}

// pick is a number below n, which may be large.
func (d *dice) pick(n int) int { return (d.throw(256)<<8 | d.throw(256)) % n }

// index leads into a table of n entries, or anywhere else.
func (d *dice) index(n int) int32 {
	outside := []int32{math.MaxInt32, math.MinInt32, -1, 0, int32(n), int32(n - 1), 1000}
	if i := d.throw(2 * len(outside)); i < len(outside) {
		return outside[i]
	}
	return int32(d.pick(max(n, 1)))
}

// slice is what the slices of pdata have in common.
type slice[E any] interface {
	Len() int
	At(i int) E
}

// oneOf throws for an element of a slice that is not empty.
func oneOf[E any, S slice[E]](d *dice, all S, do func(E)) {
	if all.Len() > 0 {
		do(all.At(d.pick(all.Len())))
	}
}

// spoilOne overwrites one of the indices, or adds one.
func (d *dice) spoilOne(indices pcommon.Int32Slice, n int) {
	if indices.Len() == 0 || d.throw(4) == 0 {
		indices.Append(d.index(n))
		return
	}
	indices.SetAt(d.pick(indices.Len()), d.index(n))
}

// spoilIndex lets an index of the message lead elsewhere.
func (d *dice) spoilIndex(profiles pprofile.Profiles) {
	dict := profiles.Dictionary()
	if d.throw(2) == 0 {
		d.spoilProfile(profiles)
		return
	}
	strings, attributes := dict.StringTable().Len(), dict.AttributeTable().Len()
	switch d.throw(7) {
	case 0:
		oneOf(d, dict.StackTable(), func(s pprofile.Stack) { d.spoilOne(s.LocationIndices(), dict.LocationTable().Len()) })
	case 1:
		oneOf(d, dict.LocationTable(), func(l pprofile.Location) { l.SetMappingIndex(d.index(dict.MappingTable().Len())) })
	case 2:
		oneOf(d, dict.LocationTable(), func(l pprofile.Location) {
			oneOf(d, l.Lines(), func(line pprofile.Line) { line.SetFunctionIndex(d.index(dict.FunctionTable().Len())) })
		})
	case 3:
		oneOf(d, dict.LocationTable(), func(l pprofile.Location) { d.spoilOne(l.AttributeIndices(), attributes) })
	case 4:
		oneOf(d, dict.MappingTable(), func(m pprofile.Mapping) {
			m.SetFilenameStrindex(d.index(strings))
			d.spoilOne(m.AttributeIndices(), attributes)
		})
	case 5:
		oneOf(d, dict.FunctionTable(), func(f pprofile.Function) {
			set := []func(int32){f.SetNameStrindex, f.SetSystemNameStrindex, f.SetFilenameStrindex}
			set[d.throw(len(set))](d.index(strings))
		})
	default:
		oneOf(d, dict.AttributeTable(), func(a pprofile.KeyValueAndUnit) {
			set := []func(int32){a.SetKeyStrindex, a.SetUnitStrindex}
			set[d.throw(len(set))](d.index(strings))
		})
	}
}

// spoilProfile lets an index of a profile or of a sample lead elsewhere.
func (d *dice) spoilProfile(profiles pprofile.Profiles) {
	dict := profiles.Dictionary()
	strings, attributes := dict.StringTable().Len(), dict.AttributeTable().Len()
	var all []pprofile.Profile
	eachProfile(profiles, func(profile pprofile.Profile) { all = append(all, profile) })
	profile := all[d.pick(len(all))]
	switch d.throw(8) {
	case 0:
		set := []func(int32){
			profile.SampleType().SetTypeStrindex, profile.SampleType().SetUnitStrindex,
			profile.PeriodType().SetTypeStrindex, profile.PeriodType().SetUnitStrindex,
		}
		set[d.throw(len(set))](d.index(strings))
	case 1:
		d.spoilOne(profile.AttributeIndices(), attributes)
	case 2:
		oneOf(d, profile.Samples(), func(s pprofile.Sample) { s.SetLinkIndex(d.index(dict.LinkTable().Len())) })
	case 3, 4:
		oneOf(d, profile.Samples(), func(s pprofile.Sample) { d.spoilOne(s.AttributeIndices(), attributes) })
	default:
		oneOf(d, profile.Samples(), func(s pprofile.Sample) { s.SetStackIndex(d.index(dict.StackTable().Len())) })
	}
}

// spoilTable takes a table of the dictionary apart.
func (d *dice) spoilTable(dict pprofile.ProfilesDictionary) {
	switch d.throw(7) {
	case 0:
		takeApart(d, dict.MappingTable())
	case 1:
		takeApart(d, dict.LocationTable())
	case 2:
		takeApart(d, dict.FunctionTable())
	case 3:
		takeApart(d, dict.LinkTable())
	case 4:
		takeApart(d, dict.AttributeTable())
	case 5:
		takeApart(d, dict.StackTable())
	default:
		d.takeStringsApart(dict.StringTable())
	}
}

type table[E any] interface {
	slice[E]
	AppendEmpty() E
	RemoveIf(f func(E) bool)
}

// takeApart empties a table, cuts it, doubles it, or lets two entries change
// places.
func takeApart[E interface{ CopyTo(E) }, T table[E]](d *dice, entries T) {
	n := entries.Len()
	if n == 0 {
		return
	}
	switch d.throw(8) {
	case 0:
		cut(entries, 0)
	case 1, 2:
		cut(entries, d.pick(n))
	case 3, 4:
		for i := 0; i < n && n < mostEntries; i++ {
			entry := entries.AppendEmpty()
			entries.At(i).CopyTo(entry)
		}
	default:
		i, j := d.pick(n), d.pick(n)
		free := entries.AppendEmpty()
		entries.At(i).CopyTo(free)
		entries.At(j).CopyTo(entries.At(i))
		free.CopyTo(entries.At(j))
		cut(entries, n)
	}
}

// cut leaves the first n entries.
func cut[E any, T table[E]](entries T, n int) {
	i := -1
	entries.RemoveIf(func(E) bool {
		i++
		return i >= n
	})
}

func (d *dice) takeStringsApart(entries pcommon.StringSlice) {
	texts := entries.AsRaw()
	if len(texts) == 0 {
		return
	}
	switch d.throw(8) {
	case 0:
		texts = nil
	case 1, 2:
		texts = texts[:d.pick(len(texts))]
	case 3, 4:
		if len(texts) < mostEntries {
			texts = append(slices.Clone(texts), texts...)
		}
	default:
		i, j := d.pick(len(texts)), d.pick(len(texts))
		texts[i], texts[j] = texts[j], texts[i]
	}
	entries.FromRaw(texts)
}
