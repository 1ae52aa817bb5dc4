#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# ai.onnx.ml and ai.onnx.preview.training against references written out from the standard: one row, one tree, one pair of
# classes after the other.
#
# usage: codegen_classic.py VTAC   (exit status 77: python3-onnx is not there)
import itertools
import math
import sys

from onnx_cases import Suite, helper, numpy, numpy_helper, value_info

from onnx import SequenceProto

F32 = numpy.float32
F64 = numpy.float64
I64 = numpy.int64
ML = "ai.onnx.ml"


def normal(random, *shape, dtype=F32):
    return random.standard_normal(shape).astype(dtype)


def add(suite, op, make, reference, version=3, outputs=("y",), domain=ML, constants=(), **attrs):
    def model(inputs, results):
        node = helper.make_node(op, [n for n, _ in inputs], [n for n, _ in results], domain=domain, **attrs)
        given = [(n, a) for n, a in inputs if n]
        graph = helper.make_graph([node], "case", [value_info(n, a) for n, a in given if n not in constants],
                                  [value_info(n, a) for n, a in results],
                                  [numpy_helper.from_array(numpy.array(a), n) for n, a in given if n in constants])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(domain, version)], ir_version=8)
    suite.add(op, make, reference, model=model, outputs=outputs, constants=constants)


def tensor(name, values, dtype):
    return numpy_helper.from_array(numpy.array(values, dtype), name)


# ---- what is done to scores

def probit(x):
    p = x * 2 - 1
    rest = (1 - p) * (1 + p)
    if rest == 0:
        return 0.0
    v = 2 / (math.pi * 0.147) + 0.5 * math.log(rest)
    return 1.41421356 * math.copysign(1, p) * math.sqrt(-v + math.sqrt(v * v - math.log(rest) / 0.147))


def post(row, how):
    row = [float(v) for v in row]
    if how == "LOGISTIC":
        return [1 / (1 + math.exp(-v)) for v in row]
    if how == "SOFTMAX":
        e = [math.exp(v - max(row)) for v in row]
        return [v / sum(e) for v in e]
    if how == "SOFTMAX_ZERO":
        e = [math.exp(v - max(row)) if abs(v) > 1e-7 else v * math.exp(-max(row)) for v in row]
        return [v / sum(e) if sum(e) != 0 else 0.5 for v in e]
    return [probit(v) for v in row] if how == "PROBIT" else row


POSTS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")


# ---- features and labels

def add_classifier(suite):
    """A classifier as its exporter writes it: a label and a list of maps, in ONNX's file of one."""
    weights = numpy.random.default_rng(4).standard_normal((2, 3)).astype(F32)

    def make_model(inputs, outputs):
        def node(op, ins, outs, **attrs):
            return helper.make_node(op, [ins], outs, domain=ML, **attrs)
        maps = helper.make_tensor_value_info("scores", 1, None)
        maps.type.Clear()
        kind = maps.type.sequence_type.elem_type.map_type
        kind.key_type, kind.value_type.tensor_type.elem_type = 7, 1
        nodes = [node("LinearClassifier", "x", ["label", "p"], classlabels_ints=[3, 5, 8], post_transform="SOFTMAX", multi_class=1,
                      coefficients=weights.T.ravel().tolist(), intercepts=[0.5, -0.25, 0.0]),
                 node("Normalizer", "p", ["q"], norm="L1"), node("ZipMap", "q", ["scores"], classlabels_int64s=[3, 5, 8])]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [None, 2])], [helper.make_tensor_value_info("label", 7, [None]), maps])
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(ML, 1)])

    def reference(x):
        e = numpy.exp(x.astype(float) @ weights + [0.5, -0.25, 0.0])
        p = F32(e / e.sum(1, keepdims=True))
        maps = SequenceProto(name="scores", elem_type=SequenceProto.MAP)
        for row in p:
            one = maps.map_values.add(key_type=7, keys=[3, 5, 8])
            one.values.elem_type = SequenceProto.TENSOR
            one.values.tensor_values.extend(numpy_helper.from_array(numpy.array(v)) for v in row)
        return numpy.array([3, 5, 8])[p.argmax(1)], maps
    suite.add("ZipMap", lambda random: [("x", normal(random, 4, 2))], reference, model=make_model, outputs=("label", "scores"))


def features(suite):
    for dtype in (F32, F64, I64, numpy.int32):
        def numbers(random, d=dtype):
            return [("x", (random.standard_normal((4, 3)) * 5).astype(d))]
        add(suite, "Scaler", numbers, lambda x: ((x.astype(F32) - F32([1, 2, 3])) * F32([0.5, 2, -1])), offset=[1.0, 2.0, 3.0], scale=[0.5, 2.0, -1.0])
        add(suite, "Binarizer", numbers, lambda x: (x > 0.5).astype(x.dtype), threshold=0.5)
        for norm, size in (("MAX", lambda r: max(abs(r))), ("L1", lambda r: sum(abs(r))), ("L2", lambda r: math.sqrt(sum(r * r)))):
            add(suite, "Normalizer", numbers, lambda x, s=size: numpy.array([r / (s(r) or 1) for r in x.astype(float)]).astype(F32), norm=norm)
        add(suite, "ArrayFeatureExtractor", lambda random, n=numbers: n(random) + [("i", random.integers(0, 3, 5))],
            lambda x, i: x[:, i])
    add(suite, "Normalizer", lambda random: [("x", normal(random, 2, 3) * F32(0))], lambda x: x, norm="L2")
    add(suite, "Scaler", lambda random: [("x", normal(random, 1, 3))], lambda x: (x - F32(2)) * F32(3), offset=[2.0], scale=[3.0])
    add(suite, "ArrayFeatureExtractor", lambda random: [("x", normal(random, 6)), ("i", random.integers(0, 6, (1, 4)))], lambda x, i: x[i])

    def holes(random):
        x = normal(random, 5, 3)
        x[random.integers(0, 2, x.shape) > 0] = numpy.nan
        return [("x", x)]
    add(suite, "Imputer", holes, lambda x: numpy.where(numpy.isnan(x), F32([1, 2, 3]), x), imputed_value_floats=[1.0, 2.0, 3.0],
        replaced_value_float=math.nan)
    add(suite, "Imputer", lambda random: [("x", random.integers(0, 3, (5, 3)).astype(I64))], lambda x: numpy.where(x == 1, 7, x),
        imputed_value_int64s=[7], replaced_value_int64=1)
    add(suite, "FeatureVectorizer", lambda random: [("a", normal(random, 4, 2)), ("b", random.integers(0, 9, (4, 3)).astype(I64)), ("c", normal(random, 4))],
        lambda a, b, c: numpy.concatenate([a, numpy.zeros((4, 1)), b[:, :2], c[:, None]], 1).astype(F32), inputdimensions=[3, 2, 1])
    for dtype in (I64, F32):
        add(suite, "OneHotEncoder", lambda random, d=dtype: [("x", random.integers(0, 6, (3, 4)).astype(d))],
            lambda x: (x[..., None] == numpy.array([4, 0, 2])).astype(F32), cats_int64s=[4, 0, 2], zeros=1)

    def mapped(keys, values, default, dtype):
        table = dict(zip(keys, values))
        return lambda x: numpy.array([table.get(v, default) for v in x.reshape(-1).tolist()], dtype).reshape(x.shape)
    keys, values = [5, -3, 1 << 60, 0, 7], [10, 20, 30, 40, 50]
    add(suite, "LabelEncoder", lambda random: [("x", random.choice([5, -3, 1 << 60, (1 << 60) + 1, 0, 7, 99], (3, 4)))],
        mapped(keys, values, -1, I64), version=2, keys_int64s=keys, values_int64s=values)
    add(suite, "LabelEncoder", lambda random: [("x", random.integers(-3, 9, (9,)))], mapped([2], [1.5], 0.25, F32), version=2, keys_int64s=[2],
        values_floats=[1.5], default_float=0.25)
    halves = [0.5 * i for i in range(-4, 9)]
    add(suite, "LabelEncoder", lambda random: [("x", random.choice(halves + [0.25, 88.0], (4, 5)).astype(F32))],
        mapped(halves, range(13), 42, I64), version=4, keys_floats=halves, values_int64s=list(range(13)), default_int64=42)
    add(suite, "LabelEncoder", lambda random: [("x", random.choice([1.0, math.nan, 2.0], 8).astype(F32))],
        lambda x: numpy.array([30 if math.isnan(v) else {1.0: 10}.get(v, -1) for v in x], I64), version=2, keys_floats=[1.0, math.nan],
        values_int64s=[10, 30])
    add(suite, "LabelEncoder", lambda random: [("x", random.integers(0, 5, (6,)).astype(numpy.int16))], mapped([1, 2, 4], [0.5, 1.5, 2.5], 9.0, F64),
        version=4, keys_tensor=tensor("k", [1, 2, 4], numpy.int16), values_tensor=tensor("v", [0.5, 1.5, 2.5], F64),
        default_tensor=tensor("d", [9.0], F64))
    add(suite, "LabelEncoder", lambda random: [("x", random.integers(0, 5, (6,)))], mapped([4, 2], [-3, 7], 5, numpy.int16), version=4,
        keys_int64s=[4, 2], values_tensor=tensor("v", [-3, 7], numpy.int16), default_tensor=tensor("d", [5], numpy.int16))
    add_classifier(suite)
    add(suite, "ZipMap", lambda random: [("x", normal(random, 3, 2))], lambda x: x, classlabels_int64s=[0, 1])


# ---- linear models

def linear(suite):
    for how, dtype in itertools.product(POSTS, (F32, F64)):
        w, b = [[0.5, -1.0, 2.0], [1.0, 0.25, -0.5]], [0.1, -0.2]
        if dtype == F32:
            add(suite, "LinearRegressor", lambda random: [("x", normal(random, 4, 3))],
                lambda x, h=how: numpy.array([post(numpy.array(w) @ r + b, h) for r in x.astype(float)]).astype(F32), coefficients=sum(w, []),
                intercepts=b, targets=2, post_transform=how)

        def classify(x, h=how):
            scores = numpy.array([post(numpy.array(w) @ r + b, h) for r in x.astype(float)])
            return numpy.array([30, 10])[scores.argmax(1)], scores.astype(F32)
        add(suite, "LinearClassifier", lambda random, d=dtype: [("x", normal(random, 5, 3, dtype=d))], classify, outputs=("label", "scores"),
            coefficients=sum(w, []), intercepts=b, classlabels_ints=[30, 10], post_transform=how)

        def both(x, h=how):
            scores = numpy.array([post((-(r @ w[0] + 0.3), r @ w[0] + 0.3), h) for r in x.astype(float)])
            return numpy.array([4, 8])[scores.argmax(1)], scores.astype(F32)
        add(suite, "LinearClassifier", lambda random, d=dtype: [("x", normal(random, 5, 3, dtype=d))], both, outputs=("label", "scores"),
            coefficients=w[0], intercepts=[0.3], classlabels_ints=[4, 8], post_transform=how)
    add(suite, "LinearRegressor", lambda random: [("x", random.uniform(0.1, 0.9, (4, 1)).astype(F32))],
        lambda x: numpy.array([post(r, "PROBIT") for r in x]).astype(F32), coefficients=[1.0], post_transform="PROBIT")
    add(suite, "LinearClassifier", lambda random: [("x", normal(random, 5, 2))],
        lambda x: ((x.sum(1) >= 0).astype(I64) * 3, x.sum(1, keepdims=True)), outputs=("label", "scores"), coefficients=[1.0, 1.0], classlabels_ints=[3])


# ---- trees: nested tuples (feature, mode, split, if true, if false, missing), leaves are lists of (target, weight)

MODES = {"BRANCH_LEQ": lambda x, s: x <= s, "BRANCH_LT": lambda x, s: x < s, "BRANCH_GTE": lambda x, s: x >= s, "BRANCH_GT": lambda x, s: x > s,
         "BRANCH_EQ": lambda x, s: x == s, "BRANCH_NEQ": lambda x, s: x != s}


def grow(random, levels, columns, targets, modes, weight, whole=False):
    if levels == 0 or random.integers(0, 5) == 0:
        return [(int(t), weight(random)) for t in random.permutation(targets)[:int(random.integers(1, targets + 1))]]
    split = float(random.integers(-2, 3)) if whole else float(F32(random.standard_normal()))
    return (int(random.integers(0, columns)), str(random.choice(modes)), split, grow(random, levels - 1, columns, targets, modes, weight, whole),
            grow(random, levels - 1, columns, targets, modes, weight, whole), int(random.integers(0, 2)))


def fall(tree, row):
    while isinstance(tree, tuple):
        feature, mode, split, yes, no, missing = tree
        x = float(row[feature])
        tree = yes if MODES[mode](x, split) or (missing and math.isnan(x)) else no
    return tree


def flatten(trees, prefix):
    lists = {k: [] for k in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    weights = {k: [] for k in ("treeids", "nodeids", "ids", "weights")}

    def walk(number, tree, free):
        own = free[0]
        free[0] += 1
        place = len(lists["nodeids"])
        leaf = isinstance(tree, list)
        row = (number, own, 0, "LEAF", 0.0, 0, 0, 0) if leaf else (number, own) + tree[:3] + (0, 0, tree[5])
        for key, value in zip(lists, row):
            lists[key].append(value)
        for target, weight in tree if leaf else ():
            for key, value in zip(weights, (number, own, target, weight)):
                weights[key].append(value)
        if not leaf:
            lists["truenodeids"][place] = walk(number, tree[3], free)
            lists["falsenodeids"][place] = walk(number, tree[4], free)
        return own
    for number, tree in enumerate(trees):
        walk(number * 7, tree, [3])
    attrs = {"nodes_" + k: v for k, v in lists.items()}
    attrs.update({prefix + "_" + k: v for k, v in weights.items()})
    return attrs


def rows(random, whole, dtype):
    x = random.integers(-2, 3, (6, 3)).astype(dtype) if whole else normal(random, 6, 3, dtype=dtype)
    if numpy.dtype(dtype).kind == "f":
        x[random.integers(0, 6), random.integers(0, 3)] = numpy.nan
    return [("x", x)]


def trees(suite, seed):
    random = numpy.random.default_rng(seed)

    def signed(r):
        return float(F32(r.standard_normal()))
    settings = [(["BRANCH_LEQ"], False, F32, 3, "SUM"), (list(MODES), True, F32, 2, "SUM"), (["BRANCH_LT"], False, F64, 1, "AVERAGE"),
                (["BRANCH_GTE", "BRANCH_EQ"], True, I64, 2, "MIN"), (["BRANCH_GT"], False, F32, 2, "MAX"), (["BRANCH_LEQ"], False, F32, 1, "SUM")]
    for modes, whole, dtype, targets, how in settings:
        forest = [grow(random, 5, 3, targets, modes, signed, whole) for _ in range(4)]
        base = [0.5] * targets

        def regress(x, forest=forest, targets=targets, how=how):
            y = numpy.zeros((len(x), targets))
            for i, row in enumerate(x):
                for t in range(targets):
                    got = [w for tree in forest for target, w in fall(tree, row) if target == t]
                    edge = float(numpy.finfo(F32).max)
                    y[i, t] = {"SUM": sum(got), "AVERAGE": sum(got) / len(forest), "MIN": min(got + [edge]), "MAX": max(got + [-edge])}[how]
            return (y + 0.5).astype(F32)
        add(suite, "TreeEnsembleRegressor", lambda r, w=whole, d=dtype: rows(r, w, d), regress, n_targets=targets, aggregate_function=how,
            base_values=base, **flatten(forest, "target"))
    for classes, how, base in ((3, "NONE", None), (3, "SOFTMAX", [0.1, -0.2, 0.3]), (4, "SOFTMAX_ZERO", None), (2, "LOGISTIC", None)):
        forest = [grow(random, 4, 3, classes, ["BRANCH_LEQ"], signed) for _ in range(3)]

        def classify(x, forest=forest, classes=classes, how=how, base=base):
            raw = [[sum(w for tree in forest for t, w in fall(tree, row) if t == k) + (base[k] if base else 0) for k in range(classes)] for row in x]
            scores = numpy.array([post(r, how) for r in raw])
            return 10 * scores.argmax(1), scores.astype(F32)
        extra = {"base_values": base} if base else {}
        add(suite, "TreeEnsembleClassifier", lambda r: rows(r, False, F32), classify, outputs=("label", "scores"), post_transform=how,
            classlabels_int64s=[10 * i for i in range(classes)], **extra, **flatten(forest, "class"))
    for positive, how, base in ((True, "NONE", None), (False, "LOGISTIC", [0.25]), (False, "NONE", None), (False, "SOFTMAX", None)):
        forest = [grow(random, 4, 3, 1, ["BRANCH_LEQ", "BRANCH_LT"], (lambda r: float(r.uniform(0, 0.4))) if positive else signed) for _ in range(3)]

        def decide(x, forest=forest, positive=positive, how=how, base=base):
            s = [sum(w for tree in forest for _, w in fall(tree, row)) + (base[0] if base else 0) for row in x]
            scores = numpy.array([post((1 - v if positive else -v, v), how) for v in s])
            return numpy.array([7 if v > (0.5 if positive else 0) else 5 for v in s], I64), scores.astype(F32)
        extra = {"base_values": base} if base else {}
        add(suite, "TreeEnsembleClassifier", lambda r: rows(r, False, F32), decide, outputs=("label", "scores"), post_transform=how,
            classlabels_int64s=[5, 7], **extra, **flatten(forest, "class"))


def ensemble(suite, seed):
    """Version 5: branches and leaves apart; a set of members is a mode of its own."""
    random = numpy.random.default_rng(seed)
    order = list(MODES)
    for dtype, how, members in ((F32, 1, False), (F64, 0, False), (F32, 1, True), (F32, 3, True)):
        branches, leaves, values = [], [], []

        def build(levels, root=False):
            if not root and (levels == 0 or random.integers(0, 5) == 0):
                leaves.append((int(random.integers(0, 3)), float(F32(random.standard_normal()))))
                return len(leaves) - 1, 1
            own = len(branches)
            member = members and random.integers(0, 2)
            branches.append(None)
            row = [int(random.integers(0, 2)), 6 if member else int(random.integers(0, 6)), float(random.integers(-3, 4)),
                   sorted({float(v) for v in random.integers(-3, 4, 3)}) if member else None]
            branches[own] = row
            row += build(levels - 1)
            row += build(levels - 1)
            return own, 0
        roots = [build(4, True)[0] for _ in range(3)]
        for row in branches:
            values += row[3] + [math.nan] if row[3] is not None else []

        def reference(x, branches=branches, leaves=leaves, roots=roots, how=how):
            y = numpy.zeros((len(x), 3))
            for i, row in enumerate(x):
                reached = []
                for at in roots:
                    leaf = 0
                    while not leaf:
                        feature, mode, split, members, yes, yes_leaf, no, no_leaf = branches[at]
                        v = float(row[feature])
                        right = v in members if mode == 6 else MODES[order[mode]](v, split)
                        at, leaf = (yes, yes_leaf) if right else (no, no_leaf)
                    reached.append(leaves[at])
                for t in range(3):
                    got = [w for k, w in reached if k == t]
                    edge = float(numpy.finfo(F32).max)
                    y[i, t] = (sum(got) / len(roots), sum(got), min(got + [edge]), max(got + [-edge]))[how]
            return y.astype(x.dtype)
        extra = {"membership_values": tensor("m", values, dtype)} if values else {}
        add(suite, "TreeEnsemble", lambda r, d=dtype: [("x", r.integers(-3, 4, (7, 2)).astype(d))], reference, version=5, n_targets=3,
            aggregate_function=how, post_transform=0, tree_roots=roots, nodes_modes=tensor("n", [b[1] for b in branches], numpy.uint8),
            nodes_featureids=[b[0] for b in branches], nodes_splits=tensor("s", [b[2] for b in branches], dtype),
            nodes_truenodeids=[b[4] for b in branches], nodes_trueleafs=[b[5] for b in branches], nodes_falsenodeids=[b[6] for b in branches],
            nodes_falseleafs=[b[7] for b in branches], leaf_targetids=[t for t, _ in leaves], leaf_weights=tensor("w", [w for _, w in leaves], dtype),
            **extra)


# ---- support vectors

def kernels(kind, a, b, params):
    dot = float(a @ b)
    return {"LINEAR": dot, "POLY": (params[0] * dot + params[1]) ** int(params[2]), "RBF": math.exp(-params[0] * float(((a - b) ** 2).sum())),
            "SIGMOID": math.tanh(params[0] * dot + params[1])}[kind]


def coupled(r):
    """Probabilities of classes from those of pairs, as libsvm iterates."""
    k = len(r)
    q = numpy.array([[sum(r[i][t] ** 2 for i in range(k) if i != t) if t == j else -r[j][t] * r[t][j] for j in range(k)] for t in range(k)])
    p = numpy.full(k, 1 / k)
    for _ in range(max(100, k)):
        qp = q @ p
        whole = p @ qp
        if abs(qp - whole).max() < 0.005 / k:
            break
        for t in range(k):
            d = (whole - qp[t]) / q[t, t]
            p[t] += d
            whole = (whole + d * (d * q[t, t] + 2 * qp[t])) / (1 + d) ** 2
            p /= 1 + d
            qp = (qp + d * q[t]) / (1 + d)
    return p


def vectors(suite, seed):
    random = numpy.random.default_rng(seed)
    params = [0.3, 0.5, 2.0]
    for kind, once in (("LINEAR", 0), ("POLY", 0), ("RBF", 0), ("SIGMOID", 0), ("RBF", 1)):
        sv, w = random.standard_normal((5, 3)).astype(F32), random.standard_normal(5).astype(F32)

        def regress(x, kind=kind, sv=sv, w=w, once=once):
            y = [sum(float(c) * kernels(kind, r, v.astype(float), params) for c, v in zip(w, sv)) + 0.2 for r in x.astype(float)]
            return numpy.array([[(1.0 if v > 0 else -1.0) if once else v] for v in y], F32)
        add(suite, "SVMRegressor", lambda r: [("x", normal(r, 4, 3))], regress, kernel_type=kind, kernel_params=params, n_supports=5,
            coefficients=w.tolist(), support_vectors=sv.reshape(-1).tolist(), rho=[0.2], one_class=once)
    add(suite, "SVMRegressor", lambda r: [("x", normal(r, 4, 3))], lambda x: (x @ F32([[1], [2], [-1]]) + F32(0.5)), coefficients=[1.0, 2.0, -1.0], rho=[0.5])
    for counts, kind, share, how in (((3, 2), "RBF", False, "NONE"), ((2, 3), "LINEAR", False, "LOGISTIC"), ((2, 1, 3), "POLY", False, "NONE"),
                                     ((3, 2), "RBF", True, "NONE"), ((2, 2, 3), "RBF", True, "NONE"), ((1, 2, 2, 1), "SIGMOID", True, "NONE")):
        k, n = len(counts), sum(counts)
        sv, w = random.standard_normal((n, 2)).astype(F32), random.standard_normal((k - 1, n)).astype(F32)
        pairs = list(itertools.combinations(range(k), 2))
        rho, a, b = ([float(F32(v)) for v in random.standard_normal(len(pairs))] for _ in range(3))
        first = [sum(counts[:i]) for i in range(k)]
        labels = [5 * i + 1 for i in range(k)]

        def classify(x, counts=counts, kind=kind, share=share, how=how, sv=sv, w=w, rho=rho, a=a, b=b, pairs=pairs, first=first, labels=labels, k=k):
            found, scores = [], []
            for row in x.astype(float):
                values = numpy.array([kernels(kind, row, v.astype(float), params) for v in sv])
                votes, sides = [0] * k, []
                for e, (i, j) in enumerate(pairs):
                    own = range(first[i], first[i] + counts[i])
                    other = range(first[j], first[j] + counts[j])
                    s = rho[e] + sum(float(w[j - 1, v]) * values[v] for v in own) + sum(float(w[i, v]) * values[v] for v in other)
                    votes[i if s > 0 else j] += 1
                    sides.append(s)
                # the standard's rule: without a coefficient that speaks against it, the second of two classes is the answer
                sure = k == 2 and not share and (w >= 0).all()
                found.append(labels[1 if sure else int(numpy.argmax(votes))])
                if share:
                    r = numpy.zeros((k, k))
                    for e, (i, j) in enumerate(pairs):
                        p = min(max(1 / (1 + math.exp(sides[e] * a[e] + b[e])), 1e-7), 1 - 1e-7)
                        r[i, j], r[j, i] = p, 1 - p
                    sides = coupled(r)
                elif k == 2:
                    sides = [-sides[0], sides[0]]
                scores.append(post(sides, how))
            return numpy.array(found, I64), numpy.array(scores, F32)
        extra = {"prob_a": a, "prob_b": b} if share else {}
        add(suite, "SVMClassifier", lambda r: [("x", normal(r, 5, 2))], classify, outputs=("label", "scores"), kernel_type=kind, kernel_params=params,
            coefficients=w.reshape(-1).tolist(), support_vectors=sv.reshape(-1).tolist(), rho=rho, vectors_per_class=list(counts),
            classlabels_ints=labels, post_transform=how, **extra)
    w = random.standard_normal((3, 2)).astype(F32)
    add(suite, "SVMClassifier", lambda r: [("x", normal(r, 5, 2))],
        lambda x: (numpy.array([4, 5, 6])[(x @ w.T).argmax(1)], (x @ w.T + F32(0.25))), outputs=("label", "scores"), coefficients=w.reshape(-1).tolist(),
        classlabels_ints=[4, 5, 6], rho=[0.25, 0.25, 0.25])


# ---- optimizers

def training(suite):
    domain = "ai.onnx.preview.training"

    def given(lists, step):
        def make(random):
            found = [("r", F32(0.1)), ("t", I64(step))]
            for name in lists:
                for i, shape in enumerate(((2, 3), (4,))):
                    v = normal(random, *shape)
                    found.append(("%s%d" % (name, i), abs(v) if name == "h" else v))
            return found
        return make

    def adagrad(r, t, **v):
        x, h = [], []
        for i in "01":
            g = 0.01 * v["x" + i] + v["g" + i]
            h.append(v["h" + i] + g * g)
            x.append(v["x" + i] - r / (1 + t * 0.1) * g / (numpy.sqrt(h[-1]) + 1e-5))
        return tuple(numpy.asarray(a, F32) for a in x + h)

    def adam(r, t, **v):
        lists = [], [], []
        for i in "01":
            g = 0.02 * v["x" + i] + v["g" + i]
            m = 0.8 * v["v" + i] + 0.2 * g
            h = 0.95 * v["h" + i] + 0.05 * g * g
            rate = r * math.sqrt(1 - 0.95 ** t) / (1 - 0.8 ** t) if t > 0 else r
            for to, a in zip(lists, ((v["x" + i] - rate * m / (numpy.sqrt(h) + 1e-3)) * (1 - 0.1), m, h)):
                to.append(numpy.asarray(a, F32))
        return tuple(sum(lists, []))

    def momentum(r, t, nesterov=False, **v):
        x, m = [], []
        for i in "01":
            g = 0.001 * v["x" + i] + v["g" + i]
            m.append(0.9 * v["v" + i] + (0.5 if t > 0 else 1.0) * g)
            x.append(v["x" + i] - r * (g + 0.9 * m[-1] if nesterov else m[-1]))
        return tuple(numpy.asarray(a, F32) for a in x + m)
    for step in (0, 3):
        add(suite, "Adagrad", given("xgh", step), adagrad, 1, ("a", "b", "c", "d"), domain, norm_coefficient=0.01, epsilon=1e-5, decay_factor=0.1)
        add(suite, "Adam", given("xgvh", step), adam, 1, tuple("abcdef"), domain, norm_coefficient=0.02, norm_coefficient_post=0.1, alpha=0.8,
            beta=0.95, epsilon=1e-3)
        for mode in ("standard", "nesterov"):
            add(suite, "Momentum", given("xgv", step), lambda r, t, m=mode, **v: momentum(r, t, m == "nesterov", **v), 1, ("a", "b", "c", "d"), domain,
                norm_coefficient=0.001, alpha=0.9, beta=0.5, mode=mode)


def main():
    suite = Suite()
    seed = [int(c) for c in __import__("onnx_cases").SEED.encode()]
    features(suite)
    linear(suite)
    trees(suite, seed)
    ensemble(suite, seed)
    vectors(suite, seed)
    training(suite)
    return suite.run(sys.argv[1], "--atol", "1e-6")  # sums in float32, some of which cancel


if __name__ == "__main__":
    sys.exit(main())
