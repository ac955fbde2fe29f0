#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# kubernetes.sh CACHE: prints the path of a directory with kube-apiserver, etcd and kubectl, which it
# builds if it has to: $KUBERNETES_BIN, else the one in CACHE, else one built from the modules that
# test/kubernetes/go.mod pins.
set -euo pipefail

cache=$1
module=$(cd "$(dirname "${BASH_SOURCE[0]}")/../kubernetes" && pwd)
version=$(awk '$1 == "k8s.io/kubernetes" { print $2 }' "$module/go.mod")

log() { echo "kubernetes.sh: $*" >&2; }

# complete DIR: whether the directory has all programs.
complete() {
    [[ -x $1/etcd && -x $1/kube-apiserver && -x $1/kubectl ]]
}

if [[ -n ${KUBERNETES_BIN:-} ]]; then
    if ! complete "$KUBERNETES_BIN"; then
        log "KUBERNETES_BIN=$KUBERNETES_BIN is not a directory with etcd, kube-apiserver and kubectl"
        exit 1
    fi
    echo "$KUBERNETES_BIN"
    exit 0
fi

dir=$cache/kubernetes-$version
if ! complete "$dir"; then
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/.kubernetes.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    log "building $version from its Go module (6 to 9 minutes on two cores)"
    # What a release's binaries say of their version; kubectl compares it with the server's.
    stamp=k8s.io/component-base/version
    IFS=. read -r major minor _ <<<"${version#v}"
    flags="-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=$major -X $stamp.gitMinor=$minor"
    build() {
        GOFLAGS=-buildvcs=false CGO_ENABLED=0 go -C "$module" build -trimpath -ldflags "$flags" -o "$work/build/$1" "$2"
    }
    build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
    build kubectl k8s.io/kubernetes/cmd/kubectl
    build etcd go.etcd.io/etcd/server/v3
    # In one step; one that came first is as good.
    mv -T "$work/build" "$dir" 2>/dev/null || complete "$dir"
fi
echo "$dir"
