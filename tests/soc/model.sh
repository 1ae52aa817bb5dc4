#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# model.sh VTAC SOURCE BUILD VTA_PARAMS HEADERS [--sdram | --both] [MODEL [CONFIG]]: a network of the zoo, int8, on the whole machine of hw/soc: processor,
# caches, serial line and accelerator simulated by Verilator, program and answers in C and over the line. For two inputs the bytes are
# those of this machine's kernels and fsim. Prints what the machine printed: class and cycles of each step, cycles and instructions from
# reset on. A simulator is built once, beside the build. --sdram: code and data are in an SDRAM of 16 bits behind its controller; --both: one after the other.
# KEEP=FOLDER keeps program, image, and where the core was every 64 cycles.
build=$3
params=$4
headers=$5
memories=plain
case ${6:-} in
--sdram) memories=sdram ;;
--both) memories='plain sdram' ;;
esac
case ${6:-} in --*) set -- "$1" "$2" "$3" "$4" "$5" "${7:-}" "${8:-}" ;; esac
model=${6:-tiny_kws}
config=${7:-tiny}
. "$(dirname "$0")/../cli/lib.sh"
case $config in */*) [ -f "$config" ] || config=$OLDPWD/$config ;; esac
seed=$("$source/tests/lib/seed.sh" soc_model)
echo "seed $seed"
board=$source/runtime/baremetal
library=$build/cross/rv32im
simulator=$build/soc/$(basename "$config" .json)
flags='-mabi=ilp32 -mstrict-align --specs=picolibc.specs -std=gnu17 -O2 -Wall -Wextra -Werror -ffunction-sections -fdata-sections'
folders="-I. -I$source/runtime/include -I$source/driver/include -I$source/isa/include -I$source/isa/base/include"

mkdir -p "$library" "$simulator"
{
    [ -f "$library/build.ninja" ] ||
        cmake -S "$source" -B "$library" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$source/fpga/cross/rv32im.cmake"
    ninja -C "$library"
} >"$library.log" 2>&1 || { tail -n 20 "$library.log"; exit 1; }

own=$("$params" verilator "$config")
case $own in
*-GLOG_BUS_BYTES=3*) own="$own -GSDRAM=1" ;;
*) [ "$memories" = plain ] || { echo "model.sh: the SDRAM's controller has a bus of 64 bits, '$config' another" >&2; exit 1; } ;;
esac
# shellcheck disable=SC2046,SC2086
verilator --cc --exe --build -j 2 -O3 --x-assign fast --x-initial fast --no-timing -Wno-fatal -Wno-lint -Wno-style -CFLAGS -O2 \
    "-I$source/hw/include" "-I$headers" $own --top-module soc_top_tb --Mdir "$simulator" \
    "$source"/hw/soc/*.v "$source/hw/soc/tb/soc_top_tb.v" "$source/hw/soc/tb/soc_sdram_cells.v" $(find "$source/hw/rtl" -name '*.v' | sort) "$source/tests/soc/tick.cpp" \
    >"$simulator.log" 2>&1 || { tail -n 20 "$simulator.log"; exit 1; }

vtac zoo list
dims=$(awk -v model="$model" '$1 == model { gsub("x", " ", $2); print $2 }' out)
vtac zoo "$model" --int8 -o floats.onnx
exits 0
# as small devices have it: the program gives and gets integers, whose scale it knows; conversions without an FPU cost more than the network
vtac convert floats.onnx --integers -o net.onnx
exits 0
says err 'is i8 now'
# kernels without fused multiplications, which the machine's processor does not have: floats are the same to the bit, too
vtac compile net.onnx --host x86-64-v2 --target vta --config "$config" --offload all -o net.so
exits 0
vtac compile net.onnx --host rv32im --target vta --config "$config" --offload all -o net.o
exits 0
holds "two inputs" /usr/bin/python3 "$source/tests/cross/inputs.py" "$seed" -128 127 "i8 $dims" \
    "$build/bin/vta-run" net.so --device fsim --input 'in{}.npy' --output-dir 'here{}'
{
    printf '#include <stdint.h>\nstatic const uint8_t inputs[2][%d] __attribute__((aligned(8))) = {\n' "$(wc -c <in1.bin)"
    for run in 1 2; do
        printf '{%s},\n' "$(od -An -v -tu1 in$run.bin | tr -s ' \n' ',' | sed 's/^,//; s/,$//')"
    done
    echo '};'
} >inputs.h
# shellcheck disable=SC2086
holds "the board's part" riscv64-unknown-elf-gcc $flags $folders -march=rv32im_zicsr -c "$board/soc/board.c" -o board.o
# shellcheck disable=SC2086
holds "the program" riscv64-unknown-elf-gcc $flags $folders -march=rv32im -DARENA_BYTES=1048576 "$board/soc/classify.c" \
    "$board/soc/memory.c" board.o net.o "$library/lib/libvta.a" -lm -nostartfiles -T "$board/soc/soc.ld" \
    -Wl,--gc-sections -Wl,--no-warn-rwx-segments -o program
riscv64-unknown-elf-objcopy -O binary program program.bin
/usr/bin/python3 - "$("$params" verilator "$config" | sed -n 's/^-GLOG_BUS_BYTES=//p')" <<'END'
import sys

beat = 1 << int(sys.argv[1])
data = open("program.bin", "rb").read()
with open("image", "w") as file:
    for at in range(0, len(data), beat):
        file.write(data[at : at + beat].ljust(beat, b"\0")[::-1].hex() + "\n")
END
[ -s image ] || { finish; exit 1; }
# run_from MEMORY: the program, from there
run_from() {
    case $1 in plain) kind= ;; *) kind=+$1 ;; esac
    # shellcheck disable=SC2086
    "$simulator/Vsoc_top_tb" +image=image $kind +cycles=4000000000 ${KEEP:++samples=samples} >console 2>err
    status=$?
    ran="$model on the machine, memory: $1"
    exits 0
    for run in 1 2; do
        # the elements stand behind the header, whose length is at byte 8
        python3 -c 'import sys; b = open(sys.argv[1], "rb").read(); print(b[10 + b[8] + 256 * b[9]:].hex())' here$run/*.npy >expected
        sed -n "s/^output $run //p" console >got
        holds "input $run: the bytes of this machine" cmp expected got
    done
    holds "it ends" grep -q '^done' console
    grep -v -e '^output' -e Verilog console
    awk -v row="$model on $(basename "$config" .json)${kind:+ with $1}" '/ready after/ { ready = $(NF - 1) } /^input 2/ { cycles = $(NF - 1); second = 1 }
        second && $1 == "host" { host += $2 } second && $1 == "accelerator" { own += $4 }
        END { printf "%s: %d cycles, %d of them layers of the host, %d of the accelerator itself; ready after %d\n", row, cycles, host, own, ready }' console
}
for memory in $memories; do run_from "$memory"; done
[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && cp program image samples console "$KEEP/"; }
finish
