// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcareceiver

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/xextension/storage"
)

// cursors keeps up to when each query's profiles have been delivered, so that it
// outlives the process. Without a storage extension it keeps nothing.
type cursors struct {
	client storage.Client
}

// openCursors opens the storage of a receiver.
func openCursors(ctx context.Context, host component.Host, storageID *component.ID, self component.ID) (*cursors, error) {
	if storageID == nil {
		return &cursors{client: storage.NewNopClient()}, nil
	}
	found, exists := host.GetExtensions()[*storageID]
	if !exists {
		return nil, fmt.Errorf("storage: there is no extension %s; define it, and list it under service::extensions", storageID)
	}
	extension, ok := found.(storage.Extension)
	if !ok {
		return nil, fmt.Errorf("storage: %s is no storage extension; give one such as file_storage", storageID)
	}
	client, err := extension.GetClient(ctx, component.KindReceiver, self, "")
	if err != nil {
		return nil, fmt.Errorf("storage: %s cannot be opened: %w", storageID, err)
	}
	return &cursors{client: client}, nil
}

func (c *cursors) close(ctx context.Context) error { return c.client.Close(ctx) }

// load returns the cursor of a query, and the zero time if there is none yet.
func (c *cursors) load(ctx context.Context, query string) (time.Time, error) {
	text, err := c.client.Get(ctx, cursorKey(query))
	if err != nil || text == nil {
		return time.Time{}, err
	}
	nanos, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return time.Time{}, errCursor
	}
	return time.Unix(0, nanos), nil
}

// errCursor says that what is stored is no cursor.
var errCursor = errors.New("what the storage has is not what this receiver wrote")

func (c *cursors) save(ctx context.Context, query string, cursor time.Time) error {
	return c.client.Set(ctx, cursorKey(query), strconv.AppendInt(nil, cursor.UnixNano(), 10))
}

func cursorKey(query string) string { return "cursor/" + query }
