# SPDX-License-Identifier: Apache-2.0
#
# What ONNX says an operator computes, in NumPy and in double precision: the reference of the suite's own networks. Operators
# are those that nets.py writes; values between quantizations are never rounded.
import numpy
from onnx import helper, numpy_helper


def windows(x, size, strides, pads, fill=0.0):
    """Patches of N x C x H x W: N x C x rows x columns x size."""
    x = numpy.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])), constant_values=fill)
    return numpy.lib.stride_tricks.sliding_window_view(x, size, (2, 3))[:, :, ::strides[0], ::strides[1]]


def conv(x, w, b=None, group=1, strides=(1, 1), pads=(0, 0, 0, 0), **_):
    each, parts = len(w) // group, []
    for g in range(group):
        patches = windows(x[:, g * w.shape[1]:(g + 1) * w.shape[1]], w.shape[2:], strides, pads)
        parts.append(numpy.einsum("nchwij,fcij->nfhw", patches, w[g * each:(g + 1) * each], optimize=True))
    y = numpy.concatenate(parts, 1)
    return y if b is None else y + b.reshape(-1, 1, 1)


def normalized(x, scale, bias, mean, variance, epsilon=1e-5, **_):
    a, b, m, v = (t.reshape(-1, 1, 1) for t in (scale, bias, mean, variance))
    return (x - m) / numpy.sqrt(v + epsilon) * a + b


def softmax(x, axis=-1, **_):
    e = numpy.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def gemm(a, b, c=0.0, transB=0, **_):
    return a @ (b.T if transB else b) + c


def along(v, x, axis):
    """A scale or a zero point, one for all or one for each place of an axis."""
    return v.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)]) if v.size > 1 else v.reshape(())


def quantize(x, scale, zero, axis=1, **_):
    ends = numpy.iinfo(zero.dtype)
    y = numpy.rint(x / along(scale, x, axis).astype(float)) + along(zero, x, axis).astype(float)
    return numpy.clip(y, ends.min, ends.max).astype(zero.dtype)


def dequantize(x, scale, zero, axis=1, **_):
    return (x.astype(float) - along(zero, x, axis).astype(float)) * along(scale, x, axis).astype(float)


def layer_of_integers(compute, x, w, y_scale, y_zero):
    """A layer whose operands are (integers, scale, zero point, axis of these) and whose result is integers."""
    return quantize(compute(dequantize(*x), dequantize(*w)), y_scale, y_zero)


def qlinear_conv(x, xs, xz, w, ws, wz, ys, yz, b=None, **how):
    sum_of = lambda v, k: conv(v, k, None if b is None else b.astype(float) * float(xs) * ws.astype(float), **how)
    return layer_of_integers(sum_of, (x, xs, xz), (w, ws, wz, 0), ys, yz)


def qlinear_matmul(a, as_, az, b, bs, bz, ys, yz, **_):
    return layer_of_integers(numpy.matmul, (a, as_, az), (b, bs, bz), ys, yz)


def qlinear_add(a, as_, az, b, bs, bz, ys, yz, **_):
    return layer_of_integers(numpy.add, (a, as_, az), (b, bs, bz), ys, yz)


def qlinear_mean(x, xs, xz, ys, yz, **_):
    return quantize(dequantize(x, xs, xz).mean((2, 3), keepdims=True), ys, yz)


OPERATORS = {
    "Conv": conv, "BatchNormalization": normalized, "Softmax": softmax, "Gemm": gemm, "MatMul": lambda a, b: a @ b,
    "Relu": lambda x: numpy.maximum(x, 0), "Clip": numpy.clip, "Add": lambda a, b: a + b,
    "MaxPool": lambda x, kernel_shape, strides=(1, 1), pads=(0, 0, 0, 0): windows(x, kernel_shape, strides, pads, -numpy.inf).max((4, 5)),
    "GlobalAveragePool": lambda x: x.mean((2, 3), keepdims=True), "Flatten": lambda x, axis=1: x.reshape(len(x), -1),
    "Reshape": lambda x, shape: x.reshape([int(d) for d in shape]), "Concat": lambda *x, axis: numpy.concatenate(x, axis),
    "QuantizeLinear": quantize, "DequantizeLinear": dequantize, "QLinearConv": qlinear_conv, "QLinearMatMul": qlinear_matmul,
    "QLinearAdd": qlinear_add, "QLinearGlobalAveragePool": qlinear_mean,
}


def run(model, given):
    """All values of a model by their names. Floats are doubles, integers keep their types."""
    values = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    values = {k: v.astype(float) if v.dtype.kind == "f" else v for k, v in values.items()}
    values.update(given)
    for node in model.graph.node:
        how = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        values[node.output[0]] = OPERATORS[node.op_type](*(values[name] for name in node.input), **how)
    return values
