#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# image-test.sh [IMAGE]: runs a container of IMAGE as a hardened cluster would and checks what it
# serves, with docker or podman ($RUNNER says which); podman also runs the Deployment in k8s/base.
# Without IMAGE, it builds the Dockerfile with buildah, upon stand-ins for the base images and with
# this machine's Go caches, so that it needs no registry and compiles little. Nothing is left of it.
# With PLATFORM, the image is built for that, as far as it goes upon scratch, and not run.
# What this machine cannot do is an error, or, with DOCKER_TEST=optional, said and left out.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. test/tools/container-storage.sh

fail() {
    echo "image-test.sh: $*" >&2
    exit 1
}

# lacking SOMETHING REASON ends the test where the machine does not allow to go on.
lacking() {
    [[ ${DOCKER_TEST:-} == optional ]] || fail "$1: $2"
    echo "image-test.sh: SKIPPED: $1: $2" >&2
    exit 0
}

work=$(mktemp -d "${TMPDIR:-/var/tmp}/image-test.XXXXXX")
container=
storage= # private, if any
cleanup() {
    [[ -z $container ]] || "$runner" rm -f "$container" >/dev/null 2>&1 || true
    [[ ! -f $work/deployment.yaml ]] || podman kube down "$work/deployment.yaml" >/dev/null 2>&1 || true
    if [[ -n $storage ]]; then remove_storage "$storage"; else rm -rf "$work"; fi
}
trap cleanup EXIT

go_image=localhost/profiletometrics-go:stand-in
runtime_image=localhost/profiletometrics-runtime:stand-in

# can_build: whether buildah can run a command in a container. Without a kernel's help (chroot
# isolation), so that it works inside a container too.
can_build() {
    local probe
    probe=$(buildah from "$go_image") && buildah run --isolation chroot "$probe" true && buildah rm "$probe" >/dev/null
}

build() {
    local modules cache reason runtime=$runtime_image
    # Of another platform there is no stand-in.
    [[ -z ${PLATFORM:-} ]] || runtime=scratch
    modules=$(go env GOMODCACHE)
    cache=$(go env GOCACHE)
    mkdir -p "$modules" "$cache"
    reason=$({ test/tools/image-bases.sh "$go_image" "$runtime_image" && can_build; } 2>&1) ||
        lacking "building the image" "buildah cannot do it here: $reason"
    BUILDER=buildah BUILDAH_ISOLATION=chroot GOPROXY=$(go env GOPROXY) VERSION=0.0.0-test build/image.sh "$1" \
        --build-arg GO_IMAGE="$go_image" --build-arg RUNTIME_IMAGE="$runtime" \
        --network host --volume "$modules:/machine/mod" --volume "$cache:/machine/build"
}

# requires_platform IMAGE: it, and the program in it, are for $PLATFORM.
requires_platform() {
    local is opened
    is=$(podman image inspect --format '{{.Os}}/{{.Architecture}}' "$1")
    [[ $is == "$PLATFORM" ]] || fail "the image is for $is, not for $PLATFORM"
    opened=$(buildah from --arch "${PLATFORM#*/}" "$1")
    is=$(test/tools/program-platform.sh "$(buildah mount "$opened")/otelcol-profiletometrics")
    buildah umount "$opened" >/dev/null
    [[ $is == "${PLATFORM/\//_}" ]] || fail "the program in the image is for $is, not for $PLATFORM"
}

image=${1:-}
runner=${RUNNER:-}
if [[ -z $image ]]; then
    [[ $(id -u) == 0 ]] || lacking "building the image" "without a registry, only root can"
    reason=$(test/tools/require-containers.sh 2>&1) || lacking "building the image" "$reason"
    runner=podman # It sees the images of buildah.
    private_storage "$work" || lacking "building the image" "buildah and podman do not use a storage of its own"
    storage=$work
    image=localhost/otelcol-profiletometrics:test
    build "$image"
    echo "ok: $image is built"
    if [[ -n ${PLATFORM:-} ]]; then
        requires_platform "$image"
        echo "ok: it is for $PLATFORM"
        exit 0
    fi
fi
if [[ -z $runner ]]; then
    if docker info >/dev/null 2>&1; then runner=docker; else runner=podman; fi
fi
command -v "$runner" >/dev/null || fail "running a container needs docker or podman"
[[ $runner != podman || -n $storage ]] || engine_settings "$work"

hardened=(--read-only --cap-drop ALL --security-opt no-new-privileges --memory 512m)
published=(-p 127.0.0.1::13133 -p 127.0.0.1::9464 -p 127.0.0.1::8888)
if [[ -n $storage ]]; then
    reason=$(podman run --rm "${hardened[@]}" "${published[@]}" "$go_image" true 2>&1) ||
        lacking "running the image, which was built" "podman cannot run any here: $reason"
fi

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

# await URL TEXT waits until what is served there contains the text.
await() {
    for _ in {1..60}; do
        if curl -fsS --max-time 5 "$1" >"$work/answer" 2>"$work/error" && grep -q "$2" "$work/answer"; then
            echo "ok: $1 has $2"
            return
        fi
        sleep 1
    done
    [[ -z $container ]] || "$runner" logs "$container" >&2 || true
    fail "$1 never had $2; last: $(head -c 500 "$work/answer") $(cat "$work/error")"
}

# Running: healthy, and it measures itself.
container=$("$runner" run -d "${hardened[@]}" "${published[@]}" "$image")
address() { "$runner" port "$container" "$1/tcp" | head -n 1; }
await "http://$(address 13133)/" 'Server available'
await "http://$(address 9464)/metrics" '^memory_usage_flat_bytes{'
await "http://$(address 8888)/metrics" '^otelcol_connector_profiletometrics_samples'

"$runner" stop --time 10 "$container" >/dev/null
code=$("$runner" inspect --format '{{.State.ExitCode}}' "$container")
[[ $code == 0 ]] || fail "stopped, it ended with code $code"
"$runner" rm "$container" >/dev/null
container=

# free_port finds a port of the loopback that nothing listens at.
free_port() {
    local port
    while port=$((20000 + RANDOM % 12000)); do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    done
    echo "$port"
}

# The Deployment and its ConfigMap, as they stand in k8s/base: a profile that a pod gets is a metric
# that names the pod. Podman would publish each port at the same number, and on every interface.
if [[ $runner == podman ]]; then
    declare -A at
    edits=(-e "s|image: otelcol-profiletometrics:.*|image: $image|" -e 's|port: health|port: 13133|')
    mapfile -t ports < <(sed -n 's/^ *containerPort: //p' k8s/base/deployment.yaml)
    for port in "${ports[@]}"; do
        at[$port]=$(free_port)
        edits+=(-e "s|^\( *\)containerPort: $port\$|&\n\1hostPort: ${at[$port]}\n\1hostIP: 127.0.0.1|")
    done
    {
        cat k8s/base/configmap.yaml
        echo ---
        sed "${edits[@]}" k8s/base/deployment.yaml
    } >"$work/deployment.yaml"
    podman kube play "$work/deployment.yaml" >"$work/pod" 2>"$work/error" || fail "podman kube play: $(cat "$work/error")"
    container=$(podman ps --all --quiet --filter "pod=$(sed -n '/^Pod:/{n;p}' "$work/pod")" --filter "ancestor=$image")
    await "http://127.0.0.1:${at[13133]}/" 'Server available'
    curl -fsS --max-time 5 -H 'Content-Type: application/json' --data @test/tools/testdata/profile.json \
        "http://127.0.0.1:${at[4318]}/v1development/profiles" >/dev/null
    await "http://127.0.0.1:${at[9464]}/metrics" \
        '^cpu_time_flat_seconds_total{code_function_name="main.work",collector_instance_id="otelcol-profiletometrics-.*} 0.25'
fi
echo "ok: $image, $((bytes / 1000000)) MB"
