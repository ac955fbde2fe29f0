#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# install.sh FILE COMMAND...: runs COMMAND, a `go install`, and puts the program it installs at
# FILE in one step, so that an interrupted or concurrent installation never leaves half a file.
set -euo pipefail

file=$1
shift

mkdir -p "$(dirname "$file")"
work=$(mktemp -d "$(dirname "$file")/.install.XXXXXX")
trap 'rm -rf "$work"' EXIT

echo "installing $file" >&2
GOBIN="$work" GOFLAGS=-buildvcs=false CGO_ENABLED=0 "$@"
mv "$work/$(basename "$file")" "$file"
