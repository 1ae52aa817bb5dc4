#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# energy.sh CONFIG VTAC VTA_PARAMS HEADERS FOLDER CHIP.def LIBERTY...: asic.sh's table of CONFIG, then what a product, an operation of a lane,
# a byte moved and a cycle of waiting take, as rows of CHIP.def. Activity is that of a window of the RTL's waves as it is built, around the end of the
# longest layer of MODEL (environment; tiny_ic of the zoo unless set). FOLDER keeps netlists and waves.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
die() { echo "energy.sh: $*" >&2; exit 1; }
[ $# -ge 7 ] || die "usage: energy.sh CONFIG VTAC VTA_PARAMS HEADERS FOLDER CHIP.def LIBERTY..."
config=$1 vtac=$2 params=$3 headers=$4 table=$6
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$5"
work=$(cd "$5" && pwd)
shift 6
cycles=3000 low=0.2 high=0.5
model=${MODEL:-tiny_ic}
json=$config
[ -f "$json" ] || json=$root/isa/configs/$config.json
mhz=$(sed -n 's/^ *"CLOCK_MHZ" *: *\([0-9]*\).*/\1/p' "$json")
[ -n "$mhz" ] || mhz=100 # isa/include/vta/config.def

ACTIVITY=$low sh "$here/asic.sh" "$config" "$params" "$headers" "$work" "$@"
sed "s/-activity $low/-activity $high/; s/^report_checks.*//" "$work/sta.tcl" >"$work/high.tcl"
(cd "$root/hw" && sta -no_splash -exit "$work/high.tcl" >"$work/high.log" 2>&1) || { tail -n 5 "$work/high.log" >&2; die "OpenSTA failed"; }
awk '/^== / { part = $2; next } part == "power"' "$work/high.log" >"$work/high.txt"

if [ ! -s "$work/activity.txt" ]; then
    "$vtac" zoo "$model" --int8 -o "$work/model.onnx" >/dev/null
    "$vtac" compile "$work/model.onnx" --target vta --config "$config" --offload all -o "$work/model.so" >/dev/null
    "$vtac" run "$work/model.so" --device fsim --layers --json >"$work/layers.json"
    # The longest layer, and the cycle at which it ends.
    set -- "$(python3 -c 'import json, sys
layers = json.load(open(sys.argv[1]))["layers"]
longest = max(range(len(layers)), key=lambda i: layers[i]["predicted"])
print(layers[longest]["name"], sum(l["predicted"] for l in layers[:longest + 1]))' "$work/layers.json")" "$@"
    layer=${1% *} end=${1##* }
    shift
    from=$((end > cycles / 2 ? end - cycles / 2 : 1))
    "$vtac" run "$work/model.so" --device "tsim?form=built&trace=$work/window.fst&from=$from&to=$((from + cycles))" >/dev/null
    fst2vcd "$work/window.fst" -o "$work/window.vcd"
    pump=$(sed -n 's/^ *"ARRAY_PUMP" *: *\([0-9]*\).*/\1/p' "$json")
    python3 -B "$here/activity.py" vta_top $((2 * ${pump:-1})) <"$work/window.vcd" >"$work/activity.new"
    echo "$layer of $model" >"$work/window.txt"
    mv "$work/activity.new" "$work/activity.txt"
    rm -f "$work/window.vcd"
fi
python3 -B "$here/chip.py" "$work/net.json" "$mhz" "$json" "$(cat "$work/window.txt")" "$work/activity.txt" "$work/power.txt" $low "$work/high.txt" $high "$table" "$@"
