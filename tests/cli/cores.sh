#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# vtac run on several cores: the integers of one core; the same cycles twice; and of a memory that is too slow for all, each core gets
# its share: no less than a core of its own on a memory of that share.
. "$(dirname "$0")/lib.sh"

seed=$("$(dirname "$0")/../lib/seed.sh" cli_cores)

# number FILE KEY
number() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"; }
# each FILE: cores and cycles of the pictures, without the clock on the wall.
each() { python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(r["cycles"], r["cycles_alone"], r["each"])' "$1"; }
# about A B PERCENT: A is B, more or less.
about() { python3 -c 'import sys; a, b, p = map(float, sys.argv[1:]); sys.exit(abs(a - b) > b * p / 100)' "$@"; }

python3 - "$seed" <<'END'
import random, struct, sys
draw = random.Random(int(sys.argv[1]))
for i in range(6):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 32, 32), }"
    head += " " * (117 - len(head)) + "\n"
    data = struct.pack("<3072f", *[draw.uniform(-1, 1) for _ in range(3072)])
    open(f"{i}.npy", "wb").write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + data)
END
vtac zoo tiny_ic --int8 --seed "$seed" -o net.onnx
exits 0
vtac compile net.onnx --target vta -o net.so
exits 0

# Twice, with other pictures: three are no multiple of two.
for first in 0 3; do
    pictures="--input $first.npy --input $((first + 1)).npy --input $((first + 2)).npy"
    # shellcheck disable=SC2086
    vtac run net.so $pictures --device fsim --output-dir "one$first"
    exits 0
    for device in tsim/2 fsim/2 fsim/4; do
        rm -rf several
        # shellcheck disable=SC2086
        vtac run net.so $pictures --device ${device%/*} --cores ${device#*/} --output-dir several --json
        exits 0
        good_json out
        holds "seed $seed: the integers of one core" diff -r "one$first" several
        [ $device != tsim/2 ] || cp out two
    done
    holds "of three, one core gets two" about "$(number two scaling)" 1.5 2
done
# shellcheck disable=SC2086
vtac run net.so $pictures --device 'tsim?cores=2' --json
exits 0
holds "the same cycles again" test "$(each out)" = "$(each two)"
vtac run net.so --device 'tsim?cores=4' --json
exits 0
holds "four cores, seed $seed" about "$(number out scaling)" 4 2

# Half of a slow memory is each core's.
vtac run net.so --device 'tsim?shared=300&cores=2' --repeat 2 --json
exits 0
cp out half
vtac run net.so --device 'tsim?shared=600&cores=2' --repeat 2 --json
exits 0
cp out whole
holds "two cores with 600 MB/s are slower than one" test "$(number whole cycles)" -gt "$(number whole cycles_alone)"
holds "and no slower than one with half of it" test "$(number whole cycles)" -le $(($(number half cycles_alone) * 101 / 100))
vtac run net.so --device 'tsim?shared=600&cores=2' --repeat 2 --json
holds "the same cycles again" test "$(each out)" = "$(each whole)"
vtac run net.so --device 'tsim?dram=ddr3-1050&cores=2' --repeat 2 --json
exits 0
cp out once
vtac run net.so --device 'tsim?dram=ddr3-1050&cores=2' --repeat 2 --json
holds "the same cycles of a DRAM again" test "$(each out)" = "$(each once)"

# A configuration says it, too.
vtac config show pynq
sed 's/"CLOCK_MHZ"/"CORES" : 2,\n  "CLOCK_MHZ"/' out >two.json
vtac run net.so --device tsim:./two.json
exits 0
says out "2 pictures on 2 cores"
vtac config show pynq
sed 's/"CLOCK_MHZ"/"CORES" : 3,\n  "CLOCK_MHZ"/' out >three.json
vtac config check three.json
exits 1
says err "key 'CORES' is 3, it must be 1, 2 or 4"

# Refusals.
vtac run net.so --device systemc:pynq --cores 2
exits 1
one_line err
says err "has one core"
vtac run net.so --device 'tsim?stall=10&cores=2'
exits 1
one_line err
says err "back-pressure is random"
vtac run net.so --device 'fsim?cores=5'
exits 1
one_line err
vtac run net.so --device tsim --cores 2 --layers
exits 2
vtac run net.so --device 'tsim?cores=2' --cores 2
exits 2
finish
