#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs into a fresh prefix and builds a small outside program against it, with pkg-config (shared and static) and
# with CMake; each build runs, and its answer is compared. Arguments: BUILD CC
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/install/lib.sh
. "$here/lib.sh"

# check NAME PROGRAM: it must print the names of two devices' configurations and succeed.
check() {
    got=$(LD_LIBRARY_PATH=$libdir "$2") || { echo "install: $1: failed"; exit 1; }
    [ "$got" = 'tiny 1x4x4, pynq 1x16x16' ] || { echo "install: $1: printed '$got'"; exit 1; }
    echo "install: $1: $got"
}

# Output of pkg-config is words for a shell, with a backslash before each space.
# shellcheck disable=SC2086  # flags are meant to be split
{
    eval "set -- $(pkg-config --cflags --libs vta)"
    $cc -std=c17 $CFLAGS -o "$work/shared" "$here/outside.c" "$@"
    eval "set -- $(pkg-config --cflags vta) \"\$libdir/libvta.a\" $(pkg-config --libs libcjson)"
    $cc -std=c17 $CFLAGS -o "$work/static" "$here/outside.c" "$@" -lpthread -lm -ldl
}
check 'pkg-config, shared' "$work/shared"
check 'pkg-config, static' "$work/static"

cmake -S "$here" -B "$work/cmake" -G Ninja -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS="$CFLAGS" \
    -DCMAKE_PREFIX_PATH="$prefix" -DOUTSIDE=ON >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cmake --build "$work/cmake" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
check 'cmake package' "$work/cmake/outside"

# The installed command works from its new place, and completion is where bash looks for it.
"$prefix/bin/vtac" config show tiny | grep -q '"LOG_BLOCK' || { echo 'install: vtac config show: wrong'; exit 1; }
for script in bash-completion/completions/vtac zsh/vendor-completions/_vtac fish/vendor_completions.d/vtac.fish; do
    [ -s "$prefix/share/$script" ] || { echo "install: no completion in share/$script"; exit 1; }
done
for file in vim/vimfiles/syntax/vasm.vim vim/vimfiles/ftdetect/vasm.vim vtac/vscode/vasm/vasm.tmLanguage.json vtac/vscode/vasm/package.json; do
    [ -s "$prefix/share/$file" ] || { echo "install: no share/$file"; exit 1; }
done
