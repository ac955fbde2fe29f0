// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBillOfThisProgramNamesItsModules(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	var first, second bytes.Buffer
	require.NoError(t, run([]string{program, "1.2.3"}, &first))
	require.NoError(t, run([]string{program, "1.2.3"}, &second))
	assert.Equal(t, first.String(), second.String(), "of equal programs")

	bom := new(cdx.BOM)
	require.NoError(t, cdx.NewBOMDecoder(&first, cdx.BOMFileFormatJSON).Decode(bom))
	assert.Equal(t, cdx.SpecVersion1_6, bom.SpecVersion)
	assert.Equal(t, filepath.Base(program), bom.Metadata.Component.Name)
	assert.Equal(t, "1.2.3", bom.Metadata.Component.Version)
	assert.Contains(t, *bom.Metadata.Component.Properties, cdx.Property{Name: "build:GOOS", Value: runtime.GOOS})

	found := map[string]cdx.Component{}
	for _, c := range *bom.Components {
		found[c.Name] = c
	}
	assert.Equal(t, "pkg:golang/std@"+strings.TrimPrefix(runtime.Version(), "go"), found["std"].PackageURL)
	library := found["github.com/CycloneDX/cyclonedx-go"]
	assert.Equal(t, "pkg:golang/github.com/CycloneDX/cyclonedx-go@"+library.Version, library.PackageURL)
	require.NotNil(t, library.Properties)
	assert.Regexp(t, `^h1:`, (*library.Properties)[0].Value)

	require.Len(t, *bom.Dependencies, 1)
	assert.Len(t, *(*bom.Dependencies)[0].Dependencies, len(*bom.Components))
}

func TestReplacedModules(t *testing.T) {
	for _, tc := range []struct {
		name        string
		replacement debug.Module
		want        string
	}{
		{
			name:        "a directory of the checkout has the release's version",
			replacement: debug.Module{Path: "../"},
			want:        "pkg:golang/example.com/a@v1.2.3",
		},
		{
			name:        "another module is what the program has",
			replacement: debug.Module{Path: "example.com/b", Version: "v2.0.0+incompatible"},
			want:        "pkg:golang/example.com/b@v2.0.0%2Bincompatible",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			module := &debug.Module{Path: "example.com/a", Version: "v0.0.0", Replace: &tc.replacement}
			assert.Equal(t, tc.want, component(module, "1.2.3").PackageURL)
		})
	}
}

func TestErrorsNameTheProgram(t *testing.T) {
	require.ErrorContains(t, run(nil, nil), "want BINARY VERSION")
	file := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(file, []byte("no program"), 0o600))
	assert.ErrorContains(t, run([]string{file, "1"}, nil), file)
}
