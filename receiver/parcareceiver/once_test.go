// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi/parcatest"
)

// world is all that a receiver lives in: a server with about one profile a
// second, a pipeline and a storage; and the trouble there is with them.
type world struct {
	consumertest.ProfilesSink         // the pipeline
	times                     []int64 // of the profiles, in nanoseconds after T0
	server                    *parcatest.Server
	host                      *storageHost

	rng *rand.Rand // of what happens when

	mu      sync.Mutex
	dice    *rand.Rand // of what happens to each request
	trouble trouble
	empty   []window // answered, with no profile in them
}

type trouble int

const (
	none    trouble = iota
	down            // the server refuses connections
	hanging         // it does not answer
	slow            // it answers short windows only
	failed          // it fails
	refused         // the pipeline refuses
	flaky           // any of these, now and then
	troubles
)

// lifetime is for how long the server has profiles.
const lifetime = 30 * time.Minute

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{
		server: parcatest.NewServer(t), host: newStorageHost(),
		rng: rand.New(rand.NewPCG(seed, 1)), dice: rand.New(rand.NewPCG(seed, 2)),
	}
	labels, p := parcatest.RecordedProfile(t, "write_cpu_a_0")
	p.Sample = p.Sample[:1]
	p = p.Compact()
	store := parcatest.NewStore()
	for after := int64(0); after < int64(lifetime); after += 1 + w.rng.Int64N(int64(2*time.Second)) {
		// Each has a leaf of its own, so that it can be told when it is delivered.
		p.Sample[0].Location[0].Line[0].Function.Name = leafOf(len(w.times))
		store.Write(labels, p, at(time.Duration(after)))
		w.times = append(w.times, after)
	}
	w.server.Serve(store)
	w.server.OnRequest(w.answer)
	return w
}

func leafOf(profile int) string { return fmt.Sprint("profile ", profile) }

func (w *world) set(next trouble) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trouble = next
}

func (w *world) now() trouble {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trouble == flaky {
		return trouble(w.dice.IntN(int(flaky)))
	}
	return w.trouble
}

// answer is called with each request.
func (w *world) answer(ctx context.Context, r parcatest.Request) error {
	m := r.Message.(*querypb.QueryRequest).GetMerge()
	asked := window{start: m.GetStart().AsTime(), end: m.GetEnd().AsTime().Add(time.Nanosecond)}
	trouble := w.now()
	switch {
	case trouble == down:
		return status.Error(codes.Unavailable, "connection refused")
	case trouble == failed:
		return status.Error(codes.Unknown, "arrow/array: index out of range")
	case trouble == hanging, trouble == slow && asked.length() > 3*time.Second:
		<-ctx.Done()
		return ctx.Err()
	}
	if first, end := w.profilesOf(asked); first == end {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.empty = append(w.empty, asked)
	}
	return nil
}

func (w *world) ConsumeProfiles(ctx context.Context, data pprofile.Profiles) error {
	if w.now() == refused {
		return errRefused
	}
	return w.ProfilesSink.ConsumeProfiles(ctx, data)
}

// profilesOf returns which profiles a window has: from the first up to the end.
func (w *world) profilesOf(asked window) (first, end int) {
	first, _ = slices.BinarySearch(w.times, int64(asked.start.Sub(at(0))))
	end, _ = slices.BinarySearch(w.times, int64(asked.end.Sub(at(0))))
	return first, end
}

// live lets receivers live through one trouble after the other, and returns how
// much time they gave up.
func (w *world) live(t *testing.T, cfg *Config) (givenUp time.Duration) {
	t.Helper()
	var h *harness
	stop := func() {
		synctest.Wait() // so that it is known what has been answered
		require.NoError(t, h.Shutdown(context.Background()))
		givenUp += time.Duration(h.counts(t, "given_up")[""] * float64(time.Second)).Round(time.Microsecond)
	}
	for time.Now().Before(at(lifetime)) {
		if h == nil || w.rng.IntN(3) == 0 {
			if h != nil {
				stop()
				time.Sleep(time.Duration(w.rng.IntN(3)) * time.Minute)
			}
			h = newHarness(t, cfg, w.server, w)
			require.NoError(t, h.Start(t.Context(), w.host))
		}
		w.set(trouble(w.rng.IntN(int(troubles))))
		time.Sleep(time.Second + time.Duration(w.rng.Int64N(int64(3*time.Minute))))
	}
	w.set(none)
	time.Sleep(5 * time.Minute)
	stop()
	return givenUp
}

func TestEveryNanosecondIsDeliveredExactlyOnceWhateverHappens(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, seed)
				time.Sleep(time.Until(at(5*time.Minute + time.Duration(w.rng.Int64N(int64(time.Minute))))))
				cfg := testConfig()
				cfg.Controller.CollectionInterval = time.Duration(5+w.rng.IntN(25)) * time.Second
				cfg.Delay = time.Duration(w.rng.IntN(20)) * time.Second
				cfg.MaxLookback = 80*time.Second + time.Duration(w.rng.Int64N(int64(10*time.Minute)))
				cfg.MaxWindow = minWindow + time.Duration(w.rng.Int64N(int64(4*time.Minute)))
				cfg.Storage = &storageID
				cfg.Queries = []QueryConfig{{Name: "shop", Query: cpuType}}
				firstStart := time.Now().Add(-cfg.MaxLookback)
				givenUp := w.live(t, cfg)
				w.check(t, firstStart, w.host.cursor(t, "shop"), givenUp)
			})
		})
	}
}

// check holds what was delivered against what there was.
func (w *world) check(t *testing.T, firstStart, cursor time.Time, givenUp time.Duration) {
	t.Helper()
	taken := slices.Clone(w.empty)
	weights := map[string]int64{}
	for _, data := range w.AllProfiles() {
		for _, d := range read(t, data) {
			taken = append(taken, window{start: d.start, end: d.start.Add(d.length)})
			for name, weight := range d.flat {
				weights[name] += weight
			}
		}
	}
	slices.SortFunc(taken, func(a, b window) int { return a.start.Compare(b.start) })

	// The windows neither overlap nor leave a gap, but for what was given up.
	var gaps time.Duration
	covered := map[string]int64{}
	end := firstStart
	for i, one := range taken {
		gap := one.start.Sub(end)
		require.GreaterOrEqual(t, gap, time.Duration(0), "window %d begins before the one before it ends", i)
		if i == 0 {
			// Before the server answered for the first time, there was no cursor to lose.
			gap = 0
		}
		gaps += gap
		end = one.end
		for first, last := w.profilesOf(one); first < last; first++ {
			covered[leafOf(first)] = 7e8
		}
	}
	assert.Equal(t, cursor, end)
	assert.InDelta(t, givenUp.Seconds(), gaps.Seconds(), 1e-3)
	assert.Equal(t, covered, weights, "each profile of the windows once, and no other")
	assert.NotEmpty(t, covered)
	assert.Greater(t, cursor, at(lifetime), "it caught up")
}
