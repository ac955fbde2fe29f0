// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetessd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v3"
)

const root = "../../.."

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

func blocksOf(t *testing.T, page string) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
	require.NoError(t, err)
	var blocks []string
	for _, match := range yamlBlock.FindAllStringSubmatch(string(content), -1) {
		blocks = append(blocks, match[1])
	}
	return blocks
}

// receiverIn is the configuration of the receiver in a block, nil if it has none.
func receiverIn(t *testing.T, block string) map[string]any {
	t.Helper()
	var page struct {
		Receivers yaml.Node `yaml:"receivers"`
	}
	var receivers struct {
		PprofScrape map[string]any `yaml:"pprofscrape"`
	}
	if yaml.Unmarshal([]byte(block), &page) != nil || page.Receivers.Kind != yaml.MappingNode {
		return nil
	}
	require.NoError(t, page.Receivers.Decode(&receivers))
	return receivers.PprofScrape
}

func TestTheConfigurationsInTheDocumentationAreValid(t *testing.T) {
	for page, want := range map[string]int{
		"docs/recipes/kubernetes-pods.md": 2,
		"docs/migration/parca-scrape.md":  1,
	} {
		t.Run(page, func(t *testing.T) {
			found := 0
			for _, block := range blocksOf(t, page) {
				raw := receiverIn(t, block)
				if raw == nil {
					continue
				}
				found++
				cfg := NewFactory().CreateDefaultConfig()
				require.NoError(t, confmap.NewFromStringMap(raw).Unmarshal(cfg), block)
				require.NoError(t, confmap.Validate(cfg), block)
			}
			assert.Equal(t, want, found)
		})
	}
}

func TestTheRecipeQuotesItsConfiguration(t *testing.T) {
	config, err := os.ReadFile(filepath.FromSlash(example))
	require.NoError(t, err)
	quoted := 0
	for _, block := range blocksOf(t, "docs/recipes/kubernetes-pods.md") {
		if strings.Contains(block, "__meta_kubernetes") {
			quoted++
			assert.Contains(t, string(config), block)
		}
	}
	assert.Equal(t, 1, quoted)
}

// What the page on Parca calls the same is the same in its example.
func TestParcasExampleIsTranslatedKeyByKey(t *testing.T) {
	blocks := blocksOf(t, "docs/migration/parca-scrape.md")
	var parca struct {
		ScrapeConfigs []map[string]any `yaml:"scrape_configs"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(blocks[0], "process_cpu", "cpu")), &parca))
	theirs := parca.ScrapeConfigs[0]
	ours := receiverIn(t, blocks[1])["scrape_configs"].([]any)[0].(map[string]any)
	for _, key := range []string{"job_name", "scheme", "params", "static_configs", "file_sd_configs", "relabel_configs"} {
		assert.Equal(t, theirs[key], ours[key], key)
	}
	profiling := theirs["profiling_config"].(map[string]any)
	assert.Equal(t, profiling["path_prefix"], ours["path_prefix"])
	profiles := ours["profiles"].(map[string]any)
	for name, settings := range profiling["pprof_config"].(map[string]any) {
		translated := settings.(map[string]any)
		delete(translated, "delta")
		if keep, has := translated["keep_sample_type"]; has {
			translated["keep_sample_types"] = keep
			delete(translated, "keep_sample_type")
		}
		assert.Equal(t, translated, profiles[name], name)
	}
	for _, onInParca := range []string{"goroutine", "mutex"} {
		assert.Equal(t, map[string]any{"enabled": true}, profiles[onInParca])
	}
}
