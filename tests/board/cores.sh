#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # of lib.sh
#
# A virtual board with two accelerators: the driver counts them, pictures run on both beside each other, twice with other data, and the
# integers are fsim's; the doctor looks at each; one that is not there, or does not answer, is named.
# Arguments: VTAC SOURCE AGENT MODEL.so PROGRAM.
# shellcheck source=tests/board/lib.sh
. "$(dirname "$0")/lib.sh"
model=$4
good=$source/isa/programs/tiny.vasm
seed=$("$here/../lib/seed.sh" board_cores)

"$vtac_program" config show tiny | sed 's/"CLOCK_MHZ"/"CORES" : 2,\n  "CLOCK_MHZ"/' >two.json
python3 - "$seed" <<'END'
import random, struct, sys
draw = random.Random(int(sys.argv[1]))
for i in range(6):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 49, 10), }"
    head += " " * (117 - len(head)) + "\n"
    data = struct.pack("<490f", *[draw.uniform(-1, 1) for _ in range(490)])
    open(f"{i}.npy", "wb").write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + data)
END
# counted CORE: interrupts of a core so far.
counted() { cat "b/sys/class/uio/uio$1/event"; }

board b --config two.json
for first in 0 3; do # three are no multiple of two
    pictures="--input $first.npy --input $((first + 1)).npy --input $((first + 2)).npy"
    # shellcheck disable=SC2086
    vtac run "$model" $pictures --device fsim --output-dir "ref$first"
    exits 0
    before=$(counted 1)
    # shellcheck disable=SC2086
    vtac run "$model" $pictures --device uio:b --output-dir "got$first" --json
    exits 0
    good_json out
    holds "two cores were counted" test "$(value out cores)" = 2
    holds "seed $seed: the integers of fsim" diff -r "ref$first" "got$first"
    holds "each core has run" python3 -c 'import json; assert {e["core"] for e in json.load(open("out"))["each"]} == {0, 1}'
    holds "the second core has given its own interrupts" test "$(counted 1)" -gt "$before"
done
holds "other pictures have other results" sh -c '! cmp -s ref0/*0*.npy ref3/*0*.npy'
vtac run "$model" --device uio:b --cores 2 --repeat 2 --json
exits 0
holds "as many as are asked for" test "$(value out cores)" = 2

# One core is what it was.
before=$(counted 1)
# shellcheck disable=SC2086
vtac run "$model" $pictures --device uio:b --cores 1 --output-dir one
exits 0
holds "seed $seed: the integers of one core" diff -r ref3 one
vtac exec "$good" --device uio:b
exits 0
holds "the second core has rested" test "$(counted 1)" = "$before"

# More than there are; one whose node has gone.
vtac run "$model" --device uio:b --cores 4
refused 1 "no UIO device is called 'vta2' (there is 'vta', 'vta1'); 'sudo vta-load'"

vtac doctor --device uio:b
exits 0
says out "b/dev/uio0 is 'vta', b/dev/uio1 is 'vta1'"
says out "b/dev/uio0, b/dev/uio1 and the memory can be opened"
says out "products with different data are right on each of 2 cores"
says out "in force"
chmod 000 b/dev/uio1.irq
if [ "$(id -u)" != 0 ]; then
    vtac doctor --device uio:b
    exits 1
    says out "cannot open 'b/dev/uio1.irq'"
fi
chmod 600 b/dev/uio1.irq
echo gone >b/sys/class/uio/uio1/name
vtac doctor --device uio:b
exits 0
says out "products with different data are right
"
vtac run "$model" --device uio:b --cores 2
refused 1 "no UIO device is called 'vta1'"
echo vta1 >b/sys/class/uio/uio1/name

# Two processes beside each other, both on both cores.
for first in 0 3; do
    pictures="--input $first.npy --input $((first + 1)).npy --input $((first + 2)).npy"
    # shellcheck disable=SC2086
    "$vtac_program" run "$model" $pictures --device uio:b --output-dir "beside$first" >"beside$first.out" 2>&1 &
    eval "pid$first=$!"
done
for first in 0 3; do
    eval "wait \"\$pid$first\""
    holds "one of two processes succeeds" test $? = 0
    holds "seed $seed: the integers of fsim in each" diff -r "ref$first" "beside$first"
done

# A killed board's files make room for the next.
kill -KILL "$board_pid"
wait "$board_pid" 2>/dev/null
board b --config tiny
vtac run "$model" --device uio:b --cores 2
refused 1 "no UIO device is called 'vta1'"
end "$board_pid"
holds "its folder is gone" test ! -e b

# A fault of the second core alone is told as its: the first run of each core has it, and the first core's is used up.
board f --config two.json --fault bus@1
vtac exec "$good" --device uio:f
exits 1
rm f/sys/bus/platform/devices/amba:vta-clock/set_rate # so that no slower clock is tried
vtac doctor --device uio:f
exits 1
says out "core 1: bus error on device 'uio:f"
end "$board_pid"

# Without u-dma-buf the memory is a map of the first core, for both.
board m --config two.json --plain --memory 16 --address 0x7ffff000
# shellcheck disable=SC2086
vtac run "$model" $pictures --device uio:m --output-dir plain
exits 0
holds "seed $seed: right with a map of UIO" diff -r ref3 plain
end "$board_pid"
holds "its folder is gone" test ! -e m
finish
