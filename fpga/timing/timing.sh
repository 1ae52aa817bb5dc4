#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# timing.sh CONFIG VTA_PARAMS HEADERS FOLDER [MODULE...]: the clock that vta_top supports on CONFIG's part, as Yosys and sta.py see it;
# or that of modules alone, as they stand in vta_top, between registers at their ports. Of the whole, also what it takes on the part.
# CONFIG: a name, or a file NAME.json. Exit 1: a path takes more than 95 % of CLOCK_MHZ's cycle. FOLDER keeps netlists and logs; what
# is unchanged is not made again.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
# shellcheck source=fpga/synth/in_hw.sh
. "$(dirname "$0")/../synth/in_hw.sh"
export PYTHONDONTWRITEBYTECODE=1
given=$1 config=$(basename "$1" .json) params=$2 headers=$3
here=$(cd "$(dirname "$0")" && pwd)
self=$here/$(basename "$0")
root=$(cd "$here/../.." && pwd)
mkdir -p "$4"
work=$(cd "$4" && pwd)
shift 4
die() { echo "timing.sh: $*" >&2; exit 1; }

json=$given
[ -f "$json" ] || json=$root/isa/configs/$config.json
key() { sed -n "s/^ *\"$1\" *: *\"\\{0,1\\}\\([A-Za-z0-9_.]*\\)\"\\{0,1\\},\\{0,1\\} *\$/\\1/p" "$json"; }
arguments=$("$params" yosys "$given" | tr '\n' ' ')
[ -n "$arguments" ] || exit 1
target=$(key TARGET)
mhz=$(key CLOCK_MHZ)
[ -n "$mhz" ] || mhz=100 # isa/include/vta/config.def
part=$(awk -v c="$config" -v t="$target" '$1 == c { exact = $2 } $1 == t { board = $2 } END { print exact ? exact : board }' "$root/fpga/synth/parts.txt")
[ -n "$part" ] || die "no part for '$config' (nor for its TARGET) in fpga/synth/parts.txt"
delays=$(find "$here" -name "$part-*.txt")
[ -n "$delays" ] || die "no delays of '$part': expected fpga/timing/$part-GRADE.txt"
family=$(awk -v p="$part" '$2 == p { print $3; exit }' "$root/fpga/synth/parts.txt")
in_hw
read="read_verilog -DSYNTHESIS $dirs $(find rtl -name '*.v' | sort | tr '\n' ' '); chparam $arguments vta_top; hierarchy -check -top vta_top"
sources=$({ cat "$self" "$headers"/*.vh include/*.vh && find rtl -name '*.v' | sort | xargs cat; } | sha1sum)

# Yosys puts registers into the DSPs of 7 series alone: DSP48E2s, which have the same around their multiplier, take their name for that.
synthesize() {
    words="synth_xilinx -flatten -family $family -top $1 -noiopad"
    printf '%s' "$words"
    [ "$family" != xcup ] ||
        printf '%s' " -run begin:coarse; chtype -set DSP48E1 t:DSP48E2; xilinx_dsp -family xc7; chtype -set DSP48E2 t:DSP48E1; $words -run coarse:"
}

# netlist NAME MODULE: work/NAME.json, unless it is there for these sources and parameters. Modules that the sources have mapped alone
# (keep_hierarchy) are flattened late.
netlist() {
    want="$sources $arguments $2"
    [ "$(cat "$work/$1.key" 2>/dev/null)" != "$want" ] || return 0
    rm -f "$work/$1.key"
    printf '%s' "$read; $(synthesize "$2"); setattr -mod -unset keep_hierarchy; flatten; setattr -unset src c:* w:* m:*; write_json $work/$1.json" | tr ';' '\n' >"$work/$1.ys"
    yosys -q -l "$work/$1.log" -s "$work/$1.ys" >/dev/null 2>"$work/$1.err" || { tail -n 5 "$work/$1.err" >&2; die "Yosys failed on $1"; }
    echo "$want" >"$work/$1.key"
}

period=$(awk -v m="$mhz" 'BEGIN { print 950 / m }')
echo "$config on $part, grade ${delays##*-}" | sed 's/\.txt$//'
if [ $# = 0 ]; then
    netlist vta_top vta_top
    python3 "$root/fpga/synth/flat.py" "$work/vta_top.json"
    exec python3 "$here/sta.py" "$work/vta_top.json" "$delays" --cycles "$here/cycles.txt" --target "$period"
fi
met=0
yosys -q -p "$read; tee -q -o $work/modules.txt ls" 2>"$work/modules.err" || { tail -n 5 "$work/modules.err" >&2; exit 1; }
for unit in "$@"; do
    names=$(tr -d ' ' <"$work/modules.txt" | awk -v u="$unit" '{ name = $0; sub(/^\$paramod\\/, "", name); sub(/^\$paramod\$[0-9a-f]*\\/, "", name); sub(/\\.*/, "", name); if (name == u) print }')
    [ -n "$names" ] || die "vta_top has no module '$unit' for $config"
    number=0
    for name in $names; do
        number=$((number + 1))
        netlist "$unit.$number" "$name"
        echo
        python3 "$here/sta.py" "$work/$unit.$number.json" "$delays" --cycles "$here/cycles.txt" --target "$period" || met=1
    done
done
exit $met
