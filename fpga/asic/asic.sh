#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# asic.sh CONFIG VTA_PARAMS HEADERS FOLDER LIBERTY...: the accelerator in the standard cells and RAM macros of the liberty files, by Yosys and
# OpenSTA: area, power and the clock. CONFIG: a name, or a file NAME.json. The first file with flip-flops is that of the
# cells; macros with two ports become RAMs (rams.py). ACTIVITY in the environment: changes a cycle of each input and register, 0.2
# unless set. FOLDER keeps netlists and logs; what is unchanged is not made again. Wires and clock tree are not counted.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
# shellcheck source=fpga/synth/in_hw.sh
. "$(dirname "$0")/../synth/in_hw.sh"
die() { echo "asic.sh: $*" >&2; exit 1; }
[ $# -ge 5 ] || die "usage: asic.sh CONFIG VTA_PARAMS HEADERS FOLDER LIBERTY..."
given=$1 params=$2 headers=$3
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$4"
work=$(cd "$4" && pwd)
shift 4
activity=${ACTIVITY:-0.2}
cells=
: >"$work/files.txt"
for file in "$@"; do
    [ -f "$file" ] || die "there is no file '$file'"
    grep -q '^[[:space:]]*library *(' "$file" || die "'$file' is no liberty file: it has no 'library (NAME)'"
    realpath "$file" >>"$work/files.txt"
    [ -n "$cells" ] || ! grep -qE '^[[:space:]]*ff *\(' "$file" || cells=$(realpath "$file")
done
[ -n "$cells" ] || die "none of the liberty files has a flip-flop: name that of the standard cells"
case $(cat "$work/files.txt") in *[[:blank:]]*) die "a liberty file lies at a path with a blank, which Yosys does not take" ;; esac
# Multipliers at twice the clock are for DSPs: standard cells have them all, at one.
arguments=$("$params" yosys "$given" | sed 's/^-set PUMP 2$/-set PUMP 1/' | tr '\n' ' ')
[ -n "$arguments" ] || exit 1
json=$given
[ -f "$json" ] || json=$root/isa/configs/$given.json
mhz=$(sed -n 's/^ *"CLOCK_MHZ" *: *\([0-9]*\).*/\1/p' "$json")
[ -n "$mhz" ] || mhz=100 # isa/include/vta/config.def
in_hw

# yosys_of NAME: work/NAME.ys by Yosys; its words are kept.
yosys_of() {
    yosys -q -l "$work/$1.log" -s "$work/$1.ys" >/dev/null 2>"$work/$1.err" || { tail -n 5 "$work/$1.err" >&2; die "Yosys failed on $1"; }
}
mapped="dfflibmap -liberty $cells; abc -liberty $cells -D $((1000000 / mhz)) -script $work/abc.txt; setundef -zero; splitnets; opt_clean -purge"
# Cells become as strong as their loads want them; a gate whose output many cells read gets buffers here, registers and ports by fanout.py.
echo "strash; scorr; dc2; dch -f; map -B 0.9 {D}; topo; buffer -N 12; upsize {D}; dnsize {D}; stime" >"$work/abc.txt"
sources=$({ cat "$here/asic.sh" "$here"/*.py "$here"/*.v "$headers"/*.vh include/*.vh && find rtl -name '*.v' | sort | xargs cat && xargs cat <"$work/files.txt"; } | sha1sum)
want="$sources $arguments"
if [ "$(cat "$work/net.key" 2>/dev/null)" != "$want" ]; then
    rm -f "$work/net.key"
    # The design with its RAMs as black boxes; then RAMs of macros in their place.
    printf '%s' "read_verilog -DSYNTHESIS $dirs $(find rtl -name '*.v' ! -name vta_mul_pair.v | sort | tr '\n' ' ') $here/vta_mul_pair.v; chparam $arguments vta_top; hierarchy -check -top vta_top; proc; blackbox *vta_ram* *vta_uop_ram* *vta_table*; write_json $work/shapes.json; synth -noshare -noabc -top vta_top; $mapped; write_json $work/mapped.json" | tr ';' '\n' >"$work/cells.ys"
    yosys_of cells
    # shellcheck disable=SC2046  # paths without blanks
    python3 -B "$here/fanout.py" "$work/mapped.json" "$work/buffered.json" $(cat "$work/files.txt")
    echo "read_json $work/buffered.json; write_json $work/cells.json; write_verilog -noattr -noexpr -nohex -nodec $work/cells.v" | tr ';' '\n' >"$work/buffered.ys"
    yosys_of buffered
    # shellcheck disable=SC2046  # paths without blanks
    python3 -B "$here/rams.py" "$work/shapes.json" $(cat "$work/files.txt") >"$work/macros.v" 2>"$work/rams.txt" || { tail -n 1 "$work/rams.txt" >&2; exit 1; }
    { sed 's/^/read_liberty -lib /' "$work/files.txt"; printf '%s' "read_verilog $work/macros.v; proc; synth -noshare -noabc; $mapped; write_json $work/rams.json; write_verilog -noattr -noexpr -nohex -nodec -selected $work/rams.v" | tr ';' '\n'; } >"$work/rams.ys"
    yosys_of rams
    echo "$want" >"$work/net.key"
fi
python3 -B "$here/names.py" "$work/net" "$work/cells" "$work/rams"

# OpenSTA prints the longest path and the power of each cell.
{
    sed 's/^/read_liberty /' "$work/files.txt"
    cat <<END
read_verilog $work/net.v
link_design vta_top
create_clock -name clk -period $((1000000 / mhz))e-3 [get_ports clk]
set_power_activity -global -activity $activity
puts "== path"
report_checks -path_delay max
puts "== power"
report_power -instances [get_cells -hierarchical *]
exit
END
} >"$work/sta.tcl"
sta -no_splash -exit "$work/sta.tcl" >"$work/sta.log" 2>&1 || { tail -n 5 "$work/sta.log" >&2; die "OpenSTA failed"; }
awk '/^== / { part = $2; next } part == "path"' "$work/sta.log" >"$work/path.txt"
awk '/^== / { part = $2; next } part == "power"' "$work/sta.log" >"$work/power.txt"
slack=$(sed -n 's/^ *\(-\{0,1\}[0-9.]*\) *slack.*/\1/p' "$work/path.txt" | head -n 1)
[ -n "$slack" ] || die "OpenSTA names no path; its words are in $work/sta.log"
# shellcheck disable=SC2046  # paths without blanks
python3 -B "$here/report.py" "$work/net.json" "$work/power.txt" "$mhz" "$activity" $(cat "$work/files.txt")
awk -v slack="$slack" -v mhz="$mhz" 'BEGIN {
    period = 1000 / mhz
    printf "longest path %.2f ns of %.2f: %.0f MHz by OpenSTA at this corner, without wires\n", period - slack, period, 1000 / (period - slack)
}'
