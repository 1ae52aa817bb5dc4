#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Operators of TensorFlow Lite that put numbers elsewhere: slices with all masks, places in batches, blocks of a
# sequence, parts of other scales, lists and diagonals; and division of bytes. Beside NumPy and, with VTAC_TFLITE, beside
# TensorFlow Lite itself (tflite_ops.py).
#
# usage: tflite_move.py VTAC   (exit status 77: no numpy)
import sys
import tempfile

try:
    import numpy
    import word_seed
    from tflite_bench import F32, Bench, rounded, scaled, stored
    from tflite_file import Model
except ImportError:
    sys.exit(77)

SCALES = {"float32": {}, "int32": {}, "int8": {"scale": 0.03, "zero": 3}, "uint8": {"scale": 0.03, "zero": 120}, "int16": {"scale": 0.0003, "zero": 0}}


def numbers(b, kind, shape):
    return b.random.integers(-20, 20, shape).astype(kind) if kind == "int32" else b.numbers(kind, shape)


def constant(m, values, kind="int32"):
    values = numpy.array(values, kind)
    return m.tensor(kind, values.shape, data=values)


def slices(b, kind, shape, begin, end, step, masks):
    from_start, to_end, rest, new, gone = masks
    m = Model()
    x, y = m.tensor(kind, shape, **SCALES[kind]), m.tensor(kind, (1,), **SCALES[kind])
    m.op(45, [x] + [constant(m, v) for v in (begin, end, step)], [y], {i: ("i", v) for i, v in enumerate(masks)}, 32, 4)
    index = []
    for i, (first, last, by) in enumerate(zip(begin, end, step)):
        here = 1 << i
        if rest & here:
            index.append(Ellipsis)
        elif new & here:
            index.append(None)
        elif gone & here:
            index.append((0 if by > 0 else -1) if from_start & here else first)
        else:
            index.append(slice(None if from_start & here else first, None if to_end & here else last, by))
    b.check("slice %s of %s: %s %s %s %s" % (kind, shape, begin, end, step, masks), m, x, [numbers(b, kind, shape) for _ in range(2)], y,
            lambda v: v[tuple(index)])


def gather(b, kind, shape, places, axis, batch):
    m = Model()
    at = b.random.integers(0, shape[axis], places)
    x, y = m.tensor(kind, shape, **SCALES[kind]), m.tensor(kind, (1,), **SCALES[kind])
    m.op(36, [x, constant(m, at)], [y], {0: ("i", axis), 1: ("i", batch)}, 23, 5)

    def reference(v):
        rows = [numpy.take(v[i], at[i], axis - batch) for i in numpy.ndindex(*shape[:batch])]
        return numpy.stack(rows).reshape(shape[:batch] + rows[0].shape)
    b.check("places %s in %s, axis %d" % (places, shape, axis), m, x, [numbers(b, kind, shape) for _ in range(2)], y, reference)


def blocks(b, kind, size, border):
    n, t, c = 2, 6, 3
    more = (t + sum(border)) // size
    m = Model()
    x = m.tensor(kind, (n, t, c), **SCALES[kind])
    there, back = m.tensor(kind, (n * size, more, c), **SCALES[kind]), m.tensor(kind, (n, t, c), **SCALES[kind])
    edges = [constant(m, [size]), constant(m, [border])]
    m.op(38, [x] + edges, [there], None, 0, 3)
    m.op(37, [there] + edges, [back], None, 0, 3)
    zero = SCALES[kind].get("zero", 0)

    def reference(v):
        wide = numpy.pad(v, [(0, 0), border, (0, 0)], constant_values=zero)
        return [numpy.concatenate([wide[:, i::size] for i in range(size)]), v]
    b.check_many("blocks of %d, %s" % (size, kind), m, [x], [[numbers(b, kind, (n, t, c))] for _ in range(2)], [there, back], reference)


def parts(b):
    """16 bits are joined as they are; 32 bits are scaled to fewer."""
    m = Model()
    x, z, y = m.tensor("int16", (3, 4), 0.001), m.tensor("int16", (3, 4), 0.003), m.tensor("int16", (3, 8), 0.002)
    m.op(2, [x, z], [y], {0: ("i", 1)}, 10, 3)
    b.check_many("parts", m, [x, z], [[b.numbers("int16", (3, 4)) for _ in range(2)] for _ in range(2)], [y], lambda v, w: [numpy.concatenate([v, w], 1)])
    for kind, zero in (("int8", -9), ("int16", 0)):
        given, wanted = F32(b.random.uniform(0.0001, 0.0004)), F32(b.random.uniform(0.01, 0.03))
        m = Model()
        x, y = m.tensor("int32", (40,), given), m.tensor(kind, (40,), wanted, zero)
        m.op(114, [x], [y], None, 0, 2)
        b.check("int32 to " + kind, m, x, [b.random.integers(-20000, 20000, 40).astype("int32") for _ in range(2)], y,
                lambda v: stored([scaled(i, float(given) / float(wanted)) for i in v], kind, zero))


def division(b, zeros, activation):
    """Each pair of bytes; not what is near 0, where TensorFlow Lite shifts by more bits than there are."""
    q = [F32(b.random.uniform(0.01, 0.03)) for _ in range(2)] + [F32(b.random.uniform(0.05, 0.2))]
    m = Model()
    x, z, y = (m.tensor("uint8", (200, 256), q[i], zeros[i]) for i in range(3))
    m.op(42, [x, z], [y], {0: ("b", activation)}, 29, 2)
    rows = numpy.array([i for i in range(256) if abs(i - zeros[0]) >= 40])
    columns = numpy.array([i if i not in (0, zeros[1]) else 1 for i in range(256)])

    def draw():
        return [numpy.repeat(b.random.choice(rows, 200), 256).reshape(200, 256).astype("uint8"), numpy.tile(b.random.permutation(columns), (200, 1)).astype("uint8")]

    def reference(v, w):
        y = (v.astype(int) - zeros[0]) * float(q[0]) / ((w.astype(int) - zeros[1]) * float(q[1]))
        low, high = {0: (-1e9, 1e9), 1: (0, 1e9), 3: (0, 6)}[activation]
        return [stored(rounded(numpy.clip(y, low, high) / float(q[2])).astype(int), "uint8", zeros[2])]
    given = [draw() for _ in range(2)]
    b.check_many("division", m, [x, z], given, [y])
    engine, b.engine, b.allowed = b.engine, None, 1  # of three roundings
    b.check_many("division, nearly", m, [x, z], given, [y], reference)
    b.engine, b.allowed = engine, 0


def lists(b, kind):
    m = Model()
    x, y = m.tensor(kind, (3,)), m.tensor(kind, (4, 5))
    m.op(68, [constant(m, [[0, 4], [2, 1], [3, 3]]), constant(m, [4, 5]), x, constant(m, 7, kind)], [y])

    def dense(v):
        out = numpy.full((4, 5), 7, kind)
        out[[0, 2, 3], [4, 1, 3]] = v
        return out
    b.check("a list of " + kind, m, x, [numbers(b, kind, 3) for _ in range(2)], y, dense)

    m = Model()
    x, y = m.tensor(kind, (6, 3)), m.tensor(kind, (3, 3))
    m.op(125, [x, constant(m, [0, 0, 1, 2, 2, 2])], [y], {}, 100)

    def sums(v):
        return numpy.stack([v[:2].sum(0), v[2], v[3:].sum(0)]).astype(kind)
    b.check("segments of " + kind, m, x, [numbers(b, kind, (6, 3)) for _ in range(2)], y, sums)

    m = Model()
    x, y = m.tensor(kind, (2, 3)), m.tensor(kind, (2, 3, 3))
    m.op(113, [x], [y], {}, 88)
    b.check("diagonals of " + kind, m, x, [numbers(b, kind, (2, 3)) for _ in range(2)], y, lambda v: numpy.stack([numpy.diag(r) for r in v]))

    for rows, columns in ((3, 5), (4, 2)):
        m = Model()
        least = min(rows, columns)
        x, z, y = m.tensor(kind, (2, rows, columns)), m.tensor(kind, (2, least)), m.tensor(kind, (2, rows, columns))
        m.op(115, [x, z], [y], {}, 91)

        def put(v, w):
            out = v.copy()
            out[:, range(least), range(least)] = w
            return [out]
        b.check_many("diagonals in %d x %d" % (rows, columns), m, [x, z], [[numbers(b, kind, (2, rows, columns)), numbers(b, kind, (2, least))] for _ in range(2)],
                     [y], put)

    m = Model()
    x, y = m.tensor(kind, (5, 4)), m.tensor("int32", (5, 4))
    limits = [-8.0, -0.5, 0.0, 0.25, 6.0]
    m.op(147, [x], [y], {0: ("f", limits)}, 115)
    b.check("buckets of " + kind, m, x, [numbers(b, kind, (5, 4)) for _ in range(2)], y, lambda v: numpy.searchsorted(limits, v, "right").astype("int32"))


def angles(b):
    m = Model()
    y, x, out = (m.tensor("float32", (6, 5)) for _ in range(3))
    m.op(156, [y, x], [out])

    def draw():
        both = [b.numbers("float32", (6, 5)) for _ in range(2)]
        both[0][0, :4], both[1][0, :4] = [0, 0, 1, -1], [0, -1, 0, 0]
        return both
    engine, b.engine = b.engine, None  # 2.9 does not have it
    b.check_many("angles", m, [y, x], [draw() for _ in range(2)], [out], lambda v, w: [numpy.arctan2(v, w)])
    b.engine = engine


def other_scales(b, kind):
    """Outputs whose scales are not the inputs': integers are moved as they are, borders hold the output's zero point."""
    scale, zero, low = {"int8": (0.07, 9, -128), "uint8": (0.07, 60, 0)}[kind]
    m, shape, ys, wanted = Model(), (1, 4, 6, 3), [], []
    x, other = m.tensor(kind, shape, 0.05, 3), m.tensor(kind, shape, 0.09, 5)

    def add(code, inputs, size, options, kind_of, reference):
        ys.append(m.tensor(kind, size, scale, zero))
        m.op(code, inputs, [ys[-1]], options, kind_of, 1 if code == 22 else 2)
        wanted.append(reference)
    window = {0: ("b", 1), 1: ("i", 2), 2: ("i", 2), 3: ("i", 2), 4: ("i", 2)}
    border = [[0, 0], [1, 0], [0, 2], [0, 0]]

    def windows(v):
        return v.astype(int).reshape(1, 2, 2, 3, 2, 3)

    def mean(v):
        total = windows(v).sum((2, 4))
        return numpy.where(total > 0, (total + 2) // 4, -((2 - total) // 4))
    add(22, [x, constant(m, [6, 12])], (6, 12), None, 0, lambda v, w: v.reshape(6, 12))
    add(34, [x, constant(m, border)], (1, 5, 8, 3), None, 0, lambda v, w: numpy.pad(v, border, constant_values=zero))
    add(100, [x, constant(m, border)], (1, 5, 8, 3), {0: ("b", 0)}, 77, lambda v, w: numpy.pad(v, border, "reflect"))
    add(97, [x, constant(m, [8, 12])], (1, 8, 12, 3), {0: ("?", False)}, 74, lambda v, w: v.repeat(2, 1).repeat(2, 2))
    add(17, [x], (1, 2, 3, 3), window, 5, lambda v, w: windows(v).max((2, 4)))
    add(1, [x], (1, 2, 3, 3), window, 5, lambda v, w: mean(v))
    add(55, [x, other], shape, None, 0, lambda v, w: numpy.maximum(v, w))
    add(57, [x, other], shape, None, 0, lambda v, w: numpy.minimum(v, w))
    b.check_many("other scales of %s" % kind, m, [x, other], [[b.random.integers(low, low + 256, shape).astype(kind) for _ in range(2)] for _ in range(2)], ys,
                 lambda v, w: [f(v, w).astype(kind) for f in wanted])


def enlarged(b, size, to, corners, centers):
    """Bytes whose weights are small fractions of a power of two: sums of integers, and what they would be as floats."""
    m = Model()
    x, y = m.tensor("uint8", (1, *size, 3), 0.05, 3), m.tensor("uint8", (1, *to, 3), 0.05, 3)
    m.op(23, [x, constant(m, to)], [y], {2: ("?", corners), 3: ("?", centers)}, 15, 3)

    def axis(v, a):
        step = (size[a] - 1) / (to[a] - 1) if corners and to[a] > 1 else size[a] / to[a]
        at = (numpy.arange(to[a]) + 0.5) * step - 0.5 if centers else numpy.arange(to[a]) * step
        low = numpy.clip(numpy.floor(at), 0, size[a] - 1).astype(int)
        high = numpy.clip(numpy.ceil(at), 0, size[a] - 1).astype(int)
        part = (at - low).reshape((-1, 1, 1) if a == 0 else (1, -1, 1))
        return v.take(low, a) * (1 - part) + v.take(high, a) * part
    b.check("bytes %s to %s" % (size, to), m, x, [b.numbers("uint8", (1, *size, 3)) for _ in range(2)], y,
            lambda v: numpy.floor(axis(axis(v[0].astype(float), 0), 1) + 0.5).astype("uint8")[None])


def without_shape(b, shape, to, vector, given, open_batch=False):
    """RESHAPE whose file leaves the shape empty: the output's counts, or that of a vector where the file has none."""
    m = Model()
    x = m.tensor("float32", shape)
    y = m.tensor("float32", to, open_batch=open_batch)
    m.op(22, [x] + ([m.tensor("int32", (0,), data=[])] if vector else []), [y], {0: ("i", [])} if given else {}, 17)
    count = int(numpy.prod(shape))
    wanted = (count,) if not to else (count // int(numpy.prod(to[1:])),) + to[1:] if open_batch else to
    b.check("reshape without a shape, %s to %s" % (shape, to), m, x, [b.numbers("float32", shape) for _ in range(2)], y, lambda v: v.reshape(wanted))


def main():
    seed = word_seed.told()
    with tempfile.TemporaryDirectory() as work:
        b = Bench(sys.argv[1], work, seed)
        for vector, given in ((False, False), (False, True), (True, False)):
            without_shape(b, (2, 3, 4), (6, 4), vector, given)
            without_shape(b, (1, 24), (), vector, given)
            without_shape(b, (4, 3, 2), (1, 6), vector, given, True)
        slices(b, "int8", (4, 4, 5), [-1, -2, -5], [-2, 4, 3], [1, -1, -2], (0, 4, 0, 1, 0))
        slices(b, "float32", (4, 5, 4, 2), [-5, 3], [-3, 3], [-1, 1], (2, 0, 0, 0, 0))
        slices(b, "int16", (3, 5, 3, 5), [1, 3, -2], [4, 1, 4], [1, -2, 1], (1, 3, 0, 0, 1))
        slices(b, "uint8", (3, 2, 5), [0, 1], [1, -2], [-2, 1], (2, 2, 1, 0, 2))
        slices(b, "int32", (5, 6, 4), [9, -9, 3], [-9, 9, -9], [-2, 2, -1], (0, 0, 0, 0, 0))
        for _ in range(4):
            n = 3
            shape = tuple(int(v) for v in b.random.integers(2, 6, n))
            gone, new = (1 << int(b.random.integers(0, n)) if b.random.random() < 0.5 else 0 for _ in range(2))
            begin = [int(b.random.integers(-d, d)) if gone else int(b.random.integers(-d - 2, d + 3)) for d in [min(shape)] * n]
            end = [int(b.random.integers(-d - 2, d + 3)) for d in shape]
            step = [1 if gone >> i & 1 else int(b.random.choice([1, 2, -1, -3])) for i in range(n)]
            slices(b, "int8", shape, begin, end, step, (int(b.random.integers(0, 8)), int(b.random.integers(0, 8)), 0, new, gone & ~new))
        gather(b, "int8", (2, 5, 3), (2, 4), 1, 1)
        gather(b, "float32", (2, 3, 5, 2), (2, 4), 2, 1)
        gather(b, "int32", (2, 3, 4, 5), (2, 3, 2), 2, 2)
        gather(b, "uint8", (3, 4, 2, 6), (3, 2, 2), 3, 1)
        blocks(b, "float32", 2, (1, 1))
        blocks(b, "int8", 3, (2, 1))
        parts(b)
        division(b, (100, 130, 90), 0)
        division(b, (0, 7, 20), 3)
        lists(b, "float32")
        lists(b, "int32")
        angles(b)
        other_scales(b, "int8")
        other_scales(b, "uint8")
        enlarged(b, (3, 5), (6, 10), False, True)
        enlarged(b, (9, 5), (33, 9), True, False)
        enlarged(b, (1, 4), (4, 16), False, False)
        print("%d models, %d results judged by TensorFlow Lite" % (b.count, b.judged))


main()
