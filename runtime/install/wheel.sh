#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# wheel.sh BUILD FOLDER [ARCH]: a wheel in FOLDER; the same tree gives the same bytes. Without ARCH, `vtac` of what the build installs:
# compiler, simulator, runtime, `import vta`, the program vtac, with LLVM, lld and all other libraries inside but the C library. ARCH
# armhf or aarch64: `vta` for a board, by Debian's cross compiler: `import vta`, runtime, drivers, simulator, vta-run, vtac-agent, vta-mem.
set -eu
build=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
umask 022
version=$(sed -n 's/^project(vtac VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)
export SOURCE_DATE_EPOCH
fail() { echo "wheel: $*" >&2; exit 1; }

# installed: what this machine's build installs.
installed() {
    DESTDIR=$work/all cmake --install "$build" --prefix /usr >"$work/log" 2>&1 || { cat "$work/log" >&2; fail 'the build does not install'; }
    find "$work/all" \( -name '*.so*' -o -path '*/bin/*' \) -type f -exec strip --remove-section=.comment --remove-section=.note {} +
}

# cross BOARD TOOLS: a board's package, and the module for its Python.
cross() {
    command -v "$2-gcc" >/dev/null || fail "no $2-gcc: install gcc-$2"
    "$root/fpga/cross/package.sh" "$1" "$build/cross" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "the package for '$1' does not build"; }
    tree=$build/cross/vta-$1
    headers=$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')
    machine=$work/include/$2/$(basename "$headers")
    module=$work/all/vta
    mkdir -p "$machine" "$module"
    cp "$root/runtime/bindings/python/cross/pyconfig.h" "$machine/"
    cp -r "$tree/lib" "$tree/bin" "$work/all/"
    cp "$root"/runtime/bindings/python/vta/* "$module/"
    "$2-gcc" -std=c17 -D_GNU_SOURCE -O2 -DNDEBUG -DVTA_NO_GENERATE=1 -fPIC -fvisibility=hidden -shared -Wl,--build-id=none -Wl,-s \
        "-I$work/include" -isystem "$headers" "-I$root/isa/base/include" "-I$root/isa/include" "-I$root/sim/include" \
        "-I$root/driver/include" "-I$root/runtime/include" -o "$module/_vta.abi3.so" "$root/runtime/bindings/python/vta_module.c" \
        "-L$tree/lib" -lvta
    "$2-strip" --remove-section=.comment --remove-section=.note "$module/_vta.abi3.so" "$work/all/lib/libvta.so.1"
}

case ${3:-} in
'') installed; set -- vtac "$work/all" "$version" "$out" ;;
armhf) cross pynq arm-linux-gnueabihf; set -- vta "$work/all" "$version" "$out" armv7l arm-linux-gnueabihf- ;;
aarch64) cross ultra96 aarch64-linux-gnu; set -- vta "$work/all" "$version" "$out" aarch64 aarch64-linux-gnu- ;;
*) fail "expected armhf or aarch64, not '$3'" ;;
esac
/usr/bin/python3 -B "$here/wheel.py" "$@"
