// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaapi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

const cpuType = "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"

func TestQueriesAreReadAndWritten(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"a type alone", cpuType, cpuType},
		{"empty braces", cpuType + "{}", cpuType},
		{"a type that is not delta", "memory:inuse_space:bytes:space:bytes", "memory:inuse_space:bytes:space:bytes"},
		{"a type without period, which Parca stores", "custom:things:count::", "custom:things:count::"},
		{"all operators", cpuType + `{a="1",b!="2",c=~"3.*",d!~"4|5"}`, cpuType + `{a="1",b!="2",c=~"3.*",d!~"4|5"}`},
		{"spaces, line breaks and a comma at the end", " " + cpuType + " {\n\ta = \"1\" ,\n}\n", cpuType + `{a="1"}`},
		{"single quotes and backticks", cpuType + "{a='it\"s',b=~`\\d+`}", cpuType + `{a="it\"s",b=~"\\d+"}`},
		{"escapes", cpuType + `{a="\x41\u00e9\n\""}`, cpuType + `{a="Aé\n\""}`},
		{"braces and commas within a string", cpuType + `{a="},{",b="x"}`, cpuType + `{a="},{",b="x"}`},
		{"the type as a matcher", `{__name__="` + cpuType + `",a="1"}`, cpuType + `{a="1"}`},
		{"a type that only a matcher can name", `{a="1",__name__="my-app:x:y:p:q"}`, `{__name__="my-app:x:y:p:q",a="1"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			query, err := parcaapi.ParseQuery(tc.text)
			require.NoError(t, err)
			assert.Equal(t, tc.want, query.String())
		})
	}
}

func TestAQueryKnowsItsType(t *testing.T) {
	query, err := parcaapi.ParseQuery(cpuType + `{job="fix"}`)
	require.NoError(t, err)
	assert.Equal(t, parcaapi.ProfileType{
		Name: "process_cpu", SampleType: "cpu", SampleUnit: "nanoseconds",
		PeriodType: "cpu", PeriodUnit: "nanoseconds", Delta: true,
	}, query.Type)
	assert.Equal(t, []parcaapi.Matcher{{Label: "job", Operator: "=", Value: "fix"}}, query.Matchers)
}

func TestWhereAddsMatchersAndLeavesTheQueryAsItIs(t *testing.T) {
	query, err := parcaapi.ParseQuery(cpuType + `{job="fix"}`)
	require.NoError(t, err)
	narrow := query.Where(parcaapi.Matcher{Label: "instance", Operator: "=", Value: `a"1`})
	assert.Equal(t, cpuType+`{job="fix",instance="a\"1"}`, narrow.String())
	assert.Equal(t, cpuType+`{job="fix"}`, query.String())
}

func TestMistakesInQueriesAreExplained(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		kind       parcaapi.Kind
		says       string
	}{
		{"nothing", "", parcaapi.ImpossibleType, "there is no profile type"},
		{"matchers alone", `{job="x"}`, parcaapi.ImpossibleType, "there is no profile type"},
		{"four parts", "cpu:cpu:nanoseconds:cpu", parcaapi.ImpossibleType, "has 4 of the 5 or 6 parts"},
		{"seven parts", cpuType + ":x", parcaapi.ImpossibleType, "has 7 of the 5 or 6 parts"},
		{"a sixth part that is not delta", "a:b:c:d:e:f", parcaapi.ImpossibleType, "the sixth part"},
		{"an empty name", ":b:c:d:e", parcaapi.ImpossibleType, "empty name"},
		{"a name that is no identifier", "my-app:b:c:d:e", parcaapi.ImpossibleType, `write {__name__="my-app:b:c:d:e"}`},
		{"the type twice", cpuType + `{__name__="x"}`, parcaapi.InvalidQuery, "given once"},
		{"the type as a regular expression", `{__name__=~"x"}`, parcaapi.InvalidQuery, "given once"},
		{"no closing brace", cpuType + `{a="1"`, parcaapi.InvalidQuery, "neither a comma nor a closing brace"},
		{"text after the braces", cpuType + `{a="1"} or x`, parcaapi.InvalidQuery, `"or x" after the closing brace`},
		{"a matcher without a string", cpuType + `{a=1}`, parcaapi.InvalidQuery, "a string in quotes is expected"},
		{"a matcher without an operator", cpuType + `{a}`, parcaapi.InvalidQuery, "none of the operators"},
		{"a label that is none", cpuType + `{1a="x"}`, parcaapi.InvalidQuery, "a matcher such as"},
		{"two matchers without a comma", cpuType + `{a="1" b="2"}`, parcaapi.InvalidQuery, "neither a comma"},
		{"a comma alone", cpuType + `{,}`, parcaapi.InvalidQuery, "a matcher such as"},
		{"a bad regular expression", cpuType + `{a=~"("}`, parcaapi.InvalidQuery, "missing closing )"},
		{"a bad escape", cpuType + `{a=~"\d"}`, parcaapi.InvalidQuery, `write \\ for a backslash`},
		{"a string without end", cpuType + `{a="x}`, parcaapi.InvalidQuery, "no closing quote"},
		{"a line break within a string", cpuType + "{a=\"x\ny\"}", parcaapi.InvalidQuery, "line break"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := parcaapi.ParseQuery(tc.text)
			require.ErrorContains(t, err, tc.says)
			assert.Equal(t, tc.kind, parcaapi.KindOf(err))
		})
	}
}

func TestSelectorsHaveNoType(t *testing.T) {
	want := []parcaapi.Matcher{{Label: "job", Operator: "=", Value: "x"}, {Label: "a", Operator: "!~", Value: "b"}}
	for _, text := range []string{`job="x",a!~"b"`, ` {job="x", a!~"b"} `} {
		matchers, err := parcaapi.ParseSelector(text)
		require.NoError(t, err)
		assert.Equal(t, want, matchers)
	}
	matchers, err := parcaapi.ParseSelector("")
	require.NoError(t, err)
	assert.Empty(t, matchers)
	_, err = parcaapi.ParseSelector(`__name__="x"`)
	require.ErrorContains(t, err, "many types")
	_, err = parcaapi.ParseSelector(cpuType)
	require.Error(t, err)
}

func FuzzParseQuery(f *testing.F) {
	f.Add(cpuType + `{job="fix",instance=~'a.*'}`)
	f.Add(`{__name__="my-app:x:y:p:q",a!="\x00"}`)
	f.Add("a:b:c:d:e{x=`\\`,}")
	f.Add(cpuType + "{a=\"\xff\"}")
	f.Fuzz(func(t *testing.T, text string) {
		query, err := parcaapi.ParseQuery(text)
		if err != nil {
			return
		}
		again, err := parcaapi.ParseQuery(query.String())
		require.NoError(t, err, "%q was written of %q", query, text)
		require.Equal(t, query, again)
	})
}
