#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# com.microsoft: attention in all its forms, products of packed and quantized numbers, and what is fused, against loops in double.
#
# usage: codegen_fused.py VTAC   (exit status 77: python3-onnx is not there)
import itertools
import math
import sys

from onnx_cases import MS, Suite, numpy

F32 = numpy.float32
I32 = numpy.int32
U8 = numpy.uint8
I8 = numpy.int8


def normal(random, *shape):
    return random.standard_normal(shape).astype(F32)


def softmax(row, sink=None):
    top = max([v for v in row if not math.isnan(v)] + ([] if sink is None else [sink]))
    e = numpy.exp(row - top)
    return e / (e.sum() + (0 if sink is None else math.exp(sink - top)))


def attend(q, k, v, seen, low, bias=None, scale=None, softcap=0.0, sink=None):
    """q [B, H, S, d] over k, v [B, h, T, d]; seen(b, i, j): whether query i of batch b sees key j; what is not seen gets `low`."""
    y = numpy.zeros(q.shape[:3] + v.shape[3:])
    for b, h, i in numpy.ndindex(*q.shape[:3]):
        own = h * k.shape[1] // q.shape[1]
        row = k[b, own].astype(float) @ q[b, h, i].astype(float) * (scale or 1 / math.sqrt(q.shape[3]))
        row = softcap * numpy.tanh(row / softcap) if softcap else row
        for j in range(len(row)):
            if bias is not None:
                row[j] += bias[b % bias.shape[0], h % bias.shape[1], i, j]
            row[j] += seen(b, i, j, low)
        y[b, h, i] = softmax(row, None if sink is None else sink[h]) @ v[b, own]
    return y


def parted(x, heads):
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(0, 2, 1, 3)


def joined(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1).astype(F32)


# ---- masks: kinds, each with data and its meaning

def masks(kind, batches, queries, keys, past):
    if kind == "ends":
        return lambda r: r.integers(1, keys + 1, (batches,)).astype(I32), lambda m, b, i, j: j < m[b]
    if kind == "ranges":
        return (lambda r: numpy.concatenate([r.integers(keys - 1, keys + 1, (batches,)), r.integers(0, 2, (batches,))]).astype(I32),
                lambda m, b, i, j: m[batches + b] <= j < m[b])
    shape = {"keys": (batches, keys), "each": (batches, queries, keys), "square": (batches, 1, 9, 9)}[kind]

    def some(random):
        seen = random.integers(0, 2, shape).astype(I32)
        seen[..., 0] = 1  # where nothing is seen, all have the same filler, beside which float32 loses the products
        return seen
    return some, {"keys": lambda m, b, i, j: m[b, j] > 0, "each": lambda m, b, i, j: m[b, i, j] > 0,
                  "square": lambda m, b, i, j: m[b, 0, past + i, j] > 0}[kind]


def looking(mask, meaning, causal, past):
    def seen(b, i, j, low):
        hidden = 0 if mask is None or meaning(mask, b, i, j) else low
        return -math.inf if causal and j > i + past else hidden
    return seen


def attention(suite):
    for kind, causal, past, sizes in ((None, 1, 0, None), ("ends", 0, 0, None), ("ranges", 0, 2, None), ("keys", 1, 3, None), ("each", 0, 2, (8, 8, 4)),
                                      ("square", 1, 2, None), ("square", 0, 0, None)):
        heads, batches, queries = 2, 2, 3
        keys = queries + past
        make_mask, meaning = masks(kind, batches, queries, keys, past) if kind else (None, None)
        h = sizes or (8, 8, 8)

        def make(random, m=make_mask, past=past, h=h):
            found = [("x", normal(random, 2, 3, 5)), ("w", normal(random, 5, sum(h))), ("b", normal(random, sum(h))),
                     ("mask", m(random)) if m else ("", None)]
            return found + ([("past", normal(random, 2, 2, 2, past, h[0] // 2))] if past and h[0] == h[2] else [])

        def reference(x, w, b, mask=None, past=None, meaning=meaning, causal=causal, h=h):
            parts = numpy.split(x.astype(float) @ w + b, (h[0], h[0] + h[1]), -1)
            q, k, v = (parted(p, 2) for p in parts)
            before = 0 if past is None else past.shape[3]
            if past is not None:
                k, v = numpy.concatenate([past[0], k], 2), numpy.concatenate([past[1], v], 2)
            y = joined(attend(q, k, v, looking(mask, meaning, causal, before), -10000.0))
            return (y, numpy.stack([k, v]).astype(F32)) if h[0] == h[2] else (y,)
        if sizes:  # no cache where values have another size; the mask names as many keys as there are
            make_mask, meaning = masks(kind, batches, queries, queries, 0)
            suite.add("Attention", lambda r, m=make_mask: make(r, m, 0), lambda x, w, b, mask: reference(x, w, b, mask, meaning=meaning), domain=MS,
                      num_heads=heads, qkv_hidden_sizes=list(h))
            continue
        suite.add("Attention", make, reference, domain=MS, num_heads=heads, unidirectional=causal, outputs=("y", "present"))

    def quantized(random):
        return [("x", random.integers(0, 256, (2, 3, 4)).astype(U8)), ("w", random.integers(-20, 20, (4, 24)).astype(I8)), ("b", normal(random, 24)),
                ("xs", F32(0.01)), ("ws", random.uniform(0.01, 0.03, 24).astype(F32)), ("mask", random.integers(1, 4, (2,)).astype(I32)),
                ("xz", U8(128)), ("wz", I8(3))]

    def q_reference(x, w, b, xs, ws, mask, xz, wz):
        all_three = (x.astype(float) - xz) @ (w.astype(float) - wz) * (xs * ws) + b
        q, k, v = (parted(p, 2) for p in numpy.split(all_three, 3, -1))
        return joined(attend(q, k, v, looking(mask, lambda m, b, i, j: j < m[b], 1, 0), -10000.0))
    suite.add("QAttention", quantized, q_reference, domain=MS, num_heads=2, unidirectional=1)


def multi_head(suite):
    for form, kind, biased, past, causal in (("apart", "each", True, 2, 0), ("apart", "keys", False, 0, 1), ("all", "ends", True, 0, 0),
                                             ("pair", "keys", False, 0, 0), ("heads", None, True, 0, 0)):
        make_mask, meaning = masks(kind, 2, 3, 3 + past, past) if kind else (None, None)

        def make(random, form=form, m=make_mask, biased=biased, past=past):
            found = {"all": [("q", normal(random, 2, 3, 2, 3, 4)), ("", None), ("", None)],
                     "pair": [("q", normal(random, 2, 3, 8)), ("k", normal(random, 2, 3, 2, 2, 4)), ("", None)],
                     "heads": [("q", normal(random, 2, 3, 8)), ("k", normal(random, 2, 2, 3, 4)), ("v", normal(random, 2, 2, 3, 4))],
                     "apart": [("q", normal(random, 2, 3, 8)), ("k", normal(random, 2, 3, 8)), ("v", normal(random, 2, 3, 8))]}[form]
            found += [("b", normal(random, 24)) if biased else ("", None), ("mask", m(random)) if m else ("", None)]
            return found + ([("add", normal(random, 1, 2, 3, 3 + past)), ("pk", normal(random, 2, 2, past, 4)), ("pv", normal(random, 2, 2, past, 4))]
                            if past else [])

        def reference(q, k=None, v=None, b=None, mask=None, add=None, pk=None, pv=None, form=form, meaning=meaning, causal=causal):
            if form == "all":
                q, k, v = (q[:, :, :, i].transpose(0, 2, 1, 3) for i in range(3))
            elif form == "pair":
                q, k, v = parted(q, 2), k[:, :, :, 0].transpose(0, 2, 1, 3), k[:, :, :, 1].transpose(0, 2, 1, 3)
            elif form == "heads":
                q = parted(q, 2)
            else:
                q, k, v = (parted(x, 2) for x in (q, k, v))
            if b is not None:
                parts = [p.reshape(1, 2, 1, 4) for p in numpy.split(b, 3)]
                q = q + parts[0]
                k, v = (k, v) if form == "heads" else (k + parts[1], v + parts[2])
            before = 0 if pk is None else pk.shape[2]
            if pk is not None:
                k, v = numpy.concatenate([pk, k], 2), numpy.concatenate([pv, v], 2)
            return joined(attend(q, k, v, looking(mask, meaning, causal, before), -10000.0, add))
        suite.add("MultiHeadAttention", make, reference, domain=MS, num_heads=2, unidirectional=causal)


def turned(x, cosine, sine, positions, interleaved):
    y = x.astype(float).copy()
    half = cosine.shape[1]
    for b, h, s, j in itertools.product(*map(range, x.shape[:3]), range(half)):
        a, c = (2 * j, 2 * j + 1) if interleaved else (j, j + half)
        p = positions[b][s]
        y[b, h, s, a] = x[b, h, s, a] * cosine[p, j] - x[b, h, s, c] * sine[p, j]
        y[b, h, s, c] = x[b, h, s, a] * sine[p, j] + x[b, h, s, c] * cosine[p, j]
    return y


def grouped(suite):
    for heads, own, queries, past, packed, rotary, window, softcap, sink, biased in (
            (4, 2, 3, 0, False, None, -1, 0.0, None, False), (4, 1, 1, 5, False, 0, -1, 0.0, None, True), (2, 2, 2, 4, True, 1, 2, 0.0, None, False),
            (4, 2, 1, 6, False, None, 3, 5.0, "heads", False), (2, 1, 4, 0, True, 0, -1, 0.0, "smooth", False)):
        d = 4

        def make(random, heads=heads, own=own, queries=queries, past=past, packed=packed, rotary=rotary, sink=sink, biased=biased):
            total = past + queries
            kv = [("k", normal(random, 2, queries, own * d)), ("v", normal(random, 2, queries, own * d))]
            found = [("q", normal(random, 2, queries, (heads + (2 * own if packed else 0)) * d))] + ([("", None)] * 2 if packed else kv)
            found += [("pk", normal(random, 2, own, past, d)), ("pv", normal(random, 2, own, past, d))] if past else [("", None)] * 2
            last = random.integers(queries - 1, total, (2,)) if past else numpy.full(2, queries - 1)
            found += [("last", last.astype(I32)), ("total", I32(total))]
            found += [("cos", normal(random, 16, d // 2)), ("sin", normal(random, 16, d // 2))] if rotary is not None else [("", None)] * 2
            found += [("", None), ("bias", normal(random, 1, heads, queries, total)) if biased else ("", None)]
            return found + ([("sink", normal(random, heads))] if sink == "heads" else [])

        def reference(q, k=None, v=None, pk=None, pv=None, last=None, total=None, cos=None, sin=None, bias=None, sink=None, heads=heads, own=own,
                      window=window, softcap=softcap, rotary=rotary, smooth=sink == "smooth"):
            if k is None:
                q, k, v = numpy.split(q, (heads * d, (heads + own) * d), -1)
            q, k, v = parted(q, heads), parted(k, own), parted(v, own)
            s, total = q.shape[2], int(total)
            before = [max(int(n) + 1 - s, 0) for n in last]
            if cos is not None:
                positions = [[n + i for i in range(s)] for n in before]
                q, k = (turned(x, cos, sin, positions, rotary) for x in (q, k))
            caches = []
            for x, old in ((k, pk), (v, pv)):
                cache = numpy.zeros((2, own, total, d))
                for b, n in enumerate(before):
                    if old is not None:
                        cache[b, :, :n] = old[b, :, :n]
                    cache[b, :, n:n + s] = x[b]
                caches.append(cache)

            def seen(b, i, j, low):
                at = before[b] + i
                return 0 if j <= at and (window < 0 or j > at - window) else -math.inf
            sinks = [0.0] * heads if smooth else sink
            y = joined(attend(q, caches[0], caches[1], seen, 0, bias, None, softcap, sinks))
            return y, caches[0].astype(F32), caches[1].astype(F32)
        suite.add("GroupQueryAttention", make, reference, constants=("total",), domain=MS, outputs=("y", "k2", "v2"), num_heads=heads, kv_num_heads=own,
                  do_rotary=int(rotary is not None), rotary_interleaved=rotary or 0, local_window_size=window, softcap=softcap,
                  smooth_softmax=int(sink == "smooth"))


# ---- products

def packed(q, bits):
    """Rows of small numbers as bytes, the first in the lowest bits."""
    each = 8 // bits
    q = numpy.pad(q, ((0, 0), (0, -q.shape[1] % each)))
    return sum(q[:, i::each].astype(int) << (i * bits) for i in range(each)).astype(U8)


def products(suite):
    for bits, k, n, size, zeros, grouped_columns, biased in ((4, 48, 5, 16, None, False, False), (4, 40, 3, 32, "packed", False, True),
                                                             (8, 32, 4, 16, "packed", False, False), (2, 64, 3, 32, "packed", False, False),
                                                             (4, 32, 4, 16, "floats", False, False), (4, 32, 2, 16, "packed", True, False)):
        count = -(-k // size)

        def make(random, bits=bits, k=k, n=n, size=size, zeros=zeros, grouped_columns=grouped_columns, biased=biased, count=count):
            q = random.integers(0, 1 << bits, (n, count * size))
            z = random.integers(0, 1 << bits, (n, count))
            found = [("a", normal(random, 2, 3, k)), ("b", packed(q, bits).reshape(n, count, size * bits // 8)),
                     ("s", random.uniform(0.1, 1, (n * count,)).astype(F32))]
            found.append({None: ("", None), "packed": ("z", packed(z, bits).reshape(-1)), "floats": ("z", normal(random, n, count))}[zeros])
            found.append(("g", random.permutation(numpy.arange(k) // size).astype(I32)) if grouped_columns else ("", None))
            return found + ([("bias", normal(random, n))] if biased else [])

        def reference(a, b, s, z=None, g=None, bias=None, bits=bits, k=k, n=n, size=size, count=count):
            w = numpy.zeros((n, k))
            each = 8 // bits
            for r, c in numpy.ndindex(n, k):
                byte = int(b.reshape(n, -1)[r, c // each])
                q = byte >> (c % each * bits) & ((1 << bits) - 1)
                block = c // size if g is None else int(g[c])
                if z is None:
                    zero = 1 << (bits - 1)
                elif z.dtype == U8:
                    zero = int(z.reshape(n, -1)[r, block // each]) >> (block % each * bits) & ((1 << bits) - 1)
                else:
                    zero = float(z[r, block])
                w[r, c] = (q - zero) * float(s.reshape(n, count)[r, block])
            return (a.astype(float) @ w.T + (0 if bias is None else bias)).astype(F32)
        for constants in (("b", "s", "z", "g"), ()):
            suite.add("MatMulNBits", make, reference, constants=constants, domain=MS, K=k, N=n, bits=bits, block_size=size)

    def dynamic(a, b, s, z=None, bias=None):
        low, high = min(float(a.min()), 0.0), max(float(a.max()), 0.0)
        scale = F32((high - low) / 255)
        zero = float(numpy.clip(numpy.rint(-low / scale), 0, 255))
        q = numpy.clip(numpy.rint(a / scale) + zero, 0, 255)
        return ((q - zero) @ (b.astype(float) - (0 if z is None else z.astype(float))) * (float(scale) * s) + (0 if bias is None else bias)).astype(F32)
    for per, zero, biased in ((1, False, False), (4, True, True), (1, True, False)):
        suite.add("DynamicQuantizeMatMul", lambda r, per=per, zero=zero, biased=biased: [
            ("a", normal(r, 2, 3, 5)), ("b", r.integers(-128, 128, (5, 4)).astype(I8)), ("s", r.uniform(0.01, 0.1, (per,)).astype(F32)),
            ("z", r.integers(-9, 9, (per,)).astype(I8)) if zero else ("", None)] + ([("bias", normal(r, 4))] if biased else []), dynamic, domain=MS)
    suite.add("MatMulIntegerToFloat", lambda r: [
        ("a", r.integers(0, 256, (3, 5)).astype(U8)), ("b", r.integers(0, 256, (5, 4)).astype(U8)), ("as_", F32(0.02)),
        ("bs", r.uniform(0.01, 0.1, 4).astype(F32)), ("az", U8(120)), ("bz", r.integers(0, 256, 4).astype(U8)), ("c", normal(r, 4))],
        lambda a, b, as_, bs, az, bz, c: ((a.astype(float) - az) @ (b.astype(float) - bz) * (as_ * bs) + c).astype(F32), domain=MS)
    for ta, tb, ba, bb in ((0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 1, 0), (1, 1, 0, 1), (1, 0, 1, 1)):
        def one(x, t, batch):
            x = numpy.moveaxis(x, 0, -2) if batch else x
            return numpy.swapaxes(x, -1, -2) if t else x

        def operands(random, ta=ta, tb=tb, ba=ba, bb=bb):
            found = []
            for name, shape, t, batch in (("a", (2, 3, 4), ta, ba), ("b", (2, 4, 5), tb, bb)):
                x = normal(random, *shape)
                x = numpy.swapaxes(x, -1, -2) if t else x
                found.append((name, numpy.ascontiguousarray(numpy.moveaxis(x, -2, 0) if batch else x)))
            return found
        suite.add("FusedMatMul", operands, lambda a, b, ta=ta, tb=tb, ba=ba, bb=bb: (one(a, ta, ba).astype(float) @ one(b, tb, bb) * 0.5).astype(F32),
                  domain=MS, alpha=0.5, transA=ta, transB=tb, transBatchA=ba, transBatchB=bb)
    for name, function in (("Relu", lambda v: max(v, 0)), ("LeakyRelu", lambda v: v if v >= 0 else 0.2 * v), ("Tanh", math.tanh)):
        extra = {"activation_alpha": 0.2} if name == "LeakyRelu" else {}
        suite.add("FusedGemm", lambda r: [("a", normal(r, 3, 4)), ("b", normal(r, 5, 4)), ("c", normal(r, 5))],
                  lambda a, b, c, f=function: numpy.vectorize(f, otypes=[float])(0.5 * a.astype(float) @ b.T + 2 * c).astype(F32), domain=MS, alpha=0.5, beta=2.0, transB=1,
                  activation=name, **extra)


# ---- the rest

def gelu(x):
    return x * 0.5 * (1 + numpy.vectorize(math.erf)(x / math.sqrt(2)))


def others(suite):
    def quantize(x, s, z, dtype):
        info = numpy.iinfo(dtype)
        return numpy.clip(numpy.rint(x / s) + float(z), info.min, info.max).astype(dtype)
    for dtype in (U8, I8):
        suite.add("QLinearReduceMean", lambda r, d=dtype: [("x", r.integers(0, 100, (2, 3, 4)).astype(d)), ("s", F32(0.5)), ("z", d(7)), ("t", F32(0.25)),
                                                          ("u", d(3))],
                  lambda x, s, z, t, u, d=dtype: quantize(((x.astype(float) - z) * s).mean(1), t, u, d), domain=MS, axes=[1], keepdims=0)
        suite.add("QLinearWhere", lambda r, d=dtype: [("c", r.integers(0, 2, (3, 4)) > 0), ("x", r.integers(0, 100, (3, 4)).astype(d)), ("s", F32(0.5)),
                                                      ("z", d(7)), ("b", r.integers(0, 100, (4,)).astype(d)), ("t", F32(0.25)), ("w", d(3)),
                                                      ("u", F32(0.75)), ("v", d(2))],
                  lambda c, x, s, z, b, t, w, u, v, d=dtype: quantize(numpy.where(c, (x.astype(float) - z) * s, (b.astype(float) - w) * t), u, v, d),
                  domain=MS)
    for dtype in (numpy.uint16, numpy.int16, U8):
        suite.add("QuantizeLinear", lambda r, d=dtype: [("x", normal(r, 3, 4) * F32(40)), ("s", F32(0.5)), ("z", d(9))],
                  lambda x, s, z, d=dtype: quantize(x, s, z, d), domain=MS)
        suite.add("DequantizeLinear", lambda r, d=dtype: [("x", r.integers(0, 200, (3, 4)).astype(d)), ("s", F32(0.5)), ("z", d(9))],
                  lambda x, s, z: ((x.astype(float) - z) * s).astype(F32), domain=MS)

    def pooled(x):
        y = numpy.full((2, 3, 3, x.shape[3]), -128, x.dtype)
        for b, i, j, c in numpy.ndindex(*y.shape):
            part = x[b, max(2 * i - 1, 0):2 * i + 1, max(2 * j - 1, 0):2 * j + 1, c]
            y[b, i, j, c] = part.max()
        return y
    suite.add("NhwcMaxPool", lambda r: [("x", r.integers(-128, 128, (2, 5, 5, 3)).astype(I8))], pooled, domain=MS, kernel_shape=[2, 2], strides=[2, 2],
              pads=[1, 1, 0, 0])

    def convolved(x, w, b):
        y = numpy.zeros((1, 3, 2, 2))
        for i, j, m in numpy.ndindex(3, 2, 2):
            y[0, i, j, m] = (x[0, i:i + 2, j:j + 3].astype(float) * w[m].transpose(1, 2, 0)).sum() + b[m]
        return y.astype(F32)
    suite.add("NhwcConv", lambda r: [("x", normal(r, 1, 4, 4, 3)), ("w", normal(r, 2, 3, 2, 3)), ("b", normal(r, 2))], convolved, domain=MS)

    def norm(x, gamma, beta, groups, silu):
        n, h, w, c = x.shape
        parts = x.astype(float).reshape(n, h * w, groups, c // groups)
        parts = (parts - parts.mean((1, 3), keepdims=True)) / numpy.sqrt(parts.var((1, 3), keepdims=True) + 1e-5)
        y = parts.reshape(x.shape) * gamma + beta
        return (y / (1 + numpy.exp(-y)) if silu else y).astype(F32)
    for silu in (0, 1):
        suite.add("GroupNorm", lambda r: [("x", normal(r, 2, 3, 2, 6)), ("g", normal(r, 6)), ("b", normal(r, 6))],
                  lambda x, g, b, s=silu: norm(x, g, b, 3, s), domain=MS, groups=3, activation=silu, epsilon=1e-5)
        for flat in (False, True):
            suite.add("SkipGroupNorm", lambda r, f=flat: [("x", normal(r, 2, 3, 2, 4)), ("g", normal(r, 4)), ("b", normal(r, 4)),
                                                          ("s", normal(r, 2, 4) if f else normal(r, 2, 3, 2, 4)), ("c", normal(r, 4))],
                      lambda x, g, b, s, c, u=silu: (lambda t: (norm(t, g, b, 2, u), t.astype(F32)))(
                          x.astype(float) + (s if s.ndim == 4 else s[:, None, None]) + c),
                      domain=MS, groups=2, activation=silu, epsilon=1e-5, outputs=("y", "sum"))
    suite.add("BiasAdd", lambda r: [("x", normal(r, 2, 3, 4)), ("b", normal(r, 4)), ("s", normal(r, 2, 3, 4))], lambda x, b, s: x + b + s, domain=MS)
    suite.add("BiasSplitGelu", lambda r: [("x", normal(r, 2, 3, 8)), ("b", normal(r, 8))],
              lambda x, b: ((x + b)[..., :4] * gelu((x + b)[..., 4:].astype(float))).astype(F32), domain=MS)
    for metric in ("euclidean", "sqeuclidean"):
        suite.add("CDist", lambda r: [("a", normal(r, 4, 3)), ("b", normal(r, 5, 3))],
                  lambda a, b, m=metric: (((a[:, None].astype(float) - b) ** 2).sum(2) ** (1 if m[0] == "s" else 0.5)).astype(F32), domain=MS, metric=metric)
    suite.add("ExpandDims", lambda r: [("x", normal(r, 2, 3)), ("a", I32(-2))], lambda x, a: x[:, None], constants=("a",), domain=MS)
    suite.add("Trilu", lambda r: [("x", normal(r, 2, 4, 4)), ("k", numpy.array(1, numpy.int64))], lambda x, k: numpy.triu(x, 1), domain=MS, upper=1)


def main():
    suite = Suite()
    for part in (attention, multi_head, grouped, products, others):
        part(suite)
    return suite.run(sys.argv[1], "--atol", "1e-6")  # sums in float32, some of which cancel


if __name__ == "__main__":
    sys.exit(main())
