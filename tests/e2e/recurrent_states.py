#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Recurrent layers whose states are inputs and outputs. Drawn cells of all forms between DequantizeLinear and QuantizeLinear must be one
# region and give the integers that are written out here from the definition (vtac/quant.h), on the host and on each device, from states that
# are drawn; and launches that pass their states on must give what one launch of all their steps gives. Then networks of floats are quantized
# by a stream of their own, and stay near the floats over another stream of a hundred launches in which the states go around.
#
# usage: recurrent_states.py VTAC FOLDER_OF_LIBRARIES COUNT NETWORKS DEVICE:CONFIG...   (exit status 77: python3-onnx is not there)
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recurrent  # noqa: E402
from recurrent import F32, FORMS, SEED, WAYS, Integers, call, helper, numpy, random_for  # noqa: E402

ROUNDS, LAUNCHES, CALIBRATED = 2, 100, 96
UNITS = {"LSTM": 4064, "GRU": 32512}
REACH = {"LSTM": 32, "GRU": 1}
# Of a drawn network's range, which may be small: of 80 streams half were off by 0.5 % at most, nine of ten by 1.7 %, the worst by 3.8 %.
# Errors must not add up from launch to launch.
BOUND = 0.06


def take_binding(libraries):
    """The Python binding, from the build's libraries and the sources."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../runtime/bindings/python/vta")
    os.mkdir("vta")
    for path in [os.path.join(source, name) for name in os.listdir(source)] + [os.path.join(libraries, "_vta.abi3.so")]:
        if os.path.isfile(path):
            os.symlink(os.path.realpath(path), os.path.join("vta", os.path.basename(path)))
    sys.path.insert(0, os.getcwd())
    import vta  # pylint: disable=import-outside-toplevel
    return vta


# ---- states as the definition has them

class States(Integers):
    """A cell with what its launches begin with and end with."""

    def take(self, scale, h, c):
        """Numbers of floats: h in 8 bits, C or H in its units."""
        if self.op == "GRU":
            wide = self.whole(h)
            return recurrent.clamp(numpy.rint(wide * self.out) + self.zero), wide
        low = numpy.rint((h / F32(scale)).astype(F32)).astype(numpy.int64) + self.zero
        return numpy.clip(low, -128, 127), self.whole(c) if self.op == "LSTM" else numpy.zeros(self.n, numpy.int64)

    def whole(self, real):
        most = REACH[self.op] * UNITS[self.op]
        return numpy.clip(numpy.rint(real * F32(UNITS[self.op])), -most, most).astype(numpy.int64)

    def give(self, scale, h, wide):
        real = (F32(1) * wide).astype(F32) * F32(1 / UNITS[self.op]) if self.op != "RNN" else None
        return (real, None) if self.op == "GRU" else ((h - self.zero).astype(F32) * F32(scale), real)


def launch(cells, scale, x, less, h, c):
    """y, h and c at the end, of all directions."""
    steps, batch, _ = x.shape
    y = numpy.zeros((steps, len(cells), batch, cells[0].n), numpy.int64)
    h_after, c_after = numpy.zeros_like(h), numpy.zeros_like(c)
    for d, cell in enumerate(cells):
        for b in range(batch):
            own, wide = cell.take(scale, h[d, b], c[d, b])
            for t in range(steps)[::-1 if cell.back else 1]:
                own, wide = cell.step(x[t, b].astype(numpy.int64) - less, own, wide)
                y[t, d, b] = own
            h_after[d, b], real = cell.give(scale, own, wide)
            c_after[d, b] = 0 if real is None else real
    return (y + less).astype(x.dtype), h_after, c_after


def nodes_of(form, way, n, given, names, ends):
    node = recurrent.node_of(form, way, n, given + [""] * (5 - len(given)) + names, ends, "cell")
    return node


def drawn_cell(number):
    random = random_for("recurrent states", number)
    form, way = FORMS[number % len(FORMS)], WAYS[(number // len(FORMS) + number) % len(WAYS)]
    ways = 2 if way == "bidirectional" else 1
    dtype = [numpy.int8, numpy.uint8][int(random.integers(2))]
    less = 128 if dtype == numpy.uint8 else 0
    steps, batch = int(random.choice([1, 1, 2, 5])), int(random.integers(1, 4))
    inputs, n = int(random.integers(1, 40)), int(random.integers(1, 40 if random.random() < 0.3 else 10))
    w, r, b = recurrent.parameters(random, form, ways, inputs, n, float(random.uniform(0.5, 2.5)))
    x_scale, y_scale = F32(random.uniform(0.005, 0.05)), F32(random.uniform(0.5, 1.1) / 127)
    x_zero, y_zero = int(random.integers(-20, 20)), int(random.integers(-8, 8)) if random.random() < 0.5 else 0
    cells = []
    for d in range(ways):
        cells.append(States(form, w[d], r[d], b[d], x_scale, x_zero, y_scale, y_zero))
        cells[-1].back = way == "reverse" or d == 1
    zero = lambda z: numpy.array(z + less, dtype)
    constants = dict(W=w, R=r, B=b, xs=numpy.array(x_scale), xz=zero(x_zero), ys=numpy.array(y_scale), yz=zero(y_zero))
    states, ends = (["h", "c"], ["hn", "cn"]) if form == "LSTM" else (["h"], ["hn"])
    nodes = [helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["xf"]),
             nodes_of(form, way, n, ["xf", "W", "R", "B"], states, ["yf"] + ends),
             helper.make_node("QuantizeLinear", ["yf", "ys", "yz"], ["y"])]
    shape = (ways, batch, n)
    recurrent.save(nodes, [("x", dtype, (steps, batch, inputs))] + [(s, F32, shape) for s in states],
                   [("y", dtype, (steps, ways, batch, n))] + [(s, F32, shape) for s in ends], constants, "cell.onnx")
    info = numpy.iinfo(dtype)
    draws = []
    for _ in range(ROUNDS):
        h = random.uniform(-1.1, 1.1, shape).astype(F32)
        c = (random.normal(0, 2, shape) * random.choice([1, 1, 20], shape)).astype(F32)
        draws.append((random.integers(info.min, info.max + 1, (steps, batch, inputs)).astype(dtype), h, c))
    return "%s %s, %d steps of %d x %d to %d, %s" % (form, way, steps, batch, inputs, n, dtype.__name__), cells, y_scale, less, draws, states


def compare(got, want, where):
    if got.shape != want.shape or not numpy.array_equal(got, want):
        far = abs(got.astype(float) - want).max() if got.shape == want.shape else numpy.inf
        raise RuntimeError("%s: %d of %d numbers differ, by %g at most" % (where, (got != want).sum(), want.size, far))


def run_cell(model, states, x, h, c):
    given = dict(x=x, h=h, c=c)
    out = model.run(**{name: given[name] for name in ["x"] + states})
    return [numpy.array(a) for a in out]


def check_cell(vta, vtac, number, devices):
    what, cells, scale, less, draws, states = drawn_cell(number)
    results, outside = [], 0
    try:
        places = [("host", None, [])] + [(d, d.split(":")[0], ["--target", "vta", "--config", d.split(":")[1], "--offload", "all"]) for d in devices]
        for where, device, words in places:
            if device is not None:
                told = json.loads(call(vtac, "explain", "cell.onnx", "--config", where.split(":")[1], "--offload", "all", "--json"))
                there = [n for n in told["nodes"] if "Recurrence" in n["op"]]
                inside = there and {n["where"] for n in there} == {"region 0"}
                if not inside and not all("larger buffers" in n["reason"] for n in there if n["where"] == "host"):
                    raise RuntimeError("%s: no region, or several: %s" % (where, [(n["op"], n["where"], n.get("reason")) for n in told["nodes"] if "Recurrence" in n["op"]]))
                outside += not inside
            call(vtac, "compile", "cell.onnx", *words, "-o", "cell%d.so" % number)
            with vta.Model("cell%d.so" % number, device=device) as model:
                for x, h, c in draws:
                    wants = launch(cells, scale, x, less, h, c)
                    for got, want, name in zip(run_cell(model, states, x, h, c), wants, ("y", "h", "c")):
                        compare(got, want, "%s, %s" % (where, name))
                    results.append(wants[0])
                if any(cell.back for cell in cells):
                    continue
                # launches one after the other
                h, c = draws[0][1:]
                xs = numpy.concatenate([x for x, _, _ in draws])
                want = launch(cells, scale, xs, less, h, c)
                ys = []
                for x, _, _ in draws:
                    y, h, *rest = run_cell(model, states, x, h, c)
                    c = rest[0] if rest else c
                    ys.append(y)
                compare(numpy.concatenate(ys), want[0], "%s, launch after launch" % where)
                compare(h, want[1], "%s, h after launches" % where)
            os.remove("cell%d.so" % number)
    except (RuntimeError, vta.Error) as problem:
        print("cell %d, %s: %s" % (number, what, problem), flush=True)
        return results, outside, 1
    return results, outside, 0


# ---- streams

def drawn_network(number):
    """A dense layer, a recurrent one with its states, a dense layer on its last step: one or several steps a launch."""
    random = random_for("recurrent streams", number)
    form, steps = FORMS[number % 3 if number < 3 else number % len(FORMS)], [1, 4][number % 2]
    inputs, n, classes = int(random.integers(8, 40)), int(random.integers(16, 64)), int(random.integers(2, 12))
    w, r, b = recurrent.parameters(random, form, 1, n, n, 0.8)
    front = random.normal(0, 1 / numpy.sqrt(inputs), (inputs, n)).astype(F32)
    back = random.normal(0, 1 / numpy.sqrt(n), (n, classes)).astype(F32)
    bias = random.normal(0, 0.3, (2, max(n, classes))).astype(F32)
    states, ends = (["h", "c"], ["hn", "cn"]) if form == "LSTM" else (["h"], ["hn"])
    constants = dict(W=w, R=r, B=b, front=front, back=back, fb=bias[0, :n], bb=bias[1, :classes],
                     rows=numpy.array([steps, n]), ins=numpy.array([steps, inputs]), three=numpy.array([steps, 1, n]))
    node = lambda op, ins, out, **attrs: helper.make_node(op, ins, [out], name=out + "_node", **attrs)
    nodes = [node("Reshape", ["x", "ins"], "flat"), node("MatMul", ["flat", "front"], "m"), node("Add", ["m", "fb"], "a"), node("Relu", ["a"], "f"),
             node("Reshape", ["f", "three"], "f3"), nodes_of(form, "forward", n, ["f3", "W", "R", "B"], states, ["yr"] + ends),
             node("Reshape", ["yr", "rows"], "y2"), node("MatMul", ["y2", "back"], "p"), node("Add", ["p", "bb"], "z"), node("Sigmoid", ["z"], "out")]
    recurrent.save(nodes, [("x", F32, (steps, 1, inputs))] + [(s, F32, (1, 1, n)) for s in states],
                   [("out", F32, (steps, classes))] + [(s, F32, (1, 1, n)) for s in ends], constants, "net.onnx")

    def reference(x, h, c):
        rows = []
        for one in x[:, 0].astype(float):
            one = numpy.maximum(one @ front + bias[0, :n], 0)
            h, c = recurrent.float_step(form, w[0].astype(float), r[0].astype(float), b[0].astype(float), one, h, c)
            rows.append(recurrent.sigmoid(h @ back + bias[1, :classes]))
        return numpy.array(rows), h, c

    def stream(count):
        """Numbers that follow those before, of one range from the beginning to the end."""
        x, noise = numpy.zeros((count * steps, 1, inputs)), random.uniform(-0.9, 0.9, (count * steps, 1, inputs))
        for t in range(count * steps):
            x[t] = 0.8 * x[t - 1] + noise[t] if t > 0 else noise[t]
        return x.astype(F32).reshape(count, steps, 1, inputs)
    return "%s of %d, %d steps a launch" % (form, n, steps), n, states, reference, stream


def check_network(vta, vtac, number, devices):
    what, n, states, reference, stream = drawn_network(number)
    # samples for the ranges: the float network's own states
    h = c = numpy.zeros(n)
    samples = dict(x=[], h=[], c=[])
    for x in stream(CALIBRATED):
        for name, value in (("x", x), ("h", h.reshape(1, 1, n)), ("c", c.reshape(1, 1, n))):
            samples[name].append(value.astype(F32))
        _, h, c = reference(x, h, c)
    numpy.savez("calib.npz", **{name: numpy.array(samples[name]) for name in ["x"] + states})
    try:
        call(vtac, "quantize", "net.onnx", "--calib", "calib.npz", "--force", "-o", "net8.onnx")
        call(vtac, "compile", "net8.onnx", "--force", "-o", "net%d.so" % number)
        models = [("host", vta.Model("net%d.so" % number))]
        for device in devices:
            name, config = device.split(":")
            told = json.loads(call(vtac, "explain", "net8.onnx", "--config", config, "--offload", "all", "--json"))
            heavy = [node for node in told["nodes"] if node.get("macs", 0) > 0]
            if told["regions"] != 1 or not all(node["where"] == "region 0" for node in heavy):
                raise RuntimeError("%s: %d regions, %s" % (device, told["regions"], [(node["op"], node["where"]) for node in heavy]))
            so = "net%d%s.so" % (number, config)
            call(vtac, "compile", "net8.onnx", "--target", "vta", "--config", config, "--offload", "all", "--force", "-o", so)
            models.append((device, vta.Model(so, device=name)))
        streams = []
        for _ in range(ROUNDS):
            h = c = numpy.zeros(n)
            kept = [dict(h=numpy.zeros((1, 1, n), F32), c=numpy.zeros((1, 1, n), F32)) for _ in models]
            got, want = [], []
            for at, x in enumerate(stream(LAUNCHES)):
                y, h, c = reference(x, h, c)
                outs = []
                for (_, model), own in zip(models, kept):
                    out = [numpy.array(a) for a in model.run(x=x, **{s: own[s] for s in states})]
                    own.update(zip(states, out[1:]))
                    outs.append(out)
                for (device, _), out in zip(models[1:], outs[1:]):
                    for a, b in zip(out, outs[0]):
                        compare(a, b, "%s, launch %d" % (device, at))
                got.append(outs[0][0])
                want.append(y)
            got, want = numpy.array(got), numpy.array(want)
            error = float(numpy.sqrt(((got - want) ** 2).mean()) / (want.max() - want.min()))
            late = float(numpy.sqrt(((got - want)[-10:] ** 2).mean()) / (want.max() - want.min()))
            streams.append((error, late))
        worst = max(max(pair) for pair in streams)
        if worst > BOUND or any(late > 2 * whole + 0.005 for whole, late in streams):
            raise RuntimeError("outputs are off, of all launches and of the last ten, by %s of their range" % ["%.2f %%, %.2f %%" % (100 * a, 100 * b) for a, b in streams])
    except (RuntimeError, vta.Error) as problem:
        print("stream %d, %s: %s" % (number, what, problem), flush=True)
        return 1
    print("%s: %.2f %% of the range off over %d launches" % (what, 100 * worst, LAUNCHES), flush=True)
    return 0


def main():
    vtac, libraries, count, networks, devices = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:]
    failed, flat = 0, 0
    print("seed %s" % SEED)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        vta = take_binding(libraries)
        number, inside = 0, 0
        while inside < count and number < 4 * count:  # a cell that the device has no room for proves little
            results, outside, bad = check_cell(vta, vtac, number, devices)
            number += 1
            failed += bad
            inside += outside == 0
            flat += len(results) > 1 and numpy.array_equal(results[0], results[1])
        for stream in range(networks):
            failed += check_network(vta, vtac, stream, devices)
        os.chdir("/")
    if flat > number // 4 or inside < count:
        print("%d of %d cells do not depend on their inputs, %d fitted: this would prove little" % (flat, number, inside))
        failed += 1
    print("recurrent states: %d cells, %d streams, %d failed" % (number, networks, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
