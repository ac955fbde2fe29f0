#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# Makes sure that there is a C compiler, which Go's race detector needs.
set -euo pipefail

read -r -a cc <<<"$(go env CC)"
if command -v "${cc[0]}" >/dev/null; then
    exit 0
fi
if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev
    exit 0
fi
echo "The race detector needs a C compiler, and ${cc[0]} is not here: install it (Debian: apt-get install gcc libc6-dev)." >&2
exit 1
