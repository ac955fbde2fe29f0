// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package series keeps what outlives a batch: the identity of every time
// series, how many there may be, what they have counted so far, since when,
// and until when they are kept. It turns that state into pmetric data.
package series // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"

import (
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"
)

// Settings say how series are kept and emitted.
type Settings struct {
	// Streams are the measures; Update names them by their index.
	Streams []measure.Stream
	// Flat and Cumulative switch the function metrics.
	Flat, Cumulative bool
	// FileAttribute adds the function's file to the points of the function
	// metrics.
	FileAttribute bool
	// Delta emits what came since the last flush, instead of all that came
	// since a series began.
	Delta bool
	// Expiration is how long a series is kept that nothing updates; 0 keeps it
	// for ever.
	Expiration time.Duration
	// FunctionLimit is how many functions have series of their own, per
	// resource and stream; 0 sets no limit.
	FunctionLimit int
	// SeriesLimit is how many series there are over all resources, overflow
	// series aside; 0 sets no limit.
	SeriesLimit int
	// MarkVanished emits one point with the flag NoRecordedValue for a gauge
	// series that is gone, so that backends do not go on showing it.
	MarkVanished bool
	// Exemplars is how many exemplars a point has at most; 0 for none.
	Exemplars int
	// Instance is an attribute that every resource gets; none if it has no key.
	Instance Attribute
	// ScopeName and ScopeVersion name the scope of the emitted metrics.
	ScopeName, ScopeVersion string
}

// Attribute is one with a text for a value.
type Attribute struct{ Key, Value string }

// Store holds all series. Updates of different resources run in parallel, and
// in parallel with Collect.
type Store struct {
	settings Settings

	live       atomic.Int64 // series that hold a place
	candidates atomic.Int64 // counters of functions without series
	overflowed atomic.Int64 // how often a series was refused its place
	batches    atomic.Int64
	interval   atomic.Int64 // number of the current one
	shortage   shortage

	functions functionTable
	newcomers sync.Pool
	recent    *recent // nil unless somebody watches

	mu        sync.RWMutex
	resources map[string]*resource
	ordered   []*resource

	// collected is the end of the last interval that was handed on; only
	// Collect and its Flush use it, one at a time.
	collected pcommon.Timestamp
}

// NewStore returns an empty store. Begin comes before its first Collect.
func NewStore(settings Settings) *Store {
	return &Store{
		settings:  settings,
		newcomers: sync.Pool{New: func() any { return &newcomers{at: make(map[FunctionID]int)} }},
		resources: make(map[string]*resource),
	}
}

// Begin makes now the start of the first interval.
func (s *Store) Begin(now time.Time) { s.collected = pcommon.NewTimestampFromTime(now) }

// Live is the number of series that count towards SeriesLimit.
func (s *Store) Live() int64 { return s.live.Load() }

// Limit is SeriesLimit; 0 for none.
func (s *Store) Limit() int64 { return int64(s.settings.SeriesLimit) }

// Overflowed is how often, so far, the weight of a batch found no series of
// its own and went to an overflow series.
func (s *Store) Overflowed() int64 { return s.overflowed.Load() }

// Batch numbers a batch. Snapshots of one number and time are parts of one
// snapshot.
func (s *Store) Batch() int64 { return s.batches.Add(1) }

// resource holds the series of one output resource.
type resource struct {
	mu sync.Mutex
	// removed is set once the store has forgotten the resource: an update that
	// found it before must look again.
	removed bool

	key        string
	attributes pcommon.Resource
	schemaURL  string
	streams    []stream
}

// stream holds the series of one resource and measure.
type stream struct {
	groups  map[string]*group
	ordered []*group
	// places counts, for each function that has series of its own, the series.
	places map[FunctionID]int
	// weight is that of all functions, the older of it faded, and faded when
	// that was done last, in UnixNano.
	weight  float64
	faded   int64
	contest *contest // nil while all functions find places

	overflow [kinds]series

	// snapshots hold the parts of a gauge, by where they come from.
	snapshots map[string]*snapshot
	// vanished are the gauge series to be marked as gone by the next Collect,
	// and touched says that a snapshot came since the last. What is in flight
	// was told by a flush that was not yet handed on.
	vanished         []vanished
	vanishedInFlight int
	touched          bool
	touchedInFlight  bool
}

// kind is one of the metrics of a stream.
type kind int

const (
	total kind = iota
	flat
	cumulative
	kinds
)

// suffix is what a kind of metric appends to the stream's name.
var suffix = [kinds]string{"", ".flat", ".cumulative"}

// group holds the series that share their point attributes, the function
// aside.
type group struct {
	key        string
	attributes pcommon.Map
	total      series
	removed    bool

	// positions are where the functions stand in both of the lists.
	positions map[FunctionID]int32
	tallies   []functionTallies
	functions []functionSeries
}
