#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# lint.sh SOURCE VTA_PARAMS HEADERS: the machine of hw/soc around accelerators of three bus widths, without a warning of Verilator
# or Icarus.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
source=$1 params=$2 headers=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" # names without a blank, wherever the sources are
ln -s "$source/hw" hw
ln -s "$headers" headers
sources="$(find hw/soc/ -maxdepth 1 -name '*.v' | sort) $(find hw/rtl/ -name '*.v' | sort)"
status=0
for config in tiny pynq ultra96; do
    # shellcheck disable=SC2046,SC2086
    verilator --lint-only -Wall -Ihw/include -Iheaders $("$params" verilator $config) --top-module soc_top $sources >words 2>&1 ||
        echo "verilator fails" >>words
    if [ $config != ultra96 ]; then # a board with an SDRAM has a bus of 64 bits
        # shellcheck disable=SC2046,SC2086
        verilator --lint-only -Wall -Ihw/include -Iheaders $("$params" verilator $config) --top-module soc_board $sources >>words 2>&1 ||
            echo "verilator fails on soc_board" >>words
    fi
    # shellcheck disable=SC2046,SC2086
    iverilog -g2005 -Wall -Wno-timescale -tnull -Ihw/include -Iheaders $("$params" icarus $config soc_top) -s soc_top $sources >>words 2>&1 ||
        echo "iverilog fails" >>words
    [ ! -s words ] || { echo "$config:"; cat words; status=1; }
done
exit $status
