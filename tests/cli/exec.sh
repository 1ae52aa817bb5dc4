#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

cat >sum.vasm <<'END'
.config tiny
.data a acc 2 = { for i in 8 { i } }
.data b acc 2 = fill(100)
.data c out 2
.uops add { 0, 2 }
load.uop add
load.acc 0, a
load.acc 2, b
alu.add add : 2 (dst 1, src 1) [push next]
[pop prev] store 0, c
finish
.expect c = { for i in 8 { 100 + i } }
END
vtac exec sum.vasm --device fsim
exits 0
silent err
says out "program   sum.vasm: 6 instructions for 'tiny'"
says out "device    fsim:tiny"
says out "expect    c: ok, 8 values"
says out "fetch     6 instructions, 96 bytes"
says out "compute   5 instructions, 2 alu tiles, 4 uop bytes, 64 acc bytes"
says out "store     1 instructions, 8 out bytes"
says out "time      "
printf '\033' >escape
holds "no colour in a file" sh -c '! grep -qf escape out'
vtac exec sum.vasm
exits 0
vtac asm sum.vasm -o sum.bin
vtac exec sum.bin --device fsim:tiny
exits 0
vtac exec sum.vasm --device 'fsim?strict=1' --timeout 20
exits 0
says out "device    fsim:tiny?strict=1"
vtac exec sum.vasm --json
exits 0
good_json out
says out '"ok": true'
says out '"store_out_bytes": 8'

# A configuration of one's own travels with the program, as text and as a file; '--config FILE' may say the same again,
# with other timing of the simulated memory.
vtac config show tiny
sed 's/"NAME" : "tiny"/"NAME" : "mine"/; s/"LOG_BLOCK_IN" : 2/"LOG_BLOCK_IN" : 3/' out >mine.json
holds "the configuration was changed twice" test "$(diff out mine.json | grep -c '^>')" = 2
{ printf '.config '; cat mine.json; sed 1d sum.vasm; } >mine.vasm
sed 1d sum.vasm >none.vasm
vtac exec mine.vasm
exits 0
says out "program   mine.vasm: 6 instructions for 'mine'"
says out "device    fsim:mine"
says out "expect    c: ok, 8 values"
vtac asm mine.vasm -o mine.bin
vtac exec mine.bin --device 'fsim?strict=1'
exits 0
says out "device    fsim:mine?strict=1"
vtac asm none.vasm -o none.bin --config ./mine.json
exits 0
vtac disasm mine.bin -o mine.txt
vtac disasm none.bin -o none.txt
holds "the text's configuration and the option's give the same program" cmp mine.txt none.txt
vtac exec mine.bin --config ./mine.json
exits 0
vtac exec mine.bin --device fsim:./mine.json
exits 0
vtac exec mine.vasm --config tiny
refused 1 "mine.vasm: written for configuration 'mine', but '--config tiny' differs in LOG_BLOCK_IN 3 != 2"
vtac exec mine.vasm --device fsim:tiny
exits 1
says err "the program was made for configuration 'mine', but device 'fsim:tiny' differs in LOG_BLOCK_IN"

# A wrong element is named: index, expected, got.
sed 's/100 + i/100 + i + i \/ 6/' sum.vasm >wrong.vasm
vtac exec wrong.vasm
exits 1
says out "expect    c: wrong at index 6: expected 107, got 106 (2 of 8 values differ)"
vtac exec wrong.vasm --json
exits 1
good_json out
says out '"index": 6, "expected": 107, "got": 106'
says out '"ok": false'

# Memory in and out.
printf '\001\000\000\000\002\000\000\000' >in.bin
sed '/^.expect/d' sum.vasm >free.vasm
vtac exec free.vasm --mem in.bin@a --dump c=out.bin --show c
exits 0
says out ".expect c = {"
says out "    101, 102, 102, 103, 104, 105, 106, 107"
says out "expect    nothing: the program has no '.expect'"
holds "the dump is right" test "$(od -An -tu1 out.bin | tr -s ' ')" = " 101 102 102 103 104 105 106 107"
vtac exec free.vasm --mem in.bin@q
refused 1 "'q' is neither an address nor a symbol of the program"
head -c 33 /dev/zero >long.bin
vtac exec free.vasm --mem long.bin@a
refused 1 "33 bytes do not fit in 'a' of 32"
vtac exec free.vasm --dump c=no/folder/x
refused 1 "no/folder/x"
vtac exec free.vasm --dump q=x
refused 1 "'q' is neither an address nor a symbol of the program"
vtac exec free.vasm --dump c:3=x
refused 2 "'--dump c:3=x': expected ADDR:BYTES=FILE or SYMBOL=FILE"
vtac exec free.vasm --dump c
refused 2 "'--dump c': expected ADDR:BYTES=FILE or SYMBOL=FILE"
vtac exec free.vasm --show q
refused 1 "'--show q': the program has no such symbol"

# Programs that cannot run.
vtac exec sum.vasm --device fsim:pynq
exits 1
one_line err
says err "differs in LOG_BLOCK_IN"
vtac exec sum.vasm --device warp
refused 1 "unknown device 'warp'"
vtac exec sum.vasm --device fsim:tinny
exits 1
one_line err
says err "tinny"
vtac exec none.vasm
refused 1 "none.vasm"
vtac exec none.vasm --json
exits 1
good_json err
silent out
sed 's/load.acc 2, b/load.acc 2, b, 3/' sum.vasm >beyond.vasm
vtac exec beyond.vasm
refused 1 "vtac: beyond.vasm:8: instruction 2 (load)"
sed 's/add : 2 (dst 1/add : 2 (dst 127/' sum.vasm >range.vasm
vtac exec range.vasm
refused 1 "vtac: range.vasm:9: instruction 3 (alu)"
sed 's/(dst 1/(dst 127/;s/: 2/: 3/' sum.vasm >range.vasm
vtac exec range.vasm --no-check
exits 1
one_line err
says err "vtac: range.vasm:9: "
says err "instruction 3"

# Usage.
vtac exec
refused 2 "vtac exec: expected PROGRAM"
vtac exec a b
refused 2 "vtac exec: unexpected 'b'"
vtac exec sum.vasm --devcie fsim
refused 2 "vtac exec: unknown option '--devcie'; did you mean '--device'?"
vtac exec sum.vasm --timeout soon
refused 2 "'--timeout soon': expected a number of seconds above 0"
vtac exec sum.vasm --insn-addr 64
refused 2 "'--insn-addr' goes with '--raw'"

# A run that takes too long, and one that is interrupted: the end is quick, and says so.
cat >slow.vasm <<'END'
.data x inp 1
.data y wgt 1
.uops k { for i in 8 { i, 0, 0 } }
load.inp 0, x
load.wgt 0, y [push next]
load.uop k
[pop prev] gemm.init k : 16383 x 16383
for i in 500 { gemm k : 16383 x 16383 }
finish
END
vtac exec slow.vasm --timeout 0.2
refused 1 "timeout: device 'fsim:pynq' did not finish within 0.2 s and was reset"
ran="vtac exec slow.vasm, interrupted"
for signal in INT TERM; do
    "$vtac_program" exec slow.vasm >out 2>err &
    child=$!
    until_so "it is at work" at_work $child
    until_so "it heeds SIG$signal" heeds $child "$(number_of $signal)"
    before=$(($(ticks $child) + $(all_ticks)))
    kill -$signal $child
    wait $child
    status=$?
    after=$(all_ticks)
    refused 130 "interrupted: device 'fsim:pynq' was stopped and reset"
    holds "the end took less than 5 seconds of the processor after SIG$signal" test $((after - before)) -le 500
    ran="vtac exec slow.vasm, interrupted"
done
finish
