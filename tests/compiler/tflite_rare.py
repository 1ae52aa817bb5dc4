#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# TensorFlow Lite's rarer arithmetic, and places that the run works out: slices and updates at them, one-hot numbers
# below 0, lengths by Newton's steps, products of integers, 16-bit layers with 32-bit sums, transposed volumes.
# References are written out from the kernels' rules; with VTAC_TFLITE the library judges as well (tflite_ops.py).
#
# usage: tflite_rare.py VTAC   (exit status 77: no numpy)
import os
import struct
import subprocess
import sys
import tempfile

try:
    import numpy
    import word_seed
    from tflite_bench import F32, Bench, factor, fraction, inverse_root, stored
    from tflite_file import Model, flexbuffer
except ImportError:
    sys.exit(77)


def constant(m, values, kind="int32"):
    values = numpy.array(values, kind)
    return m.tensor(kind, values.shape, data=values)


# ---- places

def begins(b, shape, size):
    """A SLICE whose begin is an input."""
    m = Model()
    x, at, y = m.tensor("float32", shape), m.tensor("int32", (len(shape),)), m.tensor("float32", size)
    m.op(65, [x, at, constant(m, size)], [y], {}, 48)

    def draw():
        return [b.numbers("float32", shape), numpy.array([b.random.integers(0, d - s + 1) for d, s in zip(shape, size)], "int32")]
    b.check_many("slice from a place of the run", m, [x, at], [draw() for _ in range(2)], [y],
                 lambda v, p: [v[tuple(slice(i, i + s) for i, s in zip(p, size))]])


def row(b):
    """x[:, i, 1:3], as Keras writes it: begin is packed from 0, i and 1."""
    m = Model()
    x, i = m.tensor("float32", (2, 5, 4)), m.tensor("int32", ())
    begin, end, y = m.tensor("int32", (3,)), m.tensor("int32", (3,)), m.tensor("float32", (2, 2))
    m.op(83, [constant(m, 0), i, constant(m, 1)], [begin], {0: ("i", 3)}, 59)
    m.op(83, [constant(m, 0), i, constant(m, 3)], [end], {0: ("i", 3)}, 59)
    m.op(45, [x, begin, end, constant(m, [1, 1, 1])], [y], {0: ("i", 1), 1: ("i", 1), 4: ("i", 2)}, 32)
    given = [[b.numbers("float32", (2, 5, 4)), numpy.array(n, "int32")] for n in (3, -2)]
    engine, b.engine = b.engine, None  # it cannot know the size of the end that goes
    b.check_many("a row of the run", m, [x, i], given, [y], lambda v, n: [v[:, int(n), 1:3]])
    b.engine = engine


def update(b, shape, part):
    m = Model()
    x, p, at, y = m.tensor("float32", shape), m.tensor("float32", part), m.tensor("int32", (len(shape),)), m.tensor("float32", shape)
    m.op(151, [x, p, at], [y], {}, 117)

    def put(v, w, place):
        v = v.copy()
        first = [min(max(int(i), 0), d - s) for i, d, s in zip(place, shape, part)]
        v[tuple(slice(i, i + s) for i, s in zip(first, part))] = w
        return [v]

    def draw():
        return [b.numbers("float32", shape), b.numbers("float32", part), b.random.integers(-2, 7, len(shape)).astype("int32")]
    b.check_many("update at a place of the run", m, [x, p, at], [draw() for _ in range(3)], [y], put)


def one_hot(b, axis):
    m = Model()
    x = m.tensor("int32", (3, 4))
    y = m.tensor("float32", (3, 4, 5) if axis == -1 else (5, 3, 4))
    m.op(85, [x, constant(m, 5), constant(m, 2.5, "float32"), constant(m, -1.0, "float32")], [y], {0: ("i", axis)}, 61)

    def reference(v):
        hot = numpy.where(v[..., None] == numpy.arange(5), 2.5, -1.0).astype(F32)
        return hot if axis == -1 else numpy.moveaxis(hot, -1, 0)
    b.check("one hot on axis %d" % axis, m, x, [b.random.integers(-3, 8, (3, 4)).astype("int32") for _ in range(2)], y, reference)


def least(b):
    m = Model()
    x, y = m.tensor("int64", (3, 4)), m.tensor("int64", (3,))
    m.op(89, [x, constant(m, [1])], [y], {0: ("?", False)}, 27)
    b.check("least of 64 bits", m, x, [b.random.integers(-2 ** 62, 2 ** 62, (3, 4)) for _ in range(2)], y, lambda v: v.min(1))


# ---- lengths: a product of fractions of 2^31 rounds halves up

def shifted(v, right):
    half = 1 << right >> 1
    return (v + half) >> right if v >= 0 else -((-v + half) >> right)


def length(b, kind, shape, zero):
    m = Model()
    x = m.tensor(kind, shape, 0.02, zero)
    y = m.tensor(kind, shape, 1 / 128, 128 if kind == "uint8" else 0)
    m.op(11, [x], [y], {}, 12)

    def reference(v):
        v = v.astype(int).reshape(-1, shape[-1]) - zero
        out = []
        for line in v.tolist():
            mantissa, right = inverse_root(sum(a * a for a in line))
            left = 7 if kind == "uint8" else max(7 - right, 0)
            right = right if kind == "uint8" else max(right - 7, 0)
            out.append([shifted(fraction(a << left, mantissa), right) for a in line])
        return stored(out, kind, 128 if kind == "uint8" else 0).reshape(shape)
    given = [b.numbers(kind, shape) for _ in range(2)]
    given[1].reshape(-1, shape[-1])[0] = zero  # a row of nothing
    given[1].reshape(-1, shape[-1])[0, 0] = zero + 1
    b.check("length of %s %s" % (kind, shape), m, x, given, y, reference)


# ---- products and sums

def once(v, real):
    """64 bits by the mantissa's upper 16, one rounding."""
    mantissa, exponent = factor(real)
    short = (mantissa + (1 << 15)) >> 16 if mantissa < 0x7fff0000 else 0x7fff
    by = 15 - exponent
    return (v * short + (1 << (by - 1))) >> by


def product(b, kind, shape, axes, keep):
    sx, sy, zx, zy = 0.03, 0.045, (5 if kind == "int8" else 0), (-7 if kind == "int8" else 0)
    count = int(numpy.prod([shape[a] for a in axes]))
    real = float(F32(sx)) / float(F32(sy)) ** (1.0 / count)
    out = [1 if i in axes else d for i, d in enumerate(shape) if keep or i not in axes]
    m = Model()
    x, y = m.tensor(kind, shape, sx, zx), m.tensor(kind, out, sy, zy)
    m.op(81, [x, constant(m, axes)], [y], {0: ("?", keep)}, 27)

    def reference(v):
        order = [i for i in range(len(shape)) if i not in axes] + list(axes)
        rows = v.astype(int).transpose(order).reshape(-1, count) - zx
        results = []
        for line in rows.tolist():
            p = line[0]
            for n in line[1:]:
                p = once(p * n, real)
            results.append(once(p, real))
        return stored(results, kind, zy).reshape(out)
    low = 40 if kind == "int8" else 50
    b.check("product of %s %s" % (kind, axes), m, x, [b.random.integers(-low, low, shape).astype(kind) for _ in range(2)], y, reference)


def words(b, code, bias, outputs):
    """16 bits by 8: sums of 32 bits, and those of a dense layer without a bias, have all of the mantissa and one rounding."""
    sx, sy = 0.02, 0.19
    scales = b.random.uniform(0.002, 0.02, outputs if code == 3 else 1).astype(F32)
    w = b.random.integers(-127, 128, (outputs, 1, 1, 9) if code == 3 else (outputs, 9)).astype("int8")
    shape = (1, 5, 6, 9) if code == 3 else (30, 9)
    biases = b.random.integers(-20000, 20000, outputs)
    m = Model()
    x = m.tensor("int16", shape, sx)
    y = m.tensor("int16", shape[:-1] + (outputs,), sy)
    given = [x, m.tensor("int8", w.shape, scales, 0, 0, w)]
    if bias:
        given.append(m.tensor("int32", (outputs,), scales * F32(sx), 0, 0, biases))
    m.op(code, given, [y], {1: ("i", 1), 2: ("i", 1)} if code == 3 else {0: ("b", 0)}, 1 if code == 3 else 8, 4)

    def reference(v):
        sums = v.astype(int) @ w.reshape(outputs, 9).astype(int).T + (biases if bias else 0)
        out = numpy.empty(sums.shape, int)
        for i in range(outputs):
            s = scales[i % len(scales)]
            real = float(F32(sx)) * float(s) / float(F32(sy)) if code == 3 else float(F32(sx) * s) / float(F32(sy))
            mantissa, exponent = factor(real)
            out[..., i] = (sums[..., i] * mantissa + (1 << (30 - exponent))) >> (31 - exponent)
        return stored(out, "int16", 0)
    b.check("operator %d of 16 bits, bias %d" % (code, bias), m, x, [b.numbers("int16", shape) for _ in range(2)], y, reference)


def gelu(b, rough):
    m = Model()
    x, y = m.tensor("float32", (3, 50)), m.tensor("float32", (3, 50))
    m.op(150, [x], [y], {0: ("?", rough)}, 116)

    def reference(v):
        v = v.astype(float)
        error = numpy.vectorize(__import__("math").erf)(v / 2 ** 0.5)
        return (0.5 * v * (1 + (numpy.tanh((2 / numpy.pi) ** 0.5 * (v + 0.044715 * v ** 3)) if rough else error))).astype(F32)
    b.check("gelu %d" % rough, m, x, [b.numbers("float32", (3, 50)) * 2 for _ in range(2)], y, reference)


def volume(b, same, stride):
    shape, kernel = (1, 3, 4, 2, 3), (2, 3, 1, 4, 3)
    w = b.numbers("float32", kernel)
    out = [n * stride if same else (n - 1) * stride + k for n, k in zip(shape[1:4], kernel)]
    m = Model()
    x, y = m.tensor("float32", shape), m.tensor("float32", [1] + out + [4])
    m.op(141, [constant(m, [1] + out + [4]), m.tensor("float32", kernel, data=w), x], [y],
         {0: ("b", 0 if same else 1), 1: ("i", stride), 2: ("i", stride), 3: ("i", stride), 5: ("i", 1), 6: ("i", 1), 7: ("i", 1)}, 106)

    def reference(v):
        full = numpy.zeros([(n - 1) * stride + max(k, stride) for n, k in zip(shape[1:4], kernel)] + [4])
        for at in numpy.ndindex(*shape[1:4]):
            part = tuple(slice(i * stride, i * stride + k) for i, k in zip(at, kernel))
            full[part] += w.astype(float) @ v[(0, *at)].astype(float)
        cut = [max((n - 1) * stride + k - o, 0) // 2 if same else 0 for n, k, o in zip(shape[1:4], kernel, out)]
        return full[tuple(slice(c, c + o) for c, o in zip(cut, out))][None].astype(F32)
    b.check("transposed volume %d %d" % (same, stride), m, x, [b.numbers("float32", shape) for _ in range(2)], y, reference)


# ---- sound: TensorFlow Lite's own custom operators

def spectrum_of(v, window, stride, squared):
    """Windows of samples [n][channels], weighted by Hann's curve, and how strong each frequency is in them."""
    length = 1 << (window - 1).bit_length()
    weight = 0.5 - 0.5 * numpy.cos(2 * numpy.pi * numpy.arange(window) / window)
    frames = [[channel[i:i + window] * weight for i in range(0, len(v) - window + 1, stride)] for channel in v.T.astype(float)]
    power = numpy.abs(numpy.fft.rfft(frames, length)) ** 2
    return (power if squared else numpy.sqrt(power)).astype(F32)


def coefficients(spectrum, rate, low, high, bands, wanted):
    """Triangles between `bands` + 2 places that are as far apart for an ear; the logarithms' cosines."""
    def mel(f):
        return 1127 * numpy.log1p(f / 700)
    n = spectrum.shape[-1]
    step = rate / 2 / (n - 1)
    edges = mel(low) + (mel(high) - mel(low)) / (bands + 1) * numpy.arange(bands + 2)
    weights = numpy.zeros((n, bands))
    for i in range(int(1.5 + low / step), min(int(high / step), n - 1) + 1):
        at = mel(i * step)
        k = int((edges[1:bands + 1] < at).sum())  # the edge below
        share = (edges[k + 1] - at) / (edges[k + 1] - edges[k])
        if k > 0:
            weights[i, k - 1] += share
        if k < bands:
            weights[i, k] += 1 - share
    loud = numpy.log(numpy.maximum(numpy.sqrt(spectrum.astype(float)) @ weights, 1e-12))
    cosines = numpy.sqrt(2 / bands) * numpy.cos(numpy.outer(numpy.arange(bands) + 0.5, numpy.arange(wanted)) * numpy.pi / bands)
    return (loud @ cosines).astype(F32)


def spectrogram(b, samples, channels, window, stride, squared):
    m = Model()
    frames, n = (samples - window) // stride + 1, (1 << (window - 1).bit_length()) // 2 + 1
    x, y = m.tensor("float32", (samples, channels)), m.tensor("float32", (channels, frames, n))
    m.op(32, [x], [y], custom="AudioSpectrogram", custom_options=flexbuffer({"window_size": window, "stride": stride, "magnitude_squared": int(squared)}))
    b.check("spectrogram of %d windows of %d" % (frames, window), m, x, [b.numbers("float32", (samples, channels)) for _ in range(2)], y,
            lambda v: spectrum_of(v, window, stride, squared))


def mfcc(b, shape, rates, low, high, bands, wanted):
    """The samples a second are an input, or (one rate) a constant."""
    m = Model()
    x, y = m.tensor("float32", shape), m.tensor("float32", shape[:2] + (wanted,))
    r = m.tensor("int32", (1,)) if len(rates) > 1 else constant(m, [rates[0]])
    options = {"upper_frequency_limit": float(high), "lower_frequency_limit": float(low), "filterbank_channel_count": bands, "dct_coefficient_count": wanted}
    m.op(32, [x, r], [y], custom="Mfcc", custom_options=flexbuffer(options))
    given = [[b.numbers("float32", shape) ** 2 * 10.0 ** b.random.integers(-3, 3)] + ([numpy.array([rate], "int32")] if len(rates) > 1 else [])
             for rate in (rates if len(rates) > 1 else rates * 2)]
    given = [[v[0].astype(F32)] + v[1:] for v in given]
    b.check_many("%d coefficients of %d bands" % (wanted, bands), m, [x, r][:len(given[0])], given, [y],
                 lambda v, rate=rates: [coefficients(v, int(rate[0]), int(low), high, bands, wanted)])


# ---- bits, segments, lists

def bits(b):
    m = Model()
    x, z = m.tensor("int16", (3, 5)), m.tensor("int16", (5,))
    y, w = m.tensor("int16", (3, 5)), m.tensor("int16", (3, 5))
    m.op(160, [x, z], [y], {}, 124)
    m.op(161, [x, z], [w], {}, 125)

    def draw():
        return [b.numbers("int16", (3, 5)), b.random.integers(-3, 19, 5).astype("int16")]
    b.check_many("bits", m, [x, z], [draw() for _ in range(2)], [y, w], lambda v, s: [v ^ s, v >> numpy.clip(s, 0, 15)])


def segments(b, kind, shape, at_shape, count):
    m = Model()
    x, at = m.tensor(kind, shape), m.tensor("int32", at_shape)
    ys = [m.tensor(kind, (count,) + shape[len(at_shape):]) for _ in range(4)]
    for y, code, options in zip(ys, (155, 153, 154, 157), (120, 118, 119, 121)):
        m.op(code, [x, at, constant(m, count)], [y], {}, options)
    limits = numpy.finfo(F32) if kind == "float32" else numpy.iinfo(kind)

    def reference(v, places):
        out = []
        for f, start in ((numpy.add, 0), (numpy.multiply, 1), (numpy.maximum, limits.min), (numpy.minimum, limits.max)):
            y = numpy.full((count,) + shape[len(at_shape):], start, kind)
            for i in numpy.ndindex(*at_shape):
                y[places[i]] = f(y[places[i]], v[i])
            out.append(y)
        return out

    def draw():
        values = b.random.integers(-4, 5, shape).astype(kind)
        return [values, b.random.integers(0, count, at_shape).astype("int32")]
    b.check_many("segments of %s %s" % (kind, shape), m, [x, at], [draw() for _ in range(2)], ys, reference)


def found(b):
    """What a table has for some keys; places of what is not 0 and what is there once, of a constant."""
    m = Model()
    keys, values = numpy.array([2, 5, 9, 11], "int32"), b.numbers("float32", (4, 3))
    x, y, hits = m.tensor("int32", (6,)), m.tensor("float32", (6, 3)), m.tensor("uint8", (6,))
    m.op(10, [x, constant(m, keys), constant(m, values, "float32")], [y, hits])
    mask, listed = b.random.integers(0, 2, (3, 4)), b.random.integers(0, 4, 7)
    there = numpy.argwhere(mask)
    places = m.tensor("int64", there.shape)
    m.op(109, [constant(m, mask, "bool")], [places], {}, 85)
    column, wanted = m.tensor("int64", (1, 2)), m.tensor("int32", (1, 2))
    m.op(74, [places, constant(m, [0])], [column], {0: ("?", True)}, 27)
    m.op(53, [column], [wanted], {}, 37)
    once = list(dict.fromkeys(listed.tolist()))
    single, which = m.tensor("int32", (len(once),)), m.tensor("int32", (7,))
    m.op(103, [constant(m, listed)], [single, which], {0: ("b", 2)}, 80)
    more, sums = m.tensor("int32", (6, 1)), m.tensor("int32", (6, 2))
    m.op(22, [x, constant(m, [6, 1])], [more])
    rows = m.tensor("int32", (6, len(once)))
    m.op(0, [more, single], [rows], {}, 11)
    m.op(0, [more, wanted], [sums], {}, 11)

    def reference(v):
        at = [numpy.flatnonzero(keys == k) for k in v]
        rows_found = numpy.array([values[a[0]] if len(a) else numpy.zeros(3) for a in at], F32)
        return [rows_found, numpy.array([len(a) for a in at], "uint8"), v[:, None] + numpy.array(once, "int32"), v[:, None] + there.sum(0).astype("int32")]
    b.check_many("what is found", m, [x], [[b.random.integers(0, 12, 6).astype("int32")] for _ in range(3)], [y, hits, rows, sums], reference)


def found_by_the_run(b, kind, shape, places):
    """Places of what is not 0 and what is there once, where only the run knows them, and what goes on with them."""
    m = Model()
    x, v, listed = m.tensor(kind, shape), m.tensor("float32", shape + (2,)), m.tensor("int32", (9,))
    where, rows = m.tensor("int64", (1, len(shape))), m.tensor("float32", (1, 2))
    total, most = m.tensor("float32", (2,)), m.tensor("int64", (1, len(shape)))
    m.op(109, [x], [where], {}, 85)
    m.op(107, [v, where], [rows], {}, 83)
    m.op(74, [rows, constant(m, [0])], [total], {0: ("?", False)}, 27)
    m.op(82, [where, constant(m, [0])], [most], {0: ("?", True)}, 27)
    twice, doubled = m.tensor("int32", (9,)), m.tensor("int64", (1, len(shape)))
    m.op(0, [listed, listed], [twice], {}, 11)
    single, which = m.tensor("int32", (1,)), m.tensor(places, (9,))
    m.op(103, [twice], [single, which], {0: ("b", 2 if places == "int32" else 4)}, 80)
    again, column = m.tensor("int32", (9,)), m.tensor("int32", (9, 1))
    if places == "int32":
        m.op(36, [single, which], [again], {0: ("i", 0)}, 23)
    else:
        m.op(39, [single, constant(m, [0])], [again], {}, 26)
    m.op(22, [again, constant(m, [-1, 1])], [column], {0: ("i", [-1, 1])}, 17)
    m.op(2, [where, most], [doubled], {0: ("i", 0), 1: ("b", 0)}, 10)
    flat, line = m.tensor("int32", (9,)), m.tensor("int32", (1, 9))
    m.op(43, [column], [flat], {0: ("i", [-1] if places == "int32" else [1])}, 30)
    m.op(70, [flat, constant(m, [-2])], [line], {}, 52)

    def reference(value, table, numbers):
        at, numbers = numpy.argwhere(value), 2 * numbers
        once = list(dict.fromkeys(numbers.tolist()))
        of = numpy.array([once.index(n) for n in numbers], places)
        picked = table[tuple(at.T)]
        greatest = at.max(0, keepdims=True)
        back = numbers if places == "int32" else numpy.array(once, "int32")
        return [at, picked, picked.astype(float).sum(0).astype(F32), numpy.array(once, "int32"), of, back.reshape(-1, 1), greatest,
                numpy.concatenate([at, greatest]), numbers, back.reshape(1, -1)]

    def draw(full):
        value = (b.random.integers(0, 2, shape) if kind != "float32" else b.numbers(kind, shape) * b.random.integers(0, 2, shape)).astype(kind)
        value.flat[3] = 1
        return [numpy.ones(shape, kind) if full else value, b.numbers("float32", shape + (2,)), b.random.integers(-3, 4, 9).astype("int32")]
    b.check_many("what the run finds, %s %s" % (kind, places), m, [x, v, listed], [draw(False), draw(True), draw(False)],
                 [where, rows, total, single, which, column, most, doubled, twice, line], reference)


def nothing_found(b):
    """A list may be empty. What has no instruction is refused with those that have one."""
    m = Model()
    x, where, rows, total = m.tensor("int8", (2, 3)), m.tensor("int64", (0, 2)), m.tensor("int8", (0,)), m.tensor("int64", (2,))
    m.op(109, [x], [where], {}, 85)
    m.op(107, [x, where], [rows], {}, 83)
    m.op(74, [where, constant(m, [0])], [total], {0: ("?", False)}, 27)
    b.check_many("nothing is found", m, [x], [[numpy.zeros((2, 3), "int8")], [numpy.eye(2, 3, dtype="int8")]], [where, rows, total],
                 lambda v: [numpy.argwhere(v), v[v != 0], numpy.argwhere(v).sum(0)])
    y = m.tensor("int64", (0, 2))
    m.op(0, [where, where], [y], {}, 11)
    path = os.path.join(b.work, "refused.tflite")
    with open(path, "wb") as f:
        f.write(m.write([x], [y]))
    done = subprocess.run([b.vtac, "compile", path, "-o", path + ".so"], capture_output=True, text=True)
    if done.returncode != 1 or "(ADD): how long its input is depends on the network's inputs" not in done.stderr or done.stderr.count("\n") != 1:
        sys.exit("a refusal: %d %s" % (done.returncode, done.stderr))


def same_bits(b, kind, other):
    """Bits as numbers of another type, of a matrix and of one number."""
    engine, b.engine = b.engine, None  # younger than the library
    for shape in ((3, 5), (), (1, 4, 2, 3)):
        m = Model()
        x, y = m.tensor(kind, shape), m.tensor(other, shape)
        m.op(159, [x], [y], {}, 123)

        def draw():
            values = numpy.array(b.numbers("float32", shape), F32)
            return values if kind == "float32" else values.astype(other).view(kind)
        b.check("bits of %s as %s" % (kind, other), m, x, [draw() for _ in range(2)], y, lambda v: v.view(other))
    b.engine = engine


# ---- random numbers: Philox 4x32-10, whose counter and key are the seeds

def philox(seed, more, count):
    """Rows of four words."""
    key, counter = [seed & 0xffffffff, seed >> 32], [0, 0, more & 0xffffffff, more >> 32]
    rows = []
    for i in range((count + 3) // 4):
        w, k = [(counter[0] + i) & 0xffffffff] + counter[1:], list(key)
        for _ in range(10):
            first, second = w[0] * 0xD2511F53, w[2] * 0xCD9E8D57
            w = [second >> 32 ^ w[1] ^ k[0], second & 0xffffffff, first >> 32 ^ w[3] ^ k[1], first & 0xffffffff]
            k = [(k[0] + 0x9E3779B9) & 0xffffffff, (k[1] + 0xBB67AE85) & 0xffffffff]
        rows.append(w)
    return numpy.array(rows, numpy.uint64).reshape(-1, 4)


def drawn(b, code, shape, seeds):
    """Their sum with an input, since a model has one."""
    m = Model()
    x, r, y = m.tensor("float32", shape), m.tensor("float32", shape), m.tensor("float32", shape)
    m.op(code, [constant(m, shape)], [r], {0: ("q", seeds[0]), 1: ("q", seeds[1])}, 114)
    m.op(0, [x, r], [y], {}, 11)
    count = int(numpy.prod(shape))
    even = (philox(*seeds, count) % (1 << 23)).astype(float) / 2 ** 23
    if code == 146:
        radius = numpy.sqrt(-2 * numpy.log(numpy.maximum(even[:, ::2], 1e-7)))
        angle = 2 * numpy.pi * even[:, 1::2]
        even = numpy.stack([numpy.sin(angle) * radius, numpy.cos(angle) * radius], 2)
    numbers = even.flatten()[:count].reshape(shape)
    engine = b.engine
    b.engine = engine if max(seeds) < 2 ** 31 else None  # TensorFlow Lite 2.9 has 32 bits of a seed, later ones all
    b.check("random numbers %d %s" % (code, shape), m, x, [b.numbers("float32", shape) for _ in range(2)], y, lambda v: (v + numbers).astype(F32))
    b.engine = engine


def multinomial(b, batch, classes, samples, kind, seeds):
    m = Model()
    x, y = m.tensor("float32", (batch, classes)), m.tensor(kind, (batch, samples))
    m.op(149, [x, constant(m, samples)], [y], {0: ("q", seeds[0]), 1: ("q", seeds[1])}, 114)

    def reference(v):
        words = philox(*seeds, 2 * batch * samples).reshape(-1, 2)
        places = ((words[:, 0] % (1 << 20)).astype(float) * 2 ** 32 + words[:, 1]) / 2 ** 52
        v = v.astype(float)
        weights = numpy.where(numpy.isfinite(v), numpy.exp(v - numpy.where(numpy.isfinite(v), v, -numpy.inf).max(1, keepdims=True)), 0)
        sums = weights.cumsum(1)
        return numpy.array([[numpy.searchsorted(sums[i], places[i * samples + k] * sums[i, -1], "right") for k in range(samples)]
                            for i in range(batch)], kind)
    given = [b.numbers("float32", (batch, classes)) * 3 for _ in range(2)]
    if classes > 2:
        given[1][0, 1] = -numpy.inf
    b.check("%d samples of %d classes" % (samples, classes), m, x, given, y, reference)


# ---- windows

def windows(b, kind, function, shape, size, stride, apart):
    f = (None, numpy.add, numpy.multiply, numpy.minimum, numpy.maximum, numpy.logical_and, numpy.logical_or)[function]
    start = b.random.integers(-3, 4)
    out = [(n - (s - 1) * d - 1) // t + 1 for n, s, t, d in zip(shape, size, stride, apart)]
    m = Model()
    x, y = m.tensor(kind, shape), m.tensor(kind, out)
    m.op(205, [x, constant(m, start, kind)] + [constant(m, v, "int64") for v in (size, stride, apart)], [y])
    m.ops[-1].update({11: ("B", 20), 12: {0: ("i", function)}})  # BuiltinOptions2

    def reference(v):
        y = numpy.empty(out, kind)
        for at in numpy.ndindex(*out):
            total = numpy.array(start, kind)
            for k in numpy.ndindex(*size):
                total = f(total, v[tuple(i * t + j * d for i, t, j, d in zip(at, stride, k, apart))]).astype(kind)
            y[at] = total
        return y
    engine, b.engine = b.engine, None  # younger than the library
    draw = lambda: (b.random.integers(-3, 4, shape) if kind != "float32" else b.numbers(kind, shape)).astype(kind)
    b.check("windows %d of %s %s" % (function, kind, shape), m, x, [draw() for _ in range(2)], y, reference)
    b.engine = engine


def dilate(b, kind, shape, apart):
    out = [(n - 1) * d + 1 for n, d in zip(shape, apart)]
    m = Model()
    x, y = m.tensor(kind, shape), m.tensor(kind, out)
    m.op(203, [x, constant(m, apart), constant(m, 7, kind)], [y])

    def reference(v):
        y = numpy.full(out, 7, kind)
        y[tuple(slice(None, None, d) for d in apart)] = v
        return y
    engine, b.engine = b.engine, None
    b.check("dilated %s %s" % (kind, shape), m, x, [(b.numbers("float32", shape) * 9).astype(kind) for _ in range(2)], y, reference)
    b.engine = engine


# ---- MediaPipe's custom operators, all of floats

def words_of(*values):
    return struct.pack("<%di" % len(values), *values)


def transposed_bias(b, shape, outputs, kernel, stride, same):
    w, bias = b.numbers("float32", (outputs, *kernel, shape[3])), b.numbers("float32", (outputs,))
    cut = [max(0, k - (n - 1) % s - 1) if same else 0 for n, k, s in zip(shape[1:3], kernel, stride)]
    size = [(n - 1) * s + k - c for n, k, s, c in zip(shape[1:3], kernel, stride, cut)]
    m = Model()
    x, y = m.tensor("float32", shape), m.tensor("float32", (shape[0], *size, outputs))
    constants = [constant(m, v, "float32") for v in (w, bias)]
    m.op(32, [x] + constants, [y], custom="Convolution2DTransposeBias", custom_options=words_of(1 if same else 2, stride[1], stride[0]))

    def reference(v):
        full = numpy.zeros((shape[0], *[(n - 1) * s + k for n, k, s in zip(shape[1:3], kernel, stride)], outputs))
        for i, j in numpy.ndindex(*shape[1:3]):
            part = full[:, i * stride[0]:i * stride[0] + kernel[0], j * stride[1]:j * stride[1] + kernel[1]]
            part += numpy.einsum("nc,ohwc->nhwo", v[:, i, j].astype(float), w.astype(float))
        top, left = (c // 2 for c in cut)
        return (full[:, top:top + size[0], left:left + size[1]] + bias).astype(F32)
    b.check("transposed convolution with a bias, %s by %s" % (kernel, stride), m, x, [b.numbers("float32", shape) for _ in range(2)], y, reference)


def largest(b, shape, kernel, stride, same, activation, back):
    """The largest of each window and where it was; `back` puts the numbers there again."""
    out = [-(-n // s) if same else (n - k + s) // s for n, k, s in zip(shape[1:3], kernel, stride)]
    before = [max(0, ((o - 1) * s + k - n) // 2) for o, n, k, s in zip(out, shape[1:3], kernel, stride)]
    m = Model()
    x = m.tensor("float32", shape)
    ys = [m.tensor("float32", (shape[0], *out, shape[3])) for _ in range(2)]
    options = words_of(1 if same else 2, stride[1], stride[0], kernel[1], kernel[0], activation) + bytes(16)
    m.op(32, [x], ys, custom="MaxPoolingWithArgmax2D", custom_options=options)
    wide = [o * k for o, k in zip(out, kernel)]
    after = [max(0, ((o - 1) * s + k - n) // 2) for o, n, k, s in zip(out, wide, kernel, stride)]
    if back:
        ys.append(m.tensor("float32", (shape[0], *wide, shape[3])))
        m.op(32, ys[:2], [ys[2]], custom="MaxUnpooling2D", custom_options=options)

    def reference(v):
        most, at = numpy.zeros((2, shape[0], *out, shape[3]), F32)
        again = numpy.zeros((shape[0], *wide, shape[3]), F32)
        for n, i, j, c in numpy.ndindex(*most.shape):
            rows = [(i * stride[0] - before[0] + p, j * stride[1] - before[1] + q, p * kernel[1] + q) for p, q in numpy.ndindex(*kernel)]
            best = max([(v[n, r, s, c], -k) for r, s, k in rows if 0 <= r < shape[1] and 0 <= s < shape[2]])
            most[n, i, j, c], at[n, i, j, c] = numpy.clip(best[0], *((0, 6) if activation == 3 else (-9e9, 9e9))), F32(-best[1]) + F32(0.1)
            r, s = i * stride[0] - after[0] + -best[1] // kernel[1], j * stride[1] - after[1] + -best[1] % kernel[1]
            if 0 <= r < wide[0] and 0 <= s < wide[1]:
                again[n, r, s, c] = most[n, i, j, c]
        return [most, at, again][:len(ys)]
    b.check_many("the largest and its place, %s by %s" % (kernel, stride), m, [x], [[b.numbers("float32", shape)] for _ in range(2)], ys, reference)


def landmarks(b, points, subset, size, scale, target):
    """The matrix around some landmarks, that matrix on points, and an image seen through it."""
    m = Model()
    x, p, image = m.tensor("float32", (1, points, 3)), m.tensor("float32", (1, 5, 2)), m.tensor("float32", (1, 9, 7, 3))
    ys = [m.tensor("float32", s) for s in ((1, 4, 4), (1, 5, 2), (1, points, 3), (1, size[1], size[0], 3))]
    options = {"left_rotation_idx": 1, "right_rotation_idx": points - 1, "output_width": size[0], "output_height": size[1],
               "scale_x": scale[0], "scale_y": scale[1], "target_rotation_radians": target, "subset_idxs": subset}
    m.op(32, [x], [ys[0]], version=2, custom="Landmarks2TransformMatrix", custom_options=flexbuffer(options))
    m.op(32, [p, ys[0]], [ys[1]], version=2, custom="TransformLandmarks")
    m.op(32, [x, ys[0]], [ys[2]], version=2, custom="TransformLandmarks")
    m.op(32, [image, ys[0]], [ys[3]], version=2, custom="TransformTensorBilinear",
         custom_options=flexbuffer({"output_width": size[0], "output_height": size[1]}))

    def reference(v, some, picture):
        marks = v[0].astype(float)
        way = marks[points - 1] - marks[1]
        r = target - numpy.arctan2(way[1], way[0])
        turn = numpy.array([[numpy.cos(r), -numpy.sin(r)], [numpy.sin(r), numpy.cos(r)]])
        upright = marks[subset, :2] @ turn.T
        low, high = upright.min(0), upright.max(0)
        matrix = numpy.eye(4)
        matrix[:2, :2] = turn.T @ numpy.diag((high - low) * scale / size)
        matrix[:2, 3] = turn.T @ ((low + high) / 2) - matrix[:2, :2] @ numpy.array(size) / 2
        seen = numpy.zeros((size[1], size[0], 3))
        for i, j in numpy.ndindex(size[1], size[0]):
            q, p = matrix[:2, :2] @ (j + 0.5, i + 0.5) + matrix[:2, 3] - 0.5
            if 0 <= q <= 6 and 0 <= p <= 8:
                a, c = int(p), int(q)
                near = [[picture[0, min(a + s, 8), min(c + t, 6)].astype(float) for t in (0, 1)] for s in (0, 1)]
                rows = [n[0] * (1 - q + c) + n[1] * (q - c) for n in near]
                seen[i, j] = rows[0] * (1 - p + a) + rows[1] * (p - a)
        moved = [numpy.array(w[0, :, :2] @ matrix[:2, :2].T + matrix[:2, 3]) for w in (some, v)]
        return [k.astype(F32) for k in (matrix[None], moved[0][None], numpy.concatenate([moved[1], v[0, :, 2:]], 1)[None], seen[None])]
    given = [[b.numbers("float32", (1, points, 3)) * F32(2) + F32(4), b.numbers("float32", (1, 5, 2)), b.numbers("float32", (1, 9, 7, 3))] for _ in range(2)]
    b.check_many("a matrix around %d landmarks" % len(subset), m, [x, p, image], given, ys, reference)


def main():
    seed = word_seed.told()
    with tempfile.TemporaryDirectory() as work:
        b = Bench(sys.argv[1], work, seed)
        begins(b, (4, 5), (2, 3))
        begins(b, (3, 4, 5), (1, 4, 2))
        row(b)
        update(b, (4, 5), (2, 3))
        update(b, (1, 6, 4), (1, 1, 4))
        one_hot(b, -1)
        one_hot(b, 0)
        least(b)
        for kind, zero in (("int8", 3), ("uint8", 121)):
            length(b, kind, (4, 7), zero)
            length(b, kind, (2, 3, 100), zero)
        length(b, "int8", (1, 33000), -128)
        product(b, "int8", (2, 3, 4), (1,), False)
        product(b, "int8", (1, 3, 2, 5), (1, 2), True)
        product(b, "int16", (4, 2), (1,), False)
        for bias in (False, True):
            words(b, 9, bias, 40)
        words(b, 3, True, 30)
        gelu(b, False)
        gelu(b, True)
        for same in (True, False):
            for stride in (1, 2):
                volume(b, same, stride)
        spectrogram(b, 500, 1, 100, 40, True)
        spectrogram(b, 64, 2, 32, 32, False)
        mfcc(b, (1, 4, 129), [16000], 20, 4000, 40, 13)
        mfcc(b, (2, 3, 65), [8000, 16000], 100.5, 3900, 12, 12)
        transposed_bias(b, (1, 4, 5, 3), 2, (2, 2), (2, 2), True)
        transposed_bias(b, (2, 5, 3, 4), 3, (5, 4), (2, 3), True)
        transposed_bias(b, (1, 3, 4, 2), 1, (3, 2), (1, 2), False)
        largest(b, (1, 6, 8, 3), (2, 2), (2, 2), True, 0, True)
        largest(b, (2, 7, 5, 2), (3, 2), (2, 1), True, 3, True)
        largest(b, (1, 7, 7, 2), (2, 3), (3, 2), False, 0, False)
        landmarks(b, 12, [3, 4, 0, 7, 9], (6, 4), (1.5, 1.25), 0.0)
        landmarks(b, 4, [0, 1, 2, 3], (3, 5), (2.0, 0.5), 0.7)
        bits(b)
        segments(b, "float32", (5, 3), (5,), 4)
        segments(b, "int32", (2, 3, 2), (2, 3), 7)
        found(b)
        for kind, places in (("bool", "int32"), ("float32", "int64"), ("int32", "int32")):
            found_by_the_run(b, kind, (3, 4), places)
        found_by_the_run(b, "bool", (6,), "int32")
        nothing_found(b)
        same_bits(b, "float32", "int32")
        same_bits(b, "int32", "float32")
        same_bits(b, "int16", "float16")
        for seeds in ((7, 0), (2 ** 40 + 3, 2 ** 35 + 9)):
            drawn(b, 148, (3, 5), seeds)
            drawn(b, 146, (1, 2, 3, 3), seeds)
        multinomial(b, 3, 6, 5, "int64", (5, 11))
        multinomial(b, 1, 1, 4, "int32", (0, 2))
        for kind, function in (("float32", 1), ("int32", 2), ("int8", 3), ("uint8", 4), ("int32", 5), ("int16", 6), ("int64", 1)):
            windows(b, kind, function, (6, 7), (2, 3), (2, 1), (1, 2))
        windows(b, "float32", 4, (1, 8, 9, 3), (1, 3, 3, 1), (1, 2, 2, 1), (1, 1, 1, 1))
        windows(b, "float32", 1, (5,), (5,), (1,), (1,))
        dilate(b, "float32", (2, 3), (2, 3))
        dilate(b, "int8", (1, 3, 2, 4), (5, 2, 3, 1))
        dilate(b, "int32", (4,), (1,))
        print("%d models, %d results judged by TensorFlow Lite" % (b.count, b.judged))


main()
