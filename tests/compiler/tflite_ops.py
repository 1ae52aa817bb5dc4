#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Operators of TensorFlow Lite that the shared models do not have, one a model, with random shapes' numbers and scales:
# integers equal to references written out here, floats within 1e-5 of the largest. With VTAC_TFLITE naming TensorFlow
# Lite's C library (libtensorflowlite_c.so; the npm package tfjs-tflite-node has that of 2.9), the library judges all
# of them, and more. Then damaged copies of models, each of which gets one line or works.
#
# usage: tflite_ops.py VTAC   (exit status 77: no numpy)
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    import word_seed
    from tflite_bench import F32, RANGE, Bench, rounded, scaled, stored
    from tflite_file import Model, flexbuffer
except ImportError:
    sys.exit(77)

# ---- operators

def convolution(b, kind, shape, filters, size, stride, depth):
    h, w, c = shape
    n = c * filters if depth else filters
    qx, qy, weight = b.scale(kind), b.scale(kind, 0.3), "uint8" if kind == "uint8" else "int8"
    values = b.numbers(weight, (1, size, size, n) if depth else (n, size, size, c))
    values = numpy.maximum(values, -127).astype(weight) if weight == "int8" else values
    zero = 121 if weight == "uint8" else 0
    scales = b.random.uniform(0.002, 0.02, 1 if weight == "uint8" else n).astype(F32)
    bias = b.random.integers(-3000, 3000, n)
    m = Model()
    x = m.tensor(kind, (1, h, w, c), **qx)
    wt = m.tensor(weight, values.shape, scales, zero, 3 if depth else 0, values)
    bt = m.tensor("int64" if kind == "int16" else "int32", (n,), scales * F32(qx["scale"]), 0, 0, bias)
    y = m.tensor(kind, (1, -(-h // stride), -(-w // stride), n), **qy)
    options = {0: ("b", 0), 1: ("i", stride), 2: ("i", stride), **({3: ("i", filters)} if depth else {})}
    m.op(4 if depth else 3, [x, wt, bt], [y], options, 2 if depth else 1, 3)

    def reference(v):
        pads = [max((-(-d // stride) - 1) * stride + size - d, 0) for d in (h, w)]
        v = numpy.pad(v.astype(int) - qx["zero"], [(0, 0)] + [(p // 2, p - p // 2) for p in pads] + [(0, 0)])
        windows = numpy.lib.stride_tricks.sliding_window_view(v, (size, size), (1, 2))[:, ::stride, ::stride]
        k = values.astype(int) - zero
        if depth:
            sums = numpy.einsum("nyxcij,ijcm->nyxcm", windows, k[0].reshape(size, size, c, filters)).reshape(windows.shape[:3] + (n,))
        else:
            sums = numpy.einsum("nyxcij,fijc->nyxf", windows, k)
        sums = sums + bias
        out = numpy.empty(sums.shape, int)
        for i in range(n):
            s = scales[i % len(scales)]
            real = (float(F32(qx["scale"]) * s) if kind == "uint8" else float(F32(qx["scale"])) * float(s)) / float(F32(qy["scale"]))
            out[..., i] = [[[scaled(a, real, not depth) for a in row] for row in plane] for plane in sums[..., i]]
        return stored(out, kind, qy["zero"])
    b.check("%s %s %s" % ("depthwise" if depth else "convolution", kind, shape), m, x, [b.numbers(kind, (1, h, w, c)) for _ in range(2)], y,
            None if kind == "int16" else reference)


def addition(b, kind, code):
    qa, qb, qy = b.scale(kind), b.scale(kind), b.scale(kind)
    other = b.numbers(kind, (1, 1, 1, 6))
    m = Model()
    x = m.tensor(kind, (1, 5, 7, 6), **qa)
    second = m.tensor(kind, other.shape, data=other, **qb)
    y = m.tensor(kind, (1, 5, 7, 6), **qy)
    m.op(code, [x, second], [y], {0: ("b", 0)}, {0: 11, 41: 28, 18: 21}[code])

    def reference(v):
        a, c = v.astype(int) - qa["zero"], other.astype(int) - qb["zero"]
        sa, sb, sy = (F32(q["scale"]) for q in (qa, qb, qy))
        if code == 18:
            return stored([[[[scaled(i, float(sa * sb / sy)) for i in r] for r in p] for p in n] for n in a * c], kind, qy["zero"])
        twice = 2 * float(max(sa, sb))
        sign = -1 if code == 41 else 1
        both = [[[[scaled(i << 20, float(sa) / twice) + sign * scaled(j << 20, float(sb) / twice) for i, j in zip(r, c[0, 0, 0])]
                  for r in p] for p in n] for n in a]
        real = twice / (2 ** 20 * float(sy))
        return stored([[[[scaled(i, real) for i in r] for r in p] for p in n] for n in both], kind, qy["zero"])
    b.check("operator %d of %s" % (code, kind), m, x, [b.numbers(kind, (1, 5, 7, 6)) for _ in range(2)], y, None if kind == "int16" else reference)


def powers(b, code, logs):
    """16 bits, scales that are powers of two: shifts instead of factors."""
    m = Model()
    x, z, y = (m.tensor("int16", (5, 7, 6), 2.0 ** log) for log in logs)
    m.op(code, [x, z], [y], {0: ("b", 0)}, {0: 11, 41: 28}[code])

    def reference(v, w):
        def moved(q, log):
            half = 1 << (logs[2] - log - 1) if log < logs[2] else 0
            q = q.astype(int)
            return numpy.where(q < 0, -((-q + half) >> (logs[2] - log)), (q + half) >> (logs[2] - log))
        return [stored(moved(v, logs[0]) + (1 if code == 0 else -1) * moved(w, logs[1]), "int16", 0)]
    given = [[b.numbers("int16", (5, 7, 6)) for _ in range(2)] for _ in range(2)]
    b.check_many("operator %d of int16, %s" % (code, logs), m, [x, z], given, [y], reference)


def bilinear(b, kind, shape, to, corners, centers):
    q = b.scale(kind)
    m = Model()
    x = m.tensor(kind, (1,) + shape, **q)
    size = m.tensor("int32", (2,), data=to)
    y = m.tensor(kind, (1,) + to + shape[2:], **q)
    m.op(23, [x, size], [y], {2: ("?", corners), 3: ("?", centers)}, 15, 3)

    def places(n, k):
        s = (1024 * (n - 1) + (k - 1) // 2) // (k - 1) if corners else (1024 * n + k // 2) // k
        at = [i * s + (int(s / 2) - 512 if centers else 0) for i in range(k)]
        low = [min(max(int(a / 1024), 0), n - 1) for a in at]
        return low, [min(max(int((a + 1023) / 1024), 0), n - 1) for a in at], [a - 1024 * i for a, i in zip(at, low)]

    def fractions(n, k):
        s = (n - 1) / (k - 1) if corners else n / k
        at = [max((i + 0.5) * s - 0.5, 0) if centers else i * s for i in range(k)]
        low = [min(int(a), n - 1) for a in at]
        return low, [min(i + 1, n - 1) for i in low], [a - i for a, i in zip(at, low)]

    def in_floats(v):
        v = v.astype(float)
        for axis, (n, k) in enumerate(zip(shape, to)):
            low, high, part = fractions(n, k)
            part = numpy.reshape(part, (-1, 1) if axis == 1 else (-1, 1, 1))
            v = numpy.take(v, low, axis + 1) * (1 - part) + numpy.take(v, high, axis + 1) * part
        return v.astype(F32)

    def reference(v):
        v = v.astype(numpy.int64)
        for axis, (n, k) in enumerate(zip(shape, to)):
            low, high, part = places(n, k)
            part = numpy.reshape(part, (-1, 1) if axis == 1 else (-1, 1, 1))
            v = numpy.take(v, low, axis + 1) * (1024 - part) + numpy.take(v, high, axis + 1) * part
        return rounded(v / 2 ** 20).astype(kind)
    b.check("bilinear %s %s to %s, %d %d" % (kind, shape, to, corners, centers), m, x, [b.numbers(kind, (1,) + shape) for _ in range(2)], y,
            reference if kind in ("int8", "int16") else in_floats if kind == "float32" else None)


def logistic(b, kind):
    q = b.scale(kind)
    zero = {"int8": -128, "uint8": 0, "int16": 0}[kind]
    step = 1 / 32768 if kind == "int16" else 1 / 256
    m = Model()
    x = m.tensor(kind, (4, 64), **q)
    y = m.tensor(kind, (4, 64), step, zero)
    m.op(14, [x], [y])

    def reference(v):
        real = F32(q["scale"]) * (v.astype(int) - q["zero"]).astype(F32)
        return stored(rounded(F32(1) / (F32(1) + numpy.exp(-real)) * F32(256)).astype(int), kind, zero)
    every = numpy.arange(256).reshape(4, 64) + RANGE[kind][0]
    if kind == "int16":
        return curves(b)
    b.check("logistic " + kind, m, x, [every.astype(kind)], y, reference)


def curves(b):
    """Logistic and tanh of all 16-bit numbers, whose table has 24 steps to one."""
    point = lambda i: 65536 / (1 + numpy.exp(-i / 24.0))
    i = numpy.arange(257)
    middle = point(i + 0.5) - (point(i) + point(i + 1)) / 2
    table = numpy.floor(point(i) + middle / 2 + 0.5).astype(numpy.int64)
    table[255:] = 65535
    for code, scale in ((14, 2.0 ** -12), (14, 0.00031), (28, 2.0 ** -12), (28, 2.0 ** -11), (28, 0.0003), (28, 0.00007)):
        m = Model()
        x, y = m.tensor("int16", (256, 256), scale), m.tensor("int16", (256, 256), 1 / 32768)
        m.op(code, [x], [y])

        def reference(v):
            real, left = float(F32(scale)) * 4096 * 3, 0
            while real <= 32767 / 2 and left <= 30:
                real, left = real * 2, left + 1
            q = (v.astype(numpy.int64) * int(real) + (1 << left >> 1)) >> left
            fine = 9 if code == 14 else 8
            at, rest = numpy.abs(q) >> fine, numpy.abs(q) & ((1 << fine) - 1)
            near = numpy.minimum(at, 255)
            r = numpy.where(at >= 255, 0x7fff << 10 if code == 14 else 0xffff << 8, (table[near] << fine) + rest * (table[near + 1] - table[near]))
            if code == 14:
                return (numpy.where(q >= 0, r + 512, (1 << 25) - r + 511) >> 10).astype("int16")
            return (numpy.where(q >= 0, r - (1 << 23) + 128, -r + (1 << 23) + 127) >> 8).astype("int16")
        every = numpy.arange(-32768, 32768).astype("int16").reshape(256, 256)
        # powers of two: the steps of gemmlowp, which tflite_recurrent.py writes out
        b.check("curve %d by %g" % (code, scale), m, x, [every], y, reference if numpy.log2(scale) % 1 else None)


def mean(b, kind, keep, named=(1, 2)):
    """Axes that are counted from the end have the rule of all other axes, in float32."""
    qx, qy = b.scale(kind), b.scale(kind)
    m = Model()
    x = m.tensor(kind, (1, 5, 6, 9), **qx)
    axes = m.tensor("int32", (len(named),), data=list(named))
    y = m.tensor(kind, (1, 1, 1, 9) if keep else (1, 9), **qy)
    m.op(40, [x, axes], [y], {0: ("?", keep)}, 27, 2)

    def reference(v):
        if min(named) < 0:
            scale = F32(qx["scale"]) / F32(qy["scale"])
            return stored(rounded(v.astype(F32).sum((1, 2), keepdims=True) / F32(30) * scale + F32(-qx["zero"]) * scale).astype(int), kind, qy["zero"])
        sums = (v.astype(int) - qx["zero"]).sum((1, 2), keepdims=True).reshape(-1)
        out = [scaled(s, float(F32(qx["scale"])) / float(F32(qy["scale"]))) for s in sums]
        return stored(rounded(numpy.array(out) / 30).astype(int).reshape(1, 1, 1, 9), kind, qy["zero"])
    b.check("mean %s %d" % (kind, keep), m, x, [b.numbers(kind, (1, 5, 6, 9)) for _ in range(2)], y, reference if keep and (kind == "int8" or min(named) < 0) else None)


def softmax(b, kind, scale, beta, depth):
    """Of 16 bits and of bytes, and the logarithm of bytes; against float64 within what their tables allow."""
    q = dict(b.scale(kind), scale=scale)
    for code in (25, 50) if kind != "int16" else (25,):
        zero, step = {25: {"int8": (-128, 1 / 256), "uint8": (0, 1 / 256), "int16": (0, 1 / 32768)},
                      50: {"int8": (127, 1 / 16), "uint8": (255, 1 / 16)}}[code][kind]
        m = Model()
        x = m.tensor(kind, (3, depth), **q)
        y = m.tensor(kind, (3, depth), step, zero)
        m.op(code, [x], [y], {0: ("f", beta)} if code == 25 else {}, 9 if code == 25 else 36)

        def near(v):
            z = (v.astype(int) - q["zero"]) * float(F32(q["scale"])) * (beta if code == 25 else 1)
            e = numpy.exp(z - z.max(1, keepdims=True))
            y = e / e.sum(1, keepdims=True)
            return stored(rounded((y if code == 25 else numpy.log(y)) / step).astype(int), kind, zero)
        engine, allowed = b.engine, b.allowed
        given = [b.numbers(kind, (3, depth)) for _ in range(2)]
        b.check("softmax %d of %s, %d" % (code, kind, depth), m, x, given, y)
        b.engine, b.allowed = None, 24 if kind == "int16" else 1  # the curves' pieces
        b.check("softmax %d of %s, %d, nearly" % (code, kind, depth), m, x, given, y, near)
        b.engine, b.allowed = engine, allowed


def square(b):
    qa, qb, qy = b.scale("int8"), b.scale("int8"), b.scale("int8", 0.5)
    other = b.numbers("int8", (1, 1, 6))
    m = Model()
    x, second, y = m.tensor("int8", (4, 5, 6), **qa), m.tensor("int8", other.shape, data=other, **qb), m.tensor("int8", (4, 5, 6), **qy)
    m.op(99, [x, second], [y], {}, 76)

    def reference(v):
        sa, sb, sy = (float(F32(q["scale"])) for q in (qa, qb, qy))
        twice = 2 * max(sa, sb)
        one = lambda i, s, z: scaled((int(i) - z) << 7, s / twice)
        d = [[[one(i, sa, qa["zero"]) - one(j, sb, qb["zero"]) for i, j in zip(r, other[0, 0])] for r in p] for p in v]
        return stored([[[scaled(i * i, twice * twice / (2 ** 14 * sy)) for i in r] for r in p] for p in d], "int8", qy["zero"])
    b.check("squared difference", m, x, [b.numbers("int8", (4, 5, 6)) for _ in range(2)], y, reference)


def mixed(b, asymmetric, old=False):
    """Floats by bytes, which old files call uint8 although they mean int8."""
    values = numpy.maximum(b.numbers("int8", (11, 40)), -127)
    m = Model()
    x = m.tensor("float32", (3, 40))
    w = m.tensor("uint8", (11, 40), 0.01, 99, 0, values.view("uint8")) if old else m.tensor("int8", (11, 40), 0.01, 0, 0, values)
    y = m.tensor("float32", (3, 11))
    m.op(9, [x, w], [y], {3: ("?", asymmetric)}, 8, 9 if asymmetric else 4)

    def reference(v):
        most = numpy.abs(v).max(1, keepdims=True)
        return (rounded(v * (F32(127) / most)).astype(int) @ values.T.astype(int) * (most / F32(127) * F32(0.01))).astype(F32)
    b.check("dense of floats by bytes, %d %d" % (asymmetric, old), m, x, [b.numbers("float32", (3, 40)) for _ in range(2)], y, None if asymmetric else reference)


def by_axis(b, axis):
    """Floats to bytes, with a scale for each place of an axis."""
    shape, dims = (4, 5, 6), [1, 1, 1]
    dims[axis] = shape[axis]
    scales = b.random.uniform(0.01, 0.1, shape[axis]).astype(F32)
    m = Model()
    x = m.tensor("float32", shape)
    y = m.tensor("int8", shape, scales, 0, axis)
    m.op(114, [x], [y], {}, 89, 2)
    b.check("quantize by axis %d" % axis, m, x, [b.numbers("float32", shape) for _ in range(2)], y,
            lambda v: stored(rounded(v / scales.reshape(dims)).astype(int), "int8", 0))


def others(b):
    """What takes no more than a line to say."""
    rows = b.numbers("float32", (9, 4))
    m = Model()
    x = m.tensor("int32", (5,))
    y = m.tensor("float32", (5, 4))
    m.op(7, [x, m.tensor("float32", rows.shape, data=rows)], [y])
    b.check("embedding", m, x, [b.random.integers(0, 9, 5).astype("int32") for _ in range(2)], y, lambda v: rows[v])

    m = Model()
    x = m.tensor("float32", (6, 3))
    places = b.random.integers(0, 4, (6, 2))
    places[5] = places[0]  # both are added
    y = m.tensor("float32", (4, 4, 3))
    m.op(122, [m.tensor("int32", (6, 2), data=places), x, m.tensor("int32", (3,), data=[4, 4, 3])], [y])

    def scattered(v):
        out = numpy.zeros((4, 4, 3), F32)
        numpy.add.at(out, (places[:, 0], places[:, 1]), v)
        return out
    b.check("scatter", m, x, [b.numbers("float32", (6, 3)) for _ in range(2)], y, scattered)

    m = Model()
    x = m.tensor("float32", (1, 3, 4, 9))
    y = m.tensor("float32", (1, 3, 4, 9))
    m.op(13, [x], [y], {0: ("i", 2), 1: ("f", 1.5), 2: ("f", 0.3), 3: ("f", 0.75)}, 13)

    def normalized(v):
        squares = numpy.pad(v.astype(float) ** 2, [(0, 0)] * 3 + [(2, 2)])
        near = sum(squares[..., k:k + 9] for k in range(5))
        return (v / (1.5 + 0.3 * near) ** 0.75).astype(F32)
    b.check("local response", m, x, [b.numbers("float32", (1, 3, 4, 9)) for _ in range(2)], y, normalized)

    m = Model()
    x = m.tensor("float32", (2, 7))
    y = m.tensor("float32", (2, 7))
    m.op(158, [x], [y])
    engine, b.engine = b.engine, None  # 2.9 does not have it
    b.check("sign", m, x, [b.numbers("float32", (2, 7)) for _ in range(2)], y, numpy.sign)
    b.engine = engine


# ---- boxes

def detection(b, kind, classes, background, most, each, regular, threshold):
    n = 60
    options = {"max_detections": most, "max_classes_per_detection": each, "detections_per_class": 5, "use_regular_nms": int(regular),
               "nms_score_threshold": threshold, "nms_iou_threshold": 0.45, "num_classes": classes, "y_scale": 10.0, "x_scale": 10.0,
               "h_scale": 5.0, "w_scale": 5.0}
    anchors = numpy.concatenate([b.random.uniform(0, 1, (n, 2)), b.random.uniform(0.1, 0.5, (n, 2))], 1).astype(F32)
    qb, qs = ({}, {}) if kind == "float32" else ({"scale": 0.0625, "zero": 120}, {"scale": 1 / 256, "zero": 0})
    m = Model()
    x = m.tensor(kind, (1, n, 4), **qb)
    s = m.tensor(kind, (1, n, classes + background), **qs)
    if kind != "float32":
        anchors = numpy.round(anchors * 200).astype(int)
    a = m.tensor(kind, (n, 4), data=anchors, **({} if kind == "float32" else {"scale": 0.005, "zero": 0}))
    anchors = anchors.astype(F32) * F32(1 if kind == "float32" else 0.005)
    ys = [m.tensor("float32", ()) for _ in range(4)]
    m.op(32, [x, s, a], ys, custom="TFLite_Detection_PostProcess", custom_options=flexbuffer(options))

    def overlap(p, q):
        sides = [max(min(p[i + 2], q[i + 2]) - max(p[i], q[i]), 0) for i in range(2)]
        areas = [(r[2] - r[0]) * (r[3] - r[1]) for r in (p, q)]
        return 0 if min(areas) <= 0 else sides[0] * sides[1] / (sum(areas) - sides[0] * sides[1])

    def kept(boxes, scores, room):
        chosen = []
        for i in sorted((i for i in range(n) if scores[i] >= threshold), key=lambda i: -scores[i]):
            if len(chosen) < room and all(overlap(boxes[i], boxes[j]) <= 0.45 for j in chosen):
                chosen.append(i)
        return chosen

    def reference(boxes, scores):
        if kind != "float32":
            boxes = ((boxes.astype(int) - 120) * F32(0.0625)).astype(F32)
            scores = (scores.astype(int) * F32(1 / 256)).astype(F32)
        boxes, scores = boxes[0].astype(float), scores[0][:, background:]
        centre = (boxes[:, :2] / 10 * anchors[:, 2:].astype(float) + anchors[:, :2]).astype(F32)
        half = (0.5 * numpy.exp(boxes[:, 2:] / 5) * anchors[:, 2:].astype(float)).astype(F32)
        corners = numpy.concatenate([centre - half, centre + half], 1)
        rows = []
        if regular:
            for c in range(classes):
                rows += [(scores[i, c], i, c) for i in kept(corners, scores[:, c], 5)]
            rows = [[r] for r in sorted(rows, key=lambda r: -r[0])[:most]]
        else:
            for i in kept(corners, scores.max(1), most):
                best = sorted(range(classes), key=lambda c: -scores[i, c])[:each]
                rows.append([(scores[i, c], i, c) for c in best])
        per = 1 if regular else each
        out = [numpy.zeros((1, most * per, 4), F32), numpy.zeros((1, most * per), F32), numpy.zeros((1, most * per), F32)]
        for k, row in enumerate(rows):
            for j, (score, i, c) in enumerate(row):
                out[0][0, k * per + j], out[1][0, k * per + j], out[2][0, k * per + j] = corners[i], c, score
        return out + [numpy.array([len(rows)], F32)]

    def draw():
        count = n * (classes + background)  # no two scores alike: equal ones have no order
        scores = b.random.permutation(count) / count if kind == "float32" else b.random.permutation(256)[:count]
        return [b.numbers(kind, (1, n, 4)), scores.reshape(1, n, -1).astype(kind)]
    engine = b.engine

    class Cleaned:
        """What TensorFlow Lite leaves unwritten behind the last detection is anything: 0 here."""
        def run(self, *words):
            found = [f.copy() for f in engine.run(*words)]
            used = int(found[3][0]) * (1 if regular else each)
            for f in found[:3]:
                f[:, used:] = 0
            return found
    b.engine = engine and Cleaned()
    b.check_many("detection %s %d %d" % (kind, classes, regular), m, [x, s], [draw() for _ in range(2)], ys, reference)
    b.engine = engine


# ---- damage

def damage(b, count):
    path, lines = os.path.join(b.work, "damaged.tflite"), 0
    for i in range(count):
        data = bytearray(b.models[i % len(b.models)])
        if i % 4 == 0:
            del data[int(b.random.integers(8, len(data))):]
        for _ in range(1 + i % 3):
            at = int(b.random.integers(0, min(len(data), 900)))
            data[at] = int(b.random.integers(0, 256))
        with open(path, "wb") as f:
            f.write(data)
        done = subprocess.run([b.vtac, "inspect", path], capture_output=True, text=True)
        lines += done.returncode == 1
        if done.returncode not in (0, 1) or (done.returncode == 1 and (done.stderr.count("\nvtac: ") + done.stderr.startswith("vtac: ") != 1)):
            sys.exit("damaged model %d: exit status %d\n%s" % (i, done.returncode, done.stderr))
    m = Model()
    m.op(32, [m.tensor("float32", (1,), name=b"x\xff\xc0\x80\x1b[1m\xed\xa0\x80\xc3\xa9\0")], [], custom="Nobody\u2019s")
    with open(path, "wb") as f:
        f.write(m.write([0], []))
    done = subprocess.run([b.vtac, "inspect", path], capture_output=True)
    if done.returncode != 1 or "Nobody\u2019s" not in done.stderr.decode() or b"\x1b" in done.stderr:  # it decodes, or this fails
        sys.exit("names that are no text: %d, %r" % (done.returncode, done.stderr))
    m = Model()
    x = m.tensor("float32", (1,), name=b"x\xff\xc0\x80\x1b[1m\xed\xa0\x80\xc3\xa9\0")
    with open(path, "wb") as f:
        f.write(m.write([x], [x]))
    done = subprocess.run([b.vtac, "inspect", path], capture_output=True)
    if "\u00e9" not in (done.stdout + done.stderr).decode() or b"\x1b" in done.stdout + done.stderr:
        sys.exit("a name that is no text: %r" % (done.stdout + done.stderr))
    with open(path, "wb") as f:
        f.write(b"\xffsomething else")
    done = subprocess.run([b.vtac, "inspect", path], capture_output=True, text=True)
    if done.returncode != 1 or "TensorFlow Lite" not in done.stderr or "ff 73 6f" not in done.stderr:
        sys.exit("a file of no kind: " + done.stderr)
    print("%d damaged models, %d refused" % (count, lines))


def factors(b):
    """The factor of two scales is worked out in floats by some kernels, in doubles by others: it takes many 16-bit numbers to see."""
    for code, kind in ((19, 0), (101, 1), (98, 2), (114, 3)):
        a, c = (F32(b.random.uniform(5e-5, 9e-4)) for _ in range(2))
        m = Model()
        x, y = m.tensor("int16", (4, 10000), scale=float(a)), m.tensor("int16", (4, 10000), scale=float(c))
        m.op(code, [x], [y], {0: ("f", 1.0)} if kind == 2 else {}, 75 if kind == 2 else 0, 2 if kind == 2 else 1)
        real = float(a) / float(c) if kind == 3 else float(F32(a / c))
        each = numpy.array([scaled(q, real) for q in range(1 << 15)])

        def wanted(v):
            size = each[numpy.minimum(numpy.abs(v.astype(int)), 32767)]
            return stored(size if kind == 1 else numpy.maximum(numpy.sign(v), 0) * size if kind == 0 else numpy.sign(v) * size, "int16", 0)
        b.check("factor of operator %d" % code, m, x, [numpy.maximum(b.numbers("int16", (4, 10000)), -32767) for _ in range(2)], y, wanted)


def main():
    seed = word_seed.told()
    with tempfile.TemporaryDirectory() as work:
        b = Bench(sys.argv[1], work, seed)
        factors(b)
        for kind in ("int8", "uint8", "int16"):
            convolution(b, kind, (7, 8, 5), 6, 3, 2, False)
            convolution(b, kind, (6, 5, 16), 16, 1, 1, False)
            convolution(b, kind, (7, 6, 5), 2, 3, 1, True)
            for code in (0, 18, 41):
                addition(b, kind, code)
            bilinear(b, kind, (5, 6, 3), (10, 13), False, False)
            bilinear(b, kind, (7, 5, 2), (3, 9), True, False)
            bilinear(b, kind, (4, 6, 2), (9, 8), False, True)
            logistic(b, kind)
            mean(b, kind, True)
            mean(b, kind, False)
            mean(b, kind, True, (-3, -2))
        for code in (0, 41):
            for logs in ((-12, -13, -12), (-15, -12, -12)):
                powers(b, code, logs)
        for kind, scale, beta, depth in (("int16", 0.0004, 1.0, 12), ("int16", 0.00007, 2.0, 40), ("int8", 0.06, 1.0, 10), ("uint8", 0.1, 0.5, 7)):
            softmax(b, kind, scale, beta, depth)
        square(b)
        mixed(b, False)
        mixed(b, True)
        mixed(b, False, True)
        for axis in range(3):
            by_axis(b, axis)
        others(b)
        detection(b, "float32", 3, 1, 10, 1, False, 0.2)
        detection(b, "float32", 5, 0, 8, 3, False, 0.9)
        detection(b, "float32", 2, 1, 70, 1, False, 1e-8)
        detection(b, "float32", 4, 1, 12, 1, True, 0.1)
        detection(b, "float32", 3, 0, 40, 1, True, 0.8)
        detection(b, "uint8", 3, 1, 10, 2, False, 0.3)
        print("%d models, %d results judged by TensorFlow Lite" % (b.count, b.judged))
        damage(b, 60)


main()
