#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# program-platform.sh FILE: prints the platform that a program is for, such as linux_arm64, as its
# first bytes tell: ELF or Mach-O, and the processor.
set -euo pipefail

od -An -tx1 -N20 "$1" | tr -d ' \n' | sed -E \
    -e 's/^7f454c46.{28}3e00$/linux_amd64/' -e 's/^7f454c46.{28}b700$/linux_arm64/' \
    -e 's/^cffaedfe07000001.*/darwin_amd64/' -e 's/^cffaedfe0c000001.*/darwin_arm64/'
