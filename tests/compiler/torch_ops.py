#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# PyTorch's operators against plain numpy: every row of compiler/src/torch/ops.def is called at least once, from TorchScript
# archives that are written here, and the README of the importer lists the rows. Numbers are random by the seed, drawn twice.
#
# usage: torch_ops.py VTAC SOURCE   (exit status 77: no numpy)
import math
import os
import re
import subprocess
import sys
import tempfile

import word_seed
from torch_file import Object, Quantized, forward, script

try:
    import numpy as np
except ImportError:
    print("skipped: no numpy")
    sys.exit(77)

AT_ONCE = 24  # operators in one archive


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


erf = np.vectorize(math.erf, otypes=[float])


def gelu(x):
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


def windows(x, kernel, stride, dilation, pads, value):
    """[batch][channels][places...][kernel...]"""
    axes = len(kernel)
    x = np.pad(x, [(0, 0)] * 2 + [(p, p + s) for p, s in zip(pads, stride)], constant_values=value)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    v = np.lib.stride_tricks.sliding_window_view(x, reach, tuple(range(2, 2 + axes)))
    return v[(slice(None),) * 2 + tuple(slice(None, None, s) for s in stride) + tuple(slice(None, None, d) for d in dilation)]


def counted(n, k, s, d, p, ceil):
    """Places of a window on an axis; with `ceil` one more that begins in the input."""
    room = n + 2 * p - (k - 1) * d - 1
    count = room // s + 1
    return count + (1 if ceil and room % s and count * s < n + p else 0)


def pool(x, how, k, s, p, d=1, ceil=False, counts=True):
    axes = x.ndim - 2
    kernel, stride, dilation, pads = [k] * axes, [s] * axes, [d] * axes, [p] * axes
    to = tuple(slice(0, counted(n, k, s, d, p, ceil)) for n in x.shape[2:])
    last = tuple(range(-axes, 0))
    if how == "max":
        return windows(x, kernel, stride, dilation, pads, -np.inf)[(slice(None),) * 2 + to].max(last)
    total = windows(x, kernel, stride, dilation, pads, 0)[(slice(None),) * 2 + to].sum(last)
    ones = np.ones_like(x)
    if counts:  # padding counts, what lies behind it does not
        wide = [(0, 0)] * 2 + [(p, p)] * axes
        ones = np.pad(ones, wide, constant_values=1)
        pads = [0] * axes
    return total / windows(ones, kernel, stride, dilation, pads, 0)[(slice(None),) * 2 + to].sum(last)


def conv(x, w, b, stride=1, pad=0, dilation=1, groups=1):
    axes = x.ndim - 2
    parts = []
    for g in range(groups):
        each_in, each_out = x.shape[1] // groups, w.shape[0] // groups
        v = windows(x[:, g * each_in:(g + 1) * each_in], w.shape[2:], [stride] * axes, [dilation] * axes, [pad] * axes, 0)
        to = tuple(slice(0, counted(n, k, stride, dilation, pad, False)) for n, k in zip(x.shape[2:], w.shape[2:]))
        v = v[(slice(None),) * 2 + to]
        own = w[g * each_out:(g + 1) * each_out]
        parts.append(np.moveaxis(np.tensordot(v, own, ([1] + list(range(-axes, 0)), [1] + list(range(2, 2 + axes)))), -1, 1))
    return np.concatenate(parts, 1) + b.reshape((1, -1) + (1,) * axes)


def conv_back(x, w, b, stride):
    """Weights [in][out][...], no padding."""
    axes = x.ndim - 2
    out = np.zeros((x.shape[0], w.shape[1]) + tuple((n - 1) * stride + k for n, k in zip(x.shape[2:], w.shape[2:])))
    for at in np.ndindex(*x.shape[2:]):
        place = tuple(slice(i * stride, i * stride + k) for i, k in zip(at, w.shape[2:]))
        out[(slice(None),) * 2 + place] += np.tensordot(x[(slice(None),) * 2 + at], w, (1, 0))
    return out + b.reshape((1, -1) + (1,) * axes)


def norm(x, axes, eps):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def adaptive(x, to, how=np.mean):
    for a, m in enumerate(to):
        n = x.shape[a + 2]
        cut = [how(x.take(range(i * n // m, -(-(i + 1) * n // m)), a + 2), a + 2) for i in range(m)]
        x = np.stack(cut, a + 2)
    return x


def linear_axis(x, axis, size):
    n = x.shape[axis]
    at = np.clip((np.arange(size) + 0.5) * n / size - 0.5, 0, None)
    low = np.minimum(np.floor(at).astype(int), n - 1)
    high = np.minimum(low + 1, n - 1)
    share = (at - low).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    return x.take(low, axis) * (1 - share) + x.take(high, axis) * share


def linear_resize(x, to):
    for a, size in enumerate(to):
        x = linear_axis(x, a + 2, size)
    return x


def cubic_axis(x, axis, size):
    n, a = x.shape[axis], -0.75
    at = (np.arange(size) + 0.5) * n / size - 0.5
    low = np.floor(at).astype(int)
    t = at - low
    total = 0
    for k in range(-1, 3):
        d = np.abs(t - k)
        w = np.where(d <= 1, (a + 2) * d ** 3 - (a + 3) * d ** 2 + 1, a * d ** 3 - 5 * a * d ** 2 + 8 * a * d - 4 * a)
        total = total + x.take(np.clip(low + k, 0, n - 1), axis) * w.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    return total


def nearest(x, to, exact=False):
    for a, size in enumerate(to):
        n = x.shape[a + 2]
        x = x.take(np.floor((np.arange(size) + (0.5 if exact else 0)) * n / size).astype(int), a + 2)
    return x


def attention(q, k, v, mask=None):
    s = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    return softmax(s if mask is None else np.where(mask, s, -np.inf), -1) @ v


def heads(x, a, count):
    """Attention to itself by packed weights."""
    q, k, v = np.split(x @ a["qkv"].T + a["qkvb"], 3, -1)
    split = lambda t: t.reshape(t.shape[0], t.shape[1], count, -1).transpose(0, 2, 1, 3)
    y = attention(split(q), split(k), split(v)).transpose(0, 2, 1, 3).reshape(x.shape)
    return y @ a["proj"].T + a["projb"]


def layer(x, a):
    lined = lambda t, i: norm(t, -1, 1e-5) * a["g%d" % i] + a["b%d" % i]
    x = lined(x + heads(x, a, 2), 1)
    return lined(x + np.maximum(x @ a["f1"].T + a["fb1"], 0) @ a["f2"].T + a["fb2"], 2)


def lstm(x, a):
    h = c = np.zeros((x.shape[0], 3))
    out = []
    for t in range(x.shape[1]):
        i, f, g, o = np.split(x[:, t] @ a["wi"].T + a["bi"] + h @ a["wh"].T + a["bh"], 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        out.append(h)
    return np.stack(out, 1)


def gru(x, a):
    h = np.zeros((x.shape[0], 3))
    out = []
    for t in range(x.shape[1]):
        ir, iz, n = np.split(x[:, t] @ a["wi"][:9].T + a["bi"][:9], 3, -1)
        hr, hz, hn = np.split(h @ a["wh"][:9].T + a["bh"][:9], 3, -1)
        r, z = sigmoid(ir + hr), sigmoid(iz + hz)
        h = (1 - z) * np.tanh(n + r * hn) + z * h
        out.append(h)
    return np.stack(out, 1)


def q8(v, scale, zero):
    """Quantized to uint8 and back."""
    return (np.clip(np.rint(v / scale) + zero, 0, 255) - zero) * scale


# ---- the table: names of the rows, the call, numpy

def cases():
    """x, z [2][4][6][8], p the same above 0, s [2][6][8], m [2][6], i [3] integers; a: attributes of the module."""
    one = lambda names, f, arg="x": [(n, "torch.%s(%s)" % (n, arg), f) for n in names.split()]
    yield from one("relu relu_", lambda v: np.maximum(v.x, 0), "torch.clone(x)")
    yield from one("relu6", lambda v: np.clip(v.x, 0, 6))
    yield "hardtanh", "torch.hardtanh(x, -0.5, 0.7)", lambda v: np.clip(v.x, -0.5, 0.7)
    yield "clamp", "torch.clamp(x, None, 0.25)", lambda v: np.minimum(v.x, 0.25)
    yield "clip", "torch.clip(x, -0.5, 0.25)", lambda v: np.clip(v.x, -0.5, 0.25)
    yield "clamp_min", "torch.clamp_min(x, 0.5)", lambda v: np.maximum(v.x, 0.5)
    yield "clamp_max", "torch.clamp_max(x, 0.5)", lambda v: np.minimum(v.x, 0.5)
    yield from one("sigmoid", lambda v: sigmoid(v.x))
    yield from one("tanh", lambda v: np.tanh(v.x))
    yield from one("hardswish", lambda v: v.x * np.clip(v.x + 3, 0, 6) / 6)
    yield from one("hardsigmoid", lambda v: np.clip(v.x + 3, 0, 6) / 6)
    yield from one("silu", lambda v: v.x * sigmoid(v.x))
    yield from one("gelu", lambda v: gelu(v.x))
    yield "gelu", "torch.gelu(x, approximate=\"tanh\")", lambda v: 0.5 * v.x * (1 + np.tanh(math.sqrt(2 / math.pi) * (v.x + 0.044715 * v.x ** 3)))
    yield from one("mish", lambda v: v.x * np.tanh(np.log1p(np.exp(v.x))))
    yield "softplus", "torch.softplus(x, 2, 20)", lambda v: np.log1p(np.exp(2 * v.x)) / 2
    yield from one("softsign", lambda v: v.x / (1 + np.abs(v.x)))
    yield "elu", "torch.elu(x, 0.5, 1, 1)", lambda v: np.where(v.x > 0, v.x, 0.5 * np.expm1(v.x))
    yield "celu", "torch.celu(x, 0.5)", lambda v: np.where(v.x > 0, v.x, 0.5 * np.expm1(v.x / 0.5))
    yield from one("selu", lambda v: 1.0507009873554805 * np.where(v.x > 0, v.x, 1.6732632423543772 * np.expm1(v.x)))
    yield "leaky_relu", "torch.leaky_relu(x, 0.125)", lambda v: np.where(v.x > 0, v.x, 0.125 * v.x)
    for n in ("prelu", "_prelu_kernel"):
        yield n, "torch.%s(x, self.c4)" % n, lambda v: np.where(v.x > 0, v.x, v.x * v.a["c4"].reshape(4, 1, 1))
    yield from one("log_sigmoid", lambda v: -np.log1p(np.exp(-v.x)))
    yield "threshold", "torch.threshold(x, 0.1, 0.5)", lambda v: np.where(v.x > 0.1, v.x, 0.5)
    yield "glu", "torch.glu(x, 1)", lambda v: v.x[:, :2] * sigmoid(v.x[:, 2:])
    yield "softmax", "torch.softmax(x, 1)", lambda v: softmax(v.x, 1)
    yield "_softmax", "torch._softmax(x, -1, False)", lambda v: softmax(v.x, 3)
    yield "log_softmax", "torch.log_softmax(x, 2)", lambda v: np.log(softmax(v.x, 2))
    yield "_log_softmax", "torch._log_softmax(x, 0, False)", lambda v: np.log(softmax(v.x, 0))
    for n, f in (("abs", np.abs), ("neg", np.negative), ("sign", np.sign), ("square", np.square), ("exp", np.exp), ("exp2", np.exp2), ("expm1", np.expm1),
                 ("floor", np.floor), ("ceil", np.ceil), ("round", np.rint), ("trunc", np.trunc), ("sin", np.sin), ("cos", np.cos), ("tan", np.tan),
                 ("atan", np.arctan), ("sinh", np.sinh), ("cosh", np.cosh), ("erf", erf), ("isnan", np.isnan), ("isinf", np.isinf)):
        yield n, "torch.%s(x)" % n, lambda v, f=f: f(v.x)
    for n, f in (("log", np.log), ("log1p", np.log1p), ("log2", np.log2), ("log10", np.log10), ("sqrt", np.sqrt), ("rsqrt", lambda p: 1 / np.sqrt(p)), ("reciprocal", np.reciprocal)):
        yield n, "torch.%s(p)" % n, lambda v, f=f: f(v.p)
    for n, f in (("asin", np.arcsin), ("acos", np.arccos)):
        yield n, "torch.%s(torch.tanh(x))" % n, lambda v, f=f: f(np.tanh(v.x))
    for n in ("logical_not", "bitwise_not"):
        yield n, "torch.%s(torch.gt(x, z))" % n, lambda v: ~(v.x > v.z)
    for n, f in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("multiply", np.multiply), ("maximum", np.maximum), ("minimum", np.minimum),
                 ("rsub", lambda a, b: b - a), ("eq", np.equal), ("ne", np.not_equal), ("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal)):
        yield n, "torch.%s(x, z)" % n, lambda v, f=f: f(v.x, v.z)
    yield "add", "torch.add(x, z, alpha=0.5)", lambda v: v.x + 0.5 * v.z
    yield "add", "torch.add(i, 0.5)", lambda v: v.i + 0.5
    yield "mul", "torch.mul(x, 3)", lambda v: v.x * 3
    yield "sub", "torch.sub(x, self.c8)", lambda v: v.x - v.a["c8"]
    for n in ("div", "divide", "true_divide"):
        yield n, "torch.%s(x, p)" % n, lambda v: v.x / v.p
    yield "div", "torch.div(i, 2)", lambda v: v.i / 2
    yield "div", "torch.div(x, 0.25, rounding_mode=\"trunc\")", lambda v: np.trunc(v.x / 0.25)
    for n in ("floor_divide", "floordiv"):
        yield n, "torch.%s(torch.sub(i, 2), 2)" % n, lambda v: (v.i - 2) // 2
    yield "remainder", "torch.remainder(torch.sub(i, 2), 3)", lambda v: (v.i - 2) % 3
    yield "remainder", "torch.remainder(x, 0.75)", lambda v: v.x - np.floor(v.x / 0.75) * 0.75
    yield "pow", "torch.pow(p, 1.5)", lambda v: v.p ** 1.5
    yield "pow", "torch.pow(x, 2)", lambda v: v.x ** 2
    for n, f in (("logical_and", np.logical_and), ("logical_or", np.logical_or), ("logical_xor", np.logical_xor), ("bitwise_and", np.logical_and), ("bitwise_or", np.logical_or),
                 ("bitwise_xor", np.logical_xor), ("__and__", np.logical_and), ("__or__", np.logical_or)):
        yield n, "torch.%s(torch.gt(x, 0), torch.gt(z, 0))" % n, lambda v, f=f: f(v.x > 0, v.z > 0)
    yield "where", "torch.where(torch.gt(x, 0), x, z)", lambda v: np.where(v.x > 0, v.x, v.z)
    yield "masked_fill", "torch.masked_fill(x, torch.gt(z, 0), -2.)", lambda v: np.where(v.z > 0, -2, v.x)
    for n, f in (("sum", np.sum), ("mean", np.mean), ("amax", np.max), ("amin", np.min), ("logsumexp", lambda x, a, keepdims: np.log(np.exp(x).sum(a, keepdims=keepdims)))):
        yield n, "torch.%s(x, [1, -1], True)" % n, lambda v, f=f: f(v.x, (1, 3), keepdims=True)
    yield "sum", "torch.sum(i)", lambda v: v.i.sum()
    yield "prod", "torch.prod(x, 1, False)", lambda v: v.x.prod(1)
    for n, f, g in (("max", np.max, np.argmax), ("min", np.min, np.argmin)):
        yield n, "torch.%s(x)" % n, lambda v, f=f: f(v.x)
        yield n, "(torch.%s(x, 2, True))[0]" % n, lambda v, f=f: f(v.x, 2, keepdims=True)
        yield n, "(torch.%s(x, 2))[1]" % n, lambda v, g=g: g(v.x, 2)
        yield "arg" + n, "torch.arg%s(x, 1)" % n, lambda v, g=g: g(v.x, 1)
    yield "max", "torch.max(x, z)", lambda v: np.maximum(v.x, v.z)
    yield "any", "torch.any(torch.gt(x, 1.), 1)", lambda v: (v.x > 1).any(1)
    yield "all", "torch.all(torch.gt(x, -1.), 1)", lambda v: (v.x > -1).all(1)
    yield "var", "torch.var(x, [2, 3], True, True)", lambda v: v.x.var((2, 3), ddof=1, keepdims=True)
    yield "std", "torch.std(x, False)", lambda v: v.x.std()
    yield "norm", "torch.norm(x, 2, [1], True)", lambda v: np.sqrt((v.x ** 2).sum(1, keepdims=True))
    yield "linalg_vector_norm", "torch.linalg_vector_norm(x, 1, [1])", lambda v: np.abs(v.x).sum(1)
    yield "cumsum", "torch.cumsum(x, -1)", lambda v: v.x.cumsum(-1)
    yield "topk", "(torch.topk(x, 3))[0]", lambda v: np.sort(v.x, -1)[..., ::-1][..., :3]
    yield "sort", "(torch.sort(x, 1))[0]", lambda v: np.sort(v.x, 1)
    yield "argsort", "torch.argsort(x, 2, True)", lambda v: np.argsort(-v.x, 2, kind="stable")
    # windows
    yield "conv1d", "torch.conv1d(s, self.w1, self.b5, [2], [1])", lambda v: conv(v.s, v.a["w1"], v.a["b5"], 2, 1)
    yield "conv2d", "torch.conv2d(x, self.w2, self.b6, [1, 1], [1, 1], [2, 2], 2)", lambda v: conv(v.x, v.a["w2"], v.a["b6"], 1, 1, 2, 2)
    yield "conv2d", "torch.conv2d(x, self.w2, None, [1, 1], \"same\", [1, 1], 2)", lambda v: conv(v.x, v.a["w2"], 0 * v.a["b6"], 1, 1, 1, 2)
    yield "conv3d", "torch.conv3d(torch.unsqueeze(x, 0), self.w3, self.b5)", lambda v: conv(v.x[None], v.a["w3"], v.a["b5"])
    yield "_convolution", "torch._convolution(x, self.w2, self.b6, [2, 2], [0, 0], [1, 1], False, [0, 0], 2, False, False, True, True)", lambda v: conv(v.x, v.a["w2"], v.a["b6"], 2, 0, 1, 2)
    yield "_convolution_mode", "torch._convolution_mode(x, self.w2, self.b6, [1, 1], \"valid\", [1, 1], 2)", lambda v: conv(v.x, v.a["w2"], v.a["b6"], 1, 0, 1, 2)
    yield "convolution", "torch.convolution(x, self.t2, self.b5, [2, 2], [0, 0], [1, 1], True, [0, 0], 1)", lambda v: conv_back(v.x, v.a["t2"], v.a["b5"], 2)
    yield "conv_transpose1d", "torch.conv_transpose1d(s, self.t1, self.b5, [2])", lambda v: conv_back(v.s, v.a["t1"], v.a["b5"], 2)
    yield "conv_transpose2d", "torch.conv_transpose2d(x, self.t2, self.b5, [2, 2], [1, 1], [1, 1])", lambda v: conv_back(v.x, v.a["t2"], v.a["b5"], 2)[:, :, 1:, 1:]
    yield "conv_transpose3d", "torch.conv_transpose3d(torch.unsqueeze(x, 0), self.t3, self.b5)", lambda v: conv_back(v.x[None], v.a["t3"], v.a["b5"], 1)
    yield "max_pool1d", "torch.max_pool1d(s, [3], [2], [1])", lambda v: pool(v.s, "max", 3, 2, 1)
    yield "max_pool2d", "torch.max_pool2d(x, [3, 3], [2, 2], [1, 1], [1, 1], True)", lambda v: pool(v.x, "max", 3, 2, 1, 1, True)
    yield "max_pool3d", "torch.max_pool3d(torch.unsqueeze(x, 0), [2, 2, 2], annotate(List[int], []))", lambda v: pool(v.x[None], "max", 2, 2, 0)
    yield "max_pool2d_with_indices", "(torch.max_pool2d_with_indices(x, [2, 2], [1, 1]))[0]", lambda v: pool(v.x, "max", 2, 1, 0)
    yield "max_pool3d_with_indices", "(torch.max_pool3d_with_indices(torch.unsqueeze(x, 0), [2, 2, 2], [1, 1, 1]))[0]", lambda v: pool(v.x[None], "max", 2, 1, 0)
    yield "avg_pool1d", "torch.avg_pool1d(s, [3], [2], [1], False, False)", lambda v: pool(v.s, "avg", 3, 2, 1, 1, False, False)
    yield "avg_pool2d", "torch.avg_pool2d(x, [3, 3], [2, 2], [1, 1], True)", lambda v: pool(v.x, "avg", 3, 2, 1, 1, True)
    yield "avg_pool2d", "torch.avg_pool2d(x, [2, 2], [2, 2], [0, 0], False, True, 3)", lambda v: pool(v.x, "avg", 2, 2, 0) * 4 / 3
    yield "avg_pool3d", "torch.avg_pool3d(torch.unsqueeze(x, 0), [2, 2, 2])", lambda v: pool(v.x[None], "avg", 2, 2, 0)
    yield "adaptive_avg_pool1d", "torch.adaptive_avg_pool1d(s, [3])", lambda v: adaptive(v.s, [3])
    yield "adaptive_avg_pool2d", "torch.adaptive_avg_pool2d(x, [4, 3])", lambda v: adaptive(v.x, [4, 3])
    yield "adaptive_avg_pool2d", "torch.adaptive_avg_pool2d(x, [None, 1])", lambda v: v.x.mean(3, keepdims=True)
    yield "_adaptive_avg_pool2d", "torch._adaptive_avg_pool2d(x, [1, 1])", lambda v: adaptive(v.x, [1, 1])
    yield "adaptive_avg_pool3d", "torch.adaptive_avg_pool3d(torch.unsqueeze(x, 0), [2, 3, 5])", lambda v: adaptive(v.x[None], [2, 3, 5])
    yield "adaptive_max_pool1d", "(torch.adaptive_max_pool1d(s, [1]))[0]", lambda v: v.s.max(2, keepdims=True)
    yield "adaptive_max_pool2d", "(torch.adaptive_max_pool2d(x, [3, 4]))[0]", lambda v: adaptive(v.x, [3, 4], np.max)
    yield "upsample_nearest1d", "torch.upsample_nearest1d(s, [13])", lambda v: nearest(v.s, [13])
    yield "upsample_nearest2d", "torch.upsample_nearest2d(x, [9, 20])", lambda v: nearest(v.x, [9, 20])
    yield "upsample_nearest2d", "torch.upsample_nearest2d(x, None, [2., 2.])", lambda v: nearest(v.x, [12, 16])
    yield ("upsample_nearest2d", "torch.upsample_nearest2d(x, [10, 13], 1.7, 1.7)",
           lambda v: v.x[:, :, np.floor(np.arange(10) / 1.7).astype(int)][..., np.floor(np.arange(13) / 1.7).astype(int)])
    yield "upsample_nearest3d", "torch.upsample_nearest3d(torch.unsqueeze(x, 0), [8, 6, 8])", lambda v: nearest(v.x[None], [8, 6, 8])
    yield "_upsample_nearest_exact2d", "torch._upsample_nearest_exact2d(x, [9, 20])", lambda v: nearest(v.x, [9, 20], True)
    yield "upsample_linear1d", "torch.upsample_linear1d(s, [13], False)", lambda v: linear_resize(v.s, [13])
    yield "upsample_bilinear2d", "torch.upsample_bilinear2d(x, [9, 20], False)", lambda v: linear_resize(v.x, [9, 20])
    yield "upsample_trilinear3d", "torch.upsample_trilinear3d(torch.unsqueeze(x, 0), [8, 6, 11], False)", lambda v: linear_resize(v.x[None], [8, 6, 11])
    yield "upsample_bicubic2d", "torch.upsample_bicubic2d(x, [9, 20], False)", lambda v: cubic_axis(cubic_axis(v.x, 2, 9), 3, 20)
    # normalizations
    def batch(v):
        by = lambda n: v.a[n].reshape(4, 1, 1)
        return (v.x - by("c4")) / np.sqrt(by("v4") + 1e-3) * by("g4") + by("h4")
    yield "batch_norm", "torch.batch_norm(x, self.g4, self.h4, self.c4, self.v4, False, 0.1, 0.001, True)", batch
    yield "_native_batch_norm_legit_no_training", "(torch._native_batch_norm_legit_no_training(x, self.g4, self.h4, self.c4, self.v4, 0.1, 0.001))[0]", batch
    for n in ("native_batch_norm", "_native_batch_norm_legit"):
        yield n, "(torch.%s(x, self.g4, self.h4, self.c4, self.v4, False, 0.1, 0.001))[0]" % n, batch
    yield "layer_norm", "torch.layer_norm(x, [8], self.c8, self.g8, 1e-05, True)", lambda v: norm(v.x, -1, 1e-5) * v.a["c8"] + v.a["g8"]
    yield "native_layer_norm", "(torch.native_layer_norm(x, [6, 8], None, None, 1e-05))[0]", lambda v: norm(v.x, (2, 3), 1e-5)
    yield "rms_norm", "torch.rms_norm(x, [8], self.c8, 1e-05)", lambda v: v.x / np.sqrt((v.x ** 2).mean(-1, keepdims=True) + 1e-5) * v.a["c8"]
    def grouped(v):
        return norm(v.x.reshape(2, 2, -1), -1, 1e-5).reshape(v.x.shape) * v.a["g4"].reshape(4, 1, 1) + v.a["h4"].reshape(4, 1, 1)
    yield "group_norm", "torch.group_norm(x, 2, self.g4, self.h4, 1e-05, True)", grouped
    yield "native_group_norm", "(torch.native_group_norm(x, self.g4, self.h4, 1, 4, 48, 2, 1e-05))[0]", grouped
    yield "instance_norm", "torch.instance_norm(x, None, None, None, None, True, 0.1, 1e-05, True)", lambda v: norm(v.x, (2, 3), 1e-5)
    # products
    yield "linear", "torch.linear(x, self.l8, self.b5)", lambda v: v.x @ v.a["l8"].T + v.a["b5"]
    yield "matmul", "torch.matmul(x, torch.transpose(z, 2, 3))", lambda v: v.x @ v.z.transpose(0, 1, 3, 2)
    yield "bmm", "torch.bmm(s, torch.transpose(s, 1, 2))", lambda v: v.s @ v.s.transpose(0, 2, 1)
    yield "mm", "torch.mm(torch.t(m), m)", lambda v: v.m.T @ v.m
    yield "addmm", "torch.addmm(self.b6, m, self.q6, beta=0.5, alpha=2)", lambda v: 0.5 * v.a["b6"] + 2 * v.m @ v.a["q6"]
    yield "baddbmm", "torch.baddbmm(self.b6, s, torch.transpose(s, 1, 2), beta=1, alpha=0.5)", lambda v: v.a["b6"] + 0.5 * v.s @ v.s.transpose(0, 2, 1)
    yield "einsum", "torch.einsum(\"nchw,nkhw->nck\", [x, z])", lambda v: np.einsum("nchw,nkhw->nck", v.x, v.z)
    yield "scaled_dot_product_attention", "torch.scaled_dot_product_attention(x, z, p)", lambda v: attention(v.x, v.z, v.p)
    yield "scaled_dot_product_attention", "torch.scaled_dot_product_attention(x, z, p, None, 0., True)", lambda v: attention(v.x, v.z, v.p, np.tril(np.ones((6, 6), bool)))
    yield "_native_multi_head_attention", "(torch._native_multi_head_attention(s, s, s, 8, 2, self.qkv, self.qkvb, self.proj, self.projb, None, False, True, None))[0]", lambda v: heads(v.s, v.a, 2)
    yield "_transformer_encoder_layer_fwd", ("torch._transformer_encoder_layer_fwd(s, 8, 2, self.qkv, self.qkvb, self.proj, self.projb, False, False, 1e-05, self.g1, self.b1, self.g2, "
                                             "self.b2, self.f1, self.fb1, self.f2, self.fb2, None, None)"), lambda v: layer(v.s, v.a)
    yield "lstm", "(torch.lstm(s, [torch.zeros([1, 2, 3]), torch.zeros([1, 2, 3])], [self.wi, self.wh, self.bi, self.bh], True, 1, 0., False, False, True))[0]", lambda v: lstm(v.s, v.a)
    yield "gru", "(torch.gru(s, torch.zeros([1, 2, 3]), [self.wi9, self.wh9, self.bi9, self.bh9], True, 1, 0., False, False, True))[0]", lambda v: gru(v.s, v.a)
    yield "embedding", "torch.embedding(self.l8, i, -1, False, False)", lambda v: v.a["l8"][v.i]
    yield "index_select", "torch.index_select(x, 1, i)", lambda v: v.x[:, v.i]
    yield "gather", "torch.gather(m, 1, torch.reshape(torch.slice(i, 0, 0, 2), [2, 1]))", lambda v: np.take_along_axis(v.m, v.i[:2].reshape(2, 1), 1)
    yield "index", "torch.index(x, annotate(List[Optional[Tensor]], [None, None, i]))", lambda v: v.x[:, :, v.i]
    yield "scatter", "torch.scatter(m, 1, torch.zeros([2, 1], dtype=4), self.o21)", lambda v: np.concatenate([v.a["o21"], v.m[:, 1:]], 1)
    yield "scatter", "torch.scatter(m, 1, torch.zeros([2, 1], dtype=4), 0.5)", lambda v: np.concatenate([np.full((2, 1), 0.5), v.m[:, 1:]], 1)
    yield "one_hot", "torch.one_hot(i, 5)", lambda v: np.eye(5, dtype=int)[v.i]
    # shapes
    for n in ("contiguous", "alias", "detach", "lift_fresh_copy", "requires_grad", "cpu", "clone"):
        yield n, "torch.%s(x)" % n, lambda v: v.x
    yield "prim.data", "ops.prim.data(x)", lambda v: v.x
    for n in ("dropout", "feature_dropout"):
        yield n, "torch.%s(x, 0.5, False)" % n, lambda v: v.x
    for n in ("view", "reshape", "_unsafe_view"):
        yield n, "torch.%s(x, [2, -1, 16])" % n, lambda v: v.x.reshape(2, -1, 16)
    yield "_reshape_alias", "torch._reshape_alias(x, [2, 12, 16], [192, 16, 1])", lambda v: v.x.reshape(2, 12, 16)
    for n in ("view_as", "reshape_as"):
        yield n, "torch.%s(x, torch.flatten(x, 2))" % n, lambda v: v.x.reshape(2, 4, 48)
    yield "flatten", "torch.flatten(x, 1, -2)", lambda v: v.x.reshape(2, 24, 8)
    yield "unflatten", "torch.unflatten(x, 3, [2, -1])", lambda v: v.x.reshape(2, 4, 6, 2, 4)
    yield "squeeze", "torch.squeeze(torch.reshape(x, [2, 1, 192, 1]), 1)", lambda v: v.x.reshape(2, 192, 1)
    yield "squeeze", "torch.squeeze(torch.reshape(x, [2, 1, 192, 1]))", lambda v: v.x.reshape(2, 192)
    yield "unsqueeze", "torch.unsqueeze(x, -2)", lambda v: v.x[:, :, :, None]
    yield "permute", "torch.permute(x, [0, -1, 1, 2])", lambda v: v.x.transpose(0, 3, 1, 2)
    for n in ("transpose", "swapaxes"):
        yield n, "torch.%s(x, 1, -1)" % n, lambda v: v.x.swapaxes(1, 3)
    yield "t", "torch.t(m)", lambda v: v.m.T
    yield "mT", "torch.mT(x)", lambda v: v.x.swapaxes(2, 3)
    yield "expand", "torch.expand(m, [3, -1, 6])", lambda v: np.broadcast_to(v.m, (3, 2, 6))
    yield "expand_as", "torch.expand_as(torch.select(x, 1, 0), torch.select(x, 1, 1))", lambda v: v.x[:, 0]
    for n in ("repeat", "tile"):
        yield n, "torch.%s(m, [2, 1, 3])" % n, lambda v: np.tile(v.m, (2, 1, 3))
    for n in ("cat", "concat"):
        yield n, "torch.%s([x, z], -1)" % n, lambda v: np.concatenate([v.x, v.z], 3)
    yield "cat", "torch.cat([i, m0])", lambda v: np.concatenate([v.i, v.m[0]])
    yield "stack", "torch.stack([x, z], 2)", lambda v: np.stack([v.x, v.z], 2)
    yield "slice", "torch.slice(x, 3, 1, 9223372036854775807, 2)", lambda v: v.x[..., 1::2]
    yield "slice", "torch.slice(x, -1, -3)", lambda v: v.x[..., -3:]
    yield "narrow", "torch.narrow(x, 3, 2, 4)", lambda v: v.x[..., 2:6]
    yield "select", "torch.select(x, 2, -1)", lambda v: v.x[:, :, -1]
    yield "split", "(torch.split(x, 5, 3))[1]", lambda v: v.x[..., 5:]
    yield "split", "(torch.split(x, [1, 3], 1))[1]", lambda v: v.x[:, 1:]
    yield "split_with_sizes", "(torch.split_with_sizes(x, [2, 6], -1))[0]", lambda v: v.x[..., :2]
    yield "chunk", "(torch.chunk(x, 3, 3))[2]", lambda v: v.x[..., 6:]
    yield "unbind", "(torch.unbind(x, 1))[3]", lambda v: v.x[:, 3]
    yield "flip", "torch.flip(x, [1, 3])", lambda v: v.x[:, ::-1, :, ::-1]
    yield "roll", "torch.roll(x, [1, -2], [2, 3])", lambda v: np.roll(v.x, (1, -2), (2, 3))
    yield "pad", "torch.pad(x, [1, 2, -1, 0], \"constant\", 0.5)", lambda v: np.pad(v.x[:, :, 1:], [(0, 0)] * 3 + [(1, 2)], constant_values=0.5)
    yield "pad", "torch.pad(x, [1, 2], \"circular\")", lambda v: np.pad(v.x, [(0, 0)] * 3 + [(1, 2)], mode="wrap")
    yield "constant_pad_nd", "torch.constant_pad_nd(x, [0, 0, 1, 1], 2)", lambda v: np.pad(v.x, [(0, 0), (0, 0), (1, 1), (0, 0)], constant_values=2)
    for n, mode in (("reflection_pad1d", "reflect"), ("replication_pad1d", "edge")):
        yield n, "torch.%s(s, [2, 1])" % n, lambda v, mode=mode: np.pad(v.s, [(0, 0), (0, 0), (2, 1)], mode=mode)
    for n, mode in (("reflection_pad2d", "reflect"), ("replication_pad2d", "edge")):
        yield n, "torch.%s(x, [2, 1, 0, 3])" % n, lambda v, mode=mode: np.pad(v.x, [(0, 0), (0, 0), (0, 3), (2, 1)], mode=mode)
    yield "pixel_shuffle", "torch.pixel_shuffle(x, 2)", lambda v: v.x.reshape(2, 1, 2, 2, 6, 8).transpose(0, 1, 4, 2, 5, 3).reshape(2, 1, 12, 16)
    yield "pixel_unshuffle", "torch.pixel_unshuffle(x, 2)", lambda v: v.x.reshape(2, 4, 3, 2, 4, 2).transpose(0, 1, 3, 5, 2, 4).reshape(2, 16, 3, 4)
    yield "channel_shuffle", "torch.channel_shuffle(x, 2)", lambda v: v.x.reshape(2, 2, 2, 6, 8).transpose(0, 2, 1, 3, 4).reshape(v.x.shape)
    yield "tril", "torch.tril(x, -1)", lambda v: np.tril(v.x, -1)
    yield "triu", "torch.triu(x)", lambda v: np.triu(v.x)
    # new tensors, types, sizes
    for n, value in (("zeros", 0), ("ones", 1)):
        yield n, "torch.add(x, torch.%s([6, 1], dtype=None, layout=None))" % n, lambda v, value=value: v.x + value
        yield n + "_like", "torch.add(x, torch.%s_like(x))" % n, lambda v, value=value: v.x + value
        yield "new_" + n, "torch.add(x, torch.new_%s(x, [6, 1]))" % n, lambda v, value=value: v.x + value
    yield "full", "torch.add(x, torch.full([8], 2.5, dtype=6))", lambda v: v.x + 2.5
    yield "full_like", "torch.add(x, torch.full_like(x, 3))", lambda v: v.x + 3
    yield "new_full", "torch.add(x, torch.new_full(x, [1], 3))", lambda v: v.x + 3
    yield "fill", "torch.add(x, torch.fill(z, 1.5))", lambda v: v.x + 1.5
    yield "zero", "torch.add(x, torch.zero(z))", lambda v: v.x
    yield "arange", "torch.add(x, torch.arange(torch.size(x, 3), dtype=None))", lambda v: v.x + np.arange(8)
    yield "arange", "torch.add(x, torch.arange(0., 4., 0.5))", lambda v: v.x + np.arange(0, 4, 0.5)
    yield "linspace", "torch.add(x, torch.linspace(-1, 2.5, 8))", lambda v: v.x + np.linspace(-1, 2.5, 8)
    yield "scalar_tensor", "torch.add(x, torch.scalar_tensor(2.5, dtype=6))", lambda v: v.x + 2.5
    yield "tensor", "torch.add(x, torch.tensor([1, 2, 3, 4, 5, 6, 7, 8]))", lambda v: v.x + np.arange(1, 9)
    yield "prim.NumToTensor", "torch.mul(x, ops.prim.NumToTensor(torch.size(x, 2)))", lambda v: v.x * 6
    yield "to", "torch.to(x, 4)", lambda v: v.x.astype(np.int64)
    yield "to", "torch.to(i, torch.device(\"cpu\"), 6)", lambda v: v.i.astype(np.float32)
    yield "_to_copy", "torch._to_copy(i, dtype=6)", lambda v: v.i.astype(np.float32)
    yield "type_as", "torch.type_as(i, x)", lambda v: v.i.astype(np.float32)
    yield "_cast_Float", "torch._cast_Float(i)", lambda v: v.i.astype(np.float32)
    for n in ("size", "sym_size"):
        yield n, "torch.mul(x, torch.%s(x, -1))" % n, lambda v: v.x * 8
    yield "size", "torch.view(x, [(torch.size(x))[0], -1])", lambda v: v.x.reshape(2, -1)
    yield "dim", "torch.mul(x, torch.dim(x))", lambda v: v.x * 4
    for n in ("numel", "sym_numel"):
        yield n, "torch.mul(x, torch.%s(m))" % n, lambda v: v.x * 12
    yield "prim.dtype", "torch.to(i, ops.prim.dtype(x))", lambda v: v.i.astype(np.float32)
    yield "prim.is_quantized", "torch.mul(x, int(ops.prim.is_quantized(x)))", lambda v: v.x * 0
    yield "is_floating_point", "torch.mul(x, int(torch.is_floating_point(x)))", lambda v: v.x
    yield "len", "torch.mul(x, torch.len(x))", lambda v: v.x * 2
    for n in ("item", "Int", "IntImplicit", "ScalarImplicit", "_local_scalar_dense"):
        yield n, "torch.mul(x, ops.aten.%s(ops.prim.NumToTensor(3)))" % n, lambda v: v.x * 3
    # quantized: q has scale 1/32 and zero point 100, r 1/16 and 128
    real = lambda v: q8(v.x, 1 / 32, 100)
    other = lambda v: q8(v.z, 1 / 16, 128)
    yield "quantize_per_tensor", "torch.dequantize(q)", real
    yield "dequantize", "torch.dequantize(torch.flatten(q, 1))", lambda v: real(v).reshape(2, -1)
    weight = lambda v, n: v.a[n].data * (v.a[n].scale.reshape(-1, *[1] * (v.a[n].data.ndim - 1)) if v.a[n].axis is not None else v.a[n].scale)
    def q_conv(v, relu=False):
        y = conv(real(v), weight(v, "qw"), np.rint(v.a["b6"] / (v.a["qw"].scale / 32)) * (v.a["qw"].scale / 32), 1, 1)
        return q8(np.maximum(y, 0) if relu else y, 0.125, 120)
    def q_linear(v, relu=False):
        y = real(v).reshape(2, -1) @ weight(v, "ql").T
        return q8(np.maximum(y, 0) if relu else y, 0.25, 120)
    yield "quantized.conv2d_prepack", "torch.dequantize(ops.quantized.conv2d(q, ops.quantized.conv2d_prepack(self.qw, self.b6, [1, 1], [1, 1], [1, 1], 1), 0.125, 120))", q_conv, 0.125
    yield "quantized.conv2d", "torch.dequantize(ops.quantized.conv2d(q, self.packed2, 0.125, 120))", q_conv, 0.125
    yield "quantized.conv2d_relu", "torch.dequantize(ops.quantized.conv2d_relu(q, self.packed3, 0.125, 120))", lambda v: q_conv(v, True), 0.125
    yield "quantized.linear_prepack", "torch.dequantize(ops.quantized.linear(torch.flatten(q, 1), ops.quantized.linear_prepack(self.ql, None), 0.25, 120))", q_linear, 0.25
    yield "quantized.linear", "torch.dequantize(ops.quantized.linear(torch.flatten(q, 1), self.packedl, 0.25, 120))", q_linear, 0.25
    yield "quantized.linear_relu", "torch.dequantize(ops.quantized.linear_relu(torch.flatten(q, 1), self.packedl, 0.25, 120))", lambda v: q_linear(v, True), 0.25
    for n, f in (("add", np.add), ("mul", np.multiply)):
        yield "quantized." + n, "torch.dequantize(ops.quantized.%s(q, r, 0.0625, 110))" % n, lambda v, f=f: q8(f(real(v), other(v)), 0.0625, 110), 0.0625
        yield "quantized.%s_relu" % n, "torch.dequantize(ops.quantized.%s_relu(q, r, 0.0625, 110))" % n, lambda v, f=f: q8(np.maximum(f(real(v), other(v)), 0), 0.0625, 110), 0.0625
    yield "quantized.add_scalar", "torch.dequantize(ops.quantized.add_scalar(q, 1.))", lambda v: real(v) + 1
    yield "quantized.add_scalar", "torch.dequantize(ops.quantized.add_scalar(q, 5.))", lambda v: real(v) + 5, 0.06
    yield "quantized.add_scalar_relu", "torch.dequantize(ops.quantized.add_scalar_relu(q, -1.))", lambda v: np.maximum(real(v) - 1, 0)
    yield "quantized.mul_scalar", "torch.dequantize(ops.quantized.mul_scalar(q, 2.))", lambda v: real(v) * 2
    yield "quantized.mul_scalar_relu", "torch.dequantize(ops.quantized.mul_scalar_relu(q, 0.5))", lambda v: np.maximum(real(v), 0) * 0.5
    yield "quantized.cat", "torch.dequantize(ops.quantized.cat([q, r], 1, 0.0625, 110))", lambda v: q8(np.concatenate([real(v), other(v)], 1), 0.0625, 110), 0.0625
    yield "quantized.cat_relu", "torch.dequantize(ops.quantized.cat_relu([q, r], 1, 0.0625, 110))", lambda v: q8(np.maximum(np.concatenate([real(v), other(v)], 1), 0), 0.0625, 110), 0.0625
    yield "quantized.relu6", "torch.dequantize(ops.quantized.relu6(q, False))", lambda v: np.clip(real(v), 0, 6)
    yield "quantized.hardswish", "torch.dequantize(ops.quantized.hardswish(q, 0.03125, 20))", lambda v: q8(real(v) * np.clip(real(v) + 3, 0, 6) / 6, 0.03125, 20), 0.03125
    yield "quantized.sigmoid", "torch.dequantize(ops.quantized.sigmoid(q, 0.00390625, 0))", lambda v: q8(sigmoid(real(v)), 1 / 256, 0), 1 / 256
    yield "quantized.leaky_relu", "torch.dequantize(ops.quantized.leaky_relu(q, 0.125, False, 0.03125, 20))", lambda v: q8(np.where(real(v) > 0, 1, 0.125) * real(v), 0.03125, 20), 0.03125
    def q_batch(v, relu=False):
        by = lambda n: v.a[n].reshape(4, 1, 1)
        y = (real(v) - by("c4")) / np.sqrt(by("v4") + 1e-5) * by("g4") + by("h4")
        return q8(np.maximum(y, 0) if relu else y, 0.0625, 110)
    for n, relu in (("quantized.batch_norm2d", False), ("quantized.batch_norm2d_relu", True)):
        yield n, "torch.dequantize(ops.%s(q, self.g4, self.h4, self.c4, self.v4, 1e-05, 0.0625, 110))" % n, lambda v, relu=relu: q_batch(v, relu), 0.0625
    yield ("quantized_decomposed.quantize_per_tensor", "torch.to(ops.quantized_decomposed.quantize_per_tensor(x, 0.03125, 0, -30, 127, 1), 6)",
           lambda v: np.clip(np.rint(v.x * 32), -30, 127), 1.0)
    yield ("quantized_decomposed.dequantize_per_tensor", "ops.quantized_decomposed.dequantize_per_tensor(ops.quantized_decomposed.quantize_per_tensor(x, 0.03125, 100, 0, 255, 0), "
           "0.03125, 100, 0, 255, 0)", real)
    yield ("quantized_decomposed.dequantize_per_channel", "torch.matmul(m, ops.quantized_decomposed.dequantize_per_channel(self.qi, self.qs, self.qz, 0, -127, 127, 1))",
           lambda v: v.m @ (v.a["qi"] * v.a["qs"][:, None]))
    yield "relu", "torch.dequantize(torch.relu(q))", lambda v: np.maximum(real(v), 0)
    yield "max_pool2d", "torch.dequantize(torch.max_pool2d(q, [2, 2]))", lambda v: pool(real(v), "max", 2, 2, 0)
    yield "mean", "torch.dequantize(torch.mean(q, [2, 3]))", lambda v: q8(real(v).mean((2, 3)), 1 / 32, 100), 1 / 32
    yield "sigmoid", "torch.dequantize(torch.sigmoid(q))", lambda v: q8(sigmoid(real(v)), 1 / 256, 0), 1 / 256


SILENT = ("_assert_tensor_metadata", "_assert_scalar", "sym_constrain_range_for_size")  # give no value


class Values:
    """The inputs and the attributes of one draw."""

    def __init__(self, rng):
        f = lambda *dims: rng.uniform(-1.5, 1.5, dims).astype(np.float32)
        self.x, self.z, self.s, self.m = f(2, 4, 6, 8), f(2, 4, 6, 8), f(2, 6, 8), f(2, 6)
        self.p = np.abs(f(2, 4, 6, 8)) + np.float32(0.1)
        self.i = rng.integers(0, 4, 3)
        self.a = {n: f(int(n[1:])) for n in ("c4", "g4", "h4", "c8", "g8", "b5", "b6")}
        self.a.update(v4=np.abs(f(4)) + np.float32(0.5), q6=f(6, 6), o21=f(2, 1), l8=f(5, 8), w1=f(5, 6, 3), w2=f(6, 2, 3, 3), w3=f(5, 2, 2, 3, 3), t1=f(6, 5, 3), t2=f(4, 5, 3, 3),
                      t3=f(2, 5, 2, 2, 2), qkv=f(24, 8), qkvb=f(24), proj=f(8, 8), projb=f(8), g1=f(8), b1=f(8), g2=f(8), b2=f(8), f1=f(12, 8), fb1=f(12), f2=f(8, 12), fb2=f(8),
                      wi=f(12, 8), wh=f(12, 3), bi=f(12), bh=f(12))
        self.a.update({n + "9": np.ascontiguousarray(self.a[n][:9]) for n in ("wi", "wh", "bi", "bh")})
        scales = rng.uniform(0.005, 0.02, 6)
        self.a["qw"] = Quantized(rng.integers(-127, 128, (6, 4, 3, 3)).astype(np.int8), scales, np.zeros(6, np.int64), 0)
        self.a["ql"] = Quantized(rng.integers(-127, 128, (5, 192)).astype(np.int8), 0.01, 0)
        self.a.update(qi=rng.integers(-127, 128, (6, 4)).astype(np.int8), qs=np.abs(f(6)), qz=np.zeros(6, np.int64))
        numbers = [2, 1, 1, 1, 1, 1, 1, 0, 0, 1, 0]
        packed = "__torch__.torch.classes.quantized.%sPackedParamsBase"
        self.a["packed2"] = Object(packed % "Conv2d", ("2", [np.array(numbers, np.int16), self.a["qw"]], [self.a["b6"]]))
        self.a["packed3"] = Object(packed % "Conv2d", (3, numbers, [None, self.a["qw"], self.a["b6"]]))
        self.a["packedl"] = Object(packed % "Linear", (self.a["ql"], None))


def run(vtac, work, lines, values, count, swapped):
    code, root = forward(["q = torch.quantize_per_tensor(x, 0.03125, 100, 13)", "r = torch.quantize_per_tensor(z, 0.0625, 128, 13)", "m0 = torch.select(m, 0, 0)",
                            "unused = torch.embedding(self.l8, i, -1, False, False)"] + lines,
                         ["_%d" % i for i in range(count)], "x: Tensor,\n    z: Tensor,\n    p: Tensor,\n    s: Tensor,\n    m: Tensor,\n    i: Tensor", values.a)
    path = os.path.join(work, "net.pt")
    with open(path, "wb") as f:
        f.write(script(code, root, swapped=swapped))
    given, shapes = [], []
    for n in "xzpsmi":
        array = getattr(values, n)
        np.save(os.path.join(work, n + ".npy"), array)
        shapes += ["--shape", "%s=%s" % (n, "x".join(map(str, array.shape)))]
        given += ["--input", "%s=%s" % (n, os.path.join(work, n + ".npy"))]
    done = subprocess.run([vtac, "compile", path, "-O", "1", "-o", os.path.join(work, "net.so")] + shapes, capture_output=True, text=True)
    if done.returncode == 0:
        done = subprocess.run([vtac, "run", os.path.join(work, "net.so"), "--output-dir", work] + given, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("\n".join(lines) + "\n" + done.stderr)
    return [np.load(os.path.join(work, "output%d.npy" % i)) for i in range(count)]


def compare(case, got, want):
    want = np.asarray(want)
    step = case[3] * 1.01 if len(case) > 3 else 0  # one of a quantized result
    if got.shape != want.shape or (got.dtype.kind != want.dtype.kind and want.dtype.kind != "f"):
        sys.exit("%s gives %s %s instead of %s %s" % (case[1], got.dtype, got.shape, want.dtype, want.shape))
    size = max(1.0, float(np.abs(want.astype(float)).max()))
    error = np.abs(got.astype(float) - want.astype(float)).max()
    if not error <= step + 1e-5 * size:
        sys.exit("%s is off by %g of %g" % (case[1], error, size))
    return error / size if not step else 0


def rows(source):
    with open(os.path.join(source, "compiler/src/torch/ops.def")) as f:
        names = re.findall(r'^TORCH_OP\("([^"]+)"', f.read(), re.M)
    with open(os.path.join(source, "compiler/src/torch/README.md")) as f:
        told = set(re.findall(r"`([a-zA-Z_0-9.]+)`", f.read().split("## Operators", 1)[1].split("\n## ", 1)[0]))
    if told != set(names):
        sys.exit("README.md and ops.def differ: %s" % sorted(told ^ set(names)))
    return set(names)


def main():
    vtac, source = sys.argv[1:3]
    rng = np.random.default_rng(word_seed.told())
    everything = list(cases())
    missing = rows(source) - {c[0] for c in everything} - set(SILENT)
    if missing:
        sys.exit("no case calls %s" % sorted(missing))
    worst = 0
    with tempfile.TemporaryDirectory() as work:
        for draw in range(2):
            values = Values(rng)
            for first in range(0, len(everything), AT_ONCE):
                part = everything[first:first + AT_ONCE]
                lines = ["_%d = %s" % (i, c[1]) for i, c in enumerate(part)]
                for case, got in zip(part, run(vtac, work, lines, values, len(part), draw == 1)):
                    worst = max(worst, compare(case, got, case[2](values)))
    print("%d calls of %d operators, largest error %.1e" % (2 * len(everything), len({c[0] for c in everything}), worst))


main()
