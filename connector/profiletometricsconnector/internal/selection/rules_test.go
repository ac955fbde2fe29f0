// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

func TestNamesAreSanitizedByCharacter(t *testing.T) {
	for key, want := range map[string]string{
		"":                       "",
		"a_b9Z":                  "a_b9Z",
		"http.route":             "http_route",
		"k8s.pod/label-x":        "k8s_pod_label_x",
		"größe":                  "gr__e",
		"\xff\xfe":               "__",
		"名前":                     "__",
		strings.Repeat("a.", 80): strings.Repeat("a_", 80),
	} {
		name, changed := appendSanitized(nil, key)
		assert.Equal(t, want, string(name))
		assert.Equal(t, want != key, changed, key)
	}
}

func TestTheValueNearestToTheSampleComesFirstAndTheOwnNameBeforeAll(t *testing.T) {
	rules := &Rules{}
	require.NoError(t, rules.Add("r", Expression{}, "", []string{"http_route"}))
	put := func(values *RuleValues, key, value string) {
		values.Put(rules.Find(key), key, pcommon.NewValueStr(value))
	}
	var near, far RuleValues
	near.Reset(rules)
	far.Reset(rules)
	rule := rules.Rule(1)
	value := func() string {
		values := near
		values.own, values.sanitized = append([]ruleValue(nil), near.own...), append([]ruleValue(nil), near.sanitized...)
		values.Fill(&far)
		return rule.GroupValue(0, &values)
	}

	assert.Empty(t, value())
	put(&far, "http.route", "far, sanitized")
	assert.Equal(t, "far, sanitized", value())
	put(&near, "http-route", "near, sanitized")
	put(&near, "http.route", "later")
	assert.Equal(t, "near, sanitized", value())
	put(&far, "http_route", "far, own")
	assert.Equal(t, "far, own", value())
	put(&near, "http_route", "near, own")
	assert.Equal(t, "near, own", value())
	put(&near, "http_Route", "another")
	assert.Equal(t, "near, own", value())
}

func TestFindingAnAttributeDoesNotAllocate(t *testing.T) {
	rules := &Rules{}
	require.NoError(t, rules.Add("r", Expression{}, "", []string{"thread_name", "service.name"}))
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if !rules.Find("thread.name").Matters() || rules.Find("process.executable.name").Matters() {
			t.Error("found the wrong one")
		}
	}))
}

func TestRulesOfOnePatternShareIt(t *testing.T) {
	rules := &Rules{}
	for _, node := range []string{"a;b", "c$", "a;b", NodeTotal, ""} {
		require.NoError(t, rules.Add("r", Expression{}, node, nil))
	}
	assert.Equal(t, 2, rules.Nodes().Len())
	assert.Equal(t, rules.Rule(1).Node, rules.Rule(3).Node)
	assert.Equal(t, AnyNode, rules.Rule(4).Node)
	assert.Equal(t, AnyNode, rules.Rule(5).Node)
	assert.True(t, (*Rules)(nil).None())
}
