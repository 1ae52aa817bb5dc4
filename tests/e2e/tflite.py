#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# TensorFlow Lite models give the same integers on the accelerator as on the host, whose integers are TensorFlow
# Lite's: small networks of every kind of layer, with random numbers and scales, int8 and uint8, two inputs each, and
# the published models (FOLDER), one case each. Every layer that can be has to be there, and in one region.
# On the RTL they take at most 2 % more cycles than the same networks as ONNX, or those that the bytes of their wider
# parameters take on the bus.
#
# usage: tflite.py VTAC DEVICE COUNT FOLDER   (exit status 77: no numpy)
import glob
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "compiler"))
    import word_seed
    from tflite_file import Model
except ImportError:
    sys.exit(77)

F32 = numpy.float32
ZEROS = {"int8": (-128, 127), "uint8": (0, 255)}


class Net:
    """A network under construction: each method adds a layer to `at`, a tensor with channels last."""

    def __init__(self, random, kind):
        self.random, self.kind, self.model = random, kind, Model()
        self.layers = 0

    def quantization(self, zero=None):
        low, high = ZEROS[self.kind]
        return {"scale": float(F32(self.random.uniform(0.02, 0.05))), "zero": int(self.random.integers(low + 60, high - 60)) if zero is None else zero}

    def tensor(self, shape, q):
        return {"id": self.model.tensor(self.kind, shape, **q), "shape": shape, "q": q}

    def add(self, code, inputs, shape, q, options=None, kind=0, version=2):
        y = self.tensor(shape, q)
        self.model.op(code, [i["id"] if isinstance(i, dict) else i for i in inputs], [y["id"]], options, kind, version)
        self.layers += 1
        return y

    def weights(self, shape, outputs, axis, x, y, terms):
        per_channel = self.kind == "int8"
        values = self.random.integers(-127 if per_channel else 0, 128 if per_channel else 256, shape)
        spread = y["scale"] * 60 / (x["scale"] * 70 * 74 * terms ** 0.5)
        scales = (spread * self.random.uniform(0.7, 1.4, outputs if per_channel else 1)).astype(F32)
        zero = 0 if per_channel else int(self.random.integers(100, 150))
        w = self.model.tensor(self.kind, shape, scales, zero, axis, values)
        bias = self.random.integers(-4000, 4000, outputs)
        return w, self.model.tensor("int32", (outputs,), scales * F32(x["scale"]), 0, 0, bias)

    def conv(self, at, outputs, size, stride, activation=0, zero=None):
        n, h, w, c = at["shape"]
        q = self.quantization(zero)
        k, b = self.weights((outputs, size, size, c), outputs, 0, at["q"], q, c * size * size)
        return self.add(3, [at, k, b], (n, -(-h // stride), -(-w // stride), outputs), q, {0: ("b", 0), 1: ("i", stride), 2: ("i", stride), 3: ("b", activation)}, 1)

    def depthwise(self, at, size, stride, activation=0):
        n, h, w, c = at["shape"]
        q = self.quantization()
        k, b = self.weights((1, size, size, c), c, 3, at["q"], q, size * size)
        options = {0: ("b", 0), 1: ("i", stride), 2: ("i", stride), 3: ("i", 1), 4: ("b", activation)}
        return self.add(4, [at, k, b], (n, -(-h // stride), -(-w // stride), c), q, options, 2)

    def join(self, code, a, b, activation=0):
        return self.add(code, [a, b], a["shape"], self.quantization(), {0: ("b", activation)}, {0: 11, 18: 21}[code])

    def pool(self, code, at, size, stride, same):
        n, h, w, c = at["shape"]
        sides = [-(-d // stride) if same else (d - size) // stride + 1 for d in (h, w)]
        options = {0: ("b", 0 if same else 1), 1: ("i", stride), 2: ("i", stride), 3: ("i", size), 4: ("i", size)}
        return self.add(code, [at], (n, *sides, c), at["q"], options, 5)

    def table(self, at, code):
        step, zero = {14: (1 / 256, ZEROS[self.kind][0]), 28: (1 / 128, sum(ZEROS[self.kind]) // 2 + 1)}.get(code, (0.03, 100))
        return self.add(code, [at], at["shape"], {"scale": step, "zero": zero}, {0: ("f", 0.125)} if code == 98 else None, 75 if code == 98 else 0)

    def concat(self, a, b):
        n, h, w, c = a["shape"]
        return self.add(2, [a, b], (n, h, w, c + b["shape"][3]), a["q"], {0: ("i", 3)}, 10)

    def mean(self, at):
        n, _, _, c = at["shape"]
        axes = self.model.tensor("int32", (2,), data=[1, 2])
        return self.add(40, [at, axes], (n, 1, 1, c), self.quantization(at["q"]["zero"]), {0: ("?", True)}, 27)

    def dense(self, at, outputs):
        terms = int(numpy.prod(at["shape"][1:]))
        q = self.quantization()
        values = self.random.integers(-127 if self.kind == "int8" else 0, 128, (outputs, terms))
        scale = q["scale"] * 60 / (at["q"]["scale"] * 70 * 74 * terms ** 0.5)
        w = self.model.tensor(self.kind, (outputs, terms), scale, 0 if self.kind == "int8" else 64, 0, values)
        b = self.model.tensor("int32", (outputs,), scale * at["q"]["scale"], data=self.random.integers(-4000, 4000, outputs))
        shape = self.model.tensor("int32", (2,), data=[at["shape"][0], terms])
        flat = self.add(22, [at, shape], (at["shape"][0], terms), at["q"], version=1)
        self.layers -= 1
        return self.add(9, [flat, w, b], (at["shape"][0], outputs), q, {}, 8)


def build(random, kind, number):
    """A residual net with a branch: sizes, strides, windows, tables drawn."""
    net = Net(random, kind)
    c = [int(v) for v in random.integers(3, 40, 4)]
    size = [int(v) for v in random.integers(9, 20, 2)]
    x = net.tensor((1, *size, c[0]), net.quantization())
    at = net.conv(x, c[1], int(random.choice([1, 3])), int(random.choice([1, 2])), int(random.choice([0, 1, 3])))
    a = net.depthwise(at, 3, 1, int(random.choice([0, 3])))
    b = net.conv(a, c[1], 1, 1)
    at = net.join(0, at, b, int(random.choice([0, 1])))
    if number % 2 == 0:
        at = net.pool(1, at, int(random.choice([2, 3])), int(random.choice([1, 2])), bool(random.integers(2)))
    else:
        at = net.join(0, at, net.join(18, at, net.table(at, 14)))
    at = net.table(at, int(random.choice([14, 28, 98])))
    at = net.pool(17, at, 2, int(random.choice([1, 2])), bool(random.integers(2)))
    at = net.concat(at, net.conv(at, c[2], 1, 1, 0, at["q"]["zero"])) if number % 3 == 0 else net.conv(at, c[2], 3, 1, 3, ZEROS[kind][0])
    if number % 4 < 3:
        # the sides of the last plane are even at times; then a mean has one product for what RELU left
        at = net.mean(at if number % 3 else net.conv(at, c[3], 1, 1, 3, ZEROS[kind][0]))
    at = net.dense(at, int(random.integers(2, 30)))
    return net, x, at


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s\n%s%s" % (" ".join(words), done.stdout, done.stderr))
    return done.stdout


def results(vtac, so, device, given, out):
    run(vtac, "run", so, *(["--device", device] if device else []), "--input", given, "--output-dir", out)
    found = {os.path.basename(p): numpy.load(p) for p in glob.glob(out + "/*.npy")}
    for p in glob.glob(out + "/*.npy"):
        os.remove(p)
    return found


def judge(vtac, device, path, inputs, work, layers):
    """Compiles for both, runs all inputs on both. False: other inputs change nothing, which proves nothing."""
    config = (device.split("?")[0].split(":") + ["pynq"])[1]
    host, both, out = (os.path.join(work, n) for n in ("host.so", "vta.so", "out"))
    run(vtac, "compile", path, "--target", "llvm", "-o", host)
    # made-up layers are small: they cost more than they save
    how = ["--config", config] + (["--offload", "all"] if layers else [])
    run(vtac, "compile", path, "--target", "vta", *how, "-o", both)
    told = json.loads(run(vtac, "explain", path, *how, "--json"))
    there = sum(1 for n in told["nodes"] if n["where"] != "host")
    stay = [n for n in told["nodes"] if n["where"] == "host" and n["op"].startswith("QLinear")]
    if stay or told["regions"] != 1 or there < layers:
        sys.exit("%s: %d of %d layers on the accelerator in %d regions; %s" % (path, there, layers, told["regions"], stay[:1]))
    seen = []
    for given in inputs:
        want, found = results(vtac, host, None, given, out), results(vtac, both, device, given, out)
        for name, value in want.items():
            if name not in found or (found[name] != value).any():
                sys.exit("%s, %s: '%s' is not what the host says" % (path, given, name))
        seen.append(next(iter(want.values())))
    return len(seen) < 2 or (seen[0] != seen[1]).any()


def same_cost(vtac, path, work):
    """The network, which judge has compiled, as ONNX takes about as many cycles: its roundings cost wider parameters, no more."""
    converted, cycles, read = os.path.join(work, "as.onnx"), [], []
    run(vtac, "convert", path, "-o", converted)
    run(vtac, "compile", converted, "--target", "vta", "-o", os.path.join(work, "as.so"))
    for so in (os.path.join(work, "vta.so"), os.path.join(work, "as.so")):
        told = json.loads(run(vtac, "run", so, "--device", "tsim:pynq", "--layers", "--json"))
        cycles.append(told["cycles"])
        read.append(sum(layer["bytes_read"] for layer in told["layers"]))
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../isa/configs/pynq.json"), encoding="utf-8") as file:
        bus_bytes = 2 ** json.load(file)["LOG_BUS_WIDTH"] / 8
    wider = (read[0] - read[1]) / bus_bytes
    print("%d cycles, as ONNX %d: %+.2f %%; %+d bus cycles of reading" % (*cycles, 100 * (cycles[0] / cycles[1] - 1), wider))
    if cycles[0] - cycles[1] > max(0.02 * cycles[1], wider):
        sys.exit("%s: more than 2 %% slower than the same network as ONNX, and by more than its wider parameters take" % path)


def main():
    vtac, device, count, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    seed = word_seed.told()
    with tempfile.TemporaryDirectory() as work:
        drawn = proved = 0
        while proved < count:
            kind = "int8" if drawn % 3 < 2 else "uint8"
            random = numpy.random.default_rng((seed, drawn))
            net, x, y = build(random, kind, drawn)
            path = os.path.join(work, "net%d.tflite" % drawn)
            with open(path, "wb") as f:
                f.write(net.model.write([x["id"]], [y["id"]]))
            inputs = [os.path.join(work, "%d.npy" % k) for k in range(2)]
            for given in inputs:
                low, high = ZEROS[kind]
                numpy.save(given, random.integers(low, high + 1, x["shape"]).astype(kind))
            proved += judge(vtac, device, path, inputs, work, net.layers)
            drawn += 1
            if drawn > 2 * count + 4:
                sys.exit("only %d of %d networks answer other inputs otherwise" % (proved, drawn))
        print("%d networks, %d of them tell inputs apart" % (drawn, proved))
        for path in sorted(glob.glob(folder + "/*/*int8.tflite")):
            judge(vtac, device, path, sorted(glob.glob(os.path.dirname(path) + "/*_in.npy"))[:1], work, 0)
            print(os.path.basename(path))
            same_cost(vtac, path, work)


if __name__ == "__main__":
    main()
