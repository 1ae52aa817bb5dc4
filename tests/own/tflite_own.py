# SPDX-License-Identifier: Apache-2.0
#
# A network of TensorFlow Lite in 8 bits and its integers, after the description of its arithmetic (tflite_bench.py): convolutions,
# a depthwise one, a sum of two branches, a mean, a dense layer, probabilities.
import numpy
from tflite_bench import scaled, stored
from tflite_file import Model

F32 = numpy.float32
RANGE = {"int8": (-128, 127), "uint8": (0, 255)}


class Net:
    """Each method adds a layer to `at`, a tensor with channels last; `seen` has its integers for the inputs drawn."""

    def __init__(self, kind, seed, shape, count):
        self.random, self.kind, self.model = numpy.random.default_rng(seed), kind, Model()
        low, high = RANGE[kind]
        self.q = {"scale": F32(0.0473), "zero": low + 121}
        self.seen = self.random.integers(low, high + 1, (count, *shape)).astype(kind)
        level = self.random.integers(low, high + 1, (count, 1, 1, shape[2]))
        self.seen = ((self.seen.astype(int) + 2 * level) // 3).astype(kind)
        self.given = self.seen
        self.start = self.at = self.tensor(shape, self.q, "input")

    def tensor(self, shape, q, name=None):
        return self.model.tensor(self.kind, (1, *shape), q["scale"], q["zero"], name=name)

    def after(self, real):
        """The scale and the zero point of a layer that leaves such numbers; the latter is odd."""
        low, high = float(min(real.min(), 0)), float(max(real.max(), 0))
        scale = F32((high - low) / 255)
        return {"scale": scale, "zero": min(RANGE[self.kind][0] + int(round(-low / float(scale))) | 1, RANGE[self.kind][1])}

    def factors(self, sums, scales, q, up):
        """Each channel's sums by its own factor."""
        out = numpy.empty(sums.shape, int)
        for i in range(sums.shape[-1]):
            s = scales[i % len(scales)]
            product = float(F32(self.q["scale"] * s)) if self.kind == "uint8" else float(self.q["scale"]) * float(s)
            real = product / float(q["scale"])
            out[..., i] = numpy.array([scaled(v, real, up) for v in sums[..., i].ravel()]).reshape(sums.shape[:-1])
        return out

    def layer(self, code, shape, axis, sums_of, options, kind, n):
        per_channel = self.kind == "int8"
        zero = 0 if per_channel else 131
        w = self.random.integers(-127, 128, shape) if per_channel else self.random.integers(0, 256, shape)
        scales = self.random.uniform(0.002, 0.02, n if per_channel else 1).astype(F32)
        sums = sums_of(self.seen.astype(int) - self.q["zero"], w - zero)
        bias = self.random.integers(-2000, 2000, n)
        real = (sums + bias) * scales.astype(float) * float(self.q["scale"])
        q = self.after(numpy.maximum(real, 0) if options.get("act") else real)
        wt = self.model.tensor(self.kind, shape, scales, zero, axis, w)
        bt = self.model.tensor("int32", (n,), scales * self.q["scale"], 0, 0, bias)
        out = self.factors(sums + bias, scales, q, code == 3)
        low = q["zero"] if options.pop("act", 0) else RANGE[self.kind][0]
        seen = numpy.maximum(stored(out, self.kind, q["zero"]), numpy.array(low, self.kind))
        y = self.tensor(seen.shape[1:], q)
        self.model.op(code, [self.at, wt, bt], [y], options, kind, 3)
        self.at, self.seen, self.q = y, seen, q

    def conv(self, filters, size, stride=1, depth=False, act=1):
        h, w, c = self.seen.shape[1:]
        pads = [max((-(-d // stride) - 1) * stride + size - d, 0) for d in (h, w)]

        def sums_of(v, k):
            v = numpy.pad(v, [(0, 0)] + [(p // 2, p - p // 2) for p in pads] + [(0, 0)])
            windows = numpy.lib.stride_tricks.sliding_window_view(v, (size, size), (1, 2))[:, ::stride, ::stride]
            return numpy.einsum("nyxcij,ijc->nyxc", windows, k[0]) if depth else numpy.einsum("nyxcij,fijc->nyxf", windows, k)
        shape = (1, size, size, c) if depth else (filters, size, size, c)
        options = {0: ("b", 0), 1: ("i", stride), 2: ("i", stride), "act": act}
        options.update({3: ("i", 1), 4: ("b", act)} if depth else {3: ("b", act)})
        self.layer(4 if depth else 3, shape, 3 if depth else 0, sums_of, options, 2 if depth else 1, c if depth else filters)

    def dense(self, count):
        shape = (count, self.seen.shape[-1])
        self.layer(9, shape, 0, lambda v, k: v @ k.T, {0: ("b", 0)}, 8, count)

    def sum(self, other):
        """What `other`, (tensor, integers, scale and zero point), adds to this."""
        tensor, seen, q = other
        a, b = self.seen.astype(int) - self.q["zero"], seen.astype(int) - q["zero"]
        sa, sb = float(self.q["scale"]), float(q["scale"])
        y = self.after(a * sa + b * sb)
        twice = 2 * max(sa, sb)
        both = [scaled(int(i) << 20, sa / twice) + scaled(int(j) << 20, sb / twice) for i, j in zip(a.ravel(), b.ravel())]
        out = numpy.array([scaled(v, twice / (2 ** 20 * float(y["scale"]))) for v in both]).reshape(a.shape)
        to = self.tensor(self.seen.shape[1:], y)
        self.model.op(0, [self.at, tensor], [to], {0: ("b", 0)}, 11, 2)
        self.at, self.seen, self.q = to, stored(out, self.kind, y["zero"]), y


def network(kind, seed, count):
    """The file's bytes, and count inputs with their outputs."""
    net = Net(kind, seed, (24, 16, 3), count)
    net.conv(16, 3, 2)
    net.conv(16, 3, depth=True)
    branch = (net.at, net.seen, net.q)
    net.conv(16, 1, act=0)
    net.sum(branch)
    net.conv(24, 1)
    rows = numpy.prod(net.seen.shape[1:])
    shape = net.model.tensor("int32", (2,), data=[1, rows])
    flat = net.model.tensor(kind, (1, rows), net.q["scale"], net.q["zero"])
    net.model.op(22, [net.at, shape], [flat], {0: ("i", [1, int(rows)])}, 17)
    net.at, net.seen = flat, net.seen.reshape(count, -1)
    net.dense(12)
    data = net.model.write([net.start], [net.at])
    return data, [(x[None], y[None]) for x, y in zip(net.given, net.seen)]
