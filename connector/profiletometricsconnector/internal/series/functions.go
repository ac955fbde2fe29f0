// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package series // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/series"

import "sync"

// Function identifies a function within a resource.
type Function struct {
	Name string
	// File is empty unless functions of one name are told apart by file.
	File string
}

// FunctionID numbers a function that the store knows, so that series are found
// by comparing numbers. It stays valid until Epoch changes; 0 is none.
type FunctionID uint32

// functionTable numbers functions. Numbers are not used again.
type functionTable struct {
	// inUse is held for reading by every Update: what it identified must not be
	// forgotten before it has series.
	inUse sync.RWMutex

	mu    sync.RWMutex
	epoch uint64
	last  FunctionID
	ids   map[Function]FunctionID
	named map[FunctionID]Function
}

// Epoch changes whenever function IDs may have lost their meaning: whoever
// remembers some compares it first. It does not change during an Update.
func (u *Update) Epoch() uint64 {
	t := &u.store.functions
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.epoch
}

// Identify returns the ID of a function, which is never 0.
func (u *Update) Identify(function Function) FunctionID {
	t := &u.store.functions
	t.mu.RLock()
	id, ok := t.ids[function]
	t.mu.RUnlock()
	if ok {
		return id
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if id, ok = t.ids[function]; ok {
		return id
	}
	if t.ids == nil {
		t.ids, t.named = make(map[Function]FunctionID), make(map[FunctionID]Function)
	}
	t.last++
	t.ids[function], t.named[t.last] = t.last, function
	return t.last
}

func (t *functionTable) function(id FunctionID) Function {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.named[id]
}

// slack is how many functions without series the table holds before it is
// worth a sweep.
const slack = 1024

// forgetFunctions drops the functions that have no series and are no candidates
// once they are the majority.
func (s *Store) forgetFunctions() {
	t := &s.functions
	t.mu.RLock()
	known := int64(len(t.ids))
	t.mu.RUnlock()
	if known <= 2*(s.live.Load()+s.candidates.Load())+slack {
		return
	}
	t.inUse.Lock()
	defer t.inUse.Unlock()
	used := s.usedFunctions()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.epoch++
	for function, id := range t.ids {
		if !used[id] {
			delete(t.ids, function)
			delete(t.named, id)
		}
	}
}

func (s *Store) usedFunctions() map[FunctionID]bool {
	used := make(map[FunctionID]bool)
	s.recent.use(used)
	for _, r := range s.snapshotOfResources() {
		r.mu.Lock()
		for i := range r.streams {
			for id := range r.streams[i].places {
				used[id] = true
			}
			if c := r.streams[i].contest; c != nil {
				for id := range c.candidates.at {
					used[id] = true
				}
			}
		}
		r.mu.Unlock()
	}
	return used
}
