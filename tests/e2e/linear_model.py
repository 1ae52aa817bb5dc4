#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# linear_model.py SEED FORM TOKENS HEADS EACH IMAGES: writes linear.onnx, one block of linear attention, whose scores are products of numbers
# that are not below 0. samples.npz has inputs to calibrate it; run1.npz and run2.npz inputs of one run each; real1.npy and real2.npy their
# outputs in double, computed here.
#
# FORM: how it is written
#       pad      of channels of an image: (pad(v, 1) k^T) q, its rows divided by the last, as EfficientViT has it
#       tokens   of rows of tokens: q (k^T pad(v, 1)), without an epsilon, times the reciprocal
#       join     as pad, with ones that are joined, split, and no epsilon
#       scores   (pad(v, 1) (k^T q)), the other order
#       sums     q (k^T v) divided by q (k^T 1), of Elu + 1
#       rows     scores of Relu, divided by the sum of each row
#       score    one score for each token of two images' parts, whose softmax weighs the keys, as MobileViTv2 has it
#       floor    as pad, with an epsilon that counts: it stays as it is
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SAMPLES = 6


class Net:
    def __init__(self, rng, form, tokens, heads, each, images):
        self.rng, self.form, self.tokens, self.heads, self.each, self.images = rng, form, tokens, heads, each, images
        self.width, self.nodes, self.constants = heads * each, [], {}

    def constant(self, array):
        name = "c%d" % len(self.constants)
        self.constants[name] = np.asarray(array)
        return name

    def ints(self, *numbers):
        return self.constant(np.array(numbers, np.int64))

    def number(self, x):
        return self.constant(np.array(x, np.float32))

    def node(self, op, *inputs, outputs=1, **attributes):
        names = ["%s_%d_%d" % (op, len(self.nodes), i) for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=names[0], **attributes))
        return names[0] if outputs == 1 else names

    def conv(self, x, inputs, outputs, axes=1):
        window = [1] if axes == 1 else [1, 1]
        weights = self.constant((self.rng.standard_normal([outputs, inputs] + window) / np.sqrt(inputs)).astype(np.float32))
        return self.node("Conv", x, weights, self.constant((0.2 * self.rng.standard_normal(outputs)).astype(np.float32)), kernel_shape=window)

    def turn(self, x):
        return self.node("Transpose", x, perm=[0, 1, 3, 2])

    def ones(self, v, axis):
        shape = [self.images, self.heads, self.each, self.tokens] if axis == 2 else [self.images, self.heads, self.tokens, self.each]
        if self.form == "join":
            shape[axis] = 1
            return self.node("Concat", v, self.constant(np.ones(shape, np.float32)), axis=axis)
        return self.node("Pad", v, self.ints(*[int(i == 4 + axis) for i in range(8)]), self.number(1.0))

    def divided(self, y, axis):
        if self.form == "join":
            y, total = self.node("Split", y, self.ints(self.each, 1), outputs=2, axis=axis)
        else:
            total = self.node("Slice", y, self.ints(-1), self.ints(2 ** 63 - 1), self.ints(axis))
            y = self.node("Slice", y, self.ints(0), self.ints(-1), self.ints(axis))
        if self.form in ("pad", "scores", "floor"):
            total = self.node("Add", total, self.number(0.3 * self.tokens if self.form == "floor" else 1e-6))
        return self.node("Mul", y, self.node("Reciprocal", total)) if self.form == "tokens" else self.node("Div", y, total)

    def attention(self, q, k, v):
        if self.form in ("pad", "join", "floor"):
            return self.divided(self.node("MatMul", self.node("MatMul", self.ones(v, 2), self.turn(k)), q), 2)
        if self.form == "scores":
            return self.divided(self.node("MatMul", self.ones(v, 2), self.node("MatMul", self.turn(k), q)), 2)
        if self.form == "rows":
            scores = self.node("MatMul", self.turn(q), k)
            shares = self.node("Div", scores, self.node("Add", self.node("ReduceSum", scores, self.ints(-1)), self.number(1e-9)))
            return self.turn(self.node("MatMul", shares, self.turn(v)))
        q, v = self.turn(q), self.turn(v)
        if self.form == "tokens":
            return self.turn(self.divided(self.node("MatMul", q, self.node("MatMul", k, self.ones(v, 3))), 3))
        total = self.node("MatMul", q, self.node("ReduceSum", k, self.ints(3)))
        return self.turn(self.node("Div", self.node("MatMul", q, self.node("MatMul", k, v)), total))

    def positive(self, x):
        return self.node("Add", self.node("Elu", x), self.number(1.0)) if self.form == "sums" else self.node("Relu", x)

    def build_separable(self):
        n, t, w = self.images, self.tokens, self.width
        qkv = self.conv(self.node("Reshape", "x", self.ints(n, w, 2, t // 2)), w, 1 + 2 * w, axes=2)
        q, k, v = self.node("Split", qkv, self.ints(1, w, w), outputs=3, axis=1)
        seen = self.node("ReduceSum", self.node("Mul", k, self.node("Softmax", q, axis=-1)), self.ints(-1))
        y = self.node("Mul", self.node("Relu", v), self.node("Expand", seen, self.ints(n, w, 2, t // 2)))
        y = self.conv(self.node("Reshape", y, self.ints(n, w, t)), w, w)
        self.conv(self.node("Add", "x", y), w, w)

    def build(self):
        n, t, h, d, w = self.images, self.tokens, self.heads, self.each, self.width
        if self.form == "score":
            self.build_separable()
            return
        qkv = self.conv("x", w, 3 * w)
        if h % 2 == 0:
            qkv = self.node("Split", self.node("Reshape", qkv, self.ints(n, 3, h, d, t)), self.ints(1, 1, 1), outputs=3, axis=1)
            q, k, v = [self.node("Squeeze", x, self.ints(1)) for x in qkv]
        else:
            qkv = self.node("Reshape", qkv, self.ints(n, h, 3 * d, t))
            q, k, v = [self.node("Slice", qkv, self.ints(i * d), self.ints((i + 1) * d), self.ints(2)) for i in range(3)]
        y = self.node("Reshape", self.attention(self.positive(q), self.positive(k), v), self.ints(n, w, t))
        self.conv(self.node("Add", "x", self.conv(y, w, w)), w, w)


def sliced(a, first, end, axis):
    at = [slice(None)] * a.ndim
    at[int(axis[0])] = slice(int(first[0]), int(end[0]) if end[0] < 2 ** 62 else None)
    return a[tuple(at)]


def pointwise(a, w, b):
    y = np.einsum("oi,nit->not", w.reshape(w.shape[:2]), a.reshape(a.shape[0], a.shape[1], -1)) + b[:, None]
    return y.reshape(a.shape[:1] + w.shape[:1] + a.shape[2:])


def softmax(a):
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def compute(net, x):
    """The output in double, operator by operator."""
    v = {**{k: a.astype(np.float64) if a.dtype == np.float32 else a for k, a in net.constants.items()}, "x": x.astype(np.float64)}
    functions = {
        "Add": lambda n, a, b: a + b, "Mul": lambda n, a, b: a * b, "Div": lambda n, a, b: a / b, "MatMul": lambda n, a, b: a @ b,
        "Reciprocal": lambda n, a: 1 / a, "Relu": lambda n, a: np.maximum(a, 0), "Elu": lambda n, a: np.where(a > 0, a, np.exp(a) - 1),
        "Reshape": lambda n, a, shape: a.reshape(shape), "Transpose": lambda n, a: a.transpose(list(n.attribute[0].ints)),
        "Squeeze": lambda n, a, axes: a[:, 0], "Slice": lambda n, a, first, end, axis: sliced(a, first, end, axis),
        "Pad": lambda n, a, p, one: np.pad(a, list(zip(p[:4], p[4:])), constant_values=float(one)),
        "Concat": lambda n, a, b: np.concatenate([a, b], n.attribute[0].i), "ReduceSum": lambda n, a, axes: a.sum(int(axes[0]), keepdims=True),
        "Conv": lambda n, a, w, b: pointwise(a, w, b), "Softmax": lambda n, a: softmax(a), "Expand": lambda n, a, shape: np.broadcast_to(a, shape),
    }
    for n in net.nodes:
        inputs = [v[i] for i in n.input]
        if n.op_type == "Split":
            parts = np.split(inputs[0], np.cumsum(inputs[1])[:-1], n.attribute[0].i)
            v.update(zip(n.output, parts))
        else:
            v[n.output[0]] = functions[n.op_type](n, *inputs)
    return v[net.nodes[-1].output[0]]


def main():
    seed, form, tokens, heads, each, images = int(sys.argv[1]), sys.argv[2], *[int(x) for x in sys.argv[3:]]
    rng = np.random.default_rng(seed)
    net = Net(rng, form, tokens, heads, each, images)
    net.build()
    shape = [images, heads * each, tokens]
    info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(net.nodes, "linear", [info("x")], [info(net.nodes[-1].output[0])],
                              [numpy_helper.from_array(a, k) for k, a in net.constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "linear.onnx")
    draw = lambda: (rng.standard_normal(shape) + rng.standard_normal((images, heads * each, 1))).astype(np.float32)
    runs = [draw(), draw()]
    np.savez("samples.npz", x=np.stack(runs + [draw() for _ in range(SAMPLES)]))  # ranges are known: what is off has been rounded
    for run, x in enumerate(runs, 1):
        np.savez("run%d.npz" % run, x=x)
        np.save("real%d.npy" % run, compute(net, x))


main()
