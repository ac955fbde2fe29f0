#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# fuzz.sh TIME DIR...: runs every fuzz target below the directories for TIME, one after the other,
# as go test takes no more than one at a time.
set -euo pipefail

time=$1
shift

# Listing compiles a package's tests, so only those are asked that mention a target.
mapfile -t packages < <(grep -rl --include='*_test.go' '^func Fuzz' "$@" | xargs -r -n 1 dirname | sort -u)
for package in "${packages[@]}"; do
    listing=$(go test -list '^Fuzz' "./$package")
    mapfile -t targets < <(grep '^Fuzz' <<<"$listing")
    for target in "${targets[@]}"; do
        echo "--- $target in $package"
        go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "./$package"
    done
done
