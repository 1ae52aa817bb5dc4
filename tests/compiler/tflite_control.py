#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Operators of TensorFlow Lite that call graphs, and variables: loops, branches that are known and that the run decides,
# what is done once before the first run. Beside NumPy and, with VTAC_TFLITE, beside TensorFlow Lite itself
# (tflite_ops.py). What cannot be written out gets one line.
#
# usage: tflite_control.py VTAC   (exit status 77: no numpy)
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    import word_seed
    from tflite_bench import F32, Bench, scaled, stored
    from tflite_file import Model
except ImportError:
    sys.exit(77)

ADD, DENSE, RESHAPE, CONCAT, TANH, GATHER, LESS, MUL = 0, 9, 22, 2, 28, 36, 58, 18
CONV, SLICE, MINIMUM = 3, 65, 57
SUM, IF, WHILE, CALL_ONCE, VARIABLE, READ, ASSIGN, GREATER = 74, 118, 119, 129, 142, 143, 144, 61


def dense(g, x, weights, kind="float32"):
    w = g.tensor(kind, weights.shape, data=weights)
    y = g.tensor(kind, (1, weights.shape[0]))
    g.op(DENSE, [x, w, -1], [y], {}, 8)
    return y


def binary(g, code, a, b, shape, options=0, kind="float32"):
    y = g.tensor(kind, shape)
    g.op(code, [a, b], [y], {} if options else None, options)
    return y


def loop(b, steps, units):
    """h = tanh(W x[i] + R h), the states side by side: how a recurrent net looks that nothing has fused."""
    inputs = 3
    w, r = (b.random.uniform(-0.7, 0.7, (units, n)).astype(F32) for n in (inputs, units))
    m = Model()

    def condition(g):
        ins = [g.tensor("int32", ()), g.tensor("float32", (steps, inputs)), g.tensor("float32", (1, units)), g.tensor("float32", (1, units))]
        return ins, [binary(g, LESS, ins[0], g.tensor("int32", (), data=steps), (), 41, "bool")]

    def body(g):
        i, x, h, total = ins = [g.tensor("int32", ()), g.tensor("float32", (steps, inputs)), g.tensor("float32", (1, units)),
                                g.tensor("float32", (1, units))]
        row = g.tensor("float32", (inputs,))
        g.op(GATHER, [x, i], [row], {}, 23)
        rows = g.tensor("float32", (1, inputs))
        g.op(RESHAPE, [row, g.tensor("int32", (2,), data=[1, inputs])], [rows])
        s = binary(g, ADD, dense(g, rows, w), dense(g, h, r), (1, units), 11)
        h = g.tensor("float32", (1, units))
        g.op(TANH, [s], [h])
        return ins, [binary(g, ADD, i, g.tensor("int32", (), data=1), (), 11, "int32"), x, h, binary(g, ADD, total, h, (1, units), 11)]
    x = m.tensor("float32", (steps, inputs))
    zero = m.tensor("float32", (1, units), data=numpy.zeros((1, units)))
    outs = [m.tensor("int32", ()), m.tensor("float32", (steps, inputs)), m.tensor("float32", (1, units)), m.tensor("float32", (1, units))]
    options = {0: ("i", m.called(condition)), 1: ("i", m.called(body))}
    m.op(WHILE, [m.tensor("int32", (), data=0), x, zero, zero], outs, options, 93)

    def reference(v):
        h, total = numpy.zeros((1, units)), numpy.zeros((1, units))
        for t in range(steps):
            h = numpy.tanh(v[t:t + 1] @ w.T + h @ r.T)
            total = total + h
        return [h.astype(F32), total.astype(F32), numpy.int32(steps).reshape(())]
    b.check_many("loop of %d" % steps, m, [x], [[b.numbers("float32", (steps, inputs))] for _ in range(2)], [outs[2], outs[3], outs[0]], reference)


def branch(b, known):
    m = Model()
    scale = b.numbers("float32", (1, 4))

    def one(g):
        x = g.tensor("float32", (1, 4))
        return [x], [binary(g, ADD, x, g.tensor("float32", (1, 4), data=scale), (1, 4), 11)]

    def other(g):
        x = g.tensor("float32", (1, 4))
        return [x], [binary(g, MUL, x, g.tensor("float32", (1, 4), data=scale), (1, 4), 21)]
    x = m.tensor("float32", (1, 4))
    if known is None:
        total = m.tensor("float32", ())
        m.op(SUM, [x, m.tensor("int32", (2,), data=[0, 1])], [total], {}, 27)
        condition = binary(m, GREATER, total, m.tensor("float32", (), data=0), (), 44, "bool")
    else:
        condition = m.tensor("bool", (), data=known)
    y = m.tensor("float32", (1, 4))
    options = {0: ("i", m.called(one)), 1: ("i", m.called(other))}
    m.op(IF, [condition, x], [y], options, 92)
    first = b.numbers("float32", (1, 4))
    b.check("branch %s" % known, m, x, [first, -first], y, lambda v: (v + scale if (v.sum() > 0 if known is None else known) else v * scale))


def variables(b, called_once):
    """A buffer of the last three inputs, set before the first run; y is its sum with the new one in."""
    start = b.numbers("float32", (2, 4))
    m = Model()

    def handle(g):
        h = g.tensor("resource", ())
        g.op(VARIABLE, [], [h], {0: "", 1: "buffer"}, 111)
        return h

    def first(g):
        g.op(ASSIGN, [handle(g), g.tensor("float32", (2, 4), data=start)], [], {}, 113)
        return [], []
    if called_once:
        m.op(CALL_ONCE, [], [], {0: ("i", m.called(first))}, 103)
    x, h = m.tensor("float32", (1, 4)), handle(m)
    if not called_once:
        m.op(ASSIGN, [h, m.tensor("float32", (2, 4), data=start)], [], {}, 113)
    before, both = m.tensor("float32", (2, 4)), m.tensor("float32", (3, 4))
    m.op(READ, [h], [before], {}, 112)
    m.op(CONCAT, [before, x], [both], {0: ("i", 0)}, 10)
    m.op(ASSIGN, [h, both], [], {}, 113)
    after, y = m.tensor("float32", (3, 4)), m.tensor("float32", (4,))
    m.op(READ, [handle(m)], [after], {}, 112)
    m.op(SUM, [after, m.tensor("int32", (1,), data=[0])], [y], {}, 27)
    b.check("variables %d" % called_once, m, x, [b.numbers("float32", (1, 4))], y, lambda v: (start.sum(0) + v[0]).astype(F32))
    other = b.numbers("float32", (1, 4))  # not behind the first run: the buffer starts anew here
    b.check("variables %d, the other" % called_once, m, x, [other], y, lambda v: (start.sum(0) + v[0]).astype(F32))


def kept(b, kind):
    """The last three inputs, over runs, in a variable that is no zeros at first; and how many runs there were."""
    q = {} if kind == "float32" else {"scale": 0.05, "zero": -7}
    start = b.numbers(kind, (2, 4)) if kind == "float32" else numpy.full((2, 4), -7, kind)
    m = Model()

    def handle(g, name):
        h = g.tensor("resource", ())
        g.op(VARIABLE, [], [h], {0: "", 1: name}, 111)
        return h

    def first(g):
        g.op(ASSIGN, [handle(g, "buffer"), g.tensor(kind, (2, 4), data=start, **q)], [], {}, 113)
        g.op(ASSIGN, [handle(g, "runs"), g.tensor("int32", (), data=0)], [], {}, 113)
        return [], []
    m.op(CALL_ONCE, [], [], {0: ("i", m.called(first))}, 103)
    x, h, n = m.tensor(kind, (1, 4), **q), handle(m, "buffer"), handle(m, "runs")
    before, both, after = m.tensor(kind, (2, 4), **q), m.tensor(kind, (3, 4), **q), m.tensor(kind, (2, 4), **q)
    m.op(READ, [h], [before], {}, 112)
    m.op(CONCAT, [before, x], [both], {0: ("i", 0)}, 10)
    m.op(SLICE, [both, m.tensor("int32", (2,), data=[1, 0]), m.tensor("int32", (2,), data=[2, 4])], [after], {}, 48)
    m.op(ASSIGN, [h, after], [], {}, 113)
    runs = m.tensor("int32", ())
    m.op(READ, [n], [runs], {}, 112)
    m.op(ASSIGN, [n, binary(m, ADD, runs, m.tensor("int32", (), data=1), (), 11, "int32")], [], {}, 113)
    row, y = m.tensor("int32", ()), m.tensor(kind, (4,), **q)
    m.op(MINIMUM, [runs, m.tensor("int32", (), data=2)], [row], {}, 39)
    m.op(GATHER, [both, row], [y], {}, 23)
    given = [b.numbers(kind, (1, 4)) for _ in range(5)]
    past, wanted = start, []
    for i, v in enumerate(given):
        past = numpy.concatenate([past, v])
        wanted.append(past[min(i, 2)])
        past = past[1:]
    b.check_states("kept %s" % kind, m, x, given, y, wanted)


def kept_on_accelerator(b, channels, rows):
    """A convolution of the last rows of the run before and those of this one."""
    q, out = {"scale": 0.05, "zero": -5}, {"scale": 0.4, "zero": 3}
    old, whole = (1, 2, 12, channels), (1, 2 + rows, 12, channels)
    weights, bias = b.random.integers(-127, 128, (channels, 1, 1, channels)), b.random.integers(-900, 900, channels)
    scales = b.random.uniform(0.005, 0.02, channels).astype(F32)
    m = Model()

    def handle(g):
        h = g.tensor("resource", ())
        g.op(VARIABLE, [], [h], {0: "", 1: "rows"}, 111)
        return h

    def first(g):
        g.op(ASSIGN, [handle(g), g.tensor("int8", old, data=numpy.full(old, -5, "int8"), **q)], [], {}, 113)
        return [], []
    m.op(CALL_ONCE, [], [], {0: ("i", m.called(first))}, 103)
    x, h = m.tensor("int8", (1, rows, 12, channels), **q), handle(m)
    before, both, after = m.tensor("int8", old, **q), m.tensor("int8", whole, **q), m.tensor("int8", old, **q)
    m.op(READ, [h], [before], {}, 112)
    m.op(CONCAT, [before, x], [both], {0: ("i", 1)}, 10)
    m.op(SLICE, [both, m.tensor("int32", (4,), data=[0, rows, 0, 0]), m.tensor("int32", (4,), data=old)], [after], {}, 48)
    m.op(ASSIGN, [h, after], [], {}, 113)
    y = m.tensor("int8", whole, **out)
    m.op(CONV, [both, m.tensor("int8", weights.shape, scales, 0, 0, weights), m.tensor("int32", (channels,), data=bias)], [y],
         {1: ("i", 1), 2: ("i", 1), 4: ("i", 1), 5: ("i", 1)}, 1, 3)
    given = [b.numbers("int8", (1, rows, 12, channels)) for _ in range(3)]
    past, wanted = numpy.full(old, -5), []
    for v in given:
        all_rows = numpy.concatenate([past, v], 1).astype(int)
        past = all_rows[:, rows:]
        sums = (all_rows + 5) @ weights[:, 0, 0].T + bias
        reals = [float(F32(0.05)) * float(s) / float(F32(0.4)) for s in scales]
        wanted.append(stored([[scaled(s, r, True) for s, r in zip(place, reals)] for place in sums.reshape(-1, channels)], "int8", 3).reshape(whole))
    for target in (("llvm",), ("vta", "--offload", "all")):
        b.check_states("kept on %s" % target[0], m, x, given, y, wanted, target)


def refused(b):
    def forever(g):
        x = g.tensor("float32", (1,))
        return [x], [g.tensor("bool", (), data=True)]

    def asked(g):
        x = g.tensor("float32", (1,))
        y = g.tensor("bool", (1,))
        g.op(GREATER, [x, g.tensor("float32", (1,), data=[0])], [y])
        return [x], [y]

    def same(g):
        x = g.tensor("float32", (1,))
        return [x], [x]

    def itself(g):
        x, y = g.tensor("float32", (1,)), g.tensor("float32", (1,))
        g.op(WHILE, [x], [y], {0: ("i", 1), 1: ("i", 2)}, 93)
        return [x], [y]
    for condition, body, words in ((forever, same, "too many turns"), (asked, same, "depends on the network's inputs"),
                                   (forever, itself, "deeper than"), (None, None, "it calls graph 7 of 1")):
        m = Model()
        x, y = m.tensor("float32", (1,)), m.tensor("float32", (1,))
        options = {0: ("i", m.called(condition)), 1: ("i", m.called(body))} if condition else {0: ("i", 7), 1: ("i", -1)}
        m.op(WHILE, [x], [y], options, 93)
        path = os.path.join(b.work, "refused.tflite")
        with open(path, "wb") as f:
            f.write(m.write([x], [y]))
        done = subprocess.run([b.vtac, "inspect", path], capture_output=True, text=True)
        if done.returncode != 1 or done.stderr.count("\n") != 1 or words not in done.stderr:
            sys.exit("'%s' expected: %d %s" % (words, done.returncode, done.stderr))


def main():
    seed = word_seed.told()
    with tempfile.TemporaryDirectory() as work:
        b = Bench(sys.argv[1], work, seed)
        loop(b, 6, 5)
        loop(b, 17, 3)
        for known in (True, False, None):
            branch(b, known)
        variables(b, True)
        variables(b, False)
        kept(b, "float32")
        kept(b, "int8")
        kept_on_accelerator(b, 16, 6)
        kept_on_accelerator(b, 19, 3)
        refused(b)
        print("%d models, %d results judged by TensorFlow Lite" % (b.count, b.judged))


main()
