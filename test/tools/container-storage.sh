# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# To be sourced: settings for buildah and podman, among them a storage of its own for images,
# containers, volumes and networks, so that a test neither sees nor leaves anything on the machine.

# engine_settings DIR [private]: podman's for this machine, with files in DIR; private ones keep all
# that podman keeps there, too.
engine_settings() {
    export CONTAINERS_CONF=$1/containers.conf
    {
        # Podman's own limits may be above this machine's, which only a privileged user can raise.
        printf '[containers]\ndefault_ulimits=["nofile=1024:1024","nproc=1024:1024"]\n[engine]\n'
        # crun, the default, refuses where cgroups are of both versions.
        ! command -v runc >/dev/null || printf 'runtime="runc"\n'
        if [[ ${2:-} == private ]]; then
            printf 'lock_type="file"\ntmp_dir="%s"\nvolume_path="%s"\n' "$1/libpod" "$1/volumes"
            printf '[network]\nnetwork_config_dir="%s"\n' "$1/networks"
        fi
    } >"$CONTAINERS_CONF"
}

# private_storage DIR fails if buildah and podman do not use it.
private_storage() {
    engine_settings "$1" private
    export CONTAINERS_STORAGE_CONF=$1/storage.conf
    printf '[storage]\ndriver="overlay"\ngraphroot="%s"\nrunroot="%s"\n' "$1/storage" "$1/run" >"$CONTAINERS_STORAGE_CONF"
    if ! buildah images >/dev/null 2>&1; then
        # Slower, but needs nothing of the file system: overlays cannot be made upon another.
        rm -rf "$1/storage" "$1/run"
        sed -i 's/"overlay"/"vfs"/' "$CONTAINERS_STORAGE_CONF"
    fi
    [[ $(buildah info --format '{{.store.GraphRoot}}') == "$1/storage" ]] &&
        [[ $(podman info --format '{{.Store.GraphRoot}}') == "$1/storage" ]]
}

# remove_storage DIR: ends what still runs in a private storage, and removes it.
remove_storage() {
    podman pod rm --all --force --time 0 >/dev/null 2>&1 || true
    podman rm --all --force --time 0 >/dev/null 2>&1 || true
    buildah rm --all >/dev/null 2>&1 || true
    # Without all of root's rights podman works in a user namespace, which a process of its own holds.
    podman system migrate >/dev/null 2>&1 || true
    local mount
    # Innermost first.
    awk -v dir="$1/" 'index($5, dir) == 1 { print $5 }' /proc/self/mountinfo | sort -r | while read -r mount; do
        umount "$mount" || true
    done
    # What is mounted there may be this machine's, such as Go's caches.
    if grep -qF " $1/" /proc/self/mountinfo; then
        echo "something is still mounted in $1, which is therefore kept" >&2
        return
    fi
    rm -rf "$1"
}
