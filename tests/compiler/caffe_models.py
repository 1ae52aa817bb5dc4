#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Networks of Caffe, written here in its text format and its messages: every row of layers.def against plain loops in double,
# in layers of both versions; rules, inputs and files beside each other; damage, which gets one line; and the README's table.
#
# usage: caffe_models.py VTAC SOURCE   (exit status 77: no numpy)
import re
import sys
import tempfile

try:
    import numpy
    import word_seed
except ImportError:
    sys.exit(77)

import importer_lab as lab
from messages import message, varint


def rows_of(path):
    with open(path) as f:
        return re.findall(r'^VTAC_CAFFE_LAYER\("[^"]*", "([^"]*)", "([^"]*)"', f.read(), re.M)


class Net:
    """Branches from the inputs, each a layer with its weights and what it should give."""

    def __init__(self, draw, inputs):
        self.draw, self.inputs, self.values, self.layers, self.wanted = draw, inputs, dict(inputs), [], {}

    def numbers(self, *shape, low=-1.0, high=1.0):
        return self.draw.uniform(low, high, shape).astype(numpy.float32).astype(float)

    def add(self, kind, value, text="", blobs=(), bottoms=("data",), tops=None, end=True):
        name = "%s_%d" % (kind.lower(), len(self.layers))
        tops = tops or [name]
        self.layers.append((name, kind, text, blobs, list(bottoms), tops))
        for top, v in zip(tops, value if len(tops) > 1 else [value]):
            self.values[top] = v
            if end:
                self.wanted[top] = v
        return tops[0]

    def text(self, old=None):
        out = ["# a network\nname: 'a \\'net\\''\n"]
        for name, x in self.inputs.items():
            out.append('input: "%s"\n' % name)
        out += ["input_shape { %s }\n" % " ".join("dim: %d" % d for d in x.shape) for x in self.inputs.values()]
        for i, (name, kind, text, _, bottoms, tops) in enumerate(self.layers):
            ends = " ".join('bottom: "%s"' % b for b in bottoms) + "\n" + " ".join('top: "%s"' % t for t in tops)
            kind = old[kind] if old else '"%s"' % kind
            braces = [" {", ": {", "\n<"][i % 3], [" }", "}", " >"][i % 3]
            out.append("%s%s name: \"%s\" type: %s # %d\n%s\n%s%s\n" % ("layers" if old else "layer", braces[0], name, kind, i, ends, text, braces[1]))
        return "".join(out)

    def weights(self, old=False, training=True):
        def blob(i, b):
            b = numpy.asarray(b)
            dims = (7, message_of_dims(b.shape)) if i % 2 else None
            flat = b.reshape(-1)
            fields = [dims] if dims else list(zip((1, 2, 3, 4), (1,) * (4 - b.ndim) + b.shape))
            if i % 3 == 2:
                return message(*fields, (8, flat.astype("<f8").tobytes()))
            return message(*fields, (5, flat.astype("<f4").tobytes()))

        def message_of_dims(shape):
            return message((1, b"".join(varint(d) for d in shape)))

        fields = [(1, "trained")]
        if training:
            fields.append((2, message((4, "loss"), (5, 21))) if old else (100, message((1, "loss"), (2, "SoftmaxWithLoss"))))
        for name, kind, _, blobs, _, _ in self.layers[::-1]:
            packed = [blob(i, b) for i, b in enumerate(blobs)]
            if old:
                fields.append((2, message((4, name), (5, 4), *[(6, b) for b in packed])))
            else:
                fields.append((100, message((1, name), (2, kind), *[(7, b) for b in packed])))
        return message(*fields)

    def without(self, kinds):
        """The branches whose kinds are among these, as a network of their own."""
        other = Net(self.draw, self.inputs)
        kept = [layer for layer in self.layers if layer[1] in kinds and all(b in self.inputs for b in layer[4])]
        other.layers = kept
        other.wanted = {top: self.values[top] for layer in kept for top in layer[5]}
        return other


def windows(net, x):
    c = x.shape[1]
    w, b = net.numbers(6, c, 3, 3), net.numbers(6)
    net.add("Convolution", lab.conv(x, w, b, (2, 2), (1, 1, 1, 1)),
            "convolution_param { num_output: 6 kernel_size: 3 stride: 2 pad: 1 weight_filler { type: 'msra' } }", [w, b])
    w, b = net.numbers(8, c // 2, 3, 2), net.numbers(8)
    net.add("Convolution", lab.conv(x, w, b, (1, 2), (2, 1, 2, 1), (2, 1), 2),
            "convolution_param { num_output: 8 kernel_h: 3 kernel_w: 2 stride_h: 1 stride_w: 2 pad: [2, 1] dilation: 2 dilation: 1 group: 2 }", [w, b])
    w = net.numbers(c, 1, 3, 3)
    for kind in ("ConvolutionDepthwise", "DepthwiseConvolution"):
        net.add(kind, lab.conv(x, w, None, (1, 1), (1, 1, 1, 1), (1, 1), c), "convolution_param { kernel_size: 3 pad: 1 bias_term: false }", [w])
    w, b = net.numbers(c, 3, 4, 4), net.numbers(6)
    net.add("Deconvolution", lab.deconv(x, w, b, (2, 2), (1, 1, 1, 1), 2),
            "convolution_param { num_output: 6 kernel_size: 4 stride: 2 pad: 1 group: 2 }", [w, b])
    for kind, kernel, stride, pad in (("MAX", 3, 2, 0), ("AVE", 3, 2, 1), ("AVE", 2, 2, 1), ("AVE", 3, 3, 0), ("MAX", 3, 2, 1), ("AVE", 5, 4, 2)):
        counts = [lab.caffe_count(s, kernel, stride, pad) for s in x.shape[2:]]
        value = lab.pool(x, "max" if kind == "MAX" else "mean", (kernel,) * 2, (stride,) * 2, (pad,) * 2, counts, True)
        net.add("Pooling", value, "pooling_param { pool: %s kernel_size: %d stride: %d pad: %d }" % (kind, kernel, stride, pad))
    down = [(s - 2) // 3 + 1 for s in x.shape[2:]]
    net.add("Pooling", lab.pool(x, "max", (2, 2), (3, 3), (0, 0), down, True), "pooling_param { kernel_size: 2 stride: 3 round_mode: FLOOR }")
    net.add("Pooling", x.mean((2, 3), keepdims=True), "pooling_param { pool: AVE global_pooling: true }")
    net.add("Pooling", x.max((2, 3), keepdims=True), "pooling_param { global_pooling: true }")
    w, b = net.numbers(5, x[0].size), net.numbers(5)
    net.add("InnerProduct", x.reshape(len(x), -1) @ w.T + b, "inner_product_param { num_output: 5 }", [w, b])
    w = net.numbers(x.shape[3], 4)
    net.add("InnerProduct", x @ w, "inner_product_param { num_output: 4 axis: -1 transpose: true bias_term: false }", [w])


def volume_conv(x, w, b, stride, pad):
    """A convolution of volumes."""
    x = numpy.pad(x, [(0, 0)] * 2 + [(pad, pad)] * 3)
    parts = numpy.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3, 4))[:, :, ::stride, ::stride, ::stride]
    return numpy.einsum("ncdhwijk,ocijk->nodhw", parts, w) + b.reshape(-1, 1, 1, 1)


def more_windows(net, x):
    """Several bottoms, volumes, rows, and what Intel's Caffe merges into a convolution."""
    n, c, h, s = x.shape
    other = net.values["other"]
    w, b = net.numbers(3, c, 3, 3), net.numbers(3)
    net.add("Convolution", [lab.conv(v, w, b, (1, 1), (1, 1, 1, 1)) for v in (x, other)],
            "convolution_param { num_output: 3 kernel_size: 3 pad: 1 }", [w, b], ["data", "other"], ["pair0", "pair1"])
    value = lab.conv(x, w, b, (1, 1), (0, 0, 0, 0))
    net.add("Convolution", numpy.maximum(value, 0), "convolution_param { num_output: 3 kernel_size: 3 fuse_type: FUSED_CONV_RELU }", [w, b])
    net.add("Convolution", numpy.where(value > 0, value, 0.25 * value),
            "convolution_param { num_output: 3 kernel_size: 3 fuse_type: FUSED_CONV_RELU relu_param { negative_slope: 0.25 } }", [w, b])
    net.add("Convolution", value, "convolution_param { num_output: 3 kernel_size: 3 fuse_type: UNFUSED }", [w, b])
    volume = x.reshape(n, 1, c, h, s)
    name = net.add("Reshape", volume, "reshape_param { shape { dim: 0 dim: 1 dim: %d dim: %d dim: %d } }" % (c, h, s), end=False)
    w, b = net.numbers(2, 1, 2, 3, 3), net.numbers(2)
    net.add("Convolution", volume_conv(volume, w, b, 2, 1), "convolution_param { num_output: 2 kernel_size: [2, 3, 3] stride: 2 pad: 1 }", [w, b], [name])
    blocks = volume[:, :, :c // 2 * 2, :h // 2 * 2, :s // 4 * 4].reshape(n, 1, c // 2, 2, h // 2, 2, s // 4, 4)
    net.add("Pooling", blocks.max((3, 5, 7)), "pooling_param { kernel_size: 2 kernel_size: 2 kernel_size: 4 stride: [2, 2, 4] round_mode: FLOOR }", bottoms=[name])
    net.add("Pooling", blocks.mean((3, 5, 7)), "pooling_param { pool: AVE kernel_size: [2, 2, 4] stride: [2, 2, 4] round_mode: FLOOR }", bottoms=[name])
    w = net.numbers(1, 3, 2, 2, 2)
    up = numpy.einsum("ncdhw,coijk->nodihjwk", volume, w).reshape(n, 3, 2 * c, 2 * h, 2 * s)
    net.add("Deconvolution", up, "convolution_param { num_output: 3 kernel_size: 2 stride: 2 bias_term: false }", [w], [name])
    row = x.reshape(n, c, h * s)
    name = net.add("Reshape", row, "reshape_param { shape { dim: 0 dim: 0 dim: -1 } }", end=False)
    w, b = net.numbers(5, c, 3), net.numbers(5)
    parts = numpy.lib.stride_tricks.sliding_window_view(row, 3, 2)[:, :, ::2]
    net.add("Convolution", numpy.einsum("nclk,ock->nol", parts, w) + b.reshape(-1, 1), "convolution_param { num_output: 5 kernel_size: 3 stride: 2 }", [w, b], [name])


def masks(net, x):
    """A pool with the places of its maxima, what undoes it, and parts of planes."""
    n, c, h, w = x.shape
    wide = numpy.pad(x, ((0, 0), (0, 0), (0, h % 2), (0, w % 2)), constant_values=-numpy.inf)
    parts = wide.reshape(n, c, (h + 1) // 2, 2, (w + 1) // 2, 2).swapaxes(3, 4).reshape(n, c, (h + 1) // 2, (w + 1) // 2, 4)
    at = parts.argmax(-1)
    rows, columns = numpy.indices(at.shape[2:])
    mask = (2 * rows + at // 2) * w + 2 * columns + at % 2
    tops = ["most", "most_mask"]
    net.add("Pooling", [parts.max(-1), mask], "pooling_param { pool: MAX kernel_size: 2 stride: 2 }", tops=tops)
    back = numpy.zeros((n, c, h * w))
    numpy.put_along_axis(back, mask.reshape(n, c, -1), parts.max(-1).reshape(n, c, -1), 2)
    net.add("Upsample", back.reshape(x.shape), "upsample_param { upsample_h: %d upsample_w: %d }" % (h, w), bottoms=tops)
    net.add("Upsample", back.reshape(x.shape), "upsample_param { scale: 2 pad_out_h: true }".replace("true", str(h % 2)), bottoms=tops)
    for top in tops:
        net.wanted.pop(top)
    size = net.values["regions"]
    found = numpy.zeros((len(size), c, 2, 3))
    for i, (_, left, top, right, bottom) in enumerate(numpy.floor(size * [1, 0.5, 0.5, 0.5, 0.5] + 0.5).astype(int)):
        high, broad = max(bottom - top + 1, 1), max(right - left + 1, 1)
        for a in range(2):
            for b in range(3):
                r = [min(max(v + top, 0), h) for v in (a * high // 2, -(-(a + 1) * high // 2))]
                k = [min(max(v + left, 0), w) for v in (b * broad // 3, -(-(b + 1) * broad // 3))]
                found[i, :, a, b] = x[0, :, r[0]:r[1], k[0]:k[1]].max((1, 2)) if r[1] > r[0] and k[1] > k[0] else 0
    net.add("ROIPooling", found, "roi_pooling_param { pooled_h: 2 pooled_w: 3 spatial_scale: 0.5 }", bottoms=["data", "regions"])


def over_steps(net):
    """Cells by plain loops; marks begin sequences anew in the middle."""
    x, marks, still = (net.values[n] for n in ("steps", "marks", "still"))
    count, streams, inputs = x.shape
    units, flat = 5, still.reshape(streams, -1)
    sigmoid = lambda v: 1 / (1 + numpy.exp(-v))
    for extra in (False, True):
        bottoms = ["steps", "marks"] + (["still"] if extra else [])
        for kind, gates in (("LSTM", 4), ("RNN", 1)):
            w, b, u = net.numbers(gates * units, inputs), net.numbers(gates * units), net.numbers(gates * units, units)
            s, o, p = net.numbers(gates * units, flat.shape[1]), net.numbers(units, units), net.numbers(units)
            h = c = numpy.zeros((streams, units))
            out = []
            for t in range(count):
                g = x[t] @ w.T + b + (marks[t][:, None] * h) @ u.T + (flat @ s.T if extra else 0)
                if kind == "LSTM":
                    i, f, q, v = numpy.split(g, 4, 1)
                    c = sigmoid(f) * marks[t][:, None] * c + sigmoid(i) * numpy.tanh(v)
                    h = sigmoid(q) * numpy.tanh(c)
                else:
                    h = numpy.tanh(g)
                out.append(h if kind == "LSTM" else numpy.tanh(h @ o.T + p))
            blobs = [w, b] + ([s] if extra else []) + [u] + ([] if kind == "LSTM" else [o, p])
            net.add(kind, numpy.stack(out), "recurrent_param { num_output: %d weight_filler { type: 'uniform' } }" % units, blobs, bottoms)
    table, b = net.numbers(7, 3), net.numbers(3)
    words = net.values["words"].astype(int)
    net.add("Embed", table[words] + b, "embed_param { input_dim: 7 num_output: 3 }", [table, b], ["words"])
    net.add("Embed", table[words], "embed_param { input_dim: 7 num_output: 3 bias_term: false }", [table], ["words"])


def across(x, alpha, beta, k, size):
    square = numpy.pad(x * x, ((0, 0), (size // 2,) * 2, (0, 0), (0, 0)))
    total = sum(square[:, i:i + x.shape[1]] for i in range(size))
    return x / (k + alpha / size * total) ** beta


def norms(net, x):
    c = x.shape[1]
    mean, variance = net.numbers(c), net.numbers(c, low=0.2, high=2.0)
    col = (-1, 1, 1)
    value = (x - mean.reshape(col)) / numpy.sqrt(variance.reshape(col) + 1e-5)
    net.add("BatchNorm", value, "", [mean * 4, variance * 4, numpy.array([4.0])])
    none = numpy.zeros(1)
    net.add("BatchNorm", x / numpy.sqrt(0.5), "batch_norm_param { use_global_stats: true eps: 0.5 }", [mean, variance, none])
    s, b = net.numbers(c), net.numbers(c)
    net.add("Scale", x * s.reshape(col) + b.reshape(col), "scale_param { bias_term: true }", [s, b])
    net.add("BN", x * s.reshape(col) + b.reshape(col), "bn_param { bn_mode: INFERENCE scale_filler { type: 'constant' } }", [s, b])
    net.add("BN", (x - mean.reshape(col)) / numpy.sqrt(variance.reshape(col) + 1e-3) * s.reshape(col) + b.reshape(col),
            "bn_param { frozen: true eps: 1e-3 }", [s, b, mean, variance])
    s = net.numbers(x.shape[2], x.shape[3])
    net.add("Scale", x * s, "scale_param { axis: 2 num_axes: 2 }", [s])
    net.add("Scale", x * net.values["rows"].reshape(len(x), c, 1, 1), "scale_param { axis: 0 }", bottoms=["data", "rows"])
    net.add("Bias", x + b.reshape(col), "bias_param { axis: 1 }", [b])
    net.add("LRN", across(x, 0.2, 0.6, 1.5, 3), "lrn_param { local_size: 3 alpha: 0.2 beta: 0.6 k: 1.5 }")
    squares = lab.pool(x * x, "mean", (3, 3), (1, 1), (1, 1), x.shape[2:], True)
    net.add("LRN", x * (1 + 0.3 * squares) ** -0.75, "lrn_param { local_size: 3 alpha: 0.3 norm_region: WITHIN_CHANNEL }")
    for more, axes in (("", (2, 3)), ("across_channels: true", (1, 2, 3))):
        value = x - x.mean(axes, keepdims=True)
        net.add("MVN", value / (numpy.sqrt((value ** 2).mean(axes, keepdims=True)) + 1e-9), "mvn_param { %s }" % more)
    s = net.numbers(c)
    net.add("Normalize", x / numpy.sqrt((x * x).sum(1, keepdims=True) + 1e-10) * s.reshape(col),
            "norm_param { across_spatial: false scale_filler { type: 'constant' value: 20 } channel_shared: false }", [s])
    net.add("Normalize", x / numpy.sqrt((x * x).sum((1, 2, 3), keepdims=True) + 1e-10) * 3.0, "norm_param { }", [numpy.array([3.0])])


def points(net, x):
    sigmoid = 1 / (1 + numpy.exp(-x))
    slopes = net.numbers(x.shape[1])
    net.add("ReLU", numpy.maximum(x, 0))
    net.add("ReLU", numpy.where(x > 0, x, 0.25 * x), "relu_param { negative_slope: 0.25 }")
    net.add("ReLU6", numpy.clip(x, 0, 6))
    net.add("PReLU", numpy.where(x > 0, x, slopes.reshape(-1, 1, 1) * x), "", [slopes])
    net.add("PReLU", numpy.where(x > 0, x, 0.3 * x), "prelu_param { channel_shared: true }", [numpy.array([0.3])])
    net.add("ELU", numpy.where(x > 0, x, 0.7 * (numpy.exp(x) - 1)), "elu_param { alpha: 0.7 }")
    net.add("Sigmoid", sigmoid)
    net.add("TanH", numpy.tanh(x))
    net.add("Swish", x / (1 + numpy.exp(-2 * x)), "swish_param { beta: 2 }")
    net.add("AbsVal", numpy.abs(x))
    net.add("BNLL", numpy.log1p(numpy.exp(x)))
    net.add("Exp", 2.0 ** (0.5 + 0.25 * x), "exp_param { base: 2 shift: 0.5 scale: 0.25 }")
    net.add("Log", numpy.log(20 + 2 * x) / numpy.log(10), "log_param { base: 10 shift: 20 scale: 2 }")
    net.add("Power", (10 + 0.5 * x) ** 1.5, "power_param { power: 1.5 scale: 0.5 shift: 10 }")
    net.add("Threshold", (x > 0.5).astype(float), "threshold_param { threshold: 0.5 }")
    other = net.values["other"]
    net.add("Eltwise", 0.5 * x - other, "eltwise_param { operation: SUM coeff: 0.5 coeff: -1 }", bottoms=["data", "other"])
    net.add("Eltwise", x * other, "eltwise_param { operation: PROD }", bottoms=["data", "other"])
    net.add("Eltwise", numpy.maximum(numpy.maximum(x, other), -x), "eltwise_param { operation: MAX }",
            bottoms=["data", "other", net.add("Power", -x, "power_param { scale: -1 }", end=False)])
    rows = net.values["rows"]
    net.add("Axpy", x * rows.reshape(rows.shape + (1, 1)) + other, bottoms=["rows", "data", "other"])
    net.add("Softmax", lab.softmax(x, 1))
    net.add("Softmax", lab.softmax(x, 3), "softmax_param { axis: -1 }")


def shapes(net, x):
    n, c, h, w = x.shape
    other = net.values["other"]
    net.add("Concat", numpy.concatenate([x, other], 1), bottoms=["data", "other"])
    net.add("Concat", numpy.concatenate([x, other], 2), "concat_param { axis: -2 }", bottoms=["data", "other"])
    small = net.add("Pooling", lab.pool(x, "max", (3, 3), (1, 1), (0, 0), (h - 2, w - 2), True), "pooling_param { kernel_size: 3 }")
    net.wanted.pop(small)
    net.add("Crop", x[:, :, 1:h - 1, 2:w], "crop_param { offset: 1 offset: 2 }", bottoms=["data", small])
    net.add("Flatten", x.reshape(n, -1))
    net.add("Flatten", x.reshape(n, c * h, w), "flatten_param { axis: 1 end_axis: 2 }")
    grid = [numpy.arange(2 * s - 1) / 2 for s in (h, w)]
    rows = numpy.stack([numpy.interp(grid[0], numpy.arange(h), x[0, i, :, j]) for i in range(c) for j in range(w)]).reshape(c, w, -1).transpose(0, 2, 1)
    both = numpy.stack([numpy.interp(grid[1], numpy.arange(w), row) for row in rows.reshape(-1, w)]).reshape(1, c, 2 * h - 1, -1)
    net.add("Interp", both, "interp_param { zoom_factor: 2 }")
    net.add("Permute", x.transpose(0, 2, 3, 1), "permute_param { order: 0 order: 2 order: 3 order: 1 }")
    net.add("Permute", x.transpose(0, 3, 1, 2), "permute_param { order: [0, 3] }")
    net.add("Reduction", 2 * x.sum((1, 2, 3)), "reduction_param { axis: 1 coeff: 2 }")
    net.add("Reduction", (x * x).sum((2, 3)), "reduction_param { operation: SUMSQ axis: 2 }")
    net.add("Reduction", numpy.abs(x).sum(3), "reduction_param { operation: ASUM axis: -1 }")
    net.add("Reduction", x.mean((2, 3)), "reduction_param { operation: MEAN axis: 2 }")
    net.add("Reshape", x.reshape(n, c // 2, -1, w), "reshape_param { shape { dim: 0 dim: %d dim: -1 dim: %d } }" % (c // 2, w))
    net.add("Reshape", x.reshape(n, c, -1), "reshape_param { shape { dim: -1 } axis: 2 num_axes: 2 }")
    net.add("ShuffleChannel", x.reshape(n, 2, c // 2, h, w).swapaxes(1, 2).reshape(x.shape), "shuffle_channel_param { group: 2 }")
    net.add("Slice", [x[:, :1], x[:, 1:3], x[:, 3:]], "slice_param { slice_point: 1 slice_point: 3 }", tops=["s0", "s1", "s2"])
    net.add("Slice", [x[:, :c // 2], x[:, c // 2:]], "", tops=["s3", "s4"])
    net.add("Split", [x, x], "", tops=["t0", "t1"], bottoms=["data"])
    net.add("Tile", numpy.tile(x, (1, 3, 1, 1)), "tile_param { tiles: 3 }")
    net.add("Upsample", x.repeat(2, 2).repeat(2, 3), "upsample_param { scale: 2 }")
    net.add("Dropout", x, "dropout_param { dropout_ratio: 0.9 }")
    gone = net.add("ReLU", numpy.maximum(x, 0), end=False)
    net.add("Silence", [], bottoms=[gone], tops=["nothing"], end=False)
    net.layers[-1] = net.layers[-1][:5] + ([],)
    flat = x.reshape(n, -1)
    best = numpy.argsort(-flat, 1, kind="stable")[:, :3]
    net.add("ArgMax", numpy.stack([best, numpy.take_along_axis(flat, best, 1)], 1), "argmax_param { out_max_val: true top_k: 3 }")
    net.add("ArgMax", x.argmax(1)[:, None].astype(float), "argmax_param { axis: 1 }")


# ---- SSD

def priors(x, image, sizes, most, ratios, flip, clip, step, variance):
    h, w = x.shape[2:]
    rows, columns = image.shape[2:]
    kept = [1.0]
    for r in ratios:
        for v in [r, 1 / r] if flip else [r]:
            kept += [v] if all(abs(v - k) > 1e-6 for k in kept) else []
    out = []
    for y in range(h):
        for z in range(w):
            cy, cx = (y + 0.5) * (step or rows / h), (z + 0.5) * (step or columns / w)
            for i, size in enumerate(sizes):
                boxes = [(size, size)] + ([(numpy.sqrt(size * most[i]),) * 2] if most else [])
                boxes += [(size * numpy.sqrt(r), size / numpy.sqrt(r)) for r in kept[1:]]
                for bw, bh in boxes:
                    out += [(cx - bw / 2) / columns, (cy - bh / 2) / rows, (cx + bw / 2) / columns, (cy + bh / 2) / rows]
    out = numpy.clip(out, 0, 1) if clip else numpy.array(out)
    return numpy.stack([out, numpy.resize(variance, len(out))])[None]


def overlap(a, b):
    size = [max(0.0, min(a[k + 2], b[k + 2]) - max(a[k], b[k])) for k in (0, 1)]
    both = size[0] * size[1]
    area = [(r[2] - r[0]) * (r[3] - r[1]) for r in (a, b)]
    return both / (area[0] + area[1] - both) if both > 0 else 0.0


def detections(loc, conf, prior, classes, code, background, threshold, least, top, keep):
    count = prior.shape[2] // 4
    p, v, t = prior[0, 0].reshape(count, 4), prior[0, 1].reshape(count, 4), loc.reshape(count, 4)
    size = p[:, 2:] - p[:, :2]
    if code == "CENTER_SIZE":
        centre = v[:, :2] * t[:, :2] * size + (p[:, :2] + p[:, 2:]) / 2
        half = numpy.exp(v[:, 2:] * t[:, 2:]) * size / 2
        boxes = numpy.concatenate([centre - half, centre + half], 1)
    else:
        boxes = p + v * t * (numpy.concatenate([size, size], 1) if code == "CORNER_SIZE" else 1)
    scores = conf.reshape(count, classes)
    found = []
    for k in range(classes):
        if k == background:
            continue
        left = [i for i in numpy.argsort(-scores[:, k], kind="stable") if scores[i, k] > least][:top if top > 0 else None]
        kept = []
        for i in left:
            if all(overlap(boxes[i], boxes[j]) <= threshold for j in kept):
                kept.append(i)
        found += [(k, scores[i, k], i) for i in kept]
    found = sorted(found, key=lambda f: -f[1])[:keep]
    found.sort(key=lambda f: (f[0], -f[1]))
    rows = numpy.full((keep, 7), -1.0)
    for r, (k, score, i) in enumerate(found):
        rows[r] = [0, k, score, *boxes[i]]
    return rows[None, None]


def ssd(net, x):
    image = numpy.zeros((1, 3, 30, 40))
    value = priors(x, image, [8.0, 12.0], [14.0, 20.0], [2.0, 3.0], True, False, 0, [0.1, 0.1, 0.2, 0.2])
    text = "min_size: 8 min_size: 12 max_size: 14 max_size: 20 aspect_ratio: 2 aspect_ratio: 3 variance: 0.1 variance: 0.1 variance: 0.2 variance: 0.2"
    first = net.add("PriorBox", value, "prior_box_param { %s }" % text, bottoms=["data", "image"])
    net.add("PriorBox", priors(x, image, [9.5], [], [1.5], False, True, 4.0, [0.3]),
            "prior_box_param { min_size: 9.5 aspect_ratio: 1.5 flip: false clip: true step: 4 variance: 0.3 offset: 0.5 }", bottoms=["data", "image"])
    net.wanted.pop(first)
    loc, conf = net.values["loc"], net.values["conf"]
    for code, background, top, keep in (("CENTER_SIZE", 0, 40, 20), ("CORNER", -1, -1, 15), ("CORNER_SIZE", 2, 5, 8)):
        wanted = detections(loc, conf, net.values[first], 4, code, background, 0.45, 0.6, top, keep)
        net.add("DetectionOutput", wanted, "detection_output_param { num_classes: 4 share_location: true background_label_id: %d code_type: %s "
                "nms_param { nms_threshold: 0.45 top_k: %d } keep_top_k: %d confidence_threshold: 0.6 }" % (background, code, top, keep),
                bottoms=["loc", "conf", first])


def all_layers(draw):
    x = draw.uniform(-2, 2, (1, 4, 7, 8)).astype(numpy.float32).astype(float)
    boxes = 7 * 8 * 2 * 6
    inputs = {"data": x, "other": draw.uniform(-2, 2, x.shape), "rows": draw.uniform(-2, 2, (1, 4)), "image": numpy.zeros((1, 3, 30, 40)),
              "loc": draw.uniform(-1, 1, (1, 4 * boxes)), "conf": draw.uniform(0, 1, (1, 4 * boxes)),
              "regions": numpy.concatenate([numpy.zeros((4, 1)), draw.uniform(0, 6, (4, 2)), draw.uniform(7, 14, (4, 2))], 1),
              "steps": draw.uniform(-1, 1, (6, 2, 3)), "marks": draw.integers(0, 2, (6, 2)).astype(float), "still": draw.uniform(-1, 1, (2, 2, 2)),
              "words": draw.integers(0, 7, (3, 2)).astype(float)}
    inputs = {k: v.astype(numpy.float32).astype(float) for k, v in inputs.items()}
    net = Net(draw, inputs)
    for part in (windows, more_windows, masks, norms, points, shapes, ssd):
        part(net, inputs["data"])
    over_steps(net)
    return net


def given(net):
    return {name: x.astype(numpy.float32) for name, x in net.inputs.items()}


SMALL = """name: "small"
layer { name: "in" type: "Input" top: "data" input_param { shape: { dim: 1 dim: 2 dim: 5 dim: 5 } } }
layer { name: "train" type: "Data" top: "data" include { phase: TRAIN } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" exclude { stage: "deploy" } }
layer { name: "fc" type: "InnerProduct" bottom: "data" top: "fc" inner_product_param { num_output: 3 } }
layer { name: "relu" type: "ReLU" bottom: "fc" top: "fc" }
layer { name: "drop" type: "Dropout" bottom: "fc" top: "fc" include { phase: TEST min_level: 0 } }
"""


def small(draw):
    """Rules, layers in place, names of files."""
    w, b = draw.standard_normal((3, 50)), draw.standard_normal(3)
    weights = message((1, "small"), (100, message((1, "fc"), (2, "InnerProduct"), (7, message((5, list(w.reshape(-1))))), (7, message((5, list(b)))))))
    x = draw.standard_normal((1, 2, 5, 5)).astype(numpy.float32)
    return x, weights, {"fc": numpy.maximum(x.reshape(1, -1) @ w.T.astype(numpy.float32) + b, 0)}


def files_and_names(t, draw):
    x, weights, wanted = small(draw)
    for net, data in (("a.prototxt", "a.caffemodel"), ("deploy.prototxt", "other.caffemodel"), ("a.prototxt", "a_iter_100.caffemodel")):
        for files in ({net: SMALL, data: weights}, {data: weights, net: SMALL}):
            t.compare(net, t.outputs(t.write(files), {"data": x}), wanted)
    far = t.write({"w.bin": weights})
    t.compare("--weights", t.outputs(t.write({"a.prototxt": SMALL}), {"data": x}, "--weights", far), wanted)
    t.refused({"a.prototxt": SMALL}, "its weights is wanted beside it, as a.caffemodel")
    t.refused({"a.caffemodel": weights}, "its network is wanted beside it, as a.prototxt")
    t.refused({"a.prototxt": SMALL, "b.caffemodel": weights, "c.caffemodel": weights}, "its weights is wanted")
    quiet = SMALL + 'layer { name: "hush" type: "Silence" bottom: "fc" }\n'
    t.compare("silenced", t.outputs(t.write({"a.prototxt": quiet, "a.caffemodel": weights}), {"data": x}), wanted)
    old = 'input: "data" input_dim: 1 input_dim: 2 input_dim: 5 input_dim: 5\n' + "".join(SMALL.splitlines(True)[4:])
    t.compare("input_dim", t.outputs(t.write({"a.prototxt": old, "a.caffemodel": weights}), {"data": x}), wanted)


# Kinds without a layer of the network above; training() has one of each function.
ENDS = {"Input", "Data", "ImageData", "HDF5Data", "WindowData", "MemoryData", "DummyData", "AnnotatedData", "SoftmaxWithLoss", "SigmoidCrossEntropyLoss",
        "Accuracy", "EuclideanLoss", "HingeLoss", "InfogainLoss", "MultinomialLogisticLoss", "ContrastiveLoss", "SmoothL1Loss"}

TRAINING = """name: "training"
layer { name: "mnist" type: "Data" top: "data" top: "label" include { phase: TRAIN } transform_param { scale: 0.0039 } data_param { source: "a" batch_size: 64 } }
layer { name: "mnist" type: "Data" top: "data" top: "label" include { phase: TEST } transform_param { scale: 0.0039 } data_param { source: "b" batch_size: 100 } }
layer { name: "fc" type: "InnerProduct" bottom: "data" top: "fc" inner_product_param { num_output: 3 } }
layer { name: "accuracy" type: "Accuracy" bottom: "fc" bottom: "label" top: "accuracy" include { phase: TEST } }
layer { name: "loss" type: "%s" bottom: "fc" bottom: "label" top: "loss" %s }
"""


def training(t, draw):
    """The file of a training: data is an input, targets are none, a loss gives the probabilities or falls away."""
    x, _, _ = small(draw)
    k, b = draw.standard_normal((3, 50)), draw.standard_normal(3)
    layer = message((100, message((1, "fc"), (2, "InnerProduct"), (7, message((5, list(k.reshape(-1))))), (7, message((5, list(b)))))))
    value = x.reshape(1, -1) @ k.T.astype(numpy.float32) + b
    shape = ("--shape", "data=1x2x5x5")
    for kind, more, wanted in (("SoftmaxWithLoss", "", {"loss": lab.softmax(value, 1)}), ("SoftmaxWithLoss", 'top: "chance"', {"chance": lab.softmax(value, 1)}),
                               ("SigmoidCrossEntropyLoss", "", {"loss": 1 / (1 + numpy.exp(-value))}), ("EuclideanLoss", "", {"fc": value})):
        files = {"a.prototxt": TRAINING % (kind, more), "a.caffemodel": layer}
        t.compare(kind, t.outputs(t.write(files), {"data": x}, *shape), wanted)
    t.refused({"a.prototxt": TRAINING % ("EuclideanLoss", ""), "a.caffemodel": layer}, "give them with --shape data=")
    memory = 'layer { name: "m" type: "%s" top: "data" top: "label" %s }\n'
    rest = "".join(TRAINING.splitlines(True)[3:]) % ("EuclideanLoss", "")
    for kind, sizes in (("MemoryData", "memory_data_param { batch_size: 1 channels: 2 height: 5 width: 5 }"),
                        ("DummyData", "dummy_data_param { shape { dim: [1, 2, 5, 5] } shape { dim: 1 } }")):
        files = {"a.prototxt": memory % (kind, sizes) + rest, "a.caffemodel": layer}
        t.compare(kind, t.outputs(t.write(files), {"data": x}), {"fc": value})


def faults(t, draw):
    _, weights, _ = small(draw)

    def changed(phrase, *pairs, data=weights):
        t.refused({"a.prototxt": lab.replaced(SMALL, pairs), "a.caffemodel": data}, phrase)
    changed("layers that are not supported: Python, Proposal", ('type: "ReLU"', 'type: "Python"'), ('type: "Dropout"', 'type: "Proposal"'))
    changed("nothing before it gives 'date'", ('bottom: "data"', 'bottom: "date"'))
    changed("blob 0 has 150 weights, expected 200", ("num_output: 3", "num_output: 4"))
    changed("num_output 'x3' is no number", ("num_output: 3", "num_output: x3"))
    changed("num_output is 1e+12, expected 1 to 16777216", ("num_output: 3", "num_output: 1e12"))
    changed("the file of weights has 0 blobs for it", ('name: "fc"', 'name: "fd"'))
    changed("line 6: expected a colon or a brace", ('type: "ReLU"', '; type'))
    changed("line 8: expected a brace that closes a message", ("level: 0 } }", "level: 0 }"))
    changed("line 1: expected the end of a text", ('"small"', '"small'))
    changed("more than 32 messages in each other", ("input_param {", "a {" * 40 + "}" * 40 + " input_param {"))
    changed("layer 'fc' (InnerProduct), line 5: the field normalize of inner_product_param in line 5 is not known", ("num_output: 3", "num_output: 3 normalize: true"))
    conv = 'type: "Convolution" bottom: "data" top: "fc" convolution_param { num_output: 3 kernel_size: 1 %s }'
    dense = 'type: "InnerProduct" bottom: "data" top: "fc" inner_product_param { num_output: 3 }'
    changed("fuse_type FUSED_CONV_SUM", (dense, conv % "fuse_type: FUSED_CONV_SUM bias_term: false"), data=message((100, message((1, "fc"), (7, message((5, [1.0] * 6)))))))
    changed("2 bottoms with as many channels and 1 tops", (dense, (conv % "").replace('bottom: "data"', 'bottom: "data" bottom: "data"')))
    changed("one of more than 2", (dense, conv % "kernel_size: 1 kernel_size: 1"))
    changed("is cut off or damaged", data=weights[:-5])
    changed("input 'data' has sizes that the model leaves open", ("dim: 5 dim: 5", "dim: 5 dim: 0"))
    changed("layers of Caffe's version 0", ('layer { name: "fc" type: "InnerProduct"', 'layers { layer { name: "fc" type: "innerproduct" }'))
    last = '\nlayer { name: "p" type: "Pooling" bottom: "data" top: "p" pooling_param { kernel_size: 1 stride: 4 pad: 0 %s } }'
    pooled = SMALL.replace("dim: 5 dim: 5", "dim: 6 dim: 6").split('layer { name: "fc"')[0] + last
    t.refused({"a.prototxt": pooled % "", "a.caffemodel": weights}, "begins behind the input")
    t.refused({"a.prototxt": pooled % "pool: STOCHASTIC", "a.caffemodel": weights}, "MAX with a mask, too, and AVE")


def main():
    draw = numpy.random.default_rng(word_seed.told())
    rows = rows_of(sys.argv[2] + "/compiler/src/caffe/layers.def")
    lab.rows_of_readme(sys.argv[2] + "/compiler/src/caffe/README.md", [name for name, _ in rows])
    with tempfile.TemporaryDirectory() as work:
        t = lab.Lab(sys.argv[1], work)
        for _ in range(2):
            net = all_layers(draw)
            missing = {name for name, _ in rows} - {layer[1] for layer in net.layers} - ENDS
            if missing:
                sys.exit("no layer of the kinds %s" % missing)
            path = t.write({"net.prototxt": net.text(), "net.caffemodel": net.weights()})
            worst = t.compare("layers of version 2", t.outputs(path, given(net)), net.wanted)
            old = {name: v1 for name, v1 in rows if v1}
            first = net.without(old)
            path = t.write({"net.prototxt": first.text(old), "net.caffemodel": first.weights(old=True)})
            worst = max(worst, t.compare("layers of version 1", t.outputs(path, given(net)), first.wanted))
            files_and_names(t, draw)
            training(t, draw)
        faults(t, draw)
        _, weights, _ = small(draw)
        for name in ("a.prototxt", "a.caffemodel"):
            t.damaged({"a.prototxt": SMALL, "a.caffemodel": weights}, name, step=31)
        print("%d layers, off by at most %g of their range; %d runs of vtac" % (len(net.layers) + len(first.layers), worst, t.runs))


main()
