#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# simulators.sh BUILD PREFIX [CONFIG…]: simulators of the RTL for the shipped configurations, or for these, in PREFIX/lib/vtac/simulators, where the
# vtac that is installed in PREFIX finds them without Verilator. They are for every processor of this kind (x86-64-v3), made of the sources
# in PREFIX, and kept in BUILD/simulators: what is there already takes no time, all of them take some twenty minutes.
set -eu
build=$(cd "$1" && pwd)
prefix=$(cd "$2" && pwd)
shift 2
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC2046  # names without blanks
[ $# -gt 0 ] || set -- $(cd "$here/../../isa/configs" && for file in *.json; do echo "${file%.json}"; done)
program=$prefix/bin/vta_prebuild # it takes the sources of the tree that it lies in
trap 'rm -f "$program" "$program.said"' EXIT INT TERM
cp "$build/bin/vta_prebuild" "$program"
"$program" "$build/simulators" "$@" >"$program.said"
mkdir -p "$prefix/lib/vtac/simulators"
while read -r entry; do
    rm -rf "$prefix/lib/vtac/simulators/${entry##*/}"
    mkdir "$prefix/lib/vtac/simulators/${entry##*/}"
    cp "$entry/sim.so" "$entry/manifest" "$prefix/lib/vtac/simulators/${entry##*/}/"
done <"$program.said"
