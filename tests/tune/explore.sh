#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# explore.sh VTAC SOURCE: vtac explore. The front is what a plain search finds, the same by one process, three, ranks and a folder;
# its cycles are those that `vtac compile` predicts; its files are configurations.
. "$(dirname "$0")/../cli/lib.sh"

space='--models tiny_ic,tiny_kws --fix LOG_BLOCK_IN=3,4 --fix LOG_BLOCK_OUT=3,4 --fix LOG_UOP_BUFF_SIZE=13 --fix LOG_INP_BUFF_SIZE=13,14
       --fix LOG_WGT_BUFF_SIZE=14,15 --fix LOG_ACC_BUFF_SIZE=13,14 --fix ARRAY_PUMP=1,2 --fix LOG_QUEUE_DEPTH=6'
# shellcheck disable=SC2086  # words
vtac explore $space --jobs 1 -o one
exits 0
silent err
says out "configurations on xc7z020"
says out "area by a fit to"
says out "ISSCC 2014"
cat >front.py <<'END'
import json, sys

d = json.load(open(sys.argv[1]))
points = d["points"]
assert len(points) > 4, len(points)
assert d["space"] == 64 and d["space"] == d["illegal"] + d["too_large"] + d["candidates"]
assert [p["fps"] for p in points] == sorted((p["fps"] for p in points), reverse=True)
key = lambda p: (-p["fps"], p["share"], p["energy"])
for p in points:  # the front, by its definition
    better = [q for q in points if all(a <= b for a, b in zip(key(q), key(p))) and key(q) != key(p)]
    assert p["front"] == (not better) or any(key(q) == key(p) and q is not p for q in points), p["name"]
    mean = 1.0
    for n in p["networks"]:
        mean *= p["config"]["clock_mhz"] * 1e6 / n["cycles"]
    assert abs(p["fps"] / mean ** (1 / len(p["networks"])) - 1) < 1e-4
    assert p["area"]["lut"] <= d["most"]["lut"] and p["area"]["dsp"] <= d["most"]["dsp"]
detailed = [p for p in points if p.get("layers")]
assert points[0] in detailed
for p in detailed:
    for n, network in enumerate(p["networks"]):
        cycles = sum(l[2] for l in p["layers"] if l[0] == n)
        assert network["cycles"] * 0.9 < cycles <= network["cycles"], (p["name"], cycles)
print(points[0]["networks"][0]["cycles"])
END
holds "the front is that of a plain search" python3 front.py one/front.json
cycles=$(python3 front.py one/front.json)
holds "the page has its data" grep -q '"points": \[' one/front.html

# The same bytes, but for the time, whoever did it.
plain() { python3 -c 'import json, sys; d = json.load(sys.stdin); d.pop("seconds"); print(json.dumps(d, sort_keys=True))' <"$1/front.json" >"$1.json"; }
plain one
# shellcheck disable=SC2086  # words
vtac explore $space --jobs 3 -o three
exits 0
plain three
holds "three processes find what one finds" cmp one.json three.json
holds "and write the same configurations" cmp one/best1.json three/best1.json
# shellcheck disable=SC2086  # words
"$vtac_program" explore $space --join shared >join.out 2>&1 &
helper=$!
# shellcheck disable=SC2086  # words
vtac explore $space --folder shared -o folder
exits 0
ran="vtac explore --join shared"
wait $helper
status=$?
exits 0
plain folder
holds "a folder finds what one process finds" cmp one.json folder.json
vtac explore --models tiny_ic --fix LOG_BLOCK_IN=4 --folder shared
refused 1 "vtac: 'shared' holds the results of other work; name another folder, or remove it"
if command -v mpirun >/dev/null && [ -e "$(dirname "$vtac_program")/../lib/libvtac_mpi.so" ]; then
    ran="mpirun -n 4 vtac explore"
    # shellcheck disable=SC2086  # words
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0 timeout 200 mpirun -n 4 --oversubscribe "$vtac_program" explore $space -o ranks >out 2>err
    status=$?
    exits 0
    plain ranks
    holds "ranks find what one process finds" cmp one.json ranks.json
fi

# What comes out goes in: the cycles are those of the compiler.
vtac zoo tiny_ic --int8 -o ic.onnx
exits 0
vtac compile ic.onnx --target vta --config one/best1.json --offload all -O 0 --report --json -o ic.so
exits 0
holds "the compiler predicts the same cycles" python3 -c "
import json, sys
mine, theirs = $cycles, json.load(open('out'))['cycles']
sys.exit(abs(mine / theirs - 1) > 0.02)"

# What is out says by what.
vtac explore --models tiny_ic --fix LOG_BLOCK_IN=6 --fix LOG_BLOCK_OUT=6 --budget bram=40
exits 1
one_line err
says err "fits the part; most are out by"
vtac explore --models tiny_ic --fix LOG_WGT_BUFF_SIZE=6 --fix LOG_INP_BUFF_SIZE=6
exits 1
one_line err
vtac explore --models tiny_ic --part xc7z02
refused 1 "vtac: there is no part 'xc7z02'; there are xc7z010, xc7z020, xczu3eg, xczu7ev"
vtac explore --models tiny_ic --fix LOG_BLOCKIN=4
refused 1 "vtac: a configuration has no key 'LOG_BLOCKIN'; did you mean 'LOG_BLOCK_IN'?"
vtac explore --models tiny_ic --fix LOG_BLOCK_IN=99
refused 1 "vtac: key 'LOG_BLOCK_IN': 99 is not a whole number from 2 to 6"
vtac explore
refused 2 "vtac explore: expected --models A,B,..."
vtac explore --models tiny_ic --budget cheese=3
refused 2 "vtac explore: '--budget cheese=3': expected lut=N, dsp=N or bram=N"
echo '{"LOG_BLOCK_IN": "wide"}' >space.json
vtac explore --models tiny_ic --space space.json
refused 1 "vtac: space.json: key 'LOG_BLOCK_IN': expected a number, or an array of numbers"
vtac explore --models nothing.onnx
exits 1
one_line err
finish
