// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi/parcatest"
)

// memory is a store of memory profiles: live bytes and allocated bytes of one
// stack each, of instances.
type memory struct {
	*parcatest.Store
	profile *profile.Profile
}

func newMemory(t *testing.T) *memory {
	t.Helper()
	_, p := parcatest.RecordedProfile(t, "write_mem_a_0")
	return &memory{Store: parcatest.NewStore(), profile: p}
}

// write stores that an instance has allocated and holds so many bytes, in
// main.allocate.
func (m *memory) write(instance string, when time.Time, allocated, live int64) {
	p := m.profile.Copy()
	for _, s := range p.Sample {
		values := map[string]int64{"alloc_space": allocated, "inuse_space": live}
		for i, st := range p.SampleType {
			s.Value[i] = values[st.Type]
		}
	}
	p.Sample = p.Sample[:1]
	m.Write(map[string]string{"__name__": "memory", "job": "fix", "instance": instance}, p, when)
}

func (m *memory) server(t *testing.T) *parcatest.Server {
	t.Helper()
	server := parcatest.NewServer(t)
	server.Serve(m.Store)
	return server
}

// function is the leaf of all that memory.write stores.
func (m *memory) function() string { return m.profile.Sample[0].Location[0].Line[0].Function.Name }

func TestOfSnapshotsTheNewestIsTaken(t *testing.T) {
	h := newHarness(t, testConfig(), storeServer(t), nil).start(t)
	query := h.query(t, "heap", inuseType+ofA, "instance")
	query.pollUpTo(t, at(20*time.Second)) // has the profiles just after T0 and T1
	query.pollUpTo(t, at(25*time.Second)) // has the one just after T2
	query.pollUpTo(t, closed)             // has none
	var got []map[string]int64
	for _, d := range h.delivered(t) {
		assert.Equal(t, "inuse_space/bytes", d.sampleType)
		assert.Equal(t, "a:1", d.resource["instance"])
		got = append(got, d.flat)
	}
	assert.Equal(t, []map[string]int64{{"main.allocate": 5002}, {"main.allocate": 5003}}, got)
}

func TestSnapshotsOfAGroupAreTheSumOfItsSeries(t *testing.T) {
	m := newMemory(t)
	// Profiled at times of their own; a:1 and b:1 twice, c:1 three times.
	m.write("a:1", at(1*time.Second), 0, 1)
	m.write("b:1", at(2*time.Second), 0, 20)
	m.write("c:1", at(3*time.Second), 0, 300)
	m.write("a:1", at(11*time.Second), 0, 4)
	m.write("c:1", at(12*time.Second), 0, 500)
	m.write("c:1", at(13*time.Second), 0, 600)
	m.write("b:1", at(14*time.Second), 0, 70)
	server := m.server(t)
	h := newHarness(t, testConfig(), server, nil).start(t)
	h.query(t, "heap", inuseType, "job").pollUpTo(t, closed)
	all := h.delivered(t)
	require.Len(t, all, 1)
	assert.Equal(t, map[string]int64{m.function(): 4 + 600 + 70}, all[0].flat)
	assert.Equal(t, "fix", all[0].resource["service.name"])
	// One question for the times, one merge of [13 s, 14 s], one of [11 s, 11 s]:
	// further down c:1 has an older profile.
	assert.Len(t, server.Requests(), 3)
}

func TestAMergeDoesNotReachDownIntoASecondWithSeveralProfilesOfASeries(t *testing.T) {
	m := newMemory(t)
	m.write("a:1", at(4100*time.Millisecond), 0, 1) // the one of this second whose time the server tells
	m.write("a:1", at(4900*time.Millisecond), 0, 2)
	m.write("a:1", at(10*time.Second), 0, 4)
	m.write("b:1", at(4500*time.Millisecond), 0, 8)
	h := newHarness(t, testConfig(), m.server(t), nil).start(t)
	h.query(t, "heap", inuseType).pollUpTo(t, closed)
	assert.Equal(t, map[string]int64{m.function(): 4 + 8}, h.delivered(t)[0].flat)
}

func TestOneMergeIsEnoughForTargetsThatAreProfiledEquallyOften(t *testing.T) {
	m := newMemory(t)
	want := int64(0)
	for second := range 30 {
		for i, instance := range []string{"a", "b", "c", "d", "e"} {
			if second%10 == i {
				m.write(instance, at(time.Duration(second)*time.Second), 0, int64(second))
			}
			if second == 20+i {
				want += int64(second)
			}
		}
	}
	server := m.server(t)
	h := newHarness(t, testConfig(), server, nil).start(t)
	h.query(t, "heap", inuseType).pollUpTo(t, closed)
	assert.Equal(t, map[string]int64{m.function(): want}, h.delivered(t)[0].flat)
	assert.Len(t, server.Requests(), 2)
}

func TestTheNewestOfSeveralWithinASecondIsFound(t *testing.T) {
	for _, tc := range []struct {
		name  string
		times []time.Duration
	}{
		{"two", []time.Duration{5*time.Second + 1, 5*time.Second + 2}},
		{"many", []time.Duration{
			5 * time.Second, 5*time.Second + 1, 5*time.Second + 2, 5*time.Second + 3,
			5500 * time.Millisecond, 5999 * time.Millisecond, 5999*time.Millisecond + 1,
		}},
		{"the first and the last nanosecond", []time.Duration{5 * time.Second, 6*time.Second - 1}},
		{"several in the second before too", []time.Duration{4 * time.Second, 4*time.Second + 1, 5*time.Second + 1, 5*time.Second + 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMemory(t)
			for i, after := range tc.times {
				m.write("a:1", at(after), 0, int64(1+i))
			}
			m.write("b:1", at(time.Second), 0, 1000)
			h := newHarness(t, testConfig(), m.server(t), nil).start(t)
			h.query(t, "heap", inuseType).pollUpTo(t, closed)
			assert.Equal(t, map[string]int64{m.function(): int64(len(tc.times)) + 1000}, h.delivered(t)[0].flat)
		})
	}
}

func TestASnapshotAtTheEndOfAWindowBelongsToTheNext(t *testing.T) {
	m := newMemory(t)
	m.write("a:1", at(9999*time.Millisecond), 0, 1)
	m.write("a:1", at(9999*time.Millisecond+1), 0, 2)
	m.write("a:1", at(10*time.Second), 0, 3)
	h := newHarness(t, testConfig(), m.server(t), nil).start(t)
	query := h.query(t, "heap", inuseType)
	query.pollUpTo(t, at(9999*time.Millisecond+1))
	query.pollUpTo(t, at(10*time.Second))
	query.pollUpTo(t, at(11*time.Second))
	var got []int64
	for _, d := range h.delivered(t) {
		got = append(got, d.flat[m.function()])
	}
	assert.Equal(t, []int64{1, 2, 3}, got)
}

func TestASnapshotWhoseSamplesHaveNoStackIsEmpty(t *testing.T) {
	m := newMemory(t)
	m.write("a:1", at(time.Second), 0, 7)
	server := m.server(t)
	// Parca leaves samples without a stack out of its pprof reports.
	empty := parcatest.NewStore()
	answer, err := empty.Answer(&querypb.QueryRequest{
		Mode: querypb.QueryRequest_MODE_MERGE, ReportType: querypb.QueryRequest_REPORT_TYPE_PPROF,
		Options: &querypb.QueryRequest_Merge{Merge: &querypb.MergeProfile{Query: inuseType, Start: timestamppb.New(at(0)), End: timestamppb.New(at(1))}},
	})
	require.NoError(t, err)
	server.AnswerQuery(answer.(*querypb.QueryResponse))
	h := newHarness(t, testConfig(), server, nil).start(t)
	h.query(t, "heap", inuseType, "instance").pollUpTo(t, closed)
	all := h.delivered(t)
	require.Len(t, all, 1)
	assert.Empty(t, all[0].flat)
	assert.Equal(t, "a:1", all[0].resource["instance"])
}

func TestCountsSinceTheProcessBeganBecomeIncrements(t *testing.T) {
	h := newHarness(t, testConfig(), storeServer(t), nil).start(t)
	query := h.query(t, "allocations", allocType+ofA)
	query.pollUpTo(t, at(5*time.Second))  // the first has nothing to compare with
	query.pollUpTo(t, at(15*time.Second)) // at T1 main.allocate has 100,000 bytes more; main.cache the same
	query.pollUpTo(t, closed)             // and at T2 again
	all := h.delivered(t)
	require.Len(t, all, 2)
	for i, start := range []time.Duration{5 * time.Second, 15 * time.Second} {
		assert.Equal(t, map[string]int64{"main.allocate": 100_000}, all[i].flat)
		assert.Equal(t, at(start), all[i].start)
		assert.Equal(t, "alloc_space/bytes", all[i].sampleType)
	}
}

func TestIncrementsAreTakenOfEachSeriesAndThenAddedUp(t *testing.T) {
	m := newMemory(t)
	m.write("a:1", at(1*time.Second), 100, 0)
	m.write("b:1", at(2*time.Second), 1000, 0)
	m.write("a:1", at(11*time.Second), 103, 0)  // 3 more
	m.write("b:1", at(12*time.Second), 1050, 0) // 50 more
	m.write("c:1", at(13*time.Second), 9999, 0) // new: nobody knows since when
	m.write("a:1", at(21*time.Second), 60, 0)   // restarted
	m.write("b:1", at(22*time.Second), 1051, 0) // 1 more
	m.write("c:1", at(23*time.Second), 10000, 0)
	h := newHarness(t, testConfig(), m.server(t), nil).start(t)
	query := h.query(t, "allocations", allocType, "job")
	for _, end := range []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second} {
		query.pollUpTo(t, at(end))
	}
	var got []int64
	for _, d := range h.delivered(t) {
		got = append(got, d.flat[m.function()])
	}
	assert.Equal(t, []int64{3 + 50, 1 + 1}, got)
	assert.Equal(t, map[string]float64{"allocations": 1}, h.counts(t, "restarts", "query"))
}

func TestANewReceiverGoesOnCountingWhereTheLastOneWas(t *testing.T) {
	m := newMemory(t)
	m.write("a:1", at(5*time.Second), 100, 0)
	m.write("a:1", at(15*time.Second), 130, 0)
	h := newHarness(t, testConfig(), m.server(t), nil).start(t)
	query := h.query(t, "allocations", allocType)
	query.cursor = at(10 * time.Second) // as a storage has it
	query.pollUpTo(t, at(20*time.Second))
	assert.Equal(t, map[string]int64{m.function(): 30}, h.delivered(t)[0].flat)
}

func TestRefusedIncrementsAreInTheNext(t *testing.T) {
	m := newMemory(t)
	m.write("a:1", at(5*time.Second), 100, 0)
	m.write("a:1", at(15*time.Second), 130, 0)
	m.write("a:1", at(25*time.Second), 131, 0)
	next := &refusing{}
	h := newHarness(t, testConfig(), m.server(t), next).start(t)
	h.sink = &next.ProfilesSink
	query := h.query(t, "allocations", allocType)
	query.pollUpTo(t, at(10*time.Second))
	next.err = errRefused
	query.pollUpTo(t, at(20*time.Second))
	next.err = nil
	query.pollUpTo(t, at(30*time.Second))
	assert.Equal(t, map[string]int64{m.function(): 31}, h.delivered(t)[0].flat)
}

func TestNoIncrementIsLostOrCountedTwiceWhateverHappens(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			m := newMemory(t)
			allocated, before, polls := int64(0), int64(0), 60
			for when := -time.Minute; when < time.Duration(polls)*20*time.Second; when += 1 + time.Duration(rng.Int64N(int64(20*time.Second))) {
				allocated += rng.Int64N(1000)
				m.write("a:1", at(when), allocated, 0)
				if when < 0 {
					before = allocated
				}
			}
			server := m.server(t)
			server.OnRequest(func(context.Context, parcatest.Request) error {
				kinds := []codes.Code{codes.OK, codes.OK, codes.OK, codes.Unavailable, codes.Unknown, codes.DeadlineExceeded}
				return status.Error(kinds[rng.IntN(len(kinds))], "")
			})
			next := &refusing{}
			cfg := testConfig()
			cfg.Retry.Enabled = false
			var query *poller
			cursor := at(0)
			for poll := range polls + 1 {
				if query == nil || rng.IntN(5) == 0 { // a restart
					query = newHarness(t, cfg, server, next).start(t).query(t, "allocations", allocType, "job")
					query.cursor = cursor
				}
				next.err = nil
				if rng.IntN(3) == 0 {
					next.err = errRefused
				}
				if poll == polls {
					next.err = nil
					server.OnRequest(nil)
				}
				query.pollUpTo(t, at(time.Duration(poll)*20*time.Second))
				cursor = query.cursor
			}
			delivered := int64(0)
			for _, data := range next.AllProfiles() {
				delivered += read(t, data)[0].flat[m.function()]
			}
			assert.Equal(t, allocated-before, delivered)
		})
	}
}

func TestTheCountsOfSilentSeriesAreForgotten(t *testing.T) {
	m := newMemory(t)
	m.write("gone:1", at(time.Second), 1, 0)
	for minute := range 5 {
		m.write("a:1", at(time.Duration(minute)*time.Minute+time.Second), int64(minute+1), 0)
	}
	cfg := testConfig()
	cfg.MaxLookback = 3 * time.Minute
	h := newHarness(t, cfg, m.server(t), nil).start(t)
	query := h.query(t, "allocations", allocType)
	var kept []int
	for minute := range 5 {
		query.pollUpTo(t, at(time.Duration(minute+1)*time.Minute))
		kept = append(kept, len(query.taker.(*snapshots).counts))
	}
	assert.Equal(t, []int{2, 2, 2, 2, 1}, kept)
}
