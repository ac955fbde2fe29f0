// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute

// told is what a watcher told last, by job.
type told struct {
	mu        sync.Mutex
	addresses map[string][]string
}

func (told *told) tell(groups Groups) {
	told.mu.Lock()
	defer told.mu.Unlock()
	for job, groups := range groups {
		addresses := []string{}
		for _, group := range groups {
			for _, target := range group.Targets {
				addresses = append(addresses, string(target[model.AddressLabel]))
			}
		}
		slices.Sort(addresses)
		told.addresses[job] = addresses
	}
}

func (told *told) eventually(t *testing.T, job string, want ...string) {
	t.Helper()
	require.Eventually(t, func() bool {
		told.mu.Lock()
		defer told.mu.Unlock()
		return slices.Equal(told.addresses[job], want) && told.addresses[job] != nil
	}, patience, 10*time.Millisecond, "%s: %v", job, want)
}

// watch runs a watcher until the test ends.
func watch(t *testing.T, logger *zap.Logger, jobs map[string]string) *told {
	t.Helper()
	sources := map[string]Sources{}
	for job, text := range jobs {
		parsed, err := sourcesOf(t, text)
		require.NoError(t, err)
		sources[job] = parsed
	}
	w, err := NewWatcher(logger, sources, 50*time.Millisecond)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	told := &told{addresses: map[string][]string{}}
	ended := make(chan error)
	go func() { ended <- w.Run(ctx, told.tell) }()
	t.Cleanup(func() {
		stop()
		assert.NoError(t, <-ended)
	})
	return told
}

func TestTargetsAreFollowedWhereTheyAreListed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "targets.json")
	require.NoError(t, os.WriteFile(file, []byte(`[{"targets": ["a:1"]}]`), 0o600))
	var listed atomic.Value
	listed.Store(`[{"targets": ["c:1"]}]`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, listed.Load())
	}))
	defer server.Close()

	told := watch(t, zap.NewNop(), map[string]string{
		"static": `static_configs: [{targets: ['s:1']}]`,
		"mixed": fmt.Sprintf(`
file_sd_configs: [{files: [%s/*.json]}]
http_sd_configs: [{url: '%s/targets', refresh_interval: 50ms}]
`, dir, server.URL),
	})
	told.eventually(t, "static", "s:1")
	told.eventually(t, "mixed", "a:1", "c:1")

	require.NoError(t, os.WriteFile(file, []byte(`[{"targets": ["a:1", "b:1"]}]`), 0o600))
	told.eventually(t, "mixed", "a:1", "b:1", "c:1")
	listed.Store(`[]`)
	told.eventually(t, "mixed", "a:1", "b:1")
	require.NoError(t, os.Remove(file))
	told.eventually(t, "mixed")
	told.eventually(t, "static", "s:1")
}

func TestJobsWithOneSourceShareIt(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `[{"targets": ["c:1"]}]`)
	}))
	defer server.Close()
	source := fmt.Sprintf(`http_sd_configs: [{url: '%s'}]`, server.URL)
	told := watch(t, zap.NewNop(), map[string]string{"a": source, "b": source})
	told.eventually(t, "a", "c:1")
	told.eventually(t, "b", "c:1")
	assert.Equal(t, int64(1), requests.Load())
}

func TestAListThatCannotBeReadKeepsItsTargetsAndIsLoggedOnce(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) > 1 {
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `[{"targets": ["c:1"]}]`)
	}))
	defer server.Close()
	core, logs := observer.New(zapcore.InfoLevel)
	told := watch(t, zap.New(core), map[string]string{
		"shop": fmt.Sprintf(`http_sd_configs: [{url: '%s', refresh_interval: 10ms}]`, server.URL),
	})
	require.Eventually(t, func() bool { return requests.Load() > 5 }, patience, 10*time.Millisecond)
	told.eventually(t, "shop", "c:1")
	require.Equal(t, 1, logs.Len(), logs.All())
	entry := logs.All()[0].ContextMap()
	assert.Equal(t, "shop", entry["job"])
	assert.Contains(t, entry["err"], "500")
}

func TestSourcesThatCannotBeMadeAreAllNamed(t *testing.T) {
	jobs := map[string]Sources{}
	for _, job := range []string{"a", "b"} {
		sources, err := sourcesOf(t, `http_sd_configs: [{url: 'http://localhost:1', tls_config: {ca_file: missing.pem}}]`)
		require.NoError(t, err)
		jobs[job] = sources
	}
	_, err := NewWatcher(zap.NewNop(), jobs, DefaultDelay)
	require.ErrorContains(t, err, `job "a": http: unable to read CA cert`)
	require.ErrorContains(t, err, `job "b"`)
}
