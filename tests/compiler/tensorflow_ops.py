#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# The operators of TensorFlow: every row of compiler/src/tensorflow/operators.def at least once, in graphs that are written
# here with random numbers, against NumPy in double; each graph runs twice with different data. Every graph goes through a
# GraphDef. The table in the folder's README lists the rows, no more and no fewer. What graphs write in pieces is recognized:
# PReLU, softmax, normalizations, flattening, dropout; nothing but the ends is transposed.
#
# usage: tensorflow_ops.py VTAC SOURCE   (exit status 77: no numpy)
import math
import os
import re
import subprocess
import sys
import tempfile

try:
    import numpy
    import word_seed
    from tensorflow_file import Function, Graph, Shape, Type, average_pool, conv, depthwise, max_pool, mobilenet, softmax
except ImportError:
    sys.exit(77)

F32 = Type("float32")


class Trial:
    def __init__(self, vtac, work, seed):
        self.vtac, self.work, self.random, self.count, self.used = vtac, work, numpy.random.default_rng(seed), 0, set()

    def path(self, name):
        return os.path.join(self.work, name)

    def call(self, *words):
        done = subprocess.run([self.vtac, *words], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit("vtac %s\n%s%s" % (" ".join(words), done.stdout, done.stderr))
        return done.stdout

    def write(self, g, name="graph.pb"):
        self.used |= g.operators
        with open(self.path(name), "wb") as f:
            f.write(g.graph_def())
        return self.path(name)

    def draw(self, dims, kind="float32", low=-2.0, high=2.0):
        if kind == "bool":
            return self.random.integers(0, 2, dims).astype(bool)
        if kind.startswith("int"):
            return self.random.integers(low, high + 1, dims).astype(kind)
        return self.random.uniform(low, high, dims).astype(kind)

    def check(self, what, g, draw, wanted, tolerance=2e-5, options=()):
        """`draw` gives inputs by name, `wanted` outputs by node from them."""
        path = self.write(g)
        self.call("compile", path, "-o", self.path("graph.so"), *options)
        for _ in range(2):
            given, words = draw(), []
            for name, value in given.items():
                numpy.save(self.path(name + ".npy"), value)
                words += ["--input", "%s=%s" % (name, self.path(name + ".npy"))]
            folder = tempfile.mkdtemp(dir=self.work)
            self.call("run", self.path("graph.so"), *words, "--output-dir", folder)
            for name, y in wanted(**given).items():
                found, y = numpy.load(os.path.join(folder, name + ".npy")), numpy.asarray(y)
                if found.shape != y.shape or not numpy.allclose(found, y, rtol=tolerance, atol=tolerance, equal_nan=True):
                    sys.exit("%s, '%s':\n%s\n%s, expected\n%s\n%s" % (what, name, found.shape, found, y.shape, y))
                self.count += 1

    def nodes(self, path, *options):
        """How many nodes of each operator `vtac inspect` shows."""
        found = re.findall(r"^%.* = (\w+)\(", self.call("inspect", path, *options), re.M)
        return {op: found.count(op) for op in found}


# ---- on each element

def erf(x):
    return numpy.vectorize(math.erf)(x)


UNARY = {
    "Abs": abs, "Ceil": numpy.ceil, "Cos": numpy.cos, "Cosh": numpy.cosh, "Elu": lambda x: numpy.where(x > 0, x, numpy.expm1(x)), "Erf": erf,
    "Erfc": lambda x: 1 - erf(x), "Exp": numpy.exp, "Expm1": numpy.expm1, "Floor": numpy.floor, "Identity": lambda x: x, "StopGradient": lambda x: x,
    "CheckNumerics": lambda x: x, "Snapshot": lambda x: x, "PreventGradient": lambda x: x, "EnsureShape": lambda x: x, "Neg": lambda x: -x,
    "Relu": lambda x: numpy.maximum(x, 0), "Relu6": lambda x: numpy.clip(x, 0, 6), "Rint": numpy.round, "Round": numpy.round, "Asinh": numpy.arcsinh,
    "Selu": lambda x: 1.0507009873554805 * numpy.where(x > 0, x, 1.6732632423543772 * numpy.expm1(x)), "Sigmoid": lambda x: 1 / (1 + numpy.exp(-x)),
    "Sign": numpy.sign, "Sin": numpy.sin, "Sinh": numpy.sinh, "Softplus": lambda x: numpy.log1p(numpy.exp(x)), "Softsign": lambda x: x / (1 + abs(x)),
    "Square": lambda x: x * x, "Tan": numpy.tan, "Tanh": numpy.tanh, "Atan": numpy.arctan, "ZerosLike": numpy.zeros_like, "OnesLike": numpy.ones_like,
    "IsFinite": numpy.isfinite, "IsInf": numpy.isinf, "IsNan": numpy.isnan, "Softmax": softmax, "LogSoftmax": lambda x: numpy.log(softmax(x)),
    "LeakyRelu": lambda x: numpy.where(x > 0, x, 0.2 * x), "Rank": numpy.ndim, "Size": numpy.size, "Shape": numpy.shape,
}
POSITIVE = {"Log": numpy.log, "Log1p": numpy.log1p, "Sqrt": numpy.sqrt, "Rsqrt": lambda x: x ** -0.5, "Reciprocal": lambda x: 1 / x, "Inv": lambda x: 1 / x,
            "Acosh": lambda x: numpy.arccosh(x + 1)}
SMALL = {"Acos": numpy.arccos, "Asin": numpy.arcsin, "Atanh": numpy.arctanh}
BINARY = {
    "Add": numpy.add, "AddV2": numpy.add, "Sub": numpy.subtract, "Mul": numpy.multiply, "RealDiv": numpy.divide, "Div": numpy.divide, "Maximum": numpy.maximum,
    "Minimum": numpy.minimum, "SquaredDifference": lambda a, b: (a - b) ** 2, "Atan2": numpy.arctan2, "Less": numpy.less, "LessEqual": numpy.less_equal, "Greater": numpy.greater,
    "GreaterEqual": numpy.greater_equal, "Equal": numpy.equal, "NotEqual": numpy.not_equal, "FloorDiv": lambda a, b: numpy.floor(a / b),
    "FloorMod": lambda a, b: a - numpy.floor(a / b) * b, "Mod": numpy.fmod, "DivNoNan": numpy.divide, "MulNoNan": numpy.multiply,
}


def elements(t):
    shape = (2, 3, 4)
    g = Graph()
    g.input("x", shape)
    g.input("p", shape)
    g.input("s", shape)
    g.input("b", (4,))
    for op in UNARY:
        g(op, "x", name="y" + op, T=F32)
    for op in POSITIVE:
        g(op, g("Add", "p", numpy.float32(1)) if op == "Acosh" else "p", name="y" + op)
    for op in SMALL:
        g(op, "s", name="y" + op)
    for op in BINARY:
        g(op, "x", "b", name="y" + op)
    g("Pow", "p", "b", name="yPow")

    def wanted(x, p, s, b):
        x, p, s, b = (v.astype(float) for v in (x, p, s, b))
        out = {"y" + k: f(x) for k, f in UNARY.items()}
        out.update({"y" + k: f(p) for k, f in POSITIVE.items()})
        out.update({"y" + k: f(s) for k, f in SMALL.items()})
        out.update({"y" + k: f(x, b) for k, f in BINARY.items()})
        return {**out, "yPow": p ** b}

    def draw():
        b = t.draw((4,), low=0.5) * numpy.float32(t.random.choice([-1, 1]))
        return {"x": t.draw(shape), "p": t.draw(shape, low=0.3), "s": t.draw(shape, low=-0.9, high=0.9), "b": b}

    t.check("elements", g, draw, wanted)


def whole_numbers(t):
    g = Graph()
    g.input("a", (3, 4), "int32")
    g.input("b", (4,), "int32")
    g.input("c", (3, 4), "bool")
    g.input("d", (4,), "bool")
    for op in ("FloorDiv", "FloorMod", "Mod", "Div", "NotEqual"):
        g(op, "a", "b", name="y" + op)
    g("Cast", "a", name="yCast", SrcT=Type("int32"), DstT=F32)
    g("LogicalAnd", "c", "d", name="yAnd")
    g("LogicalOr", "c", "d", name="yOr")
    g("LogicalNot", "c", name="yNot")
    g("All", "c", numpy.array([1], "int32"), name="yAll")
    g("Any", "c", numpy.array([1], "int32"), name="yAny", keep_dims=True)
    g("Select", g("Slice", g("Reshape", "c", numpy.array([12], "int32")), numpy.array([0], "int32"), numpy.array([3], "int32")), "a", g("Neg", "a"), name="ySelect")
    g("SelectV2", "d", "a", "b", name="ySelectV2")
    g("Range", numpy.int32(2), numpy.int32(11), numpy.int32(3), name="yRange")
    g("OneHot", "b", numpy.int32(6), numpy.float32(2.5), numpy.float32(-1), name="yOneHot", axis=-1)
    g("OneHot", "b", numpy.int32(6), numpy.float32(1), numpy.float32(0), name="yOneHot0", axis=0)

    def wanted(a, b, c, d):
        rows = c.reshape(-1)[:3, None]
        hot = numpy.equal(b[:, None], numpy.arange(6))
        return {"yFloorDiv": a // b, "yFloorMod": a % b, "yMod": numpy.fmod(a, b), "yDiv": numpy.trunc(a / b), "yNotEqual": a != b, "yCast": a, "yAnd": c & d,
                "yOr": c | d, "yNot": ~c, "yAll": c.all(1), "yAny": c.any(1, keepdims=True), "ySelect": numpy.where(rows, a, -a),
                "ySelectV2": numpy.where(d, a, b), "yRange": numpy.arange(2, 11, 3), "yOneHot": numpy.where(hot, 2.5, -1), "yOneHot0": hot.T}

    t.check("whole numbers", g, lambda: {"a": t.draw((3, 4), "int32", -20, 20), "b": t.draw((4,), "int32", 1, 5), "c": t.draw((3, 4), "bool"), "d": t.draw((4,), "bool")}, wanted)


# ---- windows

def windows(t):
    g, wanted, draw = Graph(), {}, t.draw
    size = [int(v) for v in t.random.integers(7, 12, 2)]
    g.input("x", (2, *size, 4))
    cases = [((3, 3), (1, 1), "SAME", (1, 1)), ((2, 3), (2, 1), "VALID", (1, 1)), ((3, 2), (2, 2), "SAME", (1, 1)), ((3, 3), (1, 1), "SAME", (2, 2)), ((2, 2), (1, 1), "VALID", (1, 2))]
    for i, (k, s, p, d) in enumerate(cases):
        w, wd, wg = draw((*k, 4, 5)), draw((*k, 4, 2)), draw((*k, 2, 6))
        how = {"strides": [1, *s, 1], "padding": p, "dilations": [1, *d, 1], "data_format": "NHWC"}
        g("Conv2D", "x", w, name="conv%d" % i, **how)
        g("Conv2D", "x", wg, name="group%d" % i, **how)
        g("DepthwiseConv2dNative", "x", wd, name="deep%d" % i, **how)
        wanted["conv%d" % i] = lambda x, w=w, s=s, p=p, d=d: conv(x, w, s, p, d)
        wanted["group%d" % i] = lambda x, w=wg, s=s, p=p, d=d: conv(x, w, s, p, d)
        wanted["deep%d" % i] = lambda x, w=wd, s=s, p=p, d=d: depthwise(x, w, s, p, d)
        if d == (1, 1):
            pool = {"ksize": [1, *k, 1], "strides": [1, *s, 1], "padding": p, "data_format": "NHWC"}
            g("MaxPool", "x", name="max%d" % i, **pool)
            g("AvgPool", "x", name="avg%d" % i, **pool)
            wanted["max%d" % i] = lambda x, k=k, s=s, p=p: max_pool(x, k, s, p)
            wanted["avg%d" % i] = lambda x, k=k, s=s, p=p: average_pool(x, k, s, p)
    w, b, slope = draw((3, 3, 4, 3)), draw((3,)), draw((1, 1, 3))
    explicit = {"strides": [1, 2, 1, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 2, 1, 0, 3, 0, 0]}
    g("Conv2D", "x", w, name="explicit", **explicit)
    wanted["explicit"] = lambda x: conv(numpy.pad(x, [(0, 0), (2, 1), (0, 3), (0, 0)]), w, (2, 1), "VALID")
    fused = {"strides": [1, 1, 1, 1], "padding": "SAME", "data_format": "NHWC"}
    for op in ("_FusedConv2D", "FusedConv2D"):
        g(op, "x", w, b, name="f" + op, fused_ops=["BiasAdd", "Relu"], num_args=1, **fused)
        wanted["f" + op] = lambda x: numpy.maximum(conv(x, w) + b, 0)
    g("_FusedConv2D", "x", w, b, slope, name="prelu", fused_ops=["BiasAdd", "Prelu"], num_args=2, **fused)
    wanted["prelu"] = lambda x: (lambda y: numpy.where(y > 0, y, y * slope))(conv(x, w) + b)
    wd, bd = draw((3, 3, 4, 1)), draw((4,))
    for follow, f in (("Relu6", lambda y: numpy.clip(y, 0, 6)), ("Elu", UNARY["Elu"]), ("Sigmoid", UNARY["Sigmoid"]), ("Tanh", numpy.tanh), ("LeakyRelu", UNARY["LeakyRelu"])):
        g("FusedDepthwiseConv2dNative", "x", wd, bd, name="fd" + follow, fused_ops=["BiasAdd", follow], num_args=1, **fused)
        wanted["fd" + follow] = lambda x, f=f: f(depthwise(x, wd) + bd)
    t.check("windows", g, lambda: {"x": draw((2, *size, 4))}, lambda x: {n: f(x) for n, f in wanted.items()}, 5e-5)


def more_windows(t):
    """Channels first, three axes, transposed convolutions, pictures of another size."""
    g, wanted, draw = Graph(), {}, t.draw
    g.input("c", (1, 3, 6, 8))
    g.input("v", (1, 4, 5, 6, 2))
    g.input("x", (1, 5, 6, 3))
    last, w, b = lambda v: numpy.moveaxis(v, 1, -1), draw((3, 3, 3, 4)), draw((4,))
    first = lambda v: numpy.moveaxis(v, -1, 1)
    y = g("Conv2D", "c", w, strides=[1, 1, 2, 1], padding="SAME", data_format="NCHW")
    g("BiasAdd", y, b, name="first", data_format="NCHW")
    g("BiasAddV1", "x", b[:3], name="firstBias")
    wanted["firstBias"] = lambda c, v, x: x + b[:3]
    wanted["first"] = lambda c, v, x: first(conv(last(c), w, (2, 1)) + b)
    g("MaxPool", "c", name="firstPool", ksize=[1, 1, 2, 2], strides=[1, 1, 2, 2], padding="VALID", data_format="NCHW")
    wanted["firstPool"] = lambda c, v, x: first(max_pool(last(c), (2, 2), (2, 2), "VALID"))
    w3 = draw((2, 3, 2, 2, 3))
    g("Conv3D", "v", w3, name="three", strides=[1, 1, 1, 1, 1], padding="VALID")
    wanted["three"] = lambda c, v, x: numpy.stack([sum(conv(v[:, d + i], w3[i], padding="VALID") for i in range(2)) for d in range(3)], 1)
    g("MaxPool3D", "v", name="threeMax", ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="VALID")
    g("AvgPool3D", "v", name="threeAvg", ksize=[1, 2, 1, 1, 1], strides=[1, 2, 1, 1, 1], padding="VALID")
    wanted["threeMax"] = lambda c, v, x: v[:, :, :4].reshape(1, 2, 2, 2, 2, 3, 2, 2).max((2, 4, 6))
    wanted["threeAvg"] = lambda c, v, x: v.reshape(1, 2, 2, 5, 6, 2).mean(2)
    for padding, size in (("SAME", (10, 12)), ("SAME", (9, 11)), ("VALID", (11, 13)), ("VALID", (12, 13))):
        wt, name = draw((3, 3, 2, 3)), "up%s%d" % (padding, size[0])
        g("Conv2DBackpropInput", numpy.array([1, *size, 2], "int32"), wt, "x", name=name, strides=[1, 2, 2, 1], padding=padding)

        def up(c, v, x, wt=wt, size=size, padding=padding):
            grown = numpy.zeros((1, size[0] + 8, size[1] + 8, 2))
            lead = [max((n - 1) * 2 + 3 - o, 0) // 2 if padding == "SAME" else 0 for n, o in zip(x.shape[1:3], size)]
            for i, j in numpy.ndindex(x.shape[1:3]):
                grown[:, 2 * i:2 * i + 3, 2 * j:2 * j + 3] += numpy.einsum("nc,hwoc->nhwo", x[:, i, j].astype(float), wt.astype(float))
            return grown[:, lead[0]:lead[0] + size[0], lead[1]:lead[1] + size[1]]
        wanted[name] = up
    places = {"corners": lambda i, n, m: i * (n - 1) / (m - 1), "plain": lambda i, n, m: i * n / m, "centers": lambda i, n, m: (i + 0.5) * n / m - 0.5}
    for how, place in places.items():
        attrs = {"align_corners": how == "corners", "half_pixel_centers": how == "centers"}
        for op in ("ResizeBilinear", "ResizeNearestNeighbor"):
            g(op, "x", numpy.array([8, 9], "int32"), name=op + how, **attrs)

        def resized(x, m, axis, place=place, how=how, linear=True):
            n = x.shape[axis]
            at = numpy.array([place(i, n, m) for i in range(m)])
            if not linear:
                low = numpy.floor(at + 0.5) if how != "plain" else numpy.floor(at)
                return numpy.take(x, numpy.clip(low, 0, n - 1).astype(int), axis)
            at = numpy.clip(at, 0, n - 1)
            low, dims = numpy.floor(at).astype(int), [1, 1, 1, 1]
            dims[axis] = m
            part = (at - low).reshape(dims)
            return numpy.take(x, low, axis) * (1 - part) + numpy.take(x, numpy.minimum(low + 1, n - 1), axis) * part
        wanted["ResizeBilinear" + how] = lambda c, v, x, r=resized: r(r(x.astype(float), 8, 1), 9, 2)
        wanted["ResizeNearestNeighbor" + how] = lambda c, v, x, r=resized: r(r(x, 8, 1, linear=False), 9, 2, linear=False)
    g("LRN", "x", name="lrn", depth_radius=1, bias=1.5, alpha=0.3, beta=0.7)
    wanted["lrn"] = lambda c, v, x: x / (1.5 + 0.3 * sum(numpy.pad(x.astype(float) ** 2, [(0, 0)] * 3 + [(1, 1)])[..., i:i + 3] for i in range(3))) ** 0.7
    t.check("more windows", g, lambda: {"c": draw((1, 3, 6, 8)), "v": draw((1, 4, 5, 6, 2)), "x": draw((1, 5, 6, 3))}, lambda **i: {n: f(**i) for n, f in wanted.items()}, 5e-5)


def normalizations(t):
    g, draw = Graph(), t.draw
    g.input("x", (2, 3, 4, 5))
    p = [draw((5,), low=0.5), draw((5,)), draw((5,)), draw((5,), low=0.5)]
    for op in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
        g(op, "x", *p, name=op, epsilon=0.01, is_training=False)
    none = numpy.zeros(0, "float32")
    g("FusedBatchNormV3", "x", p[0], p[1], none, none, name="training", epsilon=0.01, is_training=True)
    root = g("Rsqrt", g("AddV2", g.constant(p[3]), numpy.float32(0.01)))
    factor = g("Mul", root, g.constant(p[0]))
    g("AddV2", g("Mul", "x", factor), g("Sub", g.constant(p[1]), g("Mul", g.constant(p[2]), factor)), name="pieces")

    def wanted(x):
        norm = lambda m, v: (x - m) / numpy.sqrt(v + 0.01) * p[0] + p[1]
        by_batch = norm(x.mean((0, 1, 2), dtype=float), x.astype(float).var((0, 1, 2)))
        return {**{n: norm(p[2], p[3].astype(float)) for n in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "pieces")}, "training": by_batch}

    t.check("normalizations", g, lambda: {"x": draw((2, 3, 4, 5))}, wanted)


# ---- matrices, axes, places

def matrices(t):
    g, wanted, draw = Graph(), {}, t.draw
    g.input("x", (3, 4))
    g.input("y", (4, 5))
    g.input("m", (2, 3, 4))
    g.input("n", (2, 4, 3))
    w, b = draw((4, 6)), draw((6,))
    g("MatMul", "x", w, name="dense", transpose_a=False, transpose_b=False)
    g("MatMul", "x", w.T.copy(), name="turned", transpose_b=True)
    g("MatMul", "y", "x", name="both", transpose_a=True, transpose_b=True)
    g("_FusedMatMul", "x", w, b, name="fused", fused_ops=["BiasAdd", "Relu"], num_args=1)
    for op in ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"):
        g(op, "m", "n", name=op)
    g("BatchMatMulV2", "m", "m", name="adjoint", adj_y=True)
    g("Einsum", "m", "y", name="sum", equation="abc,cd->abd")
    f = lambda x, y, m, n: {"dense": x @ w, "turned": x @ w, "both": y.T @ x.T, "fused": numpy.maximum(x @ w + b, 0), **{op: m @ n for op in ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")},
                            "adjoint": m @ numpy.swapaxes(m, 1, 2), "sum": m @ y}
    t.check("matrices", g, lambda: {"x": draw((3, 4)), "y": draw((4, 5)), "m": draw((2, 3, 4)), "n": draw((2, 4, 3))}, f)


def axes(t):
    g, draw, wanted = Graph(), t.draw, {}
    g.input("x", (2, 3, 4, 5))
    g.input("r", (2, 6))
    ints = lambda *v: numpy.array(v, "int32")
    reductions = {"Mean": numpy.mean, "Sum": numpy.sum, "Max": numpy.max, "Min": numpy.min, "Prod": numpy.prod}
    planes = g("Relu", g("Conv2D", "x", numpy.eye(5, dtype="float32")[None, None], strides=[1, 1, 1, 1], padding="SAME"))
    for op, f in reductions.items():
        for name, of, over, keep in (("a", "x", (1, 2), False), ("b", "x", (-1,), True), ("c", planes, (1, 2), True), ("d", planes, (3,), False), ("e", planes, (1, 2), False)):
            g(op, of, ints(*over), name=op + name, keep_dims=keep)
            wanted[op + name] = lambda x, r, f=f, over=over, keep=keep, of=of: f(x.astype(float) if of == "x" else numpy.maximum(x, 0).astype(float), over, keepdims=keep)
    simple = [
        ("ArgMax", ("x", numpy.int32(3)), {"output_type": Type("int32")}, lambda x, r: x.argmax(3)), ("ArgMin", ("x", numpy.int32(1)), {}, lambda x, r: x.argmin(1)),
        ("Cumsum", ("x", numpy.int32(1)), {"exclusive": False, "reverse": True}, lambda x, r: numpy.flip(numpy.cumsum(numpy.flip(x, 1), 1), 1)),
        ("Cumprod", ("r", numpy.int32(1)), {}, lambda x, r: numpy.cumprod(r, 1)), ("AddN", ("x", "x", "x"), {}, lambda x, r: 3 * x),
        ("ClipByValue", ("x", numpy.float32(-0.5), numpy.float32(1)), {}, lambda x, r: numpy.clip(x, -0.5, 1)),
        ("Prelu", ("x", numpy.float32([1, 2, -1, 0.5, 0])), {}, lambda x, r: numpy.where(x > 0, x, x * numpy.float32([1, 2, -1, 0.5, 0]))),
        ("Reshape", ("x", ints(4, -1)), {}, lambda x, r: x.reshape(4, -1)), ("ExpandDims", ("x", numpy.int32(-2)), {}, lambda x, r: x[:, :, :, None]),
        ("Transpose", ("x", ints(3, 0, 2, 1)), {}, lambda x, r: x.transpose(3, 0, 2, 1)), ("Squeeze", (g("ExpandDims", "r", numpy.int32(1)),), {"squeeze_dims": [1]}, lambda x, r: r),
        ("ConcatV2", ("x", planes, numpy.int32(3)), {}, lambda x, r: numpy.concatenate([x, numpy.maximum(x, 0)], 3)),
        ("Concat", (numpy.int32(1), planes, planes), {}, lambda x, r: numpy.concatenate([numpy.maximum(x, 0)] * 2, 1)), ("Pack", ("r", "r"), {"axis": 1}, lambda x, r: numpy.stack([r, r], 1)),
        ("Slice", (planes, ints(0, 1, 0, 2), ints(-1, 2, 3, -1)), {}, lambda x, r: numpy.maximum(x, 0)[:, 1:, :3, 2:]),
        ("Tile", ("r", ints(2, 3)), {}, lambda x, r: numpy.tile(r, (2, 3))), ("Pad", (planes, ints(0, 0, 1, 2, 0, 1, 1, 0).reshape(4, 2)), {}, lambda x, r: numpy.pad(numpy.maximum(x, 0), ((0, 0), (1, 2), (0, 1), (1, 0)))),
        ("PadV2", ("r", ints(1, 0, 0, 2).reshape(2, 2), numpy.float32(7)), {}, lambda x, r: numpy.pad(r, ((1, 0), (0, 2)), constant_values=7)),
        ("MirrorPad", ("r", ints(0, 0, 2, 1).reshape(2, 2)), {"mode": "REFLECT"}, lambda x, r: numpy.pad(r, ((0, 0), (2, 1)), "reflect")),
        ("SparseToDense", (numpy.array([[0, 1], [1, 2]], "int32"), ints(2, 3), numpy.array([3, 4], "float32"), numpy.float32(-1)), {}, lambda x, r: numpy.array([[-1, 3, -1], [-1, -1, 4.]])),
        ("SparseToDense", (numpy.zeros((0, 1), "int32"), ints(4), numpy.zeros(0, "float32"), numpy.float32(2)), {}, lambda x, r: numpy.full(4, 2.)),
        ("Fill", (ints(2, 3), numpy.float32(1.5)), {}, lambda x, r: numpy.full((2, 3), 1.5)), ("BroadcastTo", ("r", ints(3, 2, 6)), {}, lambda x, r: numpy.broadcast_to(r, (3, 2, 6))),
        ("Gather", ("r", ints(1, 0, 1)), {}, lambda x, r: r[[1, 0, 1]]), ("GatherV2", ("x", ints(2, 0), numpy.int32(2)), {}, lambda x, r: x[:, :, [2, 0]]),
        ("GatherNd", ("r", ints(0, 3, 1, 5).reshape(2, 2)), {}, lambda x, r: r[[0, 1], [3, 5]]), ("ReverseV2", ("x", ints(1, -1)), {}, lambda x, r: x[:, ::-1, :, ::-1]),
        ("SpaceToDepth", (g("Slice", planes, ints(0, 0, 0, 0), ints(2, 2, 4, 5)),), {"block_size": 2}, lambda x, r: numpy.maximum(x, 0)[:, :2].reshape(2, 1, 2, 2, 2, 5).transpose(0, 1, 3, 2, 4, 5).reshape(2, 1, 2, 20)),
        ("DepthToSpace", (g("Slice", planes, ints(0, 0, 0, 0), ints(2, 3, 4, 4)),), {"block_size": 2}, lambda x, r: numpy.maximum(x, 0)[..., :4].reshape(2, 3, 4, 2, 2, 1).transpose(0, 1, 3, 2, 4, 5).reshape(2, 6, 8, 1)),
        ("StridedSlice", ("x", ints(0, 1, 0), ints(0, 3, 5), ints(1, 1, 2)), {"begin_mask": 1, "end_mask": 1, "ellipsis_mask": 2, "new_axis_mask": 0, "shrink_axis_mask": 0}, lambda x, r: x[..., 0:5:2]),
    ]
    simple += [("StridedSlice", ("x", ints(1, -1, 0, 9), ints(2, 0, 0, 0), ints(1, -1, 1, -2)), {"end_mask": 8, "new_axis_mask": 4, "shrink_axis_mask": 1}, lambda x, r: x[1, -1:0:-1, None, 9::-2])]
    for i, (op, inputs, attrs, f) in enumerate(simple):
        g(op, *inputs, name="s%d" % i, **attrs)
        wanted["s%d" % i] = f
    g("Split", numpy.int32(3), g("Slice", planes, ints(0, 0, 0, 0), ints(2, 3, 4, 4)), name="split", num_split=2)
    g("Neg", "split:1", name="half")
    wanted["half"] = lambda x, r: -numpy.maximum(x, 0)[..., 2:4]
    g("SplitV", "r", ints(1, -1, 2), numpy.int32(1), name="parts", num_split=3)
    g("Neg", "parts:1", name="rest")
    wanted["rest"] = lambda x, r: -r[:, 1:4]
    g("Unpack", "r", name="unpack", num=6, axis=1)
    g("Sub", "unpack:5", "unpack:2", name="columns")
    wanted["columns"] = lambda x, r: r[:, 5] - r[:, 2]
    g("TopKV2", "r", numpy.int32(3), name="top", sorted=True)
    g("Neg", "top", name="largest")
    g("Neg", "top:1", name="where")
    wanted["largest"] = lambda x, r: -numpy.sort(r, 1)[:, :2:-1]
    wanted["where"] = lambda x, r: -numpy.argsort(-r, 1, kind="stable")[:, :3]
    blocks, pads = ints(2, 3), ints(1, 0, 0, 2).reshape(2, 2)
    batch = g("SpaceToBatchND", "x", blocks, pads, name="batch")
    g("Neg", batch, name="batches")
    g("BatchToSpaceND", batch, blocks, pads, name="back")
    padded = lambda x: numpy.pad(x, ((0, 0), (1, 0), (0, 2), (0, 0)))
    wanted["batches"] = lambda x, r: -padded(x).reshape(2, 2, 2, 2, 3, 5).transpose(2, 4, 0, 1, 3, 5).reshape(12, 2, 2, 5)
    wanted["back"] = lambda x, r: x
    g("ShapeN", "x", "r", name="shapes", N=2)
    g("Cast", "shapes:1", name="second", DstT=F32)
    g("IdentityN", "x", "r", name="same")
    g("Neg", "same:1", name="other")
    g("PlaceholderWithDefault", g("Neg", "r"), name="default", dtype=F32, shape=Shape((2, 6)))
    wanted.update(second=lambda x, r: [2, 6], other=lambda x, r: -r, default=lambda x, r: -r)
    t.check("axes and places", g, lambda: {"x": draw((2, 3, 4, 5)), "r": draw((2, 6))}, lambda x, r: {n: f(x, r) for n, f in wanted.items()})


# ---- what is written in pieces

def pieces(t):
    draw = t.draw
    g, slope, w, b = Graph(), draw((8,), low=0.1, high=0.5), draw((3, 3, 3, 8)), draw((8,))
    x = g.input("x", (1, 8, 8, 3))
    y = g("BiasAdd", g("Conv2D", x, w, strides=[1, 2, 2, 1], padding="SAME"), b)
    y = g("Add", g("Relu", y), g("Mul", slope, g("Neg", g("Relu", g("Neg", y)))))
    y = g("Sub", g("Relu", y), g("Mul", g.constant(slope), g("Relu", g("Neg", y))))
    y = g("Add", g("Relu", y), g("Mul", g("Mul", slope, g("Sub", y, g("Abs", y))), numpy.float32(0.5)))
    y = g("AvgPool", y, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    rate = g("PlaceholderWithDefault", numpy.float32(1), name="keep", dtype=F32, shape=Shape(()))
    mask = g("Floor", g("Add", g("RandomUniform", g("Shape", y), dtype=F32), rate))
    y = g("Mul", g("RealDiv", y, rate), mask)
    count = g("Pack", g("StridedSlice", g("Shape", y), *(numpy.array([v], "int32") for v in (0, 1, 1)), shrink_axis_mask=1), numpy.int32(-1))
    wd = draw((32, 10), low=-0.2, high=0.2)
    y = g("MatMul", g("Reshape", y, count), wd)
    e = g("Exp", g("Sub", y, g("Max", y, numpy.int32(-1), keep_dims=True)))
    g("RealDiv", e, g("Sum", e, numpy.array([-1], "int32"), keep_dims=True), name="y")
    kept = lambda v: numpy.where(v > 0, v, v * slope)
    last = lambda v: numpy.where(v > 0, v, v * slope)

    def wanted(x):
        v = kept(conv(x, w, (2, 2)) + b)
        v = numpy.where(v > 0, v, v * slope)
        v = average_pool(last(v), (2, 2), (2, 2), "VALID")
        return {"y": softmax(v.reshape(1, -1) @ wd)}

    # The second form has x's own sign: relu(x) - slope * relu(-x) is slope * x below 0.
    t.check("pieces", g, lambda: {"x": draw((1, 8, 8, 3))}, wanted)
    t.check("pieces at -O0", g, lambda: {"x": draw((1, 8, 8, 3))}, wanted, options=("-O", "0"))
    found = t.nodes(t.path("graph.pb"), "-O", "3")
    if found != {"Transpose": 1, "Conv": 1, "PRelu": 3, "AveragePool": 1, "Reshape": 1, "Gemm": 1, "Softmax": 1}:
        sys.exit("what was written in pieces became %s" % found)
    g = Graph()
    g("Mul", g.input("x", (2, 2)), g("RandomUniform", numpy.array([2, 2], "int32")), name="y")
    done = subprocess.run([t.vtac, "inspect", t.write(g)], capture_output=True, text=True)
    if done.returncode != 1 or "depends on random numbers" not in done.stderr:
        sys.exit("random numbers outside of a dropout are taken: %s" % done.stderr)


def fake_quant(t):
    g, draw = Graph(), t.draw
    x = g.input("x", (1, 4, 4, 3))
    low, high = draw((3,), low=-2, high=-0.5), draw((3,), low=0.5, high=2)
    g("FakeQuantWithMinMaxArgs", x, name="args", min=-1.0, max=1.5, num_bits=8, narrow_range=False)
    g("FakeQuantWithMinMaxVars", x, numpy.float32(-0.9), numpy.float32(1.1), name="vars", num_bits=8, narrow_range=True)
    g("FakeQuantWithMinMaxVarsPerChannel", x, low, high, name="channels", num_bits=8, narrow_range=False)

    def quantized(x, low, high, bottom):
        scale = (high - low) / (255 - bottom)
        zero = numpy.clip(numpy.floor(bottom - low / scale + 0.5), bottom, 255)
        return (numpy.clip(numpy.round(x / scale) + zero, bottom, 255) - zero) * scale

    def draw_between():
        """Numbers that are not half-way between two steps, where the last bit of a scale decides."""
        while True:
            x = draw((1, 4, 4, 3))
            steps = [x / ((h - l) / (255 - b)) for l, h, b in ((-1.0, 1.5, 0), (-0.9, 1.1, 1), (low, high, 0))]
            if all(numpy.min(abs(s - numpy.floor(s) - 0.5)) > 1e-3 for s in steps):
                return {"x": x}

    t.check("FakeQuant", g, draw_between, lambda x: {"args": quantized(x, -1.0, 1.5, 0), "vars": quantized(x, -0.9, 1.1, 1), "channels": quantized(x, low, high, 0)})
    found = t.nodes(t.path("graph.pb"))
    if found.get("QuantizeLinear") != 3 or found.get("DequantizeLinear") != 3:
        sys.exit("FakeQuant became %s" % found)


# ---- functions, branches, loops

def control(t):
    g, draw = Graph(), t.draw
    x = g.input("x", (2, 3))
    c = g.input("c", (), "bool")
    body = Graph()
    body("Mul", "a", "b", name="product")
    inner = Graph()
    inner("Add", "v", numpy.float32(1), name="more")
    g.function("increment", ["v"], {"out": "more:z:0"}, inner)
    body("PartitionedCall", "product", name="call", f=Function("increment"))
    g.function("calls", ["a", "b"], {"first": "call:output:0", "second": "a"}, body)
    g("StatefulPartitionedCall", x, x, name="called", f=Function("calls"))
    g("Sub", "called", "called:1", name="difference")
    for name, op in (("yes", "Neg"), ("no", "Exp")):
        branch = Graph()
        branch(op, "v", name="y")
        g.function(name, ["v"], {"out": "y:y:0"}, branch)
    g("If", c, x, name="either", then_branch=Function("yes"), else_branch=Function("no"))
    g("StatelessIf", g.constant(numpy.array(False)), x, name="known", then_branch=Function("yes"), else_branch=Function("no"))
    head, turn = Graph(), Graph()
    head("Less", "i", numpy.int32(3), name="again")
    g.function("head", ["i", "v", "l"], {"out": "again:z:0"}, head)
    turn("AddV2", "i", numpy.int32(1), name="next")
    turn("Mul", "v", numpy.float32(2), name="twice")
    turn("TensorListSetItem", "l", "i", "twice", name="kept")
    g.function("turn", ["i", "v", "l"], {"i": "next:z:0", "v": "twice:z:0", "l": "kept:output_handle:0"}, turn)
    empty = g("TensorListReserve", numpy.array([2, 3], "int32"), numpy.int32(3), element_dtype=F32)
    for op in ("While", "StatelessWhile"):
        g(op, numpy.int32(0), x, empty, name="loop" + op, cond=Function("head"), body=Function("turn"))
        g("TensorListStack", "loop%s:2" % op, numpy.array([2, 3], "int32"), name="stack" + op)
        g("Neg", "loop%s:1" % op, name="last" + op)
    rows = g("TensorListFromTensor", x, numpy.array([3], "int32"))
    g("TensorListGetItem", rows, numpy.int32(1), numpy.array([3], "int32"), name="row")
    sides = g("Switch", x, c)
    g("Merge", g("Neg", sides), g("Exp", sides + ":1"), name="merged")
    sides = g("Switch", x, g.constant(numpy.array(True)))
    g("Merge", g("Neg", sides), g("Exp", sides + ":1"), name="taken")

    def wanted(x, c):
        out = {"difference": x * x + 1 - x, "either": -x if c else numpy.exp(x), "known": numpy.exp(x), "row": x[1], "merged": numpy.exp(x) if c else -x, "taken": numpy.exp(x)}
        for op in ("While", "StatelessWhile"):
            out.update({"stack" + op: numpy.stack([2 * x, 4 * x, 8 * x]), "last" + op: -8 * x})
        return out

    for truth in (True, False):
        t.check("control", g, lambda: {"x": draw((2, 3)), "c": numpy.array(truth)}, wanted)


class OldLoop:
    """A loop of TensorFlow 1: each variable goes in a circle from Enter through Merge and Switch to NextIteration."""

    def __init__(self, g, frame):
        self.g, self.frame, self.names = g, frame, []

    def read(self, value):
        return self.g("Enter", value, frame_name=self.frame, is_constant=True)

    def variable(self, name, value, swapped=False):
        """What the condition reads; a round reads NAME_branch:1."""
        entered = self.g("Enter", value, frame_name=self.frame)
        ends = [entered, name + "_next"]
        self.names.append(name)
        return self.g("Merge", *(ends[::-1] if swapped else ends), name=name)

    def ask(self, condition):
        asked = self.g("LoopCond", condition)
        for name in self.names:
            self.g("Switch", name, asked, name=name + "_branch")
        return [name + "_branch:1" for name in self.names]

    def end(self, *values):
        for name, value in zip(self.names, values):
            self.g("NextIteration", value, name=name + "_next")
            self.g("Exit", name + "_branch", name=name + "_end")


def old_loops(t):
    """A map over the rows as graphs of TensorFlow 1 have it, and a loop in a loop."""
    rounds, inner = int(t.random.integers(2, 5)), int(t.random.integers(1, 4))
    g, draw = Graph(), t.draw
    x = g.input("x", (rounds, 3))
    size = g("StridedSlice", g("Shape", x), *(numpy.array([v], "int32") for v in (0, 1, 1)), shrink_axis_mask=1)
    given, kept = (g("TensorArrayV3", size, dtype=F32) for _ in range(2))
    filled = g("TensorArrayScatterV3", given, g("Range", numpy.int32(0), size, numpy.int32(1)), x, given + ":1")
    outer = OldLoop(g, "map/while")
    handles = outer.read(given), outer.read(filled), outer.read(kept)
    limit, gain = outer.read(size), outer.read(g("Neg", x))
    i = outer.variable("i", numpy.int32(0))
    outer.variable("flow", kept + ":1", swapped=True)
    outer.variable("sum", numpy.zeros(3, "float32"))
    i, flow, total = outer.ask(g("Less", i, limit))
    row = g("TensorArrayReadV3", handles[0], i, handles[1])
    within = OldLoop(g, "map/while/deeper")
    k, factor = within.variable("k", numpy.int32(0)), within.read(row)
    within.variable("v", g("Add", row, total))
    k, v = within.ask(g("Less", k, numpy.int32(inner)))
    within.end(g("Add", k, numpy.int32(1)), g("Mul", g("Add", v, factor), numpy.float32(0.5)))
    more = g("Add", "v_end", g("Max", gain, numpy.int32(0)))
    outer.end(g("Add", i, numpy.int32(1)), g("TensorArrayWriteV3", handles[2], i, more, flow), g("Add", total, more))
    g("TensorArrayGatherV3", kept, g("Range", numpy.int32(0), g("TensorArraySizeV3", kept, "flow_end"), numpy.int32(1)), "flow_end", name="rows")
    g("Neg", "sum_end", name="total")
    growing = g("TensorArrayV3", numpy.int32(0), dtype=F32, dynamic_size=True)
    written = g("TensorArrayWriteV3", growing, numpy.int32(1), "total", g("TensorArrayWriteV3", growing, numpy.int32(0), "sum_end", growing + ":1"))
    g("TensorArrayGatherV3", growing, numpy.array([1, 0], "int32"), written, name="grown")
    made = g("TensorListReserve", numpy.array([3], "int32"), numpy.int32(rounds), element_dtype=F32)
    g("Mul", g("Cast", g("TensorListLength", made), DstT=F32), "total", name="times")

    def wanted(x):
        total, rows = numpy.zeros(3), []
        for row in x:
            v = row + total
            for _ in range(inner):
                v = (v + row) * 0.5
            rows.append(v + (-x).max(0))
            total = total + rows[-1]
        return {"rows": numpy.stack(rows), "grown": numpy.stack([-total, total]), "times": -total * rounds}

    t.check("loops of TensorFlow 1", g, lambda: {"x": draw((rounds, 3))}, wanted)


def best_boxes(boxes, scores, most, overlap, least):
    """The numbers of the boxes that are kept, the best first."""
    area = lambda b: (b[2] - b[0]) * (b[3] - b[1])
    kept = []
    for i in numpy.argsort(-scores, kind="stable"):
        sides = [numpy.maximum(0, numpy.minimum(boxes[i, 2:], boxes[k, 2:]) - numpy.maximum(boxes[i, :2], boxes[k, :2])) for k in kept]
        crossed = [s[0] * s[1] for s in sides]
        if scores[i] > least and len(kept) < most and all(c / (area(boxes[i]) + area(boxes[k]) - c) <= overlap for c, k in zip(crossed, kept)):
            kept.append(i)
    return numpy.array(kept, dtype=int)


def first_of(g, x):
    return g("StridedSlice", g("Shape", x), *(numpy.array([v], "int32") for v in (0, 1, 1)), shrink_axis_mask=1)


def detector(t):
    """The end of a detector: boxes of two classes, each filled up with 0, joined, cut, sorted, filled up to a number."""
    count, most, room = int(t.random.integers(9, 20)), int(t.random.integers(3, 6)), int(t.random.integers(5, 9))
    overlap, least = numpy.float32(0.4), numpy.float32(0.3)
    g, classes = Graph(), []
    boxes = g.input("boxes", (count, 4))
    scores = g.input("scores", (2, count))
    zero, one = numpy.int32(0), numpy.int32(1)
    for k, op in enumerate(("NonMaxSuppressionV5", "NonMaxSuppressionV3")):
        own = g("StridedSlice", scores, *(numpy.array([v], "int32") for v in (k, k + 1, 1)), shrink_axis_mask=1)
        found = g(op, boxes, own, numpy.int32(most), overlap, least, *([numpy.float32(0)] if k == 0 else []))
        n = first_of(g, found)
        left = g("Reshape", g("Sub", numpy.int32(most), n), numpy.array([1], "int32"))
        at = g("ConcatV2", found, g("Fill", left, zero), zero)
        score = g("ConcatV2", found + ":1" if k == 0 else g("GatherV2", own, found, zero), g("Fill", left, numpy.float32(0)), zero)
        there = g("Less", g("Range", zero, numpy.int32(most), one), n)
        classes.append((g("GatherV2", boxes, at, zero), g("Select", there, score, g.constant(-numpy.ones(most, "float32")))))
    box, score = (g("ConcatV2", *[c[i] for c in classes], zero) for i in range(2))
    large = g("Where", g("Greater", score, numpy.float32(0)))
    large = g("Cast", g("Reshape", large, numpy.array([-1], "int32")), SrcT=Type("int64"), DstT=Type("int32"))
    box, score = g("GatherV2", box, large, zero), g("GatherV2", score, large, zero)
    order = g("TopKV2", score, first_of(g, score))
    box, score = g("GatherV2", box, order + ":1", zero), order
    good = g("Sum", g("Cast", g("GreaterEqual", score, numpy.float32(0.5)), SrcT=Type("bool"), DstT=Type("int32")), numpy.array([0], "int32"))
    shorter = g("Minimum", numpy.int32(room), first_of(g, box))
    kept = g("Select", g("Greater", shorter, good), good, shorter)
    box, score = (g("GatherV2", v, g("Range", zero, kept, one), zero) for v in (box, score))
    box = g("Mul", g("Sub", box, numpy.float32([0, 0, 0.5, 0.5])), numpy.float32(2))
    for name, v, rest in (("box", box, 1), ("score", score, 0)):
        over = g("Greater", g("Sub", first_of(g, v), numpy.int32(room)), zero)
        size = g("Select", over, numpy.int32(room), numpy.int32(-1))
        whole = [g("Pack", size, numpy.int32(-1)) if rest else g("ExpandDims", size, zero)]
        v = g("Slice", v, numpy.zeros(1 + rest, "int32"), *whole)
        more = g("Sub", numpy.int32(room), first_of(g, v))
        pads = g("Pack", numpy.zeros(1 + rest, "int32"), g("Pack", more, zero) if rest else g("ExpandDims", more, zero), axis=1)
        g("ExpandDims", g("Pad", v, pads), zero, name=name)
    g("Cast", kept, name="kept", SrcT=Type("int32"), DstT=F32)

    def wanted(boxes, scores):
        parts = []
        for own in scores:
            at = best_boxes(boxes, own, most, overlap, least)
            parts += [(own[i], boxes[i]) for i in at]
        parts = sorted(parts, key=lambda p: -p[0])
        parts = [p for p in parts if p[0] >= 0.5][:room]
        box, score = numpy.zeros((1, room, 4)), numpy.zeros((1, room))
        for i, (s, b) in enumerate(parts):
            box[0, i], score[0, i] = (b - [0, 0, 0.5, 0.5]) * 2, s
        return {"box": box, "score": score, "kept": numpy.float32(len(parts))}

    def draw():
        corner = t.draw((count, 2), low=0, high=0.7)
        return {"boxes": numpy.concatenate([corner, corner + t.draw((count, 2), low=0.1, high=0.3)], 1), "scores": t.draw((2, count), low=0, high=1)}

    t.check("detector", g, draw, wanted)
    for op, least in (("NonMaxSuppressionV2", -1e9), ("NonMaxSuppressionV4", 0.3)):
        g = Graph()
        g.input("boxes", (count, 4))
        g.input("scores", (count,))
        found = g(op, "boxes", "scores", numpy.int32(most), overlap, *([numpy.float32(least)] if op[-1] == "4" else []))
        pads = g("Pack", numpy.zeros(1, "int32"), g("ExpandDims", g("Sub", numpy.int32(most + 2), first_of(g, found)), zero), axis=1)
        g("Cast", g("PadV2", found, pads, numpy.int32(-1)), name="at", SrcT=Type("int32"), DstT=F32)

        def numbers(boxes, scores, least=least):
            at = best_boxes(boxes, scores, most, overlap, least)
            out = {"at": numpy.pad(at, (0, most + 2 - len(at)), constant_values=-1)}
            if least > 0:
                at = best_boxes(boxes, scores, count, overlap, least)
                out.update({"filled": numpy.pad(at, (0, count + 3 - len(at))), "valid": numpy.float32(len(at))})
            return out

        if op[-1] == "4":
            found = g(op, "boxes", "scores", numpy.int32(count + 3), overlap, numpy.float32(least), pad_to_max_output_size=True)
            g("Cast", found, name="filled", SrcT=Type("int32"), DstT=F32)
            g("Cast", found + ":1", name="valid", SrcT=Type("int32"), DstT=F32)
        t.check(op, g, lambda: {**draw(), "scores": t.draw((count,), low=0, high=1)}, numbers)


def network(t):
    for _ in range(2):
        g, reference = mobilenet(t.random, 64, 0.25, 12)
        t.check("MobileNetV1", g, lambda: {"input": t.draw((1, 64, 64, 3), low=-1, high=1)}, lambda input: {"MobilenetV1_Predictions_Reshape_1": reference(input)})
    found = t.nodes(t.path("graph.pb"), "-O", "3")
    if found != {"Transpose": 1, "Conv": 28, "Clip": 27, "AveragePool": 1, "Reshape": 1, "Softmax": 1}:
        sys.exit("MobileNetV1 became %s" % found)
    numpy.savez(t.path("calib.npz"), input=t.draw((1, 64, 64, 3), low=-1, high=1))
    said = t.call("compile", t.path("graph.pb"), "--target", "vta", "--calib", t.path("calib.npz"), "-o", t.path("vta.so"), "--report")
    regions = int(re.search(r"layers in (\d+) region", said).group(1))
    if regions > 2:
        sys.exit("MobileNetV1 has %d regions on the accelerator" % regions)


def check_table(t, source):
    """Each row was used, and README.md lists it."""
    folder = os.path.join(source, "compiler/src/tensorflow")
    with open(os.path.join(folder, "operators.def")) as f:
        rows = set(re.findall(r"^TF_OP\((\w+),", f.read(), re.M))
    with open(os.path.join(folder, "README.md")) as f:
        table = f.read().split("## Operators that are taken")[1].split("\n## ")[0]
    listed = re.findall(r"`(\w+)`", table)
    # Variables need a checkpoint: the test of SavedModels has them.
    left = rows - t.used - {"VarHandleOp", "Variable", "VariableV2", "ReadVariableOp"}
    if left or sorted(listed) != sorted(rows):
        sys.exit("rows without a test: %s; rows and README.md differ in %s" % (sorted(left), sorted(rows.symmetric_difference(listed))))


def main():
    with tempfile.TemporaryDirectory() as work:
        t = Trial(sys.argv[1], work, word_seed.told())
        for part in (elements, whole_numbers, windows, more_windows, normalizations, matrices, axes, pieces, fake_quant, control, old_loops, detector, network):
            part(t)
        check_table(t, sys.argv[2])
        print("%d outputs" % t.count)


main()
