#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# lint.sh TOOL VTA_PARAMS HEADERS [shipped]: the whole RTL under one tool without a single warning: for every shipped configuration and
# three of tests/lib/configs, with functions on rows and weights of four bits. Verilator reads it as it is simulated; `built` is Verilator
# with what is synthesized. Both take seconds for a large array: without the word `shipped` they read the small shipped configurations,
# and others that are drawn (draw_configs.py, four each; VTAC_SEED); with it, every shipped one. Yosys, which takes half a minute for a board's, reads one small one of
# each form: the smallest, two rows a tile, an array at twice the clock, functions on rows, weights of four bits; `./run synth` shows it the
# boards'.
# TOOL: verilator, built, icarus, yosys. VTA_PARAMS: the vta-params program. HEADERS: the folder of vta_isa.vh.
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
    arguments=$("$params" "$language" "$1") || return 1
    case $tool in
    verilator | built) # shellcheck disable=SC2086
        verilator --lint-only -Wall $form $dirs $arguments --top-module vta_top $sources 2>&1 || echo "verilator fails" ;;
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

language=$tool form='' drawn=''
case $tool in
verilator) form=+define+VTA_CLOCK_PINS ;;
built) form=+define+SYNTHESIS language=verilator ;;
esac
names="$(basename -s .json "$root"/isa/configs/*.json) rows rows_batch wgt4_wide"
if [ "$language" = verilator ] && [ "${4:-}" != shipped ]; then
    names='tiny batch2 rect pynq_lm rows_batch wgt4_wide'
    seed=$("$root/tests/lib/seed.sh" "rtl_lint_$tool")
    echo "drawn with seed $seed"
    python3 "$root/tests/rtl/draw_configs.py" "$params" "$seed" 4 .
    drawn='drawn_0 drawn_1 drawn_2 drawn_3'
fi

names="$names $drawn"
[ "$tool" != yosys ] || names='tiny batch2 pumped rows_batch wgt4'
sed 's/"NAME" : "rect"/"NAME" : "pumped", "ARRAY_PUMP" : 2/' "$root/isa/configs/rect.json" >pumped.json
# A module that is mapped alone says so to every tool.
status=0
# shellcheck disable=SC2013,SC2086  # names without blanks
for file in $(grep -l 'is mapped alone' $sources); do
    grep -q '^(\* keep_hierarchy = "yes" \*)$' "$file" || { echo "$file: is mapped alone, but there is no keep_hierarchy before the module"; status=1; }
done

for name in $names; do
    config=$root/isa/configs/$name.json
    case $name in
    pumped | drawn_*) config=$name.json ;;
    rows* | wgt4*) config=$root/tests/lib/configs/$name.json ;;
    esac
    words "$config" > said || { echo "$tool, $name: no parameters"; exit 1; }
    if [ -s said ]; then
        echo "$tool, $name: $(case $name in drawn_*) tr -d '\n' <"$config" ;; esac)"
        head -n 40 said
        status=1
    else
        echo "$tool, $name: clean"
    fi
done
exit $status
