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
		for _, block := range fencedBlocks(string(text), "yaml") {
			if !isConfiguration(t, block.text) {
				continue
			}
			found++
			t.Run(fmt.Sprintf("%s:%d", name, block.line), func(t *testing.T) { requireValid(t, block.text) })
		}
	}
	assert.Positive(t, found)
}

// Every file of rules in the documentation, which is every YAML block with groups, is one that
// Prometheus accepts.
func TestRulesInTheDocumentationAreValid(t *testing.T) {
	promtool := promtool(t)
	found := 0
	for _, file := range documentation(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, block := range fencedBlocks(string(text), "yaml") {
			if !strings.HasPrefix(block.text, "groups:") {
				continue
			}
			found++
			rules := filepath.Join(t.TempDir(), "rules.yaml")
			require.NoError(t, os.WriteFile(rules, []byte(block.text), 0o600))
			output, err := exec.CommandContext(t.Context(), promtool, "check", "rules", rules).CombinedOutput()
			require.NoError(t, err, "%s:%d: %s", file, block.line, output)
		}
	}
	assert.Positive(t, found)
}

// Every query in the documentation is one that Prometheus evaluates.
func TestQueriesInTheDocumentationParse(t *testing.T) {
	prom := startPrometheusFor(t, "127.0.0.1:"+freePorts(t, 1)[0])
	found := 0
	for _, file := range documentation(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		name, err := filepath.Rel(repository, file)
		require.NoError(t, err)
		for _, block := range fencedBlocks(string(text), "promql") {
			for _, query := range queries(block.text) {
				found++
				t.Run(fmt.Sprintf("%s:%d", name, block.line), func(t *testing.T) {
					_, err := prom.query(t.Context(), query)
					require.NoError(t, err)
				})
			}
		}
	}
	assert.Positive(t, found)
}

// queries returns those of a block: each begins with a line that is neither indented nor only
// closes a parenthesis.
func queries(block string) []string {
	var queries []string
	for line := range strings.Lines(block) {
		if len(queries) == 0 || !strings.ContainsAny(line[:1], " )\n") {
			queries = append(queries, line)
		} else {
			queries[len(queries)-1] += line
		}
	}
	return queries
}

// fencedBlock is a fenced block of a Markdown text, and the line it begins in.
type fencedBlock struct {
	line int
	text string
}

func fencedBlocks(text, language string) []fencedBlock {
	var blocks []fencedBlock
	var block strings.Builder
	begin, number, indent := 0, 0, ""
	for line := range strings.Lines(text) {
		number++
		fence := strings.TrimSpace(line)
		switch {
		case begin == 0 && fence == "```"+language:
			indent, _, _ = strings.Cut(line, "`")
			begin = number + 1
			block.Reset()
		case begin > 0 && fence == "```":
			blocks = append(blocks, fencedBlock{line: begin, text: block.String()})
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
