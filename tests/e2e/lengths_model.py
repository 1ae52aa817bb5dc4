#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# lengths_model.py SEED FORM TOKENS HEADS EACH: writes lengths.onnx, one block of XCiT: channels look at channels, queries and keys are
# divided by their length over the tokens, and each head has a factor of its own. samples.npz has inputs to calibrate it; run1.npz and run2.npz
# inputs of one run each; real1.npy and real2.npy their outputs in double, computed here.
#
# FORM: how the length is written
#       clip    x / Expand(Clip(ReduceL2(x), 1e-12)), as PyTorch exports it
#       max     x / Max(Sqrt(ReduceSum(x * x)), 1e-7)
#       square  x * Reciprocal(Sqrt(ReduceSumSquare(x) + 1e-12)), as TensorFlow does
#       floor   as clip, with a floor that shortens rows: this is no length
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SAMPLES = 6


class Net:
    def __init__(self, rng, form, tokens, heads, each):
        self.rng, self.form, self.tokens, self.heads, self.each, self.width = rng, form, tokens, heads, each, heads * each
        self.nodes, self.constants = [], {}

    def constant(self, array):
        name = "c%d" % len(self.constants)
        self.constants[name] = np.asarray(array)
        return name

    def number(self, x):
        return self.constant(np.array(x, np.float32))

    def node(self, op, *inputs, **attributes):
        name = "%s_%d" % (op, len(self.nodes))
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def dense(self, x, inputs, outputs):
        weights = self.constant((self.rng.standard_normal((inputs, outputs)) / np.sqrt(inputs)).astype(np.float32))
        return self.node("Add", self.node("MatMul", x, weights), self.constant((0.1 * self.rng.standard_normal(outputs)).astype(np.float32)))

    def unit(self, x):
        if self.form in ("clip", "floor"):
            floor = self.number(1e-12 if self.form == "clip" else 2.0 * np.sqrt(self.tokens))
            length = self.node("Clip", self.node("ReduceL2", x, axes=[-1], keepdims=1), floor)
            return self.node("Div", x, self.node("Expand", length, self.constant(np.array([1, self.heads, self.each, self.tokens]))))
        if self.form == "max":
            total = self.node("ReduceSum", self.node("Mul", x, x), self.constant(np.array([3])))
            return self.node("Div", x, self.node("Max", self.number(1e-7), self.node("Sqrt", total)))
        total = self.node("Add", self.node("ReduceSumSquare", x, axes=[3]), self.number(1e-12))
        return self.node("Mul", self.node("Reciprocal", self.node("Sqrt", total)), x)

    def build(self):
        t, h, d, w = self.tokens, self.heads, self.each, self.width
        qkv = self.node("Reshape", self.dense("x", w, 3 * w), self.constant(np.array([1, t, 3, h, d])))
        qkv = self.node("Transpose", qkv, perm=[2, 0, 3, 4, 1])
        q, k, v = [self.node("Gather", qkv, self.constant(np.array(i)), axis=0) for i in range(3)]
        a = self.node("MatMul", self.unit(q), self.node("Transpose", self.unit(k), perm=[0, 1, 3, 2]))
        a = self.node("Mul", a, self.constant(self.rng.uniform(1, 6, (h, 1, 1)).astype(np.float32)))
        y = self.node("Transpose", self.node("MatMul", self.node("Softmax", a, axis=-1), v), perm=[0, 3, 1, 2])
        y = self.dense(self.node("Reshape", y, self.constant(np.array([1, t, w]))), w, w)
        self.dense(self.node("Add", "x", y), w, w)


def softmax(a):
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def compute(net, x):
    """The output in double, operator by operator."""
    v = {**{k: a.astype(np.float64) if a.dtype == np.float32 else a for k, a in net.constants.items()}, "x": x.astype(np.float64)}
    functions = {
        "Add": lambda n, a, b: a + b, "Mul": lambda n, a, b: a * b, "Div": lambda n, a, b: a / b, "MatMul": lambda n, a, b: a @ b,
        "Sqrt": lambda n, a: np.sqrt(a), "Reciprocal": lambda n, a: 1 / a, "Max": lambda n, a, b: np.maximum(a, b), "Clip": lambda n, a, b: np.maximum(a, b),
        "Reshape": lambda n, a, shape: a.reshape(shape), "Transpose": lambda n, a: a.transpose(list(n.attribute[0].ints)),
        "Gather": lambda n, a, i: a[i], "Expand": lambda n, a, shape: np.broadcast_to(a, shape), "Softmax": lambda n, a: softmax(a),
        "ReduceL2": lambda n, a: np.sqrt((a * a).sum(-1, keepdims=True)), "ReduceSum": lambda n, a, axes: a.sum(-1, keepdims=True),
        "ReduceSumSquare": lambda n, a: (a * a).sum(-1, keepdims=True),
    }
    for n in net.nodes:
        v[n.output[0]] = functions[n.op_type](n, *[v[i] for i in n.input])
    return v[net.nodes[-1].output[0]]


def main():
    seed, form, tokens, heads, each = int(sys.argv[1]), sys.argv[2], *[int(x) for x in sys.argv[3:]]
    rng = np.random.default_rng(seed)
    net = Net(rng, form, tokens, heads, each)
    net.build()
    info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, tokens, heads * each])
    graph = helper.make_graph(net.nodes, "lengths", [info("x")], [info(net.nodes[-1].output[0])],
                              [numpy_helper.from_array(a, k) for k, a in net.constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "lengths.onnx")
    draw = lambda: rng.standard_normal((1, tokens, heads * each)).astype(np.float32) + rng.standard_normal((1, 1, heads * each)).astype(np.float32)
    np.savez("samples.npz", x=np.stack([draw() for _ in range(SAMPLES)]))
    for run in (1, 2):
        x = draw()
        np.savez("run%d.npz" % run, x=x)
        np.save("real%d.npy" % run, compute(net, x))


main()
