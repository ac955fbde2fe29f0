// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

// maxDiscovered is how many queries discovery makes. The names of types come from
// whoever writes to Parca, and need not be few.
const maxDiscovered = 500

// discovery makes a query of each profile type that the server has.
type discovery struct {
	*shared
	selector []parcaapi.Matcher
	add      func(*poller)
	queries  map[string]bool // by text, those that exist
	found    int
	state    string // of the last discovery, for the log
}

func newDiscovery(s *shared, add func(*poller)) (*discovery, error) {
	selector, err := parcaapi.ParseSelector(s.config.Discover.Selector)
	if err != nil {
		return nil, err
	}
	d := &discovery{shared: s, selector: selector, add: add, queries: map[string]bool{}}
	for _, q := range s.config.Queries {
		query, err := parcaapi.ParseQuery(q.Query)
		if err != nil {
			return nil, err
		}
		d.queries[query.String()], d.queries[q.Name] = true, true
	}
	return d, nil
}

// run discovers until ctx is done. After a failure it does not wait for the
// interval, which may be long.
func (d *discovery) run(ctx context.Context, delay time.Duration) {
	for wait := delay; sleep(ctx, wait); {
		wait = d.config.Discover.Interval
		if !d.discover(ctx, time.Now()) {
			wait = min(wait, d.config.Controller.CollectionInterval)
		}
	}
}

// discover asks for the profile types of the time that a new query reaches back
// to, and tells whether it got them.
//
// The server fails for every time that has one profile with an empty type or
// unit. So it is asked for less if it fails: types that are profiled again and
// again are found in a short time as well.
func (d *discovery) discover(ctx context.Context, now time.Time) bool {
	var types []parcaapi.ProfileType
	var err error
	reaches := []time.Duration{
		d.config.MaxLookback,
		d.config.Discover.Interval,
		d.config.Delay + 2*d.config.Controller.CollectionInterval,
	}
	for i, reach := range reaches {
		if i > 0 && reach >= reaches[i-1] {
			continue
		}
		types, err = d.source.types(ctx, parcaapi.Range{Start: now.Add(-reach), End: now})
		if ctx.Err() != nil {
			return true // shut down, which is no failure
		}
		if err == nil || parcaapi.KindOf(err) != parcaapi.ServerFailed {
			break
		}
	}
	d.record(ctx, err)
	for _, t := range d.wanted(types) {
		d.addQuery(t)
	}
	return err == nil
}

// wanted are the types to query, in a stable order.
func (d *discovery) wanted(types []parcaapi.ProfileType) []parcaapi.ProfileType {
	wanted := slices.DeleteFunc(slices.Clone(types), func(t parcaapi.ProfileType) bool {
		_, err := parcaapi.ParseProfileType(t.String())
		return err != nil || !hasPrefix(t, d.config.Discover.Types)
	})
	// To a query for a count of samples, Parca answers with that count times the
	// period: what another type has in its own right.
	wanted = slices.DeleteFunc(wanted, func(t parcaapi.ProfileType) bool {
		twin := t
		twin.SampleType, twin.SampleUnit = t.PeriodType, t.PeriodUnit
		return t.SampleType == "samples" && t.SampleUnit == "count" && slices.Contains(wanted, twin)
	})
	slices.SortFunc(wanted, func(a, b parcaapi.ProfileType) int { return strings.Compare(a.String(), b.String()) })
	return wanted
}

// hasPrefix tells whether a type is one of the list, or begins with all parts of
// one; an empty list has all types.
func hasPrefix(t parcaapi.ProfileType, prefixes []string) bool {
	return len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(prefix string) bool {
		return strings.HasPrefix(t.String()+":", prefix+":")
	})
}

func (d *discovery) addQuery(t parcaapi.ProfileType) {
	query := parcaapi.Query{Type: t, Matchers: d.selector}
	text, name := query.String(), t.String()
	if d.queries[text] || d.queries[name] || d.found == maxDiscovered {
		return
	}
	d.queries[text] = true
	if d.found++; d.found == maxDiscovered {
		d.settings.Logger.Warn(fmt.Sprintf("%d profile types were discovered, which is the most; give discover::types to choose.", d.found))
	}
	d.settings.Logger.Info("Discovered a profile type.", zap.String("query", text))
	d.add(newPoller(d.shared, identity{name: name, query: text}, query, d.config.Discover.GroupBy))
}

// record counts how a discovery ended, and logs it if the one before ended
// differently.
func (d *discovery) record(ctx context.Context, err error) {
	outcome := outcomeSuccess
	if err != nil {
		outcome = string(parcaapi.KindOf(err))
	}
	d.telemetry.ReceiverParcaDiscoveries.Add(ctx, 1, metric.WithAttributes(attribute.String("outcome", outcome)))
	before := d.state
	d.state = outcome
	switch {
	case outcome == before:
	case err != nil:
		advice := ""
		if parcaapi.KindOf(err) == parcaapi.ServerFailed {
			advice = ". Parca fails so if one stored profile has an empty type or unit: configure the queries instead"
		}
		d.settings.Logger.Error("Cannot discover the profile types: "+err.Error()+advice+
			". All queries that exist go on.", zap.String("outcome", outcome))
	case before != "":
		d.settings.Logger.Info("Discovering profile types works again.")
	}
}
