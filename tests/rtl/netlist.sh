#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# netlist.sh BUILD FOLDER [PROGRAMS]: is what Yosys understands of the RTL still the accelerator? Reads `tiny` as it is built (SYNTHESIS), turns it
# into registers, memories and operators on words, puts that netlist into a simulator in the place of the RTL, and runs random programs
# on both. Mapping to gates is left out: a C++ compiler needs gigabytes for them. FOLDER keeps netlist and log.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
build=$(cd "$1" && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
programs=${3:-50}
root=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$work/hw"
mkdir -p "$work/hw/rtl/netlist" "$work/hw/include"

cd "$root/hw"
cp include/* "$work/hw/include"
# Yosys parts words at blanks, and a name from here has none that stands above the sources.
work=$(realpath --relative-to=. "$work")
arguments=$("$build/bin/vta-params" yosys tiny | tr '\n' ' ')
dirs="-I$(realpath --relative-to=. "$build/vh") -Iinclude $(find rtl -type d | sed 's/^/-I/' | tr '\n' ' ')"
# Each module by itself: flattened, it takes Yosys minutes.
cat >"$work/netlist.ys" <<END
read_verilog -DSYNTHESIS -DVTA_CLOCK_PINS $dirs $(find rtl -name '*.v' | sort | tr '\n' ' ')
chparam $arguments vta_top
hierarchy -check -top vta_top
proc
opt_expr
opt_clean
wreduce
peepopt
opt_clean
memory -nomap
opt_clean
rename -top vta_netlist
write_verilog -noattr $work/hw/rtl/netlist/vta_netlist.v
END
yosys -q -l "$work/log" -s "$work/netlist.ys" >/dev/null 2>"$work/err" || { tail -n 5 "$work/err" >&2; exit 1; }

# The top that the simulator asks for: vta_top's own head, and in it the netlist.
top=$work/hw/rtl/netlist/vta_top.v
{
    sed '/^);/q' rtl/mem/vta_top.v
    echo '    vta_netlist netlist ('
    sed -n '/^) (/,/^);/s/^ *\(in\|out\)put *wire *\(\[.*\]\)\{0,1\} *\([a-z0-9_]*\)[, ]*\(\/\/.*\)\{0,1\}$/\3/p' rtl/mem/vta_top.v |
        sed 's/.*/        .&(&)/; $!s/$/,/'
    echo '    );'
    echo 'endmodule'
} >"$top"

seed=$("$root/tests/lib/seed.sh" netlist)
echo "seed $seed: the RTL, then its netlist ($(grep -c '^  assign ' "$work/hw/rtl/netlist/vta_netlist.v") assignments)"
random() { "$build/bin/test_conformance_random" --config tiny --seed "$seed" --count "$programs" --out "$work" --device 'tsim?watchdog=20000'; }
random
VTAC_HW=$(realpath "$work/hw") random
