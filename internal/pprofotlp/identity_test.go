// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofotlp

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shop is a heap profile of two functions, build inlined into main, in a program
// that is mapped in two pieces; edit changes how it is told, or what it counted.
func shop(allocated int64, edit func(*profile.Profile)) *profile.Profile {
	maps := []*profile.Mapping{
		{ID: 1, Start: 0x1000, Limit: 0x2000, Offset: 0, File: "/bin/shop"},
		{ID: 2, Start: 0x2000, Limit: 0x3000, Offset: 0x1000, File: "/bin/shop"},
	}
	build := &profile.Function{ID: 1, Name: "build", Filename: "shop.go", StartLine: 3}
	main := &profile.Function{ID: 2, Name: "main", Filename: "shop.go", StartLine: 9}
	p := &profile.Profile{
		SampleType: heapTypes, Mapping: maps, Function: []*profile.Function{build, main},
		Location: []*profile.Location{
			{ID: 1, Mapping: maps[1], Address: 0x2100, Line: []profile.Line{{Function: build, Line: 4}, {Function: main, Line: 10}}},
			{ID: 2, Mapping: maps[1], Address: 0x2500},
		},
	}
	for i, location := range p.Location {
		p.Sample = append(p.Sample, &profile.Sample{
			Location: []*profile.Location{location},
			Value:    []int64{allocated, allocated * 64, int64(i), int64(i) * 64},
		})
	}
	if edit != nil {
		edit(p)
	}
	return p
}

func withTenant(value string) func(*profile.Profile) {
	return func(p *profile.Profile) {
		for _, s := range p.Sample {
			s.Label = map[string][]string{"tenant": {value}}
		}
	}
}

func TestWhatIsTheSameProcess(t *testing.T) {
	for _, tc := range []struct {
		name      string
		edit      func(*profile.Profile) // of the later profile
		restarted bool
	}{
		{"nothing else changed", nil, false},
		{"inlined functions have a location each", func(p *profile.Profile) {
			inlined := p.Location[0]
			caller := &profile.Location{ID: 3, Mapping: inlined.Mapping, Address: 0x2101, Line: inlined.Line[1:]}
			inlined.Line = inlined.Line[:1]
			p.Location = append(p.Location, caller)
			p.Sample[0].Location = append(p.Sample[0].Location, caller)
		}, false},
		{"another instruction of the same line", func(p *profile.Profile) { p.Location[0].Address += 8 }, false},
		{"the two pieces of the mapping are one", func(p *profile.Profile) {
			p.Mapping = p.Mapping[:1]
			p.Mapping[0].Limit = 0x3000
			p.Location[0].Mapping, p.Location[1].Mapping = p.Mapping[0], p.Mapping[0]
		}, false},
		{"its samples have labels now", withTenant("a"), false},
		{"a function is inlined elsewhere, by another build", func(p *profile.Profile) {
			p.Location[0].Line = p.Location[0].Line[:1]
		}, true},
		{"a line moved, by another build", func(p *profile.Profile) { p.Location[0].Line[0].Line++ }, true},
		{"an address moved, by another build", func(p *profile.Profile) { p.Location[1].Address++ }, true},
		{"another program", func(p *profile.Profile) { p.Mapping[1].File = "/bin/cart" }, true},
		{"another build of the program", func(p *profile.Profile) { p.Mapping[1].BuildID = "1" }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var inc Increments
			inc.Advance(inc.Compare(shop(10, nil)))
			later := shop(15, tc.edit)
			require.NoError(t, later.CheckValid())
			step := inc.Compare(later)
			assert.Equal(t, tc.restarted, step.Restarted)
			if !tc.restarted {
				assert.Equal(t, []int64{10, 640, 1, 64}, sums(step.Profile))
			}
		})
	}
}

// split replaces each sample by several of the same stack, with labels and counts.
func split(counts map[string]int64) *profile.Profile {
	p := shop(0, nil)
	p.Sample = nil
	for value, n := range counts {
		for _, l := range p.Location {
			p.Sample = append(p.Sample, &profile.Sample{
				Location: []*profile.Location{l}, Value: []int64{n, 64 * n, 1, 64},
				Label: map[string][]string{"tenant": {value}},
			})
		}
	}
	return p
}

func TestIncrementsWhereLabelsChange(t *testing.T) {
	for _, tc := range []struct {
		name        string
		before, now map[string]int64
		want        map[string]int64 // nil if it is a restart
	}{
		{"a new label", map[string]int64{"a": 10}, map[string]int64{"a": 10, "b": 5}, map[string]int64{"b": 5}},
		{"both count", map[string]int64{"a": 10, "b": 5}, map[string]int64{"a": 11, "b": 7}, map[string]int64{"a": 1, "b": 2}},
		{"one label takes the place of another", map[string]int64{"a": 10}, map[string]int64{"b": 15}, map[string]int64{"b": 5}},
		{"one label is merged into another", map[string]int64{"a": 10, "b": 5}, map[string]int64{"b": 18}, map[string]int64{"b": 3}},
		{"one falls as another rises as much", map[string]int64{"a": 10, "b": 5}, map[string]int64{"a": 8, "b": 7}, map[string]int64{}},
		{"all together fall", map[string]int64{"a": 10, "b": 5}, map[string]int64{"b": 14}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var inc Increments
			inc.Advance(inc.Compare(split(tc.before)))
			step := inc.Compare(split(tc.now))
			require.Equal(t, tc.want == nil, step.Restarted)
			got := map[string]int64{}
			for _, s := range step.Profile.Sample {
				if tc.want != nil && s.Value[0] != 0 {
					got[s.Label["tenant"][0]] += s.Value[0]
					assert.Equal(t, 64*s.Value[0], s.Value[1])
				}
			}
			for value, n := range tc.want {
				assert.Equal(t, 2*n, got[value], "both stacks of %s", value)
			}
			assert.Len(t, got, len(tc.want))
		})
	}
}

// reported is the difference of two profiles as the tool reports it.
func reported(t *testing.T, before, now *profile.Profile) *profile.Profile {
	t.Helper()
	directory := t.TempDir()
	path := func(name string) string { return filepath.Join(directory, name) }
	for name, p := range map[string]*profile.Profile{"before": before, "now": now} {
		file, err := os.Create(path(name))
		require.NoError(t, err)
		require.NoError(t, p.Write(file))
		require.NoError(t, file.Close())
	}
	tool := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-proto", "-symbolize=none",
		"-output="+path("difference"), "-base="+path("before"), path("now"))
	out, err := tool.CombinedOutput()
	require.NoError(t, err, string(out))
	raw, err := os.ReadFile(path("difference"))
	require.NoError(t, err)
	return parse(t, raw)
}

func TestIncrementsAreWhatTheToolReportsAsDifference(t *testing.T) {
	raw := fixtures(t)
	for _, tc := range []struct {
		name        string
		before, now *profile.Profile
	}{
		{"a heap profile of Go", parse(t, raw["parca-allocs.pb.gz"]), grown(parse(t, raw["parca-allocs.pb.gz"]))},
		{"a mutex profile of Go", parse(t, raw["parca-mutex.pb.gz"]), grown(parse(t, raw["parca-mutex.pb.gz"]))},
		{"a block profile of Go", parse(t, raw["parca-block.pb.gz"]), grown(parse(t, raw["parca-block.pb.gz"]))},
		{"labels that change", split(map[string]int64{"a": 10, "b": 5}), split(map[string]int64{"b": 18})},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var inc Increments
			inc.Advance(inc.Compare(tc.before))
			step := inc.Compare(tc.now)
			require.False(t, step.Restarted)
			want := reported(t, tc.before, tc.now)
			require.Equal(t, typeNames(tc.now), typeNames(want))
			for i, st := range tc.now.SampleType {
				if CountsSinceStart(st) {
					assert.NotEmpty(t, flat(step.Profile, i), st.Type)
					assert.Equal(t, flat(want, i), flat(step.Profile, i), st.Type)
					assert.Equal(t, perFunction(want, i), perFunction(step.Profile, i), st.Type)
				}
			}
		})
	}
}
