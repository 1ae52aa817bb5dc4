#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# What a user types around the accelerator: explain, compile --target vta, run --device, disasm, diff, replay.
# Arguments: VTAC SOURCE MODELS, the suite's own networks.
models=$3
. "$(dirname "$0")/../cli/lib.sh"
model=$models/words_int8_qdq.onnx

# number FILE NAME: the value of a member of a flat place in a JSON document.
number() {
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"
}

vtac explain "$model"
exits 0
says out "region 0"
says out "the host's side of the border"
says out "it works on whole rows, and this configuration has no instructions for that; use one with ROWS 1"
vtac explain "$model" --json
exits 0
good_json out
holds "layers went to the accelerator" test "$(number out moved)" -gt 5
holds "in one region" test "$(number out regions)" = 1
# One number: what explain says of a network is what the compiler predicts, whole and layer by layer.
for config in tiny pynq; do
    vtac explain "$model" --config $config --json
    exits 0
    cp out explained.json
    vtac compile "$model" --target vta --config $config --report --json -o one.so
    exits 0
    cp out compiled.json
    holds "explain and the compiler predict the same on $config" python3 -c '
import json
explained, compiled = (json.load(open(name)) for name in ("explained.json", "compiled.json"))
layers = [layer["cycles"] for layer in compiled["layers"]]
nodes = [node["cycles"] for node in explained["nodes"] if node["where"].startswith("region")]
assert explained["cycles"] == compiled["cycles"] == sum(layers) == sum(nodes) > 1000, (explained["cycles"], sum(layers), sum(nodes))
assert sorted(c for c in nodes if c) == sorted(c for c in layers if c), (nodes, layers)'
    holds "all work is there or left with a reason, without the conversions of the model's inputs and outputs, on $config" python3 -c '
import json
explained, compiled = (json.load(open(name)) for name in ("explained.json", "compiled.json"))
for told in explained, compiled:
    assert abs(told["share"] + sum(row["share"] for row in told["left"]) - 1) < 1e-3, told["left"]
    assert all(row["reason"] for row in told["left"]), told["left"]
assert explained["share"] == compiled["share"], (explained["share"], compiled["share"])
ends = [node for node in explained["nodes"] if node["op"] in ("QuantizeLinear", "DequantizeLinear")]
work = sum(node["host_cycles"] for node in explained["nodes"] if node not in ends)
there = sum(node["host_cycles"] for node in explained["nodes"] if node["where"].startswith("region"))
assert len(ends) > 0 and abs(explained["share"] - there / work) < 1e-3, (explained["share"], there / work)'
done
# The host that is compiled for is asked for its times: a layer may pay beside a slow host and not beside a fast one.
for host in riscv64 pynq ultra96 aarch64-linux-gnu,cpu=cortex-a72 aarch64-dotprod; do
    vtac explain "$model" --config tiny --host $host --json
    exits 0
    python3 -c 'import json; d = json.load(open("out")); print(d["moved"], sum(n["host_cycles"] for n in d["nodes"]))' >>hosts.txt
done
holds "a faster host is cheaper, and keeps what it is faster at" python3 -c '
rows = [line.split() for line in open("hosts.txt")]
moved, price = ([float(row[i]) for row in rows] for i in (0, 1))
assert len(rows) == 5 and all(a > b for a, b in zip(price, price[1:])), rows
assert moved == sorted(moved, reverse=True) and moved[0] > moved[-1], rows'
for host in pynq aarch64-dotprod; do
    vtac compile "$model" --target vta --config tiny --host $host --report --json -o hosts.so
    exits 0
    number out regions >>regions.txt
done
holds "and is compiled for as it is explained" test "$(tr '\n' ' ' <regions.txt)" = "1 0 "
# Unless it is named, it is that of the configuration's board; a PYNQ's beside what is on no board.
for pair in pynq:pynq pynq_lm:pynq ultra96:ultra96 kv260:kv260 tiny:pynq; do
    vtac explain "$model" --config "${pair%:*}" --json
    exits 0
    cp out unnamed.json
    vtac explain "$model" --config "${pair%:*}" --host "${pair#*:}" --json
    holds "the host of ${pair%:*} is ${pair#*:}" cmp out unnamed.json
    holds "and it is told" grep -qF "\"host\": \"${pair#*:}\"" out
done
vtac explain "$model" --host nobody
refused 2 "unknown host 'nobody'"
vtac explain "$model" --offload some
refused 2 "--offload takes pays or all, not 'some'"

vtac compile "$model" --target vta --config tiny --offload all -o m.so --report --json
exits 0
good_json out
holds "the report has a prediction" test "$(number out cycles)" -gt 1000
vtac compile "$model" --target vta --report -o pynq.so
exits 0
says out "inferences a second"
says out "configuration  pynq: 1x16x16"
vtac compile "$model" --target gpu
refused 2 "unknown target 'gpu'; known are llvm, vta, opencl, cuda and webgpu"

# Two runs with different inputs, and the host's answer to the second.
vtac run m.so --seed 1 --output-dir one
exits 0
vtac run m.so --device fsim:tiny --seed 2 --output-dir two --json
exits 0
good_json out
holds "other inputs, other outputs" sh -c '! cmp -s one/*.npy two/*.npy'
vtac compile "$model" -o host.so
vtac run host.so --seed 2 --output-dir host
holds "the accelerator and the host agree to the byte" cmp two/*.npy host/*.npy
vtac run m.so --device fsim:pynq
exits 1
says err "m.so: the program was made for configuration 'tiny', but device 'fsim:pynq' differs in"
says err "'--device fsim:tiny'"
one_line err
vtac run m.so --layers --json
exits 0
good_json out

# The text of a model's program assembles back to the same text, but for its comments.
vtac disasm m.so -o m.vasm
exits 0
holds "layers stand beside their instructions" grep -q "^\.tag 1 ; '.*' (QLinearConv)" m.vasm
vtac asm m.vasm -o m.bin
exits 0
vtac disasm m.bin -o again.vasm
holds "the same instructions" sh -c "sed 's/ *;.*//; /^$/d' m.vasm >a; sed 's/ *;.*//; /^$/d' again.vasm >b; cmp a b"
vtac disasm host.so
exits 1
says err "nothing in it runs on the accelerator"

# Cases of floats stay floats beside the accelerator, with the same tolerance.
for target in llvm vta; do
    vtac verify "$models/digit" --target $target --offload all
    exits 0
    says out "PASS $models/digit"
    says out "1 passed, 0 failed, 0 unsupported"
done

# Models of any kind, with their data beside them; of a wrong number the line names the set and the element.
vtac verify "$models/tflite/image_uint8" "$models/keras/residual" --target llvm
exits 0
says out "2 passed, 0 failed"
vtac verify "$models/darknet/body" --atol 1e-4 -O 1
exits 0
cp -r "$models/tflite/words_int8" kws
chmod -R u+w kws
vtac verify kws --target vta --config tiny
exits 0
python3 -c 'b = bytearray(open("kws/case0_out0.npy", "rb").read()); b[-3] ^= 4; open("kws/case0_out0.npy", "wb").write(b)'
vtac verify kws --target vta --config tiny
exits 1
says out "FAIL kws: case0: output 0 differs by up to 4: element 9 is"
cp "$models"/tflite/image_uint8/*.tflite kws/zz.tflite
vtac verify kws
exits 1
says out "are both models"
mkdir bare
vtac verify bare
exits 1
says out "no other model is there"
cp "$models"/tflite/image_uint8/*.tflite bare/a.tflite
vtac verify bare
exits 1
says out "bare/test_data_set_0 is missing"

vtac diff "$model" --config tiny --seed 3
exits 0
says out "fsim and llvm agree on all"
vtac diff "$model" --a fsim:pynq --config tiny
exits 1
says err "differs in"

# A model of floats is quantized on the way: with what --calib names, or with a warning. What does not fit is refused, and no file
# appears.
float=$models/words_fp32.onnx
samples=$models/golden/words_fp32
mkdir calib
cp "$samples"/*_in.npy calib
vtac explain "$float"
exits 0
says err "warning: no calibration inputs"
says out "QLinearConv"
says out "in 1 region"
vtac explain "$float" --calib calib --json
exits 0
good_json out
holds "in one region" test "$(number out regions)" = 1
vtac diff "$float" --calib calib --config tiny
exits 0
says out "fsim and llvm agree on all"
vtac diff "$float" --config tiny
exits 0
holds "both sides are quantized, and one warning says how" test "$(grep -c 'warning: no calibration inputs' err)" = 1
vtac compile "$float" --target vta --calib "$models/golden/image_fp32" -o none.so
refused 1 "takes f32[1,1,49,10]"
vtac compile "$float" --target vta --calib nowhere -o none.so
refused 1 "nowhere"
vtac explain "$float" --calib calib --method median
refused 2 "--method takes minmax, percentile, mse, entropy or room, not 'median'"
holds "no file of a failed call" test ! -e none.so

# Nodes that a quantized model leaves in floats, and why.
vtac zoo transformer -o floats.onnx
exits 0
last=$("$vtac_program" explain floats.onnx | awk '/LayerNormalization/ { name = $1 } END { print name }')
vtac quantize floats.onnx --keep-float "$last" -o transformer.onnx
exits 0
vtac explain transformer.onnx
exits 0
says out "its numbers are divided by how far they lie from their mean"
holds "a product whose matrices both change" grep -Eq '^MatMul_19 +Product +region [0-9]' out
holds "no product is the host's" sh -c '! grep -E "^(MatMul|Gemm)_[0-9]+ +(MatMul|QLinearMatMul|QLinearConv|Product) +host" out'

layer=$("$vtac_program" explain "$model" | sed -n 's/^\([^ ]*\) .* region 0 .*/\1/p' | head -n 2 | tail -n 1)
for seed in 1 2; do
    vtac replay "$model" --layer "$layer" --device fsim --seed "$seed"
    exits 0
    says out "layer '$layer' on fsim: 0 of"
done
# On the RTL, with waves of the layer alone: fewer cycles than the whole model takes, and an FST file (its header block).
for seed in 1 2; do
    vtac replay "$model" --layer "$layer" --config tiny --device tsim:tiny --seed "$seed" --trace "t$seed.fst" --json
    exits 0
    good_json out
    holds "the layer is as on fsim" test "$(number out differing)" = 0
    holds "the layer takes cycles" test "$(number out cycles)" -gt 100
    holds "waves begin as FST files do" test "$(head -c 9 "t$seed.fst" | od -An -tx1 | tr -d ' ')" = 000000000000000149
    holds "waves are not empty" test "$(wc -c <"t$seed.fst")" -gt 5000
done
# A layer that reads the second of two outputs of a node of the host.
if /usr/bin/python3 -c 'import onnx' 2>/dev/null; then
    /usr/bin/python3 - <<'PYTHON'
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

random = numpy.random.default_rng(1)
constants = {"scale": numpy.float32(0.1), "out": numpy.float32(0.5), "zero": numpy.int8(0)}
nodes = [helper.make_node("Split", ["x"], ["a", "b"], name="cut", axis=1)]
for half in "ab":
    constants["w" + half] = random.integers(-9, 9, (32, 16, 1, 1)).astype(numpy.int8)
    nodes.append(helper.make_node("QLinearConv", [half, "scale", "zero", "w" + half, "scale", "zero", "out", "zero"],
                                  ["y" + half], name="conv_" + half))
values = [helper.make_tensor_value_info(name, TensorProto.INT8, [1, 32, 8, 8]) for name in ("x", "ya", "yb")]
graph = helper.make_graph(nodes, "halves", values[:1], values[1:],
                          [numpy_helper.from_array(numpy.asarray(v), k) for k, v in constants.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
model.ir_version = 8
onnx.save(model, "halves.onnx")
PYTHON
    for half in a b; do
        vtac replay halves.onnx --layer conv_$half --device fsim
        exits 0
        says out "layer 'conv_$half' on fsim: 0 of 2048 elements differ"
    done
fi
vtac replay "$model" --layer "${layer}x"
refused 1 "did you mean '$layer'"
vtac replay "$model"
refused 2 "--layer is missing"
finish
