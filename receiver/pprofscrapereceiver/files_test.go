// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIncludedFilesAreReadOnceAndTakenWhole(t *testing.T) {
	cfg := testConfig()
	cfg.IncludeFiles = []string{"testdata/*.pb.gz", "testdata/parca-*", "testdata/not-a-profile.txt", "testdata/missing*"}
	h := newHarness(t, cfg, nil).start(t)
	h.running.Wait()

	got := h.sink.AllProfiles()
	require.Len(t, got, 3, "each once, in the order of their paths")
	want, err := profile.ParseData(fixture(t, "parca-allocs.pb.gz"))
	require.NoError(t, err)
	totals := map[string]int64{}
	for _, s := range want.Sample {
		for i, st := range want.SampleType {
			totals[st.Type] += s.Value[i]
		}
	}
	assert.Equal(t, totals, sums(got[1]))
	assert.Equal(t, "unknown_service", got[0].ResourceProfiles().At(0).Resource().Attributes().AsRaw()["service.name"])
	resource := got[1].ResourceProfiles().At(0).Resource().Attributes().AsRaw()
	assert.Equal(t, map[string]any{
		"service.name": "unknown_service:" + executableName(want), "process.executable.name": executableName(want),
	}, resource)

	assert.Equal(t, map[string]int64{"success": 3, "invalid": 1}, h.counts(t, "scrapes", "outcome"))
	assert.Equal(t, map[string]int64{"include_files": 4}, h.counts(t, "scrapes", "target"))
	assert.Equal(t, 1, h.logs.FilterMessageSnippet("No file matches").Len())
	assert.Equal(t, 1, h.logs.FilterMessageSnippet("Cannot take an included file").Len())
}

func TestFilesThatCannotBeTakenDoNotStopOthers(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"1-cut.pb.gz": heap(t, 1, 1)[:40], "2-large.pb.gz": make([]byte, 2000), "4-good.pb.gz": heap(t, 1, 1),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "3-gone.pb.gz")))
	cfg := testConfig()
	cfg.MaxResponseBodySize = 1000
	cfg.IncludeFiles = []string{filepath.Join(dir, "*")}
	h := newHarness(t, cfg, nil).start(t)
	h.running.Wait()
	assert.Len(t, h.sink.AllProfiles(), 1)
	assert.Equal(t, map[string]int64{"corrupt": 1, "too_large": 1, "unreachable": 1, "success": 1}, h.counts(t, "scrapes", "outcome"))
}

func TestAFileThatThePipelineRefusesIsAnError(t *testing.T) {
	cfg := testConfig()
	cfg.IncludeFiles = []string{"testdata/node-cpu.pb.gz"}
	h := newHarness(t, cfg, &refusing{err: errors.New("queue is full")}).start(t)
	h.running.Wait()
	assert.Equal(t, map[string]int64{"refused": 1}, h.counts(t, "scrapes", "outcome"))
	assert.Equal(t, 1, h.logs.FilterMessageSnippet("Cannot take an included file").Len())
}

func TestFilesAreNotReadAfterShutdown(t *testing.T) {
	cfg := testConfig()
	cfg.IncludeFiles = []string{"testdata/*.pb.gz"}
	h := newHarness(t, cfg, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	newFileReader(h.shared).readAll(ctx)
	assert.Empty(t, h.sink.AllProfiles())
}
