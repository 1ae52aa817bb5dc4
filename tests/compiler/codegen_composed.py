#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Operators that the importer makes of others, against references written out from the standard: loops over batches, heads
# and places, in double.
#
# usage: codegen_composed.py VTAC   (exit status 77: python3-onnx is not there)
import itertools
import math
import sys

from onnx_cases import MS, Suite, helper, numpy, numpy_helper

F32 = numpy.float32


def normal(random, *shape):
    return random.standard_normal(shape).astype(F32)


def softmax(row):
    e = numpy.exp(row - row.max())
    return e / e.sum()


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


# ---- attention

def attend(q, k, v, bias, scale, softcap=0.0):
    """One row of one head after the other: outputs, and the products plain, capped, with the bias, after the softmax."""
    batches, heads, queries, _ = q.shape
    y = numpy.zeros((batches, heads, queries, v.shape[3]))
    stages = numpy.zeros((4, batches, heads, queries, k.shape[2]))
    for b, h, i in itertools.product(range(batches), range(heads), range(queries)):
        own = h * k.shape[1] // heads
        row = k[b, own].astype(float) @ q[b, h, i].astype(float) * scale
        stages[0, b, h, i] = row
        row = softcap * numpy.tanh(row / softcap) if softcap else row
        stages[1, b, h, i] = row
        row = row + bias[b, h, i]
        stages[2, b, h, i] = row
        row = softmax(row) if row.max() > -math.inf else numpy.zeros(len(row))  # a query that sees no key
        stages[3, b, h, i] = row
        y[b, h, i] = row @ v[b, own]
    return y, stages


def parted(x, heads):
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(0, 2, 1, 3)


def joined(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def attention_case(suite, batch=2, heads=4, own=4, queries=3, keys=5, size=4, vsize=4, flat=False, past=0, mask=None, causal=0,
                   give=0, softcap=0.0, scale=None, used=False, window=0, version=24, outputs=("y", "pk", "pv", "qk")):
    total = keys + past

    def make(random):
        shapes = (heads, queries, size), (own, keys, size), (own, keys, vsize)
        found = []
        for name, (h, s, d) in zip("QKV", shapes):
            found.append((name, normal(random, batch, s, h * d) if flat else normal(random, batch, h, s, d)))
        if mask is None:
            found.append(("", None))
        elif mask[0] != "float":
            seen = random.integers(0, 3, mask[1]) > 0
            seen[..., 0] = True
            seen[..., 1, :] = seen[..., 1, :] & (mask[0] == "bool")
            found.append(("mask", seen if mask[0] != "holes" else numpy.where(seen, normal(random, *mask[1]), F32(-numpy.inf))))
        else:
            found.append(("mask", normal(random, *mask[1])))
        found += [("pk", normal(random, batch, own, past, size)), ("pv", normal(random, batch, own, past, vsize))] if past else \
            [("", None)] * 2
        found += [("used", random.integers(1 if window else queries, total + 1, (batch,)).astype(numpy.int64))] if used else []
        return found

    def reference(Q, K, V, mask=None, pk=None, pv=None, used=None):
        q, k, v = (parted(Q, heads), parted(K, own), parted(V, own)) if flat else (Q, K, V)
        k = k if pk is None else numpy.concatenate([pk, k], 2)
        v = v if pv is None else numpy.concatenate([pv, v], 2)
        bias = numpy.zeros((batch, heads, queries, total))
        if mask is not None:
            add = numpy.where(mask, 0.0, -math.inf) if mask.dtype == bool else mask.astype(float)
            if add.shape[-1] < total:
                add = numpy.concatenate([add, numpy.full(add.shape[:-1] + (total - add.shape[-1],), -math.inf)], -1)
            bias = bias + (add[:, None] if add.ndim == 3 and len(add) not in (1, heads) else add)
        for b, i, j in itertools.product(range(batch), range(queries), range(total)):
            before = used[b] - queries if used is not None and pk is None else past
            if (causal and j > i + before) or (window and not 0 <= i + before - j < window) or (used is not None and j >= used[b]):
                bias[b, :, i, j] = -math.inf
        y, stages = attend(q, k, v, bias, scale or 1 / math.sqrt(size), softcap)
        return tuple(numpy.asarray(r, F32) for r in (joined(y) if flat else y, k, v, stages[give]))[:len(outputs)]
    attrs = dict(is_causal=causal, qk_matmul_output_mode=give)
    attrs.update({"softcap": softcap} if softcap else {})
    attrs.update({"scale": scale} if scale else {})
    attrs.update({"local_window_size": window} if window else {})
    attrs.update({"q_num_heads": heads, "kv_num_heads": own} if flat else {})
    make_named = make if not past else (lambda random: [(("past_" + n if n in ("pk", "pv") else n), a) for n, a in make(random)])
    suite.add("Attention", make_named, lambda past_pk=None, past_pv=None, **a: reference(pk=past_pk, pv=past_pv, **a), version=version,
              outputs=outputs, **attrs)


def attention(suite):
    short = ("y",)
    for version in (23, 24):
        attention_case(suite, version=version, outputs=short)
    for flat in (False, True):
        attention_case(suite, flat=flat, own=2, vsize=6, give=0)
        attention_case(suite, flat=flat, own=1, past=3, causal=1, give=2)
        attention_case(suite, flat=flat, mask=("float", (3, 5)), softcap=1.5, give=1)
        attention_case(suite, flat=flat, mask=("bool", (2, 1, 3, 5)), causal=1, queries=3, keys=5, give=3)
    attention_case(suite, mask=("float", (4, 3, 5)), scale=0.3, outputs=short)
    attention_case(suite, mask=("bool", (3, 3)), past=2, outputs=short)
    for holes in ("blind", "holes"):
        for version, give in ((23, 3), (24, 3), (24, 2)):
            attention_case(suite, mask=(holes, (3, 5)), give=give, version=version)
        attention_case(suite, mask=(holes, (2, 1, 3, 5)), causal=1, flat=True, own=2, outputs=short)
    attention_case(suite, used=True, keys=4, queries=4, causal=1, window=2, mask=("float", (2, 4, 4)), outputs=short)
    for past, causal in ((0, 0), (0, 1), (8, 0)):
        attention_case(suite, heads=3, own=3, queries=4, keys=2 if past else 6, past=past, causal=causal, window=3, flat=causal == 1, outputs=short)
    attention_case(suite, used=True, keys=7, outputs=short)
    attention_case(suite, used=True, keys=7, causal=1, mask=("float", (2, 4, 3, 7)), outputs=short)
    attention_case(suite, batch=1, heads=1, own=1, queries=1, keys=1, size=1, vsize=1)

    def many(random):
        return [("q", normal(random, 2, 3, 8)), ("k", normal(random, 2, 5, 8)), ("v", normal(random, 2, 5, 8)), ("b", normal(random, 24)),
                ("mask", random.integers(1, 6, (2,)).astype(numpy.int32))]

    def mha(q, k, v, b, mask):
        q, k, v = (parted(x + b[8 * i:8 * i + 8], 2) for i, x in enumerate((q, k, v)))
        bias = numpy.zeros((2, 2, 3, 5)) + numpy.where(numpy.arange(5) < mask[:, None], 0.0, -10000.0)[:, None, None]
        return joined(attend(q, k, v, bias, 0.5)[0]).astype(F32)
    suite.add("MultiHeadAttention", many, mha, domain=MS, num_heads=2)

    def single(random):
        return [("x", normal(random, 2, 4, 6)), ("w", normal(random, 6, 24)), ("b", normal(random, 24)),
                ("mask", (numpy.arange(4) < random.integers(1, 5, (2, 1))).astype(numpy.int32))]

    def one(x, w, b, mask, causal=False):
        q, k, v = (parted(p, 2) for p in numpy.split(x.astype(float) @ w + b, 3, -1))
        bias = numpy.zeros((2, 2, 4, 4)) + numpy.where(mask > 0, 0.0, -10000.0)[:, None, None]
        if causal:
            bias = bias + numpy.triu(numpy.full((4, 4), -math.inf), 1)
        return joined(attend(q, k, v, bias, 0.5)[0]).astype(F32)
    for causal in (0, 1):
        suite.add("Attention", single, lambda x, w, b, mask, u=causal: one(x, w, b, mask, u), domain=MS, num_heads=2, unidirectional=causal)


def modifier(nodes, numbers, name):
    """A graph from scores to scores; a node is (operator, names of inputs, name of its output)."""
    nodes = [helper.make_node(op, given.split(), [made]) for op, given, made in nodes]
    value = lambda n: helper.make_tensor_value_info(n, 1, ["B", "H", "L", "S"])
    return helper.make_graph(nodes, name, [value("scores")], [value("changed")],
                             [numpy_helper.from_array(numpy.array(a), n) for n, a in numbers.items()])


def flex(suite):
    place = [("Shape", "scores", "shape"), ("Gather", "shape two", "rows"), ("Gather", "shape three", "columns"), ("Range", "zero rows one", "i"),
             ("Range", "zero columns one", "j"), ("Unsqueeze", "i one", "down")]
    number = numpy.int64
    places = {"zero": number(0), "one": number(1), "two": number(2), "three": number(3), "low": F32(-math.inf), "cap": F32(3)}
    below = lambda s: numpy.where(numpy.arange(s.shape[2])[:, None] >= numpy.arange(s.shape[3]), s, -math.inf)
    forms = (("score_mod", [("Add", "scores cap", "changed")], lambda s: s + 3),
             ("score_mod", [("Div", "scores cap", "a"), ("Tanh", "a", "b"), ("Mul", "b cap", "changed")], lambda s: numpy.tanh(s / 3) * 3),
             ("mask_mod", place + [("GreaterOrEqual", "down j", "seen"), ("Where", "seen scores low", "changed")], below),
             ("prob_mod", [("Mul", "scores cap", "changed")], lambda p: p * 3))
    for own, vsize, scale, chosen in ((4, 5, None, ()), (2, 4, 0.3, (0, 2)), (4, 6, None, (1, 3)), (1, 4, 0.7, (2, 3)), (4, 4, None, (0, 2, 3))):
        def make(random, own=own, vsize=vsize):
            return [("q", normal(random, 2, 4, 3, 4)), ("k", normal(random, 2, own, 5, 4)), ("v", normal(random, 2, own, 5, vsize))]

        def reference(q, k, v, scale=scale, chosen=chosen):
            change = {forms[i][0]: forms[i][2] for i in chosen}
            same = lambda s: s
            k, v = (numpy.repeat(a, 4 // a.shape[1], 1).astype(float) for a in (k, v))
            scores = numpy.einsum("bhld,bhsd->bhls", q.astype(float), k) * (scale or 0.5)
            scores = change.get("mask_mod", same)(change.get("score_mod", same)(scores))
            rows = numpy.exp(scores - scores.max(-1, keepdims=True))
            return (change.get("prob_mod", same)(rows / rows.sum(-1, keepdims=True)) @ v).astype(F32)
        attrs = {forms[i][0]: modifier(forms[i][1], places, forms[i][0]) for i in chosen}
        suite.add("FlexAttention", make, reference, version=26, domain="ai.onnx.preview", **attrs, **({"scale": scale} if scale else {}))


def turned(x, cos, sin, interleaved):
    """One pair of numbers after the other, as points of the plane."""
    y = x.astype(float).copy()
    half = cos.shape[-1]
    for b, h, s, j in itertools.product(range(x.shape[0]), range(x.shape[1]), range(x.shape[2]), range(half)):
        first, second = (2 * j, 2 * j + 1) if interleaved else (j, j + half)
        a, d = x[b, h, s, first], x[b, h, s, second]
        y[b, h, s, first] = a * cos[b, s, j] - d * sin[b, s, j]
        y[b, h, s, second] = a * sin[b, s, j] + d * cos[b, s, j]
    return y


def rotary(suite):
    for flat, interleaved, places, with_ids in itertools.product((False, True), (0, 1), (3, 2), (False, True)):
        if flat != with_ids and places == 3:
            continue

        def make(random, flat=flat, places=places, with_ids=with_ids):
            cache = (9, places) if with_ids else (2, 5, places)
            ids = [("ids", random.integers(0, 9, (2, 5)).astype(numpy.int64))] if with_ids else []
            return [("x", normal(random, 2, 5, 18) if flat else normal(random, 2, 3, 5, 6)), ("cos", normal(random, *cache)),
                    ("sin", normal(random, *cache))] + ids

        def reference(x, cos, sin, ids=None, flat=flat, i=interleaved):
            cos, sin = (cos, sin) if ids is None else (cos[ids], sin[ids])
            y = turned(parted(x, 3) if flat else x, cos, sin, i)
            return (joined(y) if flat else y).astype(F32)
        attrs = dict(interleaved=interleaved, **({"num_heads": 3} if flat else {}), **({} if places == 3 else {"rotary_embedding_dim": 4}))
        suite.add("RotaryEmbedding", make, reference, version=23, **attrs)


def linear(suite):
    for rule, own, past, wide in (("linear", 2, False, 0), ("gated", 1, True, 1), ("delta", 2, False, 0), ("gated_delta", 1, True, 0),
                                  ("gated_delta", 2, False, 1)):
        def make(random, rule=rule, own=own, past=past, wide=wide):
            gated, delta = rule.startswith("gated"), rule.endswith("delta")
            return [("q", normal(random, 2, 3, 8)), ("k", normal(random, 2, 3, 4 * own)), ("v", normal(random, 2, 3, 5 * own)),
                    ("past", normal(random, 2, own, 4, 5)) if past else ("", None),
                    ("decay", normal(random, 2, 3, own * (4 if wide else 1))) if gated else ("", None)] + \
                   ([("beta", normal(random, 2, 3, own))] if delta else [])

        def reference(q, k, v, past=None, decay=None, beta=None, own=own):
            q, k, v = parted(q, 2).astype(float), parted(k, own).astype(float), parted(v, own).astype(float)
            y, states = numpy.zeros((2, 2, 3, 5)), numpy.zeros((2, own, 4, 5))
            for b, h in itertools.product(range(2), range(own)):
                state = numpy.zeros((4, 5)) if past is None else past[b, h].astype(float)
                for t in range(3):
                    if decay is not None:
                        state = numpy.exp(decay[b, t].reshape(own, -1)[h].astype(float))[:, None] * state
                    write = v[b, h, t] if beta is None else beta[b, t, h] * (v[b, h, t] - k[b, h, t] @ state)
                    state = state + numpy.outer(k[b, h, t], write)
                    for g in range(2 // own):
                        y[b, h * (2 // own) + g, t] = q[b, h * (2 // own) + g, t] @ state / 2
                states[b, h] = state
            return joined(y).astype(F32), states.astype(F32)
        suite.add("LinearAttention", make, reference, version=27, outputs=("y", "s"), update_rule=rule, q_num_heads=2, kv_num_heads=own)
    for activation, bias, past in (("none", False, False), ("silu", True, True), ("swish", True, False)):
        def signal(random, bias=bias, past=past):
            return [("x", normal(random, 2, 3, 7)), ("w", normal(random, 3, 1, 4))] + \
                [("b", normal(random, 3)) if bias else ("", None)] + ([("past", normal(random, 2, 3, 3))] if past else [])

        def convolved(x, w, b=None, past=None, activation=activation):
            past = numpy.zeros((2, 3, 3), F32) if past is None else past
            whole = numpy.concatenate([past, x], 2).astype(float)
            y = numpy.zeros(x.shape)
            for n, ch, t in itertools.product(range(2), range(3), range(7)):
                y[n, ch, t] = whole[n, ch, t:t + 4] @ w[ch, 0] + (0 if b is None else b[ch])
            return (y if activation == "none" else y * sigmoid(y)).astype(F32), whole[:, :, -3:].astype(F32)
        suite.add("CausalConvWithState", signal, convolved, version=27, outputs=("y", "p"), activation=activation)


# ---- normalizations, activations

def layer_norm(x, scale, bias, epsilon=1e-5):
    x = x.astype(float)
    off = x - x.mean(-1, keepdims=True)
    return off / numpy.sqrt((off * off).mean(-1, keepdims=True) + epsilon) * scale + bias


def gelu(x):
    return 0.5 * x * (1 + numpy.vectorize(math.erf)(x / math.sqrt(2)))


def norms(suite):
    for axis in (0, 1, 2, -1, -2):
        def make(random, axis=axis):
            return [("x", normal(random, 2, 3, 4)), ("s", normal(random, *(2, 3, 4)[axis:]))]

        def rms(x, s, axis=axis):
            over = tuple(range(axis % 3, 3))
            return (x / numpy.sqrt((x.astype(float) ** 2).mean(over, keepdims=True) + 1e-3) * s).astype(F32)
        suite.add("RMSNormalization", make, rms, version=23, axis=axis, epsilon=1e-3)
    rows = lambda random: [("x", normal(random, 2, 3, 8)), ("k", normal(random, 2, 3, 8)), ("g", normal(random, 8)), ("b", normal(random, 8))]
    suite.add("SkipLayerNormalization", rows, lambda x, k, g, b: layer_norm(x + k, g, b, 1e-12).astype(F32), domain=MS)
    for axis in (1, -1):
        def shares(x, b, axis=axis):
            e = numpy.exp((x + b) - (x + b).max(tuple(range(axis % 3, 3)), keepdims=True))
            return (e / e.sum(tuple(range(axis % 3, 3)), keepdims=True)).astype(F32)
        suite.add("BiasSoftmax", lambda random: [("x", normal(random, 2, 3, 8)), ("b", normal(random, 1, 3, 8))], shares, domain=MS, axis=axis, is_inner_broadcast=0)
    few = lambda random: rows(random)[:3]
    suite.add("SkipSimplifiedLayerNormalization", few, lambda x, k, g: (
        (x + k) / numpy.sqrt(((x + k).astype(float) ** 2).mean(-1, keepdims=True) + 1e-12) * g).astype(F32), domain=MS)
    words = lambda random: [("i", random.integers(0, 9, (2, 3)).astype(numpy.int32)), ("t", random.integers(0, 2, (2, 3)).astype(numpy.int32)),
                            ("w", normal(random, 9, 8)), ("p", normal(random, 5, 8)), ("s", normal(random, 2, 8)), ("g", normal(random, 8)),
                            ("b", normal(random, 8))]
    suite.add("EmbedLayerNormalization", words, lambda i, t, w, p, s, g, b: layer_norm(w[i] + p[:3] + s[t], g, b, 1e-12).astype(F32), domain=MS)
    for shape in ((2, 3), (2, 3, 4), (2, 3, 4, 5)):
        def batch(random, shape=shape):
            return [("x", normal(random, *shape))] + [(n, random.uniform(0.5, 2, 3).astype(F32)) for n in "sbmv"]

        def trained(x, s, b, m, v):
            mean, var = (f(numpy.moveaxis(x, 1, 0).reshape(3, -1).astype(float), 1) for f in (numpy.mean, numpy.var))
            wide = [p.reshape((1, 3) + (1,) * (x.ndim - 2)) for p in (mean, var, s, b)]
            y = (x - wide[0]) / numpy.sqrt(wide[1] + 1e-5) * wide[2] + wide[3]
            return y.astype(F32), (0.8 * m + 0.2 * mean).astype(F32), (0.8 * v + 0.2 * var).astype(F32)
        suite.add("BatchNormalization", batch, trained, version=15, outputs=("y", "m2", "v2"), training_mode=1, momentum=0.8)
    x = lambda random: [("x", normal(random, 3, 5))]
    pair = lambda random: [("x", normal(random, 3, 5)), ("b", normal(random, 5))]
    suite.add("Swish", x, lambda x: (x * sigmoid(x.astype(float))).astype(F32), version=24)
    suite.add("Swish", x, lambda x: (x * sigmoid(0.7 * x.astype(float))).astype(F32), version=24, alpha=0.7)
    both = lambda random: [("a", normal(random, 3, 5)), ("b", normal(random, 3, 5))]
    suite.add("SwiGLU", both, lambda a, b: (a * sigmoid(0.6 * a.astype(float)) * b).astype(F32), version=28, alpha=0.6)
    tanh = lambda x: 0.5 * x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
    suite.add("GeGLU", both, lambda a, b: (gelu(a.astype(float)) * b).astype(F32), version=28)
    suite.add("GeGLU", both, lambda a, b: (tanh(a.astype(float)) * b).astype(F32), version=28, approximate="tanh")
    suite.add("QuickGelu", x, lambda x: (x * sigmoid(1.702 * x.astype(float))).astype(F32), domain=MS)
    suite.add("BiasGelu", pair, lambda x, b: gelu((x + b).astype(float)).astype(F32), domain=MS)
    tanh = lambda x: 0.5 * x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
    suite.add("FastGelu", pair, lambda x, b: tanh((x + b).astype(float)).astype(F32), domain=MS)


# ---- losses

def loss(logs, target, weights, reduction, ignored):
    """A sum over places, one by one."""
    total, count, places = 0.0, 0.0, numpy.zeros(target.shape)
    for at in numpy.ndindex(*target.shape):
        k = target[at]
        if k == ignored:
            continue
        w = 1.0 if weights is None else float(weights[k])
        places[at] = -w * logs[(at[0], k) + at[1:]]
        total, count = total + places[at], count + w
    return places if reduction == "none" else numpy.array(total if reduction == "sum" else total / count)


def losses(suite):
    for shape, weighted, reduction, ignored in itertools.product(((4, 3), (2, 3, 4), (2, 3, 2, 3)), (False, True), ("mean", "sum", "none"), (None, 1, -1)):
        if shape != (2, 3, 4) and (reduction != "mean" or not weighted or ignored == 1):
            continue

        def make(random, shape=shape, weighted=weighted, ignored=ignored):
            target = random.integers(0, 3, shape[:1] + shape[2:]).astype(numpy.int64)
            target.ravel()[0], target.ravel()[-1] = (ignored if ignored is not None else 2), 0
            return [("x", normal(random, *shape)), ("t", target)] + ([("w", random.uniform(0.2, 2, 3).astype(F32))] if weighted else [])
        attrs = dict(reduction=reduction, **({} if ignored is None else {"ignore_index": ignored}))
        suite.add("NegativeLogLikelihoodLoss", make, lambda x, t, w=None, r=reduction, i=ignored: loss(x, t, w, r, i).astype(F32), version=13, **attrs)

        def crossed(x, t, w=None, r=reduction, i=ignored):
            logs = x - numpy.log(numpy.exp(x.astype(float)).sum(1, keepdims=True))
            return loss(logs, t, w, r, i).astype(F32), logs.astype(F32)
        if reduction != "none" or weighted:
            suite.add("SoftmaxCrossEntropyLoss", make, crossed, version=13, outputs=("y", "l"), **attrs)


# ---- grids, crops, windows, transforms

def geometry(suite):
    for size, corners in (((2, 1, 3, 4), 0), ((2, 1, 3, 4), 1), ((1, 2, 2, 3, 2), 0), ((1, 2, 2, 3, 2), 1)):
        axes = len(size) - 2

        def theta(random, size=size, axes=axes):
            return [("t", normal(random, size[0], axes, axes + 1)), ("s", numpy.array(size, numpy.int64))]

        def grid(t, s, axes=axes, corners=corners):
            y = numpy.zeros((s[0],) + tuple(s[2:]) + (axes,))
            for at in numpy.ndindex(*y.shape[:-1]):
                p = [-1 + 2 * i / (n - 1) if corners else (2 * i + 1) / n - 1 for i, n in zip(at[1:], s[2:])]
                y[at] = t[at[0]].astype(float) @ numpy.array(p[::-1] + [1.0])
            return y.astype(F32)
        suite.add("AffineGrid", theta, grid, constants=("s",), version=20, align_corners=corners)
    for shape, wanted, axes in (((5, 8), (3, 11), None), ((4, 7), (7, 4), None), ((3, 4, 5), (6, 2), [-1, 0]), ((3, 2), (3, 2), None)):
        def crop(x, s, axes=axes):
            for axis, n in zip(axes or range(x.ndim), s):
                cut, room = max(x.shape[axis] - n, 0), max(n - x.shape[axis], 0)
                x = numpy.take(x, range(cut // 2, cut // 2 + min(n, x.shape[axis])), axis)
                x = numpy.pad(x, [(room // 2, room - room // 2) if a == axis % x.ndim else (0, 0) for a in range(x.ndim)])
            return x
        suite.add("CenterCropPad", lambda random, s=shape, w=wanted: [("x", normal(random, *s)), ("s", numpy.array(w, numpy.int64))], crop,
                  constants=("s",), version=18, **({"axes": axes} if axes else {}))
    for time, batch in ((0, 1), (1, 0)):
        def turn(x, n, time=time):
            y = x.copy()
            for b, length in enumerate(n):
                row = y[:, b] if time == 0 else y[b]
                row[:length] = row[:length][::-1].copy()
            return y
        suite.add("ReverseSequence", lambda random: [("x", normal(random, 4, 4, 2)), ("n", random.integers(1, 5, (4,)).astype(numpy.int64))],
                  turn, version=10, time_axis=time, batch_axis=batch)
    for exclusive, reverse, axis in itertools.product((0, 1), (0, 1), (0, -1)):
        def product(x, a, exclusive=exclusive, reverse=reverse):
            a = int(a)
            x = numpy.flip(x, a) if reverse else x
            y = numpy.cumprod(x.astype(float), a)
            if exclusive:
                y = numpy.concatenate([numpy.ones_like(numpy.take(y, [0], a)), numpy.take(y, range(y.shape[a] - 1), a)], a)
            return (numpy.flip(y, a) if reverse else y).astype(x.dtype)
        suite.add("CumProd", lambda random, a=axis: [("x", normal(random, 3, 4)), ("a", numpy.array(a, numpy.int64))], product,
                  constants=("a",), version=26, exclusive=exclusive, reverse=reverse)


def signal(suite):
    terms = {"HannWindow": (0.5, -0.5), "HammingWindow": (25 / 46, -21 / 46), "BlackmanWindow": (0.42, -0.5, 0.08)}
    for op, factors in terms.items():
        for periodic, number, dtype in ((1, 1, F32), (0, 11, float), (1, 11, float)):
            def window(n, f=factors, p=periodic, d=dtype):
                i = numpy.arange(int(n)) * 2 * math.pi / (int(n) if p else int(n) - 1)
                return sum(v * numpy.cos(k * i) for k, v in enumerate(f)).astype(d)

            def model(inputs, outputs, op=op, p=periodic, t=number):  # the window is a constant: something must be read
                from onnx_cases import helper, numpy_helper, value_info
                nodes = [helper.make_node(op, ["n"], ["w"], periodic=p, output_datatype=t), helper.make_node("Mul", ["w", "x"], ["y"])]
                graph = helper.make_graph(nodes, "case", [value_info("x", inputs[1][1])], [value_info("y", outputs[0][1])],
                                          [numpy_helper.from_array(inputs[0][1], "n")])
                return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
            suite.add(op, lambda random, d=dtype: [("n", numpy.array(10, numpy.int64)), ("x", random.standard_normal(10).astype(d))],
                      lambda n, x, w=window: w(n) * x, constants=("n",), model=model)
    for version, axis, parts, length, inverse, onesided in ((17, 1, 1, None, 0, 0), (17, 1, 2, None, 1, 0), (20, 1, 1, 7, 0, 1), (20, -2, 2, 3, 0, 0),
                                                            (20, 1, 2, 6, 1, 0), (20, 2, 1, None, 0, 1)):
        def numbers(random, parts=parts, length=length, axis=axis, version=version):
            found = [("x", normal(random, 2, 5, 4, parts))] + [("n", numpy.array(length, numpy.int64)) if length else ("", None)]
            return found + ([("a", numpy.array(axis, numpy.int64))] if version == 20 else [])

        def transformed(x, n=None, a=None, axis=axis, inverse=inverse, onesided=onesided):
            z = x[..., 0] + (1j * x[..., 1] if x.shape[-1] == 2 else 0)
            axis = axis if axis >= 0 else axis + 4
            y = (numpy.fft.ifft if inverse else numpy.fft.fft)(z, None if n is None else int(n), axis)
            y = numpy.take(y, range(y.shape[axis] // 2 + 1), axis) if onesided else y
            return numpy.stack([y.real, y.imag], -1).astype(F32)
        suite.add("DFT", numbers, transformed, constants=("n", "a"), version=version, inverse=inverse, onesided=onesided,
                  **({"axis": axis} if version == 17 else {}))


PARTS = (attention, flex, rotary, linear, norms, losses, geometry, signal)


def main():
    suite = Suite()
    for part in PARTS:
        part(suite)
    return suite.run(sys.argv[1])


if __name__ == "__main__":
    sys.exit(main())
