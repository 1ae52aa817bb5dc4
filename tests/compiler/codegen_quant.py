#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Quantized operators against integer and rational arithmetic written out here, from the definitions in vtac/quant.h and of
# com.microsoft's operators: every integer must be equal (integers.py).
#
# usage: codegen_quant.py VTAC   (exit status 77: python3-onnx is not there)
import itertools
import math
import platform
import sys
from fractions import Fraction

from integers import F32, each, exact, half_even, number, rescaled, scale, whole, window_means
from onnx_cases import MS, Suite, numpy

ALPHA = 0.75
TYPES = (numpy.uint8, numpy.int8)


def quantized(random, name, dtype, shape):
    """x, its scale and its zero point, as the operators of com.microsoft take them."""
    return [(name, number(random, dtype, shape)), (name + "_scale", scale(random)),
            (name + "_zero", number(random, dtype, ()))]


def target(random, dtype):
    return [("y_scale", scale(random, 0.02, 0.2)), ("y_zero", number(random, dtype, ()))]


PARAMETERS = ("a_scale", "a_zero", "b_scale", "b_zero", "x_scale", "x_zero", "y_scale", "y_zero", "w", "w_scale", "w_zero")


def add_reference(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    fa, fb = exact(a_scale) / exact(y_scale), exact(b_scale) / exact(y_scale)
    return each(lambda x, y: half_even(x * fa + y * fb) + int(y_zero), a.dtype, whole(a, a_zero), whole(b, b_zero))


def mul_reference(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    return rescaled(whole(a, a_zero) * whole(b, b_zero), F32(a_scale * b_scale) / y_scale, y_zero, a.dtype)


def binary_cases(suite):
    for op, reference in (("QLinearAdd", add_reference), ("QLinearMul", mul_reference)):
        for dtype in TYPES:
            for left, right in (((2, 3, 5, 4), (2, 3, 5, 4)), ((2, 3, 5, 4), (3, 1, 1)), ((7,), ()), ((1, 4), (3, 1))):
                def make(random, dtype=dtype, left=left, right=right):
                    return (quantized(random, "a", dtype, left) + quantized(random, "b", dtype, right)
                            + target(random, dtype))
                suite.add(op, make, reference, PARAMETERS, domain=MS)


def concat_cases(suite):
    def reference(axis):
        def compute(y_scale, y_zero, **parts):
            done = [rescaled(whole(parts["p%d" % i], parts["p%d_zero" % i]), F32(parts["p%d_scale" % i] / y_scale), y_zero,
                             y_zero.dtype) for i in range(3)]
            return numpy.concatenate(done, axis)
        return compute
    for dtype in TYPES:
        for axis in (1, -1):
            def make(random, dtype=dtype, axis=axis):
                shapes = [[2, 3, 4], [2, 3, 4], [2, 3, 4]]
                for i, shape in enumerate(shapes):
                    shape[axis] = i + 1
                parts = [quantized(random, "p%d" % i, dtype, shape) for i, shape in enumerate(shapes)]
                return target(random, dtype) + sum(parts, [])
            constants = PARAMETERS + tuple("p%d_%s" % (i, n) for i in range(3) for n in ("scale", "zero"))
            suite.add("QLinearConcat", make, reference(axis), constants, domain=MS, axis=axis)


def pool_cases(suite):
    for dtype in TYPES:
        for kernel, stride, pads, count_all, ceil in (((2, 2), (2, 2), (0, 0, 0, 0), 0, 0), ((3, 3), (2, 1), (1, 1, 1, 1), 0, 0),
                                                      ((3, 2), (2, 2), (1, 0, 1, 1), 1, 0), ((3, 3), (2, 2), (0, 0, 1, 1), 0, 1)):
            def reference(x, x_scale, x_zero, y_scale, y_zero, p=(kernel, stride, pads, count_all, ceil)):
                return window_means(x, x_scale, x_zero, y_scale, y_zero, *p)

            def make(random, dtype=dtype):
                return quantized(random, "x", dtype, (2, 3, 7, 6)) + target(random, dtype)
            def last_reference(x, reference=reference, **rest):
                return reference(numpy.moveaxis(x, -1, 1), **rest).transpose(0, 2, 3, 1)

            def make_last(random, make=make):
                (name, x), *rest = make(random)
                return [(name, numpy.moveaxis(x, 1, -1).copy())] + rest
            attrs = dict(kernel_shape=kernel, strides=stride, pads=pads, count_include_pad=count_all, ceil_mode=ceil)
            suite.add("QLinearAveragePool", make, reference, PARAMETERS, domain=MS, **attrs)
            suite.add("QLinearAveragePool", make_last, last_reference, PARAMETERS, domain=MS, channels_last=1, **attrs)
        for last in (0, 1):
            def reference(x, x_scale, x_zero, y_scale, y_zero, last=last):
                axes = (1, 2) if last else (2, 3)
                count = F32(x.shape[axes[0]] * x.shape[axes[1]])
                sums = whole(x, x_zero).sum(axes, keepdims=True)
                return rescaled(sums, x_scale / F32(y_scale * count), y_zero, x.dtype)

            def make(random, dtype=dtype):
                return quantized(random, "x", dtype, (2, 5, 7, 6)) + target(random, dtype)
            suite.add("QLinearGlobalAveragePool", make, reference, PARAMETERS, domain=MS, channels_last=last)


def to_quantized(y, y_scale, y_zero, dtype):
    return each(lambda v: half_even(Fraction(v)) + int(y_zero), dtype, F32(y) / y_scale)


def tie_cases(suite):
    """Scales that are powers of two: many results lie just in the middle, and go to the even number."""
    def make(random):
        return [("a", number(random, numpy.int8, (500,))), ("a_scale", F32(0.25)), ("a_zero", numpy.int8(3)),
                ("b", number(random, numpy.int8, (500,))), ("b_scale", F32(0.125)), ("b_zero", numpy.int8(-2)),
                ("y_scale", F32(0.5)), ("y_zero", numpy.int8(1))]
    suite.add("QLinearAdd", make, add_reference, PARAMETERS, domain=MS)
    suite.add("QLinearMul", make, mul_reference, PARAMETERS, domain=MS)


def function_cases(suite):
    for dtype in TYPES:
        def unary(function):
            def reference(x, x_scale, x_zero, y_scale, y_zero):
                return to_quantized(function(F32(whole(x, x_zero)) * x_scale), y_scale, y_zero, x.dtype)
            return reference

        def make(random, dtype=dtype):
            x = quantized(random, "x", dtype, (3, 50))
            y_scale = F32(1.0 / 255.5 + random.uniform(0, 1e-3))
            return x + [("y_scale", y_scale), ("y_zero", number(random, dtype, ()))]
        suite.add("QLinearSigmoid", make, unary(lambda v: F32(1 / (1 + numpy.exp(-v.astype(numpy.float64))))), PARAMETERS,
                  domain=MS)
        for alpha in (0.125, 0.3):
            suite.add("QLinearLeakyRelu", make, unary(lambda v, a=F32(alpha): numpy.where(v < 0, a * v, v)), PARAMETERS,
                      domain=MS, alpha=alpha)
        for axis, opset in ((-1, 13), (0, 13), (1, 12)):
            def softmax(x, x_scale, x_zero, y_scale, y_zero, axis=axis, opset=opset):
                over = tuple(range(axis, x.ndim)) if opset < 13 else axis
                v = F32(whole(x, x_zero)).astype(numpy.float64) * float(x_scale)
                e = numpy.exp(v - v.max(over, keepdims=True))
                return to_quantized(F32(e / e.sum(over, keepdims=True)), y_scale, y_zero, x.dtype)

            def three(random, dtype=dtype):
                return quantized(random, "x", dtype, (3, 4, 5)) + [("y_scale", F32(1 / 256)), ("y_zero", dtype(
                    numpy.iinfo(dtype).min))]
            suite.add("QLinearSoftmax", three, softmax, PARAMETERS, domain=MS, axis=axis, opset=opset)


def gemm_cases(suite):
    """Sums of products, scaled by one float32."""
    for dtype in TYPES:
        for ta, tb, per_column, bias, plain in ((0, 0, 0, 1, 0), (0, 1, 1, 1, 0), (1, 0, 1, 0, 0), (0, 1, 0, 1, 1)):
            def make(random, dtype=dtype, p=(ta, tb, per_column, bias, plain)):
                m, k, n = 5, 19, 21
                w_shape = (n,) if p[2] else ()
                a = quantized(random, "a", dtype, (k, m) if p[0] else (m, k))
                b = [("b", number(random, numpy.int8, (n, k) if p[1] else (k, n))),
                     ("b_scale", random.uniform(0.003, 0.1, w_shape).astype(F32)), ("b_zero", number(random, numpy.int8, w_shape))]
                c = [("c", random.integers(-3000, 3000, (n,)).astype(numpy.int32))] if p[3] else [("", None)]
                y = [] if p[4] else [("y_scale", F32(random.uniform(2, 9))), ("y_zero", number(random, dtype, ()))]
                return a + b + c + y

            def reference(a, a_scale, a_zero, b, b_scale, b_zero, c=0, y_scale=None, y_zero=None, p=(ta, tb)):
                x, w = whole(a, a_zero), b.astype(numpy.int64)
                w = (w.T if p[1] else w) - b_zero.astype(numpy.int64)
                v = (x.T if p[0] else x) @ w + c
                if y_scale is None:
                    return F32(v) * F32(F32(ALPHA) * F32(a_scale * b_scale))
                factor = F32(F32(ALPHA) * F32(a_scale * b_scale)) / y_scale
                factor = numpy.broadcast_to(factor, v.shape[1:])
                return numpy.stack([rescaled(v[:, j], factor[j], y_zero, a.dtype) for j in range(v.shape[1])], 1)
            suite.add("QGemm", make, reference, PARAMETERS + ("b", "c"), domain=MS, transA=ta, transB=tb, alpha=ALPHA)


def matmul_cases(suite):
    """Scales of 16 bits; scales and zero points a row, a column, and for each matrix its own."""
    def rows(p, rank):
        return p[:, None] if p.ndim == 1 and rank > 1 else p

    def reference(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
        at = lambda p: rows(p, a.ndim)
        total = (a.astype(numpy.int64) - at(a_zero.astype(numpy.int64))) @ (b.astype(numpy.int64) - b_zero)
        factor = numpy.broadcast_to(F32(at(F32(a_scale)) * F32(b_scale)) / F32(at(F32(y_scale))), total.shape)
        zero = numpy.broadcast_to(at(y_zero), total.shape)
        out = [rescaled(numpy.array(v), f, z, y_zero.dtype) for v, f, z in zip(total.ravel(), factor.ravel(), zero.ravel())]
        return numpy.array(out, y_zero.dtype).reshape(total.shape)
    one = ((), (), ())
    forms = (((5, 19), (19, 7), one, numpy.float16), ((5, 19), (19, 7), ((5,), (7,), (5,)), F32), ((5, 19), (19, 7), ((5,), (), ()), numpy.float16),
             ((2, 3, 4), (2, 4, 5), ((2, 3, 1), (2, 1, 5), (2, 3, 1)), F32), ((1, 300), (300, 1), ((1,), (1,), (1,)), F32),
             ((3, 0), (0, 2), ((3,), (2,), ()), F32), ((0, 3), (3, 2), one, numpy.float16))
    for (left, right, (for_a, for_b, for_y), real), dtype in itertools.product(forms, TYPES):
        def make(random, p=(left, right, for_a, for_b, for_y, real), dtype=dtype):
            left, right, for_a, for_b, for_y, real = p
            parameters = lambda name, kind, shape, low, high: [(name + "_scale", random.uniform(low, high, shape).astype(real)),
                                                               (name + "_zero", number(random, kind, shape))]
            return ([("a", number(random, dtype, left))] + parameters("a", dtype, for_a, 0.003, 0.1) + [("b", number(random, numpy.int8, right))] +
                    parameters("b", numpy.int8, for_b, 0.003, 0.1) + parameters("y", dtype, for_y, 0.5, 3))
        suite.add("QLinearMatMul", make, reference, version=21)


def dynamic_cases(suite):
    """Ranges of tensors that fill no vectors, with the least and the largest anywhere, and of some that threads share, with one of them
    in the last part; float32 throughout, as ONNX has it."""
    def reference(x):
        low, high = min(x.min(), F32(0)), max(x.max(), F32(0))
        step = (high - low) / F32(255)
        zero = numpy.clip(numpy.rint(-low / (step if step != 0 else F32(1))), 0, 255)
        q = numpy.clip(numpy.rint(x / (step if step != 0 else F32(1))) + zero, 0, 255)
        return q.astype(numpy.uint8), step, zero.astype(numpy.uint8)
    for shape, shift in (([1], 1), ([3, 67], 0), ([129], 5), ([2, 5, 31], -5)):
        suite.add("DynamicQuantizeLinear", lambda r, shape=shape, shift=shift:
                  [("x", (r.standard_normal(shape) + shift).astype(F32))], reference, outputs=("y", "scale", "zero"))
    def with_ends(r, shape, place):
        x = r.standard_normal(shape).astype(F32)
        x.flat[place], x.flat[-1] = r.uniform(6, 9), r.uniform(-9, -6)
        return [("x", x)]
    for shape, place in (([40001], 20000), ([7, 3, 61, 57], 0), ([600, 1000], -70)):
        suite.add("DynamicQuantizeLinear", lambda r, shape=shape, place=place: with_ends(r, shape, place), reference, outputs=("y", "scale", "zero"))


# Input, outputs, kernel, groups, strides, dilations, pads: what the blocked kernels leave to the general way.
WINDOWS = (((2, 5, 4, 6, 5), 7, (3, 2, 3), 1, (1, 1, 2), (1, 1, 1), (1, 0, 1, 1, 1, 1)), ((1, 12, 5, 7, 6), 6, (3, 1, 3), 3, (1, 2, 1), (1, 1, 2), (0, 0, 2) * 2),
           ((1, 2, 3, 20, 5), 3, (1, 3, 1), 1, (1, 1, 1), (1, 3, 1), (0, 3, 0) * 2), ((2, 15, 9, 8), 20, (3, 3), 5, (2, 1), (1, 1), (1, 0, 0, 2)),
           ((1, 9, 6, 6, 4), 9, (2, 2, 2), 9, (1, 1, 1), (1, 1, 1), (0,) * 6), ((1, 35, 40), 14, (5,), 7, (3,), (1,), (2, 1)))


def conv_reference(groups, strides, dilations, pads):
    def compute(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b):
        axes = w.ndim - 2
        centred = numpy.pad(whole(x, x_zero), [(0, 0), (0, 0)] + [(pads[i], pads[axes + i]) for i in range(axes)])
        kernel = whole(w, w_zero.reshape(-1)[0])  # all are the same
        sizes = [(centred.shape[2 + i] - (w.shape[2 + i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(axes)]
        sums = numpy.zeros((len(x), len(w), *sizes), numpy.int64) + b.astype(numpy.int64).reshape(-1, *[1] * axes)
        for m in range(len(w)):
            group = m // (len(w) // groups)
            part = centred[:, group * w.shape[1]:(group + 1) * w.shape[1]]
            for tap in numpy.ndindex(*w.shape[2:]):
                cut = tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilations, sizes, strides))
                weights = kernel[(m, slice(None), *tap)].reshape(1, -1, *[1] * axes)
                sums[:, m] += (part[(slice(None), slice(None), *cut)] * weights).sum(1)
        scales = numpy.broadcast_to(F32(x_scale * w_scale) / y_scale, len(w))
        return numpy.stack([rescaled(sums[:, m], scales[m], y_zero, x.dtype) for m in range(len(w))], 1)
    return compute


def conv_cases(suite):
    for number_of, (x_dim, outputs, kernel, groups, strides, dilations, pads) in enumerate(WINDOWS):
        for w_type in TYPES:
            def make(random, x_dim=x_dim, outputs=outputs, kernel=kernel, groups=groups, w_type=w_type, dtype=TYPES[number_of % 2]):
                per_output = w_type == numpy.int8
                w_scale = F32(random.uniform(0.003, 0.1, outputs)) if per_output else scale(random)
                w_zero = numpy.zeros(outputs, numpy.int8) if per_output else numpy.uint8(random.integers(100, 160))
                return (quantized(random, "x", dtype, x_dim) + [("w", number(random, w_type, (outputs, x_dim[1] // groups, *kernel))),
                        ("w_scale", w_scale), ("w_zero", w_zero), ("y_scale", scale(random, 2, 20)), ("y_zero", number(random, dtype, ())),
                        ("b", random.integers(-9000, 9000, outputs).astype(numpy.int32))])
            suite.add("QLinearConv", make, conv_reference(groups, strides, dilations, pads), PARAMETERS + ("b",), group=groups, strides=strides,
                      dilations=dilations, pads=pads, kernel_shape=kernel)


def on_hosts(vtac):
    """The processors that this machine can be, whose dot products differ."""
    with open("/proc/cpuinfo", encoding="ascii") as file:
        flags = set(file.read().split())
    suite = Suite()
    conv_cases(suite)
    hosts = ["host"]
    if platform.machine() == "x86_64":
        hosts += [name for name, needs in (("x86-64-v2", "ssse3"), ("x86-64-v3", "avx2"), ("x86-64-v4", "avx512bw")) if needs in flags]
    return max(suite.run(vtac, "--rtol", "0", "--atol", "0", "--host", name) for name in hosts)


def main():
    suite = Suite()
    dynamic_cases(suite)
    binary_cases(suite)
    tie_cases(suite)
    concat_cases(suite)
    pool_cases(suite)
    function_cases(suite)
    gemm_cases(suite)
    matmul_cases(suite)
    return max(suite.run(sys.argv[1], "--rtol", "0", "--atol", "0"), on_hosts(sys.argv[1]))


sys.exit(main())
