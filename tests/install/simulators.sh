#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# simulators.sh BUILD: a simulator that a package ships is taken without Verilator and without a cache, and counts the cycles of one that is
# built here; a damaged one, one of other sources and what is not shipped are built. Two programs, each twice. An installed tree's key is that of
# the tree it was built in.
set -eu
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
fail() { echo "simulators: $*"; exit 1; }

cmake --install "$build" --prefix "$work/usr" >/dev/null
"$source/runtime/install/simulators.sh" "$build" "$work/usr" tiny
[ ! -e "$work/usr/bin/vta_prebuild" ] || fail 'it leaves its program'
entry=$(find "$work/usr/lib/vtac/simulators" -name sim.so)
[ "$(printf '%s\n' "$entry" | wc -l)" = 1 ] || fail "shipped: $entry"

# ours PROGRAM: its cycles, by the shipped simulator, with nothing in the path and no cache that could be written.
ours() { env -i PATH=/nowhere VTAC_CACHE=/dev/null/none LC_ALL=C.UTF-8 "$work/usr/bin/vtac" exec "$1" --device tsim 2>"$work/said"; }
cd "$work"
for rows in 3 30; do
    sed "s/ROWS/$rows/" >"add_$rows.vasm" <<'END'
.config tiny
.set TILES = ROWS
.data a acc TILES = { for i in 4*TILES { i - 20 } }
.data c out TILES
.uops same { 0, 0 }
load.uop same
load.acc 0, a
alu.add same, 7 : TILES (dst 1, src 1) [push next]
[pop prev] store 0, c
finish
.expect c = { for i in 4*TILES { i - 13 } }
END
    ours "add_$rows.vasm" >"shipped_$rows" || fail "$(cat said)"
    [ ! -s said ] || fail "it says: $(cat said)"
    "$build/bin/vtac" exec "add_$rows.vasm" --device tsim >"built_$rows" 2>/dev/null
    for file in shipped built; do grep -E '^(expect|cycles)' "${file}_$rows" | sed 's/,.*at/ at/' >"$file"; done
    cmp shipped built || fail "other cycles: $(cat shipped built)"
done
cmp -s shipped_3 shipped_30 && fail 'one program is as the other'

# Without what is shipped, the one that the build tree has made is found: a user who installs after the demo waits for nothing.
mv usr/lib/vtac/simulators aside
"$work/usr/bin/vtac" exec add_3.vasm --device tsim >again 2>said || fail "installed: $(cat said)"
[ ! -s said ] || fail "an installed tree does not find the simulator of the build tree: $(cat said)"
mv aside usr/lib/vtac/simulators

# refused WHY: nothing shipped fits, and there is no tool to build one.
refused() { ! ours add_3.vasm >out || fail "$1: it runs"; grep -q 'verilator' said || fail "$1: $(cat said)"; }
cp "$entry" whole
printf 'x' | dd of="$entry" bs=1 seek=5000 conv=notrunc status=none
refused 'a damaged one'
cp whole "$entry"
ours add_3.vasm >again
echo '// another source' >>usr/share/vtac/hw/rtl/lib/vta_add.v
refused 'one of other sources'
echo "simulators: tiny, $(wc -c <"$entry") bytes, without tools"
