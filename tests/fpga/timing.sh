#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# No path is longer than fpga/timing/limits.txt allows: the units of CONFIG that stand there, through Yosys and the static analysis.
# Arguments: SOURCE VTA_PARAMS HEADERS FOLDER CONFIG
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
source=$1 params=$2 headers=$3 folder=$4 config=$5
limits=$source/fpga/timing/limits.txt
units=$(awk -v c="$config" '$1 == c { print $2 }' "$limits")
[ -n "$units" ] || { echo "no unit of '$config' in $limits"; exit 1; }
failed=0
for unit in $units; do
    limit=$(awk -v c="$config" -v u="$unit" '$1 == c && $2 == u { print $3 }' "$limits")
    status=0
    if [ "$unit" = vta_top ]; then set --; else set -- "$unit"; fi
    got=$("$source/fpga/timing/timing.sh" "$config" "$params" "$headers" "$folder" "$@") || status=$?
    # of several variants of a module the worst counts
    worst=$(echo "$got" | sed -n 's/^vta_[a-z_0-9]*: worst \([0-9.]*\) ns .*/\1/p' | sort -n | tail -n 1)
    [ -n "$worst" ] || { echo "$got"; echo "$config $unit: no result (status $status)"; exit 1; }
    if awk -v w="$worst" -v l="$limit" 'BEGIN { exit !(w > l) }'; then
        echo "$got"
        echo "$config $unit: $worst ns, limit $limit: shorten the path, or say in fpga/timing/limits.txt why it may be so long"
        failed=1
    else
        echo "$config $unit: $worst ns, limit $limit"
    fi
done
exit $failed
