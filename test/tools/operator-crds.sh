#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# operator-crds.sh: prints the path of a directory with the OpenTelemetry operator's resource
# definitions, which is in the source of its Go module.
set -euo pipefail

module=github.com/open-telemetry/opentelemetry-operator@v0.140.0
sum=h1:yHwVEn1vjQ7n9OoOZX/rsgur+YozIKNjCoWSk6EAhvw=

answer=$(go mod download -json "$module")
field() { sed -n "s/^\t\"$1\": \"\(.*\)\",\{0,1\}\$/\1/p" <<<"$answer"; }
if [[ $(field Sum) != "$sum" ]]; then
    echo "operator-crds.sh: the checksum of $module is $(field Sum), not $sum" >&2
    exit 1
fi
echo "$(field Dir)/config/crd/bases"
