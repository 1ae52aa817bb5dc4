#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# synth.sh CONFIG VTA_PARAMS HEADERS [FOLDER]: synthesizes vta_top with Yosys for the part of parts.txt and prints what it takes, by
# module and in total, against the part. Exit 1: over a limit. CONFIG: a name, or a file NAME.json, for the part of its name or its
# TARGET in parts.txt, or of `sample`. FOLDER keeps the log and the statistics.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
# shellcheck source=fpga/synth/in_hw.sh
. "$(dirname "$0")/../synth/in_hw.sh"
config=$(basename "$1" .json) params=$2 headers=$3
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
if [ $# -ge 4 ]; then
    mkdir -p "$4"
    work=$(cd "$4" && pwd)
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
family_of() { awk -v c="$1" '$1 == c { print $3 }' "$here/parts.txt"; }
arguments=$("$params" yosys "$1") # a configuration that is none ends it
if [ -z "$(family_of "$config")" ] && [ -f "$1" ]; then
    config=$(sed -n 's/^ *"TARGET" *: *"\([^"]*\)".*/\1/p' "$1")
    [ -n "$(family_of "$config")" ] || config=sample
fi
family=$(family_of "$config")
[ -n "$family" ] || { echo "synth.sh: no part for '$1' in fpga/synth/parts.txt" >&2; exit 2; }
arguments=$(echo "$arguments" | tr '\n' ' ')

in_hw
one_port= # an ice40's RAM has one
[ "$family" != ice40 ] || one_port=-DVTA_ONE_WRITE_PORT
{
    echo "read_verilog -DSYNTHESIS $one_port $dirs $(find rtl -name '*.v' | sort | tr '\n' ' ')"
    if [ "$family" = ice40 ]; then # no RAM in its tables
        echo "chparam $arguments vta_top; hierarchy -check -top vta_top; proc; setattr -unset ram_style m:*"
        echo "synth_ice40 -top vta_top -noflatten"
    elif [ "$family" = ecp5 ]; then
        echo "chparam $arguments vta_top"
        echo "synth_ecp5 -top vta_top -noflatten"
    else
        echo "chparam $arguments vta_top"
        echo "synth_xilinx -family $family -top vta_top -noiopad"
    fi
    echo "tee -q -o $work/stat.txt stat"
} > "$work/synth.ys"
if ! yosys -q -l "$work/yosys.log" -s "$work/synth.ys" > /dev/null 2> "$work/yosys.err"; then
    tail -n 20 "$work/yosys.err" >&2
    exit 1
fi
python3 "$here/table.py" "$config" "$here/parts.txt" "$work/stat.txt"
