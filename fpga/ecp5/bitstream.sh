#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bitstream.sh BOARD VTA_PARAMS HEADERS FOLDER CACHE [CONFIG]: the whole machine of hw/soc for a board with an ECP5 (BOARD.v, BOARD.lpf,
# BOARD.json here): Yosys, Debian sid's nextpnr and ecppack (fetch.sh), to FOLDER/BOARD.bit. Prints what it takes of the part and the
# router's clock. SEED (1) is the router's; the same seed makes the same bytes. ALONE=1 leaves the accelerator out: soc_page stands in for
# it, and the rest is routed in minutes. ASK=MHZ asks the router for more than the board's clock, to see what it can. Exit 1: the
# clock is missed; 75: no router here.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
# shellcheck source=fpga/synth/in_hw.sh
. "$(dirname "$0")/../synth/in_hw.sh"
board=$1 params=$2 headers=$3
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$4" "$5"
work=$(cd "$4" && pwd)
out=$work
cache=$(cd "$5" && pwd)
config=${6:-$here/$board.json}
die() { echo "bitstream.sh: $*" >&2; exit 1; }
CLOCK=37.5      # MHz, of the PLL in BOARD.v
ask=${ASK:-$CLOCK}
seed=${SEED:-1}

"$here/fetch.sh" "$cache"
arguments=$("$params" yosys "$config" | tr '\n' ' ')
[ -n "$arguments" ] || exit 1
tool() {
    name=$1
    shift
    (cd "$cache/root" && exec "$cache/root/usr/lib64/ld-linux-x86-64.so.2" --library-path "$cache/root/usr/lib/x86_64-linux-gnu" \
        "usr/bin/$name" "$@")
}
in_hw
accelerator=$(find rtl -name '*.v' | sort | tr '\n' ' ')
[ -z "${ALONE:-}" ] || accelerator=soc/tb/soc_page.v
yosys -q -l "$work/yosys.log" -p "read_verilog -DSYNTHESIS $dirs $accelerator $(echo soc/*.v); chparam $arguments soc_board
    read_verilog ../fpga/ecp5/$board.v; synth_ecp5 -top $board -json $work/$board.netlist" >/dev/null 2>"$work/yosys.err" ||
    { tail -n 5 "$work/yosys.err" >&2; die "Yosys failed; $out/yosys.log"; }
# what the PLL makes follows from its input, by which another clock is asked for
awk -v ask="$ask" -v clock=$CLOCK '/^FREQUENCY PORT/ { sub(/[0-9.]+ MHZ/, $4 * ask / clock " MHZ") } { print }' "$here/$board.lpf" >"$work/$board.lpf"
status=0
tool nextpnr-ecp5 --85k --package CABGA381 --speed 6 --json "$out/$board.netlist" --lpf "$out/$board.lpf" --textcfg "$out/$board.config" \
    --freq "$ask" --seed "$seed" --timing-allow-fail >"$out/nextpnr.log" 2>&1 || status=$?
[ $status = 0 ] || { grep -a -E '^ERROR' "$out/nextpnr.log" | tail -n 1 >&2; die "the router failed; $out/nextpnr.log"; }
tool ecppack --db "$cache/root/usr/share/trellis/database" --compress --input "$out/$board.config" --bit "$out/$board.bit"
# used CELL: how many of them the router counts
used() { sed -n "s/^Info:[[:space:]]*$1:[[:space:]]*\([0-9]*\)\/.*/\1/p" "$out/nextpnr.log" | head -n 1; }
clock=$(sed -n "s/.*Max frequency for clock *'[^']*clk': \([0-9.]*\) MHz.*/\1/p" "$out/nextpnr.log" | tail -n 1)
[ -n "$clock" ] || die "the router names no clock; $out/nextpnr.log"
echo "$board${ALONE:+ alone}: $(used TRELLIS_COMB) TRELLIS_COMB, $(used TRELLIS_FF) FF, $(used DP16KD) DP16KD, $(used MULT18X18D) MULT18X18D, $clock MHz of $ask, seed $seed"
echo "$out/$board.bit: $(wc -c <"$out/$board.bit") bytes, sha256 $(sha256sum <"$out/$board.bit" | cut -d ' ' -f 1)"
awk -v is="$clock" -v wanted="$ask" 'BEGIN { exit is < wanted }' || die "the clock is missed"
