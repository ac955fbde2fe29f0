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
	counters []counted // in no order
	at       map[FunctionID]int
	// last is the counter that was found last. Functions that overflow do so in
	// the same order in every batch, and then the next one's is behind it.
	last int
	// heap leads to the lightest counter. It is put in order when that is asked
	// for: weights grow all the time, and as long as there are counters enough
	// nobody asks.
	heap []ranked
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
	rank int // position in the heap
}

// ranked is an entry of the heap: a counter, and what its weight was at least,
// after which the heap is ordered.
type ranked struct {
	weight  float64
	counter int
}

func (c *counted) known() float64 { return c.weight - c.excess }

// find returns the position of a function's counter.
func (c *candidates) find(id FunctionID) (int, bool) {
	if c.isNext(id) {
		return c.last, true
	}
	i, ok := c.at[id]
	if ok {
		c.last = i
	}
	return i, ok
}

// isNext says whether a function is the one that was found last, or the one
// behind it, which is then found.
func (c *candidates) isNext(id FunctionID) bool {
	if c.last < len(c.counters) && c.counters[c.last].id == id {
		return true
	}
	if next := c.last + 1; next < len(c.counters) && c.counters[next].id == id {
		c.last = next
		return true
	}
	return false
}

// estimate is the most that a function can have weighed.
func (c *candidates) estimate(id FunctionID) float64 {
	if i, ok := c.find(id); ok {
		return c.counters[i].weight
	}
	return c.floor
}

// known is the least that a function has weighed.
func (c *candidates) known(id FunctionID) float64 {
	if i, ok := c.find(id); ok {
		return c.counters[i].known()
	}
	return 0
}

// offer counts the weight of a function that overflowed. Without a counter of
// its own it gets a new one if mayGrow allows it for that many counters, else
// the lightest one. It returns true if there is a counter more.
func (c *candidates) offer(id FunctionID, weight float64, interval int64, mayGrow func(counters int) bool) bool {
	if i, ok := c.find(id); ok {
		c.counters[i].weight += weight
		c.counters[i].seen = interval
		return false
	}
	if c.at == nil {
		c.at = make(map[FunctionID]int)
	}
	i := len(c.counters)
	grows := i == 0 || mayGrow(i)
	if grows {
		c.counters = append(c.counters, counted{})
		c.heap = append(c.heap, ranked{counter: i})
		c.counters[i].rank = i
	} else {
		i = c.lightest()
		c.floor = c.counters[i].weight
		delete(c.at, c.counters[i].id)
	}
	rank := c.counters[i].rank
	c.counters[i] = counted{id, c.floor + weight, c.floor, interval, rank}
	c.at[id], c.last = i, i
	c.heap[rank].weight = c.floor + weight
	c.order(rank)
	return grows
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
	rank := c.counters[i].rank
	c.swap(rank, last)
	c.heap = c.heap[:last]
	if i != last {
		moved := c.counters[last]
		c.counters[i], c.at[moved.id], c.heap[moved.rank].counter = moved, i, i
	}
	c.counters = c.counters[:last]
	if rank < last {
		c.order(rank)
	}
	return true
}

// fade halves all weights. The bounds hold for what is left of the weight.
func (c *candidates) fade() {
	c.floor /= 2
	for i := range c.counters {
		c.counters[i].weight /= 2
		c.counters[i].excess /= 2
		c.heap[i].weight /= 2
	}
}

// lightest is the position of the lightest counter, of which there is one.
func (c *candidates) lightest() int {
	for {
		first := &c.heap[0]
		weight := c.counters[first.counter].weight
		if first.weight == weight {
			return first.counter
		}
		first.weight = weight
		c.sink(0)
	}
}

// order moves an entry of the heap to its place.
func (c *candidates) order(i int) {
	c.rise(i)
	c.sink(i)
}

// rise moves an entry towards the lightest until it is in its place.
func (c *candidates) rise(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if c.heap[parent].weight <= c.heap[i].weight {
			return
		}
		c.swap(i, parent)
		i = parent
	}
}

// sink moves an entry towards the heaviest until it is in its place.
func (c *candidates) sink(i int) {
	for {
		lightest := 2*i + 1
		if lightest >= len(c.heap) {
			return
		}
		if right := lightest + 1; right < len(c.heap) && c.heap[right].weight < c.heap[lightest].weight {
			lightest = right
		}
		if c.heap[i].weight <= c.heap[lightest].weight {
			return
		}
		c.swap(i, lightest)
		i = lightest
	}
}

func (c *candidates) swap(i, j int) {
	c.heap[i], c.heap[j] = c.heap[j], c.heap[i]
	c.counters[c.heap[i].counter].rank, c.counters[c.heap[j].counter].rank = i, j
}
