#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The grid for processors that this machine is not: grid_counted.py [--check] BIN CROSS [NAME...]

Each layer of grid.def (or those named) is compiled for each of VTAC_GRID_HOSTS (default: the ARM boards', and one with dot
products) and runs under qemu-user, whose plugin (count_insns.c) counts the instructions of one run: no clock, so no load of
this machine shows. A line tells the layer, the host, its kind, millions of instructions, millions of products (for a layer
that multiplies: what its definition says, whatever the kernel does) or of elements, their quotient, and what is allowed.
Layers of the kinds that ELEMENTS does not name are counted and not judged: their work is not told by their size.
--check: exit status 1 where a quotient is above that. 77: no emulator. BIN holds vtac and grid_models; in CROSS
fpga/cross/package.sh keeps what it builds.

Two things are wrong with a kernel: SCALAR, it takes as many instructions for a product as one that takes its operands one by
one, or for an element as a polynomial without vectors; and SLOW, where at least LEAST layers of its kind and type were
counted, it takes SLOW times the instructions of the middle one.
"""
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

import onnx

from boards import BOARDS

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# The products of bytes that one instruction of a host makes (of floats, it is 4 on all of them).
DOTS = {"pynq": 4, "ultra96": 4, "rasp4": 4, "aarch64-dotprod": 16}
# Instructions for each product of a kernel without vectors: two loads, the product, a share of the loop.
SCALAR = 4
# Instructions for an element without vectors, or for a vector's polynomial whose lanes leave it: by operator; pynq, others.
RATES = {"curve": (45, 25), "move": (8, 6)}
ELEMENTS = {
    "Softmax": "curve", "Gelu": "curve", "Erf": "curve", "Tanh": "curve", "Sigmoid": "curve", "LayerNormalization": "curve",
    "Add": "move", "Mul": "move", "Div": "move", "ReduceSum": "move", "Transpose": "move", "QuantizeLinear": "move",
}
SLOW, LEAST = 4.0, 5
# Layers above a limit, and why.
KNOWN = {
    ("pynq", "conv_dw24_m2"): "two outputs of a channel go the general way",
    ("pynq", "qconv_dw24_m2"): "two outputs of a channel go the general way",
    ("pynq", "qconv_c48_g16"): "three channels and three outputs of a group fill no vector",
    ("pynq", "convt_dw64_k4"): "each channel's phases go the general way",
    ("aarch64-dotprod", "qconv_c1_k5"): "five bytes of a row take two dot products, of eight",
}


def attribute(node, name, default):
    return next((onnx.helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)


def sizes_of(model):
    """The shape of each value that is known."""
    graph = onnx.shape_inference.infer_shapes(model).graph
    sizes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim]
             for v in [*graph.input, *graph.output, *graph.value_info]}
    sizes.update({c.name: list(c.dims) for c in graph.initializer})
    for node in graph.node:
        if node.op_type == "QGemm":  # ONNX itself does not know it
            sizes[node.output[0]] = [sizes[node.input[0]][0], sizes[node.input[3]][0 if attribute(node, "transB", 0) else 1]]
    return sizes


def products_of(node, sizes):
    """(multiplications that are summed, what kind of layer they make) of a node; 0: it has none."""
    first = sizes.get(node.input[0], [])
    made = math.prod(sizes.get(node.output[0], []) or [0])
    if node.op_type in ("Conv", "QLinearConv"):
        weights = sizes[node.input[3 if node.op_type == "QLinearConv" else 1]]
        return made * math.prod(weights[1:]), "depthwise" if weights[1] == 1 and first[1] > 1 else "convolution"
    if node.op_type == "ConvTranspose":
        weights = sizes[node.input[1]]
        apart = attribute(node, "group", 1) == first[1] > 1
        return math.prod(first) * math.prod(weights[1:]), "depthwise" if apart else "convolution"
    if node.op_type in ("MatMul", "QLinearMatMul", "MatMulInteger", "Gemm", "QGemm"):
        inner = first[-2 if attribute(node, "transA", 0) else -1]
        rows = made // (sizes[node.output[0]] or [1])[-1]
        return made * inner, "row" if rows == 1 else "product"
    if node.op_type in ("LSTM", "GRU", "RNN"):
        return first[0] * first[1] * (math.prod(sizes[node.input[1]]) + math.prod(sizes[node.input[2]])), "recurrent"
    if node.op_type == "Einsum":
        terms = attribute(node, "equation", b"").decode().split("->")[0].split(",")
        letters = {c: s for term, name in zip(terms, node.input) for c, s in zip(term.strip(), sizes[name])}
        return math.prod(letters.values()), "product"
    return 0, ""


def work_of(path):
    """(how much, in what, of which kind): products of the kind that has most of them, or elements."""
    model = onnx.load(path)
    sizes = sizes_of(model)
    found = [products_of(node, sizes) for node in model.graph.node]
    products = sum(p for p, _ in found)
    if products > 0:
        return products, "products", max(found)[1]
    constants = {c.name for c in model.graph.initializer}
    elements = max(math.prod(size) for name, size in sizes.items() if name not in constants)
    return elements, "elements", model.graph.node[-1].op_type


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        sys.exit(f"grid_counted: {' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done


class Counter:
    """Counts the instructions of a model's run on a host."""

    def __init__(self, tools, cross, folder, host):
        board, prefix, emulator, getppid = BOARDS[host]
        self.tools, self.folder, self.host = tools, folder, host
        for tool in (emulator.split()[0], f"{prefix}-gcc"):
            if shutil.which(tool) is None:
                print(f"{tool} is not installed")
                sys.exit(77)
        run([f"{ROOT}/fpga/cross/package.sh", board, cross])
        run([f"{prefix}-gcc", "-std=c17", "-O2", "-D_GNU_SOURCE", f"-I{cross}/vta-{board}/include", f"{HERE}/counted.c",
             "-o", f"{folder}/counted", f"{cross}/vta-{board}/lib/libvta.a", "-lpthread", "-ldl", "-lm"])
        self.command = emulator.split() + ["-L", f"/usr/{prefix}", "-d", "plugin", "-plugin",
                                           f"{folder}/count_insns.so,getppid={getppid}", f"{folder}/counted"]

    def count(self, path):
        run([f"{self.tools}/vtac", "compile", path, "--host", self.host, "-o", f"{self.folder}/model.so"])
        done = run([*self.command, f"{self.folder}/model.so", "fsim", "1"])
        return int(re.findall(r"^\d+$", done.stderr, re.M)[-1])


def scalar_limit(host, quantized, unit, kind):
    """None: not judged."""
    if unit == "products":
        dots = quantized and kind != "depthwise"  # whose products are of one channel each
        return SCALAR * 4 / (DOTS[host] if dots else 4)
    return RATES[ELEMENTS[kind]][host != "pynq"] if kind in ELEMENTS else None


def judge(rows, host):
    """Prints the rows; returns how many are above what is allowed."""
    above = 0
    for name, count, work, unit, kind, quantized in rows:
        like = sorted(r[1] / r[2] for r in rows if r[3:] == (unit, kind, quantized))
        most = scalar_limit(host, quantized, unit, kind)
        if most is not None and unit == "products" and len(like) >= LEAST:
            most = min(most, SLOW * like[len(like) // 2])
        word = "not judged" if most is None else f"{most:.2f}"
        if most is not None and count / work > most:
            known = KNOWN.get((host, name))
            word += f"  known: {known}" if known else "  above"
            above += known is None
        print(f"{name:20} {host:16} {kind:18} {count / 1e6:9.3f} {work / 1e6:9.3f} {count / work:8.3f}  {word}", flush=True)
    return above


def main():
    arguments = sys.argv[1:]
    check = arguments[:1] == ["--check"]
    arguments = arguments[1:] if check else arguments
    if len(arguments) < 2:
        sys.exit("usage: grid_counted.py [--check] BIN CROSS [NAME...]")
    tools, cross, *wanted = arguments
    above = 0
    with tempfile.TemporaryDirectory() as folder:
        run(["gcc", "-std=c17", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", f"{HERE}/count_insns.c", "-o",
             f"{folder}/count_insns.so"])
        names = run([f"{tools}/grid_models", folder, *wanted]).stdout.split()
        print(f"{'layer':20} {'host':16} {'kind':18} {'M insns':>9} {'M of work':>9} {'each':>8}  most")
        for host in os.environ.get("VTAC_GRID_HOSTS", " ".join(BOARDS)).split():
            counter = Counter(tools, cross, folder, host)
            rows = [(name, counter.count(f"{folder}/{name}.onnx"), *work_of(f"{folder}/{name}.onnx"), name.startswith("q"))
                    for name in names]
            above += judge(rows, host)
    print(f"{above} above what is allowed")
    sys.exit(1 if check and above else 0)


main()
