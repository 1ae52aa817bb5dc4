#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Darknet networks: a published one against OpenCV's outputs, small ones with layers of each kind against NumPy, and
# damaged ones, which get one line and exit status 1.
#
# usage: darknet_models.py VTAC FOLDER   (exit status 77: no numpy)
import glob
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    import word_seed
except ImportError:
    sys.exit(77)

F32 = numpy.float32


def run(*words, fails=False):
    done = subprocess.run(words, capture_output=True, text=True)
    if (done.returncode != 0) != fails or (fails and (done.returncode != 1 or done.stderr.count("\n") != 1)):
        sys.exit("%s: exit status %d\n%s%s" % (" ".join(words), done.returncode, done.stdout, done.stderr))
    return done.stderr


def outputs(vtac, work, cfg, given, *more):
    so, out = os.path.join(work, "model.so"), tempfile.mkdtemp(dir=work)
    run(vtac, "compile", cfg, "--target", "llvm", "-o", so, *more)
    found = []
    for path in given:
        run(vtac, "run", so, "--input", path, "--output-dir", out)
        found.append({os.path.basename(p)[:-4]: numpy.load(p) for p in glob.glob(out + "/*.npy")})
    return found


def close(what, found, wanted, tolerance):
    if found.shape != wanted.shape:
        sys.exit("%s: %s, expected %s" % (what, found.shape, wanted.shape))
    off = float(numpy.max(numpy.abs(found - wanted)))
    if not off <= tolerance:
        sys.exit("%s: off by %g, %g is allowed" % (what, off, tolerance))
    return off


def published(vtac, work, folder):
    for cfg in sorted(glob.glob(folder + "/*/*.cfg")):
        cases = sorted(glob.glob(os.path.dirname(cfg) + "/*_in.npy"))
        worst = 0.0
        for given, found in zip(cases, outputs(vtac, work, cfg, cases)):
            found = sorted(found.items(), key=lambda item: int(item[0].split("_")[0]))
            for i, (name, value) in enumerate(found):
                wanted = numpy.load(given.replace("_in.npy", "_out%d.npy" % i))
                worst = max(worst, close("%s: %s" % (given, name), value, wanted, 1e-4))
        print("%s: %d cases, off by at most %g" % (os.path.basename(cfg), len(cases), worst))


# ---- networks made here, and what they compute

def activation(name, x):
    with numpy.errstate(over="ignore"):
        s = 1 / (1 + numpy.exp(-x))
    return {"linear": x, "leaky": numpy.where(x > 0, x, 0.1 * x), "relu": numpy.maximum(x, 0), "logistic": s, "swish": x * s,
            "mish": x * numpy.tanh(numpy.logaddexp(0, x)), "relu6": numpy.clip(x, 0, 6), "tanh": numpy.tanh(x),
            "ramp": numpy.maximum(x, 0) + 0.1 * x, "hardtan": numpy.clip(x, -1, 1), "loggy": 2 * s - 1,
            "gelu": 0.5 * x * (1 + numpy.tanh(0.797885 * x + 0.035677 * x ** 3)), "hard_mish": numpy.where(x > 0, x, numpy.where(x > -2, x * x / 2 + x, 0)),
            "lhtan": numpy.where(x < 0, 0.001 * x, numpy.where(x > 1, 0.001 * (x - 1) + 1, x)),
            "stair": numpy.floor(x / 2) + numpy.where(numpy.floor(x) % 2 == 0, 0, x - numpy.floor(x)),
            "plse": numpy.where(x < -4, 0.01 * (x + 4), numpy.where(x > 4, 0.01 * (x - 4) + 1, 0.125 * x + 0.5)),
            "normalize_channels": numpy.maximum(x, 0) / (numpy.maximum(x, 0).sum(1, keepdims=True) + 1e-4)}[name]


def windows(x, size, stride, before, after, fill):
    x = numpy.pad(x, ((0, 0), (0, 0), (before, after), (before, after)), constant_values=fill)
    view = numpy.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))
    return view[:, :, ::stride, ::stride]


class Network:
    def __init__(self, random, shape):
        self.random, self.text, self.weights, self.values, self.files = random, [], [], [], {}
        self.text.append("# a network for a test\n[net]\nchannels=%d\nheight = %d\nwidth=%d\n" % shape[1:])
        self.x = random.standard_normal(shape).astype(F32)
        self.last, self.out = self.x.astype(float), []

    def add(self, kind, value, **options):
        self.text.append("\n[%s]\n" % kind + "".join("%s = %s\n" % (k, v) for k, v in options.items()))
        self.values.append(value)
        self.last = value

    def numbers(self, *shape, low=None):
        v = self.random.standard_normal(shape) if low is None else self.random.uniform(low, 2, shape)
        v = v.astype(F32)
        self.weights.append(v)
        return v.astype(float)

    def norm(self, count):
        scale, mean, variance = self.numbers(count), self.numbers(count), self.numbers(count, low=0.1)
        return scale / numpy.sqrt(variance + 1e-6), mean

    def conv(self, filters, size, stride=1, pad=1, groups=1, normal=True, name="leaky"):
        n, c = self.last.shape[:2]
        bias = self.numbers(filters)
        factor, mean = self.norm(filters) if normal else (1.0, 0.0)
        w = self.numbers(filters, c // groups, size, size)
        edge = size // 2 if pad else 0
        parts = []
        for g in range(groups):
            x = windows(self.last[:, g * c // groups:(g + 1) * c // groups], size, stride, edge, edge, 0)
            parts.append(numpy.einsum("ncyxij,fcij->nfyx", x, w[g * filters // groups:(g + 1) * filters // groups]))
        y = numpy.concatenate(parts, 1)
        y = (y - numpy.reshape(mean, (-1, 1, 1))) * numpy.reshape(factor, (-1, 1, 1)) + bias.reshape(-1, 1, 1)
        self.add("convolutional", activation(name, y), filters=filters, size=size, stride=stride, pad=pad, groups=groups,
                 batch_normalize=int(normal), activation=name)

    def signed(self, filters, size, xnor, **options):
        """Weights that count by their sign; with xnor, the input also."""
        n, c = self.last.shape[:2]
        bias, (factor, mean) = self.numbers(filters), self.norm(filters)
        w = self.numbers(filters, c, size, size)
        w = numpy.where(w > 0, 1, -1) * numpy.abs(w).mean((1, 2, 3), keepdims=True)
        x = windows(numpy.where(self.last > 0, 1.0, -1.0) if xnor else self.last, size, 1, size // 2, size // 2, 0)
        y = (numpy.einsum("ncyxij,fcij->nfyx", x, w) - mean.reshape(-1, 1, 1)) * factor.reshape(-1, 1, 1) + bias.reshape(-1, 1, 1)
        self.add("convolutional", activation("leaky", y), filters=filters, size=size, stride=1, pad=1, batch_normalize=1,
                 activation="leaky", **{"xnor" if xnor else "binary": 1}, **options)

    def again(self, layer, by):
        """The weights of an earlier layer once more: the file has them once. `layer`: its filters, size and weights."""
        filters, size, bias, factor, mean, w = layer
        y = numpy.einsum("ncyxij,fcij->nfyx", windows(self.last, size, 1, size // 2, size // 2, 0), w)
        y = (y - mean.reshape(-1, 1, 1)) * factor.reshape(-1, 1, 1) + bias.reshape(-1, 1, 1)
        self.add("convolutional", activation("leaky", y), filters=filters, size=size, stride=1, pad=1, batch_normalize=1,
                 activation="leaky", share_index=by)

    def maxpool(self, size, stride):
        before = (size - 1) // 2
        self.add("maxpool", windows(self.last, size, stride, before, size - 1 - before, -numpy.inf).max((4, 5)), size=size, stride=stride)

    def route(self, *layers, groups=1, group=0):
        parts = [self.values[i if i >= 0 else len(self.values) + i] for i in layers]
        parts = [p[:, p.shape[1] // groups * group:p.shape[1] // groups * (group + 1)] for p in parts]
        self.add("route", numpy.concatenate(parts, 1), layers=", ".join(map(str, layers)), groups=groups, group_id=group)

    def shortcut(self, *layers, name="linear"):
        y = self.last.copy()
        for i in layers:
            other = self.values[i if i >= 0 else len(self.values) + i]
            both = min(y.shape[1], other.shape[1])
            y[:, :both] += other[:, :both]
        self.add("shortcut", activation(name, y), **{"from": ",".join(map(str, layers)), "activation": name})

    def weighted(self, layers, each, how):
        """How much of each layer, by numbers that become shares."""
        w = self.numbers(len(layers) + 1, each)
        if how == "relu":
            w = numpy.maximum(w, 0.001) / (numpy.maximum(w, 0.001).sum(0) + 1e-4)
        elif how == "softmax":
            e = numpy.exp(w - w.max(0))
            w = e / (e.sum(0) + 1e-4)
        parts = [self.last] + [self.values[i if i >= 0 else len(self.values) + i] for i in layers]
        y = sum(p * v.reshape(-1, 1, 1) for p, v in zip(parts, w))
        self.add("shortcut", activation("leaky", y), **{"from": ",".join(map(str, layers)), "activation": "leaky",
                 "weights_type": "per_feature" if each == 1 else "per_channel", "weights_normalization": how})

    def local(self, filters, size, stride, pad):
        n, c, h, w = self.last.shape
        x = windows(self.last, size, stride, pad, pad, 0)
        bias = self.numbers(filters, *x.shape[2:4])
        k = self.numbers(x.shape[2] * x.shape[3], filters, c * size * size).reshape(*x.shape[2:4], filters, c, size, size)
        self.add("local", activation("plse", numpy.einsum("ncyxij,yxfcij->nfyx", x, k) + bias), filters=filters, size=size, stride=stride, pad=pad,
                 activation="plse")

    def turned(self, filters, size, stride, padding):
        n, c, h, w = self.last.shape
        bias = self.numbers(filters)
        factor, mean = self.norm(filters)
        k = self.numbers(c, filters, size, size)
        y = numpy.zeros((n, filters, (h - 1) * stride + size, (w - 1) * stride + size))
        for j in range(h):
            for i in range(w):
                y[:, :, j * stride:j * stride + size, i * stride:i * stride + size] += numpy.einsum("nc,cfij->nfij", self.last[:, :, j, i], k)
        y = y[:, :, padding:y.shape[2] - padding, padding:y.shape[3] - padding]
        y = (y - mean.reshape(-1, 1, 1)) * factor.reshape(-1, 1, 1) + bias.reshape(-1, 1, 1)
        self.add("deconvolutional", activation("hard_mish", y), filters=filters, size=size, stride=stride, padding=padding, batch_normalize=1,
                 activation="hard_mish")

    def blocks(self, s, back):
        n, c, h, w = self.last.shape
        if back:
            y = self.last.reshape(n, s, s, c // (s * s), h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, c // (s * s), h * s, w * s)
        else:
            y = self.last.reshape(n, c, h // s, s, w // s, s).transpose(0, 3, 5, 1, 2, 4).reshape(n, c * s * s, h // s, w // s)
        self.add("reorg" if back else "reorg3d", y, stride=s, reverse=int(back))

    def reorg(self, s):
        n, c, h, w = self.last.shape
        flat, out = self.last.reshape(n, -1), numpy.zeros((n, c * h * w))
        for k in range(c):  # element by element, as the layer is described
            for j in range(h):
                for i in range(w):
                    offset, small = divmod(k, c // (s * s))
                    row, column = j * s + offset // s, i * s + offset % s
                    out[:, i + w * (j + h * k)] = flat[:, column + w * s * (row + h * s * small)]
        self.add("reorg", out.reshape(n, c * s * s, h // s, w // s), stride=s)

    def connected(self, count, name="relu", normal=False):
        x = self.last.reshape(self.last.shape[0], -1)
        bias, w = self.numbers(count), self.numbers(count, x.shape[1])
        factor, mean = self.norm(count) if normal else (1.0, 0.0)
        y = (x @ w.T - mean) * factor + bias
        self.add("connected", activation(name, y), output=count, activation=name, batch_normalize=int(normal))

    def blurred(self, strides, small):
        """What antialiasing puts behind a layer."""
        x, k = self.last, numpy.full((2, 2), 0.25) if small else numpy.outer([1, 2, 1], [1, 2, 1]) / 16
        x = windows(x, len(k), 1, 0 if small else 1, 0 if small else 1, 0)[:, :, ::strides, ::strides]
        self.last = self.values[-1] = numpy.einsum("ncyxij,ij->ncyx", x, k)
        self.text[-1] = self.text[-1].replace("stride = 1\n", "stride = %d\n" % strides) + "antialiasing = %d\n" % (2 if small else 1)

    def batchnorm(self):
        shape = (-1,) + (1,) * (self.last.ndim - 2)
        offset = self.numbers(self.last.shape[1])
        factor, mean = self.norm(self.last.shape[1])
        self.add("batchnorm", (self.last - mean.reshape(shape)) * factor.reshape(shape) + offset.reshape(shape))

    def lrn(self, size, alpha, beta, kappa):
        squares = self.last ** 2
        sums = [kappa + alpha * squares[:, :size // 2].sum(1)]
        for k in range(1, squares.shape[1]):
            s = sums[-1].copy()
            s -= alpha * squares[:, k - (size - 1) // 2 - 1] if k - (size - 1) // 2 - 1 >= 0 else 0
            s += alpha * squares[:, k + size // 2] if k + size // 2 < squares.shape[1] else 0
            sums.append(s)
        self.add("lrn", self.last * numpy.stack(sums, 1) ** -beta, size=size, alpha=alpha, beta=beta, kappa=kappa)

    def boxes(self, kind="yolo"):
        self.add(kind, self.last, mask="0,1", classes=3)
        self.out.append(self.last)

    def save(self, path, head=(0, 2, 5)):
        with open(path + ".cfg", "w") as f:
            f.write("".join(self.text))
        with open(path + ".weights", "wb") as f:
            f.write(numpy.array(head, "<i4").tobytes() + bytes(8 if head[0] * 10 + head[1] >= 2 else 4))
            f.write(b"".join(w.tobytes() for w in self.weights))
        numpy.save(path + "_in.npy", self.x)


def detector(random, channels):
    net = Network(random, (1, 3, 24, 32))
    net.conv(channels, 3, name="mish")
    net.conv(2 * channels, 3, stride=2, name="swish")
    net.conv(2 * channels, 3, groups=channels, name="relu6")
    net.conv(2 * channels, 1, normal=False, name="ramp")
    net.shortcut(-3, name="leaky")
    net.maxpool(2, 2)
    net.maxpool(3, 1)
    net.add("dropout", net.last, probability=.2)
    net.route(-2, 5)
    net.route(-1, groups=2, group=1)
    net.conv(5, 1, name="hardtan")
    net.shortcut(-5, -2)
    net.boxes()
    net.route(-3)
    net.add("upsample", net.last.repeat(2, 2).repeat(2, 3), stride=2)
    net.route(-1, 4)
    net.conv(8, 1, name="logistic")
    net.add("avgpool", net.last.mean((2, 3), keepdims=True))
    net.add("scale_channels", net.values[-2] * net.last, **{"from": -2, "activation": "tanh"})
    net.last = net.values[-1] = numpy.tanh(net.last)
    net.reorg(2)
    net.boxes("region")
    return net


def rare(random, channels):
    net = Network(random, (1, 3, 12, 10))
    net.conv(channels, 3, name="gelu")
    net.conv(channels, 3, name="lhtan")
    net.conv(channels, 1, name="normalize_channels")
    net.weighted([-2, -3], 1, "relu")
    net.weighted([0, 1], channels, "softmax")
    net.weighted([-1], channels, "none")
    net.blocks(2, False)
    net.conv(8, 1)
    net.blocks(2, True)
    net.add("maxpool", net.last.reshape(1, 1, 2, 12, 10).max(1), maxpool_depth=1, out_channels=2)
    net.turned(5, 4, 2, 1)
    net.conv(channels, 3, stride=2)
    big = len(net.values) - 2
    y = net.last.copy()
    both = min(y.shape[1], 5)
    y[:, :both] += net.values[big][:, :both, ::2, ::2]
    net.add("shortcut", y, **{"from": big, "activation": "linear"})
    net.local(4, 3, 1, 1)
    net.local(3, 4, 2, 0)
    e = numpy.exp(net.last / 2 - net.last.max(1, keepdims=True) / 2)
    net.add("softmax", e / e.sum(1, keepdims=True), spatial=1, temperature=2.0)
    net.out.append(net.last)
    return net


def thrifty(random, channels):
    """Signs in place of weights, and weights that two layers share."""
    net = Network(random, (1, channels, 6, 7))
    net.conv(4, 3)
    net.signed(4, 3, True, bin_output=1)
    net.signed(4, 3, False)
    first = len(net.weights)
    net.conv(4, 3)
    at = len(net.values) - 1
    bias, scale, mean, variance, w = (v.astype(float) for v in net.weights[first:])
    layer = (4, 3, bias, scale / numpy.sqrt(variance + 1e-6), mean, w)
    net.again(layer, at)
    net.conv(4, 1, name="tanh")
    net.again(layer, -2)
    net.out.append(net.last)
    return net


def old(random, channels):
    net = Network(random, (1, 3, 13, 16))
    net.conv(channels, 3, name="stair")
    net.conv(channels, 3)
    net.blurred(2, False)
    net.maxpool(2, 1)
    net.blurred(2, True)
    net.batchnorm()
    net.add("logistic", activation("logistic", net.last))
    net.lrn(5, 0.05, 0.75, 1.0)
    net.add("shortcut", 0.5 * net.last + 2 * net.values[-3], **{"from": -3, "alpha": 0.5, "beta": 2})
    net.conv(1, 1, normal=False, name="linear")
    net.add("sam", net.last * net.values[-2], **{"from": -2})
    net.add("l2norm", net.last / numpy.sqrt((net.last ** 2).sum(1, keepdims=True)))
    net.conv(1, 3, name="logistic")
    net.add("scale_channels", net.last * net.values[-2], **{"from": -2, "scale_wh": 1})
    net.add("logxent", activation("logistic", net.last))
    net.connected(9, name="linear")
    parts = [net.last[:, a:b] for a, b in ((0, 2), (2, 5), (5, 6), (6, 9))]
    parts = [numpy.exp(p - p.max()) / numpy.exp(p - p.max()).sum() for p in parts]
    net.add("softmax", numpy.concatenate(parts, 1), tree="data/some.tree")
    net.out.append(net.last)
    net.files = {"some.tree": "".join("c%d %d\n" % (i, p) for i, p in enumerate((-1, -1, 0, 0, 0, 1, 4, 4, 4)))}
    return net


class Remembering:
    """Recurrent layers, run after run; a dense layer is [bias, weights, scale, mean, variance]."""

    def __init__(self, random, kind, units, normal, **options):
        self.kind, self.units, self.normal, self.options = kind, units, normal, options
        self.random, self.layers, self.state = random, [], None
        self.planes = kind == "crnn"
        outputs, count = units - 1, {"rnn": 3, "crnn": 3, "gru": 6, "lstm": 8}[kind]
        size = 9 if self.planes else 1
        for i in range(count):
            own = i == 1 if count == 3 else i >= count // 2
            rows = outputs if count == 3 and i == 2 else units
            each = (units if own or (count == 3 and i == 2) else 5) * size
            part = [random.standard_normal(rows), random.standard_normal((rows, each)) * 0.4]
            part += [random.standard_normal(rows), random.standard_normal(rows), random.uniform(0.5, 2, rows)] if normal else []
            self.layers.append([p.astype(F32) for p in part])

    def save(self, path):
        with open(path + ".cfg", "w") as f:
            f.write("[net]\nchannels=5\nheight=4\nwidth=3\n" if self.planes else "[net]\ninputs=5\n")
            options = dict(self.options, batch_normalize=int(self.normal))
            if self.planes:
                options.update(hidden_filters=self.units, output_filters=self.units - 1)
            else:
                options.update({"output": self.units - 1, "hidden": self.units} if self.kind == "rnn" else {"output": self.units})
            f.write("[%s]\n" % self.kind + "".join("%s=%s\n" % o for o in options.items()))
        with open(path + ".weights", "wb") as f:
            f.write(numpy.array((0, 2, 5, 0, 0), "<i4").tobytes())
            for p in self.layers:
                order = (0, 2, 3, 4, 1) if self.planes else (0, 1, 2, 3, 4)
                f.write(b"".join(p[i].tobytes() for i in order if i < len(p)))

    def dense(self, i, x):
        p = [v.astype(float) for v in self.layers[i]]
        if self.planes:
            x = windows(x, 3, 1, 1, 1, 0)
            x = x.transpose(0, 2, 3, 1, 4, 5).reshape(x.shape[0], x.shape[2], x.shape[3], -1)
        y = x @ p[1].T
        y = (y - p[3]) * p[2] / numpy.sqrt(p[4] + 1e-6) + p[0] if self.normal else y + p[0]
        return y.transpose(0, 3, 1, 2) if self.planes else y

    def step(self, x):
        if self.state is None:
            shape = (1, self.units, 4, 3) if self.planes else (1, self.units)
            self.state = [numpy.zeros(shape), numpy.zeros(shape)]
        h, c = self.state
        own = lambda v: activation(self.options["activation"], v)
        logistic = lambda v: activation("logistic", v)
        if self.kind in ("rnn", "crnn"):
            how = {0: own, 1: logistic, 2: lambda v: 2 * logistic(v) - 1}[self.options.get("logistic", 0)]
            h = own(self.dense(0, x)) + how(self.dense(1, h)) + (h if self.options.get("shortcut") else 0)
            self.state = [h, c]
            return own(self.dense(2, h))
        if self.kind == "gru":
            z, r = (logistic(self.dense(i, x) + self.dense(i + 3, h)) for i in (0, 1))
            g = self.dense(2, x) + self.dense(5, r * h)
            h = z * h + (1 - z) * (numpy.tanh(g) if self.options.get("tanh") else logistic(g))
        else:
            f, i, g, o = (self.dense(k, x) + self.dense(k + 4, h) for k in range(4))
            c = logistic(f) * c + logistic(i) * numpy.tanh(g)
            h = logistic(o) * numpy.tanh(c)
        self.state = [h, c]
        return h


def remembering(vtac, work, random):
    for kind, units, normal, options in (("rnn", 7, False, {"activation": "leaky"}), ("rnn", 4, True, {"activation": "tanh", "shortcut": 1, "logistic": 2}),
                                         ("gru", 6, False, {}), ("gru", 5, True, {"tanh": 1}), ("lstm", 6, False, {}), ("lstm", 3, True, {}),
                                         ("crnn", 4, False, {"activation": "leaky"}), ("crnn", 3, True, {"activation": "tanh"})):
        net, path = Remembering(random, kind, units, normal, **options), os.path.join(work, "kept")
        net.save(path)
        out, words, wanted = tempfile.mkdtemp(dir=work), [], []
        for i in range(3):
            x = random.standard_normal((1, 5, 4, 3) if net.planes else (1, 5)).astype(F32)
            numpy.save("%s_%d.npy" % (path, i), x)
            words += ["--input", "%s_%d.npy" % (path, i)]
            wanted.append(net.step(x.astype(float)))
        run(vtac, "compile", path + ".cfg", "--target", "llvm", "-o", path + ".so")
        run(vtac, "run", path + ".so", *words, "--output-dir", out)
        for i in range(3):
            found = numpy.load("%s/%d_0_%s.npy" % (out, i, kind))
            close("%s, run %d" % (kind, i), found, wanted[i], 1e-4 * max(1.0, float(numpy.abs(wanted[i]).max())))


def classifier(random, channels):
    net = Network(random, (1, 3, 17, 13))
    net.conv(channels, 3, stride=2, pad=0, name="loggy")
    net.maxpool(3, 2)
    net.connected(11, name="tanh", normal=True)
    net.connected(6, name="linear")
    e = numpy.exp(net.last - net.last.max(1, keepdims=True))
    net.add("softmax", e / e.sum(1, keepdims=True), groups=1)
    net.out.append(net.last)
    return net


def made(vtac, work, seed):
    random = numpy.random.default_rng(seed)
    for k, channels in ((detector, 8), (detector, 6), (classifier, 5), (classifier, 16), (rare, 6), (rare, 3), (thrifty, 5), (thrifty, 2), (old, 8), (old, 5)):
        net = k(random, channels)
        path = os.path.join(work, "made")
        net.save(path, (0, 1, 0) if k is classifier and channels == 5 else (0, 2, 5))
        for name, text in net.files.items():
            with open(os.path.join(work, name), "w") as f:
                f.write(text)
        found = outputs(vtac, work, path + ".cfg", [path + "_in.npy"])[0]
        found = sorted(found.items(), key=lambda item: int(item[0].split("_")[0]))
        if len(found) != len(net.out):
            sys.exit("%s: outputs %s" % (k.__name__, [name for name, _ in found]))
        for (name, value), wanted in zip(found, net.out):
            close("%s of %d channels, seed %d: %s" % (k.__name__, channels, seed, name), value, wanted.reshape(value.shape),
                  1e-4 * max(1.0, float(numpy.max(numpy.abs(wanted)))))
        moved = os.path.join(work, "moved")
        os.rename(path + ".weights", moved)
        run(vtac, "compile", path + ".cfg", "--target", "llvm", "-o", moved + ".so", "--weights", moved)
        run(vtac, "compile", path + ".cfg", "--target", "llvm", "-o", moved + ".so", fails=True)


def damaged(vtac, work):
    net = detector(numpy.random.default_rng(1), 4)
    path, so = os.path.join(work, "bad"), os.path.join(work, "bad.so")
    net.save(path)
    whole, text = open(path + ".weights", "rb").read(), open(path + ".cfg").read()
    for size in (0, 11, 19, 20, len(whole) // 2, len(whole) - 1):
        open(path + ".weights", "wb").write(whole[:size])
        run(vtac, "compile", path + ".cfg", "--target", "llvm", "-o", so, fails=True)
    open(path + ".weights", "wb").write(whole)
    for old, new in (("filters = 8", "filters = 0"), ("filters = 8", "filters = x"), ("filters = 8", "filters = 99999999999"),
                     ("size = 3", "size = -3"), ("layers = -2, 5", "layers = 5000"), ("layers = -2, 5", "layers = ,"),
                     ("[dropout]", "[iseg]"), ("[dropout]", "[dropout"), ("height = 24", "height = 0"), ("activation = mish", "activation = me"),
                     ("groups = 4", "groups = 3"), ("[net]", "[net]\nnothing")):
        if old not in text:
            sys.exit("no '%s' in the network" % old)
        open(path + ".cfg", "w").write(text.replace(old, new, 1))
        line = run(vtac, "compile", path + ".cfg", "--target", "llvm", "-o", so, fails=True)
        if "bad.cfg" not in line or os.path.exists(so):
            sys.exit("'%s': %s" % (new, line))


def main():
    seed = word_seed.told()
    with tempfile.TemporaryDirectory() as work:
        published(sys.argv[1], work, sys.argv[2])
        made(sys.argv[1], work, seed)
        remembering(sys.argv[1], work, numpy.random.default_rng(seed))
        damaged(sys.argv[1], work)


if __name__ == "__main__":
    main()
