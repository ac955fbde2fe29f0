// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package testprofile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// document is the outermost level of the notation.
type document struct {
	Batches   []Batch       `yaml:"batches"`
	Resources []Resource    `yaml:"resources"`
	Wait      time.Duration `yaml:"wait"`
}

// Parse reads the notation described at the package.
func Parse(text []byte) (Script, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	var doc document
	if err := decoder.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return Script{}, fmt.Errorf("profile notation: %w", err)
	}
	return doc.script()
}

func (d document) script() (Script, error) {
	if d.Batches != nil && d.Resources != nil {
		return Script{}, errors.New("profile notation: either batches or resources, not both")
	}
	if d.Batches == nil {
		d.Batches = []Batch{{Resources: d.Resources}}
	}
	return Script{Batches: d.Batches, Wait: d.Wait}, nil
}

// UnmarshalYAML reads a location as a string or a mapping.
func (l *Location) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*l = parseLocation(node.Value)
		return nil
	}
	type plain Location
	return decodeStrictly(node, (*plain)(l), "lines", "mapping", "address", "attributes")
}

// UnmarshalYAML reads a line as a string or a mapping.
func (l *Line) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*l = parseLine(node.Value)
		return nil
	}
	type plain Line
	return decodeStrictly(node, (*plain)(l), "name", "system_name", "file", "line")
}

// decodeStrictly checks the keys itself: a decoder does not hand KnownFields on
// to custom unmarshalers.
func decodeStrictly(node *yaml.Node, into any, keys ...string) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want a string or a mapping", node.Line)
	}
	for i := 0; i < len(node.Content); i += 2 {
		if key := node.Content[i]; !slices.Contains(keys, key.Value) {
			return fmt.Errorf("line %d: unknown key %q, want one of %q", key.Line, key.Value, keys)
		}
	}
	return node.Decode(into)
}
