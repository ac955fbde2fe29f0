// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/selection"
	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"
	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// TestPatternsMeetEachStackOnce counts the frames over which the patterns of
// several rules are walked: those of the distinct stacks, however many samples,
// threads and profiles there are.
func TestPatternsMeetEachStackOnce(t *testing.T) {
	measures := measure.NewTable(measure.BuiltIn{}, measure.BuiltIn{}, measure.BuiltIn{}, nil)
	rules := &selection.Rules{}
	for i, node := range []string{"a;b", "c$", "a;b", selection.NodeTotal, "^main"} {
		name := fmt.Sprint("rule_", i)
		measures.AddRule(measure.Rule{Name: name})
		require.NoError(t, rules.Add(name, selection.Expression{}, node, []string{"thread.name"}))
	}
	selected := &selection.Selection{Functions: &selection.Functions{}, Rules: rules}
	selected.Compile()
	aggregator := New(measures, selected, series.NewStore(series.Settings{Streams: measures.Streams()}), Options{})

	var samples []testprofile.Sample
	for i := range 1000 {
		samples = append(samples, testprofile.Sample{
			Stack:      testprofile.Stack([][]string{{"c", "b", "a", "main"}, {"b", "a"}}[i%2]...),
			Values:     []int64{1},
			Attributes: testprofile.Attributes{"thread.name": fmt.Sprint("thread", i%100)},
		})
	}
	profile := testprofile.Profile{SampleType: "cpu/nanoseconds", Samples: samples}
	resource := testprofile.Resource{Profiles: []testprofile.Profile{profile, profile}}
	profiles := testprofile.New(t, resource, resource)

	const frames = 4 + 2
	for batches := 1; batches <= 3; batches++ {
		report := aggregator.Add(profiles, time.Unix(1, 0))
		require.EqualValues(t, 4000, report.Converted)
		b := aggregator.takeBatch()
		assert.Equal(t, batches*frames, b.rules.matcher.Walked())
		aggregator.putBatch(b)
	}
}
