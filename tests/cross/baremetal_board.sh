#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/board/lib.sh
#
# The driver and runtime without an operating system, built for this machine, on a virtual board's RTL: the same bytes
# as the functional simulator's, for two inputs, with the cache hooks called on shared memory alone.
# Arguments: VTAC SOURCE BUILD CC
build=$3
cc=$4
. "$(dirname "$0")/../board/lib.sh"
library=$build/cross/baremetal-here
seed=$("$source/tests/lib/seed.sh" cross_baremetal_board)
echo "seed $seed"
mkdir -p "$library"
{
    [ -f "$library/build.ninja" ] ||
        cmake -S "$source" -B "$library" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$cc" -DVTA_BAREMETAL=ON \
            -DVTA_COMPILER=OFF -DVTA_RTL_SIMULATORS=OFF -DVTA_TESTS=OFF -DVTA_CJSON=OFF
    ninja -C "$library" vta_static
} >"$library.log" 2>&1 || { tail -n 20 "$library.log"; exit 1; }
holds "the program" "$cc" -std=c17 -D_DEFAULT_SOURCE -Wall -Wextra -Werror "-I$source/runtime/include" "-I$source/driver/include" \
    "-I$source/isa/include" "-I$source/isa/base/include" "$source/tests/cross/baremetal_board.c" "$library/lib/libvta.a" \
    -ldl -lm -o program

vtac zoo tiny_kws --int8 -o net.onnx
exits 0
vtac compile net.onnx --target vta --config tiny --offload all -o net.so
exits 0
board virtual --config tiny --coherent
holds "two inputs" /usr/bin/python3 "$source/tests/cross/inputs.py" "$seed" -1 1 490 \
    "$build/bin/vta-run" net.so --device fsim --input 'in{}.bin' --output-dir 'here{}'
# twice over, the second time with what the first left in the board
for round in 1 2; do
    timeout 600 ./program "$PWD/virtual" ./net.so in1.bin in2.bin >out 2>err
    status=$?
    ran="round $round on the virtual board"
    exits 0
    cp out got$round
done
for run in 1 2; do
    python3 -c 'import sys; b = open(sys.argv[1], "rb").read(); print("output " + b[10 + b[8] + 256 * b[9]:].hex())' here$run/*.npy >>expected
done
for round in 1 2; do
    holds "round $round: the bytes of fsim" sh -c "grep ^output got$round | cmp - expected"
done
holds "the hooks were called" grep -Eq '^clean [1-9][0-9]* invalidate [1-9][0-9]* idle [1-9]' got1
finish
