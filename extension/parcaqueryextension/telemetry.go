// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcaqueryextension

import (
	"context"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/profiletometrics/profiletometrics/extension/parcaqueryextension/internal/metadata"
	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

// journal records what becomes of requests: every one in the telemetry, and
// changes of Parca's state in the log. Neither has a caller's query.
type journal struct {
	logger    *zap.Logger
	telemetry *metadata.TelemetryBuilder

	mu    sync.Mutex
	state parcaapi.Kind // what is wrong with Parca; "" = nothing
}

// begin counts a request that is worked on; the function that it returns counts
// how it ended.
func (j *journal) begin(ctx context.Context) (end func(*request, int)) {
	ctx = context.WithoutCancel(ctx)
	started := time.Now()
	j.telemetry.ExtensionParcaqueryInFlight.Add(ctx, 1)
	return func(r *request, status int) {
		reportType := "unknown"
		if r != nil {
			reportType = r.report.name
		}
		which := metric.WithAttributeSet(attribute.NewSet(
			attribute.Int("code", status), attribute.String("report_type", reportType)))
		j.telemetry.ExtensionParcaqueryInFlight.Add(ctx, -1)
		j.telemetry.ExtensionParcaqueryRequests.Add(ctx, 1, which)
		j.telemetry.ExtensionParcaqueryDuration.Record(ctx, time.Since(started).Seconds(), which)
	}
}

// asked logs when Parca begins to fail for a reason, and when it answers again.
// A query that is wrong, too slow or too large says nothing of Parca's state.
func (j *journal) asked(f *failure, r redactor) {
	state := parcaapi.Kind("")
	if f != nil {
		if f.status == http.StatusGatewayTimeout || f.status == statusClientGone {
			return
		}
		if f.status == http.StatusBadGateway {
			state = parcaapi.KindOf(f.err)
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.state == state {
		return
	}
	j.state = state
	if f == nil || state == "" {
		j.logger.Info("Parca answers again.")
		return
	}
	j.logger.Warn("Queries fail: " + r.redact(f.Error()))
}

// broke tells of an answer that its caller did not take to the end.
func (j *journal) broke(err error) {
	j.logger.Debug("A caller did not take the whole answer.", zap.Error(err))
}
