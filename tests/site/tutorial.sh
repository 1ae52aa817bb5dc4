#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# tutorial.sh SOURCE BUILD NAME [COMMAND]: a tutorial of the site, typed as it stands with an installed vtac; with COMMAND those of its
# blocks alone that begin with it. VTAC_SOURCE is a repository with these sources as they are now.
set -eu
source=$1
build=$2
name=$3
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$build" --prefix "$prefix" >/dev/null
if [ "$name" = instruction ]; then
    VTAC_SOURCE=$prefix/source
    export VTAC_SOURCE
    mkdir "$VTAC_SOURCE"
    tar -C "$source" --exclude=./build --exclude=./.git -c . | tar -C "$VTAC_SOURCE" -x
    git -C "$VTAC_SOURCE" init -q -b main
    git -C "$VTAC_SOURCE" add -A
    git -C "$VTAC_SOURCE" -c user.name=vtac -c user.email=vtac@vtac.invalid commit -q -m sources
fi
python3 -B "$source/tests/site/tutorials.py" ${4:+--only "$4"} "$prefix" "$source/compiler/site/tutorials" "$name"
