#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# check-unchanged.sh "DIR..." COMMAND...: runs COMMAND and fails if it changed, added or removed a
# file below the directories. It compares contents, not commits, so it works on uncommitted work.
set -euo pipefail

read -r -a dirs <<<"$1"
shift

state() {
    find "${dirs[@]}" -type f -exec sha256sum {} + | sort -k 2
}

before=$(state)
"$@"
if ! changed=$(diff <(echo "$before") <(state)); then
    echo "not up to date, now regenerated (commit the result):" >&2
    sed -n 's/^[<>] [0-9a-f]*  /  /p' <<<"$changed" | sort -u >&2
    exit 1
fi
