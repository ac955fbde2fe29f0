#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# prometheus.sh CACHE: prints the path of a Prometheus server, which it gets if it has to:
# $PROMETHEUS_BIN, else the one in CACHE, else Debian's package (unpacked into CACHE, not
# installed), else one built from its Go module. promtool lies beside the last three.
set -euo pipefail

cache=$1
version=v0.315.0 # of the Go module; the server is 3.15.0

log() { echo "prometheus.sh: $*" >&2; }

if [[ -n ${PROMETHEUS_BIN:-} ]]; then
    if [[ ! -x $PROMETHEUS_BIN ]]; then
        log "PROMETHEUS_BIN=$PROMETHEUS_BIN is not an executable file"
        exit 1
    fi
    echo "$PROMETHEUS_BIN"
    exit 0
fi

debian=$cache/prometheus-debian
built=$cache/prometheus-$version
for dir in "$debian" "$built"; do
    if [[ -x $dir/prometheus && -x $dir/promtool ]]; then
        echo "$dir/prometheus"
        exit 0
    fi
done

mkdir -p "$cache"
work=$(mktemp -d "$cache/.prometheus.XXXXXX")
trap 'rm -rf "$work"' EXIT

# download fetches the package; the sandbox user of apt may not write here, which it says on
# standard error and which does not matter.
download() {
    (cd "$work" && apt-get download -qq prometheus)
}

unpack_debian() {
    command -v apt-get >/dev/null && command -v dpkg >/dev/null || return 1
    log "downloading Debian's package"
    if ! download; then
        [[ $(id -u) == 0 ]] || return 1
        apt-get update -qq || return 1
        download || return 1
    fi
    dpkg -x "$work"/prometheus_*.deb "$work/root" || return 1
    "$work/root/usr/bin/prometheus" --version || return 1
    publish "$work/root/usr/bin" "$debian"
}

build_from_module() {
    log "building $version from its Go module (3 to 7 minutes)"
    mkdir -p "$work/module" "$work/bin"
    (
        cd "$work/module"
        export GOFLAGS=-mod=mod CGO_ENABLED=0
        go mod init prometheus-build
        go get -tool "github.com/prometheus/prometheus/cmd/prometheus@$version"
        # Without service discovery: the SDKs of all clouds take half an hour more.
        GOBIN=$work/bin go install -tags remove_all_sd \
            github.com/prometheus/prometheus/cmd/prometheus github.com/prometheus/prometheus/cmd/promtool
    )
    publish "$work/bin" "$built"
}

# publish FROM TO moves a directory in one step; one that came first is as good.
publish() {
    mv -T "$1" "$2" 2>/dev/null || [[ -x $2/prometheus ]]
}

# Only the server's path goes to standard output.
if unpack_debian 1>&2; then
    echo "$debian/prometheus"
else
    build_from_module 1>&2
    echo "$built/prometheus"
fi
