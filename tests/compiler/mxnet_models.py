#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Models of MXNet, written here as it writes them: every row of operators.def against plain loops in double, with attributes in
# all three spellings and arrays with all three headers; files beside each other; damage, which gets one line; the README's table.
#
# usage: mxnet_models.py VTAC SOURCE   (exit status 77: no numpy)
import json
import re
import struct
import sys
import tempfile

try:
    import numpy
    import word_seed
except ImportError:
    sys.exit(77)

import importer_lab as lab

DTYPES = {"float32": 0, "float64": 1, "float16": 2, "uint8": 3, "int32": 4, "int8": 5, "int64": 6}


def rows_of(path):
    with open(path) as f:
        return re.findall(r'^VTAC_MXNET_OP\("[^"]*", "([^"]*)"', f.read(), re.M)


def params(arrays, header=0):
    """Arrays by name, the header of each of a version: 0 the newest, 1 and 2 older ones."""
    out = struct.pack("<QQQ", 0x112, 0, len(arrays))
    for i, a in enumerate(arrays.values()):
        a = numpy.asarray(a)
        kind = (header + i) % 3
        dims = struct.pack("<%d%s" % (a.ndim, "I" if kind == 2 else "q"), *a.shape)
        mark = [struct.pack("<Ii", 0xF993FAC9, 0), struct.pack("<I", 0xF993FAC8), b""][kind]
        out += mark + struct.pack("<I", a.ndim) + dims + struct.pack("<iiI", 1, 0, DTYPES[str(a.dtype)]) + a.tobytes()
    out += struct.pack("<Q", len(arrays))
    for name in arrays:
        out += struct.pack("<Q", len(name)) + name.encode()
    return out


class Symbol:
    """Branches from the inputs, each an operator with its arrays and what it should give."""

    def __init__(self, draw, inputs, spelling):
        self.draw, self.inputs, self.spelling, self.nodes, self.arrays, self.wanted, self.heads = draw, inputs, spelling, [], {}, {}, []
        self.numbers = {name: self.variable(name) for name in inputs}
        self.used = set()

    def variable(self, name, **attrs):
        return self.node("null", name, [], attrs)

    def node(self, op, name, inputs, attrs):
        attrs = {k: str(v) for k, v in attrs.items()}
        node = {"op": op, "name": name, "inputs": [(list(i) if isinstance(i, tuple) else [i, 0]) + [0] * (self.spelling == "attrs") for i in inputs]}
        if self.spelling == "param":
            node.update({"param": {} if op == "null" else attrs, "attr": attrs if op == "null" else {"lr_mult": "2"}, "backward_source_id": -1})
        elif attrs:
            node[self.spelling] = attrs
        self.nodes.append(node)
        return len(self.nodes) - 1

    def array(self, value, name=None, kind="arg:"):
        name = name or "w%d" % len(self.arrays)
        self.arrays[kind + name] = value
        return self.variable(name)

    def draws(self, *shape, low=-1.0, high=1.0):
        return self.draw.uniform(low, high, shape).astype(numpy.float32)

    def add(self, op, value, arrays=(), inputs=("data",), head=True, name=None, **attrs):
        name = name or "%s_%d" % (op.lower(), len(self.nodes))
        numbers = [self.numbers[i] if isinstance(i, str) else i for i in inputs] + [self.array(a) if isinstance(a, numpy.ndarray) else a for a in arrays]
        at = self.node(op, name, numbers, attrs)
        self.used.add(op)
        several = isinstance(value, list)
        for i, v in enumerate(value if several else [value]):
            if head:
                self.heads.append([at, i, 0])
                self.wanted["%s_output%d" % (name, i) if several else name] = v
        return at

    def text(self):
        arguments = [i for i, n in enumerate(self.nodes) if n["op"] == "null"]
        return json.dumps({"nodes": self.nodes, "arg_nodes": arguments, "heads": self.heads, "attrs": {"mxnet_version": ["int", 10300]}}, indent=2)


def windows(s, x):
    c = x.shape[1]
    w, b = s.draws(6, c, 3, 3), s.draws(6)
    for op in ("Convolution", "Convolution_v1"):
        s.add(op, lab.conv(x, w, b, (2, 1), (1, 0, 1, 0)), [w, b], kernel="(3,3)", stride="(2, 1)", pad="(1, 0)", num_filter=6, workspace=512)
    w = s.draws(8, c // 2, 3, 2)
    s.add("Convolution", lab.conv(x, w, None, (1, 1), (2, 0, 2, 0), (2, 1), 2), [w], kernel="(3L, 2L)", pad="[2, 0]", dilate="(2, 1)", num_group=2,
          num_filter=8, no_bias="True", layout="NCHW")
    w = s.draws(c, 3, 4, 4)
    s.add("Deconvolution", lab.deconv(x, w, None, (2, 2), (1, 1, 1, 1), 2), [w], kernel="(4, 4)", stride="(2, 2)", pad="(1, 1)", num_filter=6, num_group=2)
    w, b = s.draws(c, 5, 3, 3), s.draws(5)
    full = numpy.pad(lab.deconv(x, w, None, (2, 2), (1, 1, 1, 1)), ((0, 0), (0, 0), (0, 1), (0, 1)))
    whole = lab.deconv(x, w, None, (2, 2))
    full[:, :, -1, :] = whole[:, :, full.shape[2], 1:1 + full.shape[3]]
    full[:, :, :, -1] = whole[:, :, 1:1 + full.shape[2], full.shape[3]]
    s.add("Deconvolution", full + b.reshape(-1, 1, 1), [w, b], kernel="(3, 3)", stride="(2, 2)", pad="(1, 1)", adj="(1, 1)", num_filter=5, no_bias=False)
    s.add("Deconvolution", full, [w], kernel="(3, 3)", stride="(2, 2)", target_shape="(%d, %d)" % full.shape[2:], num_filter=5)
    for op, kind, kernel, stride, pad, rule, counted in (
            ("Pooling", "max", 3, 2, 0, "full", True), ("Pooling", "avg", 3, 2, 1, "full", True), ("Pooling", "avg", 3, 2, 1, "valid", True),
            ("Pooling", "avg", 3, 2, 1, "full", False), ("Pooling_v1", "max", 2, 3, 1, "valid", True)):
        up = -1 if rule == "full" else 1
        counts = [up * ((up * (d + 2 * pad - kernel)) // stride) + 1 for d in x.shape[2:]]
        value = lab.pool(x, "max" if kind == "max" else "mean", (kernel,) * 2, (stride,) * 2, (pad,) * 2, counts, counted)
        more = {} if counted else {"count_include_pad": "False"}
        s.add(op, value, kernel="(%d, %d)" % (kernel, kernel), stride="(%d, %d)" % (stride, stride), pad="(%d, %d)" % (pad, pad), pool_type=kind,
              pooling_convention=rule, **more)
    s.add("Pooling", x.mean((2, 3), keepdims=True), pool_type="avg", global_pool="True", kernel="(1, 1)")
    s.add("Pooling", x.max((2, 3), keepdims=True), pool_type="max", global_pool=1)
    line, w = x.reshape(len(x), c, -1), s.draws(3, c, 5)
    flat = s.add("Reshape", line, head=False, shape="(0, 0, -1)")
    s.add("Convolution", lab.conv(line[:, :, None], w[:, :, None])[:, :, 0], [w], inputs=[flat], kernel="(5,)", num_filter=3, no_bias="True")
    w, b = s.draws(5, x[0].size), s.draws(5)
    s.add("FullyConnected", x.reshape(len(x), -1) @ w.T + b, [w, b], num_hidden=5)
    w = s.draws(4, x.shape[3])
    s.add("FullyConnected", x @ w.T, [w], num_hidden=4, flatten="False", no_bias="True")
    y = x.reshape(c, -1)
    m = s.add("Reshape", y, head=False, shape="(%d, -1)" % c)
    s.add("dot", y @ y.T, inputs=[m, m], transpose_b="True")
    y = x.reshape(c, x.shape[2], -1)
    m = s.add("Reshape", y, head=False, shape="(-3, 0, 0)")
    s.add("batch_dot", y.swapaxes(1, 2) @ y, inputs=[m, m], transpose_a="True")
    table, places = s.draws(7, 3), numpy.array([2, 0, 6], dtype=numpy.float32)
    s.add("Embedding", table[places.astype(int)], [table], inputs=[s.array(places)], input_dim=7, output_dim=3)


def norms(s, x):
    c = x.shape[1]
    col = (-1, 1, 1)
    for op, fixed, eps in (("BatchNorm", "False", 1e-5), ("BatchNorm_v1", None, None), ("CuDNNBatchNorm", "False", 0.01)):
        gamma, beta, mean, var = s.draws(c), s.draws(c), s.draws(c), s.draws(c, low=0.2, high=2.0)
        factor = gamma if fixed == "False" else numpy.ones(c)
        value = (x - mean.reshape(col)) / numpy.sqrt(var.reshape(col).astype(float) + (eps or 1e-3)) * factor.reshape(col) + beta.reshape(col)
        name = "norm_%d" % len(s.nodes)
        arrays = [s.array(gamma), s.array(beta)]
        more = {k: v for k, v in (("fix_gamma", fixed), ("eps", eps)) if v is not None}
        if s.spelling == "param": # before 1.0 the symbol does not name them
            s.arrays["aux:" + name + "_moving_mean"], s.arrays["aux:" + name + "_moving_var"] = mean, var
        else:
            arrays += [s.array(mean, kind="aux:"), s.array(var, kind="aux:")]
        s.add(op, value, arrays, name=name, **more)
    gamma, beta = s.draws(c), s.draws(c)
    value = (x - x.mean((2, 3), keepdims=True)) / numpy.sqrt(x.var((2, 3), keepdims=True) + 1e-3)
    s.add("InstanceNorm", value * gamma.reshape(col) + beta.reshape(col), [gamma, beta])
    gamma, beta = s.draws(x.shape[3]), s.draws(x.shape[3])
    s.add("LayerNorm", (x - x.mean(-1, keepdims=True)) / numpy.sqrt(x.var(-1, keepdims=True) + 1e-4) * gamma + beta, [gamma, beta], axis=-1, eps=1e-4)
    for mode, axes in (("instance", (1, 2, 3)), ("channel", 1), ("spatial", (2, 3))):
        s.add("L2Normalization", x / numpy.sqrt((x * x).sum(axes, keepdims=True) + 1e-10), mode=mode)
    square = numpy.pad(x * x, ((0, 0), (1, 1), (0, 0), (0, 0)))
    total = sum(square[:, i:i + c] for i in range(3))
    s.add("LRN", x / (2 + 0.3 / 3 * total) ** 0.75, nsize=3, alpha=0.3)


def points(s, x):
    sigmoid = 1 / (1 + numpy.exp(-x))
    for kind, value in (("relu", numpy.maximum(x, 0)), ("sigmoid", sigmoid), ("tanh", numpy.tanh(x)), ("softrelu", numpy.log1p(numpy.exp(x))),
                        ("softsign", x / (1 + abs(x)))):
        s.add("Activation", value, act_type=kind)
    slopes = s.draws(x.shape[1])
    s.add("LeakyReLU", numpy.where(x > 0, x, slopes.reshape(-1, 1, 1) * x), [slopes], act_type="prelu", slope=0.25)
    s.add("LeakyReLU", numpy.where(x > 0, x, 0.25 * x))
    s.add("LeakyReLU", numpy.where(x > 0, x, 0.2 * x), act_type="rrelu", lower_bound=0.1, upper_bound=0.3)
    s.add("LeakyReLU", numpy.where(x > 0, x, 0.5 * (numpy.exp(x) - 1)), act_type="elu", slope=0.5)
    s.add("LeakyReLU", 1.0507009873554805 * numpy.where(x > 0, x, 1.6732632423543772 * (numpy.exp(x) - 1)), act_type="selu")
    s.add("softmax", lab.softmax(x / 2, 1), axis=1, temperature=2.0)
    s.add("log_softmax", numpy.log(lab.softmax(x, -1)))
    flat = lab.softmax(x.reshape(len(x), -1), 1).reshape(x.shape)
    s.add("SoftmaxActivation", lab.softmax(x, 1), mode="channel")
    s.add("SoftmaxActivation", flat)
    label = s.variable("softmax_label")
    s.add("SoftmaxOutput", flat, inputs=["data", label], grad_scale=1)
    s.add("SoftmaxOutput", lab.softmax(x, 1), inputs=["data", label], multi_output="True")
    s.add("Softmax", lab.softmax(x, 3), inputs=["data", label], preserve_shape="True")
    for op, value in (("LogisticRegressionOutput", sigmoid), ("LinearRegressionOutput", x), ("MAERegressionOutput", x)):
        s.add(op, value, inputs=["data", label])
    for op, value in (("relu", numpy.maximum(x, 0)), ("sigmoid", sigmoid), ("tanh", numpy.tanh(x)), ("exp", numpy.exp(x)), ("abs", abs(x)), ("negative", -x),
                      ("softsign", x / (1 + abs(x))), ("floor", numpy.floor(x)), ("ceil", numpy.ceil(x)), ("square", x * x)):
        s.add(op, value)
    positive = s.add("_plus_scalar", x + 3, scalar=3.0)
    s.add("log", numpy.log(x + 3), inputs=[positive])
    s.add("sqrt", numpy.sqrt(x + 3), inputs=[positive])
    s.add("clip", numpy.clip(x, -0.5, 1), a_min=-0.5, a_max=1.0)
    y = s.inputs["other"]
    for names, f in ((("elemwise_add", "_plus", "_Plus", "broadcast_add", "broadcast_plus"), numpy.add), (("_maximum", "_Maximum", "broadcast_maximum"), numpy.maximum),
                     (("elemwise_sub", "_minus", "_Minus", "broadcast_sub", "broadcast_minus"), numpy.subtract), (("elemwise_mul", "_mul", "_Mul", "broadcast_mul"), numpy.multiply),
                     (("_minimum", "_Minimum", "broadcast_minimum"), numpy.minimum)):
        for op in names:
            s.add(op, f(x, y), inputs=["data", "other"])
    for op in ("elemwise_div", "_div", "_Div", "broadcast_div"):
        s.add(op, x / (x + 3), inputs=["data", positive])
    s.add("broadcast_power", (x + 3) ** 2.5, inputs=[positive, s.array(numpy.full((1, 1, 1, 1), 2.5, numpy.float32))])
    for op in ("add_n", "ElementWiseSum"):
        s.add(op, x + y + x, inputs=["data", "other", "data"], num_args=3)
    for names, f in ((("_PlusScalar",), lambda v: v + 1.5), (("_minus_scalar", "_MinusScalar"), lambda v: v - 1.5), (("_rminus_scalar", "_RMinusScalar"), lambda v: 1.5 - v),
                     (("_mul_scalar", "_MulScalar"), lambda v: v * 1.5), (("_div_scalar", "_DivScalar"), lambda v: v / 1.5), (("_rdiv_scalar",), lambda v: 1.5 / v),
                     (("_power_scalar", "_PowerScalar"), lambda v: v ** 1.5), (("_maximum_scalar", "_MaximumScalar"), lambda v: numpy.maximum(v, 1.5)),
                     (("_minimum_scalar", "_MinimumScalar"), lambda v: numpy.minimum(v, 1.5))):
        for op in names:
            s.add(op, f(x + 3), inputs=[positive], scalar="1.5")


def shapes(s, x):
    n, c, h, w = x.shape
    y = s.inputs["other"]
    s.add("mean", x.mean((2, 3)), axis="(2, 3)")
    s.add("sum", x.sum((0, 2, 3)), axis="1", exclude="True")
    s.add("sum_axis", x.sum(1, keepdims=True), axis="(1,)", keepdims="True")
    s.add("max", x.max().reshape(1))
    s.add("max_axis", x.max(-1), axis=-1)
    s.add("min", x.min((1, 2)), axis="(1, 2)")
    s.add("argmax", x.argmax(1).astype(float), axis=1)
    for op in ("Flatten", "flatten"):
        s.add(op, x.reshape(n, -1))
    for op, shape, to in (("Reshape", "(0, 2, -1, 0)", (n, 2, -1, w)), ("reshape", "(-2, 1, 1)", (n, c, h, w, 1, 1)), ("Reshape", "(0, -3, -2)", (n, c * h, w)),
                          ("Reshape", "(0, -4, 2, -1, 0, 0)", (n, 2, c // 2, h, w)), ("Reshape", "(-1,)", (-1,))):
        s.add(op, x.reshape(to), shape=shape)
    thin = s.add("expand_dims", x[:, :, None], axis=2)
    s.add("squeeze", x[0], axis="(0,)")
    s.add("squeeze", x.squeeze(), inputs=[thin])
    s.add("transpose", x.transpose(0, 2, 3, 1), axes="(0, 2, 3, 1)")
    s.add("transpose", x.T)
    for op in ("SwapAxis", "swapaxes"):
        s.add(op, x.swapaxes(1, 3), dim1=1, dim2=3)
    for op in ("Concat", "concat"):
        s.add(op, numpy.concatenate([x, y], 2), inputs=["data", "other"], dim=2, num_args=2)
    s.add("stack", numpy.stack([x, y], 1), inputs=["data", "other"], axis=1, num_args=2)
    s.add("SliceChannel", numpy.split(x, 2, 1), num_outputs=2)
    parts = s.add("split", [x[:, i] for i in range(c)], num_outputs=c, axis=1, squeeze_axis="True")
    s.add("relu", numpy.maximum(x[:, 1], 0), inputs=[(parts, 1)])
    s.add("slice_axis", x[:, :, 1:-1], axis=2, begin=1, end=-1)
    s.add("slice_axis", x[..., 2:], axis=3, begin=2, end="None")
    for op in ("slice", "crop"):
        s.add(op, x[:, 1:, :h - 1], begin="(None, 1, 0)", end="(None, None, -1)")
    small = s.add("slice_axis", x[:, :, 1:4, :], axis=2, begin=1, end=4)
    s.add("Crop", x[:, :, 2:5], inputs=["data", small], offset="(2, 0)", num_args=2)
    s.add("Crop", x[:, :, (h - 3) // 2:(h - 3) // 2 + 3, (w - 4) // 2:(w - 4) // 2 + 4], h_w="(3, 4)", center_crop="True", num_args=1)
    wide = ((0, 0), (0, 0), (1, 2), (0, 3))
    for op, mode, value in (("Pad", "constant", numpy.pad(x, wide, constant_values=1.5)), ("pad", "edge", numpy.pad(x, wide, "edge")), ("Pad", "reflect", numpy.pad(x, wide, "reflect"))):
        s.add(op, value, mode=mode, pad_width="(0, 0, 0, 0, 1, 2, 0, 3)", constant_value=1.5)
    s.add("tile", numpy.tile(x, (1, 2, 1, 3)), reps="(1, 2, 1, 3)")
    s.add("UpSampling", x.repeat(3, 2).repeat(3, 3), scale=3, sample_type="nearest", num_args=1)
    k = s.draws(c, 1, 4, 4)
    s.add("UpSampling", lab.deconv(x, k, None, (2, 2), (1, 1, 1, 1), c), [k], scale=2, sample_type="bilinear", num_filter=c)
    for op in ("Dropout", "identity", "_copy", "BlockGrad", "stop_gradient", "MakeLoss"):
        s.add(op, x)
    whole = s.add("Cast", numpy.trunc(x), dtype="int32", head=False)
    s.add("cast", numpy.trunc(x), inputs=[whole], dtype="float32")


def sigmoid(v):
    return 1 / (1 + numpy.exp(-v))


def cell(mode, x, h, c, w, u, b, d):
    """One direction of one layer by plain loops, gates in the file's order."""
    out = []
    for v in x:
        g, k = v @ w.T + b, h @ u.T + d
        if mode == "lstm":
            i, f, n, o = numpy.split(g + k, 4, 1)
            c = sigmoid(f) * c + sigmoid(i) * numpy.tanh(n)
            h = sigmoid(o) * numpy.tanh(c)
        elif mode == "gru":
            (r, z, n), (rk, zk, nk) = numpy.split(g, 3, 1), numpy.split(k, 3, 1)
            z = sigmoid(z + zk)
            h = (1 - z) * numpy.tanh(n + sigmoid(r + rk) * nk) + z * h
        else:
            h = numpy.tanh(g + k) if mode == "rnn_tanh" else numpy.maximum(g + k, 0)
        out.append(h)
    return numpy.stack(out), h, c


def recurrent(s, x):
    """All kinds of cells, layers behind each other, both directions, states shown or not."""
    units, data = 3, x.reshape(7, 4, 8)
    steps = s.node("Reshape", "steps", [s.numbers["data"]], {"shape": "(7, 4, 8)"})
    for mode, gates, layers, both, shown in (("lstm", 4, 2, True, True), ("gru", 3, 1, True, False), ("rnn_tanh", 1, 2, False, True), ("rnn_relu", 1, 1, False, False)):
        ways, weights, biases = 2 if both else 1, [], []
        for i in range(layers):
            for _ in range(ways):
                inputs = 8 if i == 0 else ways * units
                weights += [s.draws(gates * units, inputs, low=-0.5, high=0.5), s.draws(gates * units, units, low=-0.5, high=0.5)]
                biases += [s.draws(gates * units), s.draws(gates * units)]
        states = [s.draws(layers * ways, 4, units) for _ in range(2 if mode == "lstm" else 1)]
        y, last = data, [[], []]
        for i in range(layers):
            parts = []
            for d in range(ways):
                k = i * ways + d
                given = [v[k].astype(float) for v in states] + [None]
                out, h, c = cell(mode, y[::-1] if d else y, given[0], given[1], weights[2 * k].astype(float), weights[2 * k + 1].astype(float), biases[2 * k], biases[2 * k + 1])
                parts.append(out[::-1] if d else out)
                last[0].append(h)
                last[1].append(c)
            y = numpy.concatenate(parts, 2)
        row = numpy.concatenate([v.reshape(-1) for v in weights + biases])
        value = [y] + [numpy.stack(v) for v in last[:len(states)]] if shown else y
        s.add("RNN", value, [row] + states, inputs=[steps], mode=mode, state_size=units, num_layers=layers, bidirectional=str(both), state_outputs=str(shown), p="0.0")


def resized(x, rows, columns, corners):
    """Bilinear."""
    def places(count, size):
        at = numpy.arange(count) * (size - 1) / (count - 1) if corners else numpy.clip((numpy.arange(count) + 0.5) * size / count - 0.5, 0, size - 1)
        low = numpy.minimum(at.astype(int), size - 2)
        return low, at - low
    (r, fr), (k, fk) = places(rows, x.shape[2]), places(columns, x.shape[3])
    y = x[:, :, r] * (1 - fr)[:, None] + x[:, :, r + 1] * fr[:, None]
    return y[..., k] * (1 - fk) + y[..., k + 1] * fk


def vision(s, x):
    """Operators of detectors and of networks for segmentation."""
    n, c, h, w = x.shape
    s.add("hard_sigmoid", numpy.clip(0.2 * x + 0.5, 0, 1))
    s.add("hard_sigmoid", numpy.clip(0.3 * x + 0.25, 0, 1), alpha=0.3, beta=0.25)
    part = s.add("slice", x[:, 1:, :h - 2, :w - 1], begin="(None, 1, 0, 0)", end="(None, None, -2, -1)")
    s.add("slice_like", x[:, :c - 1, :h - 2, :w - 1], inputs=["data", part])
    s.add("slice_like", x[:, :, :h - 2, :w - 1], inputs=["data", part], axes="(2, -1)")
    for corners in (True, False):
        s.add("_contrib_BilinearResize2D", resized(x, 11, 17, corners), height=11, width=17, align_corners=str(corners))
    s.add("_contrib_BilinearResize2D", resized(x, 2 * h, 3 * w, True), scale_height=2, scale_width=3)
    s.add("_contrib_AdaptiveAvgPooling2D", x.mean((2, 3), keepdims=True))
    s.add("_contrib_AdaptiveAvgPooling2D", x.reshape(n, c, h, w // 4, 4).mean(4), output_size="(%d, %d)" % (h, w // 4))
    s.add("Pooling", x.sum((2, 3), keepdims=True), pool_type="sum", global_pool="True", kernel="(2, 2)")
    counts = [(v + 2 - 3) // 2 + 1 for v in (h, w)]
    s.add("Pooling", 9 * lab.pool(x, "mean", (3, 3), (2, 2), (1, 1), counts, True), pool_type="sum", kernel="(3, 3)", stride="(2, 2)", pad="(1, 1)")
    regions = numpy.array([[0, 2, 2, 10, 12], [0, 4, 0, 15, 9]], numpy.float32)
    found = numpy.zeros((2, c, 2, 2))
    for i, (left, top, right, bottom) in enumerate(((1, 1, 5, 6), (2, 0, 8, 5))):
        high, broad = bottom - top + 1, right - left + 1
        for a in range(2):
            for b in range(2):
                r = slice(top + a * high // 2, min(top - (-(a + 1) * high // 2), h))
                k = slice(left + b * broad // 2, min(left - (-(b + 1) * broad // 2), w))
                found[i, :, a, b] = x[0, :, r, k].max((1, 2))
    s.add("ROIPooling", found, [regions], pooled_size="(2, 2)", spatial_scale=0.5)


def all_operators(draw, spelling):
    x = draw.uniform(-2, 2, (1, 4, 7, 8)).astype(numpy.float32)
    s = Symbol(draw, {"data": x, "other": draw.uniform(-2, 2, x.shape).astype(numpy.float32)}, spelling)
    for part in (windows, norms, points, shapes, vision, recurrent):
        part(s, x.astype(float))
    return s


def shape_options(inputs):
    return [w for name, x in inputs.items() for w in ("--shape", "%s=%s" % (name, "x".join(map(str, x.shape))))]


def small(draw):
    """A symbol that knows its input's shape, with weights of other types than f32."""
    s = Symbol(draw, {}, "attrs")
    s.numbers["data"] = s.variable("data", __shape__="(0, 2, 5, 5)")
    x = draw.standard_normal((1, 2, 5, 5)).astype(numpy.float32)
    w, b = draw.standard_normal((3, 50)).astype(numpy.float16), draw.standard_normal(3)
    s.add("FullyConnected", numpy.maximum(x.reshape(1, -1) @ w.astype(float).T + b, 0), [w, b], name="fc", num_hidden=3)
    return s, x


def files_and_names(t, draw):
    s, x = small(draw)
    s.wanted = {"fc": x.reshape(1, -1) @ s.arrays["arg:w0"].astype(float).T + s.arrays["arg:w1"]}
    data = params(s.arrays)
    for net, weights in (("a-symbol.json", "a-0007.params"), ("a-symbol.json", "a.params"), ("model.json", "other.params")):
        for files in [{net: s.text(), weights: data}] + [{weights: data, net: s.text()}] * (net[0] == "a"):
            t.compare(net, t.outputs(t.write(files), {"data": x}), s.wanted)
    later = {"a-symbol.json": s.text(), "a-0002.params": data, "a-0001.params": params({k: 0 * v for k, v in s.arrays.items()})}
    t.compare("the last of several", t.outputs(t.write(later), {"data": x}), s.wanted)
    far = t.write({"w.bin": data})
    t.compare("--weights", t.outputs(t.write({"a.json": s.text()}), {"data": x}, "--weights", far), s.wanted)
    t.refused({"a-symbol.json": s.text()}, "its weights is wanted beside it, as a.params")
    t.refused({"a-0001.params": data}, "its symbol is wanted beside it, as a-symbol.json")


def label_through_operators(t, draw):
    """Operators that a label alone goes through are not there, whatever they are."""
    s, x = small(draw)
    label = s.node("Reshape", "flat", [s.node("Unknown", "drawn", [s.variable("label")], {})], {"shape": "(-1,)"})
    end = s.node("SoftmaxOutput", "softmax", [len(s.nodes) - 4, label], {})
    s.heads = [[end, 0, 0]]
    value = x.reshape(1, -1) @ s.arrays["arg:w0"].astype(float).T + s.arrays["arg:w1"]
    path = t.write({"a-symbol.json": s.text(), "a-0000.params": params(s.arrays)})
    t.compare("a label", t.outputs(path, {"data": x}), {"softmax": lab.softmax(value, 1)})


def faults(t, draw):
    s, _ = small(draw)
    data, text = params(s.arrays), s.text()

    def changed(phrase, *pairs, weights=data):
        t.refused({"a-symbol.json": lab.replaced(text, pairs), "a-0000.params": weights}, phrase)
    changed("operators that are not supported: _contrib_a_name_of_forty_letters_and_more", ('"FullyConnected"', '"_contrib_a_name_of_forty_letters_and_more"'))
    changed("input 'w1' has sizes that the model leaves open", weights=params({k: v for k, v in s.arrays.items() if k != "arg:w1"}))
    changed("is no list of at most 8 numbers", ("(0, 2, 5, 5)", "(0, 2, x)"))
    changed("inner sizes 75 and 50 differ", ("(0, 2, 5, 5)", "(0, 3, 5, 5)"))
    changed("an input of another node than the 3 before it", ('"inputs": [\n        [\n          0,', '"inputs": [\n        [\n          9,'))
    changed("the file of weights ends at byte", weights=data[:60])
    changed("elements of the unknown type 9", weights=params({"arg:a": numpy.zeros(2, numpy.int8)}).replace(struct.pack("<iiI", 1, 0, 5), struct.pack("<iiI", 1, 0, 9)))
    changed("a sparse array", weights=data.replace(struct.pack("<Ii", 0xF993FAC9, 0), struct.pack("<Ii", 0xF993FAC9, 1)))
    pool = Symbol(draw, {"data": numpy.zeros((1, 1, 3, 3))}, "attrs")
    pool.add("Pooling", None, kernel="(2, 2)", stride="(2, 2)", pad="(1, 1)", pool_type="max", pooling_convention="full")
    t.refused({"a-symbol.json": pool.text(), "a-0000.params": params({})}, "the last of 3 windows begins behind the input", "--shape", "data=1x1x3x3")
    pool.nodes[-1]["attrs"]["pool_type"] = "lp"
    t.refused({"a-symbol.json": pool.text(), "a-0000.params": params({})}, "a pool of type lp", "--shape", "data=1x1x3x3")


def main():
    draw = numpy.random.default_rng(word_seed.told())
    rows = rows_of(sys.argv[2] + "/compiler/src/mxnet/operators.def")
    lab.rows_of_readme(sys.argv[2] + "/compiler/src/mxnet/README.md", rows)
    worst = 0.0
    with tempfile.TemporaryDirectory() as work:
        t = lab.Lab(sys.argv[1], work)
        for i, spelling in enumerate(("attrs", "attr", "param")):
            s = all_operators(draw, spelling)
            if set(rows) != s.used:
                sys.exit("not tested: %s" % (set(rows) - s.used))
            path = t.write({"net-symbol.json": s.text(), "net-0000.params": params(s.arrays, i)})
            worst = max(worst, t.compare(spelling, t.outputs(path, s.inputs, *shape_options(s.inputs)), s.wanted))
            files_and_names(t, draw)
            label_through_operators(t, draw)
        faults(t, draw)
        s, _ = small(draw)
        for name in ("a-symbol.json", "a-0000.params"):
            t.damaged({"a-symbol.json": s.text(), "a-0000.params": params(s.arrays)}, name, step=31)
        print("%d operators in three spellings, off by at most %g of their range; %d runs of vtac" % (len(rows), worst, t.runs))


main()
