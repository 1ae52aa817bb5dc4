#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# attention_model.py SEED TOKENS WIDTH HEADS KIND: writes masked.onnx, one layer of an encoder whose run says which tokens count;
# samples.npz, inputs to calibrate it; run1.npz and run2.npz, inputs of one run each.
#
# KIND: tokens   the mask is one row for all, as an encoder of texts has it
#       pairs    each token has a row of its own
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FAR_BELOW = -10000.0
SAMPLES = 4


def build(rng, tokens, width, heads, pairs):
    nodes, constants = [], []
    each = width // heads

    def constant(name, array):
        constants.append(numpy_helper.from_array(array, name))
        return name

    def node(op, inputs, **attributes):
        nodes.append(helper.make_node(op, inputs, ["%s_%d" % (op, len(nodes))], name="%s_%d" % (op, len(nodes)), **attributes))
        return nodes[-1].output[0]

    def dense(x, outputs, name):
        scale = 1.0 / np.sqrt(width)
        w = constant(name, (rng.standard_normal((width, outputs)) * scale).astype(np.float32))
        return node("Add", [node("MatMul", [x, w]), constant(name + "_bias", rng.standard_normal(outputs).astype(np.float32) * 0.1)])

    def split(x, perm):
        apart = constant("apart%d" % len(nodes), np.array([1, tokens, heads, each], np.int64))
        return node("Transpose", [node("Reshape", [x, apart])], perm=perm)

    def norm(x, name):
        gain = constant(name, (1.0 + 0.1 * rng.standard_normal(width)).astype(np.float32))
        return node("LayerNormalization", [x, gain, constant(name + "_bias", np.zeros(width, np.float32))], axis=-1)

    rows = tokens if pairs else 1
    counts = node("Cast", ["mask"], to=TensorProto.FLOAT)
    counts = node("Reshape", [counts, constant("one_row", np.array([1, 1, rows, tokens], np.int64))])
    away = node("Sub", [constant("one", np.float32(1)), counts])
    hidden = node("Mul", [away, constant("far", np.float32(FAR_BELOW))])
    x = norm("x", "first")
    q, k, v = dense(x, width, "q"), dense(x, width, "k"), dense(x, width, "v")
    scores = node("MatMul", [split(q, [0, 2, 1, 3]), split(k, [0, 2, 3, 1])])
    scores = node("Div", [scores, constant("root", np.float32(np.sqrt(each)))])
    shares = node("Softmax", [node("Add", [scores, hidden])], axis=-1)
    mixed = node("Transpose", [node("MatMul", [shares, split(v, [0, 2, 1, 3])])], perm=[0, 2, 1, 3])
    mixed = node("Reshape", [mixed, constant("joined", np.array([1, tokens, width], np.int64))])
    y = norm(node("Add", [dense(mixed, width, "o"), "x"]), "second")
    y = dense(y, width, "last")
    graph = helper.make_graph(
        nodes, "masked",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, tokens, width]),
         helper.make_tensor_value_info("mask", TensorProto.INT64, [1, rows, tokens])],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, [1, tokens, width])], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main():
    rng = np.random.default_rng(int(sys.argv[1]))
    tokens, width, heads = (int(a) for a in sys.argv[2:5])
    pairs = sys.argv[5] == "pairs"
    onnx.save(build(rng, tokens, width, heads, pairs), "masked.onnx")
    mask = rng.random((SAMPLES, 1, tokens if pairs else 1, tokens)) < 0.7
    mask[..., 0] = True  # each row has a number that counts
    x = rng.standard_normal((SAMPLES, 1, tokens, width)).astype(np.float32)
    np.savez("samples.npz", x=x, mask=mask.astype(np.int64))
    for run in (1, 2):
        np.savez("run%d.npz" % run, x=x[run], mask=mask[run].astype(np.int64))


main()
