// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
	"github.com/profiletometrics/profiletometrics/receiver/parcareceiver/internal/metadata"
)

// The outcomes of a window beside the kinds of parcaapi's errors.
const (
	outcomeSuccess = "success"
	outcomeNoData  = "no_data"
	outcomeRefused = "refused" // the next consumer did not take it
)

// journal records what becomes of one query: every outcome in the telemetry, but
// in the log only changes, so that an outage is one line and not one per poll.
type journal struct {
	logger    *zap.Logger
	telemetry *metadata.TelemetryBuilder
	query     metric.MeasurementOption
	name      string

	mu    sync.Mutex
	state map[subject]string // absent = well
}

// subject is what can be in a state of its own.
type subject int

const (
	asking     subject = iota // Parca, for the profiles of a window
	delivering                // them to the pipeline
	losing                    // them, because they are too old
	storing                   // the cursor
)

func newJournal(logger *zap.Logger, telemetry *metadata.TelemetryBuilder, query string) *journal {
	return &journal{
		logger:    logger.With(zap.String("query", query)),
		telemetry: telemetry,
		query:     metric.WithAttributes(attribute.String("query", query)),
		name:      query,
		state:     map[subject]string{},
	}
}

// queried counts how a window ended, and how many bytes of reports it took.
func (j *journal) queried(ctx context.Context, outcome string, bytes int) {
	if bytes > 0 {
		j.telemetry.ReceiverParcaAnswerSize.Add(ctx, int64(bytes), j.query)
	}
	j.telemetry.ReceiverParcaQueries.Add(ctx, 1, j.query, metric.WithAttributes(attribute.String("outcome", outcome)))
}

// restarted says that series began to count anew.
func (j *journal) restarted(ctx context.Context, series int) {
	if series > 0 {
		j.telemetry.ReceiverParcaRestarts.Add(ctx, int64(series), j.query)
		j.logger.Info("Series count from the start again: their processes were restarted. They give no increment this time.",
			zap.Int("series", series))
	}
}

// gaveUp says that profiles are lost, and of how much time.
func (j *journal) gaveUp(ctx context.Context, from, to time.Time) {
	j.telemetry.ReceiverParcaGivenUp.Add(ctx, to.Sub(from).Seconds(), j.query)
	if j.enters(losing, "given up") {
		j.logger.Warn("The profiles of "+to.Sub(from).Round(time.Millisecond).String()+" of the query "+j.name+
			" are given up: they are over max_lookback ago. Raise max_lookback if an outage may last longer.",
			zap.Time("from", from), zap.Time("to", to))
	}
}

// keptUp says that a poll gave up nothing.
func (j *journal) keptUp() { j.enters(losing, "") }

// failed logs why a window was not taken, unless the query has been in that
// state since.
func (j *journal) failed(err error) {
	kind := string(parcaapi.KindOf(err))
	if j.enters(asking, kind) {
		j.logger.Error("Cannot query "+j.name+": "+err.Error()+
			". It goes on where it ended, as far back as max_lookback.", zap.String("outcome", kind))
	}
}

// works logs the end of a failure.
func (j *journal) works() {
	if j.enters(asking, "") {
		j.logger.Info("Querying " + j.name + " works again.")
	}
}

// delivered logs when the pipeline begins to refuse what was queried, and when it
// takes it again.
func (j *journal) delivered(err error) {
	switch {
	case err != nil && j.enters(delivering, outcomeRefused):
		j.logger.Error("The pipeline refused the profiles of the query "+j.name+"; see the component that did for what to do. "+
			"They are queried again, as far back as max_lookback.", zap.Error(err))
	case err == nil && j.enters(delivering, ""):
		j.logger.Info("The pipeline takes the profiles of the query " + j.name + " again.")
	}
}

// stored logs when the storage begins to fail, and when it works again.
func (j *journal) stored(err error) {
	switch {
	case err != nil && j.enters(storing, "failed"):
		j.logger.Error("The storage fails to keep the cursor of the query "+j.name+"; check the storage extension. "+
			"Profiles may be counted twice, or not at all, after a restart.", zap.Error(err))
	case err == nil && j.enters(storing, ""):
		j.logger.Info("The storage keeps the cursor of the query " + j.name + " again.")
	}
}

// enters notes the state of a subject, and tells whether it is another than before.
func (j *journal) enters(what subject, state string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.state[what] == state {
		return false
	}
	j.state[what] = state
	return true
}

// cursorLost says that a query begins anew because its cursor cannot be read.
func (j *journal) cursorLost(err error) {
	j.logger.Error("The cursor of the query "+j.name+" cannot be read; it begins max_lookback ago, "+
		"and what it delivered since is counted twice. Check that nothing else writes to the storage.", zap.Error(err))
}

// future says that nothing can be queried until the clock has caught up.
func (j *journal) future(cursor time.Time) {
	if j.enters(asking, "future") {
		j.logger.Error("The cursor of the query "+j.name+" lies in the future: the clock was set back, or was wrong before. "+
			"Nothing is queried until then; to begin anew, empty the storage.", zap.Time("cursor", cursor))
	}
}
