// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// documentation is what users copy configurations from.
var documentation = []string{
	"README.md", "connector/*/README.md", "receiver/*/README.md", "extension/*/README.md",
	"docs/*.md", "docs/*/*.md", "docs/*/*/*.md",
}

// Every configuration in the documentation, which is every YAML block with a
// service, is one that the distribution starts with.
func TestConfigurationsInTheDocumentationAreValid(t *testing.T) {
	blocks := 0
	for _, pattern := range documentation {
		files, err := filepath.Glob(filepath.Join(repository, pattern))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for line, block := range yamlBlocks(string(text)) {
				if !isConfiguration(t, block) {
					continue
				}
				blocks++
				name, err := filepath.Rel(repository, file)
				require.NoError(t, err)
				t.Run(fmt.Sprintf("%s:%d", name, line), func(t *testing.T) { requireValid(t, block) })
			}
		}
	}
	assert.Positive(t, blocks)
}

// yamlBlocks returns the fenced YAML blocks of a Markdown text by the line that
// they begin in.
func yamlBlocks(text string) map[int]string {
	blocks := map[int]string{}
	begin, number, indent := 0, 0, ""
	var block strings.Builder
	for line := range strings.Lines(text) {
		number++
		trimmed := strings.TrimSpace(line)
		switch {
		case begin == 0 && trimmed == "```yaml":
			indent, _, _ = strings.Cut(line, "`")
			begin = number + 1
			block.Reset()
		case begin > 0 && trimmed == "```":
			blocks[begin] = block.String()
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
