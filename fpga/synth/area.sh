#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# area.sh VTA_PARAMS HEADERS FOLDER [SAMPLES]: synthesizes each configuration of area.txt (or SAMPLES) and prints a row of
# compiler/src/explore/area.def for it. What FOLDER holds already is not made again, so that a run may be cut and goes on.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
params=$1 headers=$2 folder=$3
here=$(cd "$(dirname "$0")" && pwd)
list=${4:-$here/area.txt}
# shellcheck disable=SC2034  # the sourced file reads it
samples=$here/../../isa/configs
mkdir -p "$folder"

# shellcheck source=fpga/synth/sample.sh
. "$here/sample.sh"

grep -v '^#' "$list" | while read -r name changes; do
    # shellcheck disable=SC2086  # the list is meant to be split
    configuration "$folder/$name" $changes
    if [ ! -s "$folder/$name.area" ]; then
        sh "$here/synth.sh" "$file" "$params" "$headers" "$folder/$name" >"$folder/$name.txt" || [ $? = 1 ]
        grep '^total ' "$folder/$name.txt" >"$folder/$name.area"
    fi
    # shellcheck disable=SC2046  # four numbers
    set -- $(sed 's/^total//' "$folder/$name.area")
    printf 'VTAC_AREA(%-12s %2s, %2s, %2s, %3s, %3s, %3s, %3s, %2s, %2s, %2s, %2s, %2s, %2s, %7s, %7s, %5s, %6s)\n' "\"$name\"," \
        "$(value LOG_BATCH 0)" "$(value LOG_BLOCK_IN 4)" "$(value LOG_BLOCK_OUT 4)" "$(value LOG_UOP_BUFF_SIZE 15)" \
        "$(value LOG_INP_BUFF_SIZE 15)" "$(value LOG_WGT_BUFF_SIZE 18)" "$(value LOG_ACC_BUFF_SIZE 17)" \
        "$(value LOG_BUS_WIDTH 6)" "$(value LOG_QUEUE_DEPTH 9)" "$(value ARRAY_PUMP 1)" \
        "$(value TABLE 1)" "$(value LOOP_BACK 1)" "$(value DEPTHWISE_TAPS 9)" "$1" "$2" "$3" "$4"
done
