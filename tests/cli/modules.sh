#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# The parts of vtac that it loads when it needs them: the program alone does what needs none, says what is missing otherwise,
# finds them wherever it is put with them, and takes none that is not its own.
. "$(dirname "$0")/lib.sh"
unset LD_LIBRARY_PATH
built=$(dirname "$vtac_program")/../lib

readelf -d "$vtac_program" | grep -q libasan || # where all are linked, see compiler/CMakeLists.txt
    holds "it does not need LLVM to start" sh -c '! readelf -d "$1" | grep -iE "NEEDED.*(llvm|hdf5|stdc)"' sh "$vtac_program"
"$vtac_program" zoo tiny_ad --int8 -o net.onnx >/dev/null || exit 1
"$vtac_program" compile net.onnx -o good.so >/dev/null || exit 1
"$vtac_program" compile net.onnx --target vta -o vta.so >/dev/null || exit 1

mkdir -p alone/bin alone/lib/vtac
cp "$vtac_program" alone/bin/vtac
vtac_program=$PWD/alone/bin/vtac
vtac config list
exits 0
vtac run good.so
exits 0
vtac run vta.so --device fsim
exits 0
vtac compile net.onnx -o made.so
exits 1
one_line err
says err "libvtac_llvm.so"
silent out

# Another release's.
printf 'static const int edition = 99;\nconst void *vtac_llvm(void);\nconst void *vtac_llvm(void) { return &edition; }\n' >other.c
cc -shared -fPIC -o alone/lib/vtac/libvtac_llvm.so other.c || exit 1
vtac compile net.onnx -o made.so
exits 1
one_line err
says err "libvtac_llvm.so is of another release"

# Something else of that name.
printf 'int nothing;\n' >other.c
cc -shared -fPIC -o alone/lib/vtac/libvtac_llvm.so other.c || exit 1
vtac compile net.onnx -o made.so
exits 1
says err "libvtac_llvm.so is of another release"
printf 'no library' >alone/lib/vtac/libvtac_llvm.so
vtac compile net.onnx -o made.so
exits 1
one_line err
says err "libvtac_llvm.so"
holds "nothing was written" test ! -e made.so
cp "$built/libvtac_llvm.so" alone/lib/vtac/
vtac compile net.onnx -o made.so
exits 0
holds "the same code as from where it was built" cmp good.so made.so

# By a link, and from the folder of a library.
mkdir -p elsewhere "another place/bin"
ln -s "$PWD/alone/bin/vtac" elsewhere/vtac
vtac_program=$PWD/elsewhere/vtac
vtac compile net.onnx --target vta -o made.so
exits 0
holds "the same code by a link" cmp vta.so made.so
cp alone/bin/vtac "another place/bin/"
cp -r alone/lib "another place/"
vtac_program="$PWD/another place/bin/vtac"
vtac compile net.onnx -o made.so
exits 0
holds "the same code in a folder with a blank" cmp good.so made.so
finish
