// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// Every page in docs, and every README of a component and what is generated beside it, is in the
// navigation of the site, and everything in the navigation is a file.
func TestEveryPageIsInTheNavigation(t *testing.T) {
	var site struct{ Nav yaml.Node }
	require.NoError(t, yaml.Unmarshal([]byte(text(t, "mkdocs.yml")), &site))
	linked := make(map[string]bool)
	for _, page := range navigation(&site.Nav) {
		assert.False(t, linked[page], "%s is in the navigation twice", page)
		linked[page] = true
	}
	paths, _ := documents(t)
	for _, document := range paths {
		page, inDocs := strings.CutPrefix(document, "docs/")
		if inDocs || isComponentPage(document) {
			assert.True(t, linked[page], "%s is not in the navigation of mkdocs.yml", document)
		}
		delete(linked, page)
	}
	assert.Empty(t, linked, "in the navigation, and no file")
}

// isComponentPage tells the documents beside the code, such as connector/NAME/README.md.
func isComponentPage(document string) bool {
	for _, pattern := range []string{"connector/*/*.md", "receiver/*/*.md", "extension/*/*.md", "cmd/*/*.md"} {
		if matched, _ := path.Match(pattern, document); matched {
			return true
		}
	}
	return false
}

// navigation returns the pages under a node, which is a page, a list or a map of titles.
func navigation(node *yaml.Node) []string {
	if node.Kind == yaml.ScalarNode {
		return []string{node.Value}
	}
	var pages []string
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			continue // a title
		}
		pages = append(pages, navigation(child)...)
	}
	return pages
}
