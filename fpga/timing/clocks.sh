#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# clocks.sh VTA_PARAMS HEADERS FOLDER [SAMPLES]: times each configuration of clocks.txt (or SAMPLES) as timing.sh does and prints its name, its
# longest path in ns, its LUTs in pairs and how it differs from pynq. What FOLDER holds already is not made again, so that a run may be cut and goes on;
# HAVE=1 in the environment: those that it holds, no more.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
params=$1 headers=$2 folder=$3
here=$(cd "$(dirname "$0")" && pwd)
list=${4:-$here/clocks.txt}
# shellcheck disable=SC2034  # the sourced file reads it
samples=$here/../../isa/configs
# shellcheck source=fpga/synth/sample.sh
. "$here/../synth/sample.sh"
mkdir -p "$folder"

grep -v '^#' "$list" | while read -r name changes; do
    # shellcheck disable=SC2086  # the list is meant to be split
    configuration "$folder/$name" $changes
    text=$folder/$name.txt
    if ! grep -q '^vta_top: worst' "$text" 2>/dev/null; then
        [ -z "${HAVE:-}" ] || continue
        sh "$here/timing.sh" "$file" "$params" "$headers" "$folder/$name" >"$text.new" || [ $? = 1 ]
        grep -q '^vta_top: worst' "$text.new" || { tail -n 3 "$text.new" >&2; exit 1; }
        mv "$text.new" "$text"
        rm -f "$folder/$name/vta_top.json"
    fi
    ns=$(sed -n 's/^vta_top: worst \([0-9.]*\) ns.*/\1/p' "$text")
    luts=$(sed -n 's/^takes .*; \([0-9]*\) LUT if.*/\1/p' "$text")
    echo "$name" "$ns" "$luts" "${changes:-as it is}"
done
