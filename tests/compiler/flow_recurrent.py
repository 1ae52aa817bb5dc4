#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# RNN, GRU and LSTM over a number of steps and rows that only the run knows, against plain loops: other sizes in the second data set.
# It fails when a gate is taken for another, a direction runs the wrong way, or a state keeps the rows of the run before.
#
# usage: flow_recurrent.py VTAC   (exit status 77: python3-onnx is not there)
import sys

from onnx_cases import Suite, helper, numpy

F32 = numpy.float32
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


FUNCTIONS = {
    "affine": lambda x, a=1, b=0: a * x + b,
    "elu": lambda x, a=1, b=0: numpy.where(x < 0, a * (numpy.exp(x) - 1), x),
    "hardsigmoid": lambda x, a=0.2, b=0.5: numpy.clip(a * x + b, 0, 1),
    "leakyrelu": lambda x, a=0.01, b=0: numpy.where(x < 0, a * x, x),
    "relu": lambda x, a=0, b=0: numpy.maximum(x, 0),
    "scaledtanh": lambda x, a=1, b=1: a * numpy.tanh(b * x),
    "sigmoid": lambda x, a=0, b=0: sigmoid(x),
    "softplus": lambda x, a=0, b=0: numpy.log1p(numpy.exp(x)),
    "softsign": lambda x, a=0, b=0: x / (1 + abs(x)),
    "tanh": lambda x, a=0, b=0: numpy.tanh(x),
    "thresholdedrelu": lambda x, a=1, b=0: numpy.where(x > a, x, 0),
}
USUAL = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}

# Forms beside the operator's own: other functions, with parameters of theirs or without; clipping, rows first, coupled gates.
FORMS = {
    "RNN": [("forward", dict(clip=0.4)), ("reverse", dict(layout=1, activations=["Affine"], activation_alpha=[0.5], activation_beta=[0.1])),
            ("bidirectional", dict(layout=1, activations=["ScaledTanh", "Softplus"], activation_alpha=[0.9], activation_beta=[1.2]))],
    "GRU": [("forward", dict(clip=0.3, layout=1)), ("reverse", dict(activations=["HardSigmoid", "Softsign"])),
            ("bidirectional", dict(clip=0.5, linear_before_reset=1, activations=["HardSigmoid", "LeakyRelu", "Sigmoid", "Elu"],
                                   activation_alpha=[0.3, 0.2], activation_beta=[0.4]))],
    "LSTM": [("forward", dict(clip=0.3, input_forget=1)), ("reverse", dict(layout=1, activations=["HardSigmoid", "Relu", "Softsign"])),
             ("bidirectional", dict(layout=1, clip=0.6, activations=["Sigmoid", "ThresholdedRelu", "Tanh", "HardSigmoid", "Softplus", "Elu"],
                                    activation_alpha=[0.2, 0.25], activation_beta=[0.45]))],
}


def functions_of(op, ways, attrs):
    """Of each direction its functions; parameters go in turn to the functions that have such."""
    alphas, betas = list(attrs.get("activation_alpha", [])), list(attrs.get("activation_beta", []))
    clip = attrs.get("clip", numpy.inf)
    made = []
    for name in attrs.get("activations", USUAL[op] * ways):
        name = name.lower()
        given = {}
        if name in ("affine", "elu", "hardsigmoid", "leakyrelu", "scaledtanh", "thresholdedrelu") and alphas:
            given["a"] = alphas.pop(0)
        if name in ("affine", "hardsigmoid", "scaledtanh") and betas:
            given["b"] = betas.pop(0)
        made.append(lambda x, name=name, given=given: FUNCTIONS[name](numpy.clip(x, -clip, clip), **given))
    each = len(USUAL[op])
    return [made[d * each:(d + 1) * each] for d in range(ways)]


def turn(op, x, h, c, w, u, wb, ub, attrs, peepholes, act):
    """One step of one row, as the standard writes it."""
    n = len(h)
    after = attrs.get("linear_before_reset", 0)
    parts = lambda v: [v[i * n:(i + 1) * n] for i in range(len(v) // n)]
    if op == "RNN":
        return act[0](w @ x + u @ h + wb + ub), c
    if op == "LSTM":
        i, o, f, new = parts(w @ x + u @ h + wb + ub)
        pi, po, pf = parts(peepholes)
        i = act[0](i + pi * c)
        c = (1 - i if attrs.get("input_forget", 0) else act[0](f + pf * c)) * c + i * act[1](new)
        return act[0](o + po * c) * act[2](c), c
    (wz, wr, wh), (uz, ur, uh) = parts(w @ x + wb), [u[i * n:(i + 1) * n] for i in range(3)]
    bz, br, bh = parts(ub)
    z, r = act[0](wz + uz @ h + bz), act[0](wr + ur @ h + br)
    new = act[1](wh + (r * (uh @ h + bh) if after else uh @ (r * h) + bh))
    return (1 - z) * new + z * h, c


def reference(op, way, attrs):
    rows_first = attrs.get("layout", 0)

    def run(x, w, r, b=None, l=None, h=None, c=None, p=None):
        if rows_first:
            x, h, c = [None if a is None else a.swapaxes(0, 1) for a in (x, h, c)]
        act = functions_of(op, len(w), attrs)
        steps, rows, _ = x.shape
        ways, hidden = len(w), r.shape[2]
        b = numpy.zeros((ways, 2 * w.shape[1])) if b is None else b.astype(float)
        p = numpy.zeros((ways, 3 * hidden)) if p is None else p.astype(float)
        y = numpy.zeros((steps, ways, rows, hidden))
        last, cell = numpy.zeros((ways, rows, hidden)), numpy.zeros((ways, rows, hidden))
        for d in range(ways):
            order = range(steps)[::-1] if way == "reverse" or d == 1 else range(steps)
            for k in range(rows):
                state = numpy.zeros(hidden) if h is None else h[d, k].astype(float)
                inner = numpy.zeros(hidden) if c is None else c[d, k].astype(float)
                for t in [t for t in order if l is None or t < l[k]]:
                    state, inner = turn(op, x[t, k], state, inner, w[d].astype(float), r[d].astype(float), b[d, :w.shape[1]], b[d, w.shape[1]:], attrs,
                                        p[d], act[d])
                    y[t, d, k] = state
                last[d, k], cell[d, k] = state, inner
        if rows_first:
            y, last, cell = y.transpose(2, 0, 1, 3), last.swapaxes(0, 1), cell.swapaxes(0, 1)
        results = (y.astype(F32), last.astype(F32), cell.astype(F32))
        return results if op == "LSTM" else results[:2]
    return run


def model(op, opset, attrs):
    def make(inputs, outputs):
        order = ["x", "w", "r", "b", "l", "h", "c", "p"]
        named = dict(inputs)
        turned = attrs.get("layout", 0)
        shapes = {"x": (["n", "t"] if turned else ["t", "n"]) + [named["x"].shape[2]]}
        ways, hidden = named["w"].shape[0], named["r"].shape[2]
        shapes.update({s: (["n", ways] if turned else [ways, "n"]) + [hidden] for s in ("h", "c")})
        shapes["l"] = ["n"]
        names = [n if n in named else "" for n in order]
        while not names[-1]:
            names.pop()
        constants = [helper.make_tensor(n, 1, named[n].shape, named[n].ravel()) for n in ("w", "r", "b", "p") if n in named]
        graph = helper.make_graph([helper.make_node(op, names, [n for n, _ in outputs], **attrs)], "case",
                                  [helper.make_tensor_value_info(n, 6 if n == "l" else 1, shapes[n]) for n in ("x", "l", "h", "c") if n in named],
                                  [helper.make_tensor_value_info(n, 1, [None] * a.ndim) for n, a in outputs], constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return make


def add(suite, op, number, way, attrs, opsets):
    ways, gates = 2 if way == "bidirectional" else 1, GATES[op]
    hidden, width = 3 + number, 2 + number
    bias, states, lengths, peepholes = number != 1, number >= 2, number >= 3, op == "LSTM" and number in (0, 3, 5)
    attrs = dict(hidden_size=hidden, direction=way, **attrs)

    def data(random):
        steps, rows = random.integers(1, 7), random.integers(1, 5)
        normal = lambda *shape: (random.standard_normal(shape) * 0.7).astype(F32)
        outer = lambda a: a.swapaxes(0, 1).copy() if attrs.get("layout", 0) else a
        given = [("x", outer(normal(steps, rows, width))), ("w", normal(ways, gates * hidden, width)), ("r", normal(ways, gates * hidden, hidden))]
        given += [("b", normal(ways, 2 * gates * hidden))] if bias else []
        given += [("l", random.integers(0, steps + 1, rows).astype(numpy.int32))] if lengths else []
        given += [("h", outer(normal(ways, rows, hidden)))] if states else []
        given += [("c", outer(normal(ways, rows, hidden)))] if states and op == "LSTM" else []
        given += [("p", normal(ways, 3 * hidden))] if peepholes else []
        return given
    for opset in opsets:
        suite.add(op, data, reference(op, way, attrs), constants=("w", "r", "b", "p"), outputs=("y", "yh", "yc")[:3 if op == "LSTM" else 2],
                  model=model(op, opset, attrs))


def main():
    suite = Suite()
    for op in GATES:
        for number, (way, after) in enumerate((("forward", 0), ("reverse", 1), ("bidirectional", 0), ("bidirectional", 1), ("forward", 1), ("reverse", 0))):
            attrs = dict(linear_before_reset=after) if op == "GRU" else {}
            if number > 1 or (op == "RNN" and after):  # the standard's own, and an RNN's Relu
                attrs["activations"] = {"RNN": ["Relu" if after else "Tanh"], "GRU": ["Sigmoid", "tanh"], "LSTM": USUAL["LSTM"]}[op] * (
                    2 if way == "bidirectional" else 1)
            add(suite, op, number, way, attrs, (7, 11, 22))
        for number, (way, attrs) in enumerate(FORMS[op]):
            add(suite, op, 1 + 2 * number, way, attrs, (14,))
    return suite.run(sys.argv[1], "--dynamic", "--atol", "1e-6")  # sums of values near 1 may end near 0: their error stays that of a float near 1


sys.exit(main())
