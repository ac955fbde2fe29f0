// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package pprofscrapereceiver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"go.uber.org/zap"

	"github.com/profiletometrics/profiletometrics/internal/pprofotlp"
)

// What included files are called in the telemetry: their paths would be values
// without bound.
const (
	filesTarget  = "include_files"
	filesProfile = "file"
)

// fileReader reads each included file once and delivers it whole.
type fileReader struct {
	patterns []string
	limit    int64
	delivery *delivery
	journal  *journal
	logger   *zap.Logger
}

func newFileReader(shared *shared) *fileReader {
	return &fileReader{
		patterns: shared.config.IncludeFiles,
		limit:    shared.config.MaxResponseBodySize,
		delivery: shared.delivery,
		journal:  newJournal(shared, filesTarget),
		logger:   shared.settings.Logger,
	}
}

// readAll goes through the files in the order of their paths. A file that cannot
// be read, or is refused, is logged and does not stop the others.
func (r *fileReader) readAll(ctx context.Context) {
	for _, path := range r.paths() {
		if ctx.Err() != nil {
			return
		}
		size, f := r.deliver(ctx, path)
		outcome := outcomeSuccess
		if f != nil {
			outcome = f.outcome
			r.logger.Error("Cannot take an included file.", zap.String("file", path), zap.String("outcome", outcome), zap.Error(f))
		}
		r.journal.scraped(ctx, filesProfile, outcome, size)
	}
}

// paths are the files that match any pattern, each once.
func (r *fileReader) paths() []string {
	var paths []string
	for _, pattern := range r.patterns {
		matches, err := filepath.Glob(pattern)
		if err != nil || len(matches) == 0 {
			r.logger.Error("No file matches; check the path in include_files.", zap.String("glob", pattern), zap.Error(err))
		}
		paths = append(paths, matches...)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func (r *fileReader) deliver(ctx context.Context, path string) (int64, *failure) {
	data, f := r.read(path)
	if f != nil {
		return 0, f
	}
	p, size, f := decode(data, r.limit)
	if f != nil {
		return size, f
	}
	b := r.delivery.newBatch()
	if err := b.add(p, processResource("", p)); err != nil {
		return size, fail(outcomeInvalid, "cannot convert the profile: %w", err)
	}
	if err := r.delivery.consume(ctx, b); err != nil {
		return size, fail(outcomeRefused, "the pipeline refused the profile: %w; see the component that did for what to do", err)
	}
	return size, nil
}

func (r *fileReader) read(path string) ([]byte, *failure) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fail(outcomeUnreachable, "cannot open the file: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	data, err := pprofotlp.ReadLimited(file, r.limit)
	switch {
	case errors.Is(err, pprofotlp.ErrTooLarge):
		return nil, tooLarge(r.limit)
	case err != nil:
		return nil, fail(outcomeUnreachable, "cannot read the file: %w", err)
	}
	return data, nil
}
