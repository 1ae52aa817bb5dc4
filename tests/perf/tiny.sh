#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# tiny.sh VTAC [SLOWER]: the networks of MLPerf Tiny on a `pynq` board, from input in memory to output in memory: cycles of
# the RTL over the board's clock, and the host's steps of one thread, measured here and taken SLOWER times (20 unless told:
# a guess for a Cortex-A9 at 650 MHz beside a processor of today; a board's own figure is `vta-run --profile`). Random
# weights: time does not depend on them.
set -eu
vtac=$1
slower=${2:-20}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '%-10s %10s %10s %10s %10s %10s\n' network cycles accel_ms host_ms whole_ms asked_ms
for pair in tiny_ic:1.2 tiny_kws:0.3 tiny_vww:1.5 tiny_ad:0.6; do
    name=${pair%:*}
    "$vtac" zoo "$name" --int8 -o "$work/$name.onnx" >/dev/null
    "$vtac" compile "$work/$name.onnx" --target vta --config pynq -o "$work/$name.so" >/dev/null
    "$vtac" bench "$work/$name.so" --pipeline --device tsim:pynq --slower "$slower" --repeat 3 --json >"$work/said"
    python3 - "$name" "${pair#*:}" "$work/said" <<'X'
import json, sys
name, asked, said = sys.argv[1:]
row = json.load(open(said))
whole = row["host_ms"] + row["accelerator_ms"]
print("%-10s %10d %10.3f %10.3f %10.3f %10s  %s" % (name, row["cycles"], row["accelerator_ms"], row["host_ms"], whole, asked,
                                                    "ok" if whole <= float(asked) else "above"))
X
done
