#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

for name in tiny matmul; do
    vtac asm "$source/isa/programs/$name.vasm" -o "$name.bin"
    vtac disasm "$name.bin" -o "$name.vasm"
    exits 0
    silent out
    vtac asm "$name.vasm" -o "$name.2.bin"
    exits 0
    vtac disasm "$name.2.bin"
    holds "$name: the text of the text is the text" cmp out "$name.vasm"
    vtac asm "$source/isa/programs/$name.vasm" --binary -o "$name.code"
    vtac asm "$name.vasm" --binary -o "$name.2.code"
    holds "$name: the same bits" cmp "$name.code" "$name.2.code"
done
vtac disasm tiny.bin
says out "[pop prev] gemm 0..6"
says out "5 dot"
vtac disasm --raw tiny.code --config tiny
exits 0
says out ".config tiny"
says out "finish"
vtac disasm --raw --config tiny "$source/isa/programs/tiny.vasm"
exits 1
says err "expected one or more instructions of 16 bytes"

# Damage is refused with the place.
cp tiny.bin torn.bin
printf 'X' | dd of=torn.bin bs=1 seek=100 conv=notrunc 2>/dev/null
vtac disasm torn.bin
refused 1 "torn.bin: byte 24: the checksum does not match; the file is damaged"
head -c 50 tiny.bin >short.bin
vtac disasm short.bin
refused 1 "short.bin: byte 16: the file should have"
vtac disasm none.bin
refused 1 "none.bin"
vtac disasm tiny.bin -o no/folder/x
refused 1 "no/folder/x"
vtac disasm
refused 2 "vtac disasm: expected PROGRAM|MODEL.so"
vtac disasm --rew tiny.bin
refused 2 "vtac disasm: unknown option '--rew'; did you mean '--raw'?"
finish
