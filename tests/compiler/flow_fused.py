#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Language models and classic models over open sizes, against plain numpy: attention with a cache that grows, what ONNX Runtime's
# optimizer fuses, and models of rows. The second data set has other sizes. It fails when a head is taken for another, a cache is
# read from the wrong place, or rows run into each other.
#
# usage: flow_fused.py VTAC   (exit status 77: python3-onnx is not there)
import math
import sys

from onnx_cases import MS, Suite, helper, numpy, numpy_helper

F32 = numpy.float32
ML = "ai.onnx.ml"
HEADS, SIZE, WIDE = 4, 6, 24


def model(nodes, fixed=(), constants=(), opset=23):
    """All axes of the inputs are open, but the last ones of those in `fixed`. nodes: (operator, inputs, outputs, domain, attributes)."""
    def make(inputs, outputs):
        made = [helper.make_node(op, ins.split(" "), outs.split(" "), domain=domain, **attrs) for op, ins, outs, domain, attrs in nodes]
        types = helper.mapping.NP_TYPE_TO_TENSOR_TYPE
        ends = [helper.make_tensor_value_info(n, types[numpy.array(a).dtype],
                                              ["%s%d" % (n, i) if i < 1 or n not in fixed else a.shape[i] for i in range(numpy.array(a).ndim)])
                for n, a in inputs]
        outs = [helper.make_tensor_value_info(n, types[numpy.array(a).dtype], [None] * numpy.array(a).ndim) for n, a in outputs]
        graph = helper.make_graph(made, "g", ends, outs, [numpy_helper.from_array(numpy.array(a), n) for n, a in constants])
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid(d, v) for d, v in (("", opset), (MS, 1), (ML, 3))])
    return make


def floats(random, *shape):
    return random.standard_normal(shape).astype(F32)


def softmax(x):
    e = numpy.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def parted(x, heads):
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(0, 2, 1, 3)


def joined(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def attend(q, k, v, bias=0, scale=None, cap=0):
    """Head by head, row by row of the batch; keys and values may have fewer heads. A query that sees no key gives zeros."""
    y = numpy.zeros(q.shape[:3] + v.shape[3:], F32)
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            own = h * k.shape[1] // q.shape[1]
            x = q[b, h] @ k[b, own].T * (scale or q.shape[3] ** -0.5)
            x = cap * numpy.tanh(x / cap) if cap else x
            x = x + numpy.broadcast_to(bias, q.shape[:3] + k.shape[2:3])[b, h]
            y[b, h] = numpy.where(x.max(-1, keepdims=True) > -numpy.inf, numpy.nan_to_num(softmax(x)), 0) @ v[b, own]
    return y


def hidden(allowed):
    return numpy.where(allowed, 0, -numpy.inf)


def turned(x, places, cosine, sine):
    half = x.shape[3] // 2
    a, b, c, s = x[..., :half], x[..., half:], cosine[places][:, None], sine[places][:, None]
    return numpy.concatenate([a * c - b * s, b * c + a * s], 3)


def add_attention(suite):
    for own, attrs in ((HEADS, {}), (2, dict(is_causal=1)), (1, dict(is_causal=1, softcap=2.0, scale=0.3))):
        def data(r, own=own):
            b, s, p = r.integers(1, 4), r.integers(1, 5), r.integers(0, 6)
            return [("q", floats(r, b, s, HEADS * SIZE)), ("k", floats(r, b, s, own * SIZE)), ("v", floats(r, b, s, own * SIZE)),
                    ("m", floats(r, s, p + s)), ("pk", floats(r, b, own, p, SIZE)), ("pv", floats(r, b, own, p, SIZE))]

        def reference(q, k, v, m, pk, pv, own=own, attrs=attrs):
            k, v = numpy.concatenate([pk, parted(k, own)], 2), numpy.concatenate([pv, parted(v, own)], 2)
            rows, all_keys = numpy.arange(q.shape[1])[:, None] + pk.shape[2], numpy.arange(k.shape[2])[None]
            bias = m + (hidden(all_keys <= rows) if "is_causal" in attrs else 0)
            return joined(attend(parted(q, HEADS), k, v, bias, attrs.get("scale"), attrs.get("softcap", 0))), k, v
        suite.add("Attention", data, reference, outputs=("y", "nk", "nv"),
                  model=model([("Attention", "q k v m pk pv", "y nk nv", "", dict(q_num_heads=HEADS, kv_num_heads=own, **attrs))]))

    for window in (0, 2):
        def masked(r):
            b, s, n = r.integers(1, 4), r.integers(1, 6), r.integers(2, 7)
            return [("q", floats(r, b, HEADS, s, SIZE)), ("k", floats(r, b, HEADS, n, SIZE)), ("v", floats(r, b, HEADS, n, SIZE)),
                    ("m", r.integers(0, 3, (b, 1, s, n)) > 1), ("used", r.integers(1, n + 1, b).astype(numpy.int64))]

        def by_mask(q, k, v, m, used, window=window):
            rows, all_keys = numpy.arange(q.shape[2])[:, None], numpy.arange(k.shape[2])[None]
            own = rows + (used - q.shape[2])[:, None, None, None]
            near = (all_keys <= own) & (all_keys > own - window) if window else True
            return attend(q, k, v, hidden(m & near & (all_keys < used[:, None, None, None])))
        suite.add("Attention", masked, by_mask, model=model([("Attention", "q k v m   used", "y", "", dict(local_window_size=window or -1))], opset=24))

    cosine, sine = [f(numpy.random.default_rng(5).standard_normal((32, SIZE // 2))).astype(F32) for f in (numpy.cos, numpy.sin)]
    for rotary, packed, window in ((0, 0, -1), (1, 0, -1), (1, 1, 2)):
        def grouped(r, packed=packed):
            b, s, p = r.integers(1, 4), r.integers(1, 4), r.integers(1, 6)
            x = [floats(r, b, s, n * SIZE) for n in (HEADS, 2, 2)]
            end = numpy.array(p + s, numpy.int32)
            return ([("q", numpy.concatenate(x, 2))] if packed else list(zip("qkv", x))) + [
                ("pk", floats(r, b, 2, p, SIZE)), ("pv", floats(r, b, 2, p, SIZE)), ("last", numpy.full(b, end - 1, numpy.int32)), ("end", end)]

        def by_groups(q, pk, pv, last, end, k=None, v=None, rotary=rotary, window=window):
            if k is None:
                q, k, v = numpy.split(q, [HEADS * SIZE, (HEADS + 2) * SIZE], 2)
            q, k, v = parted(q, HEADS), parted(k, 2), parted(v, 2)
            places = numpy.tile(numpy.arange(pk.shape[2], int(end)), (len(q), 1))
            if rotary:
                q, k = turned(q, places, cosine, sine), turned(k, places, cosine, sine)
            k, v = numpy.concatenate([pk, k], 2), numpy.concatenate([pv, v], 2)
            away = places[0][:, None] - numpy.arange(int(end))[None]
            return joined(attend(q, k, v, hidden((away >= 0) & (away < (window if window > 0 else 99))))), k, v
        names = "q %s pk pv last end%s" % (" " if packed else "k v", " cos sin" if rotary else "")
        suite.add("GroupQueryAttention", grouped, by_groups, outputs=("y", "nk", "nv"),
                  model=model([("GroupQueryAttention", names, "y nk nv", MS,
                                dict(num_heads=HEADS, kv_num_heads=2, do_rotary=rotary, local_window_size=window))], constants=[("cos", cosine), ("sin", sine)]))


def add_scales(suite):
    """Between integers and floats, with a scale along an axis or for each block of one."""
    def spread(scale, axis, block, x):
        if block:
            return numpy.repeat(scale, block, axis).take(range(x.shape[axis]), axis)
        return scale.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])

    for axis, block, kind, zero in ((1, 0, numpy.int8, True), (-1, 0, numpy.uint8, False), (0, 2, numpy.int16, True), (-1, 0, numpy.uint16, True), (2, 3, numpy.uint8, True)):
        limits, random = numpy.iinfo(kind), numpy.random.default_rng(axis + 9)
        sizes = (3, 5, 4) if not block else tuple(-(-n // block) if i == axis else n for i, n in enumerate((4, 5, 6)))
        scale = (0.1 + random.random(sizes if block else sizes[axis])).astype(F32)
        zeros = random.integers(0, 9, scale.shape).astype(kind)
        attrs = {**dict(axis=axis), **({"block_size": block} if block else {})}
        constants = [("s", scale)] + ([("z", zeros)] if zero else [])

        def shape(r, axis=axis, block=block, sizes=sizes):  # what the scales do not fix is free
            return [4, 5, 6] if block else [n if i == axis % 3 else int(r.integers(1, 6)) for i, n in enumerate(sizes)]

        def to_floats(x, axis=axis, block=block, scale=scale, zeros=zeros, zero=zero):
            return (x.astype(F32) - (spread(zeros, axis, block, x).astype(F32) if zero else 0)) * spread(scale, axis, block, x)

        def to_integers(x, axis=axis, block=block, scale=scale, zeros=zeros, zero=zero, kind=kind, limits=limits):
            y = numpy.rint(x / spread(scale, axis, block, x)) + (spread(zeros, axis, block, x) if zero else 0)
            return numpy.clip(y, limits.min, limits.max).astype(kind)
        names = "x s z" if zero else "x s"
        more = {} if zero else dict(output_dtype=int(helper.mapping.NP_TYPE_TO_TENSOR_TYPE[numpy.dtype(kind)]))
        suite.add("DequantizeLinear", lambda r, shape=shape, i=limits, kind=kind: [("x", r.integers(i.min, i.max + 1, shape(r)).astype(kind))], to_floats,
                  model=model([("DequantizeLinear", names, "y", "", attrs)], constants=constants))
        suite.add("QuantizeLinear", lambda r, shape=shape, i=limits: [("x", (r.standard_normal(shape(r)) * i.max / 2).astype(F32))], to_integers,
                  model=model([("QuantizeLinear", names, "y", "", {**attrs, **more})], constants=constants))


def add_layers(suite):
    """A layer as the optimizer leaves it, twice: what one gives, the next takes."""
    random = numpy.random.default_rng(7)
    gamma, beta, bias, w = floats(random, WIDE), floats(random, WIDE), floats(random, 3 * WIDE), floats(random, WIDE, WIDE) * F32(0.3)

    def norm(x):
        return (x - x.mean(-1, keepdims=True)) / numpy.sqrt(x.var(-1, keepdims=True) + 1e-5) * gamma + beta

    def layer(x, lengths):
        q, k, v = [parted(x + bias[i * WIDE:(i + 1) * WIDE], HEADS) for i in range(3)]
        seen = numpy.where(numpy.arange(x.shape[1])[None] < lengths[:, None], 0, -10000)[:, None, None]
        s = x + joined(attend(q, k, v, seen)) @ w
        return norm(s), s

    def reference(x, l):
        first, _ = layer(x, l)
        return tuple(a.astype(F32) for a in layer(first, l))
    nodes = []
    for x, y in (("x", "h"), ("h", "y")):
        nodes += [("MultiHeadAttention", "%s %s %s bias l" % (x, x, x), "a" + y, MS, dict(num_heads=HEADS)),
                  ("FusedMatMul", "a%s w" % y, "m" + y, MS, dict(alpha=1.0)),
                  ("SkipLayerNormalization", "%s m%s gamma beta" % (x, y), "%s   s%s" % (y, y), MS, dict(epsilon=1e-5))]

    def data(r):
        b, s = r.integers(1, 4), r.integers(1, 6)
        return [("x", floats(r, b, s, WIDE)), ("l", r.integers(1, s + 1, b).astype(numpy.int32))]
    suite.add("MultiHeadAttention", data, reference, outputs=("y", "sy"),
              model=model(nodes, constants=[("gamma", gamma), ("beta", beta), ("bias", bias), ("w", w)]))

    numbers = random.integers(0, 16, (WIDE, 2, 16))
    scales = (random.random((WIDE, 2)) * 0.1).astype(F32)
    packed = (numbers[..., 0::2] | numbers[..., 1::2] << 4).astype(numpy.uint8)
    whole = ((numbers - 8) * scales[..., None]).reshape(WIDE, 32)
    suite.add("MatMulNBits", lambda r: [("x", floats(r, r.integers(0, 4), r.integers(1, 5), 32))], lambda x: (x @ whole.T).astype(F32),
              model=model([("MatMulNBits", "x b s", "y", MS, dict(K=32, N=WIDE, bits=4, block_size=16))], constants=[("b", packed), ("s", scales.ravel())]))
    for zeros in (False, True):
        table = random.integers(0, 16, (9, 2, 16))
        points = random.integers(0, 16, (9, 2)) if zeros else numpy.full((9, 2), 8)
        pairs = lambda a: (a[..., 0::2] | a[..., 1::2] << 4).astype(numpy.uint8)
        rows = ((table - points[..., None]) * scales[:9, :, None]).reshape(9, 32).astype(F32)
        suite.add("GatherBlockQuantized", lambda r: [("i", r.integers(0, 9, (r.integers(1, 4), 5)))], lambda i, rows=rows: rows[i], model=model(
            [("GatherBlockQuantized", "t i s" + (" z" if zeros else ""), "y", MS, dict(bits=4, block_size=16, gather_axis=0, quantize_axis=1))],
            constants=[("t", pairs(table).reshape(9, 16)), ("s", scales[:9])] + ([("z", pairs(points))] if zeros else [])))
    suite.add("SkipSimplifiedLayerNormalization", lambda r: [("x", floats(r, *((2, r.integers(1, 9), WIDE)))), ("s", floats(r, 1, 1, WIDE))],
              lambda x, s: (((x + s) / numpy.sqrt(((x + s) ** 2).mean(-1, keepdims=True) + 1e-6) * gamma).astype(F32), x + s), outputs=("y", "sum"),
              model=model([("SkipSimplifiedLayerNormalization", "x s gamma", "y   sum", MS, dict(epsilon=1e-6))], constants=[("gamma", gamma)]))


def add_triangles(suite):
    """One side of a diagonal, of wide and high planes, of none, and where the diagonal lies outside."""
    for kind, upper, k, domain in ((F32, 1, None, ""), (numpy.int64, 0, 2, ""), (bool, 1, -1, ""), (F32, 0, -7, ""), (F32, 1, 1, MS)):
        def data(r, kind=kind):
            return [("x", (r.standard_normal((r.integers(1, 3), r.integers(0, 6), r.integers(1, 6))) * 9).astype(kind))]
        suite.add("Trilu", data, lambda x, f=numpy.triu if upper else numpy.tril, k=k: f(x, k or 0),
                  model=model([("Trilu", "x" if k is None else "x k", "y", domain, dict(upper=upper))], constants=[] if k is None else [("k", numpy.int64(k))]))
    suite.add("Trilu", lambda r: [("x", floats(r, r.integers(1, 5), r.integers(1, 5))), ("k", numpy.int64(r.integers(-3, 4)))],
              lambda x, k: numpy.tril(x, int(k)), model=model([("Trilu", "x k", "y", "", dict(upper=0))]))


def add_rows(suite):
    random = numpy.random.default_rng(9)
    columns, classes = 5, ["a", "bb", ""]
    w, mean, scale = floats(random, 3, columns), floats(random, columns), numpy.abs(floats(random, columns)) + F32(0.1)
    rows = lambda r: [("x", floats(r, r.integers(1, 7), columns))]

    def linear(x):
        p = softmax(((x - mean) * scale) @ w.T).astype(F32)
        return numpy.array(classes, object)[p.argmax(1)], p
    suite.add("LinearClassifier", rows, linear, outputs=("label", "p"), model=model(
        [("Scaler", "x", "s", ML, dict(offset=mean.tolist(), scale=scale.tolist())),
         ("LinearClassifier", "s", "label q", ML, dict(coefficients=w.ravel().tolist(), intercepts=[0.0] * 3, classlabels_strings=classes,
                                                       multi_class=1, post_transform="SOFTMAX")),
         ("ZipMap", "q", "p", ML, dict(classlabels_strings=classes))], fixed=("x",)))

    tree = dict(nodes_treeids=[0] * 3 + [1] * 3, nodes_nodeids=[0, 1, 2] * 2, nodes_featureids=[0, 0, 0, 2, 0, 0],
                nodes_values=[0.1, 0.0, 0.0, -0.2, 0.0, 0.0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"] * 2,
                nodes_truenodeids=[1, 0, 0] * 2, nodes_falsenodeids=[2, 0, 0] * 2, n_targets=1, target_treeids=[0, 0, 1, 1],
                target_nodeids=[1, 2, 1, 2], target_ids=[0] * 4, target_weights=[1.0, 2.0, 10.0, 20.0])
    suite.add("TreeEnsembleRegressor", rows, lambda x: (numpy.where(x[:, :1] <= F32(0.1), 1, 2) + numpy.where(x[:, 2:3] <= F32(-0.2), 10, 20)).astype(F32),
              model=model([("TreeEnsembleRegressor", "x", "y", ML, tree)], fixed=("x",)))

    vectors, factors = floats(random, 4, columns), floats(random, 4)
    suite.add("SVMRegressor", rows, lambda x: (numpy.exp(-0.5 * ((x[:, None] - vectors) ** 2).sum(-1)) @ factors + 0.3)[:, None].astype(F32),
              model=model([("SVMRegressor", "x", "y", ML, dict(kernel_type="RBF", kernel_params=[0.5, 0.0, 3.0], n_supports=4, rho=[0.3],
                                                               support_vectors=vectors.ravel().tolist(), coefficients=factors.tolist()))], fixed=("x",)))


def pair(z):
    return numpy.stack([z.real, z.imag], -1).astype(F32)


def add_windows(suite):
    """Windows of a size that the run knows, by their formulas; NumPy's own are the symmetric ones, whose Hamming has other factors."""
    for name, (a, b, c) in dict(HannWindow=(0.5, -0.5, 0), HammingWindow=(25 / 46, -21 / 46, 0), BlackmanWindow=(0.42, -0.5, 0.08)).items():
        for periodic in (1, 0):
            def values(x, a=a, b=b, c=c, periodic=periodic):
                t = numpy.arange(len(x)) * 2 * math.pi / max(len(x) - (not periodic), 1)
                return (x * (a + b * numpy.cos(t) + c * numpy.cos(2 * t)).astype(F32)).astype(F32)
            suite.add(name, lambda r: [("x", floats(r, int(r.integers(2, 40))))], values, model=model(
                [("Shape", "x", "s", "", {}), ("Squeeze", "s", "n", "", {}), (name, "n", "w", "", dict(periodic=periodic)), ("Mul", "x w", "y", "", {})]))


def add_transforms(suite):
    """Signals of any length, by numpy's transforms."""
    step, size = 5, 16
    window = numpy.hanning(size).astype(F32)

    def signal(r, parts, *rest):
        return [("x", floats(r, *[int(r.integers(1, 4)) for _ in rest], *[int(r.integers(low, 40)) for low in rest[:1]], parts))]

    for parts, sides in ((1, 1), (1, 0), (2, 0)):
        def frames(x, sides=sides, parts=parts):
            z = x[..., 0].astype(complex) if parts == 1 else x[..., 0] + 1j * x[..., 1]
            cut = numpy.stack([z[:, i:i + size] * window for i in range(0, z.shape[1] - size + 1, step)], 1)
            return pair(numpy.fft.fft(cut)[..., :size // 2 + 1 if sides else size])
        suite.add("STFT", lambda r, p=parts: signal(r, p, size), frames, model=model(
            [("STFT", "x step w size", "y", "", dict(onesided=sides))], constants=[
                ("step", numpy.array(step)), ("w", window), ("size", numpy.array(size))]))
        for inverse, length in ((0, 0), (1, 0), (0, 12)):
            def whole(x, parts=parts, inverse=inverse, length=length, sides=sides):
                z = (x[..., 0].astype(complex) if parts == 1 else x[..., 0] + 1j * x[..., 1])
                z = (numpy.fft.ifft if inverse else numpy.fft.fft)(z, length or None, axis=1)
                return pair(z[:, :z.shape[1] // 2 + 1] if sides and not inverse else z)
            given = [("n", numpy.array(length))] if length else []
            suite.add("DFT", lambda r, p=parts: signal(r, p, 1), whole, model=model(
                [("DFT", "x n" if length else "x", "y", "", dict(axis=1, inverse=inverse, onesided=sides and not inverse))], constants=given, opset=17))

    def back(x):
        return numpy.fft.irfft(x[..., 0] + 1j * x[..., 1], axis=1).astype(F32)[..., None]
    suite.add("DFT", lambda r: signal(r, 2, 2), back, model=model(
        [("DFT", "x  axis", "y", "", dict(inverse=1, onesided=1))], constants=[("axis", numpy.array(-2))], opset=20))


def add_caches(suite):
    """An update of any length into a cache of any size."""
    for mode in ("linear", "circular"):
        def data(r, mode=mode):
            b, room = int(r.integers(1, 4)), int(r.integers(5, 9))
            n = int(r.integers(1, 5))
            at = r.integers(0, room - n + 1 if mode == "linear" else room, b)
            return [("p", floats(r, b, 2, room, SIZE)), ("u", floats(r, b, 2, n, SIZE)), ("at", at)]

        def scatter(p, u, at):
            y = p.copy()
            for b, i in numpy.ndindex(u.shape[0], u.shape[2]):
                y[b, :, (at[b] + i) % p.shape[2]] = u[b, :, i]
            return y
        suite.add("TensorScatter", data, scatter, model=model([("TensorScatter", "p u at", "y", "", dict(mode=mode))], opset=24))


def add_quantized(suite):
    """com.microsoft's over an open number of rows; distances."""
    random = numpy.random.default_rng(9)
    real = lambda x, s, z: F32(s) * (x.astype(F32) - F32(z))
    to_bytes = lambda y, s, z: numpy.clip(numpy.rint(y / s) + int(z), 0, 255).astype(numpy.uint8)
    numbers = lambda r, *shape: r.integers(0, 256, shape).astype(numpy.uint8)
    parts = {"ys": F32(0.05), "yz": numpy.uint8(7), "s0": F32(0.04), "z0": numpy.uint8(120), "s1": F32(0.07), "z1": numpy.uint8(3)}
    suite.add("QLinearConcat", lambda r: [("a", numbers(r, n := int(r.integers(0, 5)), 3)), ("b", numbers(r, n, int(r.integers(1, 4))))],
              lambda a, b: to_bytes(numpy.concatenate([real(a, parts["s0"], 120), real(b, parts["s1"], 3)], 1), parts["ys"], 7),
              model=model([("QLinearConcat", "ys yz a s0 z0 b s1 z1", "y", MS, dict(axis=1))], constants=list(parts.items())))

    weight, bias = random.integers(-128, 128, (6, 5)).astype(numpy.int8), random.integers(-900, 900, 5).astype(numpy.int32)
    scales = random.uniform(0.01, 0.1, 5).astype(F32)
    for turned_b, out in ((0, 1), (1, 1), (0, 0)):
        given = [("as", F32(0.04)), ("az", numpy.uint8(120)), ("b", weight.T.copy() if turned_b else weight), ("bs", scales), ("bz", numpy.zeros(5, numpy.int8)),
                 ("c", bias)] + ([("ys", F32(2)), ("yz", numpy.uint8(100))] if out else [])

        def product(a, out=out):
            total = (a.astype(numpy.int64) - 120) @ weight.astype(numpy.int64) + bias
            factor = F32(0.75) * (F32(0.04) * scales)
            return numpy.clip(numpy.rint(total * (factor / F32(2)).astype(float)) + 100, 0, 255).astype(numpy.uint8) if out else F32(total) * factor
        suite.add("QGemm", lambda r: [("a", numbers(r, int(r.integers(0, 7)), 6))], product, model=model(
            [("QGemm", "a as az b bs bz c" + (" ys yz" if out else ""), "y", MS, dict(transB=turned_b, alpha=0.75))], constants=given))

    packed, more = random.integers(-128, 128, (8, 24)).astype(numpy.int8), floats(random, 24)

    def attention(x):
        q, k, v = numpy.split(real(x, 0.02, 128) @ (packed * F32(0.01)) + more, 3, 2)
        return joined(attend(parted(q, 2), parted(k, 2), parted(v, 2)))
    suite.add("QAttention", lambda r: [("x", numbers(r, *r.integers(1, 5, 2), 8))], attention, model=model(
        [("QAttention", "x w b xs ws  xz wz", "y", MS, dict(num_heads=2))], constants=[
            ("w", packed), ("b", more), ("xs", F32(0.02)), ("ws", F32(0.01)), ("xz", numpy.uint8(128)), ("wz", numpy.int8(0))]))
    for metric in ("euclidean", "sqeuclidean"):
        def distances(a, b, metric=metric):
            d = ((a[:, None].astype(float) - b) ** 2).sum(-1)
            return (d if metric == "sqeuclidean" else numpy.sqrt(d)).astype(F32)
        suite.add("CDist", lambda r: [("a", floats(r, int(r.integers(0, 5)), n := int(r.integers(1, 5)))), ("b", floats(r, int(r.integers(1, 5)), n))],
                  distances, model=model([("CDist", "a b", "y", MS, dict(metric=metric))]))


def add_optimized(suite):
    """What ONNX Runtime's optimizer makes of several operators, with each input that may be left out there and not."""
    random = numpy.random.default_rng(17)
    words, places, kinds, width = floats(random, 40, 8), floats(random, 12, 8), floats(random, 2, 8), 8
    gamma, beta, bias = floats(random, width), floats(random, width), floats(random, width)

    def norm(x, shift=0, epsilon=1e-12):
        return ((x - x.mean(-1, keepdims=True)) / numpy.sqrt(x.var(-1, keepdims=True) + epsilon) * gamma + shift).astype(F32)

    for names, epsilon in (("ids segments mask", 1e-3), ("ids", 1e-12), ("ids mask", 1e-2), ("ids segments where", 1e-3)):
        def sentences(r, names=names):
            b, s = r.integers(1, 5), r.integers(1, 12)
            given = {"ids": r.integers(0, 40, (b, s)), "segments": r.integers(0, 2, (b, s)), "mask": numpy.arange(s) < r.integers(1, s + 1, (b, 1)),
                     "where": r.integers(0, 12, (b, s))}
            return [(name, given[name].astype(numpy.int32)) for name in names.split()]

        def embedded(ids, segments=None, mask=None, where=None, epsilon=epsilon):
            total = words[ids] + (places[:ids.shape[1]] if where is None else places[where]) + (0 if segments is None else kinds[segments])
            return norm(total, beta, epsilon), (mask.sum(1) if mask is not None else numpy.zeros(len(ids))).astype(numpy.int32), total.astype(F32)
        there = {**{name: name for name in names.split()}, **({"kinds": "kinds"} if "segments" in names else {})}
        ins = "ids %s words places %s gamma beta %s %s" % tuple(there.get(name, "") for name in ("segments", "kinds", "mask", "where"))
        suite.add("EmbedLayerNormalization", sentences, embedded, outputs=("y", "lengths", "sum"), model=model(
            [("EmbedLayerNormalization", ins.rstrip(), "y lengths sum", MS, dict(epsilon=epsilon))],
            constants=[("words", words), ("places", places), ("gamma", gamma), ("beta", beta)] + ([("kinds", kinds)] if "segments" in names else [])))

    rows = lambda r: [("x", floats(r, r.integers(1, 4), r.integers(1, 5), width)), ("s", floats(r, 1, 1, width))]
    suite.add("SkipLayerNormalization", rows, lambda x, s: (norm(x + s + bias, beta), x + s + bias), outputs=("y", "sum"), model=model(
        [("SkipLayerNormalization", "x s gamma beta bias", "y   sum", MS, {})], constants=[("gamma", gamma), ("beta", beta), ("bias", bias)]))
    suite.add("SkipLayerNormalization", rows, lambda x, s: norm(x + s, 0, 0.1), model=model(
        [("SkipLayerNormalization", "x s gamma", "y", MS, dict(epsilon=0.1))], constants=[("gamma", gamma)]))
    suite.add("SimplifiedLayerNormalization", rows, lambda x, s: (x / numpy.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-2) * gamma).astype(F32) + s, model=model(
        [("SimplifiedLayerNormalization", "x gamma", "h", "", dict(axis=-1, epsilon=1e-2)), ("Add", "h s", "y", "", {})], constants=[("gamma", gamma)]))
    def gelu(x):
        return x * numpy.array([0.5 * (1 + math.erf(v / 2 ** 0.5)) for v in x.ravel()], F32).reshape(x.shape)
    suite.add("BiasSplitGelu", rows, lambda x, s: (x + bias + s)[..., :4] * gelu((x + bias + s)[..., 4:]), model=model(
        [("Add", "x s", "h", "", {}), ("BiasSplitGelu", "h bias", "y", MS, {})], constants=[("bias", bias)]))
    suite.add("BiasSoftmax", rows, lambda x, s: softmax((x + s).reshape(len(x), -1)).reshape(x.shape), model=model(
        [("BiasSoftmax", "x s", "y", MS, dict(axis=1, is_inner_broadcast=0))]))
    images = lambda r: [("x", floats(r, r.integers(1, 4), r.integers(1, 5), r.integers(1, 6), width))]

    def grouped(x):
        parts = x.reshape(len(x), -1, 2, 4).astype(float)
        off = parts - parts.mean((1, 3), keepdims=True)
        y = (off / numpy.sqrt((off * off).mean((1, 3), keepdims=True) + 1e-2)).reshape(x.shape) * gamma + beta
        return (y / (1 + numpy.exp(-y))).astype(F32)
    suite.add("GroupNorm", images, grouped, model=model(
        [("GroupNorm", "x gamma beta", "y", MS, dict(epsilon=1e-2, groups=2, activation=1))], constants=[("gamma", gamma), ("beta", beta)]))
    for axis in (0, 2, -1):
        suite.add("ExpandDims", rows, lambda x, s, axis=axis: numpy.expand_dims(x * s, axis), model=model(
            [("Mul", "x s", "h", "", {}), ("ExpandDims", "h axis", "y", MS, {})], constants=[("axis", numpy.array(axis, numpy.int32))]))

    whole = random.integers(-128, 128, (width, 6)).astype(numpy.int8)
    for scale, zero, more in ((F32(0.03), None, None), ((0.01 + random.random(6) * 0.1).astype(F32), None, floats(random, 6)), (F32(0.02), numpy.int8(-5), None)):
        def by_integers(x, s, scale=scale, zero=zero, more=more):
            low, high = min(F32(0), x.min()), max(F32(0), x.max())
            step = F32((high - low) / F32(255))
            point = numpy.clip(numpy.rint(-low / step), 0, 255)
            numbers = numpy.clip(numpy.rint(x / step) + point, 0, 255) - point
            y = numbers @ (whole.astype(int) - int(zero or 0)) * (step * scale).astype(float)
            return (y + (0 if more is None else more)).astype(F32) + s[..., :1]
        ins = ("x b scale %s %s" % ("zero" if zero is not None else "", "more" if more is not None else "")).rstrip()
        given = [(n, a) for n, a in (("b", whole), ("scale", scale), ("zero", zero), ("more", more), ("first", numpy.array([0]))) if a is not None]
        suite.add("DynamicQuantizeMatMul", rows, by_integers, model=model(
            [("DynamicQuantizeMatMul", ins, "h", MS, {}), ("Gather", "s first", "t", "", dict(axis=2)), ("Add", "h t", "y", "", {})], constants=given))

    def leaky(alpha):
        return lambda y: numpy.where(y < 0, alpha * y, y)

    def hard(alpha, beta):
        return lambda y: numpy.clip(alpha * y + beta, 0, 1)
    simple = (("Relu", [], leaky(0)), ("Sigmoid", [], lambda y: 1 / (1 + numpy.exp(-y))), ("Tanh", [], numpy.tanh), ("LeakyRelu", [0.3], leaky(0.3)),
              ("LeakyRelu", [], leaky(0.01)), ("HardSigmoid", [0.3, 0.6], hard(0.3, 0.6)), ("HardSigmoid", [], hard(0.2, 0.5)), ("", [], leaky(1)))
    kernel, shift, a, c = floats(random, 4, 3, 2, 3), floats(random, 4), floats(random, 5, width), floats(random, 5)
    for number, (name, params, function) in enumerate(simple):
        def windows(x, z=0, function=function):
            cut = numpy.lib.stride_tricks.sliding_window_view(x, (2, 3), (2, 3))
            return function(numpy.einsum("nchwij,kcij->nkhw", cut, kernel) + shift[:, None, None] + z).astype(F32)
        planes = lambda r, z=number % 2: [("x", floats(r, n := int(r.integers(1, 5)), 3, 5, 6))] + ([("z", floats(r, n, 4, 4, 4))] if z else [])
        attrs = {**(dict(activation=name) if name else {}), **(dict(activation_params=params) if params else {})}
        suite.add("FusedConv", planes, windows, model=model([("FusedConv", "x w b" + (" z" if number % 2 else ""), "y", MS, attrs)], fixed=("x", "z"),
                                                            constants=[("w", kernel), ("b", shift)]))
        attrs = {**(dict(activation=name) if name else {}), **dict(zip(("activation_alpha", "activation_beta"), params)), "transB": 1, "alpha": 0.5, "beta": 2.0}
        suite.add("FusedGemm", lambda r: [("x", floats(r, int(r.integers(1, 7)), width))],
                  lambda x, function=function: function(0.5 * x @ a.T + 2 * c).astype(F32), model=model([("FusedGemm", "x a c", "y", MS, attrs)],
                                                                                                      constants=[("a", a), ("c", c)]))
    for rank, turned_a, turned_b, name in ((2, 1, 0, "FusedMatMul"), (3, 0, 1, "FusedMatMul"), (4, 1, 1, "FusedMatMul"), (3, 1, 0, "TransposeMatMul")):
        def two(r, rank=rank, turned_a=turned_a, turned_b=turned_b):
            m, k, n = (int(r.integers(1, 7)) for _ in range(3))
            ahead = tuple(int(r.integers(1, 4)) for _ in range(rank - 2))
            return [("a", floats(r, *ahead, *((k, m) if turned_a else (m, k)))), ("b", floats(r, *ahead, *((n, k) if turned_b else (k, n))))]

        def product(a, b, turned_a=turned_a, turned_b=turned_b):
            return (0.7 * (a.swapaxes(-1, -2) if turned_a else a) @ (b.swapaxes(-1, -2) if turned_b else b)).astype(F32)
        suite.add("FusedMatMul", two, product, model=model([(name, "a b", "y", MS, dict(alpha=0.7, transA=turned_a, transB=turned_b))]))


def add_functions(suite):
    """Functions of the model itself: one calls another, takes less than it could, and uses names of the caller for its own."""
    def with_functions(make):
        def build(inputs, outputs):
            made = make(inputs, outputs)
            own = [helper.make_opsetid("", 17), helper.make_opsetid("ours", 1)]
            made.functions.append(helper.make_function("ours", "Steep", ["a"], ["b"], [
                helper.make_node("Mul", ["a", "a"], ["y"]), helper.make_node("Add", ["y", "a"], ["b"])], own))
            made.functions.append(helper.make_function("ours", "Both", ["b", "a", "never"], ["x", "h"], [
                helper.make_node("Steep", ["b"], ["y"], domain="ours"), helper.make_node("Sub", ["y", "a"], ["x"]),
                helper.make_node("Steep", ["x"], ["h"], domain="ours")], own))
            made.opset_import.append(helper.make_opsetid("ours", 1))
            return made
        return build
    steep = lambda a: a * a + a
    suite.add("Function", lambda r: [("x", floats(r, *r.integers(1, 7, 2))), ("h", floats(r, 1, 1))],
              lambda x, h: (steep(steep(x) - h) + h, steep(x) - h), outputs=("y", "z"), model=with_functions(model(
                  [("Both", "x h", "z g", "ours", {}), ("Add", "g h", "y", "", {})], opset=17)))


def main():
    transforms = Suite()
    add_transforms(transforms)
    suite = Suite()
    add_windows(transforms)
    add_caches(suite)
    add_optimized(suite)
    add_functions(suite)
    add_quantized(suite)
    add_attention(suite)
    add_scales(suite)
    add_layers(suite)
    add_triangles(suite)
    add_rows(suite)
    return transforms.run(sys.argv[1], "--dynamic", "--atol", "1e-5") | suite.run(sys.argv[1], "--dynamic")


sys.exit(main())
