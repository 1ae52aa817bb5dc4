#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Raw streams: instructions alone with absolute addresses, as another VTA tool chain would make them.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# Addresses in elements of what is loaded: uop 4 bytes, acc 64, out 16 at pynq.
cat >raw.vasm <<'END'
load.uop 0, 0x100000 / 4, 1
load.acc 0, 0x100040 / 64, 1
load.acc 1, 0x100080 / 64, 1
alu.add 0 [push next]
[pop prev] store 0, 0x200010 / 16, 1
finish
END
vtac asm raw.vasm --binary -o raw.bin
exits 0

# words FACTOR: FACTOR times 1 to 16, as 32-bit words.
words() {
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
        # shellcheck disable=SC2059  # the format is an octal escape
        printf "\\$(printf %03o $(($1 * i)))\\000\\000\\000"
    done
}
# One image: a micro-op (dst 0, src 1: bit 11 on at pynq), 60 bytes of nothing, then 16 and 16 numbers.
{
    printf '\000\010\000\000'
    head -c 60 /dev/zero
    words 1
    words 3
} >image.bin
wanted=" 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60 64"
for where in "--insn-addr 0x1000" "--insn-addr 0x1000 --device fsim" "--config pynq" "--device fsim:pynq?strict=1"; do
    rm -f result.bin
    # shellcheck disable=SC2086  # the words are meant to be split
    vtac exec --raw raw.bin --mem image.bin@0x100000 --dump 0x200010:16=result.bin $where
    exits 0
    says out "program   raw.bin: 6 instructions for 'pynq'"
    holds "the sums are right" test "$(od -An -v -tu1 -w16 result.bin | tr -s ' ')" = "$wanted"
done
vtac exec --raw raw.bin --mem image.bin@0x100000 --mem zero:64@0x200000 --json
exits 0
good_json out

# In pieces that touch, and with the output named as memory.
dd if=image.bin of=part1.bin bs=100 count=1 2>/dev/null
dd if=image.bin of=part2.bin bs=100 skip=1 2>/dev/null
vtac exec --raw raw.bin --mem part2.bin@0x100064 --mem part1.bin@1048576 --dump 0x200010:16=result.bin
exits 0
holds "the sums are right" test "$(od -An -v -tu1 -w16 result.bin | tr -s ' ')" = "$wanted"

vtac exec --raw raw.bin --mem image.bin@0x100000
exits 1
one_line err
says err "raw.bin: "
says err "instruction 4 (store unit)"
vtac exec --raw raw.bin --mem image.bin@0
refused 1 "address '0' is below 64, where no memory can be"
vtac exec --raw raw.bin --mem zero:16@0xffffffffffffffff
refused 1 "do not fit in 64 bits"
vtac exec --raw raw.bin --dump 0x1000:0=x
refused 2 "expected a number of bytes up to"
vtac exec --raw raw.bin --insn-addr 12
refused 1 "'--insn-addr 12': expected a multiple of 64, not 0"
head -c 40 raw.bin >torn.bin
vtac exec --raw torn.bin
refused 1 "torn.bin: 40 bytes; expected one or more instructions of 16 bytes"
# 64 bytes of noise, two from each seed.
n=0
while [ $n -lt 32 ]; do
    seed=$("$source/tests/lib/seed.sh" "cli_raw $n")
    # shellcheck disable=SC2059  # the format is two octal escapes
    printf "\\$(printf %03o $((seed / 65536)))\\$(printf %03o $((seed / 256 % 256)))"
    n=$((n + 1))
done >noise.bin
vtac exec --raw noise.bin --timeout 5
exits 1
one_line err
finish
