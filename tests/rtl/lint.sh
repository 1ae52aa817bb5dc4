#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# lint.sh TOOL VTA_PARAMS HEADERS: the whole RTL, for every shipped configuration and three of tests/lib/configs, with functions on rows
# and weights of four bits, under one tool without a single warning. Yosys, which takes half a minute for a board's, reads one small one of
# each form: the smallest, two rows a tile, an array at twice the clock, functions on rows, weights of four bits; `./run synth` shows it the
# boards'.
# TOOL: verilator, icarus, yosys. VTA_PARAMS: the vta-params program. HEADERS: the folder of vta_isa.vh.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
tool=$1 params=$2 headers=$3
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" # names without a blank, wherever the sources are
ln -s "$root/hw/rtl" rtl
ln -s "$root/hw/include" include
ln -s "$headers" headers
sources=$(find rtl/ -name '*.v' | sort)
dirs="-Iheaders -Iinclude $(find rtl/ -type d | sed 's/^/-I/' | tr '\n' ' ')"

# The tool's words about one configuration, on stdout.
words() {
    arguments=$("$params" "$tool" "$1") || return 1
    case $tool in
    verilator) # shellcheck disable=SC2086
        verilator --lint-only -Wall $dirs $arguments --top-module vta_top $sources 2>&1 || echo "verilator fails" ;;
    icarus) # shellcheck disable=SC2086
        iverilog -g2005 -Wall -tnull $dirs $arguments -s vta_top $sources 2>&1 || echo "iverilog fails" ;;
    yosys)
        {
            echo "read_verilog -DSYNTHESIS $dirs $(echo "$sources" | tr '\n' ' ')"
            echo "chparam $(echo "$arguments" | tr '\n' ' ') vta_top"
            echo "hierarchy -check -top vta_top"
            echo "proc"
            echo "check -assert"
        } > lint.ys
        yosys -q -s lint.ys 2>&1 || echo "yosys fails" ;;
    esac
}

names="$(basename -s .json "$root"/isa/configs/*.json) rows rows_batch wgt4_wide"
[ "$tool" != yosys ] || names='tiny batch2 pumped rows_batch wgt4'
sed 's/"NAME" : "rect"/"NAME" : "pumped", "ARRAY_PUMP" : 2/' "$root/isa/configs/rect.json" >pumped.json
status=0
for name in $names; do
    config=$root/isa/configs/$name.json
    case $name in
    pumped) config=pumped.json ;;
    rows* | wgt4*) config=$root/tests/lib/configs/$name.json ;;
    esac
    words "$config" > said || { echo "$tool, $name: no parameters"; exit 1; }
    if [ -s said ]; then
        echo "$tool, $name:"
        head -n 40 said
        status=1
    else
        echo "$tool, $name: clean"
    fi
done
exit $status
