// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	inlineLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codeSpan   = regexp.MustCompile("`[^`]*`")
	heading    = regexp.MustCompile(`^#{1,6} +(.*?) *#*$`)
	linkText   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// Every link within the repository leads to a file, and every anchor to a heading. Links to other
// hosts are not followed.
func TestLinksLeadSomewhere(t *testing.T) {
	paths, texts := documents(t)
	checked := 0
	for _, document := range paths {
		lines, _ := prose(texts[document], "")
		for _, line := range lines {
			for _, match := range inlineLink.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, "`code`"), -1) {
				target, anchor, _ := strings.Cut(match[1], "#")
				if strings.Contains(target, ":") {
					continue
				}
				checked++
				file := document
				if target != "" {
					file = path.Join(path.Dir(document), target)
				}
				info, err := os.Stat(filepath.Join(repository, file))
				if err != nil {
					assert.Fail(t, "a link leads nowhere", "%s: %s", document, match[1])
					continue
				}
				if anchor == "" {
					continue
				}
				if info.IsDir() {
					file = path.Join(file, "README.md")
				}
				if text, ok := texts[file]; assert.True(t, ok, "%s: %s has an anchor into no document", document, match[1]) {
					assert.Contains(t, anchors(text), anchor, "%s: %s has no such heading", document, match[1])
				}
			}
		}
	}
	assert.Positive(t, checked)
}

// anchors returns those of a text's headings that GitHub and mkdocs call the same.
func anchors(text string) map[string]bool {
	result := make(map[string]bool)
	lines, _ := prose(text, "")
	seen := make(map[string]int)
	for _, line := range lines {
		match := heading.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		name := slug(linkText.ReplaceAllString(match[1], "$1"))
		// Of headings with one name, the second is name-1 on GitHub and name_1 with mkdocs; and mkdocs
		// makes one dash of several.
		if seen[name] == 0 && !strings.Contains(name, "--") {
			result[name] = true
		}
		seen[name]++
	}
	return result
}

// slug is a heading's anchor.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		default:
			return -1
		}
	}, heading)
}

func TestAnchorsAreThoseOfGitHubAndMkdocs(t *testing.T) {
	for i, test := range []struct{ heading, anchor string }{
		{"## Troubleshooting", "troubleshooting"},
		{"### What is measured", "what-is-measured"},
		{"## A target of pprofscrape fails", "a-target-of-pprofscrape-fails"},
		{"### json_flamegraph", "json_flamegraph"},
		{"## `code`, and [a link](elsewhere.md)", "code-and-a-link"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			require.Equal(t, map[string]bool{test.anchor: true}, anchors(test.heading+"\n"))
		})
	}
	assert.Empty(t, anchors("## Flat & cumulative\n"), "GitHub: flat--cumulative, mkdocs: flat-cumulative")
	assert.Len(t, anchors("## One\n## One\n"), 1)
	assert.Empty(t, anchors("```sh\n# no heading\n```\n"))
}
