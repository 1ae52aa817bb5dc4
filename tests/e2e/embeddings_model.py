#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# embeddings_model.py SEED FORM TOKENS WIDTH: writes embeddings.onnx, the beginning of a text encoder and one block of it; samples.npz,
# inputs to calibrate it; run1.npz and run2.npz, inputs of one run each; real1.npy and real2.npy, their outputs in double, computed here.
#
# FORM: words  words + kinds + places are looked up, added and normalized, as in BERT
#       before rows that are added to places stay beside what normalizes them, as in GPT-2
#       given  rows are given, and normalized by RMSNormalization
#       alone  the same, and nothing else reads them
#       last   as words, and the sum of the block is normalized at the end of the network, as in BERT
#       half   as last, and half of the block is added, as in a conformer
#       twice  sums are added to themselves many times before they are normalized: a search that follows each operand never ends
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SAMPLES, WORDS, KINDS, EPSILON, DOUBLINGS = 6, 70, 3, 1e-5, 45


class Net:
    def __init__(self, rng, form, tokens, width):
        self.rng, self.form, self.tokens, self.width = rng, form, tokens, width
        self.nodes, self.constants = [], {}

    def constant(self, array):
        name = "c%d" % len(self.constants)
        self.constants[name] = array
        return name

    def normal(self, *shape, by=1.0):
        return self.constant((by * self.rng.standard_normal(shape)).astype(np.float32))

    def node(self, op, *inputs, **attributes):
        name = "%s_%d" % (op, len(self.nodes))
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def norm(self, x):
        gain = self.constant((1.0 + 0.2 * self.rng.standard_normal(self.width)).astype(np.float32))
        if self.form not in ("given", "alone"):
            return self.node("LayerNormalization", x, gain, self.normal(self.width, by=0.2), axis=-1, epsilon=EPSILON)
        number = lambda x: self.constant(np.array(x, np.float32))
        mean = self.node("ReduceMean", self.node("Pow", x, number(2)), axes=[-1])
        root = self.node("Sqrt", self.node("Add", mean, number(EPSILON)))
        return self.node("Mul", self.node("Div", x, root), gain)

    def build(self):
        t, w = self.tokens, self.width
        places = self.normal(1, t, w, by=0.5)
        if self.form in ("given", "alone"):
            x = "x"
        else:
            x = self.node("Gather", self.normal(WORDS, w), "words")
            x = self.node("Add", x, places)
        if self.form in ("words", "last", "half"):
            x = self.node("Add", x, self.node("Gather", self.normal(KINDS, w, by=0.5), "kinds"))
        for _ in range(DOUBLINGS if self.form == "twice" else 0):
            x = self.node("Add", x, x)
        y = self.norm(x)
        if self.form in ("words", "last", "half", "alone", "twice"):
            x = y
        y = self.node("Relu", self.node("MatMul", y, self.normal(w, 2 * w, by=w ** -0.5)))
        y = self.node("MatMul", y, self.normal(2 * w, w, by=w ** -0.5))
        if self.form == "half":
            y = self.node("Mul", y, self.constant(np.array(0.5, np.float32)))
        y = self.node("Add", x, y)
        if self.form in ("last", "half"):
            self.norm(y)
        else:
            self.node("MatMul", y, self.normal(w, w, by=w ** -0.5))


def compute(net, feeds):
    """The output in double, operator by operator."""
    v = {**{k: a.astype(np.float64) for k, a in net.constants.items()}, **feeds}
    functions = {
        "Gather": lambda n, a, i: a[i], "Add": lambda n, a, b: a + b, "Mul": lambda n, a, b: a * b, "Div": lambda n, a, b: a / b,
        "MatMul": lambda n, a, b: a @ b, "Relu": lambda n, a: np.maximum(a, 0), "Pow": lambda n, a, b: a ** b, "Sqrt": lambda n, a: np.sqrt(a),
        "ReduceMean": lambda n, a: a.mean(-1, keepdims=True),
        "LayerNormalization": lambda n, a, g, b: (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + EPSILON) * g + b,
    }
    for n in net.nodes:
        v[n.output[0]] = functions[n.op_type](n, *[v[i] for i in n.input])
    return v[net.nodes[-1].output[0]]


def main():
    seed, form, tokens, width = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    rng = np.random.default_rng(seed)
    net = Net(rng, form, tokens, width)
    net.build()
    names = {"words": {"words": WORDS, "kinds": KINDS}, **{form: {"words": WORDS, "kinds": KINDS} for form in ("last", "half")}, "before": {"words": WORDS}, "twice": {"words": WORDS}, "given": {"x": None}, "alone": {"x": None}}[form]
    info = lambda name, rows: helper.make_tensor_value_info(name, TensorProto.FLOAT if rows is None else TensorProto.INT64,
                                                            [1, tokens, width] if rows is None else [1, tokens])
    out = helper.make_tensor_value_info(net.nodes[-1].output[0], TensorProto.FLOAT, [1, tokens, width])
    graph = helper.make_graph(net.nodes, "embeddings", [info(*i) for i in names.items()], [out],
                              [numpy_helper.from_array(a, k) for k, a in net.constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "embeddings.onnx")

    def draw(rows):
        return rng.standard_normal((1, tokens, width)).astype(np.float32) if rows is None else rng.integers(0, rows, (1, tokens))

    np.savez("samples.npz", **{k: np.stack([draw(rows) for _ in range(SAMPLES)]) for k, rows in names.items()})
    for run in (1, 2):
        feeds = {k: draw(rows) for k, rows in names.items()}
        np.savez("run%d.npz" % run, **feeds)
        np.save("real%d.npy" % run, compute(net, feeds))


main()
