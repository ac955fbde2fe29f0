// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package livepage

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Error is something that went wrong, once or again and again.
type Error struct {
	// What it is; errors with the same are one.
	What string
	// Detail is that of the latest.
	Detail      string
	Times       int64
	First, Last time.Time
}

const (
	mostErrors  = 20
	longestText = 2000 // bytes
)

// Errors keeps the last of them. The zero value is empty; it is safe for
// concurrent use.
type Errors struct {
	mu  sync.Mutex
	all []Error
}

// Add notes an error.
func (e *Errors) Add(what, detail string, now time.Time) {
	what, detail = cut(what), cut(detail)
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.all {
		if known := &e.all[i]; known.What == what {
			known.Detail, known.Last = detail, now
			known.Times++
			return
		}
	}
	if len(e.all) == mostErrors {
		e.all = slices.Delete(e.all, e.oldest(), e.oldest()+1)
	}
	e.all = append(e.all, Error{What: what, Detail: detail, Times: 1, First: now, Last: now})
}

func (e *Errors) oldest() int {
	oldest := 0
	for i := range e.all {
		if e.all[i].Last.Before(e.all[oldest].Last) {
			oldest = i
		}
	}
	return oldest
}

// List returns a copy, the latest first.
func (e *Errors) List() []Error {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := slices.Clone(e.all)
	slices.SortStableFunc(list, func(a, b Error) int { return cmp.Compare(b.Last.UnixNano(), a.Last.UnixNano()) })
	return list
}

// cut shortens a text, and lets go of what it was part of.
func cut(text string) string {
	if len(text) <= longestText {
		return strings.Clone(text)
	}
	return strings.ToValidUTF8(text[:longestText], "") + "…"
}
