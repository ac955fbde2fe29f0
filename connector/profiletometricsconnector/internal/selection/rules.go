// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package selection // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/selection"

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/automaton"
)

// Rules are the compiled export rules, numbered from 1 in the order in which
// they were added. A nil Rules has none.
type Rules struct {
	rules []Rule
	// names are the attributes that any rule looks up, each once.
	names  []string
	byName map[string]int32
	// nodes are the distinct patterns on stacks.
	nodes   automaton.Program
	byNodes map[string]int
}

// Rule chooses samples and says how they are grouped.
type Rule struct {
	// GroupBy are the keys of the attributes of the rule's points.
	GroupBy []string
	// Node is the position in Nodes of the pattern that stacks have to match,
	// or AnyNode.
	Node int

	matchers []ruleMatcher
	groupBy  []int32 // positions in Rules.names
}

// AnyNode stands for no condition on stacks.
const AnyNode = -1

type ruleMatcher struct {
	name int32 // position in Rules.names
	LabelMatcher
}

// serviceName is the attribute that holds the name of an application.
const serviceName = "service.name"

// NodeTotal is the node of a rule that counts every stack.
const NodeTotal = "total"

// Add compiles the next rule. Errors name the key below path.
func (r *Rules) Add(path string, expression Expression, node string, groupBy []string) error {
	added := Rule{GroupBy: groupBy, Node: AnyNode}
	if expression.Application != "" {
		added.matchers = append(added.matchers, ruleMatcher{
			r.look(serviceName),
			LabelMatcher{Name: serviceName, Operator: Equal, Value: expression.Application},
		})
	}
	for _, matcher := range expression.Matchers {
		added.matchers = append(added.matchers, ruleMatcher{r.look(matcher.Name), matcher})
	}
	for _, key := range groupBy {
		added.groupBy = append(added.groupBy, r.look(key))
	}
	var err error
	if node != "" && node != NodeTotal {
		added.Node, err = r.node(path+".node", node)
	}
	r.rules = append(r.rules, added)
	return err
}

// look returns the position of a name that a rule looks up.
func (r *Rules) look(name string) int32 {
	if position, ok := r.byName[name]; ok {
		return position
	}
	if r.byName == nil {
		r.byName = make(map[string]int32)
	}
	position := int32(len(r.names))
	r.names = append(r.names, name)
	r.byName[name] = position
	return position
}

func (r *Rules) node(path, pattern string) (int, error) {
	if position, ok := r.byNodes[pattern]; ok {
		return position, nil
	}
	re, prog, err := compileNode(pattern)
	if err != nil {
		return AnyNode, fmt.Errorf("%s: %q is neither %q nor a valid RE2 regular expression: %w; see https://github.com/google/re2/wiki/Syntax", path, pattern, NodeTotal, err)
	}
	if r.byNodes == nil {
		r.byNodes = make(map[string]int)
	}
	position := r.nodes.Add(re, prog)
	r.byNodes[pattern] = position
	return position, nil
}

// compileNode compiles a pattern in the two forms that an automaton takes.
func compileNode(pattern string) (*regexp.Regexp, *syntax.Prog, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, nil, err
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, nil, err
	}
	prog, err := syntax.Compile(parsed.Simplify())
	return re, prog, err
}

// Rule returns the rule of a number.
func (r *Rules) Rule(number int) *Rule { return &r.rules[number-1] }

// None is true where there are no rules.
func (r *Rules) None() bool { return r == nil || len(r.rules) == 0 }

// Nodes are the distinct patterns on stacks: on the names of the functions from
// the root to the leaf, joined by ";". A rule's Node is a position in it.
func (r *Rules) Nodes() *automaton.Program { return &r.nodes }

// RulePlace is where the value of an attribute belongs among the values that
// rules look up: a rule finds it by its own name, or else by the name with
// every character replaced that a Prometheus label cannot have.
type RulePlace struct{ own, sanitized int32 }

const nowhere int32 = -1

// Matters says whether any rule looks an attribute up.
func (p RulePlace) Matters() bool { return p.own != nowhere || p.sanitized != nowhere }

// Find returns the place of an attribute.
func (r *Rules) Find(key string) RulePlace {
	place := RulePlace{nowhere, nowhere}
	if position, ok := r.byName[key]; ok {
		place.own = position
	}
	var scratch [64]byte
	if name, changed := appendSanitized(scratch[:0], key); changed {
		if position, ok := r.byName[string(name)]; ok {
			place.sanitized = position
		}
	}
	return place
}

// Sanitized is a key with every character outside of [a-zA-Z0-9_] as "_".
func Sanitized(key string) string {
	name, _ := appendSanitized(nil, key)
	return string(name)
}

// appendSanitized appends a key with every character outside of [a-zA-Z0-9_]
// as "_", and says whether there was any.
func appendSanitized(name []byte, key string) ([]byte, bool) {
	changed := false
	for i := 0; i < len(key); {
		c := key[i]
		if c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			name = append(name, c)
			i++
			continue
		}
		name = append(name, '_')
		changed = true
		_, size := utf8.DecodeRuneInString(key[i:])
		i += size
	}
	return name, changed
}

// RuleValues are the values of the attributes that rules look up, by own name
// and by sanitized name.
type RuleValues struct {
	own, sanitized []ruleValue
}

type ruleValue struct {
	text  string
	found bool
}

// Reset empties the values.
func (v *RuleValues) Reset(r *Rules) {
	v.own, v.sanitized = emptyValues(v.own, len(r.names)), emptyValues(v.sanitized, len(r.names))
}

func emptyValues(values []ruleValue, n int) []ruleValue {
	if cap(values) < n {
		return make([]ruleValue, n)
	}
	values = values[:n]
	clear(values)
	return values
}

// Release lets go of the texts.
func (v *RuleValues) Release() {
	clear(v.own[:cap(v.own)])
	clear(v.sanitized[:cap(v.sanitized)])
}

// Put sets the value of an attribute unless it has one already: the attribute
// nearest to the sample comes first.
func (v *RuleValues) Put(place RulePlace, key string, value pcommon.Value) {
	if place.own != nowhere {
		v.own[place.own].put(key, value)
	}
	if place.sanitized != nowhere {
		v.sanitized[place.sanitized].put(key, value)
	}
}

func (v *ruleValue) put(key string, value pcommon.Value) {
	if v.found {
		return
	}
	v.found = true
	v.text = value.AsString()
	if IsThreadName(key) {
		v.text = TrimName(v.text)
	}
}

// Fill sets the values that are not set yet to those of another set.
func (v *RuleValues) Fill(from *RuleValues) {
	for i := range v.own {
		if !v.own[i].found {
			v.own[i] = from.own[i]
		}
		if !v.sanitized[i].found {
			v.sanitized[i] = from.sanitized[i]
		}
	}
}

// text returns the value that a name finds; empty for none.
func (v *RuleValues) text(name int32) string {
	if v.own[name].found {
		return v.own[name].text
	}
	return v.sanitized[name].text
}

// Takes says whether the rule counts samples with these values.
func (r *Rule) Takes(values *RuleValues) bool {
	for i := range r.matchers {
		if !r.matchers[i].Matches(values.text(r.matchers[i].name)) {
			return false
		}
	}
	return true
}

// GroupValue returns the value of the i-th key of GroupBy.
func (r *Rule) GroupValue(i int, values *RuleValues) string { return values.text(r.groupBy[i]) }
