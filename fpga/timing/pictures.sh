#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# pictures.sh VTAC [NETWORK…]: pictures a second = the configuration's clock / the network's cycles on tsim, in the configuration's memory (of several
# cores, each with a picture: the cycles of all, by the pictures), beside
# what rivals.txt names; of these networks only. The clock is what the configuration says, and CLOCK_FROM where it has that from: `./run timing`.
set -eu
vtac=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
printf '%-13s %-18s %10s %5s %10s %6s %6s  %s\n' configuration network cycles MHz pictures/s goal ratio 'the rival on the part'
grep -v '^#' "$here/rivals.txt" | while read -r config network goal rival who; do
    case " ${*:-$network} " in *" $network "*) ;; *) continue ;; esac
    "$vtac" config show "$config" >config.json
    [ -f "$network.onnx" ] || "$vtac" zoo "$network" --int8 -o "$network.onnx" >log 2>&1 || { cat log >&2; exit 1; }
    if [ ! -f "$network.$config.json" ]; then
        "$vtac" compile "$network.onnx" --target vta --config "$config" -o model.so >log 2>&1 || { cat log >&2; exit 1; }
        "$vtac" run model.so --device "tsim:$config" --json >run.json 2>log || { cat log >&2; exit 1; }
        mv run.json "$network.$config.json"
    fi
    python3 - "$config" "$network" "$goal" "$rival" "$who" <<'END'
import json
import sys

config, network, goal, rival, who = sys.argv[1:]
mhz = json.load(open("config.json", encoding="utf-8"))
ran = json.load(open(f"{network}.{config}.json", encoding="utf-8"))
cycles = round(ran["cycles"] / ran.get("pictures", 1))
rate = 1e6 * mhz["CLOCK_MHZ"] / cycles
print(f"{config:<13} {network:<18} {cycles:>10} {mhz['CLOCK_MHZ']:>5} {rate:>10.1f} {goal:>6} {rate / float(rival):>6.2f}  {who}  [clock: {mhz['CLOCK_FROM']}]")
END
done
