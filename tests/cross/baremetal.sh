#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# The runtime without an operating system: built by arm-none-eabi-gcc, with a model compiled for a Cortex-M7 linked in,
# run by qemu-system-arm on a machine that has neither an accelerator nor a system. What it prints on the debugger's
# console are the integers of this machine, for two inputs. Prints the size of it.
# Arguments: VTAC SOURCE MODELS BUILD; MODELS are the suite's own networks. Without the tools, exit status 77.
models=$3
build=$4
for tool in arm-none-eabi-gcc qemu-system-arm; do
    command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
. "$(dirname "$0")/../cli/lib.sh"
seed=$("$source/tests/lib/seed.sh" cross_baremetal)
echo "seed $seed"
example=$source/runtime/baremetal/example
library=$build/cross/cortex-m7
flags='-mcpu=cortex-m7 -mthumb -mfpu=fpv5-d16 -mfloat-abi=hard -std=c17 -Os -Wall -Wextra -ffunction-sections -fdata-sections'

mkdir -p "$library"
{
    [ -f "$library/build.ninja" ] ||
        cmake -S "$source" -B "$library" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$source/fpga/cross/cortex-m7.cmake"
    ninja -C "$library"
} >"$library.log" 2>&1 || { tail -n 20 "$library.log"; exit 1; }

# header FILE...: their bytes as inputs.h.
header() {
    printf '#include <stdint.h>\nstatic const uint8_t inputs[%d][%d] __attribute__((aligned(8))) = {\n' $# "$(wc -c <"$1")"
    for file in "$@"; do
        printf '{%s},\n' "$(od -An -v -tu1 "$file" | tr -s ' \n' ',' | sed 's/^,//; s/,$//')"
    done
    echo '};'
}

# check_model NAME ELEMENTS LOW HIGH: compiled for this machine and for the bare one, the same bytes come out.
check_model() {
    vtac compile "$models/$1.onnx" -o here.so
    exits 0
    holds "$1: two inputs" /usr/bin/python3 "$source/tests/cross/inputs.py" "$seed" "$3" "$4" "$2" \
        "$build/bin/vta-run" here.so --input 'in{}.bin' --output-dir 'here{}'
    header in1.bin in2.bin >inputs.h
    vtac compile "$models/$1.onnx" --host cortex-m7 -o model.o
    exits 0
    holds "what comes of a bare host is an object" sh -c 'arm-none-eabi-readelf -h model.o | grep -q "REL (Relocatable file)"'
    # shellcheck disable=SC2086
    holds "$1 links" arm-none-eabi-gcc $flags -DARENA_BYTES=1048576 -I. "-I$source/runtime/include" "-I$source/driver/include" \
        "-I$source/isa/include" "-I$source/isa/base/include" "$example/main.c" "$example/board.c" model.o \
        "$library/lib/libvta.a" -lm -nostartfiles --specs=nosys.specs -T "$example/mps2-an500.ld" -Wl,--gc-sections -o program
    timeout 120 qemu-system-arm -M mps2-an500 -nographic -monitor none -serial none \
        -semihosting-config enable=on,target=native -kernel program >console 2>&1 </dev/null
    status=$?
    ran="$1 under qemu-system-arm"
    cp console out
    exits 0
    for run in 1 2; do
        # the elements stand behind the header, whose length is at byte 8
        python3 -c 'import sys; b = open(sys.argv[1], "rb").read(); print(b[10 + b[8] + 256 * b[9]:].hex())' here$run/*.npy >expected
        sed -n "s/^output $run //p" console >got
        holds "$1, input $run: the same integers as here" cmp expected got
    done
    rm -rf here1 here2
    printf '%s: ' "$1"
    sed -n 's/^arena/arena taken:/p' console
    arm-none-eabi-size program model.o | sed 's/^/    /'
}
check_model words_int8_qdq 490 -123 25
check_model image_uint8_qdq 3072 0 255
printf 'runtime and driver without a system: '
arm-none-eabi-size -t "$library/lib/libvta.a" | awk 'END { print $1 + $2 " bytes in all, before the linker drops what is not called" }'
finish
