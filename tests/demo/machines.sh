#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Training is the same to the bit whatever compiles it and whatever it runs on: the trainer by this machine's compilers,
# by those for other machines, and on emulated processors, against weights.txt. An emulated step has 4 pictures, since it takes
# 150 times as long as another.
# Arguments: SOURCE [STEPS, 1 unless told; with more of them, more machines]
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
source=$1
steps=${2:-1}
demo=$source/compiler/demo
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
emulated="$steps 4"

# make_with NAME COMPILER [OPTION...]: the trainer alone, as a program that needs nothing of its machine.
make_with() {
    name=$1
    shift
    "$@" -std=c17 -O3 -D_DEFAULT_SOURCE -DVTA_RELEASE='""' -ffp-contract=off -I"$demo" -I"$source/compiler/include" \
        -I"$source/isa/base/include" -static -o "$work/$name" "$source/tests/demo/weights.c" "$demo/draw.c" \
        "$demo/outline.c" "$demo/net.c" "$demo/adam.c" "$demo/layer.c" "$demo/attend.c" "$demo/gemm.c" "$demo/train.c" \
        "$source/compiler/src/number/exact.c" "$source/isa/base/src/arena.c" "$source/isa/base/src/status.c" "$source/isa/base/src/untrusted.c" -lm
}

# learns LABEL "STEPS [PICTURES]" COMMAND...: its weights are those expected; without a line for so many steps, those of the first.
learns() {
    label=$1
    much=$2
    shift 2
    file=$work/expected-${much#* }
    [ -e "$file" ] || awk -v row="$(echo "$much" | tr ' ' /)" '$1 == row { print $2 }' "$source/tests/demo/weights.txt" >"$file"
    # shellcheck disable=SC2086
    found=$("$@" $much 2>>"$work/log" | sed -n 's/^weights //p')
    [ -s "$file" ] || echo "$found" >"$file"
    if [ -n "$found" ] && [ "$found" = "$(cat "$file")" ]; then
        echo "ok $label: ${much% *} steps make $found"
    else
        echo "WRONG $label: ${much% *} steps make '$found', expected $(cat "$file")"
        tail -n 5 "$work/log"
        failed=1
    fi
}

make_with gcc gcc
learns gcc "$steps" "$work/gcc"
learns 'gcc, 4 pictures' "$emulated" "$work/gcc"
make_with slow gcc -O1 -fno-tree-vectorize
learns 'gcc, no vectors but our own' "$steps" "$work/slow"
make_with clang clang
learns clang "$steps" "$work/clang"
for processor in Haswell Skylake-Client EPYC; do
    learns "gcc on $processor" "$emulated" qemu-x86_64 -cpu "$processor" "$work/gcc"
done
make_with aarch64 aarch64-linux-gnu-gcc
learns aarch64 "$emulated" qemu-aarch64 "$work/aarch64"
[ "$steps" -gt 1 ] || exit $failed
make_with fused gcc -march=x86-64-v3 -Wno-psabi
learns 'gcc for processors with fused products, on Haswell' "$emulated" qemu-x86_64 -cpu Haswell "$work/fused"
make_with armhf arm-linux-gnueabihf-gcc
learns armhf "$emulated" qemu-arm "$work/armhf"
make_with riscv64 riscv64-linux-gnu-gcc
learns riscv64 "$emulated" qemu-riscv64 "$work/riscv64"
exit $failed
