#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# Every host that `vtac targets` lists makes a shared object for its machine, in its ABI, that needs nothing but libc
# and libm; and what the hosts that a user describes are refused for.
# Arguments: VTAC SOURCE MODELS, the suite's own networks.
models=$3
. "$(dirname "$0")/../cli/lib.sh"
model=$models/words_int8_qdq.onnx

# machine_of TRIPLE: what readelf is to say of its machine and ABI.
machine_of() {
    case $1 in
    armv7a-*-gnueabihf) echo 'ARM hard-float ABI' ;;
    aarch64-*) echo 'AArch64' ;;
    riscv64-*) echo 'RISC-V RVC, double-float ABI' ;;
    x86_64-*) echo 'X86-64' ;;
    *) echo 'unknown' ;;
    esac
}

# check_object HOST TRIPLE: x.so is for that machine and complete.
check_object() {
    readelf -hdW x.so >elf
    expected=$(machine_of "$2")
    holds "$1: machine is ${expected%% *}" grep -q "Machine: .*${expected%% *}" elf
    case $expected in *' '*) holds "$1: flags say ${expected#* }" grep -q "Flags: .*${expected#* }" elf ;; esac
    sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' elf >needed
    holds "$1: only libc and libm are needed" sh -c '! grep -vx "lib[cm]\.so\.6" needed'
    # every name that is not defined is one of a library that is noted
    readelf --dyn-syms -W x.so | awk '$7 == "UND" && $8 != "" { print $8 }' >undefined
    holds "$1: names without a library" sh -c 'test ! -s undefined || test -s needed'
    holds "$1: no name of the compiler's own library" sh -c '! grep -E "^__" undefined'
}

vtac targets --json
exits 0
good_json out
python3 -c 'import json; [print(t["name"], t["triple"]) for t in json.load(open("out"))]' >rows
for name in host pynq ultra96 rasp3b rasp4 rk3399 x86-64-v3 x86-64-v4 riscv64; do
    holds "'$name' is a target" grep -q "^$name " rows
done
while read -r name triple; do
    case $triple in *-none-* | wasm32-*) continue ;; esac # cross_baremetal, bindings_js and bindings_page run what comes of these
    for target in llvm vta; do
        vtac compile "$model" --host "$name" --target "$target" -o x.so
        exits 0
        check_object "$name $target" "$triple"
    done
done <rows

# The same processor described in words makes the same object, but for the texts that name it.
vtac compile "$model" --host pynq -o named.so
vtac compile "$model" --host armv7a-linux-gnueabihf,cpu=cortex-a9,features=+neon -o x.so
exits 0
check_object 'described pynq' armv7a-unknown-linux-gnueabihf
for file in named x; do
    objcopy -I elf32-little -O binary --only-section=.text $file.so $file.text
done
holds "a name and its description: the same code" cmp named.text x.text
vtac compile "$model" --host x86_64-linux-gnu,features=+avx2,+fma,cpu=x86-64-v2 -o x.so
exits 0
check_object 'described x86' x86_64-pc-linux-gnu
holds "what a described processor has is noted" grep -q 'sse4.2,avx,avx2,fma' x.so

# Refused, each in one line, with nothing written.
rm -f x.so
vtac compile "$model" --host pink -o x.so
refused 2 "unknown host 'pink'; known are host, pynq,"
vtac compile "$model" --host x86_64-linux-gnu,cpu=i960 -o x.so
refused 2 "'i960' is not a recognized processor for this target"
vtac compile "$model" --host aarch64-linux-gnu,features=+warp -o x.so
refused 2 "'+warp' is not a recognized feature for this target"
vtac compile "$model" --host aarch64-linux-gnu,mcpu=cortex-a72 -o x.so
refused 2 "is not TRIPLE,cpu=NAME,features=+A,-B"
vtac compile "$model" --host vax-dec-ultrix -o x.so
exits 2
one_line err
vtac compile "$model" --host riscv64-linux-gnu -o x.so
refused 1 "lacks arithmetic; add features, as '+neon' for ARM or '+m,+f,+d' for RISC-V"
holds "nothing half-written" sh -c '! ls x.so* 2>/dev/null | grep .'
finish
