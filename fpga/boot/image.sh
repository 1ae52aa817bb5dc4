#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# image.sh BOARD ROOT [BITSTREAM [CONFIG]]: the recipe: puts everything into the root file system of a PYNQ image, mounted at ROOT
# (the second partition of its SD card, or of the image file by `losetup -P`), so that the board starts with the
# accelerator loaded: the board's package, the load script with its unit, the compiled overlay, and vta-BOARD.bin. CONFIG is the
# file of another configuration than the board's own, if the bitstream is of one.
set -eu
die() { echo "image.sh: $*" >&2; exit 1; }
[ $# -ge 2 ] || die "usage: image.sh BOARD ROOT [BITSTREAM.bin [CONFIG.json]]"
board=$1
root=$2
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
package=${VTA_PACKAGES:-$source/build/cross}/vta-$board.tar.gz
fpga=$source/fpga
# shellcheck source=fpga/boards.sh
. "$fpga/boards.sh"
family=$(board_is "$board" 2)
[ -n "$family" ] || die "expected one of $(boards), not '$board'"
config=${4:-$source/isa/configs/$(board_is "$board" 4).json}
[ -f "$config" ] || die "there is no configuration '$config'"
[ -d "$root/etc/" ] || die "'$root' is no root file system"
[ -f "$package" ] || die "$package is missing; './run cross $board' makes it"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xzf "$package"
"$work/vta-$board/install.sh" "$root/usr/local" >"$work/log" || die "the package's install script failed: $(tail -n 1 "$work/log")"
mkdir -p "$root/etc/udev/rules.d" "$root/lib/firmware/vta" "$root/usr/local/sbin" "$root/etc/systemd/system/multi-user.target.wants"
cp "$work/vta-$board"/share/vta/udev/*.rules "$root/etc/udev/rules.d/"
# One overlay for each label that images give the bus, and one for images without; vta-load takes the one that fits.
sh "$here/overlay.sh" "$family" "$config" >"$work/vta.dts"
dtc -q -@ -I dts -O dtb -o "$root/lib/firmware/vta/vta.dtbo" "$work/vta.dts"
sed 's/&amba/\&axi/' "$work/vta.dts" | dtc -q -@ -I dts -O dtb -o "$root/lib/firmware/vta/vta-axi.dtbo" -
sed 's|target = <&amba>|target-path = "/"|' "$work/vta.dts" | dtc -q -@ -I dts -O dtb -o "$root/lib/firmware/vta/vta-root.dtbo" -
{
    cat "$fpga/$family/vta.board"
    echo "cores $((1 + $(grep -c "^&vta" "$work/vta.dts")))"
} >"$root/lib/firmware/vta/vta.board"
cp "$here/vta-load" "$root/usr/local/sbin/"
cp "$here/vta-load.service" "$root/etc/systemd/system/"
ln -sf ../vta-load.service "$root/etc/systemd/system/multi-user.target.wants/vta-load.service"
grep -q '^vta:' "$root/etc/group" || echo 'vta:x:987:' >>"$root/etc/group"
echo "package, overlay, load script and udev rule are in $root"
if [ $# -ge 3 ]; then
    [ -s "$3" ] || die "no bitstream '$3'"
    cp "$3" "$root/lib/firmware/vta/vta.bin"
    echo "bitstream: $3"
else
    echo "no bitstream was given: put vta-$board.bin on the board as /lib/firmware/vta/vta.bin"
fi
