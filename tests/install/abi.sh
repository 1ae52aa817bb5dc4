#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# abi.sh ROOT BUILD [record]: the library against the record of the last release, runtime/install/libvta.abi, with what may change
# in libvta.suppr: nothing that a program compiled then could use is gone or another. The library is built here with all that
# a debugger would know, which is where types come from. `record` writes the record.
set -eu
root=$(cd "$1" && pwd)
folder=$root/runtime/install
record=$folder/libvta.abi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

# library SOURCE NAME: $work/NAME/lib/libvta.so and its headers
library() {
    { cmake -S "$1" -B "$work/$2" -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="-g -O0 '-ffile-prefix-map=$1=.' '-ffile-prefix-map=$work/$2=build'" -DVTA_COMPILER=OFF -DVTA_TESTS=OFF \
        -DVTA_BINDINGS=OFF && ninja -C "$work/$2" vta vta_headers; } >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
}
compare() { # RECORD
    abidiff --no-added-syms --suppressions "$folder/libvta.suppr" "$1" "$work/now/lib/libvta.so"
}

library "$root" now
compiler=$folder/libvtac.abi # its one file with types is built with them always
if [ "${3:-}" = record ]; then
    abidw --headers-dir "$root/compiler/include" --drop-private-types --drop-undefined-syms --no-corpus-path --no-comp-dir-path \
        --no-show-locs --out-file "$compiler" "$2/lib/libvtac.so"
    abidw --headers-dir "$work/now/include" --drop-private-types --drop-undefined-syms --no-corpus-path --no-comp-dir-path \
        --no-show-locs --out-file "$record" "$work/now/lib/libvta.so"
    echo "abi: recorded $(grep -c '<elf-symbol ' "$record") functions"
    exit 0
fi
compare "$record" ||
    { echo "abi: a program that was linked with the last release would break; if no release has promised it: ./run abi"; exit 1; }

abidiff --no-added-syms "$compiler" "$2/lib/libvtac.so" || { echo "abi: a program that was linked with the last libvtac would break"; exit 1; }
sed "/class-decl name='libvtac_options'/,/class-decl>/s/layout-offset-in-bits='192'/layout-offset-in-bits='256'/" "$compiler" >"$work/options.abi"
! abidiff --no-added-syms "$work/options.abi" "$2/lib/libvtac.so" >/dev/null 2>&1 || { echo "abi: other options of libvtac are not noticed"; exit 1; }

# Records of a library with one function more, and of one with another structure, must not pass.
spoiled() { # NAME SCRIPT
    sed "$2" "$record" >"$work/$1.abi"
    ! cmp -s "$record" "$work/$1.abi" || { echo "abi: there is no $1 to spoil"; exit 1; }
    ! compare "$work/$1.abi" >/dev/null 2>&1 || { echo "abi: another $1 is not noticed"; exit 1; }
}
spoiled function 's/vta_model_run/vta_model_fly/g'
spoiled structure "/class-decl name='vta_step_profile'/,/class-decl>/s/layout-offset-in-bits='192'/layout-offset-in-bits='256'/"
echo "abi: $(grep -c '<elf-symbol ' "$record") functions as recorded"
