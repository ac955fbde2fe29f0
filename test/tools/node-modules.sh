#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# node-modules.sh CACHE DIR: prints the path of a node_modules with what DIR/package-lock.json pins,
# which it installs in CACHE, outside the checkout, if it has to. Without Node.js it prints nothing.
set -euo pipefail

cache=$1
package=$2

log() { echo "node-modules.sh: $*" >&2; }

for program in node npm; do
    if ! command -v "$program" >/dev/null; then
        log "no $program here: programs in Node.js are not tested"
        exit 0
    fi
done

# What is compiled, or chosen from what comes compiled, is for one version of Node.js.
key=$({ cat "$package/package.json" "$package/package-lock.json"; node --version; } | sha256sum | cut -c 1-16)
dir=$cache/$(basename "$package")-$key
if [[ ! -d $dir/node_modules ]]; then
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/.node-modules.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    cp "$package/package.json" "$package/package-lock.json" "$work"
    log "installing what $package/package-lock.json pins"
    npm --prefix "$work" ci --no-audit --no-fund --no-update-notifier --ignore-scripts 1>&2
    # In one step; one that came first is as good.
    mv -T "$work" "$dir" 2>/dev/null || [[ -d $dir/node_modules ]]
fi
echo "$dir/node_modules"
