#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# browser.sh NAME: prints the path of a browser, chromium or w3m: $CHROMIUM_BIN or $W3M_BIN, else the
# one on the PATH, else, as root on Debian, the one that it installs. Without one it prints nothing,
# for tests to be skipped; in CI that is an error.
set -euo pipefail

name=$1
case $name in
chromium) given=${CHROMIUM_BIN:-} candidates=(chromium chromium-browser google-chrome google-chrome-stable) ;;
w3m) given=${W3M_BIN:-} candidates=(w3m) ;;
*)
    echo "browser.sh: $name is neither chromium nor w3m" >&2
    exit 1
    ;;
esac

if [[ -n $given ]]; then
    echo "$given"
    exit 0
fi

# find_it prints the first candidate that is there.
find_it() {
    local candidate
    for candidate in "${candidates[@]}"; do
        if command -v "$candidate"; then
            return 0
        fi
    done
    return 1
}

if find_it; then
    exit 0
fi
if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    {
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$name"
    } >&2
    find_it
    exit
fi
echo "browser.sh: there is no $name (Debian: apt-get install $name), so that the live page is not tested with it" >&2
[[ -z ${CI:-} ]]
