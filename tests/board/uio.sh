#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2154  # for the inner shell; of lib.sh
#
# The driver of real boards against a virtual one: the RTL behind the same files, with memory that is not coherent.
# Arguments: VTAC SOURCE AGENT MODEL.so PROGRAM.
#   MODEL.so and SLOW.vasm are made by the caller (CMakeLists.txt) for configuration 'tiny'.
# shellcheck source=tests/board/lib.sh
. "$(dirname "$0")/lib.sh"
model=$4
slow=$5
good=$source/isa/programs/tiny.vasm

# Every device gives the same bytes: those of fsim are the reference.
reference() {
    "$vtac_program" run "$model" --device fsim --seed "$1" --output-dir "ref$1" >/dev/null
}
reference 1
reference 2
holds "other inputs give other outputs" sh -c '! cmp -s ref1/*.npy ref2/*.npy'

# ---- two inferences in a row, with different data, in one process and in two
board b --config tiny
for seed in 1 2; do
    vtac run "$model" --device uio:b --seed $seed --output-dir "got$seed" --json
    exits 0
    good_json out
    holds "the board's result is fsim's" sh -c "cmp got$seed/*.npy ref$seed/*.npy"
    holds "it counts cycles" test "$(value out cycles)" -gt 1000
done
vtac run "$model" --device uio:b --seed 1 --layers
exits 0
holds "no layer is said to take no cycles, and the row of all has those of the run" \
    awk 'BEGIN { bad = 1 } / cycles on / { run = $1 } /^all / { bad = more || $3 != run; exit } told && NF > 3 { more = 1 }
        /^layer / { told = 1 } END { exit bad }' out
vtac run "$model" --device uio:b --seed 2 --repeat 3 --output-dir again
exits 0
holds "a third run in one process gives the same" sh -c 'cmp again/*.npy ref2/*.npy'
vtac exec "$good" --device "uio:b?check=1" --json
exits 0
good_json out
"$vtac_program" exec "$good" --device tsim:tiny --json >tsim.json
holds "the cycle counter is that of tsim, but for memory that was warm" \
    python3 -c 'import json; a, b = (json.load(open(f))["cycles"]["total"] for f in ("out", "tsim.json")); assert abs(a - b) <= 64, (a, b)'

# ---- a launch is little work of the host: what it takes until the board's process has taken a command is not the host's
vtac bench launch --device uio:b --json
exits 0
good_json out
holds "a launch costs the host a twentieth of the time that passes, at its least" \
    python3 -c 'import json; b = json.load(open("out")); assert 0 < 20 * b["host_least_us"] < b["passed_us"], b'

# ---- one interrupt ends one run: the kernel's count of them is that of the runs
runs_counted() { cat b/sys/class/uio/uio0/event; }
before=$(runs_counted)
for run in 1 2 3; do
    vtac exec "$good" --device uio:b
    exits 0
    holds "interrupts after $run runs" test "$(runs_counted)" = $((before + run))
done

# ---- two processes at once queue, and neither harms the other
for seed in 1 2; do
    "$vtac_program" run "$model" --device uio:b --seed $seed --repeat 3 --output-dir "both$seed" >"both$seed.out" 2>&1 &
    eval "pid$seed=$!"
done
# shellcheck disable=SC2154  # set by eval
wait "$pid1"
holds "the first of two succeeds" test $? = 0
# shellcheck disable=SC2154
wait "$pid2"
holds "the second of two succeeds" test $? = 0
for seed in 1 2; do
    holds "the result of one of two is right" sh -c "cmp both$seed/*.npy ref$seed/*.npy"
done

# ---- who waits for another process gives up after a time
"$vtac_program" exec "$slow" --no-check --device uio:b >slow.out 2>&1 &
victim=$!
until_so "the program runs" runs b
vtac run "$model" --device 'uio:b?queue=1'
refused 1 "another process has used device 'uio:b' for 1 s; end it, or wait longer with '?queue=SECONDS'"

# ---- or when a signal or Ctrl-C on a terminal tells him to, where he has heard what he waits for
for signal in INT TERM; do
    for verb in run exec "exec --no-check"; do
        file=$good
        [ "$verb" != run ] || file=$model
        # shellcheck disable=SC2086  # words
        "$vtac_program" $verb "$file" --device uio:b >waited.out 2>waited.err &
        waiting=$!
        until_so "the board is what it waits for" has_open $waiting b/dev/uio0
        until_so "it heeds SIG$signal" heeds $waiting "$(number_of $signal)"
        kill -$signal $waiting
        wait $waiting
        holds "who waits ends as one that was interrupted" test $? = 130
        holds "and says so" grep -q "interrupted while another process used device 'uio:b'$" waited.err
        holds "in one line" test "$(wc -l <waited.err)" = 1
        holds "and nothing else" test ! -s waited.out
    done
done
cat >keyboard.py <<'X'
import os, sys
from terminal import session
stopped = False
def stop(pid, text, keyboard):
    global stopped
    if not stopped and b"to end its run" in text:
        os.write(keyboard, b"\x03")
        stopped = True
code, text = session(sys.argv[1:], watch=stop)
sys.stdout.write(text)
sys.exit(code)
X
python3 keyboard.py "$vtac_program" run "$model" --device uio:b >waited.out
holds "Ctrl-C ends who waits" test $? = 130
holds "who waits is told for what" grep -q "waiting for another process to end its run" waited.out
holds "and why he ended" grep -q "interrupted while another process used device 'uio:b'" waited.out
holds "the board is still the other's" kill -0 $victim
kill -INT $victim
wait $victim
holds "the one that ran ends when it is told to" test $? = 130

# ---- killed in mid-run: the next one finds a busy accelerator and memory that nobody holds
"$vtac_program" exec "$slow" --no-check --device uio:b >killed.out 2>&1 &
victim=$!
until_so "the program runs" runs b
kill -KILL $victim
wait $victim 2>/dev/null
holds "it was killed in mid-run" sh -c '! grep -q cycles killed.out'
vtac run "$model" --device uio:b --seed 1 --output-dir after
exits 0
holds "a clean run follows a killed one" sh -c 'cmp after/*.npy ref1/*.npy'

# ---- Ctrl-C and SIGTERM: the accelerator is idle at once
for signal in INT TERM; do
    "$vtac_program" exec "$slow" --no-check --device uio:b >stopped.out 2>stopped.err &
    victim=$!
    until_so "the program runs" runs b
    until_so "it heeds SIG$signal" heeds $victim "$(number_of $signal)"
    kill -$signal $victim
    wait $victim
    holds "it ends as one that was interrupted" test $? = 130
    holds "and says so" grep -q "interrupted: device 'uio:b' was stopped and reset" stopped.err
    holds "the accelerator is idle" rests b
done

# ---- a time-out
vtac exec "$slow" --no-check --device uio:b --timeout 1
refused 1 "timeout: device 'uio:b' did not finish within 1 s and was reset"
vtac exec "$good" --device uio:b
exits 0

# ---- contiguous memory
cat >large.vasm <<'X'
.config tiny
.data big inp 17500000
finish
X
vtac exec large.vasm --no-check --device uio:b
exits 1
says err "bytes of contiguous memory are needed, 67"
says err "are available in one piece"
says err "larger udmabuf0=BYTES"

# ---- the wrong bitstream, a wrong name
end "$board_pid"
holds "its files are gone" test ! -e b/dev/uio0
vtac exec "$good" --device uio:b
refused 1 "'vtac board --dir b' makes one"
board p --config pynq
vtac run "$model" --device uio:p
refused 1 "the program was made for configuration 'tiny', but device 'uio:p' differs in LOG_BLOCK_IN 2 != 4"
says err "load the hardware of 'tiny' there, or make the program again with '--config pynq'"
vtac exec "$good" --device "uio:p?name=npu"
refused 1 "no UIO device is called 'npu' (there is 'vta'); 'sudo vta-load'"
vtac exec "$good" --device "uio:p?memory=udmabuf7"
refused 1 "there is no contiguous memory 'udmabuf7'"
bytes=$(cat p/sys/class/u-dma-buf/udmabuf0/size)
coherent=$(cat p/sys/class/u-dma-buf/udmabuf0/dma_coherent)
echo 1 >p/sys/class/u-dma-buf/udmabuf0/dma_coherent # of other memory, no more is used than the caches can be told of
echo 4611686018427387904 >p/sys/class/u-dma-buf/udmabuf0/size
vtac exec "$good" --device uio:p
refused 1 "cannot map 4611686018427387904 bytes of 'p/dev/udmabuf0': Cannot allocate memory"
echo "$bytes" >p/sys/class/u-dma-buf/udmabuf0/size
echo "$coherent" >p/sys/class/u-dma-buf/udmabuf0/dma_coherent
rm p/sys/class/uio/uio0/maps/map0/size
vtac exec "$good" --device uio:p
refused 1 "'p/dev/uio0' has no register page (p/sys/class/uio/uio0/maps/map0/size)"
vtac board --dir p
refused 1 "another board is served in 'p'"
end "$board_pid"

# ---- faults of the hardware, in the first run alone or always
board f --config tiny --fault bus@1
vtac exec "$good" --device uio:f
exits 1
says err "bus error on device 'uio:f'"
one_line err
for seed in 1 2; do
    vtac run "$model" --device uio:f --seed $seed --output-dir "bus$seed"
    exits 0
    holds "right after a bus error" sh -c "cmp bus$seed/*.npy ref$seed/*.npy"
done
end "$board_pid"
board h --config tiny --fault hang@1
vtac exec "$good" --device uio:h
refused 1 "device 'uio:h' has stopped in the middle of a run: its cycle counter has stood at"
vtac exec "$good" --device uio:h
exits 0
end "$board_pid"
board s --config tiny --fault stuck
vtac exec "$good" --device uio:s
exits 1
vtac exec "$good" --device uio:s
refused 1 "stays busy after a soft reset"
end "$board_pid"
board r --config tiny --fault hash
vtac exec "$good" --device uio:r
refused 1 "the hardware was built by another release"
end "$board_pid"
board d --config tiny --fault dead
vtac exec "$good" --device uio:d
refused 1 "the accelerator is not loaded"
end "$board_pid"
board i --config tiny --fault irq
for seed in 1 2; do
    vtac run "$model" --device uio:i --seed $seed --output-dir "irq$seed"
    exits 0
    holds "right without interrupts" sh -c "cmp irq$seed/*.npy ref$seed/*.npy"
done
end "$board_pid"
board c --config tiny --coherent
vtac run "$model" --device uio:c --seed 2 --output-dir coherent
exits 0
holds "right with coherent memory" sh -c 'cmp coherent/*.npy ref2/*.npy'
end "$board_pid"

# ---- a kernel without u-dma-buf: the memory is the second map of the UIO device
board m --config tiny --plain --memory 16 --address 0x7ffff000
for seed in 1 2; do
    "$vtac_program" run "$model" --device uio:m --seed $seed --repeat 2 --output-dir "plain$seed" >"plain$seed.out" 2>&1 &
    eval "pid$seed=$!"
done
for seed in 1 2; do
    eval "wait \"\$pid$seed\""
    holds "one of two succeeds" test $? = 0
    holds "right with a map of UIO" sh -c "cmp plain$seed/*.npy ref$seed/*.npy"
done
vtac doctor --device uio:m
exits 0
says out "16384 KiB at 0x7ffff000, 16384 KiB free in one piece, copied for each run"
vtac exec "$good" --device "uio:m?memory=map1&check=1"
exits 0
vtac exec large.vasm --no-check --device uio:m
exits 1
says err "bytes of contiguous memory are needed, 16"
vtac exec "$good" --device "uio:m?memory=udmabuf0"
refused 1 "there is no contiguous memory 'udmabuf0'"
vtac board --dir m
refused 1 "another board is served in 'm'"
end "$board_pid"
holds "its folder is gone" test ! -e m

# ---- the verb's own mistakes
for address in 1 0x1001 -4096 4096k 0x10000000000 ''; do
    vtac board --dir x --address "$address"
    refused 2 "'--address $address': expected a multiple of 4,096 below 2^40"
done
vtac board
refused 2 "'--dir DIR' says where its files are made"
vtac board --dir x --fault smoke
refused 2 "'--fault smoke': known are none (all is well), bus"
vtac board --dir x --fault bus@0
refused 2 "expected the number of a run, from 1"
vtac board --dir x --memory 0
refused 2 "expected MiB from 1 to 1024"
finish
