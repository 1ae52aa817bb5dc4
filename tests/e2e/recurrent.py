#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# LSTM, GRU and RNN in 8 bits. Drawn cells of all forms, between DequantizeLinear and QuantizeLinear, must be one region where they
# fit and give the integers that are written out here from the definition (vtac/quant.h), on the host and on each device,
# twice with different inputs. Then networks of floats, two layers over 100 steps, are quantized by their own inputs, and all outputs must stay near the
# floats that are written out here, too.
#
# usage: recurrent.py VTAC COUNT NETWORKS DEVICE:CONFIG...   (exit status 77: python3-onnx is not there)
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "compiler"))
from onnx_cases import SEED, helper, numpy, numpy_helper, random_for  # noqa: E402

F32 = numpy.float32
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
FORMS = ["LSTM", "GRU", "GRU after", "RNN"]
WAYS = ["forward", "reverse", "bidirectional"]
ROUNDS = 2


def call(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode != 0:
        raise RuntimeError("%s: %s%s" % (" ".join(words), done.stdout[-2000:], done.stderr[-2000:]))
    return done.stdout


def run(vtac, model, x, *device):
    numpy.save("x.npy", x)
    call(vtac, "run", model, "--input", "x.npy", "--output-dir", "out", *device)
    (name,) = os.listdir("out")
    y = numpy.load(os.path.join("out", name))
    os.remove(os.path.join("out", name))
    return y


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


# ---- the definition in integers, one direction of one row of the batch

def clamp(v):
    return numpy.clip(numpy.rint(v), -128, 127).astype(numpy.int64)


def narrow(real):
    """The factor as float32 has it."""
    return float(F32(real))


class Integers:
    def __init__(self, form, w, r, b, x_scale, x_zero, y_scale, y_zero):
        self.op, self.after, self.n = form.split()[0], "after" in form, r.shape[1]
        rows = len(w)
        lost = {"LSTM": 2, "GRU": 0, "RNN": -1}[self.op]
        gate = numpy.arange(rows) // self.n
        sign = numpy.where(gate == lost, -1.0, 1.0)
        own, other = b[:rows].astype(float), b[rows:].astype(float)
        unit = numpy.maximum(float(x_scale) * abs(w).max(axis=1).astype(float), float(y_scale) * abs(r).max(axis=1).astype(float)) / 127
        unit = numpy.maximum(unit, (abs(own) + abs(other)) / 2 ** 22)
        unit = numpy.where(unit > 0, unit, 1.0).astype(F32)
        by = sign / unit.astype(float)
        whole = lambda m, scale: numpy.clip(numpy.rint(m.astype(float) * (float(scale) * by)[:, None]), -127, 127).astype(numpy.int64)
        self.w, self.r = whole(w, x_scale), whole(r, y_scale)
        self.x_zero, self.zero = int(x_zero), int(y_zero)
        self.bias = numpy.rint((own + other) * by).astype(numpy.int64)
        self.apart = numpy.rint(other * by).astype(numpy.int64)
        if self.after:
            self.bias[2 * self.n:] = numpy.rint(own * by)[2 * self.n:]
        last = gate == GATES[self.op] - 1
        self.scale = (unit * numpy.where(last, F32(32), F32(16))).astype(float)
        product = 256 * 127 * float(y_scale)
        self.memory, self.out, self.reset = narrow(1 / 127), narrow(1 / product), narrow(1 / (256 * product))
        a = numpy.arange(-128, 128)
        self.logistic = numpy.minimum(127, numpy.rint(256 * sigmoid(a / 16)) - 128).astype(numpy.int64) + 128
        self.tangent = numpy.rint(127 * numpy.tanh(a / 32)).astype(numpy.int64)
        self.result = clamp(numpy.rint(numpy.tanh(a / 32) / float(y_scale)) + self.zero)

    def gate(self, which, sums):
        part = slice(which * self.n, (which + 1) * self.n)
        a = clamp(sums * self.scale[part]) + 128
        return (self.tangent if which == GATES[self.op] - 1 else self.logistic)[a]

    def step(self, x, h, wide):
        n = self.n
        part = lambda v, i: v[i * n:(i + 1) * n]
        of_x = self.w @ (x - self.x_zero) + self.bias
        of_h = self.r @ (h - self.zero)
        both = of_x + of_h
        if self.op == "RNN":
            return self.result[clamp(both * self.scale) + 128], wide
        if self.op == "LSTM":
            i, o, lost, g = (self.gate(k, part(both, k)) for k in range(4))
            wide = wide + ((32 * i * g - lost * wide + 128) >> 8)
            t = self.tangent[clamp(wide * self.memory) + 128]
            return clamp(numpy.rint(o * t * self.out) + self.zero), wide
        lost, reset = self.gate(0, part(both, 0)), self.gate(1, part(both, 1))
        if self.after:
            more = (reset * (part(of_h, 2) + part(self.apart, 2)) + 128) >> 8
        else:
            behind = clamp(numpy.rint(reset * wide * self.reset) + self.zero)
            more = self.r[2 * n:] @ (behind - self.zero)
        new = self.gate(2, part(of_x, 2) + more)
        wide = wide + ((lost * (256 * new - wide) + 128) >> 8)
        return clamp(numpy.rint(wide * self.out) + self.zero), wide


def integers(cells, x, less):
    """y of all directions; less: what int8 is below the numbers."""
    steps, batch, _ = x.shape
    n = cells[0].n
    y = numpy.zeros((steps, len(cells), batch, n), numpy.int64)
    for d, (cell, back) in enumerate(cells_with_ways(cells)):
        for b in range(batch):
            h, wide = numpy.full(n, cell.zero), numpy.zeros(n, numpy.int64)
            for t in range(steps)[::-1 if back else 1]:
                h, wide = cell.step(x[t, b].astype(numpy.int64) - less, h, wide)
                y[t, d, b] = h
    return (y + less).astype(x.dtype)


def cells_with_ways(cells):
    return [(cell, cell.back) for cell in cells]


# ---- floats

def float_step(form, w, r, b, x, h, c):
    n, rows = len(h), len(w)
    of_x, of_h = w @ x + b[:rows], r @ h + b[rows:]
    part = lambda v, i: v[i * n:(i + 1) * n]
    if form == "RNN":
        return numpy.tanh(of_x + of_h), c
    if form == "LSTM":
        i, o, f = (sigmoid(part(of_x + of_h, k)) for k in range(3))
        c = f * c + i * numpy.tanh(part(of_x + of_h, 3))
        return o * numpy.tanh(c), c
    z, reset = (sigmoid(part(of_x + of_h, k)) for k in range(2))
    more = reset * part(of_h, 2) if "after" in form else r[2 * n:] @ (reset * h) + part(b[rows:], 2)
    return (1 - z) * numpy.tanh(part(of_x, 2) + more) + z * h, c


def floats(form, way, w, r, b, x):
    steps, batch, _ = x.shape
    n = r.shape[2]
    y = numpy.zeros((steps, len(w), batch, n))
    for d in range(len(w)):
        back = way == "reverse" or d == 1
        for k in range(batch):
            h = c = numpy.zeros(n)
            for t in range(steps)[::-1 if back else 1]:
                h, c = float_step(form, w[d], r[d], b[d], x[t, k], h, c)
                y[t, d, k] = h
    return y


# ---- drawn cells

def parameters(random, form, ways, inputs, n, size):
    rows = GATES[form.split()[0]] * n
    w = (random.normal(0, size / numpy.sqrt(inputs), (ways, rows, inputs))).astype(F32)
    r = (random.normal(0, size / numpy.sqrt(n), (ways, rows, n))).astype(F32)
    return w, r, random.normal(0, 0.3, (ways, 2 * rows)).astype(F32)


def node_of(form, way, n, names, outputs, name):
    attrs = dict(hidden_size=n, direction=way, name=name)
    if "after" in form:
        attrs["linear_before_reset"] = 1
    return helper.make_node(form.split()[0], names, outputs, **attrs)


def save(nodes, inputs, outputs, constants, path):
    info = lambda name, dtype, shape: helper.make_tensor_value_info(name, helper.mapping.NP_TYPE_TO_TENSOR_TYPE[numpy.dtype(dtype)], shape)
    graph = helper.make_graph(nodes, "cells", [info(*i) for i in inputs], [info(*o) for o in outputs],
                              [numpy_helper.from_array(a, n) for n, a in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with open(path, "wb") as file:
        file.write(model.SerializeToString())


def drawn_cell(number):
    random = random_for("recurrent", number)
    form, way = FORMS[number % len(FORMS)], WAYS[number // len(FORMS) % len(WAYS)]
    ways = 2 if way == "bidirectional" else 1
    dtype = [numpy.int8, numpy.uint8][int(random.integers(2))]
    less = 128 if dtype == numpy.uint8 else 0
    steps, batch = int(random.integers(2, 14)), int(random.integers(1, 4))
    inputs, n = int(random.integers(1, 40)), int(random.integers(1, 40 if random.random() < 0.2 else 10))
    w, r, b = parameters(random, form, ways, inputs, n, float(random.uniform(0.5, 2.5)))
    if random.random() < 0.2:
        b[:] = 0
    x_scale, y_scale = F32(random.uniform(0.005, 0.05)), F32(random.uniform(0.5, 1.1) / 127)
    x_zero, y_zero = int(random.integers(-20, 20)), int(random.integers(-8, 8)) if random.random() < 0.5 else 0
    cells = []
    for d in range(ways):
        cells.append(Integers(form, w[d], r[d], b[d], x_scale, x_zero, y_scale, y_zero))
        cells[-1].back = way == "reverse" or d == 1
    zero = lambda z: numpy.array(z + less, dtype)
    constants = dict(W=w, R=r, xs=numpy.array(x_scale), xz=zero(x_zero), ys=numpy.array(y_scale), yz=zero(y_zero))
    names = ["xf", "W", "R"]
    if b.any():
        constants["B"] = b
        names.append("B")
    nodes = [helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["xf"]), node_of(form, way, n, names, ["yf"], "cell"),
             helper.make_node("QuantizeLinear", ["yf", "ys", "yz"], ["y"])]
    save(nodes, [("x", dtype, (steps, batch, inputs))], [("y", dtype, (steps, ways, batch, n))], constants, "cell.onnx")
    info = numpy.iinfo(dtype)
    data = []
    for k in range(ROUNDS):
        x = random.integers(info.min, info.max + 1, (steps, batch, inputs)).astype(dtype)
        data.append((x, integers(cells, x, less)))
    return "%s %s, %d steps of %d x %d to %d, %s" % (form, way, steps, batch, inputs, n, dtype.__name__), data


def compare(got, want, where):
    if got.shape != want.shape or not numpy.array_equal(got, want):
        far = abs(got.astype(int) - want).max() if got.shape == want.shape else -1
        raise RuntimeError("%s: %d of %d numbers differ, by %d at most" % (
            where, (got != want).sum() if got.shape == want.shape else -1, want.size, far))


def check_cell(vtac, number, devices):
    what, data = drawn_cell(number)
    outside = 0
    try:
        call(vtac, "compile", "cell.onnx", "-o", "host.so")
        for x, want in data:
            compare(run(vtac, "host.so", x), want, "host")
        for device in devices:
            name, config = device.split(":")
            told = json.loads(call(vtac, "explain", "cell.onnx", "--config", config, "--offload", "all", "--json"))
            there = [n for n in told["nodes"] if n["op"] == "ImageRecurrence"]
            inside = {n["where"] for n in there} == {"region 0"}
            if not inside and not all("larger buffers" in n["reason"] for n in there if n["where"] == "host"):
                raise RuntimeError("%s: no region, or several: %s" % (config, [(n["op"], n["where"]) for n in told["nodes"]]))
            outside += not inside
            call(vtac, "compile", "cell.onnx", "--target", "vta", "--config", config, "--offload", "all", "-o", "cell.so")
            for x, want in data:
                compare(run(vtac, "cell.so", x, "--device", name), want, device)
    except RuntimeError as problem:
        print("cell %d, %s: %s" % (number, what, problem), flush=True)
        return [], 0, 1
    return [want for _, want in data], outside, 0


# ---- networks of floats

def drawn_network(number, steps=100):
    """Two layers; the state of the first one's last step is an output, too."""
    random = random_for("recurrent networks", number)
    form, way = FORMS[number % len(FORMS)], WAYS[(number // len(FORMS) + number) % len(WAYS)]
    ways, inputs, n = 2 if way == "bidirectional" else 1, int(random.integers(8, 40)), int(random.integers(16, 50))
    sizes = [parameters(random, form, ways, inputs, n, 0.8), parameters(random, form, ways, ways * n, n, 0.8)]
    constants, nodes, given = {}, [], "x"
    for k, (w, r, b) in enumerate(sizes):
        names = ["%s%d" % (kind, k) for kind in "WRB"]
        constants.update(zip(names, (w, r, b)))
        nodes.append(node_of(form, way, n, [given] + names, ["y%d" % k, "h%d" % k], "layer%d" % k))
        nodes.append(helper.make_node("Transpose", ["y%d" % k], ["t%d" % k], perm=[0, 2, 1, 3]))
        constants["shape%d" % k] = numpy.array([steps, 1, ways * n])
        given = "z%d" % k
        nodes.append(helper.make_node("Reshape", ["t%d" % k, "shape%d" % k], [given]))
    save(nodes, [("x", F32, (steps, 1, inputs))], [("z1", F32, (steps, 1, ways * n)), ("h1", F32, (ways, 1, n))], constants, "net.onnx")

    def reference(x):
        for w, r, b in sizes:
            y = floats(form, way, w.astype(float), r.astype(float), b.astype(float), x)
            x = y.transpose(0, 2, 1, 3).reshape(steps, 1, -1)
        last = [y[0 if way == "reverse" or d == 1 else -1, d] for d in range(ways)]
        return x, numpy.stack(last)
    samples = numpy.cumsum(random.normal(0, 0.3, (6, steps, 1, inputs)), axis=1) * 0.4 + random.normal(0, 0.5, (6, steps, 1, inputs))
    return "%s %s, two layers of %d, %d steps" % (form, way, n, steps), samples.astype(F32), reference


def check_network(vtac, number, devices):
    what, samples, reference = drawn_network(number)
    worst = 0.0
    try:
        numpy.savez("calib.npz", x=samples[:4])
        call(vtac, "quantize", "net.onnx", "--calib", "calib.npz", "--force", "-o", "net8.onnx")
        for device in devices:
            name, config = device.split(":")
            call(vtac, "compile", "net8.onnx", "--target", "vta", "--config", config, "--force", "-o", "net.so")
            call(vtac, "compile", "net8.onnx", "--force", "-o", "host.so")
            for x in samples[4:]:
                numpy.save("x.npy", x)
                both = []
                for model, how in (("host.so", []), ("net.so", ["--device", name])):
                    call(vtac, "run", model, "--input", "x.npy", "--output-dir", "out", *how)
                    both.append({f: numpy.load(os.path.join("out", f)) for f in sorted(os.listdir("out"))})
                    for f in both[-1]:
                        os.remove(os.path.join("out", f))
                for f in both[0]:
                    compare(both[1][f], both[0][f], "%s, %s" % (device, f))
                for want, name_of in zip(reference(x.astype(float)), ("z1", "h1")):
                    (got,) = [y for f, y in both[0].items() if name_of in f]
                    error = numpy.sqrt(((got - want) ** 2).mean()) / (want.max() - want.min())
                    worst = max(worst, float(error))
        if worst > 0.01:
            raise RuntimeError("outputs are %.2f %% of their range off" % (100 * worst))
    except RuntimeError as problem:
        print("network %d, %s: %s" % (number, what, problem), flush=True)
        return 1
    print("%s: %.2f %% of the range off" % (what, 100 * worst), flush=True)
    return 0


def main():
    vtac, count, networks, devices = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    failed, flat, outside = 0, 0, 0
    print("seed %s" % SEED)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.mkdir("out")
        for number in range(count):
            results, left, bad = check_cell(vtac, number, devices)
            failed += bad
            outside += left
            flat += len(results) == ROUNDS and numpy.array_equal(*results)
        for number in range(networks):
            failed += check_network(vtac, number, devices)
        os.chdir("/")
    if flat > count // 4 or outside > count * len(devices) // 3:
        print("%d cells do not depend on their inputs, %d did not fit: this would prove little" % (flat, outside))
        failed += 1
    print("recurrent: %d cells, %d networks, %d failed" % (count, networks, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
