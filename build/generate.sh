#!/bin/sh
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# generate.sh MANIFEST VERSION DIR: writes the Go sources of a distribution to DIR, a directory of
# the checkout's root, with the version stamped into them. ocb is $OCB, else `builder` on the path.
#
# For POSIX shells: the image is built with it too.
set -eu

manifest=$1
version=$2
dir=$3

cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ocb takes both from the manifest only.
sed -e "s|^  version: .*|  version: $version|" -e "s|^  output_path: .*|  output_path: ./$dir|" \
    "$manifest" >"$work/manifest.yaml"
"${OCB:-builder}" --config "$work/manifest.yaml" --skip-compilation
