// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Command sbom writes the software bill of materials of a Go program, as
// CycloneDX JSON, to standard output:
//
//	sbom BINARY VERSION
//
// It lists the modules that the linker put into the program, as `go version -m`
// does. Modules replaced by a directory, which are those of this repository, have
// the given version.
package main

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 2 {
		return fmt.Errorf("want BINARY VERSION, got %d arguments", len(args))
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("modules of the program: %w", err)
	}
	encoder := cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.EncodeVersion(bill(filepath.Base(args[0]), args[1], info), cdx.SpecVersion1_6); err != nil {
		return fmt.Errorf("write the bill of materials: %w", err)
	}
	return nil
}

// bill lists a program and its modules. It has neither a time nor a random number,
// so that equal programs have equal bills.
func bill(name, version string, info *buildinfo.BuildInfo) *cdx.BOM {
	program := cdx.Component{
		BOMRef:  name,
		Type:    cdx.ComponentTypeApplication,
		Name:    name,
		Version: version,
		Properties: &[]cdx.Property{
			{Name: "build:GOOS", Value: setting(info, "GOOS")},
			{Name: "build:GOARCH", Value: setting(info, "GOARCH")},
		},
	}
	// The standard library is part of every program, and has vulnerabilities of its own.
	components := []cdx.Component{library("std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, module := range info.Deps {
		components = append(components, component(module, version))
	}
	parts := make([]string, len(components))
	for i := range components {
		parts[i] = components[i].BOMRef
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &program}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: program.BOMRef, Dependencies: &parts}}
	return bom
}

func component(module *debug.Module, version string) cdx.Component {
	if replacement := module.Replace; replacement != nil {
		if replacement.Version == "" {
			// A directory; its path says nothing outside the machine.
			return library(module.Path, "v"+version)
		}
		module = replacement
	}
	c := library(module.Path, module.Version)
	if module.Sum != "" {
		c.Properties = &[]cdx.Property{{Name: "go:sum", Value: module.Sum}}
	}
	return c
}

func library(path, version string) cdx.Component {
	url := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: url}
}

// setting returns one of the settings that a program was built with, such as its
// GOOS; empty if it is not known.
func setting(info *buildinfo.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
