#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# How much of a network runs on the accelerator: its regions, its share of the multiplications, the cycles on the RTL against
# the bound of its layers, and whether devices give the integers of the host.
#
# usage: regions.py BUILD "DEVICE:CONFIG ..." [--one] [--record] NAME...   (--record: in tests/results/regions.json)
#
# NAME: of the zoo, quantized here, or a quantized model. Transformers of the zoo are looked at on a machine with functions on
# rows (`ROWS`) instead, and may not be more regions than `MOST` says. With --one a network that is not one region with 99 % of the
# multiplications fails. Cycles are those of tsim:pynq where that is among the devices, and what the compiler predicts
# otherwise. The bound is the sum over the layers of the largest of: steps of the array, bytes that must be read ÷ 8, bytes
# that must be written ÷ 8. What tiles of layers on chip make twice, their rims, is in no bound. The last ratio is to a
# lower bound, where layers on chip together are one layer: what goes from one to the next is neither read nor written.
# A network's multiplications are counted in the model as it stands, by this script. The host's share is that of the price which
# `vtac explain` tells; beside it stands the share of what is no border, where floats become integers and integers floats.
import json
import math
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import results

import onnx
from onnx import shape_inference

BEAT = 8
BLOCK = 16
LEAST_SHARE = 0.99
BORDERS = ("QuantizeLinear", "DequantizeLinear")
RECORD = "--record"
ROWS = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib", "configs", "rows_pynq.json"))
MOST = {"transformer": 1, "vit_tiny": 1, "bert": 1, "minilm": 1, "gpt": 1, "llama": 1, "whisper": 1, "conformer": 1, "swin": 1,
        "deit_tiny": 1, "whisper_decoder": 1, "mobilevit": 1}


def dims_of(model):
    """The shape of every value."""
    graph = shape_inference.infer_shapes(model, data_prop=True).graph
    dims = {c.name: list(c.dims) for c in graph.initializer}
    for value in list(graph.value_info) + list(graph.input) + list(graph.output):
        dims.setdefault(value.name, [d.dim_value for d in value.type.tensor_type.shape.dim])
    return dims


def products_of(node, dims):
    """The multiplications of a node."""
    first = {"QLinearConv": (0, 3), "QLinearMatMul": (0, 3), "QGemm": (0, 3)}
    a, b = first.get(node.op_type, (0, 1))
    if node.op_type in ("Conv", "ConvInteger", "QLinearConv"):
        return math.prod(dims[node.output[0]]) * math.prod(dims[node.input[b]][1:])
    if node.op_type == "ConvTranspose":
        return math.prod(dims[node.input[a]]) * math.prod(dims[node.input[b]][1:])
    if node.op_type in ("MatMul", "MatMulInteger", "QLinearMatMul", "Gemm", "QGemm"):
        turned = any(x.name == "transA" and x.i for x in node.attribute)
        return math.prod(dims[node.output[0]]) * dims[node.input[a]][-2 if turned else -1]
    return 0


def steps_of(node, dims):
    """The steps of the array for a convolution's outputs, each made once; None for those in groups of another kind."""
    weights = {"Conv": 1, "QLinearConv": 3}.get(node.op_type)
    if weights is None or len(dims[node.output[0]]) != 4:
        return None
    values = {x.name: list(x.ints) if x.ints else x.i for x in node.attribute}
    images, channels, rows, cols = dims[node.output[0]]
    _, inside, height, width = dims[node.input[weights]]
    groups, stride = values.get("group", 1), values.get("strides", [1, 1])[1]
    blocks = math.ceil(channels / BLOCK)
    if groups == 1:
        return images * rows * cols * blocks * math.ceil(inside / BLOCK) * height * width
    if inside == 1 and groups == channels and height == width == 3 and max(values.get("dilations", [1])) == 1:
        return images * rows * blocks * (width + (cols - 1) * min(width, stride))
    return None


def graph_of(path):
    """A network's multiplications, and the steps of its convolutions by name."""
    model = onnx.load(path)
    dims = dims_of(model)
    nodes = model.graph.node
    return sum(products_of(node, dims) for node in nodes), {node.name: steps_of(node, dims) for node in nodes}


def bound_of(layers, steps, together):
    """Layers on chip `together` are one layer."""
    bound = array = read = 0
    inside = False
    for x in layers:
        if x["joined"]:
            continue
        alone = steps.get(x["name"])
        in_group = inside or x["on_chip"]
        array += min(x["array"], alone) if in_group and alone is not None else x["array"]
        read += x["least_read"]
        if together and x["on_chip"]:
            read -= x["least_written"]  # what the next one need not read
            inside = True
            continue
        bound += max(array, read // BEAT, x["least_written"] // BEAT)
        array = read = 0
        inside = x["on_chip"]
    return bound


def call(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode != 0:
        sys.exit("%s: %s%s" % (" ".join(words), done.stdout[-2000:], done.stderr[-2000:]))
    return done.stdout


def host_of(vtac, path, config):
    """The host's share of the price in %, and the share without the borders between floats and integers."""
    told = json.loads(call(vtac, "explain", path, "--config", config, "--json"))
    border = sum(x["host_cycles"] for x in told["nodes"] if x["where"] == "host" and x["op"] in BORDERS)
    whole = told["cycles"] + told["host_stays_cycles"]
    return 100 * told["host_stays_cycles"] / whole, 100 * max(told["host_stays_cycles"] - border, 0) / whole


def look(tools, name, devices):
    """One row of the table; whether integers are identical, whether it is one region, and whether it is few enough."""
    vtac = os.path.join(tools, "vtac")
    config = ROWS if name in MOST else "pynq"
    if name in MOST:
        devices = sorted({device.split(":")[0] + ":" + ROWS for device in devices})
    clock = "tsim:" + config
    path = name if name.endswith(".onnx") else "model.onnx"
    if path != name:
        call(vtac, "zoo", name, "--int8", "-o", path)
    report = json.loads(call(vtac, "compile", path, "--target", "vta", "--config", config, "--report", "--json", "-o", "model.so"))
    layers, (whole, steps) = report.get("layers", []), graph_of(path)
    there = min(sum(x["macs"] for x in layers), whole)
    cycles = sum(x["cycles"] for x in layers)
    bound, lower = bound_of(layers, steps, False), bound_of(layers, steps, True)
    if clock in devices and layers:
        ran = json.loads(call(vtac, "run", "model.so", "--device", clock, "--layers", "--json"))
        cycles = sum(x["cycles"] for x in ran["layers"] if x["predicted"] > 0)
    host, beyond = host_of(vtac, path, config)
    same = subprocess.run([os.path.join(tools, "same_integers"), path, "1", "0", *devices], stdout=subprocess.PIPE,
                          universal_newlines=True)
    share = there / whole if whole > 0 else 0.0
    regions = report.get("regions", 0)
    print("%-20s %7d %6.1f %% %12d %12d %6.2f %8.2f %5.1f %% %5.1f %%  %s" % (
        os.path.basename(name), regions, 100 * share, cycles, bound, cycles / bound if bound else 0,
        cycles / lower if lower else 0, host, beyond, "identical" if same.returncode == 0 else "DIFFERENT"), flush=True)
    if RECORD in sys.argv[1:] and same.returncode == 0 and clock in devices:
        results.record("regions", os.path.basename(name), {
            "regions": regions, "multiplications %": round(100 * share, 1), "cycles": cycles,
            "of the bound": round(cycles / bound, 2) if bound else 0, "of the lower bound": round(cycles / lower, 2) if lower else 0, "host %": round(host, 1),
            "host but borders %": round(beyond, 1)})
    if same.returncode != 0:
        print(same.stdout)
    most = MOST.get(name, regions)
    if regions > most:
        print("%s: %d regions, expected at most %d" % (name, regions, most))
    return same.returncode == 0 and regions <= most, regions == 1 and share >= LEAST_SHARE


def main():
    words = [w for w in sys.argv[1:] if w not in ("--one", RECORD)]
    tools, devices = os.path.join(os.path.abspath(words[0]), "bin"), words[1].split()
    names = [os.path.abspath(w) if w.endswith(".onnx") else w for w in words[2:]]
    print("%-20s %7s %8s %12s %12s %6s %8s %7s %7s  %s" % (
        "network", "regions", "work", "cycles", "bound", "ratio", "to lower", "host", "beyond", "integers"))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        rows = [look(tools, name, devices) for name in names]
        os.chdir("/")
    good = all(same for same, _ in rows)
    if "--one" in sys.argv[1:] and not all(one for _, one in rows):
        print("expected one region with %.0f %% of the multiplications" % (100 * LEAST_SHARE))
        good = False
    return 0 if good else 1


sys.exit(main())
