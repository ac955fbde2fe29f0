#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# Builds the documentation into site/; a link to a page that is not there is an error. As root on
# Debian it installs mkdocs and the theme if they are missing.
set -euo pipefail

mkdocs=/usr/bin/mkdocs # another Python's, which may be first on the PATH, lacks the theme
if [[ ! -x $mkdocs || ! -d /usr/share/mkdocs/themes/material ]] && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        mkdocs mkdocs-material mkdocs-material-extensions python3-pymdownx
fi
[[ -x $mkdocs ]] || mkdocs=$(command -v mkdocs) || {
    echo "Please install mkdocs and mkdocs-material (Debian: apt-get install mkdocs mkdocs-material)." >&2
    exit 1
}
exec "$mkdocs" build --strict --clean
