#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# A board's package under qemu-user: the runtime that the cross compiler built runs what `vtac compile --host BOARD`
# made, on the functional simulator and on the board's CPU alone, and leaves the same integers as this machine: the
# suite's own quantized networks (OWN), and a published MobileNet where it is there (SHARED), each twice with different inputs.
# `riscv64` is no board but a processor: its package is for models without an accelerator, and the simulator runs on it as on any.
# Arguments: VTAC SOURCE OWN SHARED BOARD BUILD; without qemu or a cross compiler, exit status 77.
models=$3
shared=$4
board=$5
build=$6
case $board in
pynq) tools=arm-linux-gnueabihf qemu='qemu-arm -cpu cortex-a9' config=pynq machine=arm ;;
ultra96) tools=aarch64-linux-gnu qemu='qemu-aarch64 -cpu cortex-a53' config=ultra96 machine=aarch64 ;;
riscv64) tools=riscv64-linux-gnu qemu='qemu-riscv64 -cpu sifive-u54' config=pynq machine=riscv ;;
esac
for tool in "${qemu%% *}" "$tools-gcc"; do
    command -v "$tool" >/dev/null || { echo "$tool is not installed"; exit 77; }
done
. "$(dirname "$0")/../cli/lib.sh"
export VTAC_THREADS=2
seed=$("$source/tests/lib/seed.sh" "cross_$board")
echo "seed $seed"

# The package: built, checked against its limits, and installed as on the board.
"$source/fpga/cross/package.sh" "$board" "$build/cross" >package.out 2>&1 || { cat package.out; exit 1; }
cat package.out
tar -xzf "$build/cross/vta-$board.tar.gz"
holds "the install script" "./vta-$board/install.sh" "$work/stage"

# Devices that run kernels, as GPUs, are no part of it: neither sources, nor functions, nor words.
family=$(sed -n 's|^build = \(.*\)|\1|p' package.out)
free_of_gpus() {
    ninja -C "$1" -t inputs lib/libvta.so >inputs.out && grep -q runtime/src/model_here.c inputs.out || return 1
    ! grep -E 'runtime/gpu/|runtime/src/kernels\.c' inputs.out || return 1
    "$tools-nm" "$work/stage/lib/libvta.a" >names.out && grep -q vta_model_load names.out || return 1
    ! grep -E 'vta_(kernels|gpu|open_beside)|(begin|finish|open|has)_kernels' names.out || return 1
    ! grep -aE 'opencl|libcuda|libvta_gpu' "$work/stage/lib/libvta.so" || return 1
}
holds "nothing of GPUs on $board" free_of_gpus "$family"
QEMU_LD_PREFIX=/usr/$tools
export QEMU_LD_PREFIX

# The examples of the package compile against its headers and library, shared and static, and run.
for example in vector_add matmul conv3x3; do
    for library in -lvta "$work/stage/lib/libvta.a"; do
        holds "$example with ${library##*/}" "$tools-gcc" -std=c17 -D_GNU_SOURCE "-I$work/stage/include" -o example \
            "$work/stage/share/vta/examples/$example.c" "-L$work/stage/lib" "$library" -lpthread -ldl -lm
        # shellcheck disable=SC2086
        holds "$example runs on $board" $qemu -E "LD_LIBRARY_PATH=$work/stage/lib" ./example fsim
    done
done

# agree FOLDER NAME LOW HIGH "DIMENSIONS": inputs of that range, as the model takes them; both forms of the model, here and on the board.
# The one that is the measure is compiled in a hurry: its integers are the same.
agree() {
    folder=$1
    name=$2
    for target in vta llvm; do
        vtac compile "$folder/$name.onnx" --target $target --config "$config" -O 1 -o here.so
        exits 0
        vtac compile "$folder/$name.onnx" --target $target --config "$config" --host "$board" -o there.so
        exits 0
        holds "$name for $target: two inputs" /usr/bin/python3 "$source/tests/cross/inputs.py" "$seed$name" "$3" "$4" "$5" \
            "$vtac_program" run here.so --device fsim --input 'in{}.npy' --output-dir 'here{}'
        for run in 1 2; do
            # shellcheck disable=SC2086
            holds "$name for $target on $board" $qemu "$work/stage/bin/vta-run" there.so --device fsim \
                --input "in$run.npy" --output-dir "there$run"
            for file in "here$run"/*.npy; do
                holds "$name for $target on $board, run $run: the same bytes" cmp "$file" "there$run/${file#*/}"
            done
        done
        rm -rf here1 here2 there1 there2
    done
}
agree "$models" words_int8_qdq -123 25 "1 1 49 10"
agree "$models" image_int8_qdq 0 255 "1 3 32 32"
agree "$models" mobile_uint8_qlinear -2 2 "1 3 32 32"
[ ! -d "$shared" ] || agree "$shared" coral_tf2_mobilenet_v2_1.0_224_int8pc_qdq -1 1 "1 3 224 224"

# Operators that a Cortex-A9 has no instructions for.
if [ "$board" = pynq ] && /usr/bin/python3 -c 'import onnx' 2>/dev/null; then
    ran='arithmetic.py'
    /usr/bin/python3 "$source/tests/cross/arithmetic.py" "$vtac_program" "$build/bin/vta-run" "$work/stage" "$seed" >out 2>err
    status=$?
    exits 0
    tail -n 1 out
fi

# Floats that are divided by multiplying.
if [ "$machine" != riscv ] && /usr/bin/python3 -c 'import numpy, onnx' 2>/dev/null; then
    ran='quantized.py'
    /usr/bin/python3 "$source/tests/cross/quantized.py" "$vtac_program" "$qemu" "$work/stage" \
        "$board" "$config" "$seed" >out 2>err
    status=$?
    exits 0
    tail -n 1 out
fi

# One that asks for what this processor lacks is refused before anything of it runs.
vtac compile "$models/words_int8_qdq.onnx" --host x86-64-v3 -o other.so
# shellcheck disable=SC2086
holds "another machine's model is refused" sh -c "! $qemu \"\$1\" other.so 2>refusal" sh "$work/stage/bin/vta-run"
holds "and told why" grep -q "it was compiled for x86-64, this machine is $machine;" refusal
finish
