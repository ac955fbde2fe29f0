#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# fuzz.sh TIME DIR...: runs every fuzz target below the directories for TIME, one after the other,
# as go test takes no more than one at a time.
set -euo pipefail

time=$1
shift

# ended says whether the output is that of a run that go test calls a failure because its time was
# over: up to Go 1.26 it reports that as an error of the target now and then (golang/go#75804).
# Whatever a target finds comes with an input.
ended() {
    grep -q '^ *context deadline exceeded$' "$1" && ! grep -q 'Failing input written\|panic:\|Error Trace' "$1"
}

output=$(mktemp)
trap 'rm -f "$output"' EXIT

# Listing compiles a package's tests, so only those are asked that mention a target.
mapfile -t packages < <(grep -rl --include='*_test.go' '^func Fuzz' "$@" | xargs -r -n 1 dirname | sort -u)
for package in "${packages[@]}"; do
    listing=$(go test -list '^Fuzz' "./$package")
    mapfile -t targets < <(grep '^Fuzz' <<<"$listing")
    for target in "${targets[@]}"; do
        echo "--- $target in $package"
        if ! go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "./$package" 2>&1 | tee "$output"; then
            ended "$output"
            echo "$target found nothing: that was the end of its time"
        fi
    done
done
