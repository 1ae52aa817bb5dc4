#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Operators that read at places that are data, reduce regions, put windows together, or draw random numbers: against
# loops over single elements, in double, written out from the standard. And constants that are too large to be stored.
#
# usage: codegen_more.py VTAC   (exit status 77: python3-onnx is not there)
import itertools
import math
import sys

from onnx_cases import Suite, helper, numpy, numpy_helper, value_info

F32 = numpy.float32
F16 = numpy.float16
F64 = numpy.float64


def normal(random, *shape, dtype=F32):
    return random.standard_normal(shape).astype(dtype)


def i64(*values):
    return numpy.array(values, numpy.int64)


# ---- GridSample

def reflect(x, low, high):
    span = high - low
    if span <= 0:
        return 0.0
    while x < low or x > high:
        x = 2 * low - x if x < low else 2 * high - x
    return x


def cubic_weights(t, a=-0.75):
    def near(d):
        return (a + 2) * d ** 3 - (a + 3) * d ** 2 + 1

    def far(d):
        return a * d ** 3 - 5 * a * d ** 2 + 8 * a * d - 4 * a
    return far(t + 1), near(t), near(1 - t), far(2 - t)


def sample(x, place, mode, padding, corners):
    """x: the axes of one channel; place: a coordinate for each."""
    sizes = x.shape
    edges = [(0, s - 1) if corners else (-0.5, s - 0.5) for s in sizes]
    place = list(place)
    for i, (s, (low, high)) in enumerate(zip(sizes, edges)):
        if mode == "nearest":
            place[i] = float(numpy.rint(place[i]))
        if place[i] < low or place[i] > high:
            if padding == "border":
                place[i] = min(max(place[i], 0), s - 1)
            elif padding == "reflection":
                place[i] = reflect(place[i], low, high)
    taps = []
    for p in place:
        first = math.floor(p)
        if mode == "nearest":
            taps.append([(int(p), 1.0)])
        elif "cubic" in mode:
            taps.append([(first - 1 + k, w) for k, w in enumerate(cubic_weights(p - first))])
        else:
            taps.append([(first, 1 - (p - first)), (first + 1, p - first)])
    total = 0.0
    for tap in itertools.product(*taps):
        where, weight, inside = [], 1.0, True
        for (i, w), s, (low, high) in zip(tap, sizes, edges):
            if padding == "zeros":
                inside = inside and 0 <= i < s
            elif padding == "border":
                i = min(max(i, 0), s - 1)
            else:
                i = int(reflect(i, low, high))
            where.append(i)
            weight *= w
        total += weight * float(x[tuple(where)]) if inside else 0.0
    return total


def grid_sample(suite):
    def case(sizes, places, mode, padding, corners, version=20, dtype=F32, grid_dtype=F32, spread=1.4, n=2, c=2, halves=False):
        def make(random):
            x = random.standard_normal((n, c) + sizes)
            x = (random.integers(-9, 9, x.shape) if numpy.dtype(dtype).kind in "iu" else x).astype(dtype)
            grid = random.uniform(-spread, spread, (n,) + places + (len(sizes),))
            return [("x", x), ("grid", (numpy.rint(4 * grid) / 4 if halves else grid).astype(grid_dtype))]

        def reference(x, grid):
            y = numpy.zeros((n, c) + places)
            for b, k, at in itertools.product(range(n), range(c), numpy.ndindex(*places)):
                given = grid[(b,) + at].astype(float)[::-1]
                place = [(g + 1) / 2 * (s - 1) if corners else ((g + 1) * s - 1) / 2 for g, s in zip(given, sizes)]
                y[(b, k) + at] = sample(x[b, k], place, mode, padding, corners)
            return y.astype(dtype)
        suite.add("GridSample", make, reference, version=version, mode=mode, padding_mode=padding, align_corners=corners)
    for mode, padding, corners in itertools.product(("linear", "nearest", "cubic"), ("zeros", "border", "reflection"), (0, 1)):
        case((4, 5), (3, 2), mode, padding, corners, spread=2.5)
    for mode, padding in itertools.product(("linear", "nearest", "cubic"), ("zeros", "reflection")):
        case((3, 4, 2), (2, 1, 3), mode, padding, 0)
    case((3, 2, 5), (3, 4, 3), "nearest", "zeros", 1, halves=True)
    case((2, 4), (5, 4), "nearest", "zeros", 0, halves=True)
    case((5, 3), (4, 4), "bilinear", "zeros", 0, version=16)
    case((5, 3), (4, 4), "bicubic", "border", 1, version=16)
    case((6,), (4,), "linear", "border", 0)
    case((1, 1), (2, 2), "linear", "reflection", 1)
    case((1, 3), (2, 2), "nearest", "border", 0)
    case((3, 3), (0, 2), "linear", "zeros", 0)
    case((3, 4), (3, 3), "linear", "zeros", 0, dtype=F64, grid_dtype=F64)
    case((3, 4), (3, 3), "nearest", "zeros", 0, dtype=numpy.int32)
    case((3, 4), (3, 3), "nearest", "border", 1, dtype=numpy.uint8)


# ---- regions

def align_sample(x, y, u, most):
    height, width = x.shape
    if y < -1 or y > height or u < -1 or u > width:
        return 0.0
    y, u = min(max(y, 0), height - 1), min(max(u, 0), width - 1)
    j, i = int(y), int(u)
    parts = [(1 - (y - j)) * (1 - (u - i)) * x[j, i], (1 - (y - j)) * (u - i) * x[j, min(i + 1, width - 1)],
             (y - j) * (1 - (u - i)) * x[min(j + 1, height - 1), i],
             (y - j) * (u - i) * x[min(j + 1, height - 1), min(i + 1, width - 1)]]
    return max(parts) if most else sum(parts)


def roi_align(x, rois, pictures, cells, ratio, scale, half, mode):
    y = numpy.zeros((len(rois), x.shape[1]) + cells)
    for r, c, i, j in numpy.ndindex(*y.shape):
        corner = rois[r].astype(float) * scale - (0.5 if half else 0)
        size = [corner[3] - corner[1], corner[2] - corner[0]]
        size = size if half else [max(s, 1) for s in size]
        bins = [s / n for s, n in zip(size, cells)]
        counts = [ratio if ratio > 0 else math.ceil(b) for b in bins]
        samples = []
        for a, b in itertools.product(range(counts[0]), range(counts[1])):
            at = corner[1] + (i + (a + 0.5) / counts[0]) * bins[0], corner[0] + (j + (b + 0.5) / counts[1]) * bins[1]
            samples.append(align_sample(x[pictures[r], c], at[0], at[1], mode == "max"))
        y[r, c, i, j] = (max(samples) if mode == "max" else sum(samples) / len(samples)) if samples else 0
    return y


def regions(suite):
    for mode, ratio, half, cells, scale, version in (("avg", 2, True, (3, 2), 1.0, 16), ("avg", 0, True, (2, 2), 0.5, 22),
                                                     ("max", 3, False, (1, 4), 1.0, 16), ("max", 0, False, (2, 3), 1.0, 22),
                                                     ("avg", 0, False, (2, 2), 0.25, 10), ("avg", 1, False, (1, 1), 1.0, 10)):
        def make(random, version=version):
            low = random.uniform(-3, 8, (4, 2))
            rois = numpy.concatenate([low, low + random.uniform(0.1, 30, (4, 2))], 1).astype(F32)
            return [("x", normal(random, 2, 3, 7, 9)), ("rois", rois), ("b", random.integers(0, 2, 4).astype(numpy.int64))]
        attrs = dict(mode=mode, sampling_ratio=ratio, output_height=cells[0], output_width=cells[1], spatial_scale=scale)
        if version > 10:
            attrs["coordinate_transformation_mode"] = "half_pixel" if half else "output_half_pixel"
        suite.add("RoiAlign", make, lambda x, rois, b, cells=cells, ratio=ratio, scale=scale, half=half, mode=mode:
                  roi_align(x, rois, b, cells, ratio, scale, half, mode).astype(F32), version=version, **attrs)

    def pooled(x, rois, cells=(2, 3), scale=0.5):
        y = numpy.zeros((len(rois), x.shape[1]) + cells)
        for r, c, i, j in numpy.ndindex(*y.shape):
            corner = [math.floor(abs(float(v) * scale) + 0.5) * (1 if v >= 0 else -1) for v in rois[r, 1:]]
            span = []
            for low, high, n, at, limit in ((corner[1], corner[3], cells[0], i, x.shape[2]), (corner[0], corner[2], cells[1], j, x.shape[3])):
                bin_size = max(high - low + 1, 1) / n
                span.append([min(max(low + e, 0), limit) for e in (math.floor(at * bin_size), math.ceil((at + 1) * bin_size))])
            part = x[int(rois[r, 0]), c, span[0][0]:span[0][1], span[1][0]:span[1][1]]
            y[r, c, i, j] = part.max() if part.size else 0
        return y.astype(F32)

    def boxes(random):
        low = random.integers(0, 10, (5, 2))
        rois = numpy.concatenate([random.integers(0, 2, (5, 1)), low, low + random.integers(0, 14, (5, 2))], 1)
        return [("x", normal(random, 2, 2, 8, 9)), ("rois", rois.astype(F32))]
    suite.add("MaxRoiPool", boxes, pooled, pooled_shape=[2, 3], spatial_scale=0.5)


# ---- DeformConv, Col2Im, MaxUnpool

def deform(suite):
    def case(n=1, c=2, m=2, sizes=(5, 4), kernel=(2, 3), strides=None, dilations=None, pads=None, group=1, groups=1, bias=True, mask=True,
             version=19):
        axes = len(sizes)
        strides, dilations, pads = strides or (1,) * axes, dilations or (1,) * axes, pads or (0,) * 2 * axes
        out = tuple((s + pads[i] + pads[i + axes] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i, s in enumerate(sizes))
        taps = int(numpy.prod(kernel))

        def make(random):
            found = [("x", normal(random, n, c, *sizes)), ("w", normal(random, m, c // group, *kernel)),
                     ("o", normal(random, n, groups * taps * axes, *out)), ("", None) if not bias else ("b", normal(random, m))]
            return found + ([("k", random.uniform(0, 1, (n, groups * taps) + out).astype(F32))] if mask else [])

        def reference(x, w, o, b=None, k=None):
            y = numpy.zeros((n, m) + out)
            for at in numpy.ndindex(*y.shape):
                first = at[1] // (m // group) * (c // group)
                for j, (t, tap) in itertools.product(range(c // group), enumerate(numpy.ndindex(*kernel))):
                    g = (first + j) // (c // groups)
                    place = [at[2 + i] * strides[i] - pads[i] + tap[i] * dilations[i] + o[(at[0], (g * taps + t) * axes + i) + at[2:]]
                             for i in range(axes)]
                    value = sample(x[at[0], first + j], place, "linear", "zeros", 0)
                    y[at] += value * w[(at[1], j) + tap] * (1 if k is None else k[(at[0], g * taps + t) + at[2:]])
                y[at] += 0 if b is None else b[at[1]]
            return y.astype(F32)
        attrs = dict(strides=strides, dilations=dilations, pads=pads, group=group, offset_group=groups, kernel_shape=kernel)
        suite.add("DeformConv", make, reference, version=version, **attrs)
    case()
    case(n=2, c=4, m=6, group=2, groups=2, pads=(1, 1, 1, 1), strides=(2, 1), version=22)
    case(c=4, m=3, groups=4, bias=False, dilations=(2, 1))
    case(mask=False, kernel=(1, 1))
    case(sizes=(3, 4, 3), kernel=(2, 2, 1))
    case(sizes=(6,), kernel=(3,), pads=(1, 1))

    def columns(sizes, kernel, strides, dilations, pads, dtype=F32):
        axes = len(sizes)
        steps = tuple((s + pads[i] + pads[i + axes] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i, s in enumerate(sizes))
        taps = int(numpy.prod(kernel))

        def reference(x, s, k):
            y = numpy.zeros((2, 3) + sizes)
            for b, c, (t, tap), (p, step) in itertools.product(range(2), range(3), enumerate(numpy.ndindex(*kernel)),
                                                               enumerate(numpy.ndindex(*steps))):
                at = tuple(step[i] * strides[i] + tap[i] * dilations[i] - pads[i] for i in range(axes))
                if all(0 <= a < z for a, z in zip(at, sizes)):
                    y[(b, c) + at] += x[b, c * taps + t, p]
            return y.astype(dtype)
        suite.add("Col2Im", lambda random: [("x", normal(random, 2, 3 * taps, int(numpy.prod(steps)), dtype=dtype)), ("s", i64(*sizes)),
                                            ("k", i64(*kernel))], reference, constants=("s", "k"), version=18,
                  strides=strides, dilations=dilations, pads=pads)
    columns((5, 5), (2, 3), (1, 1), (1, 1), (0, 0, 0, 0))
    columns((5, 6), (3, 2), (2, 3), (1, 2), (1, 0, 2, 1))
    columns((4, 3, 5), (2, 1, 3), (1, 2, 1), (1, 1, 2), (0, 1, 0, 1, 0, 1), F64)
    columns((7,), (3,), (2,), (2,), (1, 1))

    def unpool(sizes, kernel, strides, pads, shape=None, dtype=F32):
        axes = len(sizes)
        inner = tuple((s - 1) * strides[i] + kernel[i] - pads[i] - pads[i + axes] for i, s in enumerate(sizes))

        def make(random):
            x = normal(random, 2, 2, *sizes, dtype=dtype)
            places = random.permutation(4 * int(numpy.prod(inner)))[:x.size].reshape(x.shape).astype(numpy.int64)
            return [("x", x), ("i", places)] + ([("s", i64(2, 2, *shape))] if shape else [])

        def reference(x, i, s=None):
            y = numpy.zeros((2, 2) + inner, dtype)
            for at in numpy.ndindex(*x.shape):
                y.reshape(-1)[i[at]] = x[at]
            return y if s is None else numpy.pad(y, [(0, b - a) for a, b in zip(y.shape, s)])
        suite.add("MaxUnpool", make, reference, constants=("s",), version=11, kernel_shape=kernel, strides=strides, pads=pads)
    unpool((2, 3), (2, 2), (2, 2), (0, 0, 0, 0))
    unpool((2, 2), (2, 2), (2, 2), (0, 0, 0, 0), (5, 6))
    unpool((3,), (3,), (2,), (1, 1), dtype=F64)
    unpool((2, 1, 2), (2, 3, 1), (2, 1, 3), (0, 1, 0, 0, 1, 0))


# ---- caches, matrices, signals, bits

def others(suite):
    for size, dtype in ((1, F32), (2, F32), (3, F64), (6, F32)):
        suite.add("Det", lambda random, s=size, d=dtype: [("x", normal(random, 2, 3, s, s, dtype=d))],
                  lambda x, d=dtype: numpy.linalg.det(x.astype(float)).astype(d), version=22)
    suite.add("Det", lambda random: [("x", normal(random, 4, 4))], lambda x: numpy.array(numpy.linalg.det(x.astype(float)), F32), version=11)
    suite.add("Det", lambda random: [("x", numpy.tile(normal(random, 1, 3), (3, 1)) * 0)], lambda x: numpy.array(0, F32), version=11)

    def scattered(past, update, w=None, axis=-2, mode="linear"):
        y = past.copy()
        axis %= past.ndim
        for at in numpy.ndindex(*update.shape):
            place = at[axis] + (0 if w is None else w[at[0]])
            y[at[:axis] + (place % past.shape[axis] if mode == "circular" else place,) + at[axis + 1:]] = update[at]
        return y
    for shape, part, axis, mode, given in (((2, 3, 6, 4), 2, -2, "linear", True), ((3, 5, 2), 5, 1, "circular", True),
                                           ((2, 4, 3), 1, -1, "linear", False), ((2, 7), 3, 1, "circular", True)):
        def make(random, shape=shape, part=part, axis=axis, mode=mode, given=given):
            own = list(shape)
            own[axis] = part
            limit = shape[axis] if mode == "circular" else shape[axis] - part + 1
            return [("past", normal(random, *shape)), ("update", normal(random, *own))] + \
                ([("w", random.integers(0, limit, shape[0]).astype(numpy.int64))] if given else [])
        suite.add("TensorScatter", make, lambda past, update, w=None, axis=axis, mode=mode: scattered(past, update, w, axis, mode), version=24,
                  axis=axis, mode=mode)
    for kinds in ((F32, numpy.int32), (numpy.int64, F64), (numpy.uint8, numpy.int8), (F16, numpy.uint16), (numpy.uint32, numpy.int32)):
        for a, b in (kinds, kinds[::-1]):
            from onnx_cases import helper
            number = helper.mapping.NP_TYPE_TO_TENSOR_TYPE[numpy.dtype(b)]
            suite.add("BitCast", lambda random, a=a: [("x", (random.standard_normal((3, 4)) * 50).astype(a))],
                      lambda x, b=b: x.view(b), version=26, to=number)

    def frames(x, step, w=None, n=None, onesided=1):
        size = int(n) if n is not None else len(w) if w is not None else x.shape[1]
        rows = 1 + (x.shape[1] - size) // int(step)
        z = x[..., 0].astype(float) + (1j * x[..., 1] if x.shape[2] == 2 else 0)
        y = numpy.stack([numpy.fft.fft(z[:, i * int(step):i * int(step) + size] * (1 if w is None else w), axis=1) for i in range(rows)], 1)
        y = y[..., :size // 2 + 1] if onesided else y
        return numpy.stack([y.real, y.imag], -1).astype(x.dtype)
    for length, step, window, size, parts, onesided, dtype in ((24, 5, True, None, 1, 1, F32), (20, 4, False, 8, 1, 1, F32),
                                                               (17, 3, True, 6, 2, 0, F32), (12, 12, False, None, 1, 0, F64)):
        def make(random, length=length, step=step, window=window, size=size, parts=parts, dtype=dtype):
            return [("x", normal(random, 2, length, parts, dtype=dtype)), ("step", numpy.array(step, numpy.int64)),
                    ("w", random.uniform(0, 1, size or 7).astype(dtype)) if window else ("", None)] + \
                ([("n", numpy.array(size, numpy.int64))] if size else [])
        suite.add("STFT", make, lambda x, step, w=None, n=None, o=onesided: frames(x, step, w, n, o), constants=("step", "n"), onesided=onesided)

    for size, length in ((5, None), (4, 7), (6, 5), (2, 8)):
        suite.add("DFT", lambda random, s=size, n=length: [("x", normal(random, 2, s, 3, 2)), ("", None) if n is None else
                                                           ("n", numpy.array(n, numpy.int64)), ("a", numpy.array(1, numpy.int64))],
                  lambda x, a, n=None: numpy.fft.irfft(x[..., 0] + 1j * x[..., 1], None if n is None else int(n), 1)[..., None].astype(F32),
                  constants=("n", "a"), version=20, inverse=1, onesided=1)

    def product(x, a, exclusive=0, reverse=0):
        x = numpy.flip(x, a) if reverse else x
        y = numpy.cumprod(x.astype(float), a)
        if exclusive:
            y = numpy.concatenate([numpy.ones_like(numpy.take(y, [0], a)), numpy.take(y, range(y.shape[a] - 1), a)], a)
        return (numpy.flip(y, a) if reverse else y).astype(x.dtype)
    suite.add("CumProd", lambda random: [("x", random.uniform(0.99, 1.01, (2, 3000)).astype(F32)), ("a", i64(-1))],
              lambda x, a: product(x, 1), constants=("a",), version=26)
    suite.add("CumProd", lambda random: [("x", random.integers(-3, 4, (3, 5)).astype(numpy.int32)), ("a", i64(0))],
              lambda x, a: product(x, 0, 1, 1), constants=("a",), version=26, exclusive=1, reverse=1)


# ---- TfIdfVectorizer

def grams(suite):
    pool, starts = [2, 3, 5, 4, 5, 6, 7, 8, 6, 7, 2, 3, 5], [0, 4, 10]
    sizes = [(i + 1, pool[a:b]) for i, (a, b) in enumerate(zip(starts, starts[1:] + [len(pool)]))]
    every = [tuple(part[k:k + n]) for n, part in sizes for k in range(0, len(part), n)]
    for least, most, skips, mode, places, weighted, shape, dtype in (
            (1, 1, 0, "TF", range(8), False, (9,), numpy.int32), (2, 2, 2, "TF", range(8), False, (3, 12), numpy.int64),
            (1, 3, 1, "TFIDF", [3, 1, 0, 2, 9, 4, 5, 7], True, (2, 10), numpy.int32), (1, 2, 3, "IDF", [0, 1, 1, 2, 3, 0, 4, 5], True, (2, 14), numpy.int64),
            (3, 3, 5, "IDF", range(8), False, (1, 4), numpy.int64), (2, 3, 0, "TF", range(8), False, (2, 1), numpy.int32)):
        places = list(places)
        weights = [0.5 + 0.25 * i for i in range(max(places) + 1)] if weighted else None

        def reference(x, least=least, most=most, skips=skips, mode=mode, places=places, weights=weights):
            rows = x.reshape(-1, x.shape[-1])
            y = numpy.zeros((len(rows), max(places) + 1))
            for b, row in enumerate(rows):
                for g, gram in enumerate(every):
                    n = len(gram)
                    for apart in range(1, 2 if n == 1 else skips + 2):
                        for start in range(len(row) - apart * (n - 1)):
                            y[b, places[g]] += least <= n <= most and tuple(row[start:start + apart * n:apart]) == gram
            y = numpy.minimum(y, 1) if mode == "IDF" else y
            return (y * (1 if weights is None or mode == "TF" else weights)).astype(F32).reshape(x.shape[:-1] + (-1,))
        extra = {"weights": weights} if weights else {}
        suite.add("TfIdfVectorizer", lambda random, s=shape, d=dtype: [("x", random.integers(2, 9, s).astype(d))], reference, min_gram_length=least,
                  max_gram_length=most, max_skip_count=skips, mode=mode, ngram_counts=starts, ngram_indexes=places, pool_int64s=pool, **extra)


# ---- constants and random numbers: something that is read goes with them

def plus(suite, op, reference, attrs, fixed=(), version=22, shape=(3, 4), dtype=F32, like=False):
    from onnx_cases import helper, numpy_helper, value_info

    def model(inputs, outputs):
        nodes = [helper.make_node(op, ["x"] if like else [n for n, _ in fixed], ["r"], **attrs), helper.make_node("Add", ["r", "x"], ["y"])]
        graph = helper.make_graph(nodes, "case", [value_info("x", inputs[0][1])], [value_info("y", outputs[0][1])],
                                  [numpy_helper.from_array(a, n) for n, a in fixed])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)
    suite.add(op, lambda random: [("x", normal(random, *shape, dtype=dtype))], lambda x: (reference() + x).astype(dtype), model=model)


def drawn(suite):
    def state(seed):
        return numpy.random.RandomState(seed)
    plus(suite, "RandomUniform", lambda: state(7).uniform(-2, 5, (3, 4)), dict(seed=7.0, shape=[3, 4], low=-2.0, high=5.0))
    plus(suite, "RandomNormal", lambda: 1.5 + 0.5 * state(0).standard_normal((3, 5)), dict(seed=0.0, shape=[3, 5], mean=1.5, scale=0.5, dtype=11),
         shape=(3, 5), dtype=F64)
    plus(suite, "RandomUniformLike", lambda: state(123).uniform(0, 1, (40, 20)), dict(seed=123.0), shape=(40, 20), like=True)
    plus(suite, "RandomNormalLike", lambda: state(5).standard_normal((2, 1)), dict(seed=5.0), shape=(2, 1), like=True)
    suite.add("Bernoulli", lambda random: [("x", random.uniform(0, 1, (50, 3)).astype(F32))],
              lambda x: (state(3).uniform(0, 1, x.shape).astype(F32) < x).astype(F32), version=15, seed=3.0)
    suite.add("Bernoulli", lambda random: [("x", random.uniform(0, 1, (9,)))], lambda x: state(3).uniform(0, 1, x.shape) < x, version=22, seed=3.0,
              dtype=9)

    def picked(x, samples=30):
        shares = numpy.exp(x.astype(float))
        sums = numpy.cumsum(shares / shares.sum(1, keepdims=True), 1)
        u = state(2).uniform(0, 1, (len(x), samples))
        return (sums[:, None, :-1] <= u[:, :, None]).sum(2).astype(numpy.int64)
    suite.add("Multinomial", lambda random: [("x", normal(random, 3, 5))], picked, seed=2.0, sample_size=30, dtype=7)
    suite.add("Multinomial", lambda random: [("x", normal(random, 2, 1))], lambda x: numpy.zeros((2, 4), numpy.int32), seed=2.0, sample_size=4)

    def dropped(x, r=0.5, t=True):
        kept = state(9).uniform(0, 1, x.shape) >= (r if t else 0)
        return (x * kept / (1 - (r if t else 0))).astype(F32), kept
    for constants in ((), ("r", "t"), ("t",)):
        suite.add("Dropout", lambda random: [("x", normal(random, 6, 7)), ("r", numpy.array(0.25, F32)), ("t", numpy.array(True))], dropped,
                  constants=constants, version=13, seed=9, outputs=("y", "mask"))
    suite.add("Dropout", lambda random: [("x", normal(random, 6, 7)), ("r", numpy.array(0.25, F32)), ("t", numpy.array(False))], dropped,
              version=22, seed=9, outputs=("y", "mask"))
    # what is written where a network drops nothing, in training, too
    suite.add("Dropout", lambda random: [("x", normal(random, 6, 7)), ("r", numpy.array(0, F32)), ("t", numpy.array(True))], dropped,
              constants=("r", "t"), version=13, outputs=("y", "mask"))

    def mel(bands, length, rate, low, high):
        step = (2595 * math.log10(1 + high / 700) - 2595 * math.log10(1 + low / 700)) / (bands + 2)
        edges = [int((length + 1) * 700 * (10 ** ((k * step + 2595 * math.log10(1 + low / 700)) / 2595) - 1) // rate) for k in range(bands + 2)]
        y = numpy.zeros((length // 2 + 1, bands))
        for b in range(bands):
            first, top, last = edges[b:b + 3]
            for j in range(first, last):
                y[j, b] = (j - first) / (top - first) if j < top else (last - j) / (last - top)
            y[top, b] = 1
        return y
    for bands, length, rate, low, high in ((8, 16, 8192, 0.0, 4096.0), (5, 33, 16000, 100.0, 7600.0)):
        fixed = [("a", numpy.array(bands, numpy.int64)), ("b", numpy.array(length, numpy.int64)), ("c", numpy.array(rate, numpy.int64)),
                 ("d", numpy.array(low, F32)), ("e", numpy.array(high, F32))]
        plus(suite, "MelWeightMatrix", lambda b=bands, n=length, r=rate, lo=low, hi=high: mel(b, n, r, lo, hi), {}, fixed, 17, (length // 2 + 1, bands))


def unstored(suite):
    """Constants with more elements than the compiler stores: they are made when the model runs, and some elements are taken."""
    def take(dtype, start, step, fill, k):
        rows, columns = 2003, 1511
        count = rows * columns
        kind = value_info("v", numpy.array(0, dtype)).type.tensor_type.elem_type
        fixed = {"start": numpy.array(start, dtype), "end": numpy.array(start + step * count, dtype), "step": numpy.array(step, dtype),
                 "shape": numpy.array([rows, columns], numpy.int64), "flat": numpy.array([-1], numpy.int64)}

        def model(inputs, outputs):
            nodes = [helper.make_node("Range", ["start", "end", "step"], ["r"]),
                     helper.make_node("ConstantOfShape", ["shape"], ["c"], value=helper.make_tensor("v", kind, [1], [fill])),
                     helper.make_node("EyeLike", ["c"], ["e"], k=k)]
            for name in "ce":
                nodes.append(helper.make_node("Reshape", [name, "flat"], [name + "1"]))
            for name, to in (("r", "y"), ("c1", "z"), ("e1", "w")):
                nodes.append(helper.make_node("Gather", [name, "i"], [to]))
            graph = helper.make_graph(nodes, "g", [value_info(n, a) for n, a in inputs], [value_info(n, a) for n, a in outputs],
                                           [numpy_helper.from_array(a, n) for n, a in fixed.items()])
            return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)])

        def make(random):
            row = random.integers(max(0, -k), 1000, 20)
            return [("i", numpy.concatenate([random.integers(0, count, 100), row * columns + row + k, [0, count - 1]]).astype(numpy.int64))]

        def reference(i):
            row, column = i // columns, i % columns
            return (start + step * i).astype(dtype), numpy.full(i.shape, fill, dtype), (column - row == k).astype(dtype)
        suite.add("Range", make, reference, model=model, outputs=("y", "z", "w"))
    take(F32, -7, 0.5, 2.5, 3)
    take("int32", 11, -3, -9, -40)
    take(numpy.int64, 1 << 40, 1 << 30, (1 << 50) + 1, 0)


PARTS = (unstored, grid_sample, regions, deform, others, grams, drawn)


def main():
    suite = Suite()
    for part in PARTS:
        part(suite)
    return suite.run(sys.argv[1], "--atol", "1e-6")  # sums in float32, some of which cancel


if __name__ == "__main__":
    sys.exit(main())
