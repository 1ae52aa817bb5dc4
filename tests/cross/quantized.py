#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# quantized.py VTAC QEMU PACKAGE BOARD CONFIG SEED: QuantizeLinear on processors that divide floats slowly, where the code multiplies:
# for random scales, all floats within 40 of each tie and of each border between integers, numbers of any size, infinities and
# NaN, as a step of its own and while a tensor is packed for the accelerator, against NumPy's division. Without python3-onnx,
# exit status 77.
import os
import random
import subprocess
import sys
import tempfile

import numpy

try:
    from onnx import TensorProto as T, helper, numpy_helper, save
except ImportError:
    print("python3-onnx is not installed")
    sys.exit(77)

F32 = numpy.float32
NEAR = 40
TYPES = {numpy.int8: T.INT8, numpy.uint8: T.UINT8, numpy.int16: T.INT16}


def scales(rng):
    """Of any mantissa; one with few bits, whose ties are quotients; one that is a power of two."""
    wild = [F32(rng.uniform(1, 2)) * F32(2.0) ** F32(rng.randint(-12, 4)) for _ in range(5)]
    return wild + [F32(1 / 127.5), F32(0.75), F32(2.0 ** rng.randint(-8, 0)), F32(1e-30), F32(3e-39)]


def near_ties(scale, dtype):
    limits = numpy.iinfo(dtype)
    span = int(limits.max) - int(limits.min) if limits.bits == 8 else 600
    ties = ((numpy.arange(-2 * span - 3, 2 * span + 4) / 2) * float(scale)).astype(F32)
    bits = ties.view(numpy.int32)[:, None] + numpy.arange(-NEAR, NEAR + 1, dtype=numpy.int32)
    return bits.view(F32).ravel()


def anything(rng, count):
    wild = numpy.array([rng.getrandbits(32) for _ in range(count)], dtype=numpy.uint32).view(F32)
    return numpy.concatenate([wild, numpy.array([0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e-45, 3e38, -3e38], F32)])


def expected(x, scale, zero):
    limits = numpy.iinfo(zero.dtype)
    with numpy.errstate(all="ignore"):
        q = (x / scale).astype(F32)
    whole = numpy.clip(numpy.rint(q.astype(float)), -1e9, 1e9) + float(zero)
    return numpy.where(numpy.isnan(q), 0, numpy.clip(whole, limits.min, limits.max)).astype(zero.dtype)


class Many:
    """A model of many small ones, side by side: one compilation, one run."""

    def __init__(self):
        self.nodes, self.constants, self.inputs, self.outputs, self.wanted = [], {}, [], [], []

    def add(self, what, x, want, nodes, constants):
        """Nodes as (operator, inputs, output, attributes); their names get the model's number behind them."""
        number = len(self.inputs)
        name = lambda text: "%s_%d" % (text, number)
        self.nodes += [helper.make_node(op, [name(i) for i in inputs], [name(output)], **attributes)
                       for op, inputs, output, attributes in nodes]
        self.constants.update((name(k), v) for k, v in constants.items())
        self.inputs.append((name("x"), x))
        self.wanted.append((name("y"), want, what))

    def run(self, options, there, target):
        kinds = {**TYPES, numpy.float32: T.FLOAT}
        value = lambda name, array: helper.make_tensor_value_info(name, kinds[array.dtype.type], array.shape)
        graph = helper.make_graph(self.nodes, "g", [value(*i) for i in self.inputs], [value(n, w) for n, w, _ in self.wanted],
                                  [numpy_helper.from_array(numpy.asarray(v), k) for k, v in self.constants.items()])
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), "m.onnx")
        given = []
        for name, x in self.inputs:
            numpy.save(name + ".npy", x)
            given += ["--input", name + ".npy"]
        for command in (options + ["m.onnx", "--target", target, "-o", "there.so"], there + ["there.so", "--output-dir", "out"] + given):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.exit("%s: %s" % (" ".join(command), done.stderr))
        differ = 0
        for name, want, what in self.wanted:
            wrong = int((numpy.load("out/%s.npy" % name) != want).sum())
            differ += wrong
            if wrong:
                print("%s: %d integers differ" % (what, wrong))
        return differ, sum(want.size for _, want, _ in self.wanted)


def alone(rng):
    """As a step of its own, of any shape."""
    many = Many()
    for number, scale in enumerate(scales(rng)):
        dtype = list(TYPES)[number % 3] if number > 1 else numpy.int8
        limits = numpy.iinfo(dtype)
        zero = dtype(rng.randint(int(limits.min), int(limits.max)))
        x = numpy.concatenate([near_ties(scale, dtype), anything(rng, 3000)])
        numpy.random.default_rng(rng.getrandbits(32)).shuffle(x)
        for shape in ([1, x.size - x.size % 512], [x.size // 7, 7], [rng.randint(4, 500)], [3]):
            part = x[:int(numpy.prod(shape))].reshape(shape)
            many.add("%s by %r, zero %d, %s" % (dtype.__name__, scale, zero, shape), part, expected(part, scale, zero),
                     [("QuantizeLinear", ["x", "s", "z"], "y", {})], {"s": scale, "z": zero})
    return many


def product(q, zero, w, stride):
    """Sums of a 3x3 window with borders, in whole numbers."""
    p = numpy.pad(q.astype(int) - int(zero), ((0, 0), (0, 0), (1, 1), (1, 1)))
    rows, columns = (-(-q.shape[2] // stride), -(-q.shape[3] // stride))
    parts = [p[:, :, i:i + stride * rows:stride, j:j + stride * columns:stride] for i in range(3) for j in range(3)]
    return numpy.einsum("tnchw,oct->nohw", numpy.array(parts), w.reshape(w.shape[0], w.shape[1], 9).astype(int))


def packed(rng):
    """A picture is quantized while its windows are laid out: the sums over them tell of any integer off."""
    many = Many()
    for side, stride in ((33, 2), (28, 1), (20, 2), (5, 1)):
        for dtype in (numpy.int8, numpy.uint8):
            scale = scales(rng)[rng.randrange(6)]
            zero = dtype(rng.randint(int(numpy.iinfo(dtype).min), int(numpy.iinfo(dtype).max)))
            x = numpy.random.default_rng(rng.getrandbits(32)).choice(near_ties(scale, dtype), (1, 3, side, side + 3)).astype(F32)
            w = numpy.random.default_rng(rng.getrandbits(32)).integers(-9, 9, (8, 3, 3, 3)).astype(numpy.int8)
            by = F32(32)
            sums = product(expected(x, scale, zero), zero, w, stride)
            want = numpy.clip(numpy.rint(sums / float(by)), -128, 127).astype(F32)
            many.add("packed %s of %d by stride %d, scale %r" % (dtype.__name__, side, stride, scale), x, want,
                     [("QuantizeLinear", ["x", "s", "z"], "q", {}),
                      ("QLinearConv", ["q", "one", "z", "w", "one", "n", "by", "n"], "c",
                       {"pads": [1, 1, 1, 1], "strides": [stride, stride], "kernel_shape": [3, 3]}),
                      ("DequantizeLinear", ["c", "one", "n"], "y", {})],
                     {"s": scale, "z": zero, "w": w, "one": F32(1), "n": numpy.int8(0), "by": by})
    return many


def main():
    vtac, qemu, package, board, config, seed = sys.argv[1:7]
    rng = random.Random(seed)
    print("seed", seed)
    options = [vtac, "compile", "--host", board, "--config", config, "--offload", "all"]
    there = qemu.split() + [package + "/bin/vta-run"]
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        wrong, checked = (sum(pair) for pair in zip(alone(rng).run(options, there, "llvm"), packed(rng).run(options, there, "vta")))
    print("%d integers, %d differ" % (checked, wrong))
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
