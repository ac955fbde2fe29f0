#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# release-test.sh DIR: checks the release in DIR: its checksums, that each archive has a bill of
# materials for each program and programs for its platform, and that the archive for this machine
# holds a collector of the release's version that accepts the configuration beside it.
set -euo pipefail

cd "$1"

fail() {
    echo "release-test.sh: $*" >&2
    exit 1
}

sha256sum --check --quiet checksums.txt

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# header FILE: the format of a program and the processor it is for, from its first bytes.
header() {
    od -An -tx1 -N20 "$1" | tr -d ' \n' | sed -E \
        -e 's/^7f454c46.{28}3e00$/linux_amd64/' -e 's/^7f454c46.{28}b700$/linux_arm64/' \
        -e 's/^cffaedfe07000001.*/darwin_amd64/' -e 's/^cffaedfe0c000001.*/darwin_arm64/'
}

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
        [[ $platform == *_$(header "$work/$name/$program") ]] || fail "$archive has a $program for $(header "$work/$name/$program")"
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
