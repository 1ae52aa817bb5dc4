#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# tutorial.sh SOURCE BUILD NAME: a tutorial of the site, typed as it stands with an installed vtac.
set -eu
source=$1
build=$2
name=$3
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$build" --prefix "$prefix" >/dev/null
python3 -B "$source/tests/site/tutorials.py" "$prefix" "$source/compiler/site/tutorials" "$name"
