// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/zap/zapcore"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi/parcatest"
)

var storageID = component.MustNewID("file_storage")

// storageHost is a host with a storage in memory, which fails when err is set.
type storageHost struct {
	component.Component
	storage.Client
	mu   sync.Mutex
	data map[string]string
	err  error
}

func newStorageHost() *storageHost { return &storageHost{data: map[string]string{}} }

func (s *storageHost) GetExtensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{storageID: s}
}

func (s *storageHost) GetClient(context.Context, component.Kind, component.ID, string) (storage.Client, error) {
	return s, nil
}

func (*storageHost) Close(context.Context) error { return nil }

func (s *storageHost) Get(_ context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, found := s.data[key]; found {
		return []byte(value), s.err
	}
	return nil, s.err
}

func (s *storageHost) Set(ctx context.Context, key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && ctx.Err() == nil {
		s.data[key] = string(value)
	}
	return errors.Join(s.err, ctx.Err())
}

// cursor is that of a query, as it is stored.
func (s *storageHost) cursor(t *testing.T, query string) time.Time {
	t.Helper()
	nanos, err := strconv.ParseInt(s.data["cursor/"+query], 10, 64)
	require.NoError(t, err)
	return time.Unix(0, nanos).UTC()
}

// fileHost is a host with the file storage of the distribution.
type fileHost struct {
	component.Host
	extension component.Component
}

func (h *fileHost) GetExtensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{storageID: h.extension}
}

func newFileHost(t *testing.T, directory string) *fileHost {
	t.Helper()
	factory := filestorage.NewFactory()
	cfg := factory.CreateDefaultConfig().(*filestorage.Config)
	cfg.Directory = directory
	settings := extension.Settings{ID: storageID, TelemetrySettings: componenttest.NewNopTelemetrySettings()}
	files, err := factory.Create(t.Context(), settings, cfg)
	require.NoError(t, err)
	require.NoError(t, files.Start(t.Context(), componenttest.NewNopHost()))
	return &fileHost{Host: componenttest.NewNopHost(), extension: files}
}

func storedConfig() *Config {
	cfg := testConfig()
	cfg.Storage = &storageID
	return cfg
}

func TestTheCursorsOutliveTheProcess(t *testing.T) {
	directory := t.TempDir()
	var delivered []time.Time
	for _, end := range []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second} {
		host := newFileHost(t, directory)
		h := newHarness(t, storedConfig(), storeServer(t), nil)
		require.NoError(t, h.Start(t.Context(), host))
		p := h.query(t, "shop", cpuType+ofA)
		if end > 10*time.Second {
			p.loaded = false
		}
		p.pollUpTo(t, at(end))
		for _, d := range h.delivered(t) {
			delivered = append(delivered, d.start, d.start.Add(d.length))
		}
		require.NoError(t, h.Shutdown(t.Context()))
		require.NoError(t, host.extension.Shutdown(t.Context()))
	}
	assert.Equal(t, []time.Time{
		at(0), at(10 * time.Second), at(10 * time.Second), at(20 * time.Second),
		at(20 * time.Second), at(30 * time.Second),
	}, delivered)
}

// slowPipeline accepts when it is told to.
type slowPipeline struct {
	consumertest.ProfilesSink
	asked, accept chan struct{}
}

func (s *slowPipeline) ConsumeProfiles(ctx context.Context, data pprofile.Profiles) error {
	close(s.asked)
	<-s.accept
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.ProfilesSink.ConsumeProfiles(ctx, data)
}

// amidDelivery returns a receiver that is just delivering a profile.
func amidDelivery(t *testing.T, host *storageHost) (*harness, *slowPipeline) {
	t.Helper()
	pipeline := &slowPipeline{asked: make(chan struct{}), accept: make(chan struct{})}
	cfg := storedConfig()
	cfg.MaxWindow = cfg.MaxLookback
	cfg.Queries = []QueryConfig{{Name: "shop", Query: cpuType}}
	store := parcatest.NewStore()
	labels, p := parcatest.RecordedProfile(t, "write_cpu_a_0")
	store.Write(labels, p, time.Now().Add(-time.Hour))
	server := parcatest.NewServer(t)
	server.Serve(store)
	h := newHarness(t, cfg, server, pipeline)
	require.NoError(t, h.Start(t.Context(), host))
	<-pipeline.asked
	return h, pipeline
}

func TestWhatIsAcceptedDuringTheShutdownIsKept(t *testing.T) {
	host := newStorageHost()
	h, pipeline := amidDelivery(t, host)
	stopped := make(chan error)
	go func() { stopped <- h.Shutdown(context.Background()) }()
	time.Sleep(10 * time.Millisecond) // in which the shutdown begins; if it does not, the test proves less
	close(pipeline.accept)
	require.NoError(t, <-stopped)
	require.Len(t, pipeline.AllProfiles(), 1)
	delivered := read(t, pipeline.AllProfiles()[0])[0]
	assert.Equal(t, delivered.start.Add(delivered.length), host.cursor(t, "shop"))
	assert.Empty(t, h.messages(zapcore.ErrorLevel))
}

func TestAShutdownDoesNotWaitLongerThanItMay(t *testing.T) {
	h, pipeline := amidDelivery(t, newStorageHost())
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorContains(t, h.Shutdown(ctx), "a query did not end in time")
	close(pipeline.accept)
}

func TestQueriesHaveCursorsOfTheirOwn(t *testing.T) {
	host := newStorageHost()
	h := newHarness(t, storedConfig(), storeServer(t), nil)
	require.NoError(t, h.Start(t.Context(), host))
	h.query(t, "one", cpuType).pollUpTo(t, at(10*time.Second))
	h.query(t, "two", cpuType).pollUpTo(t, at(20*time.Second))
	assert.Equal(t, at(10*time.Second), host.cursor(t, "one"))
	assert.Equal(t, at(20*time.Second), host.cursor(t, "two"))
}

func TestWhileTheStorageCannotBeReadNothingIsQueried(t *testing.T) {
	host := newStorageHost()
	server := storeServer(t)
	h := newHarness(t, storedConfig(), server, nil)
	require.NoError(t, h.Start(t.Context(), host))
	p := h.query(t, "shop", cpuType)
	p.loaded = false
	host.err = errors.New("disk on fire")
	p.pollUpTo(t, closed)
	p.pollUpTo(t, closed)
	assert.Empty(t, server.Requests(), "it would be counted twice")
	require.Len(t, h.messages(zapcore.ErrorLevel), 1)
	assert.Contains(t, h.messages(zapcore.ErrorLevel)[0], "storage")
	host.err = nil
	p.pollUpTo(t, closed)
	assert.NotEmpty(t, server.Requests())
	assert.Len(t, h.messages(zapcore.InfoLevel), 1)
}

func TestWhileTheStorageCannotBeWrittenDeliveryGoesOn(t *testing.T) {
	host := newStorageHost()
	h := newHarness(t, storedConfig(), storeServer(t), nil)
	require.NoError(t, h.Start(t.Context(), host))
	p := h.query(t, "shop", cpuType)
	host.err = errors.New("disk on fire")
	p.pollUpTo(t, at(10*time.Second))
	p.pollUpTo(t, at(20*time.Second))
	assert.Len(t, h.delivered(t), 2)
	assert.Len(t, h.messages(zapcore.ErrorLevel), 1)
	host.err = nil
	p.pollUpTo(t, at(30*time.Second))
	assert.Equal(t, at(30*time.Second), host.cursor(t, "shop"))
}

func TestACursorThatIsNoneBeginsAnew(t *testing.T) {
	host := newStorageHost()
	host.data["cursor/shop"] = "yesterday"
	cfg := storedConfig()
	cfg.MaxLookback = time.Minute
	h := newHarness(t, cfg, storeServer(t), nil)
	require.NoError(t, h.Start(t.Context(), host))
	p := h.query(t, "shop", cpuType)
	p.loaded = false
	p.pollUpTo(t, closed)
	assert.Equal(t, closed.Add(cfg.Delay-time.Minute), h.delivered(t)[0].start)
	require.Len(t, h.messages(zapcore.ErrorLevel), 1)
	assert.Contains(t, h.messages(zapcore.ErrorLevel)[0], "counted twice")
}

func TestACursorInTheFutureIsWaitedFor(t *testing.T) {
	server := storeServer(t)
	h := newHarness(t, testConfig(), server, nil).start(t)
	p := h.query(t, "shop", cpuType)
	p.cursor = at(time.Hour)
	p.pollUpTo(t, at(30*time.Second))
	p.pollUpTo(t, at(50*time.Second))
	assert.Empty(t, server.Requests())
	require.Len(t, h.messages(zapcore.ErrorLevel), 1)
	assert.Contains(t, h.messages(zapcore.ErrorLevel)[0], "lies in the future")
	p.pollUpTo(t, at(time.Hour+time.Second))
	assert.NotEmpty(t, server.Requests())
	assert.Equal(t, []string{"Querying shop works again."}, h.messages(zapcore.InfoLevel))
}

func TestAStorageThatIsNoneIsAnErrorOfTheStart(t *testing.T) {
	missing, other := component.MustNewID("missing"), component.MustNewID("file_storage")
	for _, tc := range []struct {
		name string
		id   component.ID
		host component.Host
		says string
	}{
		{"an extension that does not exist", missing, newStorageHost(), "there is no extension missing"},
		{"an extension of another kind", other, &fileHost{extension: struct{ component.Component }{}}, "is no storage extension"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := testConfig()
			cfg.Storage = &tc.id
			h := newHarness(t, cfg, storeServer(t), nil)
			require.ErrorContains(t, h.Start(t.Context(), tc.host), tc.says)
		})
	}
}
