#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Integers of TensorFlow Lite at the ends of their range: means of millions of values behind a squared difference, scales
# that lie so far apart that 32 bits or a float32 do not hold the quotient, zero points at either end, floats beyond what a
# byte holds. Each model is compiled with fused kernels, with a kernel for each node and for vectors of two widths; all
# have the integers of a reference in whole numbers and, where TensorFlow Lite's rule is in float32, in those. Sums of floats
# beside weights of bytes have the engine's order, to the last bit, for what follows quantizes them.
#
# usage: tflite_ends.py VTAC   (exit status 77: no numpy)
import glob
import os
import platform
import sys
import tempfile

try:
    import numpy
    import word_seed
    from tflite_bench import F32, RANGE, Bench, factor, rounded, stored
    from tflite_file import Model
except ImportError:
    sys.exit(77)

ZEROS = (-128, -120, -3, 0, 5, 127)
WAYS = [[], ["--disable-pass", "fuse"], ["-O", "0"]]
WIDTHS = [["--host", "x86-64-v2"], ["--host", "x86-64-v3"]] if platform.machine() == "x86_64" else [["--host", "host"]]


def scaled_all(v, real):
    """A number of 32 bits by a factor, twice rounded, as the engine has it."""
    mantissa, exponent = factor(real)
    v = v.astype(numpy.int64) << max(exponent, 0)
    p = (((v + 2 ** 31) % 2 ** 32 - 2 ** 31) * mantissa + (1 << 30)) >> 31
    half = (1 << max(-exponent, 0)) >> 1
    return numpy.where(p >= 0, (p + half) >> max(-exponent, 0), -((-p + half) >> max(-exponent, 0)))


def mean_of(v, axes, q, to, kind):
    """In float32, by the engine's fmin and fmax."""
    count = numpy.prod([v.shape[a] for a in axes])
    with numpy.errstate(over="ignore", invalid="ignore"):
        scale = F32(q[0]) / F32(to[0])
        y = v.astype(numpy.int64).sum(axes, keepdims=True).astype(F32) / F32(count) * scale + F32(-q[1]) * scale
    y = rounded(y.astype(float)) + to[1]
    return numpy.fmax(numpy.fmin(y, RANGE[kind][1]), RANGE[kind][0]).astype(kind)


def check(b, what, m, xs, y, given, wanted):
    path, so, out = (os.path.join(b.work, n) for n in ("ends.tflite", "ends.so", "out"))
    with open(path, "wb") as f:
        f.write(m.write(xs, [y]))
    for way in WAYS + WIDTHS:
        b.run(b.vtac, "compile", path, "--target", "llvm", "-o", so, *way)
        for v in given:
            numpy.save(os.path.join(b.work, "in.npy"), v)
            b.run(b.vtac, "run", so, "--input", os.path.join(b.work, "in.npy"), "--output-dir", out)
            (found,) = glob.glob(out + "/*.npy")
            b.compare("%s, %s" % (what, " ".join(way)), numpy.load(found), wanted(v), "the reference")
            os.remove(found)
    b.count += 1


def variance(b, shape, axes, far):
    """The variance of a normalization. `far`: scales that no quotient of 32 bits joins."""
    draw = b.random.uniform
    scale = [float(F32(10 ** draw(*ends))) for ends in ((-2, -1), (-2, -1), (-4, 0), (-45, -10) if far else (-6, 0))]
    x, mu, square, y = [(s, int(b.random.choice(ZEROS))) for s in scale]
    short = tuple(1 if a in axes else d for a, d in enumerate(shape))
    m = Model()
    tensors = [m.tensor("int8", s, *q) for s, q in ((shape, x), (short, mu), (shape, square), (short, y))]
    ax = m.tensor("int32", (len(axes),), data=list(axes))
    m.op(40, [tensors[0], ax], [tensors[1]], {0: ("?", 1)}, 27, 2)
    m.op(99, [tensors[0], tensors[1]], [tensors[2]], {}, 76)
    m.op(40, [tensors[2], ax], [tensors[3]], {0: ("?", 1)}, 27, 2)

    def reference(v):
        mean = mean_of(v, axes, x, mu, "int8")
        twice = 2 * float(max(F32(x[0]), F32(mu[0])))
        one = lambda n, q: scaled_all((n.astype(int) - q[1]) << 7, float(F32(q[0])) / twice)
        d = one(v, x) - one(mean, mu)
        return mean_of(stored(scaled_all(d * d, twice * twice / (2 ** 14 * float(F32(square[0])))), "int8", square[1]), axes, square, y, "int8")
    given = [b.numbers("int8", shape), b.random.integers(90, 128, shape).astype("int8")]
    check(b, "variance over %s of %s, scales %s, zeros %s" % (axes, shape, scale, [q[1] for q in (x, mu, square, y)]), m, tensors[:1], tensors[3], given, reference)


def quantize(b, zero):
    """Floats far beyond what a byte holds."""
    m = Model()
    x, y = m.tensor("float32", (3, 41)), m.tensor("int8", (3, 41), 0.01, zero)
    m.op(114, [x], [y], {}, 89)
    given = [(b.numbers("float32", (3, 41)) * F32(10 ** p)).astype(F32) for p in (0, 6, 7, 9, 30)]
    check(b, "quantize to zero point %d" % zero, m, [x], y, given, lambda v: stored(rounded(v.astype(float) / float(F32(0.01))), "int8", zero))


def extreme(b, code, kind):
    q = b.scale(kind)
    shape = (2, 3, 70001)
    m = Model()
    x, y = m.tensor(kind, shape, **q), m.tensor(kind, shape[:2], **q)
    m.op(code, [x, m.tensor("int32", (1,), data=[2])], [y], {0: ("?", 0)}, 27)
    given = [b.numbers(kind, shape), numpy.full(shape, RANGE[kind][code == 89], kind)]
    check(b, "operator %d of %s" % (code, kind), m, [x], y, given, lambda v: (v.max(2) if code == 82 else v.min(2)))


def pool(b, kind, size):
    q = b.scale(kind)
    m = Model()
    x, y = m.tensor(kind, (1, size, size, 3), **q), m.tensor(kind, (1, 1, 1, 3), **q)
    m.op(1, [x], [y], {0: ("b", 1), 1: ("i", 1), 2: ("i", 1), 3: ("i", size), 4: ("i", size)}, 5)
    given = [b.numbers(kind, (1, size, size, 3)), numpy.full((1, size, size, 3), RANGE[kind][1], kind)]
    check(b, "average pool of %s, %d" % (kind, size), m, [x], y, given,
          lambda v: stored(rounded(v.astype(int).sum((1, 2), keepdims=True) / size ** 2), kind, 0))


def in_order(v, axes):
    """The mean of floats, added one after the other in the order of the axes."""
    kept = [a for a in range(v.ndim) if a not in axes]
    rows = v.transpose(kept + list(axes)).reshape([v.shape[a] for a in kept] + [-1])
    sums = numpy.add.accumulate(rows, axis=-1, dtype=F32)[..., -1]
    return (sums / F32(rows.shape[-1])).reshape([1 if a in axes else d for a, d in enumerate(v.shape)])


def mixed(b, shape, axes, depth):
    """Convolutions of floats by bytes with a normalization behind each. The mean of the input is the first output."""
    channels = shape[-1]
    short = tuple(1 if a in axes else d for a, d in enumerate(shape))
    m = Model()
    tensor = lambda s: m.tensor("float32", s)
    start = x = tensor(shape)
    ax = m.tensor("int32", (len(axes),), data=list(axes))
    first = tensor(short)
    m.op(40, [x, ax], [first], {0: ("?", 1)}, 27)
    for _ in range(depth):
        weights = m.tensor("int8", (channels, 1, 1, channels), b.random.uniform(0.002, 0.01, channels).astype(F32), 0, 0,
                           b.random.integers(-127, 128, (channels, 1, 1, channels)))
        bias = m.tensor("float32", (channels,), data=b.numbers("float32", (channels,)))
        y, mean, square, spread, safe, root, around, z = (tensor(s) for s in (shape, short, shape, short, short, short, shape, shape))
        m.op(3, [x, weights, bias], [y], {0: ("b", 0), 1: ("i", 1), 2: ("i", 1)}, 1, 3)
        m.op(40, [y, ax], [mean], {0: ("?", 1)}, 27)
        m.op(99, [y, mean], [square], {}, 76)
        m.op(40, [square, ax], [spread], {0: ("?", 1)}, 27)
        m.op(0, [spread, m.tensor("float32", (), data=1e-3)], [safe], {0: ("b", 0)}, 11)
        m.op(76, [safe], [root])
        m.op(41, [y, mean], [around], {0: ("b", 0)}, 28)
        m.op(18, [around, root], [z], {0: ("b", 1)}, 21)
        x = z
    path, so, out = (os.path.join(b.work, n) for n in ("mixed.tflite", "mixed.so", "out"))
    with open(path, "wb") as f:
        f.write(m.write([start], [first, x]))
    for v in [b.numbers("float32", shape) for _ in range(2)]:
        numpy.save(os.path.join(b.work, "in.npy"), v)
        results = []
        for way in [["-O", "0"], []] + WAYS[1:2] + WIDTHS:
            b.run(b.vtac, "compile", path, "--target", "llvm", "-o", so, *way)
            b.run(b.vtac, "run", so, "--input", os.path.join(b.work, "in.npy"), "--output-dir", out)
            names = [os.path.join(out, m.tensors[i][3] + ".npy") for i in (first, x)]
            results.append([numpy.load(n).tobytes() for n in names])
            for name in names:
                os.remove(name)
            if results[-1][0] != in_order(v, axes).tobytes():
                sys.exit("mean over %s of %s, %s: another order of its sum" % (axes, shape, way))
            if results[-1] != results[0]:
                sys.exit("floats by bytes over %s of %s, %s: not the numbers of -O 0" % (axes, shape, way))
    b.count += 1


def main():
    seed = word_seed.told()
    with tempfile.TemporaryDirectory() as work:
        b = Bench(sys.argv[1], work, seed)
        for far in (False, True):
            variance(b, (1, 256, 256, 32), (1, 2, 3), far)
            for _ in range(3):
                variance(b, (1, 31, 33, 20), (1, 2, 3), far)
            variance(b, (2, 30, 20, 16), (1, 3), far)
            variance(b, (2, 30, 20, 17), (3,), far)
        mixed(b, (1, 24, 23, 16), (1, 2), 6)
        mixed(b, (1, 24, 23, 16), (1, 2, 3), 3)
        mixed(b, (2, 11, 9, 35), (3,), 3)
        for zero in ZEROS:
            quantize(b, zero)
        for kind in ("int8", "uint8"):
            extreme(b, 82, kind)
            extreme(b, 89, kind)
            pool(b, kind, 64)
        print("%d models" % b.count)


main()
