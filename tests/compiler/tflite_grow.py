#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Random graphs of TensorFlow Lite's operators, judged by its C library (VTAC_TFLITE names it): integers equal, floats
# within 1e-4 of the largest. Types, shapes, strides, dilations, axes, scales and zero points are drawn; what the library
# does not take is not judged. A graph that differs is written as grow-SEED.tflite in the folder where the program runs.
# This fails when an operator's integers, or its rules for axes, shapes and scales, change. VTAC_GROW_TARGET has the words
# behind --target (llvm).
#
# usage: tflite_grow.py VTAC [COUNT [SEED [OPERATOR,...]]]   (exit status 77: no numpy, or no library)
import os
import pickle
import subprocess
import sys
import tempfile

try:
    import numpy
    import word_seed
    from tflite_bench import RANGE, Engine
    from tflite_file import TYPES, Model
except ImportError:
    sys.exit(77)

ACTIVATIONS = [0, 0, 0, 1, 2, 3]
QUANTIZED = ("int8", "uint8", "int16")


class Tensor:
    def __init__(self, number, kind, shape, scale=None, zero=0):
        self.number, self.kind, self.shape, self.scale, self.zero = number, kind, tuple(int(d) for d in shape), scale, zero


class Graph:
    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.model, self.pool, self.inputs, self.made, self.words = Model(), [], [], [], []

    # ---- drawing

    def one(self, *choices):
        return choices[self.random.integers(len(choices))]

    def number(self, low, high):
        return int(self.random.integers(low, high + 1))

    def chance(self, share):
        return self.random.random() < share

    def quantization(self, kind):
        if kind not in QUANTIZED:
            return {}
        low, high = RANGE[kind]
        zero = 0 if kind == "int16" else self.one(0, low, high, -1, self.number(low, high), self.number(low // 3, high // 3))
        zero = min(max(zero, low), high)
        scale = float(numpy.float32(10 ** self.random.uniform(-3, -0.5)))
        return {"scale": scale / 64 if kind == "int16" else scale, "zero": zero}

    def like(self, t):
        return {"scale": t.scale, "zero": t.zero} if t.scale is not None else {}

    def values(self, kind, shape):
        r = self.random
        if kind in ("float32", "float16"):
            return (r.standard_normal(shape) * self.one(0.3, 1, 5)).astype(kind)
        if kind == "bool":
            return r.integers(0, 2, shape).astype(bool)
        if kind in ("int32", "int64"):
            return r.integers(-40, 41, shape).astype(kind)
        low, high = RANGE[kind]
        return r.integers(low, high + 1, shape).astype(kind)

    def shape(self, rank=None, most=9):
        rank = self.one(1, 2, 3, 4, 4, 5, 6) if rank is None else rank
        return tuple(self.number(1, min(most, {1: 40, 2: 20}.get(rank, 8))) for _ in range(rank))

    def fresh(self, kind, shape, q=None):
        q = self.quantization(kind) if q is None else q
        t = Tensor(self.model.tensor(kind, shape, **q), kind, shape, q.get("scale"), q.get("zero", 0))
        self.inputs.append(t)
        self.pool.append(t)
        return t

    def constant(self, kind, shape, q=None, data=None):
        q = self.quantization(kind) if q is None else q
        data = self.values(kind, shape) if data is None else numpy.asarray(data)
        return Tensor(self.model.tensor(kind, data.shape, data=data, **q), kind, data.shape, q.get("scale"), q.get("zero", 0))

    def pick(self, kinds, rank=None, suits=None):
        """A tensor of those that there are, or a new input."""
        found = [t for t in self.pool if t.kind in kinds and (rank is None or len(t.shape) == rank) and (suits is None or suits(t))]
        if found and self.chance(0.7):
            return self.one(*found)
        for _ in range(20):
            kind, shape = self.one(*kinds), self.shape(rank)
            if suits is None or suits(Tensor(0, kind, shape)):
                return self.fresh(kind, shape)
        raise Redraw

    def result(self, kind, shape, q=None):
        if numpy.prod([max(d, 1) for d in shape]) > 60000:
            raise Redraw
        q = self.quantization(kind) if q is None else q
        t = Tensor(self.model.tensor(kind, shape, **q), kind, shape, q.get("scale"), q.get("zero", 0))
        self.pool.append(t)
        self.made.append(t)
        return t

    def op(self, code, ins, outs, options=None, kind=0, version=1):
        self.words.append("%d of %s" % (code, ", ".join("%s %s" % (t.kind, list(t.shape)) for t in ins if t)))
        self.model.op(code, [t.number if t else -1 for t in ins], [t.number for t in outs], options, kind)

    def numbers(self, data, kind="int32"):
        return self.constant(kind, None, {}, numpy.array(data, kind))

    def some_axis(self, t):
        axis = self.number(0, len(t.shape) - 1)
        return axis, axis - len(t.shape) if self.chance(0.4) else axis


class Redraw(Exception):
    pass


def spatial(size, kernel, stride, dilation, same):
    reach = (kernel - 1) * dilation + 1
    out = -(-size // stride) if same else -(-(size - reach + 1) // stride)
    if out < 1:
        raise Redraw
    return out


# ---- operators

def weights_of(g, x, shape, axis, channels, dense_layer=False):
    """Weights and bias of a layer, and the kind of its result."""
    if x.kind == "float32":
        form = g.one("float", "float", "hybrid", "hybrid" if dense_layer else "hybrid_axis", "half")  # the library's dense layer of bytes by channel gives none
        bias = g.constant("float32", (channels,)) if g.chance(0.8) else None
        if form == "float":
            return g.constant("float32", shape), bias
        if form == "half":
            stored = g.constant("float16", shape)
            w = Tensor(g.model.tensor("float32", shape), "float32", shape)
            g.op(6, [stored], [w])
            return w, bias
        scales = g.random.uniform(0.002, 0.05, channels if form == "hybrid_axis" else 1).astype("f4")
        data = numpy.maximum(g.values("int8", shape), -127).astype("int8")
        return Tensor(g.model.tensor("int8", shape, scales, 0, axis, data), "int8", shape), bias
    kind = "uint8" if x.kind == "uint8" else "int8"
    per_axis = kind == "int8" and g.chance(0.75) and axis is not None
    scales = (10 ** g.random.uniform(-3.5, -0.7, channels if per_axis else 1)).astype("f4")
    data = g.values(kind, shape)
    data = numpy.maximum(data, -127).astype("int8") if kind == "int8" else data
    zero = g.number(0, 255) if kind == "uint8" else 0
    w = Tensor(g.model.tensor(kind, shape, scales, zero, axis or 0, data), kind, shape)
    if g.chance(0.15):
        return w, None
    bias = g.random.integers(-5000, 5001, channels)
    return w, Tensor(g.model.tensor("int64" if x.kind == "int16" else "int32", (channels,), scales * numpy.float32(x.scale), 0, 0, bias), "bias", (channels,))


def layer_scale(g, x, fan):
    """A scale that most results of a sum of so many products fit in."""
    q = g.quantization(x.kind)
    if x.scale is not None and g.chance(0.7):
        q["scale"] = float(numpy.float32(x.scale * 0.01 * fan ** 0.5 * g.random.uniform(0.2, 3) * 70))
    return q


def conv(g):
    x = g.pick(("int8", "uint8", "int16", "float32"), 4)
    n, h, w, c = x.shape
    kh, kw, f = g.number(1, 5), g.number(1, 5), g.one(1, 3, 8, 16, 17, g.number(1, 20))
    sh, sw, dh, dw = g.one(1, 1, 2, 3), g.one(1, 1, 2, 3), g.one(1, 1, 1, 2, 3), g.one(1, 1, 1, 2, 3)
    same = g.chance(0.6)
    shape = (n, spatial(h, kh, sh, dh, same), spatial(w, kw, sw, dw, same), f)
    wt, bias = weights_of(g, x, (f, kh, kw, c), 0, f)
    y = g.result(x.kind, shape, layer_scale(g, x, kh * kw * c))
    g.op(3, [x, wt, bias] if bias or g.chance(0.5) else [x, wt], [y],
         {0: ("b", 0 if same else 1), 1: ("i", sw), 2: ("i", sh), 3: ("b", g.one(*ACTIVATIONS)), 4: ("i", dw), 5: ("i", dh)}, 1, 3)


def depthwise(g):
    x = g.pick(("int8", "uint8", "int16", "float32"), 4)
    n, h, w, c = x.shape
    kh, kw, k = g.number(1, 5), g.number(1, 5), g.one(1, 1, 2, 3, 8)
    s, dh, dw = g.one(1, 1, 2, 3), g.one(1, 1, 1, 2), g.one(1, 1, 1, 2)
    same = g.chance(0.6)
    shape = (n, spatial(h, kh, s, dh, same), spatial(w, kw, s, dw, same), c * k)
    wt, bias = weights_of(g, x, (1, kh, kw, c * k), 3, c * k)
    y = g.result(x.kind, shape, layer_scale(g, x, kh * kw))
    g.op(4, [x, wt, bias] if bias or g.chance(0.5) else [x, wt], [y],
         {0: ("b", 0 if same else 1), 1: ("i", s), 2: ("i", s), 3: ("i", k), 4: ("b", g.one(*ACTIVATIONS)), 5: ("i", dw), 6: ("i", dh)}, 2, 3)


def dense(g):
    x = g.pick(("int8", "uint8", "int16", "float32"), g.number(1, 4))
    keep = g.chance(0.4) and len(x.shape) > 1
    depth = x.shape[-1]
    units = g.one(1, 4, 16, g.number(1, 20))
    wt, bias = weights_of(g, x, (units, depth), None if x.kind != "float32" else 0, units, True)
    shape = x.shape[:-1] + (units,) if keep else (int(numpy.prod(x.shape)) // depth, units)
    y = g.result(x.kind, shape, layer_scale(g, x, depth))
    g.op(9, [x, wt, bias], [y], {0: ("b", g.one(*ACTIVATIONS)), 1: ("b", 0), 2: ("?", keep), 3: ("?", g.chance(0.5))}, 8, 5)


def transpose_conv(g):
    x = g.pick(("int8", "uint8", "int16", "float32"), 4)
    n, h, w, c = x.shape
    kh, kw, f, s = g.number(1, 4), g.number(1, 4), g.one(1, 3, 8), g.one(1, 2, 3)
    same = g.chance(0.5)
    shape = (n, h * s, w * s, f) if same else (n, (h - 1) * s + kh, (w - 1) * s + kw, f)
    if x.kind == "float32":
        wt, bias = g.constant("float32", (f, kh, kw, c)), g.constant("float32", (f,)) if g.chance(0.5) else None
    else:
        wt, bias = weights_of(g, x, (f, kh, kw, c), 0, f)
    y = g.result(x.kind, shape, layer_scale(g, x, kh * kw * c))
    g.op(67, [g.numbers(shape), wt, x] + ([bias] if bias else []), [y], {0: ("b", 0 if same else 1), 1: ("i", s), 2: ("i", s)}, 49, 3)


def pool(g):
    x = g.pick(("int8", "uint8", "int16", "float32"), 4)
    n, h, w, c = x.shape
    kh, kw, sh, sw = g.number(1, 5), g.number(1, 5), g.number(1, 3), g.number(1, 3)
    same = g.chance(0.5)
    shape = (n, spatial(h, kh, sh, 1, same), spatial(w, kw, sw, 1, same), c)
    code = g.one(1, 1, 17, 12) if x.kind == "float32" else g.one(1, 17)
    y = g.result(x.kind, shape, g.like(x))
    g.op(code, [x], [y], {0: ("b", 0 if same else 1), 1: ("i", sw), 2: ("i", sh), 3: ("i", kw), 4: ("i", kh), 5: ("b", g.one(*ACTIVATIONS))}, 5, 2)


def partner(g, x, same_scale=False):
    """Another operand: of the same shape, or one that spreads."""
    shape = list(x.shape)
    if g.chance(0.5):
        shape = [1 if g.chance(0.5) else d for d in shape][g.number(0, len(shape)):]
    q = g.like(x) if same_scale else None
    if g.chance(0.5):
        return g.constant(x.kind, shape, q)
    found = [t for t in g.pool if t.kind == x.kind and t.shape == x.shape and (not same_scale or t.scale == x.scale and t.zero == x.zero)]
    return g.one(*found) if found and g.chance(0.5) else g.fresh(x.kind, tuple(shape), q)


def binary(g):
    code, options = g.one((0, 11), (41, 28), (18, 21))
    x = g.pick(("int8", "uint8", "int16", "float32", "int32"))
    z = partner(g, x)
    a, b = (x, z) if g.chance(0.5) else (z, x)
    y = g.result(x.kind, numpy.broadcast_shapes(x.shape, z.shape))
    fields = {0: ("b", g.one(*ACTIVATIONS))}
    if code != 18 and x.kind == "int16":
        fields[1] = ("?", False)
    g.op(code, [a, b], [y], fields, options, 4)


def divide(g):
    x = g.pick(("float32", "int32"))
    shape = x.shape[g.number(0, len(x.shape)):]
    data = g.values(x.kind, shape)
    q = g.quantization(x.kind)
    z = g.constant(x.kind, shape, q, numpy.where(data == 0, 3, data).astype(x.kind))
    y = g.result(x.kind, x.shape)
    g.op(42, [x, z], [y], {0: ("b", g.one(*ACTIVATIONS))}, 29, 2)


def whole(g):
    """FLOOR_DIV, FLOOR_MOD, POW of integers."""
    code, options = g.one((90, 65), (95, 72))
    x = g.pick(("int32", "int64", "float32") if code == 95 else ("int32", "float32"))
    data = g.values(x.kind, x.shape[g.number(0, len(x.shape)):])
    z = g.constant(x.kind, None, {}, numpy.where(data == 0, 3, data).astype(x.kind))
    g.op(code, [x, z], [g.result(x.kind, x.shape)], {}, options, 2)


def extreme(g):
    x = g.pick(("int8", "uint8", "int16", "float32", "int32", "int64"))
    z = partner(g, x, True)
    g.op(g.one(55, 57), [x, z], [g.result(x.kind, numpy.broadcast_shapes(x.shape, z.shape), g.like(x))], {}, 39, 4)


def squared(g):
    x = g.pick(("int8", "float32", "int32"))
    z = partner(g, x)
    g.op(99, [x, z], [g.result(x.kind, numpy.broadcast_shapes(x.shape, z.shape))], {}, 76, 2)


def compare(g):
    code, options = g.one((58, 41), (61, 44), (62, 45), (63, 46), (71, 53), (72, 54))
    x = g.pick(("int8", "uint8", "float32", "int32", "int64"))
    z = partner(g, x)
    g.op(code, [x, z], [g.result("bool", numpy.broadcast_shapes(x.shape, z.shape))], {}, options, 3)


def logic(g):
    x = g.pick(("bool",))
    if g.chance(0.3):
        return g.op(87, [x], [g.result("bool", x.shape)], {}, 63)
    code, options = g.one((84, 60), (86, 62))
    z = partner(g, x)
    g.op(code, [x, z], [g.result("bool", numpy.broadcast_shapes(x.shape, z.shape))], {}, options)


def table(g):
    """Functions with fixed scales of their results."""
    code = g.one(14, 28, 25, 50, 11)
    x = g.pick(("float32", "int8", "uint8", "int16") if code != 50 else ("float32", "int8", "uint8"), suits=(lambda t: len(t.shape) <= 4) if code in (25, 50, 11) else None)
    if x.kind == "int16" and code == 11:
        raise Redraw
    low = RANGE.get(x.kind, (0, 0))[0]
    q = {14: (1 / 256, low), 28: (1 / 128, low + 128), 25: (1 / 256, low), 50: (16 / 256, low + 255), 11: (1 / 128, low + 128)}[code]
    q = {} if x.kind == "float32" else {"scale": 1 / 32768, "zero": 0} if x.kind == "int16" else {"scale": q[0], "zero": q[1]}
    y = g.result(x.kind, x.shape, q)
    if code == 25:
        g.op(25, [x], [y], {0: ("f", g.one(1.0, 0.5, 2.0))}, 9, 3)
    else:
        g.op(code, [x], [y], *({50: ({}, 36), 11: ({0: ("b", 0)}, 12)}.get(code, (None, 0))), 2)


def bend(g):
    code = g.one(19, 20, 21, 117, 98, 54, 111)
    x = g.pick(("float32", "int8", "uint8", "int16") if code in (19, 21, 98) else ("float32", "int8") if code in (111,) else ("float32", "int8", "uint8"))
    y = g.result(x.kind, x.shape)
    if code == 54:
        slope = g.constant(x.kind, tuple(1 if g.chance(0.6) else d for d in x.shape[1:]) if len(x.shape) > 1 else x.shape)
        return g.op(54, [x, slope], [y])
    g.op(code, [x], [y], *({98: ({0: ("f", g.one(0.1, 0.3, 1.5, -0.2))}, 75), 117: ({}, 91)}.get(code, (None, 0))), 2 if code != 117 else 1)


def floats(g):
    code, options = g.one((8, 0), (47, 33), (59, 42), (66, 0), (104, 0), (101, 78), (92, 66), (116, 0), (108, 84), (75, 0), (76, 0), (73, 0), (150, 116))
    x = g.pick(("float32",))
    if code in (73, 75, 76):
        s = g.result("float32", x.shape)
        g.op(92, [x], [s], {}, 66)
        t = g.result("float32", x.shape)
        g.op(0, [s, g.constant("float32", (1,), {}, numpy.array([0.5], "f4"))], [t], {0: ("b", 0)}, 11)
        x = t
    if code == 47:
        t = g.result("float32", x.shape)
        g.op(28, [x], [t])
        x = t
    g.op(code, [x], [g.result("float32", x.shape)], {} if options else None, options)


def sign_int(g):
    code, options = g.one((101, 78), (59, 42))
    x = g.pick(("int8", "int16", "int32") if code == 101 else ("int32", "int64"))
    g.op(code, [x], [g.result(x.kind, x.shape)], {}, options)


def axes_of(g, t, least=1):
    count = g.number(least, len(t.shape))
    axes = sorted(int(a) for a in g.random.permutation(len(t.shape))[:count])
    given = [a - len(t.shape) if g.chance(0.4) else a for a in axes]
    g.random.shuffle(given)
    return axes, given


def reduce(g):
    code = g.one(40, 40, 74, 82, 89, 81, 91, 140)
    kinds = {40: ("int8", "uint8", "int16", "float32", "int32"), 74: ("int8", "uint8", "float32", "int32"), 81: ("float32", "int32"),
             91: ("bool",), 140: ("bool",)}.get(code, ("int8", "uint8", "int16", "float32", "int32", "int64"))
    x = g.pick(kinds, suits=lambda t: len(t.shape) >= 1)
    axes, given = axes_of(g, x)
    keep = g.chance(0.5)
    shape = tuple(1 if i in axes else d for i, d in enumerate(x.shape) if keep or i not in axes)
    q = g.like(x) if code in (82, 89) or g.chance(0.4) else None
    g.op(code, [x, g.numbers(given)], [g.result(x.kind, shape, q)], {0: ("?", keep)}, 27, 2)


ANY = ("int8", "uint8", "int16", "float32", "int32", "int64", "bool")
MOVED = ("int8", "uint8", "int16", "float32", "int32", "int64")


def reshape(g):
    x = g.pick(ANY)
    dims = [d for d in x.shape]
    for _ in range(g.number(1, 3)):
        if len(dims) > 1 and g.chance(0.6):
            i = g.number(0, len(dims) - 2)
            dims[i:i + 2] = [dims[i] * dims[i + 1]]
        elif len(dims) < 5:
            dims.insert(g.number(0, len(dims)), 1)
    given = list(dims)
    if given and g.chance(0.5):
        given[g.number(0, len(given) - 1)] = -1
    y = g.result(x.kind, dims, g.like(x))
    if g.chance(0.5):
        g.op(22, [x], [y], {0: ("i", given)}, 17)
    else:
        g.op(22, [x, g.numbers(given)], [y], {0: ("i", given)} if g.chance(0.5) else None, 17)


def squeeze(g):
    x = g.pick(MOVED, suits=lambda t: 1 in t.shape)
    ones = [i for i, d in enumerate(x.shape) if d == 1]
    if g.chance(0.3):
        return g.op(43, [x], [g.result(x.kind, [d for d in x.shape if d != 1], g.like(x))], {0: ("i", [])}, 30)
    some = sorted(g.random.permutation(ones)[:g.number(1, len(ones))].tolist())
    g.op(43, [x], [g.result(x.kind, [d for i, d in enumerate(x.shape) if i not in some], g.like(x))],
         {0: ("i", [i - len(x.shape) if g.chance(0.4) else i for i in some])}, 30)


def expand(g):
    x = g.pick(MOVED, suits=lambda t: len(t.shape) < 5)
    at = g.number(0, len(x.shape))
    shape = x.shape[:at] + (1,) + x.shape[at:]
    g.op(70, [x, g.numbers([at - len(shape) if g.chance(0.4) else at])], [g.result(x.kind, shape, g.like(x))], {}, 52)


def transpose(g):
    x = g.pick(MOVED)
    order = g.random.permutation(len(x.shape)).tolist()
    g.op(39, [x, g.numbers([i - len(x.shape) if g.chance(0.2) else i for i in order])], [g.result(x.kind, [x.shape[i] for i in order], g.like(x))], {}, 26, 3)


def slice_(g):
    x = g.pick(ANY)
    kind = g.one("int32", "int64")
    begin = [g.number(0, d - 1) for d in x.shape]
    size = [g.number(1, d - b) for d, b in zip(x.shape, begin)]
    given = [-1 if b + s == d and g.chance(0.5) else s for b, s, d in zip(begin, size, x.shape)]
    g.op(65, [x, g.numbers(begin, kind), g.numbers(given, kind)], [g.result(x.kind, size, g.like(x))], {}, 48, 3)


def strided(g):
    x = g.pick(ANY, suits=lambda t: len(t.shape) <= 5)
    begin, end, step, index, masks, want = [], [], [], [], [0] * 5, []
    dims = list(x.shape)
    used, i = g.number(1, len(dims)), 0
    ellipsis = used < len(dims) and g.chance(0.3)
    while i < used:
        bit = 1 << len(begin)
        if g.chance(0.1) and len(dims) + bin(masks[3]).count("1") < 5:
            masks[3] |= bit
            begin.append(0), end.append(0), step.append(1), index.append(None)
            continue
        if ellipsis and i < used and not masks[2]:
            masks[2] |= bit
            begin.append(0), end.append(0), step.append(1), index.append(Ellipsis)
            ellipsis = False
            continue
        at = i + (len(dims) - used if masks[2] else 0)
        d = dims[at]
        s = g.one(1, 1, 2, 3, -1, -2)
        if g.chance(0.2):
            masks[4] |= bit
            b = g.number(-d, d - 1)
            begin.append(b), end.append(b + 1), step.append(1), index.append(b)
        else:
            b, e = g.number(-d - 1, d + 1), g.number(-d - 1, d + 1)
            first, last = g.chance(0.3), g.chance(0.3)
            masks[0] |= bit if first else 0
            masks[1] |= bit if last else 0
            begin.append(b), end.append(e), step.append(s)
            index.append(slice(None if first else b, None if last else e, s))
        i += 1
    probe = numpy.zeros(x.shape, "i1")[tuple(index)]
    if probe.size == 0 and g.chance(0.9):
        raise Redraw
    g.op(45, [x, g.numbers(begin), g.numbers(end), g.numbers(step)], [g.result(x.kind, probe.shape, g.like(x))],
         {n: ("i", m) for n, m in enumerate(masks)}, 32, 4)


def split(g):
    x = g.pick(("int8", "uint8", "int16", "float32", "int32"))
    axis, given = g.some_axis(x)
    d = x.shape[axis]
    if g.chance(0.5):
        n = g.one(*[k for k in range(1, d + 1) if d % k == 0])
        outs = [g.result(x.kind, x.shape[:axis] + (d // n,) + x.shape[axis + 1:], g.like(x)) for _ in range(n)]
        return g.op(49, [g.numbers([given]), x], outs, {0: ("i", n)}, 35, 4)
    sizes, left = [], d
    while left:
        sizes.append(g.number(1, left))
        left -= sizes[-1]
    outs = [g.result(x.kind, x.shape[:axis] + (s,) + x.shape[axis + 1:], g.like(x)) for s in sizes]
    stated = list(sizes)
    if g.chance(0.4):
        stated[g.number(0, len(sizes) - 1)] = -1
    g.op(102, [x, g.numbers(stated, g.one("int32", "int64")), g.numbers([given])], outs, {0: ("i", len(sizes))}, 79, 2)


def concat(g):
    x = g.pick(("int8", "uint8", "int16", "float32", "int32", "int64"))
    axis, given = g.some_axis(x)
    y_q = g.like(x) if x.kind != "uint8" or g.chance(0.5) else g.quantization("uint8")
    parts = [x]
    for _ in range(g.number(0, 3)):
        shape = x.shape[:axis] + (g.number(1, 6),) + x.shape[axis + 1:]
        q = g.quantization("uint8") if x.kind == "uint8" and g.chance(0.5) else y_q
        parts.append(g.constant(x.kind, shape, q) if g.chance(0.3) else g.fresh(x.kind, shape, q))
    g.random.shuffle(parts)
    g.op(2, parts, [g.result(x.kind, x.shape[:axis] + (sum(p.shape[axis] for p in parts),) + x.shape[axis + 1:], y_q)],
         {0: ("i", given), 1: ("b", 0)}, 10, 2)


def pack(g):
    x = g.pick(("int8", "uint8", "int16", "float32", "int32", "int64"), suits=lambda t: len(t.shape) < 5)
    axis = g.number(0, len(x.shape))
    others = [g.constant(x.kind, x.shape, g.like(x)) if g.chance(0.4) else g.fresh(x.kind, x.shape, g.like(x)) for _ in range(g.number(0, 2))]
    shape = x.shape[:axis] + (1 + len(others),) + x.shape[axis:]
    g.op(83, [x] + others, [g.result(x.kind, shape, g.like(x))], {0: ("i", len(others) + 1), 1: ("i", axis - len(shape) if g.chance(0.4) else axis)}, 59, 2)


def unpack(g):
    x = g.pick(("int8", "uint8", "int16", "float32", "int32", "bool"), suits=lambda t: len(t.shape) > 1)
    axis, given = g.some_axis(x)
    outs = [g.result(x.kind, x.shape[:axis] + x.shape[axis + 1:], g.like(x)) for _ in range(x.shape[axis])]
    g.op(88, [x], outs, {0: ("i", x.shape[axis]), 1: ("i", given)}, 64, 3)


def pad(g):
    x = g.pick(MOVED, suits=lambda t: len(t.shape) <= 5)
    code = g.one(34, 60, 100)
    mode = g.number(0, 1)
    least = 1 - mode
    most = [3 if code != 100 else max(d - least, 0) for d in x.shape]
    around = [[g.number(0, min(3, m)), g.number(0, min(3, m))] if g.chance(0.7) else [0, 0] for m in most]
    if code == 100 and x.kind in ("uint8", "int16"):
        raise Redraw
    y = g.result(x.kind, [d + a + b for d, (a, b) in zip(x.shape, around)], g.like(x))
    sides = g.numbers(around)
    if code == 60:
        value = g.constant(x.kind, None, g.like(x), g.values(x.kind, (1,)))
        return g.op(60, [x, sides, value], [y], {}, 43, 2)
    g.op(code, [x, sides], [y], {0: ("b", mode)} if code == 100 else {}, 77 if code == 100 else 22, 2)


def tile(g):
    x = g.pick(("int8", "uint8", "float32", "int32", "int64", "bool"))
    times = [g.one(1, 1, 2, 3) for _ in x.shape]
    g.op(69, [x, g.numbers(times, g.one("int32", "int64"))], [g.result(x.kind, [d * t for d, t in zip(x.shape, times)], g.like(x))], {}, 51, 3)


def gather(g):
    x = g.pick(("int8", "uint8", "int16", "float32", "int32", "bool"))
    axis, given = g.some_axis(x)
    batch = g.number(0, axis) if g.chance(0.4) else 0
    more = g.shape(g.number(0, 2), 4)
    data = g.random.integers(0, x.shape[axis], x.shape[:batch] + more)
    index = g.numbers(data, g.one("int32", "int64"))
    shape = x.shape[:axis] + more + x.shape[axis + 1:]
    if len(shape) > 6:
        raise Redraw
    g.op(36, [x, index], [g.result(x.kind, shape, g.like(x))], {0: ("i", given), 1: ("i", batch)}, 23, 4)


def gather_nd(g):
    x = g.pick(("int8", "uint8", "int16", "float32", "int32"))
    depth = g.number(1, len(x.shape))
    more = g.shape(g.number(1, 2), 4)
    data = numpy.stack([g.random.integers(0, x.shape[i], more) for i in range(depth)], -1)
    g.op(107, [x, g.numbers(data, g.one("int32", "int64"))], [g.result(x.kind, more + x.shape[depth:], g.like(x))], {}, 83, 3)


def reverse(g):
    x = g.pick(("int8", "uint8", "int16", "float32", "int32", "bool"))
    axis, given = g.some_axis(x)
    g.op(105, [x, g.numbers([given])], [g.result(x.kind, x.shape, g.like(x))], {}, 81, 3)


def blocks(g):
    x = g.pick(("int8", "uint8", "float32", "int32"), 4)
    n, h, w, c = x.shape
    way = g.number(0, 3)
    if way == 0:
        b = g.one(2, 3)
        if h % b or w % b:
            raise Redraw
        return g.op(26, [x], [g.result(x.kind, (n, h // b, w // b, c * b * b), g.like(x))], {0: ("i", b)}, 19)
    if way == 1:
        if c % 4:
            raise Redraw
        return g.op(5, [x], [g.result(x.kind, (n, h * 2, w * 2, c // 4), g.like(x))], {0: ("i", 2)}, 94)
    bh, bw = g.number(1, 3), g.number(1, 3)
    if way == 2:
        top, left = g.number(0, 2), g.number(0, 2)
        bottom, right = -(h + top) % bh, -(w + left) % bw
        shape = (n * bh * bw, (h + top + bottom) // bh, (w + left + right) // bw, c)
        return g.op(38, [x, g.numbers([bh, bw]), g.numbers([[top, bottom], [left, right]])], [g.result(x.kind, shape, g.like(x))], {}, 25, 2)
    if n % (bh * bw):
        x = g.fresh(x.kind, (bh * bw * g.number(1, 2), h, w, c))
        n = x.shape[0]
    top, left = g.number(0, min(1, h * bh - 1)), g.number(0, min(1, w * bw - 1))
    shape = (n // (bh * bw), h * bh - top, w * bw - left, c)
    if min(shape) < 1:
        raise Redraw
    g.op(37, [x, g.numbers([bh, bw]), g.numbers([[top, 0], [left, 0]])], [g.result(x.kind, shape, g.like(x))], {}, 24, 2)


def resize(g):
    x = g.pick(("int8", "uint8", "int16", "float32"), 4)
    n, h, w, c = x.shape
    to = (g.number(1, 17), g.number(1, 17)) if g.chance(0.6) else (2 * h, 2 * w)
    corners = g.chance(0.3)
    centers = not corners and g.chance(0.5)
    y = g.result(x.kind, (n,) + to + (c,), g.like(x))
    if g.chance(0.6):
        g.op(23, [x, g.numbers(to)], [y], {2: ("?", corners), 3: ("?", centers)}, 15, 4)
    else:
        g.op(97, [x, g.numbers(to)], [y], {0: ("?", corners), 1: ("?", centers)}, 74, 4)


def requantize(g):
    x = g.pick(("int8", "uint8", "int16", "float32"))
    to = g.one("int8", "uint8", "int16")
    if {x.kind, to} == {"uint8", "int16"}:
        raise Redraw
    g.op(114, [x], [g.result(to, x.shape)], {}, 89, 2)


def dequantize(g):
    x = g.pick(QUANTIZED)
    g.op(6, [x], [g.result("float32", x.shape)], {}, 38, 3)


def cast(g):
    x = g.pick(("float32", "int32", "int64", "bool", "uint8", "int8"), suits=lambda t: t.kind not in QUANTIZED)
    to = g.one("float32", "int32", "int64", "bool")
    g.op(53, [x], [g.result(to, x.shape)], {0: ("b", TYPES[x.kind]), 1: ("b", TYPES[to])}, 37)


def arg(g):
    code, options = g.one((56, 40), (79, 57))
    x = g.pick(("int8", "uint8", "float32", "int32"))
    axis, given = g.some_axis(x)
    to = g.one("int32", "int64")
    g.op(code, [x, g.numbers(given, g.one("int32", "int64"))], [g.result(to, x.shape[:axis] + x.shape[axis + 1:])], {0: ("b", TYPES[to])}, options, 2)


def top_k(g):
    x = g.pick(("int8", "uint8", "float32", "int32"))
    k = g.number(1, x.shape[-1])
    g.op(48, [x, g.numbers(k)], [g.result(x.kind, x.shape[:-1] + (k,), g.like(x)), g.result("int32", x.shape[:-1] + (k,))], {}, 34, 2)


def select(g):
    x = g.pick(("int8", "uint8", "int16", "float32", "int32"))
    z = partner(g, x, True) if g.chance(0.5) else g.fresh(x.kind, x.shape, g.like(x))
    to = numpy.broadcast_shapes(x.shape, z.shape)
    new = z.shape != x.shape or g.chance(0.5)
    which = g.fresh("bool", to if not new else tuple(1 if g.chance(0.3) else d for d in to))
    if new:
        g.op(123, [which, x, z], [g.result(x.kind, to, g.like(x))], {}, 98)
    else:
        g.op(64, [which, x, z], [g.result(x.kind, to, g.like(x))], {}, 47)


def matmul(g):
    x = g.pick(("int8", "float32", "int16"), suits=lambda t: 2 <= len(t.shape) <= 5)
    ax, ay, n = g.chance(0.3), g.chance(0.3), g.number(1, 9)
    rows, depth = (x.shape[-1], x.shape[-2]) if ax else x.shape[-2:]
    ahead = tuple(1 if g.chance(0.3) else d for d in x.shape[:-2])
    shape = ahead + ((n, depth) if ay else (depth, n))
    z = g.fresh(x.kind, shape) if g.chance(0.6) or x.kind == "int16" else g.constant(x.kind, shape)
    y = g.result(x.kind, x.shape[:-2] + (rows, n), layer_scale(g, x, depth))
    g.op(126, [x, z], [y], {0: ("?", ax), 1: ("?", ay), 2: ("?", False)}, 101, 3)


def cumsum(g):
    x = g.pick(("float32", "int32", "int64"))
    axis, given = g.some_axis(x)
    g.op(128, [x, g.numbers(given)], [g.result(x.kind, x.shape)], {0: ("?", g.chance(0.5)), 1: ("?", g.chance(0.5))}, 102)


def broadcast(g):
    x = g.pick(("int8", "uint8", "int16", "float32", "int32"))
    shape = [g.number(2, 4) if d == 1 else d for d in x.shape]
    shape = [g.number(1, 3)] * g.number(0, 1) + shape
    g.op(130, [x, g.numbers(shape, g.one("int32", "int64"))], [g.result(x.kind, shape, g.like(x))], {}, 104, 3)


def norms(g):
    x = g.pick(("float32",), 4)
    g.op(13, [x], [g.result("float32", x.shape)], {0: ("i", g.number(1, 4)), 1: ("f", 1.0), 2: ("f", 0.3), 3: ("f", g.one(0.5, 0.75))}, 13)


def one_hot(g):
    shape = g.shape(g.number(1, 3), 5)
    depth = g.number(1, 6)
    kind = g.one("float32", "int32", "int8", "uint8", "bool", "int64")
    axis = g.number(-1, len(shape))
    at = len(shape) if axis < 0 else axis
    index = g.fresh("int32", shape)
    q = g.quantization(kind)
    on, off = (g.constant(kind, (), q, numpy.array(v).astype(kind)) for v in (1, 0))
    g.op(85, [index, g.numbers(depth), on, off], [g.result(kind, shape[:at] + (depth,) + shape[at:], q)], {0: ("i", axis)}, 61)


def scatter(g):
    x = g.pick(("float32", "int32", "int8", "uint8"), g.number(1, 3))
    d = x.shape[0]
    to = (d + g.number(0, 4),) + x.shape[1:]
    index = g.numbers(g.random.integers(0, to[0], (d, 1)) if x.kind == "int32" else g.random.permutation(to[0])[:d].reshape(d, 1))
    g.op(122, [index, x, g.numbers(to)], [g.result(x.kind, to, g.like(x))], {}, 97)


def add_n(g):
    x = g.pick(("float32", "int32"))
    g.op(106, [x] + [g.fresh(x.kind, x.shape) for _ in range(g.number(0, 3))], [g.result(x.kind, x.shape)], {}, 82)


def shapes(g):
    x = g.pick(MOVED)
    way = g.number(0, 3)
    if way == 0:
        return g.op(77, [x], [g.result("int32", (len(x.shape),))], {0: ("b", TYPES["int32"])}, 55)
    if way == 1:
        return g.op(93, [x], [g.result(x.kind, x.shape, g.like(x))], {}, 67) if x.kind in ("float32", "int32", "int64") else None
    if way == 2:
        return g.op(110, [x], [g.result("int32", ())], {}, 86)
    g.op(94, [g.numbers(x.shape, g.one("int32", "int64")), g.constant("float32", ())], [g.result("float32", x.shape)], {}, 68)


OPERATORS = [conv, conv, depthwise, depthwise, dense, dense, transpose_conv, pool, binary, binary, divide, whole, extreme, squared, compare, logic, table, table,
             bend, bend, floats, sign_int, reduce, reduce, reduce, reshape, squeeze, expand, transpose, slice_, strided, strided, split, concat, pack, unpack, pad,
             tile, gather, gather_nd, reverse, blocks, blocks, resize, requantize, requantize, dequantize, cast, arg, top_k, select, matmul, cumsum, broadcast,
             norms, one_hot, scatter, add_n, shapes]


def grown(seed, only=None):
    for more in range(1000):
        g = Graph([seed, more])
        steps = g.number(1, 7)
        try:
            while len(g.words) < steps:
                count = len(g.words)
                g.one(*(only or OPERATORS))(g)
        except (Redraw, ValueError, IndexError):
            continue
        shown = [t for t in g.made if numpy.prod(t.shape, dtype=int) > 0]
        if not shown or len(g.inputs) == 0 or any(0 in t.shape for t in g.made):
            continue
        if g.chance(0.4):
            shown = shown[-1:]
        given = [[g.values(t.kind, t.shape) for t in g.inputs] for _ in range(2)]
        return g, shown, given
    raise SystemExit("nothing was drawn for seed %d" % seed)


# ---- judging

def judged(path, data, runs, outputs):
    """The library's results, from a process of its own: it does not survive everything."""
    back, there = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(back)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            said = pickle.dumps([Engine(path).run(data, given, outputs) for given in runs])
        except Exception:
            said = pickle.dumps(None)
        with os.fdopen(there, "wb") as f:
            f.write(said)
        os._exit(0)
    os.close(there)
    with os.fdopen(back, "rb") as f:
        said = f.read()
    os.waitpid(child, 0)
    found = pickle.loads(said) if said else None
    return None if found is None or any(r is None for r in found) else found


def differs(t, ours, theirs):
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return "%s %s instead of %s %s" % (ours.dtype, ours.shape, theirs.dtype, theirs.shape)
    if ours.dtype.kind != "f":
        off = ours != theirs
        if off.any():
            return "%d of %d integers, by up to %d" % (off.sum(), off.size, numpy.abs(ours.astype(numpy.int64) - theirs.astype(numpy.int64)).max())
        return None
    same = (ours == theirs) | (numpy.isnan(ours) & numpy.isnan(theirs))
    with numpy.errstate(all="ignore"):
        off = numpy.where(same, 0, numpy.abs(ours - theirs))
        largest = numpy.abs(theirs[numpy.isfinite(theirs)]).max(initial=1)
    return None if (off <= 1e-4 * largest).all() else "floats off by %g of %g" % (numpy.nanmax(off), largest)


def attempt(vtac, library, seed, work, target, only=None):
    g, shown, given = grown(seed, only)
    data = g.model.write([t.number for t in g.inputs], [t.number for t in shown])
    theirs = judged(library, data, given, len(shown))
    if theirs is None:
        return "not judged", g, data
    path, so, out = (os.path.join(work, n) for n in ("grow.tflite", "grow.so", "out"))
    with open(path, "wb") as f:
        f.write(data)
    done = subprocess.run([vtac, "compile", path, "--target", *target, "-o", so], capture_output=True, text=True)
    if done.returncode != 0:
        return "refused: " + (done.stderr.strip().splitlines() or ["status %d" % done.returncode])[-1], g, data
    for values, right in zip(given, theirs):
        words = []
        for t, v in zip(g.inputs, values):
            file = os.path.join(work, "in%d.npy" % t.number)
            numpy.save(file, v)
            words += ["--input", "t%d=%s" % (t.number, file)]
        done = subprocess.run([vtac, "run", so, *words, "--output-dir", out], capture_output=True, text=True)
        if done.returncode != 0:
            return "does not run: " + (done.stderr.strip() or "status %d" % done.returncode), g, data
        for t, r in zip(shown, right):
            ours = numpy.load(os.path.join(out, "t%d.npy" % t.number))
            said = differs(t, ours, r)
            if said:
                return "t%d: %s" % (t.number, said), g, data
    return None, g, data


def main():
    library = os.environ.get("VTAC_TFLITE")
    if not library or not os.path.exists(library):
        print("VTAC_TFLITE names no library of TensorFlow Lite")
        sys.exit(77)
    vtac, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else word_seed.number(3) * 100
    print("seeds %d to %d" % (seed, seed + count - 1))
    only = [globals()[n] for n in sys.argv[4].split(",")] if len(sys.argv) > 4 else None
    target = os.environ.get("VTAC_GROW_TARGET", "llvm").split()
    right = wrong = other = 0
    with tempfile.TemporaryDirectory() as work:
        for s in range(seed, seed + count):
            said, g, data = attempt(vtac, library, s, work, target, only)
            right, other, wrong = right + (said is None), other + (said == "not judged"), wrong + (said not in (None, "not judged"))
            if said not in (None, "not judged"):
                with open("grow-%d.tflite" % s, "wb") as f:
                    f.write(data)
                print("seed %d: %s\n    %s" % (s, said, "; ".join(g.words)), flush=True)
    print("%d graphs equal, %d not, %d that the library does not take" % (right, wrong, other))
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
