#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# package.sh BOARD [FOLDER]: builds what a board gets with Debian's cross compiler and packs it as FOLDER/vta-BOARD.tar.gz
# (build/cross unless told), with an install script. Prints the size of the stripped runtime with its driver; exit 1 where
# it is over the limit, or where a program needs a library or a libc that the board's system does not have.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
limit=$((300 * 1024))
newest_glibc=2.35 # of Ubuntu 22.04, on which the PYNQ images of 3.0 and later rest
board=$1
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=${2:-$root/build/cross}
fpga=$root/fpga
# shellcheck source=fpga/boards.sh
. "$fpga/boards.sh"
family=$(board_is "$board" 2)
[ "$board" != riscv64 ] || family=riscv64
case $family in
zynq7) tools=arm-linux-gnueabihf ;;
zynqmp) tools=aarch64-linux-gnu ;;
riscv64) tools=riscv64-linux-gnu ;;
*) echo "package.sh: expected one of $(boards) riscv64, not '$board'" >&2; exit 2 ;;
esac
build=$folder/$family # boards of a family get the same programs
tree=$folder/vta-$board

fail() { echo "package.sh: $*" >&2; exit 1; }

mkdir -p "$folder"
{
    [ -f "$build/build.ninja" ] ||
        cmake -S "$root" -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$here/$family.cmake" -DCMAKE_INSTALL_LIBDIR=lib
    ninja -C "$build"
} >"$build.log" 2>&1 || { tail -n 20 "$build.log" >&2; fail "the build for '$board' failed"; }

rm -rf "$tree"
cmake --install "$build" --prefix "$tree" --strip >>"$build.log" 2>&1 || fail "installing into $tree failed"
"$tools-strip" --strip-debug --remove-section='.gnu.lto_*' "$tree/lib/libvta.a"
mkdir -p "$tree/share/vta/examples" "$tree/share/vta/udev"
cp "$root"/runtime/examples/*.[ch] "$tree/share/vta/examples/"
find "$root/driver" -name '*.rules' -exec cp {} "$tree/share/vta/udev/" \;
cp "$here/install.sh" "$tree/"

# Libraries that the programs ask of the board's system.
for file in "$tree"/bin/* "$tree"/lib/libvta.so; do
    "$tools-readelf" -dW "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(lib(c|m|pthread|dl)\.so\.[0-9]|ld-linux.*)$' |
        while read -r library; do fail "$(basename "$file") needs $library"; done
    needed=$("$tools-readelf" -VW "$file" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -n 1)
    [ "$(printf '%s\n' "$needed" "$newest_glibc" | sort -V | tail -n 1)" = "$newest_glibc" ] ||
        fail "$(basename "$file") needs glibc $needed, the board has $newest_glibc"
done

tar -C "$folder" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -czf "$folder/vta-$board.tar.gz" "vta-$board"
size=$(wc -c <"$(readlink -f "$tree/lib/libvta.so")")
echo "build = $build"
printf 'runtime and driver, stripped: %d bytes for %s (limit %d)\n' "$size" "$tools" "$limit"
printf 'package: %s, %d bytes, needs glibc %s\n' "$folder/vta-$board.tar.gz" "$(wc -c <"$folder/vta-$board.tar.gz")" "$needed"
[ "$size" -le "$limit" ] || fail "the runtime for '$board' is $((size - limit)) bytes over the limit"
