#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The units that go through a real router: all that the accelerator is made of is among them, and some of them go through it
# here (`./run ice40` does all). Arguments: SOURCE VTA_PARAMS HEADERS UNIT...
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
source=$1 params=$2 headers=$3
shift 3
failed=0
units=$(awk '!/^#/ { print $1 }' "$source/fpga/ice40/units.txt")
for whole in mem/vta_top compute/vta_compute; do
    parts=$(sed -n 's/^ *\(vta_[a-z_0-9]*\) *\(#(\|[a-z0-9_]* *(\).*/\1/p' "$source/hw/rtl/$whole.v" | sort -u)
    [ "$(echo "$parts" | wc -l)" -gt 5 ] || { echo "few parts of $whole are found"; failed=1; }
    for part in $parts; do
        [ "$part" != vta_compute ] || continue # part by part
        echo "$units" | grep -qx "$part" || { echo "'$part' of $whole is not in units.txt"; failed=1; }
    done
done
"$source/fpga/ice40/pnr.sh" "$params" "$headers" "$@"
exit $failed
