#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# tiny.sh VTAC PACKAGE [NAME:ASKED_MS...]: networks of MLPerf Tiny on a `pynq` board, from input in memory to output in memory:
# cycles of the RTL over the board's clock, and the processor's share, instructions counted under a model of its Cortex-A9 (a9.py
# says whose), with the driver and the launch in it. PACKAGE: what fpga/cross/package.sh made, unpacked. A virtual board
# runs all of it, so the numbers are those of a machine without load, whatever this one does. Random weights: time does not
# depend on them. The last line is of a program that does nothing: what a launch costs.
set -eu
vtac=$1
package=$2
shift 2
[ $# -gt 0 ] || set -- tiny_ic:1.2 tiny_kws:0.3 tiny_vww:1.5 tiny_ad:0.6
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
board=
trap '[ -z "$board" ] || kill "$board"; rm -rf "$work"' EXIT
arm-linux-gnueabihf-gcc -std=c17 -O2 -D_GNU_SOURCE -I"$package/include" "$here/counted.c" -o "$work/counted" \
    "$package/lib/libvta.a" -lpthread -ldl -lm
"$vtac" board --dir "$work/b" --config pynq >"$work/board" 2>&1 &
board=$!
while ! grep -q 'is ready' "$work/board"; do
    kill -0 $board || { cat "$work/board" >&2; exit 1; }
    sleep 0.2
done
count() { python3 -B "$here/a9.py" "$work/counted" "$1" "uio:$work/b" --json; }
printf '%-10s %8s %9s %9s %9s %6s | %8s %8s %9s %9s\n' network cycles accel_ms host_ms whole_ms asked code_us calls_us registers caches_us
for pair in "$@"; do
    name=${pair%:*}
    "$vtac" zoo "$name" --int8 -o "$work/$name.onnx" >/dev/null
    "$vtac" compile "$work/$name.onnx" --target vta --config pynq --host pynq -o "$work/there.so" >/dev/null
    "$vtac" compile "$work/$name.onnx" --target vta --config pynq -o "$work/here.so" >/dev/null
    "$vtac" run "$work/here.so" --device tsim:pynq --json >"$work/run"
    count "$work/there.so" >"$work/host"
    python3 - "$name" "${pair#*:}" "$work/run" "$work/host" <<'X'
import json, sys
name, asked = sys.argv[1:3]
cycles = json.load(open(sys.argv[3]))["cycles"]
host = json.load(open(sys.argv[4]))
accelerator, share = cycles / 100e3, host["host_us"] / 1e3
print("%-10s %8d %9.3f %9.3f %9.3f %6s | %8.1f %8.1f %9.1f %9.1f  %s" % (
    name, cycles, accelerator, share, accelerator + share, asked, host["pipeline_us"], host["calls_us"] + host["wake_us"],
    host["registers_us"], host["caches_us"], "ok" if accelerator + share <= float(asked) else "above"))
X
done
count - >"$work/host"
python3 - "$work/host" <<'X'
import json, sys
host = json.load(open(sys.argv[1]))
print("a launch: %.1f us of the processor's work (20 asked) in %d instructions and %d system calls, and %.1f us to wake up" % (
    host["host_us"] - host["wake_us"], host["instructions"], host["calls"], host["wake_us"]))
X
