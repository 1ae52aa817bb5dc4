#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Operators with the attributes that ONNX's own tests leave out, against references written out here from the standard.
#
# usage: codegen_ops.py VTAC   (exit status 77: python3-onnx is not there)
import itertools
import math
import sys

from onnx_cases import MS, Suite, numpy, random_for

F32 = numpy.float32


def normal(random, shape):
    return random.standard_normal(shape).astype(F32)


# ---- recurrent cells

def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def leaky(x):
    return numpy.where(x < 0, 0.2 * x, x)


def hard(x):
    return numpy.clip(0.3 * x + 0.6, 0, 1)


def affine(x):
    return 1.5 * x + 0.25


FUNCTIONS = {"Sigmoid": sigmoid, "Tanh": numpy.tanh, "Relu": lambda x: numpy.maximum(x, 0), "LeakyRelu": leaky,
             "HardSigmoid": hard, "Affine": affine, "Softsign": lambda x: x / (1 + abs(x)),
             "Softplus": lambda x: numpy.log1p(numpy.exp(x))}
ALPHA = {"LeakyRelu": 0.2, "HardSigmoid": 0.3, "Affine": 1.5}
BETA = {"HardSigmoid": 0.6, "Affine": 0.25}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
USUAL = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}


def cell(op, x, h, c, w, r, b, p, names, clip, reset_after, coupled):
    """One step of one direction for one row of the batch, in double."""
    size = h.shape[-1]
    f = [(lambda v, n=n: FUNCTIONS[n](numpy.clip(v, -clip, clip) if clip else v)) for n in names]
    wb, rb = b[:len(b) // 2], b[len(b) // 2:]
    xs, hs = numpy.split(w @ x + wb, GATES[op]), numpy.split(r @ h + rb, GATES[op])
    if op == "RNN":
        return f[0](xs[0] + hs[0]), c
    if op == "GRU":
        z, reset = f[0](xs[0] + hs[0]), f[0](xs[1] + hs[1])
        rest = reset * hs[2] if reset_after else r[2 * size:] @ (reset * h) + rb[2 * size:]
        return (1 - z) * f[1](xs[2] + rest) + z * h, c
    pi, po, pf = numpy.split(p, 3)
    i = f[0](xs[0] + hs[0] + pi * c)
    forget = 1 - i if coupled else f[0](xs[2] + hs[2] + pf * c)
    c = forget * c + i * f[1](xs[3] + hs[3])
    return f[0](xs[1] + hs[1] + po * c) * f[2](c), c


def recurrent(op, direction, names, layout, clip, reset_after, coupled):
    def compute(x, w, r, b=None, lengths=None, h=None, c=None, p=None):
        x, h, c = (None if v is None else numpy.swapaxes(v, 0, 1) if layout else v for v in (x, h, c))
        steps, batch, _ = x.shape
        directions, _, size = r.shape
        y = numpy.zeros((steps, directions, batch, size))
        last = numpy.zeros((2, directions, batch, size))
        for d, k in itertools.product(range(directions), range(batch)):
            state = numpy.zeros(size) if h is None else h[d, k].astype(float)
            memory = numpy.zeros(size) if c is None else c[d, k].astype(float)
            own = names[d * len(names) // directions:(d + 1) * len(names) // directions]
            length = steps if lengths is None else int(lengths[k])
            order = range(length)
            for t in reversed(order) if d == 1 or direction == "reverse" else order:
                state, memory = cell(op, x[t, k].astype(float), state, memory, w[d].astype(float), r[d].astype(float),
                                     numpy.zeros(2 * w.shape[1]) if b is None else b[d].astype(float),
                                     numpy.zeros(3 * size) if p is None else p[d].astype(float), own, clip, reset_after, coupled)
                y[t, d, k] = state
            last[0, d, k], last[1, d, k] = state, memory
        results = [y.transpose(2, 0, 1, 3) if layout else y] + [v.transpose(1, 0, 2) if layout else v for v in last]
        return tuple(F32(v) for v in results[:3 if op == "LSTM" else 2])
    return compute


def recurrent_cases(suite):
    rows = [  # op, direction, activations, layout, inputs behind R, attributes
        ("RNN", "reverse", None, 0, "blh", {}), ("RNN", "bidirectional", ["Affine", "Relu"], 1, "bh", {"clip": 0.7}),
        ("GRU", "reverse", None, 0, "bl", {"linear_before_reset": 1}), ("GRU", "bidirectional", None, 1, "blh", {}),
        ("GRU", "forward", ["HardSigmoid", "LeakyRelu"], 0, "h", {"clip": 1.5}),
        ("LSTM", "bidirectional", None, 0, "blhcp", {}), ("LSTM", "reverse", None, 1, "hc", {"input_forget": 1}),
        ("LSTM", "bidirectional", ["HardSigmoid", "Softsign", "LeakyRelu", "Sigmoid", "Tanh", "Softplus"], 0, "blhc", {}),
    ]
    for number, (op, direction, names, layout, given, attrs) in enumerate(rows):
        draw = random_for("recurrent", number)
        wide = [int(v) for v in draw.integers((1, 1, 1, 17), (7, 11, 40, 80))]
        batch = number % 4 + 1 # so large that each time's products are a step of their own
        large = [int(draw.integers(1, 4)), batch, 5, int((draw.uniform(1, 1.2) * 600000 / batch / GATES[op]) ** 0.5)]

        def make(random, sizes, op=op, direction=direction, layout=layout, given=given):
            steps, batch, size, hidden = sizes
            gates, d = GATES[op], 2 if direction == "bidirectional" else 1
            # the sums of many inputs are no larger than those of a few, so that a rounding does not grow with the steps
            weights = lambda rows, inner: normal(random, (d, rows, inner)) * F32(min(1, 2 / inner ** 0.5))
            state = (batch, d, hidden) if layout else (d, batch, hidden)
            values = {"b": ("b", normal(random, (d, 2 * gates * hidden))),
                      "l": ("lengths", random.integers(0, steps + 1, (batch,)).astype(numpy.int32)),
                      "h": ("h", normal(random, state)), "c": ("c", normal(random, state)),
                      "p": ("p", normal(random, (d, 3 * hidden)))}
            inputs = [("x", normal(random, (batch, steps, size) if layout else (steps, batch, size))),
                      ("w", weights(gates * hidden, size)), ("r", weights(gates * hidden, hidden))]
            last = max("blhcp".index(k) for k in given)
            return inputs + [values[k] if k in given else ("", None) for k in "blhcp"[:last + 1]]
        full = names or USUAL[op] * (2 if direction == "bidirectional" else 1)
        extra = dict(attrs, direction=direction, layout=layout)
        if names:
            extra.update(activations=names, activation_alpha=[ALPHA[n] for n in names if n in ALPHA],
                         activation_beta=[BETA[n] for n in names if n in BETA])
        reference = recurrent(op, direction, full, layout, attrs.get("clip", 0), attrs.get("linear_before_reset", 0),
                              attrs.get("input_forget", 0))
        for constants, sizes in (((), (5, 3, 4, 6)), (("w", "r"), wide), (("w", "r") if number % 3 else (), large)):
            suite.add(op, lambda random, sizes=sizes, make=make: make(random, sizes), reference, constants,
                      outputs=("y", "last", "memory"), hidden_size=sizes[3], **extra)


# ---- selection

def top_k_cases(suite):
    for axis, largest, k, kind, shape in ((-1, 1, 3, F32, (4, 5, 6)), (0, 0, 4, numpy.int64, (4, 5, 6)), (1, 1, 5, numpy.int32, (4, 5, 6)),
                                          (1, 0, 1, numpy.uint8, (4, 5, 6)), (1, 1, 67, F32, (3, 1003)), (0, 0, 130, F32, (257, 3))):
        def reference(x, k, axis=axis, largest=largest):
            order = numpy.argsort(-x.astype(float) if largest else x.astype(float), axis, kind="stable")
            order = numpy.take(order, range(int(k[0])), axis)
            return numpy.take_along_axis(x, order, axis), order.astype(numpy.int64)

        def make(random, k=k, kind=kind, shape=shape):  # few values, so that many are equal
            return [("x", random.integers(0, 4 + max(shape) // 7, shape).astype(kind)), ("k", numpy.array([k], numpy.int64))]
        suite.add("TopK", make, reference, ("k",), outputs=("values", "places"), axis=axis, largest=largest)
    for largest, kind in itertools.product((1, 0), (F32, numpy.float64, numpy.int8, numpy.uint32, numpy.int64)):
        def extremes(random, kind=kind):  # the ends of the type, zeros of both signs
            kinds = numpy.finfo if numpy.issubdtype(kind, numpy.floating) else numpy.iinfo
            some = numpy.array([0, kinds(kind).min, kinds(kind).max, 7], kind)
            x = random.choice(numpy.concatenate([some, -some[:1] if kinds is numpy.finfo else some[:1]]), (2, 40))
            return [("x", x), ("k", numpy.array([39], numpy.int64))]

        def ordered(x, k, largest=largest):
            order = [sorted(range(x.shape[1]), key=lambda i, r=r: (-r[i] if largest else r[i], i))[:int(k[0])] for r in x.tolist()]
            return numpy.take_along_axis(x, numpy.array(order), 1), numpy.array(order, numpy.int64)
        suite.add("TopK", extremes, ordered, ("k",), outputs=("values", "places"), largest=largest)


def overlap(a, b):
    low, high = numpy.maximum(a[:2], b[:2]), numpy.minimum(a[2:], b[2:])
    shared = numpy.prod(numpy.maximum(high - low, 0))
    return shared / (numpy.prod(a[2:] - a[:2]) + numpy.prod(b[2:] - b[:2]) - shared)


def suppression_cases(suite):
    for centre, most, limit in ((0, 3, 0.4), (1, 20, 0.2)):
        def reference(boxes, scores, most, limit, score, centre=centre):
            rows = []
            for n, c in itertools.product(range(scores.shape[0]), range(scores.shape[1])):
                corners = boxes[n].astype(float)
                corners = numpy.concatenate([corners[:, :2] - corners[:, 2:] / 2, corners[:, :2] + corners[:, 2:] / 2], 1) \
                    if centre else numpy.concatenate([numpy.minimum(corners[:, :2], corners[:, 2:]),
                                                      numpy.maximum(corners[:, :2], corners[:, 2:])], 1)
                chosen = []
                for i in numpy.argsort(-scores[n, c], kind="stable"):
                    if len(chosen) < most[0] and scores[n, c, i] > score[0] \
                            and all(overlap(corners[i], corners[k]) <= limit[0] for k in chosen):
                        chosen.append(i)
                rows += [[n, c, i] for i in chosen]
            return numpy.array(rows, numpy.int64).reshape(-1, 3)

        def make(random, most=most, limit=limit):
            return [("boxes", random.random((2, 15, 4)).astype(F32)), ("scores", random.random((2, 3, 15)).astype(F32)),
                    ("most", numpy.array([most], numpy.int64)), ("limit", numpy.array([limit], F32)),
                    ("score", numpy.array([0.3], F32))]
        suite.add("NonMaxSuppression", make, reference, ("most", "limit", "score"), center_point_box=centre)


# ---- sums, normalization, activations

def einsum_cases(suite):
    for equation, shapes in (("bhid,bhjd->bhij", ((2, 3, 4, 5), (2, 3, 6, 5))), ("...ij,...jk", ((2, 1, 3, 4), (5, 4, 6))),
                             ("ii->i", ((5, 5),)), ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 5))), ("i,j", ((3,), (4,))),
                             ("ijk->", ((2, 3, 4),)), ("b...c->c...b", ((2, 3, 4, 5),)),
                             ("bqhd,bkhd->bhqk", ((2, 5, 3, 20), (2, 7, 3, 20))), ("bhqk,bkhd->bqhd", ((2, 3, 5, 7), (2, 7, 3, 20))),
                             ("bhwc,hkc->bhwk", ((2, 3, 4, 17), (3, 5, 17))), ("bhd,bhkd->bhk", ((2, 3, 33), (2, 3, 5, 33))),
                             ("ki,jk->ji", ((6, 5), (4, 6))), ("abc,cab->bc", ((2, 3, 4), (4, 2, 3))), ("ab,cb->abc", ((2, 3), (4, 3))),
                             ("ijk,kl->il", ((2, 3, 4), (4, 5))), ("ij,jk->ik", ((3, 4), (1, 5))), ("iij,jk->ik", ((3, 3, 4), (4, 5)))):
        def reference(equation=equation, **x):
            return numpy.asarray(numpy.einsum(equation, *[v.astype(float) for v in x.values()]), F32)

        def make(random, shapes=shapes):
            return [("x%d" % i, normal(random, shape)) for i, shape in enumerate(shapes)]
        suite.add("Einsum", make, reference, equation=equation)


def norm_cases(suite):
    for version, groups in ((18, 2), (21, 2), (21, 6), (21, 1)):
        def reference(x, scale, bias, version=version, groups=groups):
            parts = x.astype(float).reshape(x.shape[0], groups, -1)
            y = (parts - parts.mean(2, keepdims=True)) / numpy.sqrt(parts.var(2, keepdims=True) + 1e-3)
            y = y.reshape(x.shape)
            each = 6 // groups if version < 21 else 1
            scale, bias = (numpy.repeat(v, each).reshape(1, 6, 1, 1) for v in (scale, bias))
            return F32(y * scale + bias)

        def make(random, version=version, groups=groups):
            count = groups if version < 21 else 6
            return [("x", normal(random, (2, 6, 3, 4))), ("scale", normal(random, (count,))), ("bias", normal(random, (count,)))]
        suite.add("GroupNormalization", make, reference, version=version, num_groups=groups, epsilon=1e-3)


def moment_cases(suite):
    """Sums of exponentials that would overflow; the moments of LayerNormalization are float32 whatever x is."""
    def summed(x):
        most = numpy.where(numpy.isinf(x.max(1, keepdims=True)), 0, x.max(1, keepdims=True)).astype(float)
        return (numpy.log(numpy.exp(x - most).sum(1, keepdims=True)) + most).astype(x.dtype)

    def large(random, kind, far):
        x = (random.standard_normal((3, 5, 9)) * far).astype(kind)
        if numpy.dtype(kind).kind == "f":
            x[0, :, 0] = -numpy.inf
        return [("x", x), ("axes", numpy.array([1], numpy.int64))]

    for kind, far in ((F32, 300), (numpy.float16, 300), (float, 3000), (numpy.int32, 90), (numpy.int64, 9)):
        suite.add("ReduceLogSumExp", lambda r, k=kind, f=far: large(r, k, f), lambda x, axes: summed(x), ("axes",), version=18)
    for kind in (numpy.int32, numpy.uint32, numpy.int64):
        suite.add("ReduceLogSum", lambda r, k=kind: [("x", r.integers(1, 99, (3, 40)).astype(k)), ("axes", numpy.array([1], numpy.int64))],
                  lambda x, axes: numpy.log(x.sum(1, keepdims=True).astype(float)).astype(x.dtype), ("axes",), version=18)
    for kind in (float, numpy.float16, F32):
        def normalized(x, g):
            wide = x.astype(float)
            mean, scale = wide.mean(1, keepdims=True), 1 / numpy.sqrt(wide.var(1, keepdims=True) + 0.25)
            return ((wide - mean) * scale * g).astype(x.dtype), F32(mean), F32(scale)
        suite.add("LayerNormalization", lambda r, k=kind: [("x", (r.integers(-8, 9, (4, 16)) / 4).astype(k)), ("g", numpy.full(16, 2, k))],
                  normalized, epsilon=0.25, outputs=("y", "mean", "scale"))

    def first_of_largest(x):  # of three in a row; the least number there is has a place, too
        places = numpy.arange(10)[None, None] + x[:, :, numpy.arange(10)[:, None] + numpy.arange(3)].argmax(3)
        return numpy.take_along_axis(x, places, 2), numpy.int64(places + 12 * numpy.arange(6).reshape(2, 3, 1))

    for kind, least in ((numpy.uint8, 0), (numpy.int8, -128), (F32, -numpy.inf)):
        def sparse(random, kind=kind, least=least):
            return [("x", numpy.where(random.random((2, 3, 12)) < 0.8, least, random.integers(1, 9, (2, 3, 12))).astype(kind))]
        suite.add("MaxPool", sparse, first_of_largest, kernel_shape=[3], outputs=("y", "places"))


def fused_cases(suite):
    rows = (("Relu", (), lambda v: numpy.maximum(v, 0)), ("Sigmoid", (), sigmoid), ("Tanh", (), numpy.tanh),
            ("LeakyRelu", (0.3,), lambda v: numpy.where(v < 0, 0.3 * v, v)),
            ("Clip", (-0.5, 1.5), lambda v: numpy.clip(v, -0.5, 1.5)), ("HardSigmoid", (0.3, 0.6), hard), (None, (), lambda v: v))
    for (name, parameters, function), added, biased in itertools.product(rows, (False, True), (False, True)):
        def reference(x, w, b=None, z=0, function=function):
            v = numpy.einsum("nchw,oc->nohw", x.astype(float), w[:, :, 0, 0].astype(float))
            v = v if b is None else v + b.reshape(1, -1, 1, 1)
            return F32(function(v + z))

        def make(random, added=added, biased=biased):
            inputs = [("x", normal(random, (2, 3, 4, 5))), ("w", normal(random, (6, 3, 1, 1)))]
            inputs += [("b", normal(random, (6,)))] if biased else [("", None)] if added else []
            return inputs + ([("z", normal(random, (2, 6, 4, 5)))] if added else [])
        attrs = {"activation": name, "activation_params": list(parameters)} if name else {}
        suite.add("FusedConv", make, reference, ("w", "b"), domain=MS, **{k: v for k, v in attrs.items() if v})
    suite.add("Gelu", lambda random: [("x", 4 * normal(random, (3, 50)))],
              lambda x: F32([v / 2 * (1 + math.erf(v / math.sqrt(2))) for v in x.astype(float).reshape(-1)]).reshape(x.shape),
              domain=MS)


# ---- resizing and quantization

def stretched(data, axis, length, mode, exclude, scale=None):
    """One axis by the stretched kernel, half-pixel coordinates."""
    size = data.shape[axis]
    scale = scale or length / size
    narrow = min(scale, 1.0)

    def kernel(d):
        d = abs(d)
        if mode == "linear":
            return max(0.0, 1 - d)
        return ((1.25 * d - 2.25) * d * d + 1) if d <= 1 else ((-0.75 * d + 3.75) * d - 6) * d + 3 if d < 2 else 0.0
    out = []
    for i in range(length):
        x = (i + 0.5) / scale - 0.5
        reach = math.ceil(2 / narrow) + 1
        total, weights = 0, 0
        for k in range(math.floor(x) - reach, math.floor(x) + reach + 2):
            weight = 0 if exclude and not 0 <= k < size else kernel((k - x) * narrow)
            total = total + weight * numpy.take(data, min(max(k, 0), size - 1), axis)
            weights += weight
        out.append(total / weights)
    return numpy.stack(out, axis)


def resize_cases(suite):
    for mode, shape, exclude in (("linear", (3, 4), 0), ("cubic", (3, 4), 0), ("cubic", (5, 21), 1), ("linear", (2, 13), 1)):
        def reference(x, sizes, mode=mode, exclude=exclude):
            y = x.astype(float)
            for axis in (2, 3):
                y = stretched(y, axis, int(sizes[axis]), mode, exclude) if sizes[axis] != x.shape[axis] else y
            return F32(y)

        def make(random, shape=shape):
            return [("x", normal(random, (2, 3, 9, 13))), ("", None), ("", None), ("sizes", numpy.array((2, 3) + shape))]
        suite.add("Resize", make, reference, ("sizes",), version=18, mode=mode, antialias=1, exclude_outside=exclude)
    # the nearest place: repeated, every second one, other steps, and neither, along any axes; the last vector of a row overlaps
    for kind, shape, out, rounding in ((F32, (1, 3, 7, 9), (1, 3, 14, 18), "floor"), (F32, (2, 3, 5, 26), (2, 3, 20, 104), "round_prefer_floor"),
                                       (numpy.uint8, (1, 5, 6, 23), (1, 5, 12, 46), "round_prefer_ceil"), (numpy.int8, (3, 40), (9, 160), "floor"),
                                       (F32, (1, 2, 30, 70), (1, 2, 15, 35), "ceil"), (numpy.float16, (2, 4, 37), (2, 4, 74), "floor"),
                                       (numpy.int64, (3, 6, 10), (3, 6, 80), "floor"), (F32, (2, 3, 8, 33), (2, 3, 8, 99), "round_prefer_floor"),
                                       (F32, (1, 40, 40, 64), (1, 40, 100, 64), "floor"), (F32, (1, 3, 20, 44), (1, 3, 50, 61), "round_prefer_ceil"),
                                       (numpy.int32, (2, 21, 9), (2, 7, 3), "floor"), (numpy.uint8, (1, 3, 4, 100), (1, 3, 9, 1600), "round_prefer_floor")):
        rounds = {"floor": numpy.floor, "ceil": numpy.ceil, "round_prefer_floor": lambda p: numpy.ceil(p - 0.5),
                  "round_prefer_ceil": lambda p: numpy.floor(p + 0.5)}[rounding]

        def picked(x, sizes, out=out, rounds=rounds):
            for axis, to in enumerate(out):
                if to != x.shape[axis]:
                    places = rounds((numpy.arange(to) + 0.5) / (to / x.shape[axis]) - 0.5)
                    x = numpy.take(x, numpy.clip(places, 0, x.shape[axis] - 1).astype(int), axis)
            return x
        suite.add("Resize", lambda random, kind=kind, shape=shape, out=out: [
            ("x", (40 * random.standard_normal(shape)).astype(kind) if kind != numpy.uint8 else random.integers(0, 256, shape).astype(kind)),
            ("", None), ("", None), ("sizes", numpy.array(out))], picked, ("sizes",), version=18, mode="nearest", nearest_mode=rounding)

        def doubled(x, sizes, out=out):
            for axis, to in enumerate(out):
                x = numpy.take(x, numpy.arange(to) * x.shape[axis] // to, axis)
            return x
        suite.add("Resize", lambda random, kind=kind, shape=shape, out=out: [
            ("x", (40 * random.standard_normal(shape)).astype(kind) if kind != numpy.uint8 else random.integers(0, 256, shape).astype(kind)),
            ("", None), ("", None), ("sizes", numpy.array(out))], doubled, ("sizes",), version=18, mode="nearest", nearest_mode="floor",
            coordinate_transformation_mode="asymmetric")
    # one scale for all axes: the sizes are rounded, the scale is not
    for policy, pick, mode in itertools.product((("not_larger", min), ("not_smaller", max)), (0, 1), ("linear", "cubic")):
        wanted = ((7, 17), (13, 6))[pick]

        def kept(x, sizes, pick=policy[1], mode=mode):
            y, scale = x.astype(float), pick(int(sizes[i]) / x.shape[i + 2] for i in range(2))
            for axis in (2, 3):
                y = stretched(y, axis, int(x.shape[axis] * scale + 0.5), mode, 0, scale)
            return F32(y)
        suite.add("Resize", lambda random, w=wanted: [("x", normal(random, (2, 3, 5, 9))), ("", None), ("", None), ("sizes", numpy.array(w))],
                  kept, ("sizes",), version=18, mode=mode, axes=[2, 3], antialias=1, keep_aspect_ratio_policy=policy[0])


def block_cases(suite):
    for kind, axis, block in ((numpy.int8, 1, 4), (numpy.uint8, -1, 2), (numpy.int16, 0, 3), (numpy.uint16, 2, 5)):
        shape = (5, 6, 7)
        info = numpy.iinfo(kind)

        def spread(v, axis=axis, block=block, shape=shape):
            return numpy.take(numpy.repeat(v, block, axis), range(shape[axis]), axis)

        def make(random, kind=kind, axis=axis, block=block, shape=shape, info=info):
            blocks = list(shape)
            blocks[axis] = -(-shape[axis] // block)
            return [("x", 100 * normal(random, shape)), ("scale", random.uniform(0.01, 1.0, blocks).astype(F32)),
                    ("zero", random.integers(info.min // 8, info.max // 8 + 1, blocks).astype(kind))]

        def quantize(x, scale, zero, spread=spread, info=info):
            y = numpy.rint(x / spread(scale)) + spread(zero).astype(float)
            return numpy.clip(y, info.min, info.max).astype(zero.dtype)

        def dequantize(x, scale, zero, spread=spread):
            return F32(x.astype(numpy.int32) - spread(zero).astype(numpy.int32)) * spread(scale)

        def numbers(random, make=make, kind=kind, shape=shape, info=info):
            return [("x", random.integers(info.min, info.max + 1, shape).astype(kind))] + make(random)[1:]
        suite.add("QuantizeLinear", make, quantize, version=21, axis=axis, block_size=block)
        suite.add("DequantizeLinear", numbers, dequantize, version=21, axis=axis, block_size=block)


def main():
    suite = Suite()
    recurrent_cases(suite)
    top_k_cases(suite)
    suppression_cases(suite)
    einsum_cases(suite)
    norm_cases(suite)
    moment_cases(suite)
    fused_cases(suite)
    resize_cases(suite)
    block_cases(suite)
    return suite.run(sys.argv[1], "--rtol", "1e-5", "--atol", "2e-5")


sys.exit(main())
