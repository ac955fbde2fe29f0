#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# release.sh DIR: makes a release in DIR, new: for each of $PLATFORMS an archive with the collector
# and parca-load, and for each program a bill of materials (CycloneDX); checksums.txt of all that.
# The version is that of version.sh, ocb is $OCB. Equal commits make equal files: they have the
# commit's time ($SOURCE_DATE_EPOCH, if set). Needs GNU tar.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$1
read -r -a platforms <<<"${PLATFORMS:-linux/amd64 linux/arm64 darwin/arm64}"

log() { echo "release.sh: $*" >&2; }

if ! tar --version | grep -q GNU; then
    log "needs GNU tar, for archives that can be reproduced"
    exit 1
fi

version=$(build/version.sh)
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
source=dist-release-source
rm -rf "$out" "$source"
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build/generate.sh builder-config.yaml "$version" "$source"
go -C build/sbom build -o "$work/sbom" .

# bill PROGRAM writes what a program is made of beside the archives.
bill() {
    "$work/sbom" "$1" "$version" >"$out/$(basename "$1")_${version}_$suffix.cdx.json"
}

for platform in "${platforms[@]}"; do
    suffix=${platform/\//_}
    name=otelcol-profiletometrics_${version}_$suffix
    tree=$work/$name
    mkdir "$tree"
    log "compiling for $platform"
    export CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/}
    go build -C "$source" -trimpath -ldflags '-s -w' -o "$tree/otelcol-profiletometrics" .
    go build -trimpath -ldflags '-s -w' -o "$tree/parca-load" ./cmd/parca-load
    bill "$tree/otelcol-profiletometrics"
    bill "$tree/parca-load"
    cp config.yaml LICENSE README.md CHANGELOG.md "$tree"
    tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mode=go=u,go-w --mtime="@$epoch" -c "$name" |
        gzip -n >"$out/$name.tar.gz"
done

(cd "$out" && sha256sum -- * >checksums.txt)
log "version $version is in $out"
