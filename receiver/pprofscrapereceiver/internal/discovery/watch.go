// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/config"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"
)

// DefaultDelay is how long changes are gathered before they are told, as in
// Prometheus. The first are told at once.
const DefaultDelay = 5 * time.Second

// quiet is how long a message of a source that repeats itself is not logged
// again.
const quiet = 10 * time.Minute

// Watcher follows the sources of jobs.
type Watcher struct {
	manager     *discovery.Manager
	configs     map[string]discovery.Configs
	stop        context.CancelFunc
	discoverers sync.WaitGroup
}

// NewWatcher makes the clients of the sources of each job, without connecting.
// Changes are gathered for the delay. All mistakes are reported together.
func NewWatcher(logger *zap.Logger, jobs map[string]Sources, delay time.Duration) (*Watcher, error) {
	// Nobody reads this registry: the numbers that matter to the collector's user
	// are in its own telemetry.
	registry := prometheus.NewRegistry()
	metrics, err := discovery.CreateAndRegisterSDMetrics(registry)
	if err != nil {
		return nil, err
	}
	w := &Watcher{configs: map[string]discovery.Configs{}}
	var made []*prepared
	var errs []error
	for _, job := range slices.Sorted(maps.Keys(jobs)) {
		for _, source := range jobs[job] {
			// Jobs that differ in their rules only share what watches a cluster.
			i := slices.IndexFunc(made, func(p *prepared) bool { return reflect.DeepEqual(p.Config, source) })
			if i >= 0 {
				w.configs[job] = append(w.configs[job], made[i])
				continue
			}
			discoverer, err := source.NewDiscoverer(discovery.DiscovererOptions{
				Logger:            sourceLogger(logger, job, source.Name()),
				Metrics:           metrics.MechanismMetrics[source.Name()],
				HTTPClientOptions: []config.HTTPClientOption{config.WithKeepAlivesDisabled()},
				SetName:           job,
			})
			if err != nil {
				errs = append(errs, fmt.Errorf("job %q: %s: %w", job, source.Name(), err))
				continue
			}
			made = append(made, &prepared{source, discoverer, &w.discoverers})
			w.configs[job] = append(w.configs[job], made[len(made)-1])
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.manager = discovery.NewManager(ctx, slog.New(slog.DiscardHandler), registry, metrics, discovery.Updatert(delay))
	if w.manager == nil {
		errs = append(errs, errors.New("cannot make the discovery manager"))
	}
	return w, errors.Join(errs...)
}

// sourceLogger is the logger of one source. Prometheus' packages log a failure
// each time they try, which may be every few seconds.
func sourceLogger(logger *zap.Logger, job, mechanism string) *slog.Logger {
	core := zapcore.NewSamplerWithOptions(logger.Core(), quiet, 1, 0)
	return slog.New(zapslog.NewHandler(core)).With("job", job, "discovery", mechanism)
}

// Groups are the groups of targets of each job.
type Groups map[string][]*targetgroup.Group

// Run tells the groups of all jobs whenever those of any have changed, one call
// at a time, until ctx is done. When it returns, everything that it started has
// ended. It must be called once.
func (w *Watcher) Run(ctx context.Context, tell func(Groups)) error {
	defer w.discoverers.Wait()
	defer context.AfterFunc(ctx, w.stop)()
	if err := w.manager.ApplyConfig(w.configs); err != nil {
		w.stop()
		return err
	}
	go func() { _ = w.manager.Run() }() // it returns the reason that ctx is done
	for groups := range w.manager.SyncCh() {
		tell(groups)
	}
	return nil
}

// prepared is a source whose discoverer is made already: the manager would only
// log that it cannot be made. It also tells when the discoverer has ended, for
// which the manager does not wait.
type prepared struct {
	discovery.Config
	discoverer discovery.Discoverer
	running    *sync.WaitGroup
}

// NewDiscoverer implements discovery.Config.
func (p *prepared) NewDiscoverer(discovery.DiscovererOptions) (discovery.Discoverer, error) {
	p.running.Add(1)
	return p, nil
}

// Run implements discovery.Discoverer.
func (p *prepared) Run(ctx context.Context, up chan<- []*targetgroup.Group) {
	defer p.running.Done()
	p.discoverer.Run(ctx, up)
}
