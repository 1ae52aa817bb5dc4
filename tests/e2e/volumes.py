#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Random networks of volumes (and of rows, where that is asked): convolutions of all kinds, pools of all kinds, sums, products,
# joined channels. Each must be one region, and give the integers that numpy's plain sums give, twice with different inputs, on
# each device, and on the host. All scales but those of means are powers of two beside each other, so that every rounding is exact;
# networks with a mean that is nearly in the middle between two integers are drawn again.
#
# usage: volumes.py VTAC COUNT DEVICE:CONFIG...   (exit status 77: python3-onnx is not there)
import json
import math
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "compiler"))
from onnx_cases import MS, Redraw, helper, numpy, numpy_helper, random_for  # noqa: E402

F32 = numpy.float32
ROUNDS, CLOSE = 2, 2.0 ** -15


def rounded(v, factor, zero, dtype):
    info = numpy.iinfo(dtype)
    return numpy.clip(numpy.rint(v * factor) + int(zero), info.min, info.max).astype(dtype)


class Value:
    """A quantized tensor: its name, its numbers for each round, its scale and zero point."""

    def __init__(self, name, numbers, scale, zero):
        self.name, self.numbers, self.scale, self.zero = name, numbers, F32(scale), zero
        self.shape, self.dtype = numbers[0].shape, numbers[0].dtype

    def whole(self):
        return [q.astype(numpy.int64) - int(self.zero) for q in self.numbers]


class Axis:
    """A window along one axis: which places it sees; those beyond `size` are padding."""

    def __init__(self, random, size, pool, ceil=False):
        self.size, self.ceil = size, ceil
        self.kernel = int(random.integers(1, min(4, size) + 1))
        self.stride = int(random.integers(1, 4))
        self.dilation = int(random.integers(1, 3)) if pool != "mean" and random.random() < 0.3 else 1
        if (self.kernel - 1) * self.dilation >= size:
            self.dilation = 1
        # smaller than the kernel, so that each window sees something
        room = self.kernel - 1 if self.dilation == 1 else 0 if pool else (self.kernel - 1) * self.dilation
        self.before, self.after = (int(random.integers(0, room + 1)) for _ in range(2))
        reach = (self.kernel - 1) * self.dilation
        free = size + self.before + self.after - reach - 1
        self.places = (math.ceil if ceil else math.floor)(free / self.stride) + 1
        while (self.places - 1) * self.stride >= size + self.before:
            self.places -= 1

    def seen(self, place):
        return [place * self.stride + k * self.dilation - self.before for k in range(self.kernel)]


def windows(x, axes, filler):
    """[n, c, places..., taps...]; what is outside is `filler`."""
    spread = x
    for i, axis in enumerate(axes):
        at = numpy.array([axis.seen(p) for p in range(axis.places)])
        inside = (at >= 0) & (at < axis.size)
        spread = numpy.take(spread, numpy.clip(at, 0, axis.size - 1).ravel(), axis=2 + i)
        mask = inside.ravel().reshape([-1 if k == 2 + i else 1 for k in range(spread.ndim)])
        spread = numpy.where(mask, spread, filler)
    shape = list(x.shape[:2]) + [n for axis in axes for n in (axis.places, axis.kernel)]
    order = [0, 1] + [2 + 2 * i for i in range(len(axes))] + [3 + 2 * i for i in range(len(axes))]
    return spread.reshape(shape).transpose(order)


def attributes(axes, dilations=True):
    told = {"kernel_shape": [a.kernel for a in axes], "strides": [a.stride for a in axes],
            "pads": [a.before for a in axes] + [a.after for a in axes]}
    if dilations:
        told["dilations"] = [a.dilation for a in axes]
    return told


class Net:
    def __init__(self, random, rank):
        self.random, self.rank, self.nodes, self.constants, self.count = random, rank, [], [], 0
        self.dtype = (numpy.int8, numpy.uint8)[int(random.integers(2))]
        sizes = [int(random.integers(2, 7)) for _ in range(rank)]
        shape = [int(random.choice([1, 1, 2])), int(random.integers(1, 9))] + sizes
        self.shape = shape
        self.start = [self.draw(shape) for _ in range(ROUNDS)]
        self.input = helper.make_tensor_value_info("x", helper.mapping.NP_TYPE_TO_TENSOR_TYPE[numpy.dtype(self.dtype)], shape)

    def draw(self, shape):
        info = numpy.iinfo(self.dtype)
        return self.random.integers(info.min, info.max + 1, shape).astype(self.dtype)

    def zero(self):
        return self.dtype(int(self.random.integers(-20, 20)) + (128 if self.dtype == numpy.uint8 else 0))

    def constant(self, array):
        self.count += 1
        self.constants.append(numpy_helper.from_array(numpy.array(array), "c%d" % self.count))
        return "c%d" % self.count

    def params(self, value):
        return [value.name, self.constant(value.scale), self.constant(numpy.array(value.zero, self.dtype))]

    def add(self, op, inputs, domain="", **attrs):
        self.count += 1
        self.nodes.append(helper.make_node(op, inputs, ["v%d" % self.count], "n%d" % self.count, domain=domain, **attrs))
        return "v%d" % self.count

    def made(self, op, inputs, sums, factor, scale, domain=MS, zero=None, **attrs):
        """A node with the output's scale and zero point behind its inputs, and its numbers."""
        zero = self.zero() if zero is None else zero
        name = self.add(op, inputs + [self.constant(F32(scale)), self.constant(numpy.array(zero, self.dtype))], domain, **attrs)
        return Value(name, [rounded(s, factor, zero, self.dtype) for s in sums], scale, zero)

    def conv(self, x, axes=None, outputs=None):
        r = self.random
        axes = axes or [Axis(r, size, None) for size in x.shape[2:]]
        kind, c = r.random(), x.shape[1]
        groups = c if kind < 0.25 else next(g for g in (3, 2, 1) if c % g == 0) if kind < 0.5 else 1
        outputs = outputs or groups * int(r.integers(1, max(2, 24 // groups)))
        groups = groups if outputs % groups == 0 else 1
        w = r.integers(-90, 91, [outputs, c // groups] + [a.kernel for a in axes]).astype(numpy.int8)
        terms = w[0].size
        bias = r.integers(-2000, 2000, outputs).astype(numpy.int32)
        wide = 2.0 ** -round(math.log2(50 * 40 * math.sqrt(terms) / 40))
        sums = []
        for whole in x.whole():
            seen, each = windows(whole, axes, 0), []
            for o in range(outputs):
                g = o // (outputs // groups) * (c // groups)
                each.append((seen[:, g:g + c // groups] * w[o].reshape([1, c // groups] + [1] * len(axes) + [a.kernel for a in axes]))
                            .sum(axis=(1,) + tuple(range(2 + len(axes), 2 + 2 * len(axes)))))
            sums.append(numpy.stack(each, 1) + bias.reshape([1, -1] + [1] * len(axes)))
        zero = self.zero()
        inputs = self.params(x) + [self.constant(w), self.constant(F32(wide)), self.constant(numpy.int8(0)),
                                   self.constant(x.scale), self.constant(numpy.array(zero, self.dtype)), self.constant(bias)]
        name = self.add("QLinearConv", inputs, group=groups, **attributes(axes))
        return Value(name, [rounded(s, wide, zero, self.dtype) for s in sums], x.scale, zero)

    def one(self, x):
        """Windows of one place."""
        axes = [Axis(self.random, 1, "mean") for _ in x.shape[2:]]
        for axis, size in zip(axes, x.shape[2:]):
            axis.size, axis.kernel, axis.stride, axis.before, axis.after, axis.places = size, 1, 1, 0, 0, size
        return axes

    def largest(self, x):
        ceil = self.random.random() < 0.4
        axes = [Axis(self.random, size, "max", ceil) for size in x.shape[2:]]
        last = tuple(range(2 + len(axes), 2 + 2 * len(axes)))
        got = [windows(q.astype(numpy.int64), axes, -1000).max(axis=last).astype(self.dtype) for q in x.numbers]
        return Value(self.add("MaxPool", [x.name], ceil_mode=int(ceil), **attributes(axes)), got, x.scale, x.zero)

    def mean(self, x):
        ceil, padding = self.random.random() < 0.4, self.random.random() < 0.5
        axes = [Axis(self.random, size, "mean", ceil) for size in x.shape[2:]]
        last = tuple(range(2 + len(axes), 2 + 2 * len(axes)))
        counts = numpy.ones([1, 1] + [1] * len(axes), numpy.int64)
        for i, axis in enumerate(axes):
            counts = counts * numpy.array([
                sum(-axis.before * padding <= at < axis.size + axis.after * padding for at in axis.seen(p))
                for p in range(axis.places)]).reshape([-1 if k == 2 + i else 1 for k in range(2 + len(axes))])
        sums = [windows(whole, axes, 0).sum(axis=last) for whole in x.whole()]
        scale = F32(x.scale * self.random.uniform(0.3, 0.9))
        factor = (x.scale / (scale * counts.astype(F32))).astype(numpy.float64)
        return self.averaged("QLinearAveragePool", x, sums, factor, scale, ceil_mode=int(ceil), count_include_pad=int(padding),
                             **attributes(axes, False))

    def averaged(self, op, x, sums, factor, scale, **attrs):
        zero = self.zero()
        name = self.add(op, self.params(x) + [self.constant(F32(scale)), self.constant(numpy.array(zero, self.dtype))], MS, **attrs)
        if any((numpy.abs(numpy.abs(s * factor % 1) - 0.5) < CLOSE).any() for s in sums):
            raise Redraw
        return Value(name, [rounded(s, factor, zero, self.dtype) for s in sums], scale, zero)

    def whole_mean(self, x):
        axes = tuple(range(2, len(x.shape)))
        sums = [whole.sum(axis=axes, keepdims=True) for whole in x.whole()]
        scale, count = F32(x.scale * self.random.uniform(0.1, 0.3)), math.prod(x.shape[2:])
        return self.averaged("QLinearGlobalAveragePool", x, sums, numpy.float64(x.scale / (scale * F32(count))), scale)

    def sum(self, x):
        y = self.conv(x, self.one(x), x.shape[1])
        scale = x.scale * F32(2)
        sums = [a + b for a, b in zip(x.whole(), y.whole())]
        return self.made("QLinearAdd", self.params(x) + self.params(y), sums, 0.5, scale)

    def gated(self, x):
        y = self.whole_mean(x)
        y = self.conv(y, self.one(y), x.shape[1])
        scale = x.scale * y.scale * F32(64)
        sums = [a * b for a, b in zip(x.whole(), y.whole())]
        return self.made("QLinearMul", self.params(x) + self.params(y), sums, 1 / 64, scale)

    def joined(self, x):
        y = self.conv(x, self.one(x))
        scale, zero = x.scale * F32(2), self.zero()
        name = self.add("QLinearConcat", [self.constant(scale), self.constant(numpy.array(zero, self.dtype))] +
                        self.params(x) + self.params(y), MS, axis=1)
        return Value(name, [numpy.concatenate([rounded(v, 0.5, zero, self.dtype) for v in (a, b)], 1)
                            for a, b in zip(x.whole(), y.whole())], scale, zero)

    def model(self, y):
        kind = helper.mapping.NP_TYPE_TO_TENSOR_TYPE[numpy.dtype(self.dtype)]
        graph = helper.make_graph(self.nodes, "volumes", [self.input], [helper.make_tensor_value_info(y.name, kind, y.shape)],
                                  self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)], ir_version=8)


def grow(random, rank):
    n = Net(random, rank)
    x = n.conv(Value("x", n.start, 0.5, n.zero()))
    for _ in range(int(random.integers(1, 5))):
        steps = [n.conv, n.conv, n.largest, n.largest, n.mean, n.mean, n.sum, n.gated, n.joined]
        x = steps[int(random.integers(len(steps)))](x)
    if random.random() < 0.5:
        x = n.whole_mean(x)
        x = n.conv(x, n.one(x))
    return n, x


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


def check(vtac, n, y, devices):
    with open("m.onnx", "wb") as file:
        file.write(n.model(y).SerializeToString())
    places = [("host", ["--target", "llvm"], [])]
    for device in devices:
        config = device.split(":")[1]
        places.append((device, ["--target", "vta", "--config", config, "--offload", "all"], ["--device", device]))
    for place, target, device in places:
        told = call(vtac, "compile", "m.onnx", "-o", "m.so", "--report", "--json", *target)
        if device and json.loads(told).get("regions") != 1:
            raise RuntimeError("%s: %s regions" % (place, json.loads(told).get("regions")))
        for x, want in zip(n.start, y.numbers):
            got = run(vtac, "m.so", x, *device)
            if got.shape != want.shape or not numpy.array_equal(got, want):
                raise RuntimeError("%s: %d of %d numbers differ" % (place, (got != want).sum() if got.shape == want.shape else -1,
                                                                    want.size))


def main():
    vtac, count, devices = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    failed, ops, flat = 0, {}, 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.mkdir("out")
        for i in range(count):
            rank = 1 if i % 6 == 5 else 3
            for again in range(100):
                try:
                    n, y = grow(random_for("volumes/%d" % again, i), rank)
                    break
                except Redraw:
                    pass
            flat += all(numpy.array_equal(y.numbers[0], q) for q in y.numbers[1:])
            for node in n.nodes:
                ops[node.op_type] = ops.get(node.op_type, 0) + 1
            try:
                check(vtac, n, y, devices)
            except RuntimeError as problem:
                failed += 1
                print("network %d, %s of %s: %s" % (i, " ".join(node.op_type for node in n.nodes), n.shape, problem), flush=True)
                if "VTAC_KEEP" in os.environ:
                    os.rename("m.onnx", os.path.join(os.environ["VTAC_KEEP"], "volumes%d.onnx" % i))
        os.chdir("/")
    print("volumes: seed %s, %d networks, %d failed; %s" % (
        os.environ.get("VTAC_SEED", "1"), count, failed, ", ".join("%d %s" % (ops[o], o) for o in sorted(ops))))
    if flat > count // 4 or (count >= 12 and len(ops) < 7):
        print("%d networks do not depend on their inputs, %d operators: this would prove little" % (flat, len(ops)))
        failed += 1
    return 1 if failed else 0


sys.exit(main())
