// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// documentation returns the Markdown files that users copy configurations from.
func documentation(t *testing.T) []string {
	t.Helper()
	files := []string{filepath.Join(repository, "README.md")}
	for _, dir := range []string{"connector", "receiver", "extension", "docs"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(repository, dir), func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".md" {
				files = append(files, path)
			}
			return err
		}))
	}
	return files
}

// Every configuration in the documentation, which is every YAML block with a
// service, is one that the distribution starts with.
func TestConfigurationsInTheDocumentationAreValid(t *testing.T) {
	found := 0
	for _, file := range documentation(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		name, err := filepath.Rel(repository, file)
		require.NoError(t, err)
		for _, block := range yamlBlocks(string(text)) {
			if !isConfiguration(t, block.text) {
				continue
			}
			found++
			t.Run(fmt.Sprintf("%s:%d", name, block.line), func(t *testing.T) { requireValid(t, block.text) })
		}
	}
	assert.Positive(t, found)
}

// yamlBlock is a fenced block of a Markdown text, and the line it begins in.
type yamlBlock struct {
	line int
	text string
}

func yamlBlocks(text string) []yamlBlock {
	var blocks []yamlBlock
	var block strings.Builder
	begin, number, indent := 0, 0, ""
	for line := range strings.Lines(text) {
		number++
		fence := strings.TrimSpace(line)
		switch {
		case begin == 0 && fence == "```yaml":
			indent, _, _ = strings.Cut(line, "`")
			begin = number + 1
			block.Reset()
		case begin > 0 && fence == "```":
			blocks = append(blocks, yamlBlock{line: begin, text: block.String()})
			begin = 0
		case begin > 0:
			block.WriteString(strings.TrimPrefix(line, indent))
		}
	}
	return blocks
}

func isConfiguration(t *testing.T, block string) bool {
	t.Helper()
	var content yaml.Node
	require.NoError(t, yaml.Unmarshal([]byte(block), &content), block)
	var keys map[string]yaml.Node
	return content.Decode(&keys) == nil && keys["service"].Kind == yaml.MappingNode
}

func requireValid(t *testing.T, config string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	output, err := exec.CommandContext(t.Context(), program(t, "OTELCOL_BIN"), "validate", "--config", file, profilesSupport).CombinedOutput()
	require.NoError(t, err, "%s", output)
}
