// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The connector's packages are those of the table on architecture, and each imports only packages that
// stand before it there; but for aggregate, which adds to the store in series.
func TestImportsGoOneWay(t *testing.T) {
	const internal = "connector/profiletometricsconnector/internal"
	var chain []string
	for _, span := range column(t, text(t, "docs/development/architecture.md"), "| package | knows | does not know |\n|---|---|---|", 1) {
		if name, found := strings.CutPrefix(span, "…/internal/"); found {
			chain = append(chain, name)
		}
	}
	entries, err := os.ReadDir(filepath.Join(repository, internal))
	require.NoError(t, err)
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), "metadata") {
			assert.Contains(t, chain, entry.Name(), "a package that the table does not have")
		}
	}
	for i, name := range chain {
		allowed := chain[:i]
		if name == "aggregate" {
			allowed = append(slices.Clone(allowed), "series")
		}
		for _, imported := range imports(t, filepath.Join(repository, internal, name)) {
			other, found := strings.CutPrefix(imported, module+internal+"/")
			assert.False(t, found && !slices.Contains(allowed, other), "%s imports %s, which comes after it", name, other)
		}
	}
}

// imports returns what the files of a package import, tests aside.
func imports(t *testing.T, directory string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var found []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, one := range parsed.Imports {
			path, err := strconv.Unquote(one.Path.Value)
			require.NoError(t, err)
			found = append(found, path)
		}
	}
	return found
}
