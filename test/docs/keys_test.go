// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v3"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector"
	"github.com/profiletometrics/profiletometrics/extension/parcaqueryextension"
	"github.com/profiletometrics/profiletometrics/extension/profiletometricszextension"
	"github.com/profiletometrics/profiletometrics/receiver/parcareceiver"
	"github.com/profiletometrics/profiletometrics/receiver/pprofscrapereceiver"
)

const module = "github.com/profiletometrics/profiletometrics/"

// components are the factories by the directories of their READMEs.
func components() map[string]component.Factory {
	return map[string]component.Factory{
		"connector/profiletometricsconnector":  profiletometricsconnector.NewFactory(),
		"receiver/pprofscrapereceiver":         pprofscrapereceiver.NewFactory(),
		"receiver/parcareceiver":               parcareceiver.NewFactory(),
		"extension/parcaqueryextension":        parcaqueryextension.NewFactory(),
		"extension/profiletometricszextension": profiletometricszextension.NewFactory(),
	}
}

func readme(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, dir, "README.md"))
	require.NoError(t, err)
	return string(text)
}

// Every default in a component's table of keys is the one that the component has.
func TestDocumentedDefaults(t *testing.T) {
	for dir, factory := range components() {
		t.Run(dir, func(t *testing.T) {
			defaults := confmap.New()
			require.NoError(t, defaults.Marshal(factory.CreateDefaultConfig()))
			rows := keyTable(readme(t, dir))
			require.NotEmpty(t, rows)
			for _, row := range rows {
				for _, key := range row.keys {
					path := strings.ReplaceAll(key, ".", confmap.KeyDelimiter)
					if strings.Contains(path, "<") { // a key of a map, which has no default
						continue
					}
					if assert.True(t, defaults.IsSet(path), "there is no key %s", key) && row.byDefault != "" {
						assert.Equal(t, plain(t, row.byDefault), plain(t, defaults.Get(path)), key)
					}
				}
			}
		})
	}
}

// keyRow is a row of a table of keys; byDefault is empty where it is no value.
type keyRow struct {
	keys      []string
	byDefault string
}

var inCode = regexp.MustCompile("`([^`]+)`")

// keyTable returns the first table of keys, which has those of the component itself.
func keyTable(text string) []keyRow {
	_, table, _ := strings.Cut(text, "| key | default | meaning |\n|---|---|---|\n")
	var rows []keyRow
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			break
		}
		if cells[2] = strings.TrimSpace(cells[2]); cells[2] == "required" || strings.Contains(cells[1], "…") {
			continue // no default, or a list of settings that the Collector documents
		}
		row := keyRow{}
		for _, key := range inCode.FindAllStringSubmatch(cells[1], -1) {
			row.keys = append(row.keys, key[1])
		}
		if value := inCode.FindStringSubmatch(cells[2]); len(value) > 1 && value[0] == cells[2] {
			row.byDefault = value[1]
		}
		rows = append(rows, row)
	}
	return rows
}

// plain makes values comparable that are written in one form and held in another.
func plain(t *testing.T, value any) any {
	t.Helper()
	if text, ok := value.(string); ok {
		if duration, err := time.ParseDuration(text); err == nil {
			return duration
		}
		require.NoError(t, yaml.Unmarshal([]byte(text), &value), text)
	}
	reflected := reflect.ValueOf(value)
	switch {
	case !reflected.IsValid():
		return nil
	case reflected.Type() == reflect.TypeFor[time.Duration]():
		return value
	case reflected.Kind() == reflect.Slice, reflected.Kind() == reflect.Map:
		if reflected.Len() == 0 {
			return nil
		}
	case reflected.CanInt():
		return reflected.Int()
	case reflected.Kind() == reflect.String:
		return reflected.String()
	}
	return value
}

// Every key that a component itself defines stands in its README.
func TestEveryKeyIsDocumented(t *testing.T) {
	found := 0
	for dir, factory := range components() {
		t.Run(dir, func(t *testing.T) {
			text := readme(t, dir)
			keys := make(map[string]bool)
			collectKeys(reflect.TypeOf(factory.CreateDefaultConfig()), keys)
			found += len(keys)
			for key := range keys {
				// In a table, or in an example.
				mention := regexp.MustCompile("[`.:]" + key + "[`.]|[ {(`]" + key + ":")
				assert.True(t, mention.MatchString(text), "the README has no %s", key)
			}
		})
	}
	assert.Positive(t, found)
}

// collectKeys finds the keys of a type and of all of this module's types in it.
func collectKeys(of reflect.Type, keys map[string]bool) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		collectKeys(of.Elem(), keys)
	case reflect.Struct:
		if !strings.HasPrefix(of.PkgPath()+"/", module) {
			return
		}
		for i := range of.NumField() {
			field := of.Field(i)
			tag := field.Tag.Get("mapstructure")
			if name, _, _ := strings.Cut(tag, ","); name != "" && name != "-" {
				keys[name] = true
			}
			collectKeys(field.Type, keys)
		}
	default:
	}
}
