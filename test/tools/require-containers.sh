#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# Makes sure that there is what image-test.sh builds and runs an image with. As root on Debian it
# installs what is missing.
set -euo pipefail

there() {
    local program
    for program in buildah podman runc curl; do
        command -v "$program" >/dev/null || return 1
    done
    # Podman's own, which are not on the path; and a busybox that runs in an empty image.
    [[ -x /usr/libexec/podman/catatonit || -x /usr/bin/catatonit ]] && static_busybox
}

static_busybox() {
    local busybox
    busybox=$(command -v busybox) && ! ldd "$busybox" >/dev/null 2>&1
}

if ! there && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    apt-get update -qq >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        buildah podman runc netavark iptables slirp4netns uidmap catatonit busybox-static ca-certificates curl </dev/null >&2
fi
if ! there; then
    echo "needs buildah, podman, runc, catatonit, curl and a static busybox" \
        "(Debian: apt-get install buildah podman runc netavark iptables catatonit curl busybox-static)" >&2
    exit 1
fi
