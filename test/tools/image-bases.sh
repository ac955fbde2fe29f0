#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# image-bases.sh GO_IMAGE RUNTIME_IMAGE: commits stand-ins for the two base images of the Dockerfile,
# made of what this machine has, for a test of the Dockerfile where no registry can be reached. They
# are not the real ones: GO_IMAGE is busybox with this machine's Go, whose caches are expected at
# /machine/mod and /machine/build; RUNTIME_IMAGE is an empty root with /etc/passwd, a CA bundle and
# /tmp. Needs buildah and a static busybox (Debian: busybox-static).
set -euo pipefail

go_image=$1
runtime_image=$2

bundle=/etc/ssl/certs/ca-certificates.crt
busybox=$(command -v busybox || true)
if [[ -z $busybox || ! -f $bundle ]]; then
    echo "image-bases.sh: needs a static busybox and $bundle (Debian: apt-get install busybox-static ca-certificates)" >&2
    exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

root=$work/go
mkdir -p "$root"/{bin,etc/ssl/certs,root,tmp,usr/local,var/tmp}
chmod 1777 "$root/tmp"
cp "$busybox" "$root/bin/busybox"
for applet in $("$busybox" --list); do
    [[ $applet == busybox ]] || ln -s busybox "$root/bin/$applet"
done
cp "$bundle" "$root/etc/ssl/certs/"
echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"

container=$(buildah from scratch)
buildah copy -q "$container" "$root" / >/dev/null
buildah copy -q "$container" "$(go env GOROOT)" /usr/local/go >/dev/null
buildah config --env PATH=/usr/local/go/bin:/bin --env GOTOOLCHAIN=local --env GOPATH=/go \
    --env GOMODCACHE=/machine/mod --env GOCACHE=/machine/build "$container"
buildah commit -q --rm "$container" "$go_image" >/dev/null

root=$work/runtime
mkdir -p "$root"/{etc/ssl/certs,tmp}
chmod 1777 "$root/tmp"
cp "$bundle" "$root/etc/ssl/certs/"
echo 'nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin' >"$root/etc/passwd"
echo 'nonroot:x:65532:' >"$root/etc/group"

container=$(buildah from scratch)
buildah copy -q "$container" "$root" / >/dev/null
buildah config --user 65532 "$container"
buildah commit -q --rm "$container" "$runtime_image" >/dev/null
