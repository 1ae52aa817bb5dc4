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
