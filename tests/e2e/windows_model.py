#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# windows_model.py SEED SIDE ACROSS HEADS EACH: writes windows.onnx, attention in the windows of a picture as Swin has it: layer
# normalization, windows that are rolled by half a window, queries, keys and values in one dense layer, positions that are added to
# scores, a mask that is added (two windows beside each other do not see each other's numbers), the way back, a residual.
# samples.npz has inputs to calibrate it; run1.npz and run2.npz inputs of one run each.
#
# SIDE: pixels of a window's side; ACROSS: windows of a row and of a column; HEADS heads of EACH channels
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SAMPLES = 4


def build(rng, side, across, heads, each):
    nodes, constants = [], []
    width, picture, tokens, windows = heads * each, side * across, side * side, across * across

    def constant(name, array):
        constants.append(numpy_helper.from_array(array, name))
        return name

    def node(op, inputs, **attributes):
        nodes.append(helper.make_node(op, inputs, ["%s_%d" % (op, len(nodes))], name="%s_%d" % (op, len(nodes)), **attributes))
        return nodes[-1].output[0]

    def shape(*dims):
        return constant("shape%d" % len(constants), np.array(dims, np.int64))

    def dense(x, outputs, name):
        w = constant(name, (rng.standard_normal((width, outputs)) / np.sqrt(width)).astype(np.float32))
        return node("Add", [node("MatMul", [x, w]), constant(name + "_bias", rng.standard_normal(outputs).astype(np.float32) * 0.1)])

    def part(x, axis, first, end):
        return node("Slice", [x, shape(first), shape(end), shape(axis)])

    def roll(x, axis, by):
        return node("Concat", [part(x, axis, by, picture), part(x, axis, 0, by)], axis=axis)

    def head(packed, number, perm):
        one = node("Gather", [packed, constant("part%d" % number, np.array(number, np.int64))], axis=0)
        return node("Transpose", [one], perm=perm) if perm else one

    by = side // 2
    gain = constant("gain", (1.0 + 0.1 * rng.standard_normal(width)).astype(np.float32))
    rows = node("Transpose", ["x"], perm=[0, 2, 3, 1])
    y = node("LayerNormalization", [rows, gain, constant("shift", np.zeros(width, np.float32))], axis=-1)
    y = roll(roll(y, 1, by), 2, by)
    y = node("Transpose", [node("Reshape", [y, shape(1, across, side, across, side, width)])], perm=[0, 1, 3, 2, 4, 5])
    y = dense(node("Reshape", [y, shape(windows, tokens, width)]), 3 * width, "qkv")
    packed = node("Transpose", [node("Reshape", [y, shape(windows, tokens, 3, heads, each)])], perm=[2, 0, 3, 1, 4])
    q = node("Mul", [head(packed, 0, None), constant("scale", np.float32(1 / np.sqrt(each)))])
    scores = node("MatMul", [q, head(packed, 1, [0, 1, 3, 2])])
    scores = node("Add", [scores, constant("place", rng.standard_normal((1, heads, tokens, tokens)).astype(np.float32) * 0.3)])
    mask = np.where(rng.random((windows, 1, tokens, tokens)) < 0.2, -100.0, 0.0).astype(np.float32)
    mask[:, :, np.arange(tokens), np.arange(tokens)] = 0.0
    scores = node("Add", [scores, constant("mask", mask)])
    mixed = node("MatMul", [node("Softmax", [scores], axis=-1), head(packed, 2, None)])
    mixed = node("Reshape", [node("Transpose", [mixed], perm=[0, 2, 1, 3]), shape(windows, tokens, width)])
    y = node("Reshape", [dense(mixed, width, "out"), shape(1, across, across, side, side, width)])
    y = node("Reshape", [node("Transpose", [y], perm=[0, 1, 3, 2, 4, 5]), shape(1, picture, picture, width)])
    y = roll(roll(y, 1, picture - by), 2, picture - by)
    y = dense(node("Add", [rows, y]), width, "last")
    y = node("GlobalAveragePool", [node("Transpose", [y], perm=[0, 3, 1, 2])])
    graph = helper.make_graph(
        nodes, "windows", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, width, picture, picture])],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, [1, width, 1, 1])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model, [1, width, picture, picture]


def main():
    seed, side, across, heads, each = (int(word) for word in sys.argv[1:])
    rng = np.random.default_rng(seed)
    model, dims = build(rng, side, across, heads, each)
    onnx.save(model, "windows.onnx")
    np.savez("samples.npz", x=rng.standard_normal([SAMPLES] + dims).astype(np.float32))
    for number in (1, 2):
        np.savez("run%d.npz" % number, x=rng.standard_normal(dims).astype(np.float32))


main()
