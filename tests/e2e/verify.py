#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# `vtac verify --target vta` on ONNX's test-case folders of quantized models, made here with integer arithmetic of their own:
# every integer must be equal, on each device and configuration. Then what it says of a wrong output, and of what neither the
# accelerator nor the host can do.
#
# usage: verify.py VTAC   (exit status 77: python3-onnx is not there)
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "compiler"))
from integers import F32, each, half_even, number, rescaled, scale, whole, window_means  # noqa: E402
from onnx_cases import (MS, Suite, TensorProto, helper, numpy, numpy_helper, one_node_model, value_info,  # noqa: E402
                        write_model, write_set)

PLACES = (("tiny", "fsim:tiny"), ("pynq", "fsim:pynq"), ("tiny", "tsim:tiny"))
VTAC = os.path.abspath(sys.argv[1]) if len(sys.argv) == 2 else sys.exit("usage: verify.py VTAC")


def convolve(x, w, stride, pads, group):
    """Sums of products: x [n, c, h, w] and w [o, c / group, kh, kw] of whole numbers, zero points taken off."""
    x = numpy.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    rows, columns = [(x.shape[2 + i] - w.shape[2 + i]) // stride[i] + 1 for i in range(2)]
    out = numpy.zeros((x.shape[0], w.shape[0], rows, columns), numpy.int64)
    inputs, outputs = w.shape[1], w.shape[0] // group
    for o in range(w.shape[0]):
        seen = x[:, o // outputs * inputs:][:, :inputs]
        for i in range(rows):
            for j in range(columns):
                window = seen[:, :, i * stride[0]:i * stride[0] + w.shape[2], j * stride[1]:j * stride[1] + w.shape[3]]
                out[:, o, i, j] = (window * w[o]).sum((1, 2, 3))
    return out


def by_channel(sums, factors, zero, dtype):
    """Axis 1 is that of the channels."""
    factors = numpy.broadcast_to(factors, sums.shape[1:2])
    return numpy.stack([rescaled(sums[:, o], factors[o], zero, dtype) for o in range(sums.shape[1])], 1)


def weights(random, dtype, shape, zeros):
    """w, its scales and zero points, one a channel."""
    middle = 128 if dtype == numpy.uint8 else 0
    return [("w", (random.integers(-40, 40, shape) + middle).astype(dtype)),
            ("w_scale", random.uniform(0.003, 0.02, shape[:1]).astype(F32)),
            ("w_zero", (random.integers(-zeros, zeros + 1, shape[:1]) + middle).astype(dtype))]


CONSTANTS = ("x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "b")


def conv_cases(suite):
    """Plain, per channel with a bias, depthwise, in groups with zero points of weights, one image and two."""
    for x_type, w_type, shape, w_shape, stride, pads, group, zeros in (
            (numpy.uint8, numpy.int8, (1, 3, 9, 8), (10, 3, 3, 3), (1, 1), (1, 1, 1, 1), 1, 0),
            (numpy.int8, numpy.int8, (2, 18, 6, 5), (7, 18, 1, 1), (2, 1), (0, 0, 0, 0), 1, 0),
            (numpy.uint8, numpy.int8, (1, 17, 7, 7), (17, 1, 3, 3), (2, 2), (0, 1, 1, 0), 17, 0),
            (numpy.int8, numpy.uint8, (1, 8, 6, 6), (6, 4, 2, 3), (1, 2), (1, 0, 0, 1), 2, 9)):
        def make(random, p=(x_type, w_type, shape, w_shape, zeros)):
            return [("x", number(random, p[0], p[2])), ("x_scale", scale(random, 0.01, 0.05)),
                    ("x_zero", number(random, p[0], ()))] + weights(random, p[1], p[3], p[4]) + [
                        ("y_scale", scale(random, 0.05, 0.2)), ("y_zero", number(random, p[0], ())),
                        ("b", random.integers(-2000, 2000, p[3][:1]).astype(numpy.int32))]

        def reference(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b, p=(stride, pads, group)):
            centred = w.astype(numpy.int64) - w_zero.astype(numpy.int64).reshape(-1, 1, 1, 1)
            sums = convolve(whole(x, x_zero), centred, *p) + b.reshape(1, -1, 1, 1)
            return by_channel(sums, x_scale * w_scale / y_scale, y_zero, x.dtype)
        suite.add("QLinearConv", make, reference, CONSTANTS, strides=stride, pads=pads, group=group)


def volume_cases(suite):
    """Convolutions of volumes: strides, dilation and padding of the depth, two volumes, zero points of weights."""
    for x_type, shape, w_shape, stride, dilation, pads, zeros in (
            (numpy.uint8, (1, 3, 5, 4, 5), (7, 3, 3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1, 1, 1, 1), 0),
            (numpy.int8, (2, 5, 7, 4, 3), (9, 5, 2, 1, 2), (2, 1, 2), (3, 1, 1), (2, 0, 0, 1, 0, 1), 9)):
        def make(random, p=(x_type, shape, w_shape, zeros)):
            return [("x", number(random, p[0], p[1])), ("x_scale", scale(random, 0.01, 0.05)),
                    ("x_zero", number(random, p[0], ()))] + weights(random, numpy.int8, p[2], p[3]) + [
                        ("y_scale", scale(random, 0.05, 0.2)), ("y_zero", number(random, p[0], ())),
                        ("b", random.integers(-2000, 2000, p[2][:1]).astype(numpy.int32))]

        def reference(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b, p=(stride, dilation, pads)):
            steps, gaps, pads = p
            centred = w.astype(numpy.int64) - w_zero.astype(numpy.int64).reshape(-1, 1, 1, 1, 1)
            deep = numpy.pad(whole(x, x_zero), ((0, 0), (0, 0), (pads[0], pads[3]), (0, 0), (0, 0)))
            places = (deep.shape[2] - (w.shape[2] - 1) * gaps[0] - 1) // steps[0] + 1
            flat = pads[1:3] + pads[4:]
            sums = numpy.stack([sum(convolve(deep[:, :, z * steps[0] + t * gaps[0]], centred[:, :, t], steps[1:], flat, 1)
                                    for t in range(w.shape[2])) for z in range(places)], 2)
            return by_channel(sums + b.reshape(1, -1, 1, 1, 1), x_scale * w_scale / y_scale, y_zero, x.dtype)
        suite.add("QLinearConv", make, reference, CONSTANTS, strides=stride, dilations=dilation, pads=pads)


def matmul_cases(suite):
    for dtype, rows, terms, columns in ((numpy.uint8, 1, 70, 33), (numpy.int8, 2, 12, 5)):
        def make(random, dtype=dtype, p=(rows, terms, columns)):
            (_, w), (_, w_scale), (_, w_zero) = weights(random, numpy.int8, p[:0:-1], 5)
            return [("x", number(random, dtype, p[:2])), ("x_scale", scale(random, 0.01, 0.05)),
                    ("x_zero", number(random, dtype, ())), ("w", w.T.copy()), ("w_scale", w_scale), ("w_zero", w_zero),
                    ("y_scale", scale(random, 0.05, 0.2)), ("y_zero", number(random, dtype, ()))]

        def reference(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero):
            sums = whole(x, x_zero) @ (w.astype(numpy.int64) - w_zero.astype(numpy.int64))
            return by_channel(sums, x_scale * w_scale / y_scale, y_zero, x.dtype)
        suite.add("QLinearMatMul", make, reference, CONSTANTS)


def product_cases(suite):
    """Both matrices change with the input: several at a time, of few rows, broadcast, both types, zero points at their ends."""
    for a_type, b_type, a_shape, b_shape, zeros in (
            (numpy.int8, numpy.int8, (2, 3, 7, 20), (2, 3, 20, 9), (0, 0)),
            (numpy.uint8, numpy.int8, (1, 3, 5, 33), (1, 3, 33, 16), (0, 5)),
            (numpy.int8, numpy.uint8, (2, 1, 4, 17), (3, 17, 18), (-128, 255)),
            (numpy.int8, numpy.int8, (3, 4, 40), (40, 21), (7, -128)),
            (numpy.uint8, numpy.uint8, (35, 18), (18, 35), (255, 128)),
            (numpy.int8, numpy.uint8, (2, 1, 64), (2, 64, 17), (-3, 1))):
        def make(random, types=(a_type, b_type), shapes=(a_shape, b_shape), zeros=zeros):
            return [("x", number(random, types[0], shapes[0])), ("x_scale", scale(random, 0.01, 0.05)),
                    ("x_zero", numpy.array(zeros[0], types[0])), ("w", number(random, types[1], shapes[1])),
                    ("w_scale", scale(random, 0.003, 0.02)), ("w_zero", numpy.array(zeros[1], types[1])),
                    ("y_scale", scale(random, 0.1, 0.3)), ("y_zero", number(random, types[0], ()))]

        def reference(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero):
            return rescaled(whole(x, x_zero) @ whole(w, w_zero), x_scale * w_scale / y_scale, y_zero, x.dtype)
        suite.add("QLinearMatMul", make, reference, tuple(c for c in CONSTANTS if c != "w"))


def integer_cases(suite):
    """Sums as they are, of one to four bytes, with a zero point that the run knows; padding has it, too."""
    for x_type, w_type, shape, w_shape, stride, pads, group, size in (
            (numpy.uint8, numpy.int8, (1, 3, 9, 8), (10, 3, 3, 3), (1, 1), (1, 1, 1, 1), 1, 127),
            (numpy.int8, numpy.uint8, (2, 4, 6, 5), (6, 2, 2, 1), (2, 1), (0, 1, 1, 0), 2, 3),
            (numpy.uint8, numpy.int8, (1, 17, 7, 7), (17, 1, 3, 3), (2, 2), (0, 1, 1, 0), 17, 1)):
        def make(random, p=(x_type, w_type, shape, w_shape, size)):
            middle = 128 if p[1] == numpy.uint8 else 0
            return [("x", number(random, p[0], p[2])), ("w", (random.integers(-p[4], p[4] + 1, p[3]) + middle).astype(p[1])),
                    ("x_zero", number(random, p[0], ())), ("w_zero", numpy.array(middle + 1, p[1]))]

        def reference(x, w, x_zero, w_zero, p=(stride, pads, group)):
            return convolve(whole(x, x_zero), whole(w, w_zero), *p).astype(numpy.int32)
        suite.add("ConvInteger", make, reference, ("w", "w_zero"), strides=stride, pads=pads, group=group)
    for x_type, w_type, shape, w_shape, size in ((numpy.uint8, numpy.int8, (2, 3, 40), (40, 18), 127),
                                                 (numpy.int8, numpy.int8, (1, 3), (3, 5), 0),
                                                 (numpy.uint8, numpy.uint8, (1, 600), (600, 17), 127)):
        def make(random, p=(x_type, w_type, shape, w_shape, size)):
            middle = 128 if p[1] == numpy.uint8 else 0
            x = numpy.full(p[2], 255, p[0]) if p[3][0] > 512 else number(random, p[0], p[2])  # the largest sums there are
            return [("x", x), ("w", (random.integers(-p[4], p[4] + 1, p[3]) + middle).astype(p[1])),
                    ("x_zero", number(random, p[0], ())), ("w_zero", (random.integers(0, 2, p[3][1]) * 127).astype(p[1]))]

        def reference(x, w, x_zero, w_zero):
            return (whole(x, x_zero) @ (w.astype(numpy.int64) - w_zero.astype(numpy.int64))).astype(numpy.int32)
        suite.add("MatMulInteger", make, reference, ("w", "w_zero"))
    for x_type, w_type, shape, w_shape in ((numpy.uint8, numpy.int8, (2, 3, 17, 9), (2, 3, 9, 20)),  # both change with the input
                                           (numpy.int8, numpy.uint8, (2, 1, 4, 33), (1, 3, 33, 16)),
                                           (numpy.uint8, numpy.uint8, (1, 600), (600, 1))):
        def make(random, p=(x_type, w_type, shape, w_shape)):
            x = numpy.full(p[2], 255, p[0]) if p[2][-1] > 512 else number(random, p[0], p[2])
            return [("x", x), ("w", number(random, p[1], p[3])), ("x_zero", number(random, p[0], ())),
                    ("w_zero", number(random, p[1], (1,)))]

        def reference(x, w, x_zero, w_zero):
            return (whole(x, x_zero) @ whole(w, w_zero)).astype(numpy.int32)
        suite.add("MatMulInteger", make, reference, ())


def mixed_cases(suite):
    """int8 and uint8 beside each other."""
    for a_type, b_type, y_type in ((numpy.int8, numpy.uint8, numpy.int8), (numpy.uint8, numpy.int8, numpy.int8),
                                   (numpy.int8, numpy.int8, numpy.uint8)):
        def make(random, types=(a_type, b_type, y_type)):
            pair = [("x", number(random, types[0], (1, 18, 4, 3))), ("x_scale", scale(random)), ("x_zero", number(random, types[0], ())),
                    ("w", number(random, types[1], (1, 18, 4, 3))), ("w_scale", scale(random)),
                    ("w_zero", number(random, types[1], ()))]
            return pair + [("y_scale", scale(random, 0.1, 0.3)), ("y_zero", number(random, types[2], ()))]

        def parts(random, make=make):
            given = make(random)
            return given[6:] + given[:6]

        def product(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero):
            return rescaled(whole(x, x_zero) * whole(w, w_zero), x_scale * w_scale / y_scale, y_zero, y_zero.dtype)

        def joined(y_scale, y_zero, x, x_scale, x_zero, w, w_scale, w_zero):
            return numpy.concatenate([rescaled(whole(q, zero), s / y_scale, y_zero, y_zero.dtype)
                                      for q, s, zero in ((x, x_scale, x_zero), (w, w_scale, w_zero))], 1)
        suite.add("QLinearMul", make, product, tuple(c for c in CONSTANTS if c != "w"), domain=MS)
        suite.add("QLinearConcat", parts, joined, tuple(c for c in CONSTANTS if c != "w"), domain=MS, axis=1)


def pool_cases(suite):
    """Means whose count changes at the borders: padding left out, windows that reach beyond it, both."""
    for dtype, shape, kernel, stride, pads, count_all, ceil in (
            (numpy.uint8, (1, 5, 7, 6), (3, 3), (2, 1), (1, 1, 1, 1), 0, 0),
            (numpy.int8, (2, 17, 6, 7), (3, 2), (2, 2), (0, 0, 0, 0), 0, 1),
            (numpy.uint8, (1, 3, 8, 8), (5, 3), (3, 2), (2, 1, 0, 1), 1, 1)):
        def make(random, dtype=dtype, shape=shape):
            return [("x", number(random, dtype, shape)), ("x_scale", scale(random)), ("x_zero", number(random, dtype, ())),
                    ("y_scale", scale(random, 0.02, 0.2)), ("y_zero", number(random, dtype, ()))]

        def reference(x, x_scale, x_zero, y_scale, y_zero, p=(kernel, stride, pads, count_all, ceil)):
            return window_means(x, x_scale, x_zero, y_scale, y_zero, *p)
        suite.add("QLinearAveragePool", make, reference, CONSTANTS, domain=MS, kernel_shape=kernel, strides=stride,
                  pads=pads, count_include_pad=count_all, ceil_mode=ceil)


def gemm_cases(suite):
    """QGemm of two matrices that change with the input, with a bias or without one."""
    for types, shape, outputs, turned, bias, zeros in (
            ((numpy.int8, numpy.int8), (21, 40), 19, 1, 19, (0, 0)),
            ((numpy.uint8, numpy.uint8), (18, 17), 33, 0, 1, (200, 128)),
            ((numpy.int8, numpy.uint8), (5, 64), 16, 1, 0, (-7, 99))):
        def make(random, types=types, p=(shape, outputs, turned, bias, zeros)):
            shape, outputs, turned, bias, zeros = p
            b_shape = (outputs, shape[1]) if turned else (shape[1], outputs)
            bias = random.integers(-9000, 9000, (bias,)).astype(numpy.int32)
            return [("x", number(random, types[0], shape)), ("x_scale", scale(random, 0.01, 0.05)),
                    ("x_zero", numpy.array(zeros[0], types[0])), ("w", number(random, types[1], b_shape)),
                    ("w_scale", scale(random, 0.003, 0.02)), ("w_zero", numpy.array(zeros[1], types[1])),
                    ("b" if bias.size else "", bias if bias.size else None), ("y_scale", scale(random, 0.1, 0.3)),
                    ("y_zero", number(random, types[0], ()))]

        def reference(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b=0, turned=turned):
            w = whole(w, w_zero)
            return rescaled(whole(x, x_zero) @ (w.T if turned else w) + b, x_scale * w_scale / y_scale, y_zero, x.dtype)
        suite.add("QGemm", make, reference, tuple(c for c in CONSTANTS if c != "w") + ("b",), domain=MS, transB=turned)


def volume_windows(x, kernel, stride, pads, filler):
    """All windows of volumes: [n, c, places in depth, height, width, elements]."""
    x = numpy.pad(x, ((0, 0), (0, 0)) + tuple((pads[i], pads[3 + i]) for i in range(3)), constant_values=filler)
    seen = numpy.lib.stride_tricks.sliding_window_view(x, kernel, (2, 3, 4))[:, :, ::stride[0], ::stride[1], ::stride[2]]
    return seen.reshape(seen.shape[:5] + (-1,))


def volume_pool_cases(suite):
    """Means and largest numbers of volumes; windows that overlap, leave the volume, or hold all of it."""
    for dtype, shape, kernel, stride, pads in (
            (numpy.uint8, (1, 5, 6, 7, 4), (2, 3, 2), (2, 2, 2), (0,) * 6),
            (numpy.int8, (2, 3, 5, 4, 5), (3, 2, 3), (1, 1, 2), (1, 0, 1, 1, 1, 1)),
            (numpy.int8, (1, 17, 4, 3, 5), (4, 3, 5), (1, 1, 1), (0,) * 6)):
        def make(random, dtype=dtype, shape=shape):
            return [("x", number(random, dtype, shape)), ("x_scale", scale(random)), ("x_zero", number(random, dtype, ())),
                    ("y_scale", scale(random, 0.02, 0.2)), ("y_zero", number(random, dtype, ()))]

        def mean(x, x_scale, x_zero, y_scale, y_zero, p=(kernel, stride, pads)):
            seen = volume_windows(whole(x, x_zero), *p, 0)
            return rescaled(seen.sum(-1), F32(x_scale / (F32(seen.shape[-1]) * y_scale)), y_zero, x.dtype)

        def largest(x, p=(kernel, stride, pads)):
            return volume_windows(x, *p, numpy.iinfo(x.dtype).min).max(-1)
        suite.add("QLinearAveragePool", make, mean, CONSTANTS, domain=MS, kernel_shape=kernel, strides=stride, pads=pads,
                  count_include_pad=1)
        suite.add("MaxPool", lambda random, make=make: make(random)[:1], largest, kernel_shape=kernel, strides=stride, pads=pads)


def qdq_model(inputs, outputs):
    """Floats in and out; between them QuantizeLinear and DequantizeLinear round each layer: Conv, Relu, Conv."""
    given = dict(inputs)
    nodes = []

    def node(op, out, *names, **attrs):
        nodes.append(helper.make_node(op, names, [out], **attrs))
        return out

    def through(value, of):
        q = node("QuantizeLinear", value + "_q", value, of + "_scale", of + "_zero")
        return node("DequantizeLinear", value + "_dq", q, of + "_scale", of + "_zero")

    def conv(value, number, **attrs):
        w, b, y = ("%s%d" % (n, number) for n in "wby")
        return node("Conv", y, value, node("DequantizeLinear", w + "_dq", w, w + "_scale", w + "_zero", axis=0),
                    node("DequantizeLinear", b + "_dq", b, b + "_scale", axis=0), **attrs)
    first = node("Relu", "r1", conv(through("x", "x"), 1, pads=[1, 1, 1, 1], strides=[2, 2]))
    second = conv(through(first, "y1"), 2)
    last = node("QuantizeLinear", "q2", second, "y2_scale", "y2_zero")
    node("DequantizeLinear", outputs[0][0], last, "y2_scale", "y2_zero")
    graph = helper.make_graph(nodes, "qdq", [value_info("x", given["x"])], [value_info(*outputs[0])],
                              [numpy_helper.from_array(numpy.array(a), n) for n, a in inputs if n != "x"])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def qdq_cases(suite):
    for dtype in (numpy.uint8, numpy.int8):
        def make(random, dtype=dtype):
            x_scale = scale(random, 0.01, 0.05)
            given = [("x_scale", x_scale), ("x_zero", number(random, dtype, ()))]
            for n, shape in ((1, (12, 3, 3, 3)), (2, (5, 12, 1, 1))):
                (_, w), (_, w_scale), _ = weights(random, numpy.int8, shape, 0)
                before = x_scale if n == 1 else dict(given)["y1_scale"]
                given += [("w%d" % n, w), ("w%d_scale" % n, w_scale), ("w%d_zero" % n, numpy.zeros(shape[:1], numpy.int8)),
                          ("b%d" % n, random.integers(-2000, 2000, shape[:1]).astype(numpy.int32)),
                          ("b%d_scale" % n, before * w_scale),
                          ("y%d_scale" % n, scale(random, 0.05, 0.2)), ("y%d_zero" % n, number(random, dtype, ()))]
            steps = random.integers(-250, 250, (1, 3, 8, 7)) + random.uniform(-0.4, 0.4, (1, 3, 8, 7))
            return [("x", F32(steps * x_scale))] + given

        def reference(x, x_scale, x_zero, dtype=dtype, **given):
            q = each(lambda v: half_even(v) + int(x_zero), dtype, x / x_scale)
            before, zero = x_scale, x_zero
            for n, shape in ((1, ((2, 2), (1, 1, 1, 1), 1)), (2, ((1, 1), (0, 0, 0, 0), 1))):
                of = {k: given["%s%d%s" % (k[0], n, k[1:])] for k in ("w", "w_scale", "b", "y_scale", "y_zero")}
                sums = convolve(whole(q, zero), of["w"].astype(numpy.int64), *shape) + of["b"].reshape(1, -1, 1, 1)
                q = by_channel(sums, before * of["w_scale"] / of["y_scale"], of["y_zero"], dtype)
                q = numpy.maximum(q, of["y_zero"]) if n == 1 else q
                before, zero = of["y_scale"], of["y_zero"]
            return F32(whole(q, zero)) * before
        fixed = ["%s%d%s" % (k, n, s) for k in "wby" for n in (1, 2) for s in ("", "_scale", "_zero")]
        suite.add("QDQ", make, reference, CONSTANTS + tuple(fixed), model=qdq_model)


class Judge:
    """Runs vtac in the suite's folder, and counts what is not as it should be."""

    def __init__(self, folder):
        self.folder, self.failures = folder, 0

    def vtac(self, *words):
        run = subprocess.run([VTAC, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             check=False)
        return run.returncode, run.stdout, run.stderr

    def holds(self, what, good, *seen):
        if not good:
            self.failures += 1
            print("not so: %s: %s" % (what, " ".join(str(s) for s in seen)[:600]))


def damage(folder, name, data_set):
    """Makes one element of a data set's expected output wrong by 1; returns its number and both values."""
    path = os.path.join(folder, name, "test_data_set_%d" % data_set, "output_0.pb")
    with open(path, "rb") as file:
        tensor = numpy_helper.to_array(TensorProto.FromString(file.read()))
    wrong = tensor.copy()
    at = wrong.size // 2
    wrong.reshape(-1)[at] ^= 1
    with open(path, "wb") as file:
        file.write(numpy_helper.from_array(wrong, "y").SerializeToString())
    return at, tensor.reshape(-1)[at], wrong.reshape(-1)[at]


def check_offloaded(judge, names):
    """Each case really has something for the accelerator: else the comparison would be of the host with itself."""
    for name in names:
        for config in ("tiny", "pynq"):
            _, out, err = judge.vtac("explain", name + "/model.onnx", "--config", config, "--offload", "all", "--json")
            judge.holds("%s goes to the accelerator" % name, out and json.loads(out)["moved"] > 0, out, err)


def check_failure(judge, suite):
    """One integer of one data set is wrong: exit status 1, and the line names it; within the tolerance it passes."""
    for name, data_set in (("qlinearconv_1", 0), ("qlinearmatmul_2", 1)):
        at, right, wrong = damage(suite.folder.name, name, data_set)
        exact = ("verify", "--target", "vta", "--offload", "all", "--config", "tiny", "--rtol", "0", "--atol", "0", name)
        status, out, _ = judge.vtac(*exact)
        judge.holds("a wrong integer fails", status == 1, status, out)
        line = "FAIL %s: test_data_set_%d: output 0 differs by up to 1: element %d is %d, expected %d\n" % (
            name, data_set, at, right, wrong)
        judge.holds("it is named", out == line + "0 passed, 1 failed, 0 unsupported\n", out, "instead of", line)
        status, out, _ = judge.vtac(*exact, "--json")
        case = json.loads(out)["cases"][0]
        judge.holds("it is in the JSON", case["result"] == "FAIL" and "element %d" % at in case["reason"], out)
        status, out, _ = judge.vtac(*exact, "--atol", "1")
        judge.holds("within the tolerance it passes", status == 0 and out.startswith("PASS " + name), out)


def check_unsupported(judge, suite):
    """An operator that neither has, of ONNX or of somebody else, is no failure, but says why; the case behind it runs."""
    x = numpy.zeros((1, 1, 4, 4), F32)
    rois = numpy.zeros((1, 5), F32)
    y = numpy.zeros((1, 1, 2, 2), F32)
    for name, op, domain, reason in (("training", "Gradient", "ai.onnx.preview.training", "Gradient"), ("foreign", "Sharpen", "org.example", "Sharpen")):
        folder = os.path.join(suite.folder.name, name)
        inputs = [("x", x), ("rois", rois)]
        model = one_node_model(op, {}, inputs, (), [("y", y)], 17, domain)
        if domain:
            model.opset_import.append(helper.make_opsetid(domain, 1))
        write_model(folder, model)
        write_set(folder, 0, inputs, [("y", y)])
        for target in ("vta", "llvm"):
            status, out, _ = judge.vtac("verify", "--target", target, "--json", name, "qlinearconv_2")
            seen = json.loads(out)
            judge.holds("%s is unsupported on %s" % (op, target),
                        status == 0 and (seen["unsupported"], seen["passed"], seen["failed"]) == (1, 1, 0), status, out)
            case = seen["cases"][0]
            judge.holds("with the reason", case["result"] == "UNSUPPORTED" and reason in case["reason"], case)
        _, out, _ = judge.vtac("verify", "--target", "vta", name)
        judge.holds("in words", out.startswith("UNSUPPORTED %s: " % name) and reason in out.splitlines()[0], out)


def main():
    suite = Suite()
    conv_cases(suite)
    volume_cases(suite)
    matmul_cases(suite)
    product_cases(suite)
    integer_cases(suite)
    mixed_cases(suite)
    pool_cases(suite)
    volume_pool_cases(suite)
    gemm_cases(suite)
    qdq_cases(suite)
    judge = Judge(suite.folder.name)
    check_offloaded(judge, suite.names)
    failed = 0
    for config, device in PLACES:
        print("%s: " % device, end="", flush=True)
        failed += suite.run(VTAC, "--target", "vta", "--offload", "all", "--config", config, "--device", device,
                            "--rtol", "0", "--atol", "0")
    check_failure(judge, suite)
    check_unsupported(judge, suite)
    return 1 if failed + judge.failures else 0


sys.exit(main())
