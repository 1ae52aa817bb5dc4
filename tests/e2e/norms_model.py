#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# norms_model.py SEED FORM CHANNELS GROUPS HEIGHT WIDTH: writes norms.onnx, convolutions with a normalization of planes behind each
# but the last; samples.npz, inputs to calibrate it; run1.npz and run2.npz, inputs of one run each.
#
# FORM: instance   InstanceNormalization, then Relu
#       group      GroupNormalization of opset 21, with a number for each channel
#       by_group   GroupNormalization of opset 18, with a number for each group
#       torch      groups as PyTorch exports them: Reshape, InstanceNormalization, Reshape, Mul, Add; then SiLU
#       parts      an instance normalization in its parts, by means over two axes
#       neighbours normalization by neighbouring channels, whose exponent, factor and size differ
#       clamped    instances in 8 bits already, with Relu in 8 bits behind them: it is norms8.onnx
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SAMPLES = 4


def build(rng, form, channels, groups, height, width):
    nodes, constants = [], []

    def constant(array, dtype=np.float32):
        constants.append(numpy_helper.from_array(np.asarray(array, dtype), "c%d" % len(constants)))
        return constants[-1].name

    def node(op, *inputs, **attributes):
        nodes.append(helper.make_node(op, inputs, ["%s_%d" % (op, len(nodes))], name="%s_%d" % (op, len(nodes)), **attributes))
        return nodes[-1].output[0]

    def conv(x, terms, outputs):
        w = rng.standard_normal((outputs, terms, 3, 3)) / np.sqrt(terms * 9)
        return node("Conv", x, constant(w), constant(0.1 * rng.standard_normal(outputs)), pads=[1, 1, 1, 1])

    def norm(x):
        each = groups if form == "by_group" else channels
        gain, bias = 1.0 + 0.3 * rng.standard_normal(each), 0.3 * rng.standard_normal(each)
        if form == "instance":
            return node("Relu", node("InstanceNormalization", x, constant(gain), constant(bias), epsilon=1e-5))
        if form == "neighbours":
            alpha, size = float(10 ** rng.uniform(-4, 0)), int(rng.integers(1, 8))
            return node("LRN", node("Relu", x), size=size, alpha=alpha, beta=float(rng.uniform(0.4, 1.0)), bias=float(rng.uniform(0.5, 2.0)))
        if form in ("group", "by_group"):
            return node("GroupNormalization", x, constant(gain), constant(bias), num_groups=groups, epsilon=1e-5)
        column = (channels, 1, 1)
        if form == "torch":
            y = node("Reshape", x, constant([0, groups, -1], np.int64))
            y = node("InstanceNormalization", y, constant(np.ones(groups)), constant(np.zeros(groups)), epsilon=1e-5)
            y = node("Reshape", y, constant([1, channels, height, width], np.int64))
            y = node("Add", node("Mul", y, constant(gain.reshape(column))), constant(bias.reshape(column)))
            return node("Mul", y, node("Sigmoid", y))
        off = node("Sub", x, node("ReduceMean", x, axes=[2, 3]))
        variance = node("ReduceMean", node("Mul", off, off), axes=[2, 3])
        y = node("Div", off, node("Sqrt", node("Add", variance, constant(1e-5))))
        return node("Add", node("Mul", y, constant(gain.reshape(column))), constant(bias.reshape(column)))

    def bits(x, scale):
        pair = constant(scale), constant(0, np.int8)
        return node("DequantizeLinear", node("QuantizeLinear", x, *pair), *pair)

    def clamped(x, terms):
        w = node("DequantizeLinear", constant(rng.integers(-90, 90, (channels, terms, 3, 3)), np.int8), constant(0.01), constant(0, np.int8))
        y = bits(node("Conv", x, w, pads=[1, 1, 1, 1]), 0.02 * np.sqrt(terms))
        y = bits(node("InstanceNormalization", y, constant(np.ones(channels)), constant(np.zeros(channels))), 0.03)
        return bits(node("Relu", y), 0.03)

    def info(name, outputs):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, outputs, height, width])

    if form == "clamped":
        y = clamped(clamped(bits("x", 0.03), 3), channels)
        graph = helper.make_graph(nodes, "norms", [info("x", 3)], [info(y, channels)], constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    y = norm(conv("x", 3, channels))
    y = norm(conv(y, channels, channels))
    y = conv(y, channels, 4)
    graph = helper.make_graph(nodes, "norms", [info("x", 3)], [info(y, 4)], constants)
    opset = {"group": 21, "by_group": 18}.get(form, 17)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def main():
    rng = np.random.default_rng(int(sys.argv[1]))
    channels, groups, height, width = (int(a) for a in sys.argv[3:7])
    onnx.save(build(rng, sys.argv[2], channels, groups, height, width), "norms8.onnx" if sys.argv[2] == "clamped" else "norms.onnx")
    x = rng.standard_normal((SAMPLES, 1, 3, height, width)).astype(np.float32)
    np.savez("samples.npz", x=x)
    for run in (1, 2):
        np.savez("run%d.npz" % run, x=x[run])


main()
