#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# route.sh CONFIG VTA_PARAMS HEADERS FOLDER CACHE [UNIT...]: places and routes units of units.txt (all unless told), as they stand in
# vta_top, behind a harness of three pins on an xc7z020, with Debian sid's nextpnr (fetch.sh) and SEEDS ("1 2" unless told). Prints for
# each seed the router's own clock, and what sta.py makes of the routed nets with the delays of the part's file. FOLDER keeps netlists and
# logs. Exit 1: the best seed of a unit misses 105 MHz; 75: no router here.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
# shellcheck source=fpga/synth/in_hw.sh
. "$(dirname "$0")/../synth/in_hw.sh"
export PYTHONDONTWRITEBYTECODE=1
config=$1 params=$2 headers=$3
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$4" "$5"
work=$(cd "$4" && pwd)
cache=$(cd "$5" && pwd)
shift 5
die() { echo "route.sh: $*" >&2; exit 1; }
NEEDED=105      # MHz
LONGEST=3600    # seconds of one run of the router
seeds=${SEEDS:-1 2}
delays=$root/fpga/timing/xc7z020-1.txt

"$here/fetch.sh" "$cache"
arguments=$("$params" yosys "$config" | tr '\n' ' ')
[ -n "$arguments" ] || exit 1
in_hw
read="read_verilog -DSYNTHESIS $dirs $(find rtl -name '*.v' | sort | tr '\n' ' '); chparam $arguments vta_top; hierarchy -check -top vta_top"
run_yosys() { yosys -q -l "$work/$1.log" -p "$2" >/dev/null 2>"$work/$1.err" || { tail -n 5 "$work/$1.err" >&2; die "Yosys failed on $1"; }; }
cat >"$work/pins.xdc" <<'END'
set_property LOC H16 [get_ports pin_clk]
set_property LOC P14 [get_ports pin_in]
set_property LOC R14 [get_ports pin_out]
set_property IOSTANDARD LVCMOS33 [get_ports pin_clk]
set_property IOSTANDARD LVCMOS33 [get_ports pin_in]
set_property IOSTANDARD LVCMOS33 [get_ports pin_out]
END

# harness UNIT VARIANT: work/UNIT.json, the variant of a module that vta_top has, between registers.
harness() {
    run_yosys "$1" "$read; hierarchy -top $2; delete */p:*; write_json $work/$1.ports"
    python3 "$root/fpga/ice40/harness.py" routed_unit "$work/$1.ports" xilinx >"$work/$1.v"
    run_yosys "$1" "$read; rename $2 routed_unit; read_verilog -lib -specify +/xilinx/cells_sim.v; read_verilog $work/$1.v; hierarchy -check -top harness
        synth_xilinx -flatten -family xc7 -top harness; setattr -mod -unset keep_hierarchy; flatten; opt_clean; write_json $work/$1.json"
}

# route UNIT SEED: one line; its second number to work/UNIT.best, if it is the best.
route() {
    timeout "$LONGEST" "$cache/root/usr/bin/ld.so" --library-path "$cache/root/usr/lib/x86_64-linux-gnu" \
        "$cache/root/usr/bin/nextpnr-himbaechel-xilinx" --device xc7z020clg400-1 --json "$work/$1.json" -o "xdc=$work/pins.xdc" \
        --freq $NEEDED --timing-allow-fail --seed "$2" --sdf "$work/$1.sdf" --write "$work/$1.routed" >"$work/$1.pnr" 2>&1 ||
        { grep -a -E '^ERROR' "$work/$1.pnr" | tail -n 1; echo "$1, seed $2: not routed"; return 0; }
    theirs=$(sed -n "s/.*Max frequency for clock *'[^']*': \([0-9.]*\) MHz.*/\1/p" "$work/$1.pnr" | tail -n 1)
    python3 "$here/routed.py" "$work/$1.routed" "$work/$1.sdf" "$work/$1.net"
    python3 "$root/fpga/timing/sta.py" "$work/$1.net" "$delays" --target "$(awk -v m=$NEEDED 'BEGIN { print 1000 / m }')" >"$work/$1.sta.$2" || :
    ours=$(sed -n 's/^routed: worst .* (\([0-9.]*\) without)$/\1/p' "$work/$1.sta.$2")
    [ -n "$ours" ] || die "no analysis of $1; $work/$1.sta.$2"
    echo "$1, seed $2: router $theirs MHz, analysis of its nets $ours MHz"
    echo "$ours" >>"$work/$1.clocks"
}

sed 's/^/router: /' "$cache/versions" | grep "nextpnr-himbaechel-xilinx " | head -n 1
# shellcheck disable=SC2046  # a list of words
[ $# -gt 0 ] || set -- $(grep -v '^#' "$here/units.txt")
run_yosys modules "$read; tee -q -o $work/modules.txt ls"
missed=0
for unit in "$@"; do
    # the largest variant: of several that parameters tell apart, the one whose name comes last
    variant=$(tr -d ' ' <"$work/modules.txt" | awk -v u="$unit" '{ name = $0; sub(/^\$paramod\\/, "", name); sub(/^\$paramod\$[0-9a-f]*\\/, "", name); sub(/\\.*/, "", name); if (name == u) print }' | tail -n 1)
    [ -n "$variant" ] || die "vta_top has no module '$unit' for $config"
    rm -f "$work/$unit.clocks"
    harness "$unit" "$variant"
    for seed in $seeds; do route "$unit" "$seed"; done
    sort -n "$work/$unit.clocks" 2>/dev/null | tail -n 1 | awk -v n=$NEEDED '{ best = $1 } END { exit !(best >= n) }' || missed=1
done
exit $missed
