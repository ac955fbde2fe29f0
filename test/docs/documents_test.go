// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const repository = "../.."

// documents returns the repository's Markdown files by their paths in it, in order.
func documents(t *testing.T) (paths []string, texts map[string]string) {
	t.Helper()
	texts = make(map[string]string)
	require.NoError(t, filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && isOutput(entry.Name()) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(repository, path)
			texts[filepath.ToSlash(name)] = string(text)
			return err
		}
		return nil
	}))
	require.NotEmpty(t, texts)
	return slices.Sorted(maps.Keys(texts)), texts
}

// isOutput tells directories that hold no documents of ours.
func isOutput(dir string) bool {
	return dir == "site" || dir == "testdata" || dir == "node_modules" || strings.HasPrefix(dir, "dist") ||
		len(dir) > 2 && strings.HasPrefix(dir, ".")
}

// prose returns a Markdown text's lines without those of fenced blocks, and the blocks of a language.
func prose(text, language string) (lines, blocks []string) {
	var block strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		mark := strings.TrimSpace(line)
		switch {
		case fence == "" && strings.HasPrefix(mark, "```"):
			fence = mark
			block.Reset()
		case fence != "" && mark == "```":
			if fence == "```"+language {
				blocks = append(blocks, block.String())
			}
			fence = ""
		case fence != "":
			block.WriteString(line)
		default:
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return lines, blocks
}
