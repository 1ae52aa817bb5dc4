#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Softmax, LogSoftmax, normalizations and reductions over any axes of shapes drawn at random: few and many elements behind the axis, trailing
# axes of one place, rows that do not fill vectors, several element types, infinite values, and with an operator behind
# them that tells the axes apart or does not; against sums written out in numpy.
#
# usage: codegen_rows.py VTAC   (exit status 77: python3-onnx is not there)
import sys

from onnx_cases import Suite, helper, numpy, numpy_helper, random_for, value_info

F16, F32, F64 = numpy.float16, numpy.float32, numpy.float64
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 24, 31, 33)


def softmax(x, axis):
    e = numpy.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def log_softmax(x, axis):
    off = x - x.max(axis, keepdims=True)
    return off - numpy.log(numpy.exp(off).sum(axis, keepdims=True))


def log_sum_exp(x, axis):
    with numpy.errstate(all="ignore"):
        most = x.max(axis, keepdims=True)
        shift = numpy.where(numpy.isfinite(most), most, 0)
        return numpy.log(numpy.exp(x - shift).sum(axis, keepdims=True)) + shift


def drawn_shape(random, axis):
    """Many places along the axis, or few; behind it one to three axes, some of one place."""
    dims = [int(random.choice(SIZES[:8])) for _ in range(axis)]
    dims.append(int(random.choice((1, 2, 3, 6, 19, 40, 77, 130))))
    behind = [int(random.choice(SIZES)) if random.random() < 0.7 else 1 for _ in range(int(random.integers(0, 4)))]
    while numpy.prod(dims + behind) > 60000:
        behind[int(numpy.argmax(behind))] = 2
        dims[0] = min(dims[0], 3)
        if numpy.prod(behind) <= 8:
            break
    return dims + behind


def followed(op, attrs, follower, scales=()):
    """A model of the operator and what comes behind it: Mul by one number, Add of a value for each place of the last axis, or
    of a whole tensor."""
    def make(inputs, outputs):
        nodes = [helper.make_node(op, ["x", *scales], ["v" if follower else "y"], **attrs)]
        if follower:
            nodes.append(helper.make_node(follower, ["v", "b"], ["y"]))
        graph = helper.make_graph(nodes, "case", [value_info(n, a) for n, a in inputs if n == "x"], [value_info(n, a) for n, a in outputs],
                                  [numpy_helper.from_array(a, n) for n, a in inputs if n != "x"])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return make


def rows(suite, kinds, count):
    for op, function in (("Softmax", softmax), ("LogSoftmax", log_softmax)):
        for i in range(count):
            random = random_for(op, i)
            axis, kind = int(random.integers(0, 3)), kinds[i % len(kinds)]
            dims = drawn_shape(random, axis)
            follower = (None, None, "Mul", "Add", "Add")[i % 5]
            second = [1] if follower == "Mul" else dims if i % 2 else dims[-1:]

            def make(random, dims=dims, kind=kind, follower=follower, second=second):
                x = (random.standard_normal(dims) * 3 + random.integers(-50, 50)).astype(kind)
                return [("x", x)] + ([("b", random.standard_normal(second).astype(kind))] if follower else [])

            def reference(x, b=None, function=function, axis=axis, follower=follower):
                y = function(x.astype(float), axis)
                return (y if b is None else y * b if follower == "Mul" else y + b).astype(x.dtype)

            suite.add(op, make, reference, constants=("b",), model=followed(op, {"axis": axis}, follower))


def sums(suite, kinds, count):
    """Sums of exponentials; some rows are infinite."""
    for i in range(count):
        random = random_for("ReduceLogSumExp", i)
        axis, kind = int(random.integers(0, 3)), kinds[i % len(kinds)]
        dims = drawn_shape(random, axis)
        axes = sorted({axis, int(random.integers(0, len(dims)))}) if i % 3 == 0 else [axis]

        def make(random, dims=dims, kind=kind, i=i):
            x = (random.standard_normal(dims) * 4 + random.integers(-60, 60)).astype(kind)
            if i % 4 == 1:
                x.reshape(-1)[random.integers(0, x.size, 3)] = -numpy.inf
            if i % 4 == 3:
                x[..., 0] = -numpy.inf
            return [("x", x)]

        suite.add("ReduceLogSumExp", make, lambda x, axes=tuple(axes): log_sum_exp(x.astype(float), axes).astype(x.dtype), axes=axes)


REDUCTIONS = {"ReduceMean": numpy.mean, "ReduceMax": numpy.max, "ReduceMin": numpy.min,
              "ReduceL2": lambda x, axis, keepdims: numpy.sqrt((x * x).sum(axis, keepdims=keepdims)),
              "ReduceL1": lambda x, axis, keepdims: numpy.abs(x).sum(axis, keepdims=keepdims)}


def reductions(suite, kinds, count):
    """One to all axes, together or apart, kept or not, and what follows them."""
    for op, function in REDUCTIONS.items():
        for i in range(count):
            random = random_for(op, i)
            dims, kind = drawn_shape(random, int(random.integers(0, 3))), kinds[i % len(kinds)]
            axes = sorted(int(a) for a in random.choice(len(dims), int(random.integers(1, len(dims) + 1)), replace=False))
            keep, follower = int(random.integers(0, 2)), (None, "Mul", "Add")[i % 3]
            out = [1 if a in axes else n for a, n in enumerate(dims) if keep or a not in axes]
            second = out[-1:] if follower == "Add" else [1] if out else []

            def make(random, dims=dims, kind=kind, follower=follower, second=second):
                return [("x", (random.standard_normal(dims) + 0.5).astype(kind))] + \
                    ([("b", random.standard_normal(second).astype(kind))] if follower else [])

            def reference(x, b=None, function=function, axes=tuple(axes), keep=keep, follower=follower):
                y = function(x.astype(float), axis=axes, keepdims=bool(keep))
                return numpy.array(y if b is None else y * b if follower == "Mul" else y + b).astype(x.dtype)

            suite.add(op, make, reference, constants=("b",), model=followed(op, {"axes": axes, "keepdims": keep}, follower))


EPSILON = 1e-5


def normalize(x, axes, op):
    off, variance = x - x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return off / (numpy.sqrt(variance) + 1e-9 if op == "MeanVarianceNormalization" else numpy.sqrt(variance + EPSILON))


def normalizations(suite, kinds, count):
    """Over the last axes, with a scale for each place and a bias or none; over an image, with a scale for each channel; over any
    axes. What follows tells the axes apart or does not."""
    for op in ("LayerNormalization", "InstanceNormalization", "MeanVarianceNormalization"):
        for i in range(count):
            random = random_for(op, i)
            dims, kind = drawn_shape(random, int(random.integers(0, 3))), kinds[i % len(kinds)]
            while len(dims) < 3:
                dims.append(int(random.choice(SIZES)))
            follower, scales, attrs = (None, "Mul", "Add")[i % 3], ("s", "t"), {"epsilon": EPSILON}
            if op == "LayerNormalization":
                axis = int(random.integers(0, len(dims)))
                axes, shape, attrs["axis"] = tuple(range(axis, len(dims))), dims[axis:], axis
                scales = scales[:1] if i % 4 == 0 else scales
            elif op == "InstanceNormalization":
                axes, shape = tuple(range(2, len(dims))), [dims[1]]
            else:
                axes = tuple(sorted(int(a) for a in random.choice(len(dims), int(random.integers(1, len(dims) + 1)), replace=False)))
                shape, scales, attrs = [], (), {"axes": axes}
            second = [1] if follower == "Mul" else dims[-1:]

            def make(random, dims=dims, kind=kind, follower=follower, scales=scales, shape=shape, second=second):
                given = [("x", (random.standard_normal(dims) * 2 + 1).astype(kind))]
                given += [(n, random.standard_normal(shape).astype(kind)) for n in scales]
                return given + ([("b", random.standard_normal(second).astype(kind))] if follower else [])

            behind = [1] * (len(dims) - 2) if op == "InstanceNormalization" else []

            def reference(x, s=None, t=None, b=None, op=op, axes=axes, follower=follower, behind=behind):
                y = normalize(x.astype(float), axes, op)
                y = y if s is None else y * s.reshape(list(s.shape) + behind)
                y = y if t is None else y + t.reshape(list(t.shape) + behind)
                return (y if b is None else y * b if follower == "Mul" else y + b).astype(x.dtype)

            suite.add(op, make, reference, constants=("s", "t", "b"), model=followed(op, attrs, follower, scales))


def main():
    failed = 0
    for kinds, most in (((F32, F64), "1e-5"), ((F16,), "2e-3")):
        suite = Suite()
        rows(suite, kinds, 30)
        sums(suite, kinds, 20)
        reductions(suite, kinds, 12)
        normalizations(suite, kinds, 16)
        failed += suite.run(sys.argv[1], "--rtol", most, "--atol", most)
    return 1 if failed else 0


sys.exit(main())
