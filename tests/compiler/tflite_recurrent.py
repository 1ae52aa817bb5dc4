#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Recurrent operators of TensorFlow Lite, with integers, floats by bytes and floats, beside references written out here
# and, with VTAC_TFLITE, beside TensorFlow Lite itself (tflite_ops.py).
#
# usage: tflite_recurrent.py VTAC   (exit status 77: no numpy)
import sys
import tempfile

try:
    import numpy
    import word_seed
    from tflite_bench import F32, Bench, fraction, inverse_root, rounded, scaled, stored
    from tflite_file import Model
except ImportError:
    sys.exit(77)

GATES = "ifco"


def sigmoid(z):
    return 1 / (1 + numpy.exp(-z))


def variable(m, kind, shape, **q):
    t = m.tensor(kind, shape, **q)
    m.tensors[t][5] = ("?", True)
    return t


# ---- 16-bit fixed-point logistic and tanh, as gemmlowp describes them

def sat(v):
    return max(-32768, min(32767, v))


def wrap(v):
    return (v + 32768) % 65536 - 32768


def times(a, b):
    p = a * b
    p = p + (1 << 14) if p >= 0 else p + 1 - (1 << 14)
    return sat(p // 32768 if p >= 0 else -(-p // 32768))


def shifted(v, by):
    if by >= 0:
        return sat(v << by)
    half = 1 << (-by - 1)
    return (v + half) >> -by if v >= 0 else -((-v + half) >> -by)


def constant(real, whole=0):
    return sat(int(numpy.floor(real * 2 ** (15 - whole) + 0.5)))


def exp_negative(a, whole):
    quarter = 1 << (13 - whole)
    part = a % quarter - quarter
    rest = part - a
    x = shifted(part, whole) + (1 << 12)
    x2 = times(x, x)
    x3, x4 = times(x2, x), times(x2, x2)
    high = times(shifted(x4, -2) + x3, constant(1 / 3)) + x2
    e = constant(numpy.exp(-1 / 8))
    y = sat(e + times(e, x + shifted(high, -1)))
    for k in range(-2, 5):
        if whole > k and rest >> (15 - whole + k) & 1:
            y = times(y, constant(numpy.exp(-2.0 ** k)))
    if whole > 5 and a < -(1 << (20 - whole)):
        y = 0
    return 32767 if a == 0 else y


def newton(a):
    half = (a + 32768) // 2
    x = wrap(constant(48 / 17, 2) + times(half, constant(-32 / 17, 2)))
    for _ in range(3):
        x = wrap(x + shifted(times(x, (1 << 13) - times(half, x)), 2))
    return x


def logistic16(a, whole=3):
    if a == 0:
        return 1 << 14
    y = shifted(newton(exp_negative(-abs(a), whole)), 1)
    return y if a > 0 else 32767 - y


def tanh16(a, whole=3):
    if a == 0:
        return 0
    y = shifted(newton(exp_negative(-abs(a), whole + 1)) - (1 << 13), 2)
    return y if a > 0 else -y


# ---- LSTMs of integers

def integer_lstm(b, steps, coupled=False, peepholes=False, projected=False, cell_log=-11, clip=0.0, both=False, code=44, normal=False):
    batch, inputs, units = 2, 6, 7
    width = 5 if projected else units
    m = Model()
    qx, qh = b.scale("int8"), b.scale("int8", 0.02)
    hidden = b.scale("int8", 0.01) if projected else qh
    shape = (batch, inputs) if code == 16 else (batch, steps, inputs)
    x = m.tensor("int8", shape, **qx)
    known = {}

    def constants(kind, name, dims, scale, most=127):
        q = b.random.integers(-most, most + 1, dims)
        known[name] = (q, F32(scale))
        return m.tensor(kind, dims, float(scale), 0, 0, q)
    draw = lambda low, high: float(F32(b.random.uniform(low, high)))
    ins = [x]
    ins += [-1 if g == "i" and coupled else constants("int8", "w" + g, (units, inputs), draw(0.003, 0.01)) for g in GATES]
    ins += [-1 if g == "i" and coupled else constants("int8", "r" + g, (units, width), draw(0.01, 0.03)) for g in GATES]
    ins += [-1 if not peepholes or (g == "i" and coupled) else constants("int16", "p" + g, (units,), draw(1e-5, 4e-5), 32767) for g in "ifo"]
    ins += [-1 if g == "i" and coupled else constants("int32", "b" + g, (units,), 1.0, 800000 if normal else 8000) for g in GATES]
    ins += [constants("int8", "projection", (width, units), 0.01) if projected else -1]
    ins += [constants("int32", "offset", (width,), 1.0, 500) if projected else -1]
    ins += [variable(m, "int8", (batch, width), **qh), variable(m, "int16", (batch, units), scale=2.0 ** cell_log)]
    ins += [constants("int16", "n" + g, (units,), draw(5e-5, 2e-4), 9000) if normal and not (g == "i" and coupled) else -1 for g in GATES]
    y = m.tensor("int8", shape[:-1] + (width,), **qh)
    units_of = {g: draw(1e-4, 4e-4) if normal else 2.0 ** -12 for g in GATES}
    between = [m.tensor("int16", (), scale=units_of[g]) for g in GATES] + [m.tensor("int8", (), **hidden)]
    m.op(code, ins, [y], {0: ("b", 4), 1: ("f", clip)}, 71 if code == 44 else 14, between=between)

    def words(rows, name, scale, zero, more=0):
        q, s = known[name]
        sums = (rows.astype(int) - zero) @ q.T + more
        real = float(F32(F32(s * F32(scale)) / F32(units_of[name[1]])))
        return numpy.array([[scaled(v, real) for v in row] for row in sums])

    def normalized(rows, g):
        """In 1024ths; divisions of integers go towards 0."""
        (weights, scale), bias = known["n" + g], known["b" + g][0]
        towards_0 = lambda a, d: a // d if a >= 0 else -(-a // d)
        out = []
        for row in rows.tolist():
            mean = towards_0(sum(row) * 1024, len(row))
            variance = towards_0(sum(a * a for a in row) * ((1 << 20) // len(row)) - mean * mean, 1 << 20)
            mantissa, right = inverse_root(variance if variance >= 1 else max(1, int(10000 * scale)))
            out.append([])
            for a, w, more in zip(row, weights.tolist(), bias.tolist()):
                value = shifted(fraction(1024 * a - mean, mantissa), -right) * w + more
                out[-1].append(scaled(towards_0(value + (512 if value > 0 else -512), 1024), float(scale) * 4096))
        return numpy.clip(numpy.array(out), -32768, 32767)

    def reference(v):
        v = v.reshape(batch, -1, inputs)
        h, c, out = numpy.full((batch, width), qh["zero"]), numpy.zeros((batch, units), int), []
        cut = lambda a: numpy.clip(a, -32768, 32767)
        fn = lambda f, a, *more: numpy.array([[f(int(i), *more) for i in r] for r in a])
        shift = lambda a, by: numpy.array([[shifted(int(i), -by) for i in r] for r in a])
        for t in range(v.shape[1]):
            def gate(g, cell):
                s = cut(words(v[:, t], "w" + g, qx["scale"], qx["zero"], 0 if normal else known["b" + g][0]))
                s = cut(s + words(h, "r" + g, qh["scale"], qh["zero"]))
                if peepholes and g != "c":
                    q, scale = known["p" + g]
                    real = float(F32(2.0 ** cell_log * float(scale) / units_of[g]))
                    s = cut(s + numpy.array([[scaled(i, real) for i in r] for r in cell * numpy.where(numpy.arange(units) < width, q, 0)]))  # as many as the output has, there
                s = normalized(s, g) if normal else s
                return fn(tanh16 if g == "c" else logistic16, s)
            f, g = gate("f", c), gate("c", c)
            i = 32767 - f if coupled else gate("i", c)
            c = cut(shift(f * c, 15) + shift(i * g, 30 + cell_log))
            if clip:
                most = int(min(32767, F32(clip) / F32(2.0 ** cell_log)))
                c = numpy.clip(c, -most, most)
            product = gate("o", c) * fn(tanh16, c, 15 + cell_log)
            real = float(F32(2.0 ** -15 / float(F32(hidden["scale"])) * 2.0 ** -15))
            h = stored([[scaled(k, real) for k in r] for r in product], "int8", -hidden["zero"]).astype(int)  # taken away, as it is there
            if projected:
                q, s = known["projection"]
                sums = (h + hidden["zero"]) @ q.T + known["offset"][0]
                real = float(F32(F32(s * F32(hidden["scale"])) / F32(qh["scale"])))
                h = stored([[scaled(k, real) for k in r] for r in sums], "int8", qh["zero"]).astype(int)
            out.append(h)
        out = numpy.stack(out, 1).astype("int8")
        return out[:, 0] if code == 16 and out.shape[1] == 1 else out
    more = [b.numbers("int8", shape) for _ in range(3)]
    whole = reference(numpy.concatenate(more, 1).reshape(batch, -1, inputs))
    b.check_states("integer lstm, %d steps a run" % steps, m, x, more, y, [p.reshape(shape[:-1] + (width,)) for p in numpy.split(whole, 3, 1)])
    b.check("integer lstm of %d steps %d %d %d %d %g" % (steps, coupled, peepholes, projected, cell_log, clip), m, x,
            [b.numbers("int8", shape) for _ in range(2)], y, reference)


# ---- floats, with weights of floats or bytes

class Weights:
    """Constants of a model under names, as the operator and as the reference see them."""

    def __init__(self, b, m, kind, asymmetric):
        self.b, self.m, self.kind, self.asymmetric, self.known = b, m, kind, asymmetric, {}

    def vector(self, name, count, size=1.0, low=None):
        v = self.b.random.uniform(-size if low is None else low, size, (count,)).astype(F32)
        self.known[name] = (v, None)
        return self.m.tensor("float32", (count,), data=v)

    def peephole(self, name, count):
        if self.kind == "float32":
            return self.vector(name, count)
        q, scale = self.b.random.integers(-127, 128, count), F32(0.008)
        self.known[name] = (q * scale, None)
        return self.bytes(q, scale)

    def bytes(self, q, scale):
        """Old files call them uint8, and mean int8; what they have as a zero point counts for nothing."""
        if self.kind == "uint8":
            return self.m.tensor("uint8", q.shape, float(scale), 77, 0, q.astype("int8").view("uint8"))
        return self.m.tensor("int8", q.shape, float(scale), 0, 0, q)

    def matrix(self, name, rows, columns, size=0.6):
        v = self.b.random.uniform(-size, size, (rows, columns)).astype(F32)
        if self.kind == "float32":
            self.known[name] = (v, None)
            return self.m.tensor("float32", v.shape, data=v)
        scale = F32(numpy.abs(v).max() / 127)
        self.known[name] = (rounded(v / scale).astype(int), scale)
        return self.bytes(self.known[name][0], scale)

    def product(self, name, rows):
        q, scale = self.known[name]
        if scale is None:
            return rows.astype(float) @ q.T.astype(float)
        rows = rows.astype(F32)
        if self.asymmetric:
            low, high = (f(rows, 1).astype(float) for f in (numpy.min, numpy.max))
            low, high = numpy.minimum(low, 0)[:, None], numpy.maximum(high, 0)[:, None]
            step = numpy.where(high > low, (high - low) / 255, 1)
            near = numpy.where(128 + numpy.abs(low / step) < 127 + numpy.abs(high / step), -128 - low / step, 127 - high / step)
            zero = numpy.where(high > low, numpy.clip(rounded(near), -128, 127), 0)
            steps = step.astype(F32)
            x = numpy.clip(rounded(zero.astype(F32) + rows * (F32(1) / steps)), -128, 127) - zero
        else:
            most = numpy.abs(rows).max(1, keepdims=True)
            most = numpy.where(most == 0, F32(1), most)
            steps = most / F32(127)
            x = numpy.clip(rounded(rows * (F32(127) / most)), -127, 127)
        return (x.astype(int) @ q.T).astype(F32) * (steps * scale)


FUNCTIONS = {0: lambda z: z, 1: lambda z: numpy.maximum(z, 0), 3: lambda z: numpy.clip(z, 0, 6), 4: numpy.tanh}


def lstm_way(b, m, w, way, inputs, units, width, coupled, peepholes, normal):
    """Constants of one direction: the first 18 inputs without x, and the four of the normalization."""
    n = lambda g: way + g
    skip = lambda g: g == "i" and coupled
    ins = [-1 if skip(g) else w.matrix(n("w" + g), units, inputs) for g in GATES]
    ins += [-1 if skip(g) else w.matrix(n("r" + g), units, width) for g in GATES]
    ins += [-1 if not peepholes or skip(g) else w.peephole(n("p" + g), units) for g in "ifo"]
    ins += [-1 if skip(g) else w.vector(n("b" + g), units, 1.5) for g in GATES]
    ins += [w.matrix(n("projection"), width, units), w.vector(n("offset"), width)] if width != units else [-1, -1]
    return ins, [-1 if not normal or skip(g) else w.vector(n("n" + g), units, 2, 0.2) for g in GATES]


def lstm_value(w, way, v, units, width, coupled, peepholes, normal, activation, clips, backwards):
    """v [steps][batch][inputs]"""
    known = {k[len(way):]: x[0] for k, x in w.known.items() if k.startswith(way)}
    h, c, out = numpy.zeros((v.shape[1], width)), numpy.zeros((v.shape[1], units)), []
    own = FUNCTIONS[activation]
    for t in range(v.shape[0])[::-1 if backwards else 1]:
        def gate(g, cell):
            s = w.product(way + "w" + g, v[t]) + w.product(way + "r" + g, h)
            s = s + (known["p" + g] * cell if peepholes and g != "c" else 0)
            if normal:
                s = (s - s.mean(1, keepdims=True)) / numpy.sqrt(s.var(1, keepdims=True) + 1e-8) * known["n" + g]
            return s + known["b" + g]
        f = sigmoid(gate("f", c))
        i = 1 - f if coupled else sigmoid(gate("i", c))
        c = f * c + i * own(gate("c", c))
        c = numpy.clip(c, -clips[0], clips[0]) if clips[0] else c
        h = sigmoid(gate("o", c)) * own(c)
        if width != units:
            h = w.product(way + "projection", h) + known["offset"]
            h = numpy.clip(h, -clips[1], clips[1]) if clips[1] else h
        out.append(h)
    return numpy.array(out[::-1] if backwards else out)


def float_lstm(b, kind, steps, coupled=False, peepholes=False, projected=False, normal=False, asymmetric=False, activation=4,
               clips=(0.0, 0.0), time_major=False):
    batch, inputs, units = 2, 5, 6
    width = 4 if projected else units
    m = Model()
    w = Weights(b, m, kind, asymmetric)
    shape = (steps, batch, inputs) if time_major else (batch, steps, inputs)
    x = m.tensor("float32", shape)
    ins, norms = lstm_way(b, m, w, "", inputs, units, width, coupled, peepholes, normal)
    ins = [x] + ins + [variable(m, "float32", (batch, width)), variable(m, "float32", (batch, units))] + norms
    y = m.tensor("float32", shape[:2] + (width,))
    m.op(44, ins, [y], {0: ("b", activation), 1: ("f", clips[0]), 2: ("f", clips[1]), 3: ("?", time_major), 4: ("?", asymmetric)}, 71, 3)

    def reference(v):
        out = lstm_value(w, "", v if time_major else v.transpose(1, 0, 2), units, width, coupled, peepholes, normal, activation, clips, False)
        return (out if time_major else out.transpose(1, 0, 2)).astype(F32)
    more = [b.numbers("float32", shape) for _ in range(3)]
    axis = 0 if time_major else 1
    b.check_states("lstm of %s, %d steps a run" % (kind, steps), m, x, more, y, numpy.split(reference(numpy.concatenate(more, axis)), 3, axis))
    b.check("lstm of %s, %d steps %d %d %d %d %d" % (kind, steps, coupled, peepholes, projected, normal, asymmetric), m, x,
            [b.numbers("float32", shape) for _ in range(2)], y, reference)


def both_ways_lstm(b, kind, merged, projected, time_major):
    steps, batch, inputs, units = 4, 2, 5, 6
    width = 3 if projected else units
    m = Model()
    w = Weights(b, m, kind, False)
    shape = (steps, batch, inputs) if time_major else (batch, steps, inputs)
    x = m.tensor("float32", shape)
    ins = [x] + lstm_way(b, m, w, "forth ", inputs, units, width, False, False, False)[0]
    ins += lstm_way(b, m, w, "back ", inputs, units, width, True, True, False)[0]
    for _ in range(2):
        ins += [variable(m, "float32", (batch, width)), variable(m, "float32", (batch, units))]
    ins += [-1] * 9
    ys = [m.tensor("float32", shape[:2] + (n,)) for n in ([2 * width] if merged else [width, width])]
    m.op(52, ins, ys, {0: ("b", 4), 3: ("?", merged), 4: ("?", time_major)}, 69)

    def reference(v):
        v = v if time_major else v.transpose(1, 0, 2)
        out = [lstm_value(w, way, v, units, width, i == 1, i == 1, False, 4, (0, 0), i == 1) for i, way in enumerate(("forth ", "back "))]
        out = [(o if time_major else o.transpose(1, 0, 2)).astype(F32) for o in out]
        return [numpy.concatenate(out, 2)] if merged else out
    b.check_many("lstm both ways of %s %d %d" % (kind, merged, projected), m, [x], [[b.numbers("float32", shape)] for _ in range(2)], ys, reference)


def basic_lstm(b, kind, batch, inputs, units, kept=False):
    """One step of old models: all gates are one product; kept: the last output and the cell are variables, which begin at 0."""
    floats, full = kind == "float32", inputs + units
    byte = {} if floats else {"scale": 1 / 128, "zero": 128}
    cell_scale = {} if floats else {"scale": 2.0 ** -11}
    cell_kind = "float32" if floats else "int16"
    zero, scale = int(b.random.integers(90, 160)), float(F32(b.random.uniform(0.005, 0.03)))
    w = (b.random.standard_normal((4 * units, full)) * 0.5).astype(F32) if floats else b.random.integers(0, 256, (4 * units, full)).astype(kind)
    bias = b.numbers("float32", 4 * units) if floats else b.random.integers(-4000, 4000, 4 * units).astype("int32")
    m = Model()
    x = m.tensor(kind, (batch, inputs), **byte)
    if kept:
        last, cell = variable(m, kind, (batch, units), **byte), variable(m, cell_kind, (batch, units), **cell_scale)
    else:
        last, cell = m.tensor(kind, (batch, units), **byte), m.tensor(cell_kind, (batch, units), **cell_scale)
    weights = m.tensor(kind, w.shape, data=w) if floats else m.tensor(kind, w.shape, scale, zero, 0, w)
    biases = m.tensor("float32", bias.shape, data=bias) if floats else m.tensor("int32", bias.shape, float(F32(scale / 128)), 0, 0, bias)
    y, next_cell = m.tensor(kind, (batch, units), **byte), m.tensor(cell_kind, (batch, units), **cell_scale)
    both, sums = m.tensor(kind, (batch, full), **byte), m.tensor(cell_kind, (batch, 4 * units), **({} if floats else {"scale": 2.0 ** -12}))
    m.op(16, [x, last, weights, biases, cell], [y, next_cell, both, sums], {0: ("b", 4), 3: ("b", 1)}, 14, 2)

    def product(a, c):  # fractions of 2^15
        return numpy.clip((a * c + (1 << 14)) >> 15, -32768, 32767)

    def table(function, v, whole):
        return numpy.array([function(int(n), whole) for n in v.flatten()]).reshape(v.shape)

    def halves_away(v, by):
        return numpy.sign(v) * ((abs(v) + (1 << by >> 1)) >> by)

    def reference(v, before, c):
        joined = numpy.concatenate([v, before], 1)
        if floats:
            gates = numpy.split(joined.astype(float) @ w.T.astype(float) + bias, 4, 1)
            c = sigmoid(gates[0]) * numpy.tanh(gates[1]) + sigmoid(gates[2]) * c
            return [(sigmoid(gates[3]) * numpy.tanh(c)).astype(F32), c.astype(F32)]
        total = (joined.astype(int) - 128) @ (w.astype(int) - zero).T + bias
        real = 4096.0 * float(F32(scale / 128))
        gates = numpy.clip(numpy.vectorize(lambda n: scaled(n, real, True))(total), -32768, 32767)
        gates = numpy.split(gates, 4, 1)
        fresh = halves_away(product(table(logistic16, gates[0], 3), table(tanh16, gates[1], 3)), 4)
        c = numpy.clip(fresh + product(table(logistic16, gates[2], 3), c.astype(int)), -32768, 32767)
        out = product(table(logistic16, gates[3], 3), table(tanh16, c, 4))
        return [(numpy.clip(halves_away(out, 8), -128, 127) + 128).astype(kind), c.astype("int16")]

    def draw():
        return [b.numbers(kind, (batch, inputs)), b.numbers(kind, (batch, units)), (b.numbers(cell_kind, (batch, units)) / (1 if floats else 4)).astype(cell_kind)]
    if not kept:
        b.check_many("basic lstm of %s" % kind, m, [x, last, cell], [draw() for _ in range(2)], [y, next_cell], reference)
        return
    given, found = [b.numbers(kind, (batch, inputs)) for _ in range(4)], []
    state = [numpy.zeros((batch, units), kind), numpy.zeros((batch, units), cell_kind)]
    for v in given:
        state = reference(v, *state)
        found.append(state[0])
    b.check_states("basic lstm of %s, run after run" % kind, m, x, given, y, found)


def rnn(b, code, kind, activation, asymmetric, flag):
    """24: one step, 35: a sequence, 46: both ways; flag: steps first, or merged."""
    steps, batch, inputs, units = 1 if code == 24 else 5, 2, 4, 6
    m = Model()
    w = Weights(b, m, kind, asymmetric)
    time_major = flag and code == 35
    shape = (batch, inputs) if code == 24 else (steps, batch, inputs) if time_major else (batch, steps, inputs)
    x = m.tensor("float32", shape)
    ins, ways = [x], ["forth "] if code != 46 else ["forth ", "back "]
    for way in ways:
        ins += [w.matrix(way + "w", units, inputs), w.matrix(way + "r", units, units), w.vector(way + "b", units)]
        ins.append(variable(m, "float32", (batch, units)))
    ins += [-1] * 3 if code == 46 else []
    merged = code == 46 and flag
    ys = [m.tensor("float32", shape[:-1] + (n,)) for n in ([2 * units] if merged else [units] * len(ways))]
    options = {24: {0: ("b", activation), 1: ("?", asymmetric)}, 35: {0: ("?", flag), 1: ("b", activation), 2: ("?", asymmetric)},
               46: {1: ("b", activation), 2: ("?", flag), 3: ("?", asymmetric)}}[code]
    m.op(code, ins, ys, options, {24: 7, 35: 31, 46: 70}[code], 3)

    def reference(v):
        v = v.reshape(1, batch, inputs) if code == 24 else v if time_major else v.transpose(1, 0, 2)
        outs = []
        for way in ways:
            h, out = numpy.zeros((batch, units)), []
            for t in range(steps)[::-1 if way == "back " else 1]:
                h = FUNCTIONS[activation](w.product(way + "w", v[t]) + w.product(way + "r", h) + w.known[way + "b"][0])
                out.append(h)
            out = numpy.array(out[::-1] if way == "back " else out)
            out = out[0] if code == 24 else out if time_major else out.transpose(1, 0, 2)
            outs.append(out.astype(F32))
        return [numpy.concatenate(outs, -1)] if merged else outs
    if code != 46:
        h, more, wanted = numpy.zeros((batch, units)), [b.numbers("float32", shape) for _ in range(2)], []
        for v in more:
            out = []
            for row in v.reshape(1, batch, inputs) if code == 24 else v if time_major else v.transpose(1, 0, 2):
                h = FUNCTIONS[activation](w.product("forth w", row) + w.product("forth r", h) + w.known["forth b"][0])
                out.append(h)
            out = numpy.array(out).astype(F32)
            wanted.append(out[0] if code == 24 else out if time_major else out.transpose(1, 0, 2))
        b.check_states("rnn %d of %s" % (code, kind), m, x, more, ys[0], wanted)
    b.check_many("rnn %d of %s %d %d" % (code, kind, activation, asymmetric), m, [x], [[b.numbers("float32", shape)] for _ in range(2)], ys, reference)


def svdf(b, kind, rank, activation, asymmetric=False, given_state=False):
    batch, inputs, units, memory = 2, 6, 4, 5
    filters = units * rank
    m = Model()
    w = Weights(b, m, "int8" if kind == "whole" else kind, asymmetric)
    whole = kind == "whole"
    x = m.tensor("int8" if whole else "float32", (batch, inputs), **(b.scale("int8") if whole else {}))
    if whole:
        qx, qy, qs = {k: m.tensors[x][4][n][1][0] for k, n in (("scale", 2), ("zero", 3))}, b.scale("int8", 0.2), 0.002
        features, time = b.random.integers(-127, 128, (filters, inputs)), b.random.integers(-32767, 32768, (filters, memory))
        bias = b.random.integers(-900, 900, units)
        ins = [x, m.tensor("int8", features.shape, 0.01, 0, 0, features), m.tensor("int16", time.shape, 2e-5, 0, 0, time),
               m.tensor("int32", (units,), data=bias), variable(m, "int16", (batch, filters * memory), scale=qs)]
        y = m.tensor("int8", (batch, units), **qy)
    else:
        ins = [x, w.matrix("features", filters, inputs), w.matrix("time", filters, memory), w.vector("bias", units),
               variable(m, "float32", (batch, filters * memory))]
        y = m.tensor("float32", (batch, units))
    m.op(27, ins, [y], {0: ("i", rank), 1: ("b", activation), 2: ("?", asymmetric)}, 6, 4)

    def reference(v):  # the states before are 0
        if whole:
            one = float(F32(F32(0.01) * F32(qx["scale"]) / F32(qs)))
            two = float(F32(F32(qs) * F32(2e-5) / F32(qy["scale"])))
            sums = (v.astype(int) - qx["zero"]) @ features.T
            state = numpy.array([[sat(scaled(i, one)) for i in r] for r in sums])
            sums = (state * time[:, -1]).reshape(batch, units, rank).sum(2) + bias
            return stored([[scaled(i, two) for i in r] for r in sums], "int8", qy["zero"])
        q, scale = w.known["time"]
        last = q[:, -1] * (1 if scale is None else scale)
        sums = (w.product("features", v) * last).reshape(batch, units, rank).sum(2) + w.known["bias"][0]
        return FUNCTIONS[activation](sums).astype(F32)
    kinds = "int8" if whole else "float32"

    def filtered(runs):
        past = numpy.zeros((batch, filters, memory), int if whole else float)
        for v in runs:
            fresh = (v.astype(int) - qx["zero"]) @ features.T if whole else w.product("features", v)
            if whole:
                one = float(F32(F32(0.01) * F32(qx["scale"]) / F32(qs)))
                fresh = numpy.array([[sat(scaled(i, one)) for i in r] for r in fresh])
            past = numpy.concatenate([past[:, :, 1:], fresh[:, :, None]], 2)
            weights = time if whole else w.known["time"][0] * (1 if w.known["time"][1] is None else w.known["time"][1])
            sums = (past * weights).sum(2).reshape(batch, units, rank).sum(2) + (bias if whole else w.known["bias"][0])
            two = float(F32(F32(qs) * F32(2e-5) / F32(qy["scale"]))) if whole else 1
            yield stored([[scaled(i, two) for i in r] for r in sums], "int8", qy["zero"]) if whole else FUNCTIONS[activation](sums).astype(F32)
    more = [b.numbers(kinds, (batch, inputs)) for _ in range(memory + 2)]
    b.check_states("svdf of %s, rank %d" % (kind, rank), m, x, more, y, list(filtered(more)))
    b.check("svdf of %s, rank %d %d" % (kind, rank, asymmetric), m, x, [b.numbers(kinds, (batch, inputs)) for _ in range(2)], y, reference)


def main():
    seed = word_seed.told()
    with tempfile.TemporaryDirectory() as work:
        b = Bench(sys.argv[1], work, seed)
        integer_lstm(b, 8)
        integer_lstm(b, 5, coupled=True, cell_log=-12)
        integer_lstm(b, 5, peepholes=True, cell_log=-10)
        integer_lstm(b, 5, projected=True, cell_log=-9, clip=1.5)
        integer_lstm(b, 4, peepholes=True, projected=True)
        integer_lstm(b, 4, normal=True)
        integer_lstm(b, 3, normal=True, coupled=True, peepholes=True, projected=True, cell_log=-10)
        integer_lstm(b, 1, code=16)
        for kind in ("float32", "uint8"):
            basic_lstm(b, kind, 3, 5, 7)
            basic_lstm(b, kind, 1, 9, 4, True)
        float_lstm(b, "float32", 9, clips=(10.0, 0.0))
        float_lstm(b, "float32", 5, coupled=True, peepholes=True, clips=(0.3, 0.0), time_major=True)
        float_lstm(b, "float32", 4, projected=True, clips=(0.0, 0.4), activation=1)
        float_lstm(b, "float32", 4, normal=True, coupled=True)
        float_lstm(b, "int8", 6)
        float_lstm(b, "int8", 4, asymmetric=True)
        float_lstm(b, "int8", 4, coupled=True, peepholes=True, projected=True, normal=True)
        for kind, merged, projected in (("float32", True, False), ("int8", False, True)):
            both_ways_lstm(b, kind, merged, projected, merged)
        for code in (24, 35, 46):
            rnn(b, code, "float32", 4, False, True)
            rnn(b, code, "int8", 1, False, False)
        rnn(b, 35, "int8", 3, True, True)
        rnn(b, 46, "uint8", 1, False, True)
        float_lstm(b, "uint8", 3, peepholes=True, projected=True)
        svdf(b, "uint8", 2, 1)
        svdf(b, "float32", 2, 1)
        svdf(b, "int8", 1, 0)
        svdf(b, "int8", 2, 1, True)
        svdf(b, "whole", 1, 1)
        svdf(b, "whole", 3, 1)
        print("%d models, %d results judged by TensorFlow Lite" % (b.count, b.judged))


main()
