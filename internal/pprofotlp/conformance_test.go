// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofotlp

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// fixtures are the recorded profiles in testdata, by file name.
func fixtures(tb testing.TB) map[string][]byte {
	tb.Helper()
	paths, err := filepath.Glob("testdata/*.pb.gz")
	require.NoError(tb, err)
	require.NotEmpty(tb, paths)
	files := map[string][]byte{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(tb, err)
		files[filepath.Base(path)] = data
	}
	return files
}

func parse(tb testing.TB, data []byte) *profile.Profile {
	tb.Helper()
	p, err := profile.ParseData(data)
	require.NoError(tb, err)
	return p
}

// encoded is p in pprof's format, uncompressed.
func encoded(tb testing.TB, p *profile.Profile) []byte {
	tb.Helper()
	var data bytes.Buffer
	require.NoError(tb, p.WriteUncompressed(&data))
	return data.Bytes()
}

// nonconformance names the first rule of profiles.proto that data breaks.
func nonconformance(data pprofile.Profiles) error {
	c := checker{data.Dictionary()}
	for _, check := range []func() error{
		c.zeroEntriesFirst, c.noDuplicates, c.tableIndices, c.everyAttributeHasAKey,
		func() error { return c.profiles(data) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

type checker struct{ d pprofile.ProfilesDictionary }

func (c checker) zeroEntriesFirst() error {
	d := c.d
	if d.StringTable().Len() == 0 || d.StringTable().At(0) != "" {
		return errors.New("string_table[0] is not the empty string")
	}
	for name, zero := range map[string]bool{
		"mapping":   d.MappingTable().Len() > 0 && d.MappingTable().At(0).Equal(pprofile.NewMapping()),
		"location":  d.LocationTable().Len() > 0 && d.LocationTable().At(0).Equal(pprofile.NewLocation()),
		"function":  d.FunctionTable().Len() > 0 && d.FunctionTable().At(0).Equal(pprofile.NewFunction()),
		"link":      d.LinkTable().Len() == 1 && d.LinkTable().At(0).Equal(pprofile.NewLink()),
		"attribute": d.AttributeTable().Len() > 0 && d.AttributeTable().At(0).Equal(pprofile.NewKeyValueAndUnit()),
		"stack":     d.StackTable().Len() > 0 && d.StackTable().At(0).Equal(pprofile.NewStack()),
	} {
		if !zero {
			return fmt.Errorf("%s_table[0] is not the zero value", name)
		}
	}
	return nil
}

func (c checker) noDuplicates() error {
	d := c.d
	seen := map[string]bool{}
	add := func(table, entry string) error {
		key := table + " " + entry
		if seen[key] {
			return fmt.Errorf("duplicate entry in %s table: %s", table, entry)
		}
		seen[key] = true
		return nil
	}
	var errs []error
	for _, s := range d.StringTable().All() {
		errs = append(errs, add("string", s))
	}
	for _, m := range d.MappingTable().All() {
		errs = append(errs, add("mapping", fmt.Sprint(m.MemoryStart(), m.MemoryLimit(), m.FileOffset(),
			m.FilenameStrindex(), m.AttributeIndices().AsRaw())))
	}
	for _, f := range d.FunctionTable().All() {
		errs = append(errs, add("function", fmt.Sprint(f.NameStrindex(), f.SystemNameStrindex(),
			f.FilenameStrindex(), f.StartLine())))
	}
	for _, l := range d.LocationTable().All() {
		entry := []any{l.MappingIndex(), l.Address(), l.AttributeIndices().AsRaw()}
		for _, line := range l.Lines().All() {
			entry = append(entry, line.FunctionIndex(), line.Line(), line.Column())
		}
		errs = append(errs, add("location", fmt.Sprint(entry...)))
	}
	for _, a := range d.AttributeTable().All() {
		errs = append(errs, add("attribute", fmt.Sprintf("%d %d %d %q", a.KeyStrindex(), a.UnitStrindex(),
			a.Value().Type(), a.Value().AsString())))
	}
	for _, s := range d.StackTable().All() {
		errs = append(errs, add("stack", fmt.Sprint(s.LocationIndices().AsRaw())))
	}
	return firstOf(errs)
}

func (c checker) tableIndices() error {
	d := c.d
	var errs []error
	within := func(what string, length int, indices ...int32) {
		for _, i := range indices {
			if i < 0 || int(i) >= length {
				errs = append(errs, fmt.Errorf("%s %d is outside its table of %d", what, i, length))
			}
		}
	}
	strs, attrs := d.StringTable().Len(), d.AttributeTable().Len()
	for _, m := range d.MappingTable().All() {
		within("mapping file", strs, m.FilenameStrindex())
		within("mapping attribute", attrs, m.AttributeIndices().AsRaw()...)
	}
	for _, f := range d.FunctionTable().All() {
		within("function string", strs, f.NameStrindex(), f.SystemNameStrindex(), f.FilenameStrindex())
	}
	for _, l := range d.LocationTable().All() {
		within("location mapping", d.MappingTable().Len(), l.MappingIndex())
		within("location attribute", attrs, l.AttributeIndices().AsRaw()...)
		for _, line := range l.Lines().All() {
			within("line function", d.FunctionTable().Len(), line.FunctionIndex())
		}
	}
	for _, a := range d.AttributeTable().All() {
		within("attribute string", strs, a.KeyStrindex(), a.UnitStrindex())
	}
	for _, s := range d.StackTable().All() {
		within("stack location", d.LocationTable().Len(), s.LocationIndices().AsRaw()...)
	}
	return firstOf(errs)
}

// everyAttributeHasAKey leaves out the zero entry.
func (c checker) everyAttributeHasAKey() error {
	for i, a := range c.d.AttributeTable().All() {
		if i > 0 && a.KeyStrindex() == 0 {
			return fmt.Errorf("attribute %d has no key", i)
		}
	}
	return nil
}

func (c checker) profiles(data pprofile.Profiles) error {
	for _, rp := range data.ResourceProfiles().All() {
		for _, sp := range rp.ScopeProfiles().All() {
			for i, p := range sp.Profiles().All() {
				if err := c.profile(p); err != nil {
					return fmt.Errorf("profile %d: %w", i, err)
				}
			}
		}
	}
	return nil
}

func (c checker) profile(p pprofile.Profile) error {
	for _, i := range []int32{
		p.SampleType().TypeStrindex(), p.SampleType().UnitStrindex(),
		p.PeriodType().TypeStrindex(), p.PeriodType().UnitStrindex(),
	} {
		if i < 0 || int(i) >= c.d.StringTable().Len() {
			return fmt.Errorf("type string %d is outside its table", i)
		}
	}
	if err := c.attributeSet(p.AttributeIndices().AsRaw()); err != nil {
		return err
	}
	for i, s := range p.Samples().All() {
		if s.Values().Len() != 1 || s.TimestampsUnixNano().Len() != 0 || s.LinkIndex() != 0 {
			return fmt.Errorf("sample %d does not have exactly one value", i)
		}
		if s.StackIndex() < 0 || int(s.StackIndex()) >= c.d.StackTable().Len() {
			return fmt.Errorf("sample %d: stack %d is outside its table", i, s.StackIndex())
		}
		if err := c.attributeSet(s.AttributeIndices().AsRaw()); err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
	}
	return nil
}

func (c checker) attributeSet(indices []int32) error {
	keys := map[int32]bool{}
	for _, i := range indices {
		if i <= 0 || int(i) >= c.d.AttributeTable().Len() {
			return fmt.Errorf("attribute %d is outside its table", i)
		}
		key := c.d.AttributeTable().At(int(i)).KeyStrindex()
		if keys[key] {
			return fmt.Errorf("key %q occurs twice", c.d.StringTable().At(int(key)))
		}
		keys[key] = true
	}
	return nil
}

func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// sums adds up each sample type of a pprof profile, wrapping on overflow.
func sums(p *profile.Profile) []int64 {
	totals := make([]int64, len(p.SampleType))
	for _, s := range p.Sample {
		for i, v := range s.Value {
			totals[i] += v
		}
	}
	return totals
}

// convertedSums adds up each Profile of the first scope, wrapping on overflow.
func convertedSums(data pprofile.Profiles) []int64 {
	profiles := data.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles()
	totals := make([]int64, profiles.Len())
	for i, p := range profiles.All() {
		for _, s := range p.Samples().All() {
			totals[i] += s.Values().At(0)
		}
	}
	return totals
}

func TestEveryFixtureConvertsToAConformantProfile(t *testing.T) {
	for name, raw := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			p := parse(t, raw)
			before := encoded(t, p)
			out, err := Convert(p)
			require.NoError(t, err)
			require.NoError(t, nonconformance(out))
			require.Equal(t, sums(p), convertedSums(out))
			require.True(t, bytes.Equal(before, encoded(t, p)), "the input was changed")

			message, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(out)
			require.NoError(t, err)
			decoded, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(message)
			require.NoError(t, err)
			require.NoError(t, nonconformance(decoded))
			require.Equal(t, sums(p), convertedSums(decoded))
		})
	}
}

func FuzzConvert(f *testing.F) {
	for _, raw := range fixtures(f) {
		if len(raw) > 16<<10 {
			continue
		}
		// Uncompressed: a mutated byte of a gzip stream hardly ever gets further
		// than its checksum.
		f.Add(encoded(f, parse(f, raw)))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := profile.ParseData(raw)
		if err != nil {
			return
		}
		out, err := Convert(p)
		require.NoError(t, err)
		require.NoError(t, nonconformance(out))
		require.Equal(t, sums(p), convertedSums(out))

		var increments Increments
		increments.Advance(increments.Compare(p))
		if step := increments.Compare(p); step.Profile != nil && !step.Restarted {
			out, err = Convert(step.Profile)
			require.NoError(t, err)
			require.NoError(t, nonconformance(out))
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for name, raw := range fixtures(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				parse(b, raw)
			}
		})
	}
}

func BenchmarkParseAndConvert(b *testing.B) {
	for name, raw := range fixtures(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Convert(parse(b, raw)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
