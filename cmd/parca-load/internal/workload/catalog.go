// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"
	"sync"
)

// catalog is a list of what there is, either given by the user or as the server last told it.
type catalog[T any] struct {
	given bool
	// known is closed when there is something.
	known chan struct{}

	mu   sync.Mutex
	list []T
}

func newCatalog[T any](given []T) *catalog[T] {
	c := &catalog[T]{given: len(given) > 0, known: make(chan struct{}), list: given}
	if c.given {
		close(c.known)
	}
	return c
}

// learn replaces the list, unless the user gave it or the new one is empty. Compare orders the list,
// as the server's order changes from answer to answer.
func (c *catalog[T]) learn(list []T, compare func(a, b T) int) {
	if c.given || len(list) == 0 {
		return
	}
	list = slices.SortedFunc(slices.Values(list), compare)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) == 0 {
		close(c.known)
	}
	c.list = list
}

func (c *catalog[T]) all() []T {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.list
}

// pick takes turns in the list. It waits until there is something in it, and returns false if the
// round is over before.
func (c *catalog[T]) pick(r *round) (picked T, ok bool) {
	select {
	case <-c.known:
	case <-r.stop:
		return picked, false
	case <-r.ctx.Done():
		return picked, false
	}
	list := c.all()
	return list[r.number%len(list)], true
}
