#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

vtac check "$source/isa/programs/matmul.vasm"
exits 0
says out "matmul.vasm: ok, 38 instructions for 'pynq'"
silent err
vtac check "$source/isa/programs/matmul.vasm" --json
exits 0
good_json out
says out '"ok": true'
vtac asm "$source/isa/programs/matmul.vasm" -o m.bin
vtac check m.bin
exits 0

printf '.data a inp 4\nload.inp 0, a, 5\nfinish\n' >range.vasm
vtac check range.vasm
refused 1 "vtac: range.vasm:2: instruction 0 (load): "
vtac check range.vasm --json
exits 1
good_json out
says out '"instruction": 0'
says out '"ok": false'
printf '.uops k { 0 }\nload.uop k\ngemm.reset k [push next]\nfinish\n' >left.vasm
vtac check left.vasm
exits 1
one_line err
says err "left.vasm:"
says err "C2S"
printf '[pop prev] finish\n' >dead.vasm
vtac check dead.vasm
exits 1
one_line err
says err "dead.vasm:1: instruction 0 (finish)"
: >empty.vasm
vtac check empty.vasm
refused 1 "the program has no instructions; it needs at least 'finish'"
vtac check none.vasm --json
exits 1
good_json err
silent out

printf 'load.inp 0, 256, 4\nload.uop 0, 2048, 1\nfinish\n' >raw.vasm
vtac asm raw.vasm --binary -o raw.bin
printf '\000\000\000\000' >uop.bin
vtac check --raw raw.bin --mem zero:64@0x1000 --mem uop.bin@0x2000
exits 0
vtac check --raw raw.bin --mem zero:63@0x1000
exits 1
says err "raw.bin: instruction 1 (load)"
vtac check --raw raw.bin --mem zero:64@0x1000 --mem uop.bin@0x2040
exits 1
vtac check --raw raw.bin --mem none.bin@0x1000
refused 1 "none.bin"
vtac check --raw raw.bin --mem nonsense
refused 2 "'--mem nonsense': expected FILE@ADDR, FILE@SYMBOL or zero:BYTES@ADDR"
vtac check --raw raw.bin --mem zero:0@0x1000
refused 2 "expected a number of bytes after 'zero:'"
vtac check --raw raw.bin --mem uop.bin@12q
refused 1 "'12q' is neither an address nor a symbol of the program"
vtac check --raw raw.bin --insn-addr 0x1001
refused 1 "'--insn-addr 0x1001': expected a multiple of 64, not 0"
vtac check
refused 2 "vtac check: expected PROGRAM"
finish
