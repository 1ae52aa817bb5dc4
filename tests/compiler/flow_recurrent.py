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


def turn(op, x, h, c, w, u, wb, ub, after, peepholes):
    """One step of one row, as the standard writes it."""
    n = len(h)
    parts = lambda v: [v[i * n:(i + 1) * n] for i in range(len(v) // n)]
    if op == "RNN":
        return (numpy.maximum(w @ x + u @ h + wb + ub, 0) if after else numpy.tanh(w @ x + u @ h + wb + ub)), c
    if op == "LSTM":
        i, o, f, new = parts(w @ x + u @ h + wb + ub)
        pi, po, pf = parts(peepholes)
        c = sigmoid(f + pf * c) * c + sigmoid(i + pi * c) * numpy.tanh(new)
        return sigmoid(o + po * c) * numpy.tanh(c), c
    (wz, wr, wh), (uz, ur, uh) = parts(w @ x + wb), [u[i * n:(i + 1) * n] for i in range(3)]
    bz, br, bh = parts(ub)
    z, r = sigmoid(wz + uz @ h + bz), sigmoid(wr + ur @ h + br)
    new = numpy.tanh(wh + (r * (uh @ h + bh) if after else uh @ (r * h) + bh))
    return (1 - z) * new + z * h, c


def reference(op, way, after):
    def run(x, w, r, b=None, l=None, h=None, c=None, p=None):
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
                    state, inner = turn(op, x[t, k], state, inner, w[d].astype(float), r[d].astype(float), b[d, :w.shape[1]], b[d, w.shape[1]:], after,
                                        p[d])
                    y[t, d, k] = state
                last[d, k], cell[d, k] = state, inner
        results = (y.astype(F32), last.astype(F32), cell.astype(F32))
        return results if op == "LSTM" else results[:2]
    return run


def model(op, opset, attrs):
    def make(inputs, outputs):
        order = ["x", "w", "r", "b", "l", "h", "c", "p"]
        named = dict(inputs)
        shapes = {"x": ["t", "n", named["x"].shape[2]]}
        shapes.update({s: [named[s].shape[0], "n", named[s].shape[2]] for s in ("h", "c") if s in named})
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


def main():
    suite = Suite()
    for op, gates in GATES.items():
        for number, (way, after) in enumerate((("forward", 0), ("reverse", 1), ("bidirectional", 0), ("bidirectional", 1), ("forward", 1), ("reverse", 0))):
            ways = 2 if way == "bidirectional" else 1
            hidden, width = 3 + number, 2 + number
            bias, states, lengths, peepholes = number != 1, number >= 2, number >= 3, op == "LSTM" and number in (0, 3, 5)
            attrs = dict(hidden_size=hidden, direction=way, **(dict(linear_before_reset=after) if op == "GRU" else {}))
            if number > 1 or (op == "RNN" and after):  # the standard's own, and an RNN's Relu
                attrs["activations"] = {"RNN": ["Relu" if after else "Tanh"], "GRU": ["Sigmoid", "tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}[op] * ways

            def data(random, op=op, gates=gates, ways=ways, hidden=hidden, width=width, bias=bias, states=states, lengths=lengths, peepholes=peepholes):
                steps, rows = random.integers(1, 7), random.integers(1, 5)
                normal = lambda *shape: (random.standard_normal(shape) * 0.7).astype(F32)
                given = [("x", normal(steps, rows, width)), ("w", normal(ways, gates * hidden, width)), ("r", normal(ways, gates * hidden, hidden))]
                given += [("b", normal(ways, 2 * gates * hidden))] if bias else []
                given += [("l", random.integers(0, steps + 1, rows).astype(numpy.int32))] if lengths else []
                given += [("h", normal(ways, rows, hidden))] if states else []
                given += [("c", normal(ways, rows, hidden))] if states and op == "LSTM" else []
                given += [("p", normal(ways, 3 * hidden))] if peepholes else []
                return given
            for opset in (11, 14, 22):
                suite.add(op, data, reference(op, way, after), constants=("w", "r", "b", "p"), outputs=("y", "yh", "yc")[:3 if op == "LSTM" else 2],
                          model=model(op, opset, attrs))
    return suite.run(sys.argv[1], "--dynamic")


sys.exit(main())
