#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# lint.sh SOURCE VTA_PARAMS HEADERS: the machine of hw/soc without a warning of Verilator or Icarus: as it is simulated, around three accelerators;
# as it is synthesized, with the ULX3S's top around it, whose cells of the part are empty here, and with wider buses. Where the
# bus is that of a board with an SDRAM, that board's machine, too. (The accelerator itself is read by rtl_lint_*, in every configuration.)
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
source=$1 params=$2 headers=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" # names without a blank, wherever the sources are
ln -s "$source/hw" hw
ln -s "$source/fpga/ecp5" ecp5
ln -s "$headers" headers
sources="$(find hw/soc/ -maxdepth 1 -name '*.v' | sort) $(find hw/rtl/ -name '*.v' | sort)"

# The ECP5's cells that ulx3s.v has, by their ports.
cat >cells.v <<'END'
// verilator lint_off DECLFILENAME
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off UNUSEDPARAM
// verilator lint_off UNDRIVEN
module EHXPLLL #(
    parameter integer CLKI_DIV = 1, CLKFB_DIV = 1, CLKOP_DIV = 8, CLKOP_CPHASE = 0, CLKOP_FPHASE = 0,
    parameter CLKOP_ENABLE = "", FEEDBK_PATH = "", PLLRST_ENA = "", INTFB_WAKE = "", STDBY_ENABLE = "", DPHASE_SOURCE = "",
              OUTDIVIDER_MUXA = "", OUTDIVIDER_MUXB = "", OUTDIVIDER_MUXC = "", OUTDIVIDER_MUXD = ""
) (
    input wire CLKI, CLKFB, RST, STDBY, PHASESEL0, PHASESEL1, PHASEDIR, PHASESTEP, PHASELOADREG, PLLWAKESYNC, ENCLKOP,
    output wire CLKOP, LOCK
);
endmodule
module USRMCLK (input wire USRMCLKI, USRMCLKTS);
endmodule
module ODDRX1F (input wire SCLK, RST, D0, D1, output wire Q);
endmodule
module BB (inout wire B, input wire I, T, output wire O);
endmodule
END

# lint CONFIG FORM: Verilator's words about every top that this accelerator can stand in.
lint() {
    arguments=$("$params" verilator "$1")
    tops=soc_top
    case $arguments in *-GLOG_BUS_BYTES=3*) tops='soc_top soc_board' ;; esac
    for top in $tops; do
        # shellcheck disable=SC2086
        verilator --lint-only -Wall $2 -Ihw/include -Iheaders $arguments --top-module $top $sources 2>&1 || echo "verilator fails on $top"
    done
}

status=0
# clean NAME: nothing was said of it.
clean() {
    [ ! -s words ] || { echo "$1:"; head -n 40 words; status=1; }
}

for config in tiny pynq ultra96; do
    lint $config '' >words
    # shellcheck disable=SC2046,SC2086
    iverilog -g2005 -Wall -Wno-timescale -tnull -Ihw/include -Iheaders $("$params" icarus $config soc_top) -s soc_top $sources >>words 2>&1 ||
        echo "iverilog fails" >>words
    clean $config
done
for width in 4 6; do
    sed "s/\"LOG_BUS_WIDTH\" *: *[0-9]*/\"LOG_BUS_WIDTH\" : $((width + 3))/" "$source/isa/configs/tiny.json" >bus.json
    "$params" verilator bus.json | grep -qx -e "-GLOG_BUS_BYTES=$width" || { echo "no configuration with a bus of $((8 << width)) bits"; status=1; }
    lint bus.json +define+SYNTHESIS >words
    clean "as built, with a bus of $((8 << width)) bits"
done
# shellcheck disable=SC2086
verilator --lint-only -Wall +define+SYNTHESIS -Ihw/include -Iheaders --top-module ulx3s cells.v ecp5/ulx3s.v $sources >words 2>&1 ||
    echo "verilator fails" >>words
clean ulx3s.v
exit $status
