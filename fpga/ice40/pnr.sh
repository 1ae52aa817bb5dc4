#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# pnr.sh VTA_PARAMS HEADERS [UNIT...]: places and routes units of units.txt (all unless told) on an iCE40 HX8K with Yosys and
# nextpnr, and prints what each takes and the clock that the router reached. Exit 1: one misses its clock, or does not fit.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
# shellcheck source=fpga/synth/in_hw.sh
. "$(dirname "$0")/../synth/in_hw.sh"
params=$1 headers=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
die() { echo "pnr.sh: $*" >&2; exit 1; }

# place UNIT MHZ NAME=VALUE...
place() {
    unit=$1 mhz=$2 set_all=
    shift 2
    has=$(sed -n 's/^ *parameter integer *\([A-Z][A-Z0-9_]*\).*/\1/p' "$(find rtl -name "$unit.v")")
    for value in $smallest "$@"; do
        ! echo "$has" | grep -qx "${value%%=*}" || set_all="$set_all -set ${value%%=*} ${value#*=}"
    done
    read="read_verilog -DSYNTHESIS -DVTA_ONE_WRITE_PORT $dirs $sources"
    [ -z "$set_all" ] || read="$read; chparam$set_all $unit"
    yosys -q -p "$read; hierarchy -check -top $unit; proc; write_json $work/ports.json" >"$work/log" 2>&1 ||
        { tail -n 5 "$work/log" >&2; die "Yosys failed on $unit"; }
    python3 "$here/harness.py" "$unit" "$work/ports.json" >"$work/harness.v"
    # an iCE40 has no RAM in its tables: what asks for that becomes block RAM or registers
    yosys -q -p "$read; read_verilog -lib +/ice40/cells_sim.v; read_verilog $work/harness.v; hierarchy -check -top harness;
        proc; setattr -unset ram_style m:*; setattr -mod -unset keep_hierarchy; synth_ice40 -top harness -json $work/net.json" >"$work/log" 2>&1 ||
        { tail -n 5 "$work/log" >&2; die "Yosys failed on $unit"; }
    # The clock alone is a global net: of others, few tables in a tile can take one as an input, which the placer does not know
    # and the router tries for ever.
    timeout "$LONGEST" nextpnr-ice40 --hx8k --package ct256 --json "$work/net.json" --asc "$work/out.asc" --freq "$mhz" \
        --seed 1 --no-promote-globals --report "$work/report.json" >"$work/log" 2>&1 ||
        { grep -E 'ERROR|Max frequency' "$work/log" >&2; die "$unit: not routed at $mhz MHz"; }
    icepack "$work/out.asc" "$work/out.bin"
    python3 - "$unit" "$mhz" "$work/report.json" <<'END'
import json, sys
unit, mhz, path = sys.argv[1], float(sys.argv[2]), sys.argv[3]
report = json.load(open(path))
fmax = min(c["achieved"] for c in report["fmax"].values())
used = {k: (v["used"], v["available"]) for k, v in report["utilization"].items() if v["used"]}
cells = ", ".join(f"{name} {u} of {a}" for name, (u, a) in used.items() if name in ("ICESTORM_LC", "ICESTORM_RAM"))
print(f"{unit}: {fmax:.1f} MHz on an HX8K (asked for: {mhz:.0f}); {cells}")
sys.exit(fmax < mhz)
END
}

LONGEST=1800 # seconds of one run of the router
# NAME=VALUE of the smallest configuration
smallest=$("$params" yosys "$here/smallest.json" | sed -n 's/.*-set \([A-Z][A-Z0-9_]*\) \([0-9]*\) *$/\1=\2/p')
in_hw
sources=$(find rtl -name '*.v' | sort | tr '\n' ' ')
# shellcheck disable=SC2046  # a list of words
[ $# -gt 0 ] || set -- $(awk '!/^#/ { print $1 }' "$here/units.txt")
for name in "$@"; do
    row=$(awk -v u="$name" '$1 == u' "$here/units.txt")
    [ -n "$row" ] || die "no unit '$name' in units.txt"
    # shellcheck disable=SC2086  # a row is words
    place $row
done
