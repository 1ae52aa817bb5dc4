#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# explore.sh VTAC SOURCE: vtac explore. The front is what a plain search finds, the same by one process, three, ranks and a folder;
# its cycles are those that `vtac compile` predicts; its files are configurations.
. "$(dirname "$0")/../cli/lib.sh"

space='--models tiny_ic,tiny_kws --fix LOG_BLOCK_IN=3,4 --fix LOG_BLOCK_OUT=3,4 --fix LOG_UOP_BUFF_SIZE=13 --fix LOG_INP_BUFF_SIZE=14
       --fix LOG_WGT_BUFF_SIZE=14,15 --fix LOG_ACC_BUFF_SIZE=13,14 --fix ARRAY_PUMP=1,2 --fix LOG_QUEUE_DEPTH=6
       --fix TABLE=1 --fix LOOP_BACK=1 --fix DEPTHWISE_TAPS=9'
# shellcheck disable=SC2086  # words
vtac explore $space --jobs 1 -o one
exits 0
silent err
says out "configurations on xc7z020"
says out "area by a fit to"
says out "ISSCC 2014"
holds "every energy is on the terminal" sh -c 'grep -c " pJ (" out | grep -qx "$(grep -c "^VTAC_ENERGY(" "$1/compiler/src/explore/energy.def")"' sh "$source"
says out "best1 beside pynq, pictures a second: tiny_ic "
cat >front.py <<'END'
import json, sys

d = json.load(open(sys.argv[1]))
points = d["points"]
assert len(points) > 4, len(points)
assert d["space"] == 32 and d["space"] == d["illegal"] + d["too_large"] + d["candidates"]
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
tiles = {(t["block_in"], t["block_out"], t["pump"]): t for t in d["tiles"]}
assert len(tiles) == len(d["tiles"]) and sum(t["judged"] for t in d["tiles"]) == d["candidates"]
tile = lambda p: (p["config"]["block_in"], p["config"]["block_out"], p["config"]["pump"])
for k, t in tiles.items():
    own = [p["fps"] for p in points if tile(p) == k]
    assert (t["fps"] == max(own)) if own else (t["fps"] == 0 and " of " in t["nearest"]), t
sizes = [t["block_in"] * t["block_out"] for t in d["tiles"]]
assert sizes == sorted(sizes) and sum(t["nearest"] != "" for t in d["tiles"]) > 0 if d["too_large"] else True
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
says err "vtac explore: the work in 'shared' is done by whoever runs this command with '--join shared' in the place of '--folder'"
ran="vtac explore --join shared"
wait $helper
status=$?
exits 0
plain folder
holds "a folder finds what one process finds" cmp one.json folder.json
vtac explore --models tiny_ic --fix LOG_BLOCK_IN=4 --folder shared
refused 1 "vtac: 'shared' holds the results of other work; name another folder, or remove it"
# The same file with another shape is other work, too.
cat >open.cfg <<'END'
[net]
width=16
height=16
channels=16
[convolutional]
filters=16
size=3
stride=1
pad=1
activation=relu
END
python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("<iiiq", 0, 2, 0, 0) + struct.pack("<2320f", *([0.25] * 16 + [((i * 37) % 64 - 32) / 64 for i in range(2304)])))' >open.weights
one='--fix LOG_BLOCK_IN=4 --fix LOG_BLOCK_OUT=4 --fix LOG_INP_BUFF_SIZE=14 --fix LOG_WGT_BUFF_SIZE=15 --fix LOG_ACC_BUFF_SIZE=14 --fix ARRAY_PUMP=1
     --fix TABLE=1 --fix LOOP_BACK=1 --fix DEPTHWISE_TAPS=9'
# shellcheck disable=SC2086  # words
{
    "$vtac_program" explore --models open.cfg $one --join other >/dev/null 2>&1 &
    vtac explore --models open.cfg $one --folder other
    exits 0
    wait
    vtac explore --models open.cfg $one --shape data=1x16x8x8 --folder other
}
exits 1
says err "vtac: 'other' holds the results of other work; name another folder, or remove it"
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

# Tiles of four input blocks to one of outputs, which DEPTHWISE does not reach: the same results as the host's.
vtac explore --models tiny_kws --fix LOG_BLOCK_IN=4 --fix LOG_BLOCK_OUT=2 --fix LOG_INP_BUFF_SIZE=14 --fix LOG_WGT_BUFF_SIZE=14 --fix LOG_ACC_BUFF_SIZE=13 \
    --fix ARRAY_PUMP=1 --fix TABLE=1 --fix LOOP_BACK=1 --fix DEPTHWISE_TAPS=9 --jobs 1 -o four
exits 0
vtac zoo tiny_kws --int8 -o kws.onnx
vtac compile kws.onnx --target vta --config four/best1.json --offload all -o four.so
exits 0
vtac compile kws.onnx -o host.so
exits 0
vtac run four.so --output-dir four.out
exits 0
vtac run host.so --output-dir host.out
exits 0
holds "four blocks to one give the host's integers" diff -r four.out host.out

# Sixteen networks are as many as there may be; each has its column.
many=tiny_ad$(printf ',tiny_ad%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
# shellcheck disable=SC2086  # words
vtac explore --models "$many" $one --jobs 1
exits 0
holds "each network has a column" sh -c 'head -1 out | grep -o tiny_ad | wc -l | grep -qx 16'
vtac explore --models "$many,tiny_ad"
refused 1 "vtac: more than 16 models"

# What is out says by what.
vtac explore --models tiny_ic --fix LOG_BLOCK_IN=6 --fix LOG_BLOCK_OUT=6 --budget bram=40
exits 1
one_line err
says err "fits xc7z020 within the budget: what is nearest to it takes "
says err "; name a larger '--part' or '--budget', or fix smaller values"
# Nearest is what is least too large: with LUTs for all, and one block RAM, the smallest buffers.
vtac explore --models tiny_ic --fix LOG_BLOCK_IN=3 --fix LOG_BLOCK_OUT=3 --fix LOG_INP_BUFF_SIZE=13,14 --fix LOG_WGT_BUFF_SIZE=14,15 \
    --fix LOG_ACC_BUFF_SIZE=13,14 --fix LOG_UOP_BUFF_SIZE=13 --fix TABLE=0,1 --budget bram=1
exits 1
one_line err
blocks=$(sed 's/.* takes BRAM36 \([0-9]*\) of 1;.*/\1/' err)
vtac explore --models tiny_ic --fix LOG_BLOCK_IN=3 --fix LOG_BLOCK_OUT=3 --fix LOG_INP_BUFF_SIZE=13 --fix LOG_WGT_BUFF_SIZE=14 \
    --fix LOG_ACC_BUFF_SIZE=13 --fix LOG_UOP_BUFF_SIZE=13 --fix TABLE=0 --budget "bram=$blocks" --limit 1 --json
exits 0
holds "the smallest fits what was told" python3 -c 'import json; assert json.load(open("out"))["too_large"] == 0'
vtac explore --models tiny_ic --fix LOG_WGT_BUFF_SIZE=6 --fix LOG_INP_BUFF_SIZE=6
exits 1
one_line err
says err " is legal; the first of them: "
vtac explore --models tiny_ic --part xc7z02
refused 1 "vtac: there is no part 'xc7z02'; there are xc7z010, xc7z020, xczu3eg, xczu7ev, ecp5-85"
small='--models tiny_kws --fix LOG_BLOCK_IN=2,3 --fix LOG_BLOCK_OUT=2 --fix LOG_INP_BUFF_SIZE=13 --fix LOG_WGT_BUFF_SIZE=14
       --fix LOG_ACC_BUFF_SIZE=13 --fix ARRAY_PUMP=1 --fix TABLE=1 --fix LOOP_BACK=1 --fix DEPTHWISE_TAPS=0,3'
# shellcheck disable=SC2086  # words
vtac explore $small --jobs 1 -o xc7
exits 0
# shellcheck disable=SC2086  # words
vtac explore $small --part ecp5-85 --jobs 1 -o ecp5
exits 0
says out "configurations on ecp5-85"
says out "on an ECP5 a LUT counts as"
holds "an ECP5's LUTs and multipliers are more than those of an xc7" python3 -c 'import json
a, b = (json.load(open(p + "/front.json"))["points"] for p in ("xc7", "ecp5"))
tile = lambda p: (p["config"]["block_in"], p["config"]["depthwise_taps"])
mine = {tile(p): p["area"] for p in b}
both = [(p["area"], mine[tile(p)]) for p in a if tile(p) in mine]
assert len(both) == 4 and all(y["lut"] > 2 * x["lut"] and y["dsp"] == 2 * x["dsp"] and y["bram"] == x["bram"] for x, y in both)'
# What a configuration may leave out is in the space: taps that are not there cost cycles, tables that no layer has make no difference.
vtac explore --models tiny_kws --fix LOG_BLOCK_IN=4 --fix LOG_BLOCK_OUT=4 --fix LOG_INP_BUFF_SIZE=14 --fix LOG_WGT_BUFF_SIZE=15 \
    --fix LOG_ACC_BUFF_SIZE=14 --fix ARRAY_PUMP=1 --fix DEPTHWISE_TAPS=0,1,3,9 --jobs 1 -o leftout
exits 0
holds "what is left out shows" python3 -c 'import json
points = json.load(open("leftout/front.json"))["points"]
at = {(p["config"]["table"], p["config"]["loop_back"], p["config"]["depthwise_taps"]): p for p in points}
assert len(at) == 16
cycles = lambda *k: at[k]["networks"][0]["cycles"]
assert all(cycles(0, l, t) == cycles(1, l, t) for l in (0, 1) for t in (0, 1, 3, 9))
assert all(min(cycles(1, l, 0), cycles(1, l, 1)) > cycles(1, l, 3) > cycles(1, l, 9) for l in (0, 1))
assert cycles(1, 0, 9) != cycles(1, 1, 9)
assert at[0, 1, 9]["area"]["bram"] < at[1, 1, 9]["area"]["bram"]'
# The space of a part has what is shipped for it, or better.
vtac explore --models tiny_ad --jobs 1 -o whole
exits 0
holds "no shipped configuration that fits is ahead" python3 -c 'import json
d = json.load(open("whole/front.json"))
most = d["most"]
fits = [p["fps"] for p in d["shipped"] if all(p["area"][k] <= most[k] for k in ("lut", "dsp", "bram"))]
assert len(fits) > 1 and max(p["fps"] for p in d["points"]) >= max(fits)'
# Areas of the shipped ones are what `./run timing` found in their flat netlists, which the fit has not seen: fpga/README.md has them.
holds "areas of netlists are predicted" python3 - "$source/fpga/README.md" <<'END'
import json, re, sys
shipped = {p["name"]: p["area"] for p in json.load(open("whole/front.json"))["shipped"]}
row = r"`(pynq\w*)` [\d,]+ LUT, ([\d,]+) with all pairs[^;,]*,\s*([\d,]+) FF, (\d+) DSP, ([\d.]+) BRAM36"
found = re.findall(row, open(sys.argv[1]).read())
assert len(found) == 2, found
for name, *counts in found:
    lut, ff, dsp, bram = (float(n.replace(",", "")) for n in counts)
    a = shipped[name]
    print(name, a, counts)
    assert abs(a["lut"] / lut - 1) < 0.03 and abs(a["ff"] / ff - 1) < 0.05, name
    assert abs(a["dsp"] - dsp) < 1 and abs(a["bram"] - bram) < 1.5, name
END
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
echo '{"LOG_BLOCK_IN": 3, "TABLE": 1, "LOG_BLOCK_IN": [4, 5]}' >space.json
vtac explore --models tiny_ic --space space.json
refused 1 "vtac: space.json: key 'LOG_BLOCK_IN' is there twice; its values go into one array"
# A key is fixed once, whether the values differ or not; a file's values may be replaced.
for again in LOG_BLOCK_IN=4 LOG_BLOCK_IN=3 LOG_BLOCK_IN=3,4; do
    vtac explore --models tiny_ic --fix LOG_BLOCK_IN=3 --fix TABLE=1 --fix $again
    refused 1 "vtac: '$again': 'LOG_BLOCK_IN' is fixed already; several values go behind one '=': LOG_BLOCK_IN=3,4"
done
echo '{"LOG_BLOCK_IN": [3, 4, 5], "LOG_BLOCK_OUT": 3, "LOG_INP_BUFF_SIZE": 13, "LOG_WGT_BUFF_SIZE": 14, "LOG_ACC_BUFF_SIZE": 13, "ARRAY_PUMP": 1, "TABLE": 1,
       "LOOP_BACK": 1, "DEPTHWISE_TAPS": 9}' >space.json
vtac explore --models tiny_kws --space space.json --fix LOG_BLOCK_IN=3
exits 0
says out "1 configurations on xc7z020"
vtac explore --models tiny_ic --budget lut=30000 --budget bram=9 --budget lut=20000
refused 2 "vtac explore: '--budget lut=20000': its limit is set already"
# A name that is none is told before a network is read, wherever it stands; a file that is none by its name, once.
for models in nothing.onnx tiny_ic,nothing.onnx,tiny_kws resnet18,nothing.onnx; do
    vtac explore --models $models
    refused 1 "vtac: nothing.onnx: neither a file nor a network of the zoo; 'vtac zoo' lists those"
done
vtac explore --models tiny_ic,,tiny_kws
refused 1 "vtac: ',tiny_kws': expected models with commas between"
echo nonsense >broken.onnx
vtac explore --models tiny_kws,broken.onnx
refused 1 "vtac: broken.onnx: not an ONNX model, or damaged (9 bytes)"
finish
