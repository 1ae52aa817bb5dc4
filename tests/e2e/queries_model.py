#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# queries_model.py SEED SIDE HEADS EACH QUERIES: writes queries.onnx, a picture whose rows become a picture again and again, as
# SegFormer's do: patches, layer normalization, a depthwise convolution between dense layers; then half of the channels is a gate of the
# other half, mixed along the places, as in gMLP; then all places mix twice, as in MLP-Mixer; then queries that are learned look at the rows, as in DETR and Perceiver. samples.npz has inputs to calibrate it; run1.npz and run2.npz inputs of one run each.
#
# SIDE: patches of a row and of a column; HEADS heads of EACH channels
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SAMPLES, PATCH = 4, 4


def build(rng, side, heads, each, queries):
    nodes, constants = [], []
    width, tokens = heads * each, side * side

    def constant(array):
        constants.append(numpy_helper.from_array(array, "c%d" % len(constants)))
        return constants[-1].name

    def normal(*shape):
        return constant((rng.standard_normal(shape) / np.sqrt(shape[0] if len(shape) == 2 else np.prod(shape[1:]))).astype(np.float32))

    def node(op, inputs, **attributes):
        nodes.append(helper.make_node(op, inputs, ["%s_%d" % (op, len(nodes))], name="%s_%d" % (op, len(nodes)), **attributes))
        return nodes[-1].output[0]

    def reshape(x, *dims):
        return node("Reshape", [x, constant(np.array(dims, np.int64))])

    def dense(x, inputs, outputs):
        return node("Add", [node("MatMul", [x, normal(inputs, outputs)]), constant(rng.standard_normal(outputs).astype(np.float32) * 0.1)])

    def norm(x):
        gain = constant((1.0 + 0.1 * rng.standard_normal(width)).astype(np.float32))
        return node("LayerNormalization", [x, gain, constant(np.zeros(width, np.float32))], axis=-1)

    def picture(x, channels):
        return reshape(node("Transpose", [x], perm=[0, 2, 1]), 1, channels, side, side)

    def rows(x, channels):
        return node("Transpose", [reshape(x, 1, channels, -1)], perm=[0, 2, 1])

    x = rows(node("Conv", ["x", normal(width, 3, PATCH, PATCH)], strides=[PATCH, PATCH], kernel_shape=[PATCH, PATCH]), width)
    y = dense(norm(x), width, 2 * width)
    y = node("Conv", [picture(y, 2 * width), normal(2 * width, 1, 3, 3)], group=2 * width, pads=[1, 1, 1, 1], kernel_shape=[3, 3])
    x = node("Add", [x, dense(rows(node("Relu", [y]), 2 * width), 2 * width, width)])
    u = dense(norm(x), width, 2 * width)
    half = lambda first: node("Slice", [u, constant(np.array([first])), constant(np.array([first + width])), constant(np.array([2]))])
    mixed = node("Conv", [half(width), normal(tokens, tokens, 1)], kernel_shape=[1])
    x = node("Add", [x, dense(node("Mul", [half(0), mixed]), width, width)])
    for _ in range(2):
        y = dense(node("Transpose", [norm(x)], perm=[0, 2, 1]), tokens, tokens)
        x = node("Add", [x, node("Transpose", [y], perm=[0, 2, 1])])
    x = norm(x)
    few = rows(node("Conv", [picture(x, width), normal(width, width, 2, 2)], strides=[2, 2], kernel_shape=[2, 2]), width)
    k, v = [node("Transpose", [reshape(dense(few, width, width), 1, -1, heads, each)], perm=perm) for perm in ([0, 2, 3, 1], [0, 2, 1, 3])]
    q = constant((rng.standard_normal((1, heads, queries, each)) / np.sqrt(each)).astype(np.float32))
    y = node("MatMul", [node("Softmax", [node("MatMul", [q, k])], axis=-1), v])
    y = dense(reshape(node("Transpose", [y], perm=[0, 2, 1, 3]), 1, queries, width), width, width)
    node("ReduceMean", [y], axes=[1], keepdims=0)
    shape = [1, 3, side * PATCH, side * PATCH]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    taken = [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, [1, width])]
    graph = helper.make_graph(nodes, "queries", given, taken, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), shape


def main():
    seed, *sizes = [int(x) for x in sys.argv[1:]]
    rng = np.random.default_rng(seed)
    model, shape = build(rng, *sizes)
    onnx.save(model, "queries.onnx")
    draw = lambda n: rng.standard_normal((n, *shape[1:])).astype(np.float32)
    np.savez("samples.npz", x=draw(SAMPLES))
    for run in (1, 2):
        np.savez("run%d.npz" % run, x=draw(1))


main()
