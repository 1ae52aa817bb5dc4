#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# pictures.sh VTAC: pictures a second = the configuration's clock / the network's cycles on tsim, in the configuration's memory, beside
# what rivals.txt names. The clock is what the configuration says, and CLOCK_FROM where it has that from: `./run timing`.
set -eu
vtac=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
printf '%-10s %-14s %10s %5s %9s %6s  %s\n' configuration network cycles MHz pictures/s goal 'DPU on the part'
grep -v '^#' "$here/rivals.txt" | while read -r config network goal rival; do
    "$vtac" config show "$config" >config.json
    [ -f "$network.onnx" ] || "$vtac" zoo "$network" --int8 -o "$network.onnx" >log 2>&1 || { cat log >&2; exit 1; }
    "$vtac" compile "$network.onnx" --target vta --config "$config" -o model.so >log 2>&1 || { cat log >&2; exit 1; }
    "$vtac" run model.so --device "tsim:$config" --json >run.json 2>log || { cat log >&2; exit 1; }
    python3 - "$config" "$network" "$goal" "$rival" <<'END'
import json
import sys

config, network, goal, rival = sys.argv[1:]
mhz = json.load(open("config.json", encoding="utf-8"))
cycles = json.load(open("run.json", encoding="utf-8"))["cycles"]
rate = 1e6 * mhz["CLOCK_MHZ"] / cycles
print(f"{config:<10} {network:<14} {cycles:>10} {mhz['CLOCK_MHZ']:>5} {rate:>9.1f}  {goal:>6}  {rival}  [clock: {mhz['CLOCK_FROM']}]")
END
done
