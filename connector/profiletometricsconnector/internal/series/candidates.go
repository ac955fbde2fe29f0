// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package series // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"

// candidates estimates, in bounded memory, the weight of the functions that
// overflow: the summary of Metwally, Agrawal and El Abbadi, "Efficient
// Computation of Frequent and Top-k Elements in Data Streams" (Space-Saving,
// 2005), with two additions: counters can be taken out, and all weight fades.
//
// With m counters and a weight of n offered, of which that of earlier periods
// has faded:
//   - the weight of a function is at most estimate, and at least known;
//   - both differ by at most n/m;
//   - so every function with more than n/m has a counter.
type candidates struct {
	counters []counted // a heap, the lightest first
	at       map[FunctionID]int
	// floor is what a function without a counter weighs at most. No counter
	// is below it.
	floor float64
}

// counted is a counter.
type counted struct {
	id FunctionID
	// weight is too large by excess at most.
	weight, excess float64
	// seen is the interval in which the function overflowed last.
	seen int64
}

func (c *counted) known() float64 { return c.weight - c.excess }

// estimate is the most that a function can have weighed.
func (c *candidates) estimate(id FunctionID) float64 {
	if i, ok := c.at[id]; ok {
		return c.counters[i].weight
	}
	return c.floor
}

// known is the least that a function has weighed.
func (c *candidates) known(id FunctionID) float64 {
	if i, ok := c.at[id]; ok {
		return c.counters[i].known()
	}
	return 0
}

// offer counts the weight of a function that overflowed. Without a counter of
// its own it gets a new one if mayGrow allows it for that many counters, else
// the lightest one. It returns true if there is a counter more.
func (c *candidates) offer(id FunctionID, weight float64, interval int64, mayGrow func(counters int) bool) bool {
	if i, ok := c.at[id]; ok {
		c.counters[i].weight += weight
		c.counters[i].seen = interval
		c.sink(i)
		return false
	}
	if c.at == nil {
		c.at = make(map[FunctionID]int)
	}
	if len(c.counters) == 0 || mayGrow(len(c.counters)) {
		c.counters = append(c.counters, counted{id, c.floor + weight, c.floor, interval})
		c.at[id] = len(c.counters) - 1
		c.rise(len(c.counters) - 1)
		return true
	}
	lightest := &c.counters[0]
	delete(c.at, lightest.id)
	c.floor = lightest.weight
	*lightest = counted{id, c.floor + weight, c.floor, interval}
	c.at[id] = 0
	c.sink(0)
	return false
}

// remove takes out the counter of a function and returns whether it had one.
// What it leaves does not break the bounds: the sum of all counters falls by at
// least the floor, with which the next new counter begins.
func (c *candidates) remove(id FunctionID) bool {
	i, ok := c.at[id]
	if !ok {
		return false
	}
	delete(c.at, id)
	last := len(c.counters) - 1
	if i != last {
		c.counters[i] = c.counters[last]
		c.at[c.counters[i].id] = i
	}
	c.counters = c.counters[:last]
	if i != last {
		c.rise(i)
		c.sink(i)
	}
	return true
}

// fade halves all weights. The bounds hold for what is left of the weight.
func (c *candidates) fade() {
	c.floor /= 2
	for i := range c.counters {
		c.counters[i].weight /= 2
		c.counters[i].excess /= 2
	}
}

// rise moves a counter towards the lightest until it is in its place.
func (c *candidates) rise(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if c.counters[parent].weight <= c.counters[i].weight {
			return
		}
		c.swap(i, parent)
		i = parent
	}
}

// sink moves a counter towards the heaviest until it is in its place.
func (c *candidates) sink(i int) {
	for {
		lightest := 2*i + 1
		if lightest >= len(c.counters) {
			return
		}
		if right := lightest + 1; right < len(c.counters) && c.counters[right].weight < c.counters[lightest].weight {
			lightest = right
		}
		if c.counters[i].weight <= c.counters[lightest].weight {
			return
		}
		c.swap(i, lightest)
		i = lightest
	}
}

func (c *candidates) swap(i, j int) {
	c.counters[i], c.counters[j] = c.counters[j], c.counters[i]
	c.at[c.counters[i].id], c.at[c.counters[j].id] = i, j
}
