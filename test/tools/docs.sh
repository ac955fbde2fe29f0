#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# docs.sh [check]: builds the documentation into site/; a link to a page that is not there is an error.
# As root on Debian it installs mkdocs and the theme if they are missing. With `check` it leaves no site,
# and where mkdocs neither is nor can be installed, it says so and checks nothing.
set -euo pipefail

mkdocs=/usr/bin/mkdocs # another Python's, which may be first on the PATH, lacks the theme
site=site
if [[ ${1:-} == check ]]; then
    site=$(mktemp -d)
    trap 'rm -rf "$site"' EXIT
fi
if [[ ! -x $mkdocs || ! -d /usr/share/mkdocs/themes/material ]] && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        mkdocs mkdocs-material mkdocs-material-extensions python3-pymdownx
fi
[[ -x $mkdocs ]] || mkdocs=$(command -v mkdocs) || {
    if [[ ${1:-} == check ]]; then
        echo "docs.sh: SKIPPED: the documentation's site is not checked, as there is no mkdocs" >&2
        exit 0
    fi
    echo "Please install mkdocs and mkdocs-material (Debian: apt-get install mkdocs mkdocs-material)." >&2
    exit 1
}
# What Debian's Python deprecates in Debian's jinja2 concerns nobody here.
PYTHONWARNINGS=ignore::DeprecationWarning "$mkdocs" build --strict --clean --site-dir "$site"
