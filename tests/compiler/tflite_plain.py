#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Operators of TensorFlow Lite that many models have and that only TensorFlow Lite judged: convolutions that go back,
# convolutions of floats by bytes, weights of four bits, parts, mirrored borders, pictures of floats made larger. Beside plain
# sums here and, with VTAC_TFLITE, beside TensorFlow Lite itself (tflite_ops.py).
#
# usage: tflite_plain.py VTAC   (exit status 77: no numpy)
import itertools
import sys
import tempfile

try:
    import numpy
    import word_seed
    from tflite_bench import F32, Bench, rounded, scaled, stored
    from tflite_file import Model
except ImportError:
    sys.exit(77)


def whole_sums(v, k, stride, to, same):
    """Each element goes to a window of the result; of what "same" cuts off there, half lies in front."""
    n, h, w, _ = v.shape
    f, kh, kw, _ = k.shape
    sums = numpy.zeros((n, (h - 1) * stride + kh, (w - 1) * stride + kw, f), k.dtype)
    for i, j, a, c in itertools.product(range(h), range(w), range(kh), range(kw)):
        sums[:, i * stride + a, j * stride + c] += v[:, i, j] @ k[:, a, c].T
    for axis, size, kernel in ((1, to[0], kh), (2, to[1], kw)):
        begin = max((-(-size // stride) - 1) * stride + kernel - size, 0) // 2 if same else 0
        sums = numpy.concatenate([sums, numpy.zeros_like(sums)], axis).take(range(begin, begin + size), axis)
    return sums


def back(b, kind, shape, filters, size, stride, same, biased):
    n, h, w, c = shape
    kh, kw = size
    to = (h * stride, w * stride) if same else ((h - 1) * stride + kh, (w - 1) * stride + kw)
    m = Model()
    out = m.tensor("int32", (4,), data=[n, *to, filters])
    options = {0: ("b", 0 if same else 1), 1: ("i", stride), 2: ("i", stride)}
    if kind == "float32":
        values, bias = b.numbers(kind, (filters, kh, kw, c)), b.numbers(kind, (filters,))
        ins = [out, m.tensor(kind, values.shape, data=values), m.tensor(kind, shape)] + ([m.tensor(kind, bias.shape, data=bias)] if biased else [])
        y = m.tensor(kind, (n, *to, filters))

        def reference(v):
            return (whole_sums(v.astype(float), values.astype(float), stride, to, same) + (bias if biased else 0)).astype(F32)
    else:
        qx, qy, weight = b.scale(kind), b.scale(kind, 0.3), "uint8" if kind == "uint8" else "int8"
        zero = 121 if weight == "uint8" else 0
        values = b.numbers(weight, (filters, kh, kw, c))
        values = numpy.maximum(values, -127).astype(weight) if weight == "int8" else values
        scales, bias = b.random.uniform(0.002, 0.02, 1 if weight == "uint8" else filters).astype(F32), b.random.integers(-3000, 3000, filters)
        ins = [out, m.tensor(weight, values.shape, scales, zero, 0, values), m.tensor(kind, shape, **qx)]
        if biased:
            ins.append(m.tensor("int32", (filters,), scales * F32(qx["scale"]), 0, 0, bias))
        y = m.tensor(kind, (n, *to, filters), **qy)

        def reference(v):
            sums = whole_sums(v.astype(int) - qx["zero"], values.astype(int) - zero, stride, to, same) + (bias if biased else 0)
            found = numpy.empty(sums.shape, int)
            for i in range(filters):
                s = scales[i % len(scales)]
                real = (float(F32(qx["scale"]) * s) if kind == "uint8" else float(F32(qx["scale"])) * float(s)) / float(F32(qy["scale"]))
                found[..., i] = numpy.reshape([scaled(v, real) for v in sums[..., i].ravel()], sums.shape[:3])
            return stored(found, kind, qy["zero"])
    m.op(67, ins, [y], options, 49, 3)
    b.check("transposed %s %s by %s, %d %d" % (kind, shape, size, stride, same), m, ins[2], [b.numbers(kind, shape) for _ in range(2)], y, reference)


def by_bytes(b, shape, filters, size, stride, activation):
    """A convolution of floats by bytes of one scale: each image becomes bytes, symmetrically, by its largest element."""
    n, h, w, c = shape
    values = numpy.maximum(b.numbers("int8", (filters, size, size, c)), -127).astype("int8")
    bias = b.numbers("float32", (filters,))
    m = Model()
    x, wt, bt = m.tensor("float32", shape), m.tensor("int8", values.shape, 0.013, 0, 0, values), m.tensor("float32", bias.shape, data=bias)
    y = m.tensor("float32", (n, (h - size) // stride + 1, (w - size) // stride + 1, filters))
    m.op(3, [x, wt, bt], [y], {0: ("b", 1), 1: ("i", stride), 2: ("i", stride), 3: ("b", activation)}, 1, 2)

    def reference(v):
        most = numpy.abs(v).max((1, 2, 3), keepdims=True)
        q = rounded(v * (F32(127) / most)).astype(int)
        cut = numpy.lib.stride_tricks.sliding_window_view(q, (size, size), (1, 2))[:, ::stride, ::stride]
        found = (numpy.einsum("nyxcij,fijc->nyxf", cut, values.astype(int)) * (most / F32(127) * F32(0.013)) + bias).astype(F32)
        return numpy.maximum(found, 0) if activation else found
    b.check("convolution of floats by bytes, %s" % (shape,), m, x, [b.numbers("float32", shape) for _ in range(2)], y, reference)


def half_bytes(b, inputs, outputs):
    """Dense with weights of four bits, two in a byte; the last byte may be half full."""
    values, bias = b.random.integers(-7, 8, (outputs, inputs)), b.random.integers(-300, 300, outputs)
    qx, qy = b.scale("int8"), b.scale("int8", 0.3)
    m = Model()
    x, wt = m.tensor("int8", (3, inputs), **qx), m.tensor("int8", values.shape, 0.11, 0, 0, values)
    pairs = numpy.pad(values.ravel() & 15, (0, values.size % 2)).reshape(-1, 2)
    m.tensors[wt][1] = ("b", 17)
    m.buffers[m.tensors[wt][2][1]][0] = (pairs[:, 0] | pairs[:, 1] << 4).astype("uint8").tobytes()
    bt = m.tensor("int32", (outputs,), F32(0.11) * F32(qx["scale"]), 0, 0, bias)
    y = m.tensor("int8", (3, outputs), **qy)
    m.op(9, [x, wt, bt], [y], {0: ("b", 0)}, 8, 10)

    def reference(v):
        real = float(F32(qx["scale"])) * float(F32(0.11)) / float(F32(qy["scale"]))
        sums = (v.astype(int) - qx["zero"]) @ values.T + bias
        return stored([[scaled(s, real, True) for s in row] for row in sums], "int8", qy["zero"])
    b.check("dense of %d by %d of four bits" % (inputs, outputs), m, x, [b.numbers("int8", (3, inputs)) for _ in range(2)], y, reference)


def parts(b, kind, shape, axis, sizes, stated):
    """Equal parts (SPLIT), and of sizes of which one is what is left (SPLIT_V)."""
    q = b.scale(kind)
    m = Model()
    x, at = m.tensor(kind, shape, **q), m.tensor("int32", (), data=axis)
    ys = [m.tensor(kind, shape[:axis % len(shape)] + (n,) + shape[axis % len(shape) + 1:], **q) for n in sizes]
    if stated is None:
        m.op(49, [at, x], ys, {0: ("i", len(sizes))}, 35, 4)
    else:
        m.op(102, [x, m.tensor("int32", (len(stated),), data=stated), at], ys, {0: ("i", len(sizes))}, 79, 2)
    b.check_many("parts of %s along %d" % (shape, axis), m, [x], [[b.numbers(kind, shape)] for _ in range(2)], ys,
                 lambda v: numpy.split(v, numpy.cumsum(sizes)[:-1], axis))


def mirrored(b, kind, shape, sides, mode):
    q = b.scale(kind)
    m = Model()
    x = m.tensor(kind, shape, **q)
    y = m.tensor(kind, [n + sum(s) for n, s in zip(shape, sides)], **q)
    m.op(100, [x, m.tensor("int32", (len(shape), 2), data=sides)], [y], {0: ("b", mode)}, 77)
    b.check("a border, mirrored %d" % mode, m, x, [b.numbers(kind, shape) for _ in range(2)], y,
            lambda v: numpy.pad(v, sides, ("reflect", "symmetric")[mode]))


def larger(b, shape, to, corners, centers):
    m = Model()
    x, y = m.tensor("float32", (2,) + shape), m.tensor("float32", (2,) + to + shape[2:])
    m.op(23, [x, m.tensor("int32", (2,), data=to)], [y], {2: ("?", corners), 3: ("?", centers)}, 15, 3)

    def reference(v):
        v = v.astype(float)
        for axis, (n, k) in enumerate(zip(shape, to)):
            at = numpy.arange(k) * (n - 1) / (k - 1) if corners else (numpy.arange(k) + 0.5) * n / k - 0.5 if centers else numpy.arange(k) * n / k
            low = numpy.floor(numpy.maximum(at, 0)).astype(int)
            part = (numpy.maximum(at, 0) - low).reshape((-1, 1) if axis == 1 else (-1, 1, 1))
            v = v.take(numpy.minimum(low, n - 1), axis + 1) * (1 - part) + v.take(numpy.minimum(low + 1, n - 1), axis + 1) * part
        return v.astype(F32)
    b.check("floats %s to %s, %d %d" % (shape, to, corners, centers), m, x, [b.numbers("float32", (2,) + shape) for _ in range(2)], y, reference)


def main():
    seed = word_seed.told()
    with tempfile.TemporaryDirectory() as work:
        b = Bench(sys.argv[1], work, seed)
        for kind in ("float32", "int8", "uint8", "int16"):
            back(b, kind, (2, 4, 5, 3), 4, (3, 3), 2, True, True)
            back(b, kind, (1, 3, 4, 5), 3, (2, 4), 2, False, kind != "int16")
            back(b, kind, (1, 5, 3, 2), 8, (4, 1), 3, True, False)
        by_bytes(b, (3, 7, 8, 5), 6, 3, 1, 0)
        by_bytes(b, (1, 9, 5, 16), 11, 2, 2, 1)
        half_bytes(b, 40, 11)
        half_bytes(b, 13, 7)
        parts(b, "float32", (2, 6, 5), 1, [2, 2, 2], None)
        parts(b, "int8", (2, 3, 3, 8), -1, [4, 4], None)
        parts(b, "float32", (7, 3), 0, [2, 4, 1], [2, -1, 1])
        parts(b, "uint8", (1, 4, 5, 3), 2, [1, 4], [1, 4])
        for mode in (0, 1):
            mirrored(b, "float32", (2, 4, 5, 3), [[0, 0], [1, 2], [3, 0], [0, 0]], mode)
            mirrored(b, "int8", (3, 4), [[2, 1], [0, 3]], mode)
        larger(b, (5, 6, 3), (10, 13), False, False)
        larger(b, (7, 5, 2), (3, 9), True, False)
        larger(b, (4, 6, 2), (9, 8), False, True)
        print("%d models, %d results judged by TensorFlow Lite" % (b.count, b.judged))


main()
