#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# image-test.sh [IMAGE]: runs a container of IMAGE as a hardened cluster would and checks what it
# serves. Without IMAGE, it builds the Dockerfile with buildah, upon stand-ins for the base images
# and with this machine's Go caches, so that it needs no registry and compiles little. Runs with
# docker or podman ($RUNNER says which); podman also runs the Deployment in k8s/base.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() {
    echo "image-test.sh: $*" >&2
    exit 1
}

work=$(mktemp -d)
container=
cleanup() {
    [[ -z $container ]] || "$runner" rm -f "$container" >/dev/null 2>&1 || true
    [[ ! -f $work/deployment.yaml ]] || podman kube down "$work/deployment.yaml" >/dev/null 2>&1 || true
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
container=$("$runner" run -d "${hardened[@]}" -p 127.0.0.1::13133 -p 127.0.0.1::9464 -p 127.0.0.1::8888 "$image")
address() { "$runner" port "$container" "$1/tcp" | head -n 1; }
await "http://$(address 13133)/" 'Server available'
await "http://$(address 9464)/metrics" '^memory_usage_flat_bytes{'
await "http://$(address 8888)/metrics" '^otelcol_connector_profiletometrics_samples'

"$runner" stop --time 10 "$container" >/dev/null
code=$("$runner" inspect --format '{{.State.ExitCode}}' "$container")
[[ $code == 0 ]] || fail "stopped, it ended with code $code"

# The Deployment and its ConfigMap, as they stand in k8s/base: a profile that a pod gets is a metric
# that names the pod. Podman would listen at this machine's ports of the same numbers, so that they
# are left out.
if [[ $runner == podman ]]; then
    {
        cat k8s/base/configmap.yaml
        echo ---
        sed -e "s|image: otelcol-profiletometrics:.*|image: $image|" -e 's|port: health|port: 13133|' \
            -e '/^          ports:$/,/^          startupProbe:$/ { /startupProbe/!d }' k8s/base/deployment.yaml
    } >"$work/deployment.yaml"
    podman kube play "$work/deployment.yaml" >"$work/pod" 2>"$work/error" || fail "podman kube play: $(cat "$work/error")"
    infra=$(podman ps -q --filter "pod=$(sed -n '/^Pod:/{n;p}' "$work/pod")" --filter name=infra)
    ip=$(podman inspect --format '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "$infra")
    await "http://$ip:13133/" 'Server available'
    curl -fsS --max-time 5 -H 'Content-Type: application/json' --data @test/tools/testdata/profile.json \
        "http://$ip:4318/v1development/profiles" >/dev/null
    await "http://$ip:9464/metrics" \
        '^cpu_time_flat_seconds_total{code_function_name="main.work",collector_instance_id="otelcol-profiletometrics-.*} 0.25'
fi
echo "ok: $image, $((bytes / 1000000)) MB"
