# SPDX-License-Identifier: Apache-2.0
#
# The arithmetic of quantized operators in Python's own numbers, from the definitions in vtac/quant.h. quant.h lets a scale
# differ in its last places: data with a result that this could change (close to the middle between two integers, but not on
# it) are drawn again.
import math
from fractions import Fraction

from onnx_cases import Redraw, numpy

F32 = numpy.float32
CLOSE = Fraction(1, 1 << 14)


def half_even(value):
    """A Fraction to the nearest integer, halves to the even one."""
    off = abs(value - math.floor(value) - Fraction(1, 2))
    if 0 < off < CLOSE and abs(value) < 300:
        raise Redraw
    return round(value)


def clamp(value, dtype):
    info = numpy.iinfo(dtype)
    return min(max(value, info.min), info.max)


def each(function, dtype, *arrays):
    """function, element by element, in Python's numbers, saturated to dtype."""
    arrays = numpy.broadcast_arrays(*arrays)
    flat = [clamp(function(*[v.item() for v in row]), dtype) for row in zip(*[a.reshape(-1) for a in arrays])]
    return numpy.array(flat, dtype).reshape(arrays[0].shape)


def exact(scale):
    return Fraction(float(scale))


def rescaled(v, scale, zero, dtype):
    """clamp(round(v * scale) + zero) with the exact product of a float32 scale."""
    return each(lambda a: half_even(a * exact(scale)) + int(zero), dtype, v)


def number(random, dtype, shape):
    info = numpy.iinfo(dtype)
    return random.integers(info.min, info.max + 1, shape).astype(dtype)


def scale(random, low=0.003, high=0.1):
    return F32(random.uniform(low, high))


def whole(x, zero):
    return x.astype(numpy.int64) - int(zero)


def window_sums(x, kernel, stride, pads, count_all, ceil):
    """Sums and counts of two-dimensional windows."""
    rows, columns = x.shape[2:]
    out = []
    for size, k, s, begin, end in ((rows, kernel[0], stride[0], pads[0], pads[2]), (columns, kernel[1], stride[1], pads[1], pads[3])):
        places = (size + begin + end - k) / s
        places = (math.ceil if ceil else math.floor)(places) + 1
        while (places - 1) * s >= size + begin:  # no window starts behind the input
            places -= 1
        out.append(places)
    sums = numpy.zeros(x.shape[:2] + tuple(out), numpy.int64)
    counts = numpy.zeros(tuple(out), numpy.int64)
    for i in range(out[0]):
        for j in range(out[1]):
            for u in range(kernel[0]):
                for v in range(kernel[1]):
                    r, c = i * stride[0] - pads[0] + u, j * stride[1] - pads[1] + v
                    real = 0 <= r < rows and 0 <= c < columns
                    if real:
                        sums[:, :, i, j] += x[:, :, r, c]
                    counts[i, j] += real or (count_all and r < rows + pads[2] and c < columns + pads[3])
    return sums, counts


def window_means(x, x_scale, x_zero, y_scale, y_zero, *window):
    """What QLinearAveragePool makes: each mean by its own count."""
    sums, counts = window_sums(whole(x, x_zero), *window)
    factor = x_scale / (y_scale * counts.astype(F32))
    out = [rescaled(sums[:, :, i, j], factor[i, j], y_zero, x.dtype)
           for i in range(counts.shape[0]) for j in range(counts.shape[1])]
    return numpy.stack(out, -1).reshape(sums.shape)
