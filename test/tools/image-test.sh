#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# image-test.sh [IMAGE]: runs a container of IMAGE as a hardened cluster would and checks what it
# serves. Without IMAGE, it builds the Dockerfile with buildah, upon stand-ins for the base images
# and with this machine's Go caches, so that it needs no registry and compiles little. Runs with
# docker or podman ($RUNNER says which).
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() {
    echo "image-test.sh: $*" >&2
    exit 1
}

work=$(mktemp -d)
containers=()
cleanup() {
    for container in "${containers[@]}"; do
        "$runner" rm -f "$container" >/dev/null 2>&1 || true
    done
    rm -rf "$work"
}
trap cleanup EXIT

build() {
    local modules cache
    modules=$(go env GOMODCACHE)
    cache=$(go env GOCACHE)
    test/tools/image-bases.sh localhost/profiletometrics-go:stand-in localhost/profiletometrics-runtime:stand-in
    # Without a kernel's help (chroot isolation), so that it works inside a container too.
    BUILDER=buildah BUILDAH_ISOLATION=chroot GOPROXY=$(go env GOPROXY) VERSION=0.0.0-test build/image.sh "$1" \
        --build-arg GO_IMAGE=localhost/profiletometrics-go:stand-in \
        --build-arg RUNTIME_IMAGE=localhost/profiletometrics-runtime:stand-in \
        --network host --volume "$modules:/machine/mod" --volume "$cache:/machine/build"
}

image=${1:-}
runner=${RUNNER:-}
if [[ -z $runner ]]; then
    if docker info >/dev/null 2>&1; then runner=docker; else runner=podman; fi
fi
if [[ -z $image ]]; then
    runner=podman # It sees the images of buildah.
    image=localhost/otelcol-profiletometrics:test
    build "$image"
fi
command -v "$runner" >/dev/null || fail "running a container needs docker or podman"
if [[ $runner == podman ]]; then
    # crun, the default, refuses where cgroups are of both versions.
    command -v runc >/dev/null && engine='runtime="runc"' || engine=
    # Podman's own limits may be above this machine's, which only a privileged user can raise.
    printf '[containers]\ndefault_ulimits=["nofile=1024:1024","nproc=1024:1024"]\n[engine]\n%s\n' \
        "$engine" >"$work/containers.conf"
    export CONTAINERS_CONF=$work/containers.conf
fi

hardened=(--read-only --cap-drop ALL --security-opt no-new-privileges --memory 512m)

# What the image says of itself.
inspect() { "$runner" image inspect --format "$1" "$image"; }
[[ $(inspect '{{.Config.User}}') == 65532:65532 ]] || fail "the image's user is $(inspect '{{.Config.User}}')"
for label in title description version source licenses documentation; do
    [[ -n $(inspect "{{index .Config.Labels \"org.opencontainers.image.$label\"}}") ]] || fail "the image has no label $label"
done
bytes=$(inspect '{{.Size}}')
((bytes < 150000000)) || fail "the image has $bytes bytes; 150 MB are the most"

version=$("$runner" run --rm "${hardened[@]}" --network none "$image" --version)
[[ $version == *"$(inspect '{{index .Config.Labels "org.opencontainers.image.version"}}')"* ]] ||
    fail "the binary is \"$version\", which is not the version in the image's label"

# The configuration holds, and the gate can be turned off.
"$runner" run --rm "${hardened[@]}" --network none "$image" validate --config=/etc/otelcol-profiletometrics/config.yaml
if "$runner" run --rm "${hardened[@]}" --network none "$image" --config=/etc/otelcol-profiletometrics/config.yaml \
    --feature-gates=-service.profilesSupport >"$work/gated" 2>&1; then
    fail "the collector ran without the feature gate"
fi
grep -q service.profilesSupport "$work/gated" || fail "without the feature gate it said: $(cat "$work/gated")"

# Running: healthy, and it measures itself.
container=$("$runner" run -d "${hardened[@]}" -p 127.0.0.1::13133 -p 127.0.0.1::9464 -p 127.0.0.1::8888 "$image")
containers+=("$container")
address() { "$runner" port "$container" "$1/tcp" | head -n 1; }

# await PORT PATH TEXT waits until what the container serves contains the text.
await() {
    local url
    url=http://$(address "$1")$2
    for _ in {1..60}; do
        if curl -fsS --max-time 5 "$url" >"$work/answer" 2>"$work/error" && grep -q "$3" "$work/answer"; then
            echo "ok: $2 of port $1 has $3"
            return
        fi
        sleep 1
    done
    "$runner" logs "$container" >&2 || true
    fail "$url never had $3; last: $(head -c 500 "$work/answer") $(cat "$work/error")"
}
await 13133 / 'Server available'
await 9464 /metrics '^memory_usage_flat_bytes{'
await 8888 /metrics '^otelcol_connector_profiletometrics_samples'

"$runner" stop --time 10 "$container" >/dev/null
code=$("$runner" inspect --format '{{.State.ExitCode}}' "$container")
[[ $code == 0 ]] || fail "stopped, it ended with code $code"
echo "ok: $image, $((bytes / 1000000)) MB"
