#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/begin.sh
#
# decode.sh VTAC CONFIGS: a decoder with caches of a fixed size, one token a run, of drawn sizes. On machines with functions on
# rows all between the embedding and the logits is one region, attention to the cache included; all values are what the host
# computes, at drawn places of the cache, and so are they on a machine without these functions.
. "$(dirname "$0")/begin.sh"

# ends MODEL CONTEXT ROUND: run.npz, a token at a drawn place behind a drawn past; the first and the last place come in turn.
ends() {
    "$vtac" inspect "$1" > ends.txt
    /usr/bin/python3 - "$2" "$((seed % 100000 + $3))" "$3" <<'END'
import re, sys
import numpy
context, seed, turn = (int(x) for x in sys.argv[1:])
draw = numpy.random.RandomState(seed)
given = {}
for line in open("ends.txt"):
    found = re.match(r"input +%(\S+): (\w+)\[([0-9,]*)\]", line)
    if not found:
        continue
    name, kind, dims = found.group(1), found.group(2), [int(x) for x in found.group(3).split(",") if x]
    if name == "position":
        given[name] = numpy.array({1: 0, 2: context - 1}.get(turn, draw.randint(context)), "int64").reshape(dims)
    elif kind == "i64":
        given[name] = draw.randint(0, 50, dims).astype("int64")
    else:
        given[name] = draw.randint(-128, 128, dims).astype("int8")
numpy.savez("run.npz", **given)
END
}

# agree MODEL CONTEXT CONFIG: the integers of the host, at three places.
agree() {
    for round in 1 2 3; do
        ends "$1" "$2" "$round"
        "$vtac" diff "$1" -O 0 --config "$3" --input run.npz > said || { cat said; exit 1; }
        grep -q 'agree on all' said || { echo "$1, $3:"; cat said; exit 1; }
    done
}

# decoder NAME WIDTH HEADS CACHED CONTEXT: NAME.onnx in 8 bits.
decoder() {
    "$vtac" zoo llama --cache --layers 1 --width "$2" --heads "$3" --kv-heads "$4" --words 70 --seed "$seed" -o open.onnx > zoo.log
    "$vtac" quantize open.onnx --context "$5" -o "$1.onnx" > quantize.log 2>&1
}

# one_region MODEL: all of a step between the embedding and the logits is one region; the host turns no cache into an operand.
one_region() {
    "$vtac" explain "$1" --config "$configs/rows_pynq.json" -O 0 --offload all --json > explain.json
    python3 - <<'END'
import json
nodes = json.load(open("explain.json"))["nodes"]
there = [n["op"] for n in nodes if n["where"].startswith("region")]
assert {n["where"] for n in nodes} - {"host", "nowhere"} == {"region 0"}, {n["name"]: n["where"] for n in nodes}
for op, count in (("ImageNorm", 3), ("QLinearConv", 8), ("LookUp", 3), ("QLinearMul", 5), ("Product", 2), ("ImageSoftmax", 1)):
    assert there.count(op) == count, (op, count, there)
left = [n["op"] for n in nodes if n["where"] == "host"]
assert not {"RowSoftmax", "RowNorm", "QLinearMatMul", "Expand", "TensorScatter"} & set(left), left
END
}

# speak MODEL CONTEXT: the accelerator, which holds the caches, says what the host says: several beginnings, one of them to the end
# of the context.
speak() {
    "$vtac" compile "$1" -o host.so > compile.log
    "$vtac" compile "$1" --target vta --config "$configs/rows_pynq.json" --offload all -O 0 -o held.so > compile.log
    for words in "--generate 9 --ids 1,$((seed % 50)),7" "--generate $2 --ids $((seed % 40)),3" \
        "--generate 12 --ids 2,5,$((seed % 60)),4 --temperature 1 --seed $seed"; do
        # shellcheck disable=SC2086  # words
        "$vtac" run host.so $words --ignore-end > host.txt
        # shellcheck disable=SC2086
        "$vtac" run held.so --device fsim $words --ignore-end > held.txt
        cmp host.txt held.txt || { echo "$1: $words"; cat host.txt held.txt; exit 1; }
    done
}

# One token a run: a head of keys for each of queries; for two of them, of columns that do not fill blocks. Several tokens a run.
decoder pairs $((seed % 3 * 32 + 64)) 2 2 32
one_region pairs.onnx
speak pairs.onnx 32
agree pairs.onnx 32 "$configs/rows_pynq.json"
agree pairs.onnx 32 "$configs/rows.json"
agree pairs.onnx 32 pynq
decoder shared 72 4 2 48
one_region shared.onnx
speak shared.onnx 48
agree shared.onnx 48 "$configs/rows_pynq.json"
decoder several 96 4 1 64:$((seed % 5 + 2))
one_region several.onnx
speak several.onnx 64
agree several.onnx 64 "$configs/rows_pynq.json"
# A cache that does not fill blocks stays with the host.
decoder odd 64 2 2 $((seed % 7 + 33))
speak odd.onnx $((seed % 7 + 33))
agree odd.onnx $((seed % 7 + 33)) "$configs/rows_pynq.json"
echo "decode: one token a run, with the host's integers"
