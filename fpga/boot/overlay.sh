#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# overlay.sh FAMILY CONFIG.json: prints the overlay of a family (zynq7, zynqmp) for a configuration: its vta.dts, with as many cores switched
# on as the configuration has.
set -eu
fpga=$(cd "$(dirname "$0")/.." && pwd)
if [ $# != 2 ] || [ ! -f "$fpga/$1/vta.dts" ] || [ ! -f "$2" ]; then
    echo "usage: overlay.sh FAMILY CONFIG.json" >&2
    exit 2
fi
cores=$(sed -n 's/.*"CORES" *: *\([0-9]*\).*/\1/p' "$2")
cat "$fpga/$1/vta.dts"
core=1
while [ $core -lt "${cores:-1}" ]; do
    sed -n "s/^ *\([a-z]*$core\): .*/\&\1 { status = \"okay\"; };/p" "$fpga/$1/vta.dts"
    core=$((core + 1))
done
