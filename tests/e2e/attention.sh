#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/begin.sh
#
# attention.sh VTAC CONFIGS: transformers on machines with functions on rows: one region holds their products, softmax with its
# masks, normalizations and turned positions, and all values are what the host computes; so are they where rows are too long for
# the machine, and where it has none of these functions. Inputs are drawn twice.
. "$(dirname "$0")/begin.sh"

"$vtac" zoo transformer --int8 --seed "$seed" -o net.onnx > zoo.log
"$vtac" explain net.onnx --config "$configs/rows_pynq.json" --json > explain.json
python3 - explain.json <<'END'
import json, sys
places = json.load(open(sys.argv[1]))["nodes"]
there = [n for n in places if n["where"].startswith("region")]
assert {n["where"] for n in there} == {"region 0"}, there
inside = [n["op"] for n in there]
for op, count in (("Product", 2), ("ImageSoftmax", 1), ("ImageNorm", 2), ("ImageTranspose", 1), ("QLinearConv", 6)):
    assert inside.count(op) == count, (op, count, inside)
assert {n["where"] for n in places if n["op"] == "Transpose"} == {"nowhere"}, places  # Pack and Unpack transpose the rows
END
for config in "$configs/rows_pynq.json" "$configs/rows.json" pynq; do
    for round in 1 2; do
        "$vtac" diff net.onnx --config "$config" --seed "$((seed % 100000 + round))" > said || { cat said; exit 1; }
        grep -q 'agree on all' said || { echo "$config:"; cat said; exit 1; }
    done
done

# one_region MODEL COUNT OP: all that the accelerator does is one region, with so many layers of that kind, and no softmax is left
# to the host.
one_region() {
    "$vtac" explain "$1" --config "$configs/rows_pynq.json" -O 0 --offload all --json > explain.json
    python3 - "$2" "$3" <<'END'
import json, sys
nodes = json.load(open("explain.json"))["nodes"]
assert {n["where"] for n in nodes} - {"host", "nowhere"} == {"region 0"}, nodes
ops = [n["op"] for n in nodes if n["where"] == "region 0"]
assert ops.count(sys.argv[2]) == int(sys.argv[1]), ops
assert not [n for n in nodes if n["op"] in ("RowSoftmax", "RowNorm", "Softmax")], nodes
END
}

# agree MODEL [inputs]: the integers of the host, twice, on two machines; for random inputs or those in files.
agree() {
    for config in "$configs/rows_pynq.json" "$configs/rows.json"; do
        for round in 1 2; do
            with="--seed $((seed % 100000 + round))"
            [ $# = 1 ] || with="--input run$round.npz"
            # shellcheck disable=SC2086  # two words
            "$vtac" diff "$1" -O 0 --config "$config" $with > said || { cat said; exit 1; }
            grep -q 'agree on all' said || { echo "$1, $config:"; cat said; exit 1; }
        done
    done
}

# Networks of texts and sounds. Masks that are known (gpt, llama), positions that turn pairs of columns (llama); the tokens do not
# fill blocks, nor do the heads of two of them.
tokens=$((seed % 29 + 18))
for net in bert gpt llama whisper conformer; do
    case $net in llama | conformer) width=72 ;; *) width=64 ;; esac
    "$vtac" zoo "$net" --int8 --layers 1 --width "$width" --heads 2 --tokens "$tokens" --seed "$seed" -o "$net.onnx" > zoo.log
    one_region "$net.onnx" 1 ImageSoftmax
    agree "$net.onnx"
done

# Masks that the run gives: one row for all tokens, a row for each.
for kind in tokens pairs; do
    /usr/bin/python3 "$here/attention_model.py" "$((seed % 100000))" "$tokens" 64 2 "$kind"
    "$vtac" quantize masked.onnx --calib samples.npz -o masked8.onnx > quantize.log
    one_region masked8.onnx 1 ImageSoftmax
    agree masked8.onnx inputs
done

# Windows of a picture that are rolled, with queries, keys and values of one dense layer, positions and masks that are added: all
# from the first normalization to the mean is one region, whose windows are runs of pixels.
/usr/bin/python3 "$here/windows_model.py" "$((seed % 100000))" $((seed % 3 + 4)) 2 2 16
"$vtac" quantize windows.onnx --calib samples.npz -o windows8.onnx > quantize.log
one_region windows8.onnx 1 ImageSoftmax
one_region windows8.onnx 6 Runs
agree windows8.onnx inputs

# A vision transformer: from the convolution that makes patches to the last dense layer all is one region, the class token's
# place in front of the patches among it.
"$vtac" zoo vit_tiny --int8 --seed "$seed" -o vit.onnx > zoo.log
"$vtac" explain vit.onnx --config "$configs/rows_pynq.json" -O 0 --json > explain.json
python3 - explain.json <<'END'
import json, sys
nodes = json.load(open(sys.argv[1]))["nodes"]
first = [i for i, n in enumerate(nodes) if n["op"] == "QLinearConv"][0]
assert [n["op"] for n in nodes[:first]] == ["QuantizeLinear"], nodes[:first]
last = [i for i, n in enumerate(nodes) if n["op"] == "QGemm"][-1]
places = {n["where"] for n in nodes[first:last + 1]} - {"nowhere"}
assert len(places) == 1 and places.pop().startswith("region"), places
END
"$vtac" diff vit.onnx --config "$configs/rows_pynq.json" -O 0 --seed "$((seed % 100000))" > said || { cat said; exit 1; }
grep -q 'agree on all' said || { cat said; exit 1; }
echo "attention: one region each, and the host's integers on three machines"
