#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Convolutions, transposed convolutions and pools with attributes drawn at random: one to three dimensions, groups, strides,
# dilations, uneven pads, auto_pad, ceil_mode, several element types, pools of narrow and of wide rows; against the
# standard's sums written out here.
#
# usage: codegen_windows.py VTAC   (exit status 77: python3-onnx is not there)
import itertools
import sys

from onnx_cases import Suite, helper, numpy, numpy_helper, random_for, value_info

# element types, how many cases of each operator, largest error
ROUNDS = (((numpy.float32, numpy.float32, numpy.float64), 18, "2e-5"), ((numpy.float16,), 6, "2e-3"))
LEAST = {numpy.float32: -3.4028235e38, numpy.float64: -1.7976931348623157e308, numpy.float16: -65504.0,
         numpy.int8: -128, numpy.uint8: 0}


class Window:
    """Attributes of a window and where it reaches; `cover`: the size of the output."""

    def __init__(self, random, axes, dilates=True, ceil=False, wide=False):
        pick = lambda low, high: [int(v) for v in random.integers(low, high + 1, axes)]
        self.kernel, self.stride = pick(1, 7 if wide else 3), pick(1, 3)
        self.dilation = pick(1, 2) if dilates else [1] * axes
        self.reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation)]
        self.size = [r + int(random.integers(0, 6)) for r in self.reach]
        self.size[-1] += int(random.integers(0, 50)) if wide else 0
        self.auto = str(random.choice(["NOTSET", "NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]))
        self.ceil = int(ceil and self.auto == "NOTSET" and random.integers(0, 2))
        pads = [(int(random.integers(0, k)), int(random.integers(0, k))) for k in self.kernel]
        if self.auto.startswith("SAME"):
            total = [max((-(-n // s) - 1) * s + r - n, 0) for n, s, r in zip(self.size, self.stride, self.reach)]
            pads = [(t // 2, t - t // 2) if self.auto == "SAME_UPPER" else (t - t // 2, t // 2) for t in total]
        elif self.auto == "VALID":
            pads = [(0, 0)] * axes
        self.pads = pads
        room = [n + sum(p) - r for n, p, r in zip(self.size, pads, self.reach)]
        self.cover = [(-(-v // s) if self.ceil else v // s) + 1 for v, s in zip(room, self.stride)]
        # a window that would start behind the input and its first pad is left out
        self.cover = [c - ((c - 1) * s >= n + p[0]) if self.ceil else c
                      for c, s, n, p in zip(self.cover, self.stride, self.size, pads)]

    def attrs(self, dilates=True):
        out = {"kernel_shape": self.kernel, "strides": self.stride}
        if dilates:
            out["dilations"] = self.dilation
        if self.auto == "NOTSET":
            out["pads"] = [p[0] for p in self.pads] + [p[1] for p in self.pads]
        else:
            out["auto_pad"] = self.auto
        return out

    def taps(self, x, fill):
        """For each place of the window, its values at all outputs; `fill` where it lies outside."""
        wide = [(0, 0), (0, 0)] + [(p[0], p[1] + r * s) for p, r, s in zip(self.pads, self.reach, self.stride)]
        padded = numpy.pad(x, wide, constant_values=fill)
        for place in itertools.product(*map(range, self.kernel)):
            at = tuple(slice(k * d, k * d + (c - 1) * s + 1, s)
                       for k, d, c, s in zip(place, self.dilation, self.cover, self.stride))
            yield place, padded[(slice(None), slice(None)) + at]


def numbers(random, shape, kind):
    if numpy.issubdtype(kind, numpy.integer):
        return random.integers(numpy.iinfo(kind).min, numpy.iinfo(kind).max + 1, shape).astype(kind)
    return random.standard_normal(shape).astype(kind)


def conv_cases(suite, kinds, count):
    for i in range(count):
        random = random_for("Conv %s" % len(kinds), i)
        w = Window(random, 1 + i % 3)
        groups, inner, outer = (int(v) for v in random.integers(1, 4, 3))
        if i % 6 == 5:  # many outputs of windows that reach far over a small plane
            outer, w.auto, w.pads, w.kernel, w.dilation = 30, "VALID", [(0, 0)] * len(w.size), [3] * len(w.size), [3] * len(w.size)
            w.size = [int(v) for v in random.integers(7, 11, len(w.size))]
            w.reach = [7] * len(w.size)
            w.cover = [(n - 7) // s + 1 for n, s in zip(w.size, w.stride)]
        kind, batch, bias = kinds[random.integers(0, len(kinds))], int(random.integers(1, 3)), bool(random.integers(0, 2))

        def make(random, w=w, groups=groups, inner=inner, outer=outer, kind=kind, batch=batch, bias=bias):
            tensors = [("x", numbers(random, [batch, groups * inner] + w.size, kind)),
                       ("w", numbers(random, [groups * outer, inner] + w.kernel, kind))]
            return tensors + ([("b", numbers(random, [groups * outer], kind))] if bias else [])

        def reference(x, w, b=None, window=w, groups=groups):
            y = 0
            for place, tap in window.taps(x.astype(float), 0):
                part = w[(slice(None), slice(None)) + place].astype(float)
                y = y + numpy.concatenate([numpy.einsum("ni...,oi->no...", a, c) for a, c in
                                           zip(numpy.split(tap, groups, 1), numpy.split(part, groups, 0))], 1)
            y = y if b is None else y + b.astype(float).reshape([-1] + [1] * len(window.size))
            return y.astype(x.dtype)
        constants = ("w", "b") if random.integers(0, 2) else ()
        suite.add("Conv", make, reference, constants, group=groups, **w.attrs())


def transposed_cases(suite, kinds, count):
    for i in range(count):
        random = random_for("ConvTranspose %s" % len(kinds), i)
        w = Window(random, 1 + i % 3)
        w.stride = [1] * len(w.stride) if i % 4 == 1 else w.stride
        groups, inner, outer = (int(v) for v in random.integers(1, 4, 3))
        kind = kinds[random.integers(0, len(kinds))]
        extra = [int(random.integers(0, max(s, d))) if s > 1 else 0 for s, d in zip(w.stride, w.dilation)]
        extra = [min(e, s - 1) for e, s in zip(extra, w.stride)]
        pads = [(min(p[0], r - 1), min(p[1], r - 1)) if w.auto == "NOTSET" else (0, 0) for p, r in zip(w.pads, w.reach)]
        # at least one place of the output is left between the pads
        least = [1 - (r + e - sum(p) - 1) // s for r, e, p, s in zip(w.reach, extra, pads, w.stride)]
        size = [max(n // 2, 2, m) for n, m in zip(w.size, least)]

        def make(random, w=w, groups=groups, inner=inner, outer=outer, kind=kind, size=size):
            return [("x", numbers(random, [2, groups * inner] + size, kind)),
                    ("w", numbers(random, [groups * inner, outer] + w.kernel, kind))]

        def reference(x, w, window=w, groups=groups, pads=pads, extra=extra):
            full = [(n - 1) * s + r + e for n, s, r, e in zip(x.shape[2:], window.stride, window.reach, extra)]
            y = numpy.zeros([x.shape[0], w.shape[1] * groups] + full)
            for place in itertools.product(*map(range, window.kernel)):
                part = w[(slice(None), slice(None)) + place].astype(float)
                at = tuple(slice(k * d, k * d + (n - 1) * s + 1, s) for k, d, n, s in
                           zip(place, window.dilation, x.shape[2:], window.stride))
                y[(slice(None), slice(None)) + at] += numpy.concatenate(
                    [numpy.einsum("ni...,io->no...", a, c) for a, c in
                     zip(numpy.split(x.astype(float), groups, 1), numpy.split(part, groups, 0))], 1)
            return y[(slice(None), slice(None)) + tuple(slice(p[0], f - p[1]) for p, f in zip(pads, full))].astype(x.dtype)
        suite.add("ConvTranspose", make, reference, ("w",) if i % 2 else (), group=groups, kernel_shape=w.kernel, strides=w.stride, dilations=w.dilation,
                  output_padding=extra, pads=[p[0] for p in pads] + [p[1] for p in pads])


def pool_cases(suite, kinds, count):
    for i in range(count):
        random = random_for("pools %s" % len(kinds), i)
        kind = kinds[random.integers(0, len(kinds))]
        wide = i % 2 == 1
        w = Window(random, 1 + i % 3, ceil=True, wide=wide)
        flat = Window(random, 1 + i % 3, dilates=False, ceil=True, wide=wide)
        power = Window(random, 1 + i % 3, dilates=False, wide=wide)
        all_count, p = int(random.integers(0, 2)), int(random.integers(1, 4))

        def make(random, size=w.size, kind=kind):
            return [("x", numbers(random, [2, 3] + size, kind))]

        def largest(x, w=w, kind=kind):
            return numpy.max([tap for _, tap in w.taps(x, LEAST[kind])], 0)

        def mean(x, w=flat, count_all=all_count):
            total = sum(tap for _, tap in w.taps(x.astype(float), 0))
            # what lies behind the second pad counts for nothing
            ones = numpy.pad(numpy.ones_like(x, float), [(0, 0), (0, 0)] + w.pads, constant_values=float(count_all))
            inside = Window.__new__(Window)
            inside.__dict__.update(w.__dict__, pads=[(0, 0)] * len(w.size))
            return (total / sum(tap for _, tap in inside.taps(ones, 0))).astype(x.dtype)

        def norm(x, w=power, p=p):
            return (sum(abs(tap) ** p for _, tap in w.taps(x.astype(float), 0)) ** (1 / p)).astype(x.dtype)
        suite.add("MaxPool", make, largest, ceil_mode=w.ceil, **w.attrs())
        if numpy.issubdtype(kind, numpy.integer):
            continue
        suite.add("AveragePool", lambda r, s=flat.size, k=kind: make(r, s, k), mean, ceil_mode=flat.ceil,
                  count_include_pad=all_count, **flat.attrs(False))
        suite.add("LpPool", lambda r, s=power.size, k=kind: make(r, s, k), norm, p=p, **power.attrs(False))


# ---- whole planes, of sizes that fill no vectors

def plane_cases(suite, kinds):
    for i, size in enumerate(([1], [67], [5, 13], [33, 1], [1, 130], [3, 1, 29])):
        kind = kinds[i % len(kinds)]
        axes = tuple(range(2, 2 + len(size)))

        def make(random, size=size, kind=kind):
            return [("x", numbers(random, [2, 3] + size, kind))]
        suite.add("GlobalAveragePool", make, lambda x, axes=axes: x.astype(float).mean(axes, keepdims=True).astype(x.dtype))
        suite.add("GlobalMaxPool", make, lambda x, axes=axes: x.max(axes, keepdims=True))
        suite.add("GlobalLpPool", make, lambda x, axes=axes: numpy.sqrt((x.astype(float) ** 2).sum(axes, keepdims=True)).astype(x.dtype),
                  p=2)


# ---- convolutions along a line, one after the other: fails where a line that is a picture for a while comes back wrong

def line(x, w, stride, pad, groups):
    """In whole numbers or doubles; a dilation of 1."""
    padded = numpy.pad(x, ((0, 0), (0, 0), (pad, pad)))
    count = (padded.shape[2] - w.shape[2]) // stride + 1
    parts = []
    for a, c in zip(numpy.split(padded, groups, 1), numpy.split(w, groups, 0)):
        parts.append(sum(numpy.einsum("nil,oi->nol", a[:, :, k:k + stride * (count - 1) + 1:stride], c[:, :, k])
                         for k in range(w.shape[2])))
    return numpy.concatenate(parts, 1)


def line_model(nodes, constants):
    def model(inputs, outputs):
        given = dict(inputs)
        graph = helper.make_graph(
            nodes, "case", [value_info("x", given["x"])], [value_info(n, a) for n, a in outputs],
            [numpy_helper.from_array(numpy.array(given[n]), n) for n in constants])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model


def float_lines(suite, channels, length, groups):
    constants = ("w", "b", "v")

    def make(random):
        return [("x", numbers(random, [2, channels, length], numpy.float32)),
                ("w", numbers(random, [2 * channels, channels // groups, 5], numpy.float32)),
                ("b", numbers(random, [2 * channels], numpy.float32)),
                ("v", numbers(random, [2 * channels, 2 * channels, 3], numpy.float32) / numpy.float32(channels))]

    def reference(x, w, b, v):
        a = numpy.maximum(line(x.astype(float), w.astype(float), 2, 2, groups) + b.astype(float)[:, None], 0)
        return tuple(y.astype(x.dtype) for y in (a + line(a, v.astype(float), 1, 1, 1), a.sum(2)))
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], strides=[2], pads=[2, 2], group=groups),
             helper.make_node("Relu", ["c"], ["a"]), helper.make_node("Conv", ["a", "v"], ["d"], pads=[1, 1]),
             helper.make_node("Add", ["a", "d"], ["y"]),
             helper.make_node("ReduceSum", ["a", "axis"], ["z"], keepdims=0)]
    axis = helper.make_node("Constant", [], ["axis"], value=numpy_helper.from_array(numpy.array([2], numpy.int64)))
    suite.add("Lines", make, reference, constants, outputs=("y", "z"), model=line_model([axis] + nodes, constants))


def byte_lines(suite, channels, length, signed):
    constants = ("w", "ws", "wz", "xs", "xz", "ys")
    kind = numpy.int8 if signed else numpy.uint8
    low, high = numpy.iinfo(kind).min, numpy.iinfo(kind).max

    def make(random):
        return [("x", numbers(random, [1, channels, length], kind)), ("w", numbers(random, [channels, channels, 3], kind)),
                ("ws", numpy.float32(0.5)), ("wz", kind(low + 100)), ("xs", numpy.float32(0.25)), ("xz", kind(low + 121)),
                ("ys", numpy.float32(2.0 ** 9))]

    def reference(x, w, ws, wz, xs, xz, ys):
        for stride in (1, 2):  # powers of two: every scaled sum is exact
            total = line(x.astype(int) - int(xz), w.astype(int) - int(wz), stride, 1, 1)
            x = numpy.clip(numpy.rint(total * (float(ws) * float(xs) / float(ys))) + int(xz), low, high).astype(kind)
        return x
    nodes = [helper.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "xz"], ["a"], pads=[1, 1]),
             helper.make_node("QLinearConv", ["a", "xs", "xz", "w", "ws", "wz", "ys", "xz"], ["y"], pads=[1, 1], strides=[2])]
    suite.add("ByteLines", make, reference, constants, model=line_model(nodes, constants))


def line_cases(suite, quantized):
    for i, channels in enumerate((1, 3, 8, 17, 33)):
        if quantized:
            byte_lines(suite, channels, 5 + 7 * i, i % 2 == 0)
        else:
            float_lines(suite, channels, 5 + 7 * i, channels if i % 2 else 1)


def main():
    failed = 0
    for kinds, count, most in ROUNDS:
        suite = Suite()
        conv_cases(suite, kinds, count)
        transposed_cases(suite, kinds, count)
        pool_cases(suite, kinds, count)
        plane_cases(suite, kinds)
        failed += suite.run(sys.argv[1], "--rtol", most, "--atol", most)
    suite = Suite()
    line_cases(suite, False)
    failed += suite.run(sys.argv[1], "--rtol", "1e-4", "--atol", "1e-4")
    suite = Suite()
    line_cases(suite, True)
    pool_cases(suite, (numpy.int8, numpy.uint8), 6)
    failed += suite.run(sys.argv[1])
    return 1 if failed else 0


sys.exit(main())
