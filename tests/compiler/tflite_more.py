#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Operators of TensorFlow Lite that fewer models have: boxes that do not overlap, transforms of sound, volumes, sequences
# of different lengths, sparse weights. Beside references written out here and, with VTAC_TFLITE, beside TensorFlow Lite
# itself (tflite_ops.py).
#
# usage: tflite_more.py VTAC   (exit status 77: no numpy)
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    import word_seed
    from tflite_bench import F32, Bench, rounded
    from tflite_file import Model
except ImportError:
    sys.exit(77)


def boxes(b, n, most, least, soft):
    m = Model()
    x, s = m.tensor("float32", (n, 4)), m.tensor("float32", (n,))
    ins = [x, s, m.tensor("int32", (), data=most), m.tensor("float32", (), data=0.4), m.tensor("float32", (), data=least)]
    ys = [m.tensor("int32", (most,))]
    if soft:
        ins.append(m.tensor("float32", (), data=0))
        ys.append(m.tensor("float32", (most,)))
    ys.append(m.tensor("int32", ()))
    m.op(121 if soft else 120, ins, ys, {}, 96 if soft else 95)

    def overlap(p, q):
        sides = [max(min(p[i + 2], q[i + 2]) - max(p[i], q[i]), 0) for i in range(2)]
        area = [(r[2] - r[0]) * (r[3] - r[1]) for r in (p, q)]
        return sides[0] * sides[1] / (sum(area) - sides[0] * sides[1])

    def reference(v, scores):
        kept = []
        for i in numpy.argsort(-scores):
            if scores[i] > least and len(kept) < most and all(overlap(v[i], v[j]) <= 0.4 for j in kept):
                kept.append(i)
        fill = [0] * (most - len(kept))
        out = [numpy.array(kept + fill, "int32"), numpy.int32(len(kept)).reshape(())]
        return out if not soft else [out[0], numpy.array([scores[i] for i in kept] + fill, F32), out[1]]

    def draw():
        corner = b.random.uniform(0, 1, (n, 2))
        return [numpy.concatenate([corner, corner + b.random.uniform(0.2, 0.6, (n, 2))], 1).astype(F32), (b.random.permutation(n) / n).astype(F32)]
    b.check_many("boxes of %d, %d" % (n, most), m, [x, s], [draw() for _ in range(2)], ys, reference)


def sound(b, given, size):
    m = Model()
    x = m.tensor("float32", (3, 1, given))
    spectrum = m.tensor("float32", (3, 1, size // 2 + 1))
    m.tensors[spectrum][1] = ("b", 8)  # complex64
    m.op(131, [x, m.tensor("int32", (2,), data=[1, size])], [spectrum], {}, 105)
    ys = [m.tensor("float32", (3, 1, size // 2 + 1)) for _ in range(3)]
    for code, y in zip((135, 134, 133), ys):
        m.op(code, [spectrum], [y])

    def reference(v):
        f = numpy.fft.rfft(v.astype(float), size, -1)
        return [part.astype(F32) for part in (numpy.abs(f), f.real, f.imag)]
    b.check_many("sound of %d by %d" % (given, size), m, [x], [[b.numbers("float32", (3, 1, given))] for _ in range(2)], ys, reference)


def volume(b, same, stride, dilation):
    m = Model()
    shape, kernel = (1, 5, 6, 7, 3), (3, 2, 3, 3, 4)
    w, bias = b.numbers("float32", kernel), b.numbers("float32", (4,))
    reach = [(k - 1) * dilation + 1 for k in kernel[:3]]
    out = [-(-n // stride) if same else -(-(n - r + 1) // stride) for n, r in zip(shape[1:], reach)]
    x, y = m.tensor("float32", shape), m.tensor("float32", [1] + out + [4])
    m.op(132, [x, m.tensor("float32", kernel, data=w), m.tensor("float32", (4,), data=bias)], [y],
         {0: ("b", 0 if same else 1), 1: ("i", stride), 2: ("i", stride), 3: ("i", stride), 4: ("b", 1), 5: ("i", dilation), 6: ("i", dilation),
          7: ("i", dilation)}, 106)

    def reference(v):
        pads = [max((o - 1) * stride + r - n, 0) if same else 0 for o, r, n in zip(out, reach, shape[1:])]
        v = numpy.pad(v.astype(float), [(0, 0)] + [(p // 2, p - p // 2) for p in pads] + [(0, 0)])
        y = numpy.zeros([1] + out + [4]) + bias
        for i in range(kernel[0]):
            for j in range(kernel[1]):
                for k in range(kernel[2]):
                    at = [slice(o * dilation, o * dilation + (n - 1) * stride + 1, stride) for o, n in zip((i, j, k), out)]
                    y += v[(slice(None), *at)] @ w[i, j, k]
        return numpy.maximum(y, 0).astype(F32)
    b.check("volume %d %d %d" % (same, stride, dilation), m, x, [b.numbers("float32", shape) for _ in range(2)], y, reference)


def reverse(b, shape, along, batch):
    m = Model()
    x, n = m.tensor("float32", shape), m.tensor("int32", (shape[batch],))
    y = m.tensor("float32", shape)
    m.op(112, [x, n], [y], {0: ("i", along), 1: ("i", batch)}, 87)

    def reference(v, lengths):
        out = v.copy()
        for i, k in enumerate(lengths):
            at = [slice(None)] * v.ndim
            back = list(at)
            at[batch] = back[batch] = i
            at[along], back[along] = slice(0, k), slice(k - 1, None, -1) if k == v.shape[along] else slice(k - 1, -v.shape[along] - 1, -1)
            out[tuple(at)] = v[tuple(back)]
        return [out]
    draw = lambda: [b.numbers("float32", shape), b.random.integers(1, shape[along] + 1, shape[batch]).astype("int32")]
    b.check_many("reversed %d by %d" % (along, batch), m, [x, n], [draw() for _ in range(2)], [y], reference)


def update(b, place):
    m = Model()
    x, part, y = m.tensor("float32", (4, 5, 6)), m.tensor("float32", (2, 5, 3)), m.tensor("float32", (4, 5, 6))
    m.op(151, [x, part, m.tensor("int32", (3,), data=place)], [y], {}, 117)

    def reference(v, p):
        v = v.copy()
        at = [min(max(i, 0), n - k) for i, n, k in zip(place, v.shape, p.shape)]
        v[at[0]:at[0] + 2, at[1]:at[1] + 5, at[2]:at[2] + 3] = p
        return [v]
    b.check_many("update at %s" % place, m, [x, part], [[b.numbers("float32", (4, 5, 6)), b.numbers("float32", (2, 5, 3))] for _ in range(2)],
                 [y], reference)


def small(b):
    m = Model()
    x, y = m.tensor("float32", (1, 7, 6, 3)), m.tensor("float32", (1, 4, 3, 3))
    m.op(12, [x], [y], {0: ("b", 0), 1: ("i", 2), 2: ("i", 2), 3: ("i", 2), 4: ("i", 3)}, 5)

    def roots(v):
        out = numpy.zeros((1, 4, 3, 3))
        for i in range(4):
            for j in range(3):
                part = v[:, max(2 * i - 1, 0):2 * i + 2, 2 * j:2 * j + 2].astype(float)
                out[:, i, j] = numpy.sqrt((part ** 2).mean((1, 2)))
        return out.astype(F32)
    b.check("roots of squares", m, x, [b.numbers("float32", (1, 7, 6, 3)) for _ in range(2)], y, roots)

    m = Model()
    x, y = m.tensor("bool", (3, 4)), m.tensor("bool", (3,))
    m.op(140, [x, m.tensor("int32", (1,), data=[1])], [y], {}, 27)
    b.check("all", m, x, [b.random.integers(0, 5, (3, 4)) > 0, numpy.ones((3, 4), bool)], y, lambda v: v.all(1))

    for kind in ("float32", "int8"):
        m = Model()
        q = {} if kind == "float32" else {"scale": 0.03, "zero": -7}
        x, y = m.tensor(kind, (4, 9), **q), m.tensor(kind, (4, 9), **q)
        m.op(152, [x], [y])
        low, high = (0, 1) if kind == "float32" else (-7, -7 + 33)
        engine, b.engine = b.engine, None  # 2.9 does not have it
        b.check("between 0 and 1", m, x, [b.numbers(kind, (4, 9)) for _ in range(2)], y, lambda v: numpy.clip(v, low, high).astype(kind))
        b.engine = engine

    m = Model()
    x, y = m.tensor("float32", (4, 9)), m.tensor("float32", (4, 9))
    m.op(80, [x], [y], {0: ("f", -1.1), 1: ("f", 1.7), 2: ("i", 6)}, 58)

    def stepped(v):
        scale = (1.7 + 1.1) / 63
        zero = numpy.floor(1.1 / scale + 0.5)
        return ((numpy.floor((numpy.clip(v, -zero * scale, (63 - zero) * scale) + zero * scale) / scale + 0.5) - zero) * scale).astype(F32)
    b.check("steps of a range", m, x, [b.numbers("float32", (4, 9)) for _ in range(2)], y, stepped)

    m = Model()
    x, y = m.tensor("float32", (4, 1)), m.tensor("float32", (4, 5))
    shape = m.tensor("int32", (2,))
    m.op(145, [m.tensor("int32", (2,), data=[4, 1]), m.tensor("int32", (1,), data=[5])], [shape])
    m.op(130, [x, shape], [y])
    b.check("common shape", m, x, [b.numbers("float32", (4, 1)) for _ in range(2)], y, lambda v: numpy.repeat(v, 5, 1))


def sparse(b, kind, block):
    """A dense layer whose weights [8][12] are mostly 0: rows, then the columns (or blocks of 4) that there are."""
    width = 4 if block else 1
    there = b.random.random((8, 12 // width)) < 0.4
    there[3] = False
    values = b.numbers(kind, (8, 12 // width, width)) * there[..., None]
    segments = [0] + list(numpy.cumsum(there.sum(1)))
    indices = [int(i) for row in there for i in numpy.flatnonzero(row)]
    axes = [{0: ("b", 0), 1: ("i", 8)}, {0: ("b", 1), 2: ("B", 3), 3: {0: ("B", [int(s) for s in segments])}, 4: ("B", 2), 5: {0: ("h", indices)}}]
    how = {0: ("i", [0, 1]), 2: axes}
    if block:
        how = {0: ("i", [0, 1, 2]), 1: ("i", [1]), 2: axes + [{0: ("b", 0), 1: ("i", 4)}]}
    dense = values.reshape(8, 12)

    def model(sparsity, data):
        m = Model()
        q = {} if kind == "float32" else {"scale": 0.02, "zero": 0}
        x, w = m.tensor("float32", (2, 12)), m.tensor(kind, (8, 12), data=data, sparsity=sparsity, **q)
        whole, real = m.tensor(kind, (8, 12), **q), m.tensor("float32", (8, 12))
        m.op(124, [w], [whole], {}, 99)
        if kind != "float32":
            m.op(6, [whole], [real])
        y = m.tensor("float32", (2, 8))
        m.op(9, [x, whole if kind == "float32" else real, -1], [y], {}, 8)
        return m, x, y
    m, x, y = model(how, values[there])
    real = dense.astype(float) * (1 if kind == "float32" else float(F32(0.02)))
    b.check("sparse %s %d" % (kind, block), m, x, [b.numbers("float32", (2, 12)) for _ in range(2)], y, lambda v: (v @ real.T).astype(F32))
    path = os.path.join(b.work, "damaged.tflite")
    for change in ("segments", "indices", "order", "values"):
        segments, more, order, data = list(axes[1][3][0][1]), list(indices), list(how[0][1]), values[there]
        if change == "segments":
            segments[4] = 255
        elif change == "indices":
            more[0] = 12
        elif change == "order":
            order[0] = order[1]
        else:
            data = data[:-1]
        bad = dict(how, **{})
        bad[0] = ("i", order)
        bad[2] = [axes[0], dict(axes[1], **{})] + axes[2:]
        bad[2][1][3], bad[2][1][5] = {0: ("B", segments)}, {0: ("h", more)}
        m, x, y = model(bad, data)
        with open(path, "wb") as f:
            f.write(m.write([x], [y]))
        done = subprocess.run([b.vtac, "inspect", path], capture_output=True, text=True)
        if done.returncode != 1 or done.stderr.count("\n") != 1 or "sparse contents" not in done.stderr:
            sys.exit("%s: %d %s" % (change, done.returncode, done.stderr))


def mixed(b, left, right, turned, asymmetric):
    """A product of floats and bytes: rows of floats quantized by the run, each for itself."""
    values = numpy.maximum(b.numbers("int8", right), -127)
    m = Model()
    x, w = m.tensor("float32", left), m.tensor("int8", right, 0.01, data=values)
    y = m.tensor("float32", (1,))
    m.op(126, [x, w], [y], {0: ("?", bool(turned[0])), 1: ("?", bool(turned[1])), 2: ("?", asymmetric)}, 101, 4 if asymmetric else 1)

    def reference(v):
        v, k = (numpy.swapaxes(a, -1, -2) if t else a for a, t in zip((v, values.astype(float)), turned))
        if asymmetric:
            low, high = (numpy.array(f(v.astype(float), -1), F32).astype(float)[..., None] for f in (numpy.min, numpy.max))
            step = (numpy.maximum(high, 0) - numpy.minimum(low, 0)) / 255
            least, most = numpy.minimum(low, 0), numpy.maximum(high, 0)
            zero = numpy.clip(rounded(numpy.where(128 + numpy.abs(least / step) < 127 + numpy.abs(most / step), -128 - least / step, 127 - most / step)), -128, 127)
            q = numpy.clip(rounded(zero.astype(F32) + v * (F32(1) / step.astype(F32))), -128, 127) - zero
        else:
            step = numpy.abs(v).max(-1, keepdims=True) / F32(127)
            q = rounded(v * (F32(127) / numpy.abs(v).max(-1, keepdims=True)))
        return ((q.astype(float) @ k).astype(F32) * (step.astype(F32) * F32(0.01))).astype(F32)
    b.check("product %s by %s, %s %d" % (left, right, turned, asymmetric), m, x, [b.numbers("float32", left) for _ in range(2)], y, reference)


def unknown(b):
    """What is not taken is named as the library names it, once each, from all graphs that the network may call."""
    path = os.path.join(b.work, "unknown.tflite")
    m = Model()
    x = m.tensor("float32", (4,))
    ys = [m.tensor("float32", (4,), name=name) for name in ("first", "second", "third", "fourth", "fifth")]
    graphs = []
    for name, code in (("inner", 137), ("other", 15)):
        def build(g, name=name, code=code):
            v, w = g.tensor("float32", (4,)), g.tensor("float32", (4,), name=name)
            g.op(code, [v], [w])
            return [v], [w]
        graphs.append(m.called(build))

    def never(g):
        v, w = g.tensor("float32", (4,)), g.tensor("float32", (4,), name="never")
        g.op(160, [v], [w])
        return [v], [w]
    m.called(never)
    condition = m.tensor("bool", ())
    for code, y in ((139, ys[0]), (139, ys[1]), (163, ys[2]), (1000, ys[3])):
        m.op(code, [x], [y])
    m.op(118, [condition, x], [ys[4]], {0: ("i", graphs[0]), 1: ("i", graphs[1])}, 92)
    m.op(32, [x], [m.tensor("float32", (4,), name="own")], custom="Own")
    with open(path, "wb") as f:
        f.write(m.write([x, condition], ys))
    done = subprocess.run([b.vtac, "inspect", path], capture_output=True, text=True)
    words = ["HASHTABLE_SIZE (2 times, first at 'first')", "STABLEHLO_ADD (at 'third')", "operator 1000 (at 'fourth')",
             "the custom operator Own (at 'own')", "HASHTABLE_FIND (at 'inner')", "LSH_PROJECTION (at 'other')"]
    missing = [w for w in words if w not in done.stderr]
    if done.returncode != 1 or done.stderr.count("\n") != 1 or missing or "BITWISE" in done.stderr:
        sys.exit("operators that nobody takes: %d, without %s\n%s" % (done.returncode, missing, done.stderr))
    m = Model()
    x = m.tensor("float32", (4,))
    for i in range(200):
        m.op(1000 + i, [x], [m.tensor("float32", (4,))])
    with open(path, "wb") as f:
        f.write(m.write([x], [x]))
    done = subprocess.run([b.vtac, "inspect", path], capture_output=True, text=True)
    if done.returncode != 1 or done.stderr.count("\n") != 1 or "operator 1003" not in done.stderr or "and more" not in done.stderr:
        sys.exit("200 operators that nobody takes: %d\n%s" % (done.returncode, done.stderr))


def main():
    seed = word_seed.told()
    with tempfile.TemporaryDirectory() as work:
        b = Bench(sys.argv[1], work, seed)
        boxes(b, 12, 5, 0.2, False)
        boxes(b, 20, 30, 0.5, True)
        sound(b, 16, 16)
        sound(b, 25, 32)
        sound(b, 20, 12)
        volume(b, True, 2, 1)
        volume(b, False, 1, 2)
        reverse(b, (3, 6, 4), 1, 0)
        reverse(b, (5, 2, 4), 0, 2)
        update(b, [1, 0, 2])
        update(b, [-3, 4, 9])
        small(b)
        sparse(b, "float32", False)
        sparse(b, "int8", True)
        for asymmetric in (False, True):
            mixed(b, (3, 8), (8, 5), (0, 0), asymmetric)
            mixed(b, (2, 3, 16), (2, 5, 16), (0, 1), asymmetric)
            mixed(b, (2, 7, 4), (7, 6), (1, 0), asymmetric)
        unknown(b)
        print("%d models, %d results judged by TensorFlow Lite" % (b.count, b.judged))


main()
