#!/bin/sh
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# version.sh: prints the version of this checkout, without a leading v: $VERSION, else what git
# describe makes of the nearest release's tag, else the version in builder-config.yaml.
set -eu

cd "$(dirname "$0")/.."

version=${VERSION:-$(git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null || true)}
if [ -z "$version" ]; then
    version=$(sed -n 's/^  version: *//p' builder-config.yaml)
fi
version=${version#v}

# It becomes part of file names, of an image's tag and of Go source.
case $version in
'' | *[!0-9A-Za-z.-]*)
    echo "version.sh: \"$version\" is no version: use digits, letters, dots and hyphens, e.g. 1.2.3 or 1.2.3-rc.1" >&2
    exit 1
    ;;
esac
echo "$version"
