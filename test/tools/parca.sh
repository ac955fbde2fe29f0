#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# parca.sh CACHE: prints the path of a Parca server, which it builds if it has to: $PARCA_BIN, else
# the one in CACHE, else one built from the module that test/parca/go.mod pins.
set -euo pipefail

cache=$1
module=$(cd "$(dirname "${BASH_SOURCE[0]}")/../parca" && pwd)
version=$(awk '$1 == "github.com/parca-dev/parca" { print $2 }' "$module/go.mod")

log() { echo "parca.sh: $*" >&2; }

if [[ -n ${PARCA_BIN:-} ]]; then
    if [[ ! -x $PARCA_BIN ]]; then
        log "PARCA_BIN=$PARCA_BIN is not an executable file"
        exit 1
    fi
    echo "$PARCA_BIN"
    exit 0
fi

dir=$cache/parca-$version
if [[ ! -x $dir/parca ]]; then
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/.parca.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    log "building $version from its Go module (4 to 8 minutes on two cores)"
    GOFLAGS=-buildvcs=false CGO_ENABLED=0 go -C "$module" build -trimpath -ldflags '-s -w' \
        -o "$work/build/parca" github.com/parca-dev/parca/cmd/parca
    # In one step; one that came first is as good.
    mv -T "$work/build" "$dir" 2>/dev/null || [[ -x $dir/parca ]]
fi
echo "$dir/parca"
