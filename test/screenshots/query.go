// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// points are how many values a graph has for a series.
const points = 120

// prometheus is a server, and the time of which it is asked.
type prometheus struct {
	url        string
	start, end time.Time
}

// series is a line of a graph, or with one value a line of a table.
type series struct {
	labels map[string]string
	name   string // of the legend
	at     []time.Time
	values []float64
}

func (s *series) last() float64 { return s.values[len(s.values)-1] }

func (s *series) mean() float64 {
	sum := 0.0
	for _, value := range s.values {
		sum += value
	}
	return sum / float64(len(s.values))
}

// overTime evaluates an expression at every point of the time.
func (p *prometheus) overTime(ctx context.Context, expr, legend string) ([]series, error) {
	step := p.end.Sub(p.start).Seconds() / points
	return p.query(ctx, "query_range", legend, url.Values{
		"query": {expr}, "start": {stamp(p.start)}, "end": {stamp(p.end)},
		"step": {strconv.FormatFloat(step, 'f', 3, 64)},
	})
}

// atEnd evaluates an expression at the end of the time.
func (p *prometheus) atEnd(ctx context.Context, expr, legend string) ([]series, error) {
	return p.query(ctx, "query", legend, url.Values{"query": {expr}, "time": {stamp(p.end)}})
}

func stamp(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

// query asks at a path of the API. Each value in its answer is a time and a number as text.
func (p *prometheus) query(ctx context.Context, path, legend string, args url.Values) ([]series, error) {
	body, err := get(ctx, p.url+"/api/v1/"+path+"?"+args.Encode())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", args.Get("query"), err)
	}
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  json.RawMessage
				Values []json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("answer to %s: %w", args.Get("query"), err)
	}
	result := make([]series, 0, len(answer.Data.Result))
	for _, one := range answer.Data.Result {
		if one.Value != nil {
			one.Values = append(one.Values, one.Value)
		}
		s := series{labels: one.Metric, name: legendOf(legend, one.Metric)}
		for _, raw := range one.Values {
			var seconds float64
			var text string
			if err := json.Unmarshal(raw, &[2]any{&seconds, &text}); err != nil {
				return nil, fmt.Errorf("answer to %s: %w", args.Get("query"), err)
			}
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, fmt.Errorf("answer to %s: %w", args.Get("query"), err)
			}
			s.at = append(s.at, time.UnixMilli(int64(seconds*1000)))
			s.values = append(s.values, value)
		}
		result = append(result, s)
	}
	return result, nil
}

// legendOf puts labels into a legend's format, {{label}}.
func legendOf(format string, labels map[string]string) string {
	for name, value := range labels {
		format = strings.ReplaceAll(format, "{{"+name+"}}", value)
	}
	return format
}

func get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", response.Status, body)
	}
	return body, nil
}
