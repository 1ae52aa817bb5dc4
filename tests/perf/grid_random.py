#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Layers that nobody chose, for grid.sh: grid_random.py FOLDER COUNT SEED writes COUNT models of one layer each and prints
their names, which tell the layer. The kinds take turns; sizes, types, groups, strides, pads, axes and zero points are drawn."""
import random
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "u8": TensorProto.UINT8, "s8": TensorProto.INT8,
         "s32": TensorProto.INT32, "s64": TensorProto.INT64, "bool": TensorProto.BOOL}
ARRAYS = {"f32": np.float32, "f16": np.float16, "u8": np.uint8, "s8": np.int8, "s32": np.int32, "s64": np.int64, "bool": np.bool_}
CHANNELS = (3, 5, 8, 13, 16, 24, 31, 40, 48, 63, 64, 72, 96, 100, 128, 144, 200, 256)
EPS = 1e-5


class Layer:
    """A graph in the making: inputs, constants, nodes."""

    def __init__(self, dice):
        self.dice, self.data = dice, np.random.RandomState(dice.getrandbits(31))
        self.nodes, self.inputs, self.constants = [], [], []
        self.name = ""

    def input(self, dtype, *dims):
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, TYPES[dtype], dims))
        return name

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def weights(self, dtype, *dims):
        if dtype in ("f32", "f16"):
            return self.constant((self.data.rand(*dims) * 0.2 - 0.1).astype(ARRAYS[dtype]))
        low, high = (-127, 128) if dtype == "s8" else (0, 256)
        return self.constant(self.data.randint(low, high, dims).astype(ARRAYS[dtype]))

    def node(self, op, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def scale(self, dtype, zero=None, count=None, step=0.02):
        """A scale and a zero point, one or `count` of them."""
        zero = (self.dice.randint(-9, 9) if dtype == "s8" else self.dice.randint(100, 150)) if zero is None else zero
        if count is None:
            return [self.constant(np.float32(step)), self.constant(ARRAYS[dtype](zero))]
        return [self.constant((np.float32(step) * (0.5 + self.data.rand(count))).astype(np.float32)),
                self.constant(np.full(count, zero, ARRAYS[dtype]))]


def pick_macs(dice, macs_of, *tries):
    """A side from `tries` that keeps the work below 60 million multiplications."""
    fits = [t for t in tries if macs_of(t) < 60e6]
    return dice.choice(fits) if fits else min(tries)


def window(layer, axes):
    """Kernel, strides, dilations, uneven pads, of which outputs follow for any side above 12."""
    d = layer.dice
    kernel = [d.choice((1, 2, 3, 3, 3, 4, 5, 7)) for _ in range(axes)] if d.random() < 0.3 else [d.choice((1, 3, 3, 5, 2, 7))] * axes
    stride = [d.choice((1, 1, 2, 3))] * axes
    dilation = [d.choice((1, 1, 1, 2, 3)) if max(kernel) < 5 else 1] * axes
    pads = [d.choice((0, (k - 1) * g // 2, max(0, (k - 1) * g // 2 - 1))) for k, g in zip(kernel * 2, dilation * 2)]
    return kernel, stride, dilation, pads


def conv(layer, kind):
    d = layer.dice
    axes = d.choice((1, 2, 2, 2, 2, 3))
    groups = d.choice((1, 1, 1, 2, 3, 4, 8, 16, 32))
    per_group = d.choice([c for c in CHANNELS if c * groups <= 300])
    outs = groups * max(1, d.choice([c for c in CHANNELS if c * groups <= 300]))
    ins = groups * per_group
    if d.random() < 0.25:  # depthwise, of one or two outputs
        groups, per_group = ins, 1
        outs = ins * d.choice((1, 1, 2))
    kernel, stride, dilation, pads = window(layer, axes)
    batch = d.choice((1, 1, 1, 3))
    size = np.prod(kernel) * per_group * outs * batch / np.prod(stride)
    side = pick_macs(d, lambda s: size * s ** axes, *((13, 20, 31) if axes == 3 else (14, 19, 28, 40, 57, 80) if axes == 2 else (50, 333, 1000)))
    side = max(side, max(k * g for k, g in zip(kernel, dilation)) + 1)
    attributes = dict(kernel_shape=kernel, strides=stride, dilations=dilation, pads=pads, group=groups)
    text = f"{axes}d_b{batch}_c{ins}_o{outs}_s{side}_k{'x'.join(map(str, kernel))}_t{stride[0]}_g{groups}_d{dilation[0]}"
    dims, w_dims = [batch, ins] + [side] * axes, [outs, per_group] + kernel
    if kind in ("f32", "f16"):
        layer.node("Conv", layer.input(kind, *dims), layer.weights(kind, *w_dims), layer.weights(kind, outs), **attributes)
        layer.name = f"conv_{kind}_{text}"
        return
    x, w = d.choice((("u8", "s8"), ("s8", "s8"), ("u8", "u8")))
    per_axis = w == "s8" and d.random() < 0.6
    w_scale = layer.scale(w, 0 if w == "s8" else None, outs if per_axis else None, 0.01)
    inputs = [layer.input(x, *dims), *layer.scale(x), layer.weights(w, *w_dims), *w_scale,
              *layer.scale(x, step=0.02 * float(np.sqrt(np.prod(w_dims[1:]))))]
    layer.node("QLinearConv", *inputs, layer.constant(layer.data.randint(-500, 500, outs).astype(np.int32)), **attributes)
    layer.name = f"qconv_{x}{w}{'a' if per_axis else ''}_{text}"


def conv_transpose(layer):
    d = layer.dice
    axes = d.choice((1, 2, 2, 2, 3))
    groups = d.choice((1, 1, 2, 4))
    ins, outs = groups * d.choice((4, 7, 16, 24, 33)), groups * d.choice((1, 3, 8, 15, 32))
    kernel, stride = d.choice(((2, 2), (3, 2), (4, 2), (5, 3), (3, 1), (5, 1), (4, 4)))
    side = d.choice(((50, 333, 1000), (14, 19, 28, 33), (7, 10))[axes - 1])
    kind = d.choice(("f32", "f32", "f32", "f16"))
    layer.node("ConvTranspose", layer.input(kind, 1, ins, *[side] * axes), layer.weights(kind, ins, outs // groups, *[kernel] * axes),
               layer.weights(kind, outs), strides=[stride] * axes, group=groups, pads=[d.randint(0, kernel // 2) for _ in range(2 * axes)])
    layer.name = f"convt_{kind}_{axes}d_c{ins}_o{outs}_s{side}_k{kernel}_t{stride}_g{groups}"


def matmul(layer, kind):
    d = layer.dice
    m, k, n = d.choice((1, 2, 7, 16, 50, 77, 197, 300)), d.choice((9, 32, 64, 100, 257, 384, 768)), d.choice((1, 10, 33, 64, 200, 301, 768))
    batch = d.choice(([], [], [d.choice((2, 5, 12))], [2, d.choice((3, 8))]))
    while np.prod(batch + [m, k, n]) > 60e6:
        m, n = max(1, m // 2), max(1, n // 2)
    both = d.random() < 0.4
    b_dims = (batch if both and d.random() < 0.8 else []) + [k, n]
    layer.name = f"{'q' if kind == 'q' else ''}matmul_{{}}_{'x'.join(map(str, batch + [m, k, n]))}_{'both' if both else 'w'}{len(b_dims)}"
    if kind != "q":
        layer.node("MatMul", layer.input(kind, *batch, m, k), layer.input(kind, *b_dims) if both else layer.weights(kind, *b_dims))
        layer.name = layer.name.format(kind)
        return
    x, w = d.choice((("u8", "s8"), ("s8", "s8"), ("u8", "u8")))
    per_axis = not both and w == "s8" and d.random() < 0.5
    right = layer.input(w, *b_dims) if both else layer.weights(w, *b_dims)
    layer.node("QLinearMatMul", layer.input(x, *batch, m, k), *layer.scale(x), right,
               *layer.scale(w, 0 if w == "s8" else None, n if per_axis else None, 0.01), *layer.scale(x, step=0.02 * float(np.sqrt(k))))
    layer.name = layer.name.format(x + w)


def gemm(layer):
    d = layer.dice
    m, k, n = d.choice((1, 3, 16, 65, 128)), d.choice((10, 64, 129, 512)), d.choice((10, 64, 129, 512))
    ta, tb = d.randint(0, 1), d.randint(0, 1)
    bias = d.choice(((n,), (1, n), (m, 1), (1,)))
    both = d.random() < 0.3
    b_dims = (n, k) if tb else (k, n)
    right = layer.input("f32", *b_dims) if both else layer.weights("f32", *b_dims)
    alpha = d.choice((1.0, 1.0, 0.5))
    layer.node("Gemm", layer.input("f32", *((k, m) if ta else (m, k))), right, layer.weights("f32", *bias), transA=ta, transB=tb, alpha=alpha)
    layer.name = f"gemm_{m}x{k}x{n}_ta{ta}_tb{tb}_bias{'x'.join(map(str, bias))}_{'both' if both else 'w'}"


def recurrent(layer):
    d = layer.dice
    op, gates = d.choice((("LSTM", 4), ("GRU", 3), ("RNN", 1)))
    steps, batch, ins, hidden = d.choice((5, 20, 60)), d.choice((1, 2, 5)), d.choice((10, 33, 64)), d.choice((16, 50, 64, 100))
    both = d.random() < 0.4
    sides = 2 if both else 1
    extra = {"linear_before_reset": d.randint(0, 1)} if op == "GRU" else {}
    layer.node(op, layer.input("f32", steps, batch, ins), layer.weights("f32", sides, gates * hidden, ins),
               layer.weights("f32", sides, gates * hidden, hidden), layer.weights("f32", sides, 2 * gates * hidden),
               hidden_size=hidden, direction="bidirectional" if both else "forward", **extra)
    layer.name = f"{op.lower()}_t{steps}_b{batch}_i{ins}_h{hidden}_{sides}"


def some_shape(dice, low=3, high=4, most=600000):
    """A shape of 3 or 4 axes with odd sizes, of 20,000 to `most` elements."""
    while True:
        dims = [dice.choice((1, 2, 3, 7, 8, 12, 16, 31, 48, 64, 77, 100, 130, 197)) for _ in range(dice.randint(low, high))]
        if 20000 <= np.prod(dims) <= most:
            return dims


def text_of(dims):
    return "x".join(map(str, dims))


def rows(layer):
    d = layer.dice
    dims = some_shape(d)
    axis = d.randrange(len(dims))
    op = d.choice(("Softmax", "LogSoftmax", "LayerNormalization", "LpNormalization", "InstanceNormalization", "Hardmax"))
    if op == "LayerNormalization":
        layer.node(op, layer.input("f32", *dims), layer.weights("f32", *dims[axis:]), layer.weights("f32", *dims[axis:]), axis=axis)
    elif op == "InstanceNormalization":
        layer.node(op, layer.input("f32", *dims), layer.weights("f32", dims[1]), layer.weights("f32", dims[1]))
    else:
        layer.node(op, layer.input("f32", *dims), axis=axis)
    layer.name = f"{op.lower()}_{text_of(dims)}_axis{axis}"


def reduce(layer):
    d = layer.dice
    dims = some_shape(d)
    axes = sorted(d.sample(range(len(dims)), d.choice((1, 1, 2))))
    op = d.choice(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceProd", "ReduceLogSumExp", "ArgMax", "CumSum"))
    if op == "ArgMax":
        axes = axes[:1]
        layer.node(op, layer.input("f32", *dims), axis=axes[0])
    elif op == "CumSum":
        axes = axes[:1]
        layer.node(op, layer.input("f32", *dims), layer.constant(np.array(axes[0], np.int64)))
    elif op == "ReduceSum":
        layer.node(op, layer.input("f32", *dims), layer.ints(*axes), keepdims=d.randint(0, 1))
    else:
        layer.node(op, layer.input("f32", *dims), axes=axes, keepdims=d.randint(0, 1))
    layer.name = f"{op.lower()}_{text_of(dims)}_axes{text_of(axes)}"


def move(layer):
    d = layer.dice
    dims, kind = some_shape(d), d.choice(("f32", "f32", "u8", "f16", "s64"))
    op = d.choice(("Transpose", "Transpose", "Concat", "Split", "Gather", "Slice", "Pad", "Tile", "Expand", "DepthToSpace", "GatherElements",
                   "ScatterND", "ScatterElements"))
    axis = d.randrange(len(dims))
    note = f"axis{axis}"
    if op in ("ScatterND", "ScatterElements") and kind == "f16":
        kind = "f32"
    if op == "Transpose":
        order = list(range(len(dims)))
        d.shuffle(order)
        note = text_of(order)
        layer.node(op, layer.input(kind, *dims), perm=order)
    elif op == "Concat":
        layer.node(op, layer.input(kind, *dims), layer.input(kind, *dims), axis=axis)
    elif op == "Split":
        dims[axis] *= 2
        a, b = layer.node(op, layer.input(kind, *dims), layer.ints(dims[axis] // 2, dims[axis] - dims[axis] // 2), outputs=2, axis=axis)
        del a, b
    elif op == "Gather":
        layer.node(op, layer.input(kind, *dims), layer.constant(layer.data.randint(0, dims[axis], max(1, dims[axis] * 3 // 4))), axis=axis)
    elif op == "GatherElements":
        layer.node(op, layer.input(kind, *dims), layer.constant(layer.data.randint(0, dims[axis], dims)), axis=axis)
    elif op == "ScatterElements":
        half = list(dims)
        half[axis] = max(1, half[axis] // 2)
        rank_index = np.argsort(layer.data.rand(*dims), axis=axis).astype(np.int64)
        layer.node(op, layer.input(kind, *dims), layer.constant(np.take(rank_index, range(half[axis]), axis=axis)), layer.input(kind, *half), axis=axis)
    elif op == "ScatterND":
        order = layer.data.permutation(dims[0])[:max(1, dims[0] // 2)].astype(np.int64).reshape(-1, 1)
        layer.node(op, layer.input(kind, *dims), layer.constant(order), layer.input(kind, len(order), *dims[1:]))
    elif op == "Slice":
        step = d.choice((1, 2))
        layer.node(op, layer.input(kind, *dims), layer.ints(dims[axis] // 5), layer.ints(dims[axis]), layer.ints(axis), layer.ints(step))
        note += f"_step{step}"
    elif op == "Pad":
        kind, mode = "f32", d.choice(("constant", "reflect", "edge"))
        pads = [d.randint(0, 3) if size > 4 else 0 for size in dims * 2]
        layer.node(op, layer.input(kind, *dims), layer.ints(*pads), mode=mode)
        note = mode
    elif op == "Tile":
        layer.node(op, layer.input(kind, *dims), layer.ints(*(2 if i == axis else 1 for i in range(len(dims)))))
    elif op == "Expand":
        narrow = [1 if i == axis else size for i, size in enumerate(dims)]
        layer.node(op, layer.input(kind, *narrow), layer.ints(*dims))
    else:
        kind, block, dims = "f32", 2, [1, 4 * d.choice((3, 8, 16)), d.choice((14, 28, 33)), d.choice((14, 28, 33))]
        layer.node(op, layer.input(kind, *dims), blocksize=block, mode=d.choice(("DCR", "CRD")))
    layer.name = f"{op.lower()}_{kind}_{text_of(dims)}_{note}"


def resize(layer):
    d = layer.dice
    channels, rows_, columns = d.choice((3, 16, 33, 64)), d.choice((14, 28, 33)), d.choice((14, 28, 41))
    mode, by = d.choice((("nearest", "asymmetric"), ("linear", "half_pixel"), ("linear", "align_corners"), ("cubic", "half_pixel")))
    factor = d.choice(((2.0, 2.0), (1.5, 1.5), (2.0, 1.0), (0.5, 0.5), (3.0, 3.0), (1.37, 1.91)))
    kind = "u8" if mode == "nearest" and d.random() < 0.3 else "f32"
    layer.node("Resize", layer.input(kind, 1, channels, rows_, columns), "", layer.constant(np.array((1, 1) + factor, np.float32)),
               mode=mode, coordinate_transformation_mode=by)
    layer.name = f"resize_{kind}_{mode}_{by}_{channels}x{rows_}x{columns}_f{factor[0]}x{factor[1]}"


def pool(layer):
    d = layer.dice
    op, axes = d.choice(("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LpPool")), d.choice((1, 2, 2, 3))
    channels, side = d.choice((3, 16, 31, 64)), d.choice((14, 17, 28)) if axes < 3 else 12
    side = side * 20 if axes == 1 else side
    dims = [d.choice((1, 2)), channels] + [side] * axes
    layer.name = f"{op.lower()}_{text_of(dims)}"
    if op.startswith("Global"):
        layer.node(op, layer.input("f32", *dims))
        return
    kernel, stride = d.choice((2, 3, 3, 5)), d.choice((1, 2))
    pads = [d.randint(0, kernel // 2) for _ in range(2 * axes)]
    extra = {"count_include_pad": d.randint(0, 1)} if op == "AveragePool" else {}
    kind = "u8" if op == "MaxPool" and d.random() < 0.3 else "f32"
    layer.node(op, layer.input(kind, *dims), kernel_shape=[kernel] * axes, strides=[stride] * axes, pads=pads, **extra)
    layer.name += f"_{kind}_k{kernel}_t{stride}"


def attention(layer):
    d = layer.dice
    heads, queries, keys, width = d.choice((1, 4, 6, 12)), d.choice((1, 33, 77, 200)), d.choice((16, 77, 130, 300)), d.choice((16, 32, 40, 64, 80))
    q, k, v = (layer.input("f32", 1, heads, n, width) for n in (queries, keys, keys))
    scores = layer.node("MatMul", q, layer.node("Transpose", k, perm=[0, 1, 3, 2]))
    scores = layer.node("Div", scores, layer.constant(np.float32(np.sqrt(width))))
    masked = d.random() < 0.5
    if masked:
        scores = layer.node("Add", scores, layer.input("f32", 1, 1, queries, keys))
    layer.node("MatMul", layer.node("Softmax", scores, axis=-1), v)
    layer.name = f"attention_h{heads}_q{queries}_k{keys}_w{width}{'_mask' if masked else ''}"


def binary(layer):
    d = layer.dice
    dims, kind = some_shape(d), d.choice(("f32", "f32", "f32", "s32", "s64", "f16"))
    op = d.choice(("Add", "Mul", "Sub", "Div", "Max", "Min", "Less", "Pow", "PRelu"))
    if kind == "f16" and op in ("Less", "PRelu", "Pow") or kind != "f32" and op in ("Pow", "PRelu", "Div"):
        kind = "f32"
    other = [size if d.random() < 0.5 else 1 for size in dims]
    if d.random() < 0.3:
        other = list(dims)
    layer.node(op, layer.input(kind, *dims), layer.weights("f32", *other) if op in ("Pow", "PRelu") else layer.input(kind, *other))
    layer.name = f"{op.lower()}_{kind}_{text_of(dims)}_by_{text_of(other)}"


def unary(layer):
    d = layer.dice
    dims = some_shape(d)
    op = d.choice(("Exp", "Log", "Sqrt", "Sin", "Erf", "Tanh", "Sigmoid", "Relu", "LeakyRelu", "Elu", "Softplus", "HardSwish", "Clip", "Abs",
                   "Neg", "Floor", "Round", "Reciprocal", "Selu", "HardSigmoid", "Not", "Sign", "ThresholdedRelu"))
    kind = "bool" if op == "Not" else "f32"
    x = layer.input(kind, *dims)
    if op in ("Log", "Sqrt"):
        x = layer.node("Abs", x)
    if op == "Clip":
        layer.node(op, x, layer.constant(np.float32(-0.5)), layer.constant(np.float32(0.5)))
    else:
        layer.node(op, x)
    layer.name = f"{op.lower()}_{text_of(dims)}"


def choose(layer):
    d = layer.dice
    op = d.choice(("Where", "Cast", "Einsum", "TopK", "NonMaxSuppression", "OneHot", "GridSample", "QuantizeLinear", "DequantizeLinear",
                   "NonZero", "Trilu", "RoiAlign"))
    dims = some_shape(d)
    note = text_of(dims)
    if op == "Where":
        layer.node(op, layer.input("bool", *[size if d.random() < 0.6 else 1 for size in dims]), layer.input("f32", *dims), layer.input("f32", *dims))
    elif op == "Cast":
        a, b = d.choice((("f32", "f16"), ("f16", "f32"), ("u8", "f32"), ("f32", "s32"), ("s64", "f32"), ("s32", "s64"), ("f32", "u8"), ("bool", "f32")))
        layer.node(op, layer.input(a, *dims), to=TYPES[b])
        note += f"_{a}_{b}"
    elif op == "Einsum":
        equation, left, right = d.choice((("bij,bjk->bik", (8, 50, 64), (8, 64, 33)), ("bhid,bhjd->bhij", (1, 6, 77, 32), (1, 6, 77, 32)),
                                          ("ij,kj->ik", (100, 257), (64, 257)), ("bij,j->bi", (8, 64, 130), (130,)),
                                          ("bchw,bkhw->bck", (1, 32, 20, 20), (1, 16, 20, 20)), ("nc,cd->dn", (65, 100), (100, 77)),
                                          ("bid,bjd->bji", (3, 50, 64), (3, 66, 64)), ("ijk,jil->kl", (8, 30, 40), (30, 8, 50))))
        layer.node(op, layer.input("f32", *left), layer.input("f32", *right), equation=equation)
        note = equation.replace(",", "_").replace("->", "_")
    elif op == "TopK":
        axis = d.randrange(len(dims))
        k = max(1, int(dims[axis] * d.choice((0.02, 0.1, 0.5))))
        layer.node(op, layer.input("f32", *dims), layer.ints(k), axis=axis, largest=d.randint(0, 1), outputs=2)
        note += f"_axis{axis}_k{k}"
    elif op == "NonMaxSuppression":
        boxes, classes = d.choice((100, 500, 2000)), d.choice((1, 5, 20))
        corner = layer.data.rand(1, boxes, 2).astype(np.float32)
        layer.node(op, layer.constant(np.concatenate([corner, corner + 0.1], axis=2)), layer.input("f32", 1, classes, boxes), layer.ints(20),
                   layer.constant(np.array([0.5], np.float32)), layer.constant(np.array([0.1], np.float32)))
        note = f"{boxes}_{classes}"
    elif op == "OneHot":
        layer.node(op, layer.constant(layer.data.randint(0, 100, 700)), layer.constant(np.int64(100)), layer.input("f32", 2))
        note = "700x100"
    elif op == "GridSample":
        channels, side = d.choice((3, 16, 33)), d.choice((28, 40))
        mode, pad = d.choice(("bilinear", "nearest")), d.choice(("zeros", "border", "reflection"))
        grid = (layer.data.rand(1, side, side, 2) * 2.2 - 1.1).astype(np.float32)
        layer.node(op, layer.input("f32", 1, channels, side, side), layer.constant(grid), mode=mode, padding_mode=pad)
        note = f"{channels}x{side}_{mode}_{pad}"
    elif op in ("QuantizeLinear", "DequantizeLinear"):
        axis, kind = d.randrange(len(dims)), d.choice(("u8", "s8"))
        per = d.random() < 0.5
        scale = layer.scale(kind, count=dims[axis] if per else None)
        layer.node(op, layer.input("f32" if op[0] == "Q" else kind, *dims), *scale, axis=axis)
        note += f"_{kind}_{axis if per else 'whole'}"
    elif op == "NonZero":
        layer.node(op, layer.input("f32", *dims))
    elif op == "Trilu":
        layer.node(op, layer.input("f32", *dims), upper=d.randint(0, 1))
    else:
        channels, count = d.choice((16, 33)), 20
        corner = layer.data.rand(count, 2).astype(np.float32) * 20
        layer.node(op, layer.input("f32", 1, channels, 40, 40), layer.constant(np.concatenate([corner, corner + 15], axis=1)),
                   layer.constant(np.zeros(count, np.int64)), output_height=7, output_width=7, sampling_ratio=2)
        note = f"{channels}x{count}"
    layer.name = f"{op.lower()}_{note}"


KINDS = (lambda l: conv(l, "f32"), lambda l: conv(l, "q"), lambda l: matmul(l, "f32"), lambda l: matmul(l, "q"), move, lambda l: conv(l, "q"),
         gemm, rows, reduce, binary, unary, choose, lambda l: conv(l, "f32"), pool, resize, attention, recurrent, conv_transpose,
         lambda l: conv(l, "f16"), lambda l: matmul(l, "f16"), move, choose, rows, reduce)


def write(folder, number, seed):
    layer = Layer(random.Random(f"{seed} {number}"))
    KINDS[number % len(KINDS)](layer)
    outputs = [helper.make_empty_tensor_value_info(name) for name in layer.nodes[-1].output]
    graph = helper.make_graph(layer.nodes, layer.name, layer.inputs, outputs, layer.constants)
    model = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    name = f"{number:03}_{layer.name}"
    onnx.save(model, f"{folder}/{name}.onnx")
    print(name)


def main():
    if len(sys.argv) != 4 or not sys.argv[2].isdigit():
        sys.exit("usage: grid_random.py FOLDER COUNT SEED")
    for number in range(int(sys.argv[2])):
        write(sys.argv[1], number, sys.argv[3])


main()
