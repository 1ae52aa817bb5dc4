#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Models of CoreML, written here as messages: every row of layers.def and of operations.def against plain loops in double; weights
# as floats, halves, quantized, from tables and sparse; pictures and what is done to them before; packages; damage, which gets one
# line; and the README's table.
#
# usage: coreml_models.py VTAC SOURCE   (exit status 77: no numpy)
import json
import re
import struct
import sys
import tempfile

try:
    import numpy
    import word_seed
except ImportError:
    sys.exit(77)

import importer_lab as lab
from messages import message, varint

F32, F16, I32, U8, BOOL, I8 = 11, 10, 23, 31, 1, 21


def rows_of(path, word):
    with open(path) as f:
        return re.findall(r'^%s\("[^"]*", (?:\d+, )?"([^"]*)"' % word, f.read(), re.M)


def ints(values):
    return b"".join(varint(int(v)) for v in values)


def array_type(shape):
    return message((5, message((1, ints(shape)), (2, 65568))))


def image_type(channels, rows, columns, colours):
    return message((4, message((1, columns), (2, rows), (3, colours))))


def model(inputs, outputs, kind, body, version=4):
    """Inputs and outputs by name, with the messages of their types."""
    ends = [(number, message((1, name), (3, t))) for number, some in ((1, inputs), (10, outputs)) for name, t in some.items()]
    return message((1, version), (2, message(*ends)), (kind, body))


def weights(w, how="f32"):
    """A WeightParams, and what it stands for."""
    w = numpy.asarray(w, dtype=float)
    flat = w.reshape(-1)
    if how == "f32":
        return message((1, [float(v) for v in flat])), w.astype(numpy.float32).astype(float)
    if how == "f16":
        return message((2, flat.astype("<f2").tobytes())), w.astype(numpy.float16).astype(float)
    bits = int(how[1:])
    span = w.max() - w.min()
    if how[0] == "q": # a scale and a bias for each output
        rows = w.reshape(len(w), -1)
        low, step = rows.min(1), (rows.max(1) - rows.min(1)) / (2 ** bits - 1) + 1e-9
        low, step = low.astype(numpy.float32).astype(float), step.astype(numpy.float32).astype(float)
        q = numpy.clip(numpy.rint((rows - low[:, None]) / step[:, None]), 0, 2 ** bits - 1)
        real, own = q * step[:, None] + low[:, None], message((101, message((1, list(step)), (2, list(low)))))
    else:
        table = numpy.linspace(w.min(), w.min() + span, 2 ** bits).astype(numpy.float32).astype(float)
        q = numpy.abs(flat[:, None] - table).argmin(1)
        real, own = table[q], message((102, message((1, list(table)))))
    digits = numpy.unpackbits(q.astype(numpy.uint8).reshape(-1, 1), axis=1)[:, 8 - bits:]
    raw = numpy.packbits(digits.reshape(-1)).tobytes() # the highest bit first
    return message((30, raw), (40, message((1, bits)) + own)), real.reshape(w.shape)


class Network:
    def __init__(self, draw, x):
        self.draw, self.x, self.layers, self.wanted, self.used = draw, x, [], {}, set()

    def numbers(self, *shape, low=-1.0, high=1.0):
        return self.draw.uniform(low, high, shape).astype(numpy.float32).astype(float)

    def add(self, kind, field, value, params=b"", inputs=("x",), end=True):
        """Values [1, C, H, W]; several in a list."""
        name = "%s_%d" % (kind.lower(), len(self.layers))
        several = isinstance(value, list)
        outputs = ["%s_%d" % (name, i) for i in range(len(value))] if several else [name]
        self.layers.append(message((1, name), *[(2, i) for i in inputs], *[(3, o) for o in outputs], (field, params)))
        self.used.add(kind)
        if end:
            self.wanted.update((o, v[0]) for o, v in zip(outputs, value if several else [value]))
        return name

    def file(self, kind=500, more=b"", inputs=None):
        outputs = {name: array_type(v.shape) for name, v in self.wanted.items()}
        return model(inputs or {"x": array_type(self.x.shape[1:])}, outputs, kind, message(*[(1, layer) for layer in self.layers]) + more)


def border(top, left, bottom, right):
    return message((10, message((1, top), (2, bottom))), (10, message((1, left), (2, right))))


def network(draw):
    x = draw.uniform(-2, 2, (1, 4, 7, 8)).astype(numpy.float32)
    net, X = Network(draw, x), x.astype(float)
    c, h, w = X.shape[1:]
    col = (-1, 1, 1)
    for how in ("f32", "f16", "q8", "q4", "t4", "t2"):
        packed, real = weights(net.numbers(6, c, 3, 3), how)
        b = net.numbers(6)
        valid = message((1, border(1, 0, 2, 1)))
        net.add("convolution", 100, lab.conv(X, real, b, (2, 1), (1, 0, 2, 1)), message((1, 6), (2, c), (20, ints((3, 3))), (30, ints((2, 1))), (50, valid), (70, 1),
                (90, packed), (91, weights(b)[0])))
    packed, real = weights(net.numbers(8, 2, 2, 3))
    for mode in (0, 1):
        total = [max((-(-d // s) - 1) * s + k - d, 0) for d, s, k in zip((h, w), (2, 2), (2, 3))]
        first = [t // 2 if mode == 0 else t - t // 2 for t in total]
        pads = (*first, *(t - f for t, f in zip(total, first)))
        net.add("convolution", 100, lab.conv(X, real, None, (2, 2), pads, (1, 1), 2), message((1, 8), (2, 2), (10, 2), (20, ints((2, 3))), (30, ints((2, 2))),
                (51, message((1, mode))), (90, packed)))
    packed, real = weights(net.numbers(c, 5, 4, 4))
    net.add("convolution", 100, lab.deconv(X, real, None, (2, 2), (1, 1, 1, 1)), message((1, 5), (2, c), (20, ints((4, 4))), (30, ints((2, 2))), (51, b""), (60, 1), (90, packed)))
    net.add("convolution", 100, lab.deconv(X, real, None, (2, 2), (1, 0, 2, 1)), message((1, 5), (2, c), (20, ints((4, 4))), (30, ints((2, 2))),
            (50, message((1, border(1, 0, 2, 1)))), (60, 1), (90, packed)))
    for kind, size, stride, pad in ((0, 3, 2, 0), (1, 3, 2, 1), (1, 2, 2, 1)):
        name = ("max", "mean")[kind]
        counts = [lab.caffe_count(d, size, stride, pad) for d in (h, w)]
        value = lab.pool(X, name, (size,) * 2, (stride,) * 2, (pad,) * 2, counts, True)
        same = message((1, kind), (10, ints((size, size))), (20, ints((stride, stride))))
        net.add("pooling", 120, value, same + message((32, message((10, ints((pad, pad)))))))
        counts = [(d + 2 * pad - size) // stride + 1 for d in (h, w)]
        value = lab.pool(X, name, (size,) * 2, (stride,) * 2, (pad,) * 2, counts, False)
        net.add("pooling", 120, value, same + message((30, message((1, border(pad, pad, pad, pad)))), (50, 1)))
    net.add("pooling", 120, X.mean((2, 3), keepdims=True), message((1, 1), (60, 1)))
    net.add("pooling", 120, X.max((2, 3), keepdims=True), message((60, 1)))
    packed, real = weights(net.numbers(5, X.size), "t8")
    b = net.numbers(5)
    net.add("innerProduct", 140, (X.reshape(1, -1) @ real.T + b).reshape(1, 5, 1, 1), message((1, X.size), (2, 5), (10, 1), (20, packed), (21, weights(b)[0])))
    gamma, beta, mean, var = net.numbers(c), net.numbers(c), net.numbers(c), net.numbers(c, low=0.2, high=2.0)
    rows = message(*[(15 + i, weights(v)[0]) for i, v in enumerate((gamma, beta, mean, var))])
    value = (X - mean.reshape(col)) / numpy.sqrt(var.reshape(col) + 1e-3) * gamma.reshape(col) + beta.reshape(col)
    net.add("batchnorm", 160, value, message((1, c), (10, 1e-3)) + rows)
    value = (X - X.mean((2, 3), keepdims=True)) / numpy.sqrt(X.var((2, 3), keepdims=True) + 1e-5)
    net.add("batchnorm", 160, value * gamma.reshape(col) + beta.reshape(col), message((1, c), (5, 1), (6, 1), (15, weights(gamma)[0]), (16, weights(beta)[0])))
    net.add("mvn", 165, (X - X.mean()) / numpy.sqrt(X.var() + 0.01), message((1, 1), (2, 1), (3, 0.01)))
    net.add("mvn", 165, X - X.mean((2, 3), keepdims=True), b"")
    net.add("l2normalize", 170, X / numpy.sqrt((X * X).sum() + 1e-6))
    square = numpy.pad(X * X, ((0, 0), (1, 1), (0, 0), (0, 0)))
    total = sum(square[:, i:i + c] for i in range(3))
    net.add("lrn", 180, X / (2 + 0.3 / 3 * total) ** 0.75, message((1, 0.3), (2, 0.75), (3, 3), (4, 2.0)))
    net.add("scale", 245, X * gamma.reshape(col) + 0.5, message((1, ints((c, 1, 1))), (2, weights(gamma)[0]), (3, 1), (4, ints((1,))), (5, weights([0.5])[0])))
    plane = net.numbers(c, h, w)
    net.add("bias", 250, X + plane, message((1, ints((c, h, w))), (2, weights(plane)[0])))
    for kind, params, value in ((5, [(1, 2.0), (2, 0.5)], 2 * X + 0.5), (10, [], numpy.maximum(X, 0)), (15, [(1, 0.1)], numpy.where(X > 0, X, 0.1 * X)),
                                (20, [(1, 0.5)], numpy.where(X > 0.5, X, 0)), (25, [(1, weights(gamma)[0])], numpy.where(X > 0, X, gamma.reshape(col) * X)),
                                (30, [], numpy.tanh(X)), (31, [(1, 1.5), (2, 0.5)], 1.5 * numpy.tanh(0.5 * X)), (40, [], 1 / (1 + numpy.exp(-X))),
                                (41, [(1, 0.3), (2, 0.4)], numpy.clip(0.3 * X + 0.4, 0, 1)), (50, [(1, 0.7)], numpy.where(X > 0, X, 0.7 * (numpy.exp(X) - 1))),
                                (60, [], X / (1 + abs(X))), (70, [], numpy.log1p(numpy.exp(X))),
                                (71, [(1, weights(gamma)[0]), (2, weights([2.0])[0])], gamma.reshape(col) * numpy.log1p(numpy.exp(2 * X)))):
        net.add("activation", 130, value, message((kind, message(*params))))
    relu = net.add("activation", 130, None, message((10, b"")), end=False)
    below = net.add("activation", 130, None, message((5, message((1, -1.0)))), inputs=[relu], end=False)
    cut = net.add("unary", 220, None, message((1, 7), (2, -1.0), (5, 1.0)), inputs=[below], end=False)
    net.add("activation", 130, numpy.clip(X, 0, 1), message((5, message((1, -1.0)))), inputs=[cut])
    net.add("softmax", 175, lab.softmax(X, 1))
    S = X + 3
    for kind, value in enumerate((numpy.sqrt(S), 1 / numpy.sqrt(S + 1e-6), 1 / (S + 1e-6), S ** 1.5, numpy.exp(S), numpy.log(S + 1e-6), S, numpy.maximum(S, 1.5))):
        net.add("unary", 220, value, message((1, kind), (2, 1.5), (4, 3.0), (5, 1.0)))
    other = net.add("activation", 130, -X, message((5, message((1, -1.0)))), end=False)
    net.add("add", 230, X - X, inputs=["x", other])
    net.add("add", 230, X + 1.5, message((1, 1.5)))
    net.add("multiply", 231, -X * X, inputs=["x", other])
    net.add("multiply", 231, 1.5 * X, message((1, 1.5)))
    net.add("average", 240, X / 3, inputs=["x", other, "x"])
    net.add("max", 260, abs(X), inputs=["x", other])
    net.add("min", 261, -abs(X), inputs=["x", other])
    small = net.add("crop", 190, X[:, :, 1:h - 2, :w - 1], message((1, border(1, 0, 2, 1))))
    net.add("crop", 190, X[:, :, 2:h - 1, 1:], message((5, ints((2, 1)))), inputs=["x", small])
    wide = ((0, 0), (0, 0), (1, 2), (0, 3))
    for kind, own, value in ((1, message((1, 1.5)), numpy.pad(X, wide, constant_values=1.5)), (2, b"", numpy.pad(X, wide, "reflect")), (3, b"", numpy.pad(X, wide, "edge"))):
        net.add("padding", 200, value, message((kind, own), (10, border(1, 0, 2, 3))))
    net.add("upsample", 210, X.repeat(2, 2).repeat(3, 3), message((1, ints((2, 3)))))
    at = [numpy.minimum(numpy.arange(2 * d) / 2, d - 1) for d in (h, w)]
    low = [a.astype(int) for a in at]
    high = [numpy.minimum(l + 1, d - 1) for l, d in zip(low, (h, w))]
    part = [a - l for a, l in zip(at, low)]
    rows = X[:, :, low[0]] * (1 - part[0])[:, None] + X[:, :, high[0]] * part[0][:, None]
    net.add("upsample", 210, rows[..., low[1]] * (1 - part[1]) + rows[..., high[1]] * part[1], message((1, ints((2, 2))), (5, 1)))
    for mode, f in ((0, numpy.sum), (1, numpy.mean), (2, numpy.prod), (4, lambda v, a, keepdims: (v * v).sum(a, keepdims=True)), (5, lambda v, a, keepdims: abs(v).sum(a, keepdims=True)),
                    (6, lambda v, a, keepdims: numpy.sqrt((v * v).sum(a, keepdims=True))), (7, numpy.max), (8, numpy.min)):
        net.add("reduce", 280, f(X, (2, 3), keepdims=True), message((1, mode), (3, 1)))
    plane = net.numbers(c, h, w)
    fixed = net.add("loadConstant", 290, None, message((1, ints((c, h, w))), (2, weights(plane)[0])), inputs=[], end=False)
    net.add("add", 230, X + plane, inputs=["x", fixed])
    net.add("reshape", 300, X.reshape(1, 2, -1, w), message((1, ints((2, c * h // 2, w)))))
    net.add("reshape", 300, X.transpose(0, 2, 3, 1).reshape(1, h, c, w).transpose(0, 3, 1, 2), message((1, ints((1, w, h, c))), (2, 1)))
    net.add("flatten", 301, X.reshape(1, -1, 1, 1))
    net.add("flatten", 301, X.transpose(0, 2, 3, 1).reshape(1, -1, 1, 1), message((1, 1)))
    net.add("permute", 310, X.transpose(0, 3, 1, 2), message((1, ints((0, 3, 1, 2)))))
    net.add("concat", 320, numpy.concatenate([X, -X], 1), inputs=["x", other])
    net.add("split", 330, numpy.split(X, 2, 1), message((1, 2)))
    y = X[:, :, :6].reshape(1, c, 3, 2, 4, 2)
    even = net.add("slice", 350, X[:, :, :6], message((2, 6), (3, 1), (4, 1)))
    net.add("reorganizeData", 345, y.transpose(0, 3, 5, 1, 2, 4).reshape(1, 4 * c, 3, 4), message((2, 2)), inputs=[even])
    net.add("reorganizeData", 345, X.reshape(1, 2, 2, c // 4, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(1, c // 4, 2 * h, 2 * w), message((1, 1), (2, 2)))
    net.add("slice", 350, X[..., 1::2], message((1, 1), (2, -1), (3, 2), (4, 2)))
    return net


def pictures(t, draw):
    """Factors and summands by the colours, mean pictures, one colour, and a classifier."""
    for colours, channels in ((20, 3), (30, 3), (10, 1)):
        x = draw.integers(0, 256, (channels, 5, 6)).astype(numpy.float32)
        net = Network(draw, x[None])
        bias = {20: 1.5, 21: -2.5, 22: 0.5, 30: 4.0}
        order = {20: (22, 21, 20), 30: (20, 21, 22), 10: (30,)}[colours]
        value = 0.25 * x + numpy.array([bias[o] for o in order]).reshape(-1, 1, 1)
        mean = net.numbers(channels, 5, 6)
        scaler = message((10, 0.25), *bias.items())
        net.add("activation", 130, numpy.maximum(value - mean, 0)[None], message((10, b"")))
        before = message((2, message((1, "x"), (10, scaler))), (2, message((11, message((1, [float(v) for v in mean.reshape(-1)]))))))
        file = net.file(more=before, inputs={"x": image_type(channels, 5, 6, colours)})
        t.compare("a picture of colours %d" % colours, t.outputs(t.write({"a.mlmodel": file}), {"x": x}), net.wanted)
    net = Network(draw, draw.uniform(-1, 1, (1, 3, 1, 1)).astype(numpy.float32))
    net.add("softmax", 175, lab.softmax(net.x.astype(float), 1))
    labels = message((100, message(*[(1, "class %d" % i) for i in range(3)])), (200, "softmax_0"))
    body = message((1, net.layers[0])) + labels
    file = model({"x": array_type((3,))}, {"classLabelProbs": message((6, b"")), "classLabel": message((3, b""))}, 403, body)
    t.compare("a classifier", t.outputs(t.write({"a.mlmodel": file}), {"x": net.x.reshape(3)}), net.wanted)


# ---- programs

class Program:
    def __init__(self, draw, inputs):
        self.draw, self.inputs, self.ops, self.wanted, self.used, self.blob = draw, inputs, [], {}, set(), bytearray(64)

    def numbers(self, *shape, low=-1.0, high=1.0):
        return self.draw.uniform(low, high, shape).astype(numpy.float32).astype(float)

    def type(self, dtype, shape):
        return message((1, message((1, dtype), (2, len(shape)), *[(3, message((1, message((1, int(d)))))) for d in shape])))

    def value(self, v, stored=False, dtype=None):
        """A Value: texts, flags, whole numbers, and floats in the message or in the file."""
        if isinstance(v, str):
            return message((2, self.type(2, ())), (3, message((1, message((4, message((1, v))))))))
        v = numpy.asarray(v)
        dtype = dtype or {"f": F32, "i": I32, "b": BOOL, "u": U8}[v.dtype.kind]
        if stored:
            raw = v.astype({F32: "<f4", F16: "<f2", U8: "u1", I8: "i1"}[dtype]).tobytes()
            offset = len(self.blob)
            self.blob += struct.pack("<IIQQ", 0xDEADBEEF, {F16: 1, F32: 2, U8: 3, I8: 4}[dtype], len(raw), offset + 64) + bytes(40) + raw
            self.blob += bytes(-len(self.blob) % 64)
            return message((2, self.type(dtype, v.shape)), (5, message((1, "@model_path/weights/weight.bin"), (2, offset))))
        if dtype == F16:
            return message((2, self.type(dtype, v.shape)), (3, message((1, message((7, message((1, v.astype("<f2").tobytes()))))))))
        if dtype == F32:
            own = (1, message((1, [float(n) for n in v.reshape(-1)])))
        else:
            own = (3 if dtype == BOOL else 2, message((1, ints(int(n) for n in v.reshape(-1)))))
        return message((2, self.type(dtype, v.shape)), (3, message((1, message(own)))))

    def const(self, v, **how):
        name = "c%d" % len(self.ops)
        self.ops.append(message((1, "const"), (3, message((1, name))), (5, message((1, "val"), (2, self.value(v, **how))))))
        self.used.add("const")
        return name

    def add(self, op, result, head=True, attributes=False, **args):
        name = "%s_%d" % (op, len(self.ops))
        several = isinstance(result, list)
        outputs = ["%s_%d" % (name, i) for i in range(len(result))] if several else [name]
        maps = []
        for key, v in args.items():
            if attributes:
                maps.append((5, message((1, key), (2, v))))
                continue
            names = [n if isinstance(n, str) else self.const(n) for n in (v if isinstance(v, list) and v and isinstance(v[0], str) else [v])]
            if key in ("pad_type", "mode", "dtype", "sampling_mode"):
                names = [self.const(v)]
            maps.append((2, message((1, key), (2, message(*[(1, message((1, n))) for n in names])))))
        self.ops.append(message((1, op), *maps, *[(3, message((1, o))) for o in outputs]))
        self.used.add(op)
        if head:
            self.wanted.update(zip(outputs, result if several else [result]))
        return name

    def files(self):
        block = message(*[(2, name) for name in self.wanted], *[(3, op) for op in self.ops])
        types = [(1, message((1, n), (2, self.type(F32, v.shape)))) for n, v in self.inputs.items()]
        function = message(*types, (2, "CoreML6"), (3, message((1, "CoreML6"), (2, block))))
        body = message((1, 1), (2, message((1, "main"), (2, function))))
        ends = {n: array_type(v.shape) for n, v in self.inputs.items()}
        listed = {"fileFormatVersion": "1.0.0", "rootModelIdentifier": "R", "itemInfoEntries": {"R": {"path": "com.apple.CoreML/model.mlmodel"}, "W": {"path": "x"}}}
        return {"Manifest.json": json.dumps(listed), "Data/com.apple.CoreML/model.mlmodel": model(ends, {}, 502, body, 7),
                "Data/com.apple.CoreML/weights/weight.bin": bytes(self.blob)}


def compressed(p, X):
    c = X.shape[1]
    q = p.draw.integers(0, 256, (6, c, 1, 1)).astype(numpy.uint8)
    scale, zero = p.numbers(6, low=0.01, high=0.02), p.draw.integers(0, 256, 6).astype(numpy.uint8)
    w = p.add("constexpr_affine_dequantize", None, head=False, attributes=True, quantized_data=p.value(q, True), scale=p.value(scale), zero_point=p.value(zero), axis=p.value(0))
    p.add("conv", lab.conv(X, (q.astype(float) - zero.reshape(-1, 1, 1, 1)) * scale.reshape(-1, 1, 1, 1)), x="x", weight=w)
    table = p.numbers(8)
    index = p.draw.integers(0, 8, (5, c, 1, 1)).astype(numpy.uint8)
    packed = numpy.packbits(numpy.unpackbits(index.reshape(-1, 1), axis=1, bitorder="little")[:, :3].reshape(-1), bitorder="little")
    w = p.add("constexpr_lut_to_dense", None, head=False, attributes=True, indices=p.value(packed, True), lut=p.value(table, True, F16),
              shape=p.value(numpy.array(index.shape, numpy.uint32)))
    p.add("conv", lab.conv(X, table.astype(numpy.float16).astype(float)[index]), x="x", weight=w)
    dense = p.numbers(5, c, 1, 1) * (p.draw.uniform(0, 1, (5, c, 1, 1)) > 0.6)
    mask = numpy.packbits(dense.reshape(-1) != 0, bitorder="little")
    w = p.add("constexpr_sparse_to_dense", None, head=False, attributes=True, nonzero_data=p.value(dense[dense != 0], True), mask=p.value(mask, True),
              shape=p.value(numpy.array(dense.shape, numpy.uint32)))
    p.add("conv", lab.conv(X, dense), x="x", weight=w)
    half = p.numbers(5, c, 1, 1)
    w = p.add("constexpr_cast", None, head=False, attributes=True, source_val=p.value(half, True, F16), output_dtype=p.value("fp32"))
    p.add("conv", lab.conv(X, half.astype(numpy.float16).astype(float)), x="x", weight=w)


def program(draw):
    x = draw.uniform(-2, 2, (1, 4, 7, 8)).astype(numpy.float32)
    y = draw.uniform(-2, 2, x.shape).astype(numpy.float32)
    p, X, Y = Program(draw, {"x": x, "y": y}), x.astype(float), y.astype(float)
    c, h, w = X.shape[1:]
    col = (-1, 1, 1)
    compressed(p, X)
    k, b = p.numbers(6, c // 2, 3, 2), p.numbers(6)
    p.add("conv", lab.conv(X, k, b, (2, 1), (1, 0, 2, 1), (1, 2), 2), x="x", weight=p.const(k, stored=True), bias=b, strides=[2, 1], pad_type="custom", pad=[1, 2, 0, 1],
          dilations=[1, 2], groups=2)
    for kind in ("same", "same_lower"):
        total = [max((-(-d // s) - 1) * s + f - d, 0) for d, s, f in zip((h, w), (2, 2), (3, 2))]
        first = [t // 2 if kind == "same" else t - t // 2 for t in total]
        k = p.numbers(6, c, 3, 2)
        p.add("conv", lab.conv(X, k, None, (2, 2), (*first, *(t - f for t, f in zip(total, first)))), x="x", weight=k, strides=[2, 2], pad_type=kind)
    k = p.numbers(c, 5, 4, 4)
    p.add("conv_transpose", lab.deconv(X, k, None, (2, 2), (1, 1, 1, 1)), x="x", weight=k, strides=[2, 2], pad_type="custom", pad=[1, 1, 1, 1])
    for kind, ceil, exclude in (("max_pool", True, False), ("avg_pool", True, False), ("avg_pool", False, True), ("max_pool", False, False)):
        counts = [lab.caffe_count(d, 3, 2, 1) if ceil else (d + 2 - 3) // 2 + 1 for d in (h, w)]
        value = lab.pool(X, kind[:3].replace("avg", "mean"), (3, 3), (2, 2), (1, 1), counts, not exclude)
        more = {"exclude_padding_from_average": exclude} if kind == "avg_pool" else {}
        p.add(kind, value, x="x", kernel_sizes=[3, 3], strides=[2, 2], pad_type="custom", pad=[1, 1, 1, 1], ceil_mode=ceil, **more)
    k, b = p.numbers(5, w), p.numbers(5)
    p.add("linear", X @ k.T + b, x="x", weight=k, bias=b)
    p.add("matmul", X @ Y.swapaxes(2, 3), x="x", y="y", transpose_x=False, transpose_y=True)
    gamma, beta, mean, var = p.numbers(c), p.numbers(c), p.numbers(c), p.numbers(c, low=0.2, high=2.0)
    value = (X - mean.reshape(col)) / numpy.sqrt(var.reshape(col) + 1e-3)
    p.add("batch_norm", value * gamma.reshape(col) + beta.reshape(col), x="x", mean=mean, variance=var, gamma=gamma, beta=beta, epsilon=numpy.float32(1e-3))
    p.add("batch_norm", (X - mean.reshape(col)) / numpy.sqrt(var.reshape(col) + 1e-5), x="x", mean=mean, variance=var)
    p.add("instance_norm", (X - X.mean((2, 3), keepdims=True)) / numpy.sqrt(X.var((2, 3), keepdims=True) + 1e-5), x="x")
    g = p.numbers(h, w)
    p.add("layer_norm", (X - X.mean((2, 3), keepdims=True)) / numpy.sqrt(X.var((2, 3), keepdims=True) + 1e-4) * g, x="x", axes=[2, -1], gamma=g, epsilon=numpy.float32(1e-4))
    erf = numpy.vectorize(__import__("math").erf)
    for op, value in (("relu", numpy.maximum(X, 0)), ("sigmoid", 1 / (1 + numpy.exp(-X))), ("tanh", numpy.tanh(X)), ("softplus", numpy.log1p(numpy.exp(X))),
                      ("softsign", X / (1 + abs(X))), ("exp", numpy.exp(X)), ("abs", abs(X)), ("floor", numpy.floor(X)), ("ceil", numpy.ceil(X)), ("round", numpy.rint(X)),
                      ("sign", numpy.sign(X)), ("sin", numpy.sin(X)), ("cos", numpy.cos(X)), ("erf", erf(X)), ("square", X * X), ("relu6", numpy.clip(X, 0, 6)),
                      ("silu", X / (1 + numpy.exp(-X))), ("identity", X)):
        p.add(op, value, x="x")
    S = p.add("add", X + 3, x="x", y=numpy.float32(3.0))
    p.add("sqrt", numpy.sqrt(X + 3), x=S)
    p.add("log", numpy.log(X + 3.5), x=S, epsilon=numpy.float32(0.5))
    p.add("rsqrt", 1 / numpy.sqrt(X + 3.5), x=S, epsilon=numpy.float32(0.5))
    p.add("inverse", 1 / (X + 3.5), x=S, epsilon=numpy.float32(0.5))
    p.add("gelu", X / 2 * (1 + erf(X / numpy.sqrt(2))), x="x", mode="EXACT")
    p.add("gelu", X / 2 * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (X + 0.044715 * X ** 3))), x="x", mode="TANH_APPROXIMATION")
    p.add("elu", numpy.where(X > 0, X, 0.7 * (numpy.exp(X) - 1)), x="x", alpha=numpy.float32(0.7))
    p.add("leaky_relu", numpy.where(X > 0, X, 0.2 * X), x="x", alpha=numpy.float32(0.2))
    p.add("prelu", numpy.where(X > 0, X, gamma.reshape(col) * X), x="x", alpha=gamma)
    p.add("clip", numpy.clip(X, -0.5, 1.25), x="x", alpha=numpy.float32(-0.5), beta=numpy.float32(1.25))
    p.add("sigmoid_hard", numpy.clip(0.3 * X + 0.4, 0, 1), x="x", alpha=numpy.float32(0.3), beta=numpy.float32(0.4))
    p.add("linear_activation", 2 * X - 0.5, x="x", alpha=numpy.float32(2), beta=numpy.float32(-0.5))
    p.add("softmax", lab.softmax(X, 1), x="x", axis=1)
    for op, value in (("sub", X - Y), ("mul", X * Y), ("maximum", numpy.maximum(X, Y)), ("minimum", numpy.minimum(X, Y))):
        p.add(op, value, x="x", y="y")
    p.add("real_div", Y / (X + 3), x="y", y=S)
    p.add("pow", (X + 3) ** 1.5, x=S, y=numpy.float32(1.5))
    for op, value in (("mean", X.mean((2, 3))), ("sum", X.sum((2, 3))), ("max", X.max((2, 3))), ("min", X.min((2, 3))), ("prod", X.prod((2, 3))),
                      ("l2_norm", numpy.sqrt((X * X).sum((2, 3)))), ("sum_square", (X * X).sum((2, 3)))):
        p.add("reduce_" + op, value, x="x", axes=[2, 3], keep_dims=False)
    p.add("concat", numpy.concatenate([X, Y], 2), values=["x", "y"], axis=-2, interleave=False)
    p.add("stack", numpy.stack([X, Y], 4), values=["x", "y"], axis=-1)
    p.add("split", numpy.split(X, 2, 1), x="x", num_splits=2, axis=1)
    p.add("split", [X[:, :1], X[:, 1:]], x="x", split_sizes=[1, c - 1], axis=1)
    p.add("reshape", X.reshape(1, 2, -1), x="x", shape=[1, 2, -1])
    p.add("transpose", X.transpose(0, 2, 3, 1), x="x", perm=[0, 2, -1, 1])
    p.add("expand_dims", X[:, :, None], x="x", axes=[2])
    p.add("squeeze", X[0], x="x", axes=[0])
    p.add("slice_by_index", X[:, 1:3, ::2, -1], x="x", begin=[0, 1, 5, -1], end=[0, 3, 0, 0], stride=[1, 1, 2, 1], begin_mask=[True, False, True, False],
          end_mask=[True, False, True, False], squeeze_mask=[False, False, False, True])
    p.add("slice_by_index", X[..., ::-1], x="x", begin=[0, 0, 0, 0], end=[1, c, h, 0], stride=[1, 1, 1, -1], begin_mask=[False, False, False, True], end_mask=[False, False, False, True])
    for mode, value in (("constant", numpy.pad(X, ((0, 0), (0, 0), (1, 2), (0, 3)), constant_values=1.5)), ("reflect", numpy.pad(X, ((0, 0), (0, 0), (1, 2), (0, 3)), "reflect")),
                        ("replicate", numpy.pad(X, ((0, 0), (0, 0), (1, 2), (0, 3)), "edge"))):
        p.add("pad", value, x="x", pad=[1, 2, 0, 3], mode=mode, constant_val=numpy.float32(1.5))
    p.add("tile", numpy.tile(X, (1, 2, 1, 3)), x="x", reps=[1, 2, 1, 3])
    p.add("gather", X[:, [2, 0]], x="x", indices=[2, 0], axis=1)
    p.add("upsample_nearest_neighbor", X.repeat(2, 2).repeat(3, 3), x="x", scale_factor_height=numpy.float32(2), scale_factor_width=numpy.float32(3))
    grid = [numpy.linspace(0, d - 1, 2 * d) for d in (h, w)]
    rows = numpy.stack([numpy.interp(grid[0], numpy.arange(h), X[0, i, :, j]) for i in range(c) for j in range(w)]).reshape(c, w, -1).transpose(0, 2, 1)
    both = numpy.stack([numpy.interp(grid[1], numpy.arange(w), row) for row in rows.reshape(-1, w)]).reshape(1, c, 2 * h, -1)
    p.add("upsample_bilinear", both, x="x", scale_factor_height=numpy.float32(2), scale_factor_width=numpy.float32(2), align_corners=True)
    p.add("resize_bilinear", both, x="x", target_size_height=2 * h, target_size_width=2 * w, sampling_mode="STRICT_ALIGN_CORNERS")
    half = p.add("cast", X, head=False, x="x", dtype="fp16")
    p.add("cast", X, x=half, dtype="fp32")
    return p


def faults(t, draw):
    net = Network(draw, numpy.zeros((1, 2, 3, 3)))
    net.add("softmax", 175, net.x)
    good = net.file()
    net.add("gru", 410, net.x)
    net.add("strange", 1999, net.x)
    t.refused({"a.mlmodel": net.file()}, "layers that are not supported: gru, a layer of another kind")
    t.refused({"a.mlmodel": model({}, {}, 402, message((1, b"")))}, "a model of CoreML that is a treeEnsembleClassifier")
    t.refused({"a.mlmodel": good[:-9]}, "cut off or damaged")
    net = Network(draw, numpy.zeros((1, 2, 3, 3)))
    net.add("convolution", 100, net.x, message((1, 2), (2, 2), (20, ints((1, 1))), (50, b""), (90, weights([1.0] * 3)[0])))
    t.refused({"a.mlmodel": net.file()}, "it has 3 weights, expected 4")
    p = Program(draw, {"x": numpy.zeros((1, 2, 3, 3))})
    p.add("conv", 0, x="x", weight=p.const(numpy.zeros((2, 2, 1, 1)), stored=True))
    files = p.files()
    t.refused({k: v for k, v in files.items() if "weight.bin" not in k}, "its weights")
    t.refused({**files, "Data/com.apple.CoreML/weights/weight.bin": bytes(200)}, "no record of 16 bytes")
    p.add("while_loop", 0, x="x")
    t.refused(p.files(), "operations that are not supported: while_loop")
    t.refused({"Manifest.json": files["Manifest.json"].replace("com.apple", "../..")}, "the package's model")


def main():
    draw = numpy.random.default_rng(word_seed.told())
    folder = sys.argv[2] + "/compiler/src/coreml/"
    layers, operations = rows_of(folder + "layers.def", "VTAC_COREML_LAYER"), rows_of(folder + "operations.def", "VTAC_COREML_OP")
    lab.rows_of_readme(folder + "README.md", set(layers + operations))
    worst = 0.0
    with tempfile.TemporaryDirectory() as work:
        t = lab.Lab(sys.argv[1], work)
        for _ in range(2):
            net = network(draw)
            worst = max(worst, t.compare("a network", t.outputs(t.write({"a.mlmodel": net.file()}), {"x": net.x[0]}), net.wanted))
            pictures(t, draw)
            p = program(draw)
            for name in ("Manifest.json", "Data/com.apple.CoreML/model.mlmodel", ""):
                path = t.write(p.files()).rsplit("/", 1)[0]
                worst = max(worst, t.compare("a program", t.outputs(path + "/" + name, p.inputs), p.wanted, 3e-5))
        if net.used != set(layers) or p.used != set(operations):
            sys.exit("not tested: %s %s" % (set(layers) - net.used, set(operations) - p.used))
        faults(t, draw)
        net = Network(draw, numpy.zeros((1, 2, 3, 3)))
        net.add("innerProduct", 140, net.x, message((1, 18), (2, 2), (20, weights(net.numbers(2, 18), "q5")[0])))
        t.damaged({"a.mlmodel": net.file()}, "a.mlmodel", step=7)
        p = Program(draw, {"x": numpy.zeros((1, 2, 3, 3))})
        p.add("conv", 0, x="x", weight=p.const(numpy.zeros((2, 2, 1, 1)), stored=True))
        for name in p.files():
            t.damaged(p.files(), name, step=31)
        print("%d layers, %d operations, off by at most %g of their range; %d runs of vtac" % (len(layers), len(operations), worst, t.runs))


main()
