#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# image.sh IMAGE [FLAG...]: builds the container image IMAGE with $BUILDER, else with docker, podman
# or buildah, whichever is there first; the flags go to its `build`. PLATFORM (e.g. linux/arm64) is
# what to build for, MANIFEST and VERSION are as in the Dockerfile.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
image=$1
shift

builder=${BUILDER:-}
if [[ -z $builder ]]; then
    # The docker command may be there without an engine to talk to.
    if docker info >/dev/null 2>&1; then
        builder=docker
    elif command -v podman >/dev/null; then
        builder=podman
    elif command -v buildah >/dev/null; then
        builder=buildah
    else
        echo "image.sh: building an image needs docker (with a running engine), podman or buildah" >&2
        exit 1
    fi
fi

flags=(
    --build-arg "VERSION=$(build/version.sh)"
    --build-arg "REVISION=$(git rev-parse HEAD 2>/dev/null || true)"
    --build-arg "MANIFEST=${MANIFEST:-builder-config.yaml}"
    --tag "$image"
)
if [[ -n ${PLATFORM:-} ]]; then
    flags+=(--platform "$PLATFORM")
    if [[ $builder != docker ]]; then
        # Not all versions know it by themselves; without it they would compile in an emulator.
        case $(uname -m) in
        x86_64) flags+=(--build-arg BUILDPLATFORM=linux/amd64) ;;
        aarch64 | arm64) flags+=(--build-arg BUILDPLATFORM=linux/arm64) ;;
        esac
    fi
fi
# Where modules come from depends on the machine, not on the image.
[[ -z ${GOPROXY:-} ]] || flags+=(--build-arg "GOPROXY=$GOPROXY")

echo "building $image with $builder" >&2
exec "$builder" build "${flags[@]}" "$@" .
