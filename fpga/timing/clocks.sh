#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# clocks.sh VTA_PARAMS HEADERS FOLDER [SAMPLES]: times each configuration of clocks.txt (or SAMPLES) as timing.sh does and prints a row of
# compiler/src/explore/clock.def for it. What FOLDER holds already is not made again, so that a run may be cut and goes on;
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
    printf 'VTAC_CLOCK(%-14s %2s, %2s, %2s, %3s, %3s, %3s, %3s, %2s, %2s, %2s, %2s, %2s, %2s, %2s, %7s, %6s)\n' "\"$name\"," \
        "$(value LOG_BATCH 0)" "$(value LOG_BLOCK_IN 4)" "$(value LOG_BLOCK_OUT 4)" "$(value LOG_UOP_BUFF_SIZE 15)" \
        "$(value LOG_INP_BUFF_SIZE 15)" "$(value LOG_WGT_BUFF_SIZE 18)" "$(value LOG_ACC_BUFF_SIZE 17)" \
        "$(value LOG_BUS_WIDTH 6)" "$(value LOG_QUEUE_DEPTH 9)" "$(value ARRAY_PUMP 1)" \
        "$(value TABLE 1)" "$(value LOOP_BACK 1)" "$(value DEPTHWISE_TAPS 9)" "$(value ROWS 0)" "$luts" "$ns"
done
