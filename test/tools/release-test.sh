#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# release-test.sh DIR: checks the release in DIR: its checksums, that each archive has a bill of
# materials for each program and programs for its platform, and that the archive for this machine
# holds a collector of the release's version that accepts the configuration beside it.
set -euo pipefail

tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"

fail() {
    echo "release-test.sh: $*" >&2
    exit 1
}

sha256sum --check --quiet checksums.txt

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

native=$(go env GOHOSTOS)_$(go env GOHOSTARCH)
tried=
for archive in *.tar.gz; do
    name=${archive%.tar.gz}
    tar -C "$work" -xf "$archive"
    for file in otelcol-profiletometrics parca-load config.yaml LICENSE README.md CHANGELOG.md; do
        [[ -s $work/$name/$file ]] || fail "$archive has no $file"
    done
    platform=${name#otelcol-profiletometrics_}
    for program in otelcol-profiletometrics parca-load; do
        bill=${program}_$platform.cdx.json
        is=$("$tools/program-platform.sh" "$work/$name/$program")
        [[ $platform == *_"$is" ]] || fail "$archive has a $program for $is"
        grep -q '"purl": "pkg:golang/google.golang.org/grpc@v' "$bill" || fail "$bill does not list the modules of $program"
    done
    if [[ $platform == *_$native ]]; then
        version=${platform%"_$native"}
        said=$("$work/$name/otelcol-profiletometrics" --version)
        [[ $said == *" $version" ]] || fail "the collector of version $version says \"$said\""
        (cd "$work/$name" && ./otelcol-profiletometrics validate --config config.yaml --feature-gates=+service.profilesSupport)
        tried=yes
    fi
    echo "ok: $archive"
done
[[ -n $tried ]] || fail "no archive is for this machine, $native"
