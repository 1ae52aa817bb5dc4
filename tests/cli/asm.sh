#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

cp "$source/isa/programs/tiny.vasm" t.vasm
vtac asm t.vasm -o t.bin
exits 0
silent out
silent err
holds "the file says what it is" test "$(head -c 7 t.bin)" = VTAPROG
vtac asm t.vasm -o=again.bin
exits 0
holds "the same text gives the same bytes" cmp t.bin again.bin
vtac asm t.vasm -o code.bin --binary
exits 0
holds "instructions alone take 16 bytes each" test $(($(wc -c <code.bin) % 16)) = 0

# The container again, from the container.
vtac asm t.bin -o copy.bin
exits 0
holds "a container passes through" cmp t.bin copy.bin

echo 'finish' >plain.vasm
vtac asm plain.vasm -o plain.bin --config tiny
exits 0
vtac disasm plain.bin
says out ".config tiny"
vtac asm t.vasm -o t.bin --config pynq
refused 1 "t.vasm: written for configuration 'tiny', but '--config pynq' differs in LOG_BLOCK_IN"

# A failure leaves what was there before, and no temporary file.
printf 'nop.load\n  gemm k\n' >bad.vasm
cp t.bin kept.bin
vtac asm bad.vasm -o kept.bin
refused 1 "vtac: bad.vasm:2:8: undefined name 'k'"
holds "the old file is still there" cmp t.bin kept.bin
vtac asm none.vasm -o x.bin
refused 1 "none.vasm"
vtac asm t.vasm -o no/such/folder/x.bin
refused 1 "no/such/folder/x.bin"
holds "nothing else was written" test "$(find . -name '*.bin*' | wc -l)" = 6
head -c 1000 /dev/zero >zeros.vasm
vtac asm zeros.vasm -o x.bin
refused 1 "zeros.vasm:1:1: unexpected character '\\x00'"

vtac asm t.vasm
refused 2 "vtac asm: expected '-o FILE' (try 'vtac asm --help')"
vtac asm
refused 2 "vtac asm: expected FILE"
vtac asm a b -o c
refused 2 "vtac asm: unexpected 'b'"
vtac asm t.vasm -o
refused 2 "vtac asm: option '-o' needs a value: FILE"
vtac asm t.vasm --confg tiny -o x
refused 2 "vtac asm: unknown option '--confg'; did you mean '--config'?"

# One instruction more than a program may have, through a pipe.
mkfifo many.vasm
{ echo .config tiny && yes nop.load | head -n 16777217; } >many.vasm &
vtac asm many.vasm -o x.bin
refused 1 "many.vasm:16777218:1: too many instructions; limit: 16777216"
finish
