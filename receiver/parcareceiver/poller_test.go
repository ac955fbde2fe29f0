// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi/parcatest"
)

// asked are the windows of the merges that a server was asked for, as lengths.
func asked(server *parcatest.Server) []time.Duration {
	var lengths []time.Duration
	for _, request := range server.Requests() {
		if query, ok := request.Message.(*querypb.QueryRequest); ok {
			m := query.GetMerge()
			lengths = append(lengths, m.GetEnd().AsTime().Sub(m.GetStart().AsTime())+time.Nanosecond)
		}
	}
	return lengths
}

// failing fails the given number of requests, and then none.
func failing(times int, err error) parcatest.Hook {
	return func(context.Context, parcatest.Request) error {
		if times--; times >= 0 {
			return err
		}
		return nil
	}
}

func TestCatchingUpTakesOneWindowAfterTheOther(t *testing.T) {
	server := storeServer(t)
	cfg := testConfig()
	cfg.MaxWindow = 8 * time.Second
	h := newHarness(t, cfg, server, nil).start(t)
	h.query(t, "shop", cpuType+ofA).pollUpTo(t, at(20*time.Second))
	assert.Equal(t, []time.Duration{8 * time.Second, 8 * time.Second, 4 * time.Second}, asked(server))
	total := int64(0)
	for _, d := range h.delivered(t) {
		total += d.flat["main.hot"]
	}
	assert.Equal(t, int64((1+2)*7e8), total) // T0 and T1
}

func TestWindowsAreHalvedUntilTheServerAnswersInTimeAndGrowAgain(t *testing.T) {
	for name, err := range map[string]error{
		"the deadline":             status.Error(codes.DeadlineExceeded, "context deadline exceeded"),
		"Parca's own write limit":  status.Error(codes.Internal, "stream terminated by RST_STREAM with error code: INTERNAL_ERROR"),
		"an answer over the limit": status.Error(codes.ResourceExhausted, "larger than max"),
	} {
		t.Run(name, func(t *testing.T) {
			server := storeServer(t)
			server.OnRequest(func(_ context.Context, r parcatest.Request) error {
				m := r.Message.(*querypb.QueryRequest).GetMerge()
				if m.GetEnd().AsTime().Sub(m.GetStart().AsTime()) > 5*time.Second && len(server.Requests()) < 5 {
					return err
				}
				return nil
			})
			h := newHarness(t, testConfig(), server, nil).start(t)
			h.query(t, "shop", cpuType+ofA).pollUpTo(t, at(24*time.Second))
			var seconds []float64
			for _, length := range asked(server) {
				seconds = append(seconds, length.Seconds())
			}
			assert.Equal(t, []float64{24, 12, 6, 3, 6, 12, 3}, seconds)
			assert.Empty(t, h.logs.All(), "the poll got through")
		})
	}
}

func TestNoWindowIsShorterThanASecondForTheServersSake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := storeServer(t)
		server.OnRequest(func(context.Context, parcatest.Request) error {
			return status.Error(codes.DeadlineExceeded, "")
		})
		h := newHarness(t, testConfig(), server, nil).start(t)
		h.query(t, "shop", cpuType).pollUpTo(t, at(3*time.Second))
		lengths := asked(server)
		assert.Equal(t, []time.Duration{3 * time.Second, 1500 * time.Millisecond, time.Second}, lengths[:3])
		for _, length := range lengths[3:] {
			assert.Equal(t, time.Second, length)
		}
	})
}

func TestWhatFailedIsTriedAgainWithinTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := storeServer(t)
		server.OnRequest(failing(3, status.Error(codes.Unavailable, "EOF")))
		cfg := testConfig()
		cfg.Retry.RandomizationFactor = 0
		h := newHarness(t, cfg, server, nil).start(t)
		began := time.Now()
		h.query(t, "shop", cpuType+ofA).pollUpTo(t, closed)
		assert.Equal(t, 1000*time.Millisecond+1500*time.Millisecond+2250*time.Millisecond, time.Since(began))
		assert.Equal(t, map[string]float64{"unreachable": 3, "success": 1}, h.counts(t, "queries", "outcome"))
		assert.Equal(t, cpu(10), h.delivered(t)[0].flat)
		assert.Empty(t, h.logs.All(), "it worked within the interval")
	})
}

func TestRetriesEndWithTheInterval(t *testing.T) {
	for _, tc := range []struct {
		name      string
		configure func(*Config)
		err       error
		times     float64
		lasts     time.Duration
	}{
		{"the interval", func(*Config) {}, status.Error(codes.Unavailable, "EOF"), 6, 13187500 * time.Microsecond},
		{"max_elapsed_time", func(cfg *Config) { cfg.Retry.MaxElapsedTime = 4 * time.Second }, status.Error(codes.Unavailable, "EOF"), 3, 2500 * time.Millisecond},
		{"no retries", func(cfg *Config) { cfg.Retry.Enabled = false }, status.Error(codes.Unavailable, "EOF"), 1, 0},
		{"nothing that will change by itself", func(*Config) {}, status.Error(codes.Unauthenticated, ""), 1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := storeServer(t)
				server.OnRequest(func(context.Context, parcatest.Request) error { return tc.err })
				cfg := testConfig()
				cfg.Retry.RandomizationFactor = 0
				tc.configure(cfg)
				h := newHarness(t, cfg, server, nil).start(t)
				began := time.Now()
				p := h.query(t, "shop", cpuType)
				p.pollUpTo(t, closed)
				assert.Equal(t, tc.lasts, time.Since(began))
				assert.InDelta(t, tc.times, h.counts(t, "queries")[""], 0)
				assert.Equal(t, at(0), p.cursor)
			})
		})
	}
}

func TestARefusedWindowIsDeliveredByTheNextPoll(t *testing.T) {
	for name, refusal := range map[string]error{
		"for now":  errRefused,
		"for good": consumererror.NewPermanent(errRefused),
	} {
		t.Run(name, func(t *testing.T) {
			next := &refusing{err: refusal}
			h := newHarness(t, testConfig(), storeServer(t), next).start(t)
			h.sink = &next.ProfilesSink
			p := h.query(t, "shop", cpuType+ofA)
			p.pollUpTo(t, at(15*time.Second))
			p.pollUpTo(t, at(16*time.Second))
			assert.Equal(t, at(0), p.cursor)
			assert.Equal(t, map[string]float64{"refused": 2}, h.counts(t, "queries", "outcome"))
			next.err = nil
			p.pollUpTo(t, closed)
			all := h.delivered(t)
			require.Len(t, all, 1)
			assert.Equal(t, cpu(10), all[0].flat)

			assert.Equal(t, []string{"The pipeline refused the profiles of the query shop; see the component that did for what to do. " +
				"They are queried again, as far back as max_lookback."}, h.messages(zapcore.ErrorLevel))
			assert.Equal(t, []string{"The pipeline takes the profiles of the query shop again."}, h.messages(zapcore.InfoLevel))
		})
	}
}

func TestWhatIsTooOldIsGivenUpWithAWarningThatSaysHowMuch(t *testing.T) {
	server := storeServer(t)
	cfg := testConfig()
	cfg.MaxLookback = 45 * time.Second
	cfg.Retry.Enabled = false
	h := newHarness(t, cfg, server, nil).start(t)
	p := h.query(t, "shop", cpuType+ofA)
	server.OnRequest(func(context.Context, parcatest.Request) error { return status.Error(codes.Unavailable, "EOF") })
	for second := 20; second <= 40; second += 20 { // an outage
		p.pollUpTo(t, at(time.Duration(second)*time.Second))
	}
	assert.Empty(t, h.messages(zapcore.WarnLevel), "nothing is lost yet")
	server.OnRequest(nil)
	p.pollUpTo(t, at(50*time.Second)) // that is 65 s after T0, and 45 s before it 20 s
	total := int64(0)
	for _, d := range h.delivered(t) {
		total += d.flat["main.hot"]
		assert.Equal(t, at(20*time.Second), d.start)
	}
	assert.Equal(t, int64((3+4)*7e8), total)
	assert.Equal(t, map[string]float64{"shop": 20}, h.counts(t, "given_up", "query"))
	assert.Equal(t, []string{"The profiles of 20s of the query shop are given up: they are over max_lookback ago. " +
		"Raise max_lookback if an outage may last longer."}, h.messages(zapcore.WarnLevel))
}

func TestLosingAgainAndAgainIsOneWarning(t *testing.T) {
	cfg := testConfig()
	cfg.MaxLookback = 20 * time.Second
	h := newHarness(t, cfg, storeServer(t), nil).start(t)
	p := h.query(t, "shop", cpuType)
	for _, end := range []time.Duration{10 * time.Second, 30 * time.Second, 50 * time.Second} {
		p.pollUpTo(t, at(end)) // 5 s each, after 15 s of delay
	}
	p.pollUpTo(t, at(54*time.Second))
	p.pollUpTo(t, at(74*time.Second))
	assert.Len(t, h.messages(zapcore.WarnLevel), 2)
	assert.Equal(t, map[string]float64{"": 5 + 15 + 15 + 15}, h.counts(t, "given_up"))
}

func TestAFirstStartReachesBackAndLosesNothing(t *testing.T) {
	server := storeServer(t)
	cfg := testConfig()
	cfg.MaxLookback = time.Hour
	h := newHarness(t, cfg, server, nil).start(t)
	p := h.query(t, "shop", cpuType)
	p.cursor = time.Time{}
	p.pollUpTo(t, closed)
	start := server.Requests()[0].Message.(*querypb.QueryRequest).GetMerge().GetStart().AsTime()
	assert.Equal(t, closed.Add(cfg.Delay-time.Hour), start)
	assert.Len(t, asked(server), 12) // of at most 5 minutes
	assert.Empty(t, h.logs.All())
	assert.Empty(t, h.counts(t, "given_up"))
}

func TestAFailureIsOneErrorThatNamesTheQueryAndWhatToDo(t *testing.T) {
	for _, tc := range []struct {
		name, says string
		err        error
		outcome    string
	}{
		{"unreachable", "check that the server runs", status.Error(codes.Unavailable, "connection refused"), "unreachable"},
		{"unauthenticated", "give credentials with auth", status.Error(codes.Unauthenticated, ""), "unauthenticated"},
		{"not permitted", "somebody who may read", status.Error(codes.PermissionDenied, ""), "permission_denied"},
		{"wrong syntax", "check the query's matchers", status.Error(codes.InvalidArgument, "failed to parse query"), "invalid_query"},
		{"an impossible type", "name:sample_type", status.Error(codes.InvalidArgument, "profile-type selection must be of the form"), "impossible_type"},
		{"too slow", "a shorter time", status.Error(codes.DeadlineExceeded, ""), "timeout"},
		{"no Parca", "7070", status.Error(codes.Unimplemented, "unknown service"), "not_parca"},
		{"a failing store", "Parca's own log", status.Error(codes.Unknown, "x"), "server_failed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, query := range []string{cpuType, inuseType, allocType} {
				server := storeServer(t)
				server.OnRequest(func(context.Context, parcatest.Request) error { return tc.err })
				cfg := testConfig()
				cfg.Retry.Enabled = false
				h := newHarness(t, cfg, server, nil).start(t)
				p := h.query(t, "shop", query)
				for range 5 {
					p.pollUpTo(t, closed)
				}
				require.Len(t, h.messages(zapcore.ErrorLevel), 1)
				message := h.messages(zapcore.ErrorLevel)[0]
				assert.True(t, strings.HasPrefix(message, "Cannot query shop: "), message)
				assert.Contains(t, message, tc.says)
				assert.Equal(t, map[string]float64{tc.outcome: 5}, h.counts(t, "queries", "outcome"))

				server.OnRequest(nil)
				p.pollUpTo(t, closed)
				assert.Equal(t, []string{"Querying shop works again."}, h.messages(zapcore.InfoLevel))
				assert.Len(t, h.logs.All(), 2)
			}
		})
	}
}

func TestAnotherFailureIsAnotherError(t *testing.T) {
	server := storeServer(t)
	cfg := testConfig()
	cfg.Retry.Enabled = false
	h := newHarness(t, cfg, server, nil).start(t)
	p := h.query(t, "shop", cpuType)
	for _, code := range []codes.Code{codes.Unavailable, codes.Unavailable, codes.Unauthenticated, codes.Unauthenticated} {
		server.OnRequest(failing(1, status.Error(code, "")))
		p.pollUpTo(t, closed)
	}
	assert.Len(t, h.messages(zapcore.ErrorLevel), 2)
}

func TestTheLagIsThatOfTheCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(at(time.Minute)))
		server := storeServer(t)
		cfg := testConfig()
		cfg.Queries = []QueryConfig{{Name: "shop", Query: cpuType}}
		h := newHarness(t, cfg, server, nil).start(t)
		synctest.Wait()
		assert.Equal(t, map[string]float64{"shop": 15}, h.counts(t, "lag", "query"))
		server.OnRequest(func(context.Context, parcatest.Request) error { return status.Error(codes.Unavailable, "EOF") })
		time.Sleep(time.Minute)
		assert.Equal(t, map[string]float64{"shop": 75}, h.counts(t, "lag", "query"))
	})
}

func TestAHangingQueryDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(at(time.Minute)))
		server := storeServer(t)
		server.OnRequest(func(ctx context.Context, r parcatest.Request) error {
			if strings.Contains(r.Message.(*querypb.QueryRequest).GetMerge().GetQuery(), "hangs") {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		cfg := testConfig()
		cfg.MaxLookback = 10 * time.Minute
		cfg.Queries = []QueryConfig{
			{Name: "hangs", Query: cpuType + `{job="hangs"}`},
			{Name: "well", Query: cpuType},
		}
		h := newHarness(t, cfg, server, nil).start(t)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		lag := h.counts(t, "lag", "query")
		assert.LessOrEqual(t, lag["well"], 35.0)
		assert.Greater(t, lag["hangs"], 500.0)
		assert.Positive(t, h.counts(t, "queries", "query", "outcome")["hangs timeout"])
	})
}

func TestAShutdownIsNoFailureAndKeepsWhatWasDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(at(time.Minute)))
		server := storeServer(t)
		server.OnRequest(func(ctx context.Context, _ parcatest.Request) error {
			<-ctx.Done()
			return ctx.Err()
		})
		cfg := testConfig()
		cfg.Queries = []QueryConfig{{Name: "cpu", Query: cpuType}, {Name: "heap", Query: inuseType}, {Name: "alloc", Query: allocType}}
		cfg.Discover.Enabled = true
		h := newHarness(t, cfg, server, nil).start(t)
		synctest.Wait()
		require.NoError(t, h.Shutdown(t.Context()))
		assert.Empty(t, h.logs.All())
	})
}
