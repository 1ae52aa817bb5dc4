#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Nets of Caffe2, written here as messages: every row of operators.def against plain loops in double, with the channels first and
# last; 8-bit operators against their integers; files beside each other; damage, which gets one line; and the README's table.
#
# usage: caffe2_models.py VTAC SOURCE   (exit status 77: no numpy)
import re
import sys
import tempfile

try:
    import numpy
    import word_seed
except ImportError:
    sys.exit(77)

import importer_lab as lab
from messages import message


def rows_of(path):
    with open(path) as f:
        return re.findall(r'^VTAC_CAFFE2_OP\("[^"]*", "([^"]*)"', f.read(), re.M)


def operator(kind, inputs, outputs, **args):
    fields = [(1, i) for i in inputs] + [(2, o) for o in outputs] + [(4, kind)]
    for name, value in args.items():
        if isinstance(value, float):
            own = [(2, value)]
        elif isinstance(value, (str, bytes)):
            own = [(4, value)]
        elif isinstance(value, int):
            own = [(3, value)]
        else:
            floats = len(value) > 0 and isinstance(value[0], float)
            own = [(5 if floats else 6, v) for v in value] # one tag each
        fields.append((5, message((1, name), *own)))
    return message(*fields)


class Net:
    """Branches from the inputs, each an operator with its weights and what it should give."""

    def __init__(self, draw, inputs):
        self.draw, self.inputs, self.init, self.ops, self.wanted, self.used, self.names = draw, inputs, [], [], {}, set(), list(inputs)

    def numbers(self, *shape, low=-1.0, high=1.0):
        return self.draw.uniform(low, high, shape).astype(numpy.float32).astype(float)

    def fill(self, value, packed=False):
        value = numpy.asarray(value)
        name = "w%d" % len(self.init)
        kinds = {"f": "GivenTensorFill", "i": "GivenTensorInt64Fill" if value.dtype == numpy.int64 else "GivenTensorIntFill"}
        kind = kinds[value.dtype.kind]
        flat = [v.item() for v in value.reshape(-1)]
        self.init.append(operator(kind, [], [name], shape=[int(d) for d in value.shape], values=flat))
        self.used.add(kind)
        self.names.append(name)
        return name

    def add(self, kind, result, weights=(), inputs=("data",), end=True, **args):
        name = "%s_%d" % (kind.lower(), len(self.ops))
        several = isinstance(result, list)
        outputs = ["%s_%d" % (name, i) for i in range(len(result))] if several else [name]
        self.ops.append(operator(kind, list(inputs) + [w if isinstance(w, str) else self.fill(w) for w in weights], outputs, **args))
        self.used.add(kind)
        if end:
            self.wanted.update(zip(outputs, result if several else [result]))
        return name

    def messages(self):
        ends = [(7, n) for n in self.names] + [(8, n) for n in self.wanted]
        return {"predict_net.pb": message((1, "net"), *[(2, o) for o in self.ops], *ends), "init_net.pb": message((1, "init"), *[(2, o) for o in self.init])}


def windows(net, x, last):
    c = x.shape[1]
    order = {"order": "NHWC"} if last else {"order": "NCHW"}
    out = (lambda v: v.transpose(0, 2, 3, 1)) if last else (lambda v: v)
    kernel = lambda w: w.transpose(0, 2, 3, 1) if last else w
    w, b = net.numbers(6, c, 3, 3), net.numbers(6)
    net.add("Conv", out(lab.conv(x, w, b, (2, 2), (1, 1, 1, 1))), [kernel(w), b], kernel=3, stride=2, pad=1, **order)
    w = net.numbers(8, c // 2, 3, 2)
    net.add("Conv", out(lab.conv(x, w, None, (1, 2), (2, 0, 1, 1), (2, 1), 2)), [kernel(w)], kernel_h=3, kernel_w=2, stride_h=1, stride_w=2, pad_t=2, pad_l=0, pad_b=1,
            pad_r=1, dilations=[2, 1], group=2, **order)
    w = net.numbers(5, c, 2, 4)
    total = [max((-(-d // s) - 1) * s + k - d, 0) for d, s, k in zip(x.shape[2:], (2, 3), (2, 4))]
    pads = (total[0] // 2, total[1] // 2, total[0] - total[0] // 2, total[1] - total[1] // 2)
    net.add("Conv", out(lab.conv(x, w, None, (2, 3), pads)), [kernel(w)], kernels=[2, 4], strides=[2, 3], legacy_pad=2, pad=3, **order)
    net.add("Conv", out(lab.conv(x, w)), [kernel(w)], kernels=[2, 4], legacy_pad=1, pad=3, **order)
    w, b = net.numbers(c, 5, 4, 4), net.numbers(5)
    net.add("ConvTranspose", out(lab.deconv(x, w, b, (2, 2), (1, 1, 1, 1))), [kernel(w), b], kernel=4, stride=2, pad=1, **order)
    for kind, size, stride, pad in (("MaxPool", 3, 2, 0), ("AveragePool", 3, 2, 1), ("MaxPool", 3, 2, 1), ("AveragePool", 2, 2, 1)):
        counts = [lab.caffe_count(d, size, stride, pad) for d in x.shape[2:]]
        value = lab.pool(x, kind[:3].lower(), (size,) * 2, (stride,) * 2, (pad,) * 2, counts, False)
        net.add(kind, out(value), kernel=size, stride=stride, pad=pad, legacy_pad=3, **order)
        down = [(d + 2 * pad - size) // stride + 1 for d in x.shape[2:]]
        value = lab.pool(x, kind[:3].lower(), (size,) * 2, (stride,) * 2, (pad,) * 2, down, True)
        net.add(kind, out(value), kernels=[size, size], strides=[stride, stride], pads=[pad] * 4, count_include_pad=1, **order)
    net.add("AveragePool", out(x.mean((2, 3), keepdims=True)), global_pooling=1, **order)
    net.add("MaxPool", out(x.max((2, 3), keepdims=True)), global_pooling=1, **order)
    mean, var, gamma, beta = net.numbers(c), net.numbers(c, low=0.2, high=2.0), net.numbers(c), net.numbers(c)
    col = (-1, 1, 1)
    value = (x - mean.reshape(col)) / numpy.sqrt(var.reshape(col) + 1e-3) * gamma.reshape(col) + beta.reshape(col)
    net.add("SpatialBN", out(value), [gamma, beta, mean, var], is_test=1, epsilon=1e-3, **order)
    value = (x - x.mean((2, 3), keepdims=True)) / numpy.sqrt(x.var((2, 3), keepdims=True) + 1e-5)
    net.add("InstanceNorm", out(value * gamma.reshape(col) + beta.reshape(col)), [gamma, beta], **order)
    square = numpy.pad(x * x, ((0, 0), (1, 1), (0, 0), (0, 0)))
    total = sum(square[:, i:i + c] for i in range(3))
    net.add("LRN", out(x / (1.5 + 0.3 / 3 * total) ** 0.75), size=3, alpha=0.3, beta=0.75, bias=1.5, **order)
    net.add("AffineChannel", out(x * gamma.reshape(col) + beta.reshape(col)), [gamma, beta], **order)
    net.add("PRelu", out(numpy.where(x > 0, x, gamma.reshape(col) * x)), [gamma], **order)
    net.add("ChannelShuffle", out(x.reshape(1, 2, c // 2, *x.shape[2:]).swapaxes(1, 2).reshape(x.shape)), group=2, kernel=1, **order)
    net.add("ResizeNearest", out(x.repeat(2, 2).repeat(3, 3)), height_scale=2.0, width_scale=3.0, **order)
    wide = ((0, 0), (0, 0), (1, 2), (0, 3))
    for mode, value in (("constant", numpy.pad(x, wide, constant_values=1.5)), ("edge", numpy.pad(x, wide, "edge")), ("reflect", numpy.pad(x, wide, "reflect"))):
        net.add("PadImage", out(value), pad_t=1, pad_b=2, pad_l=0, pad_r=3, mode=mode, value=1.5, **order)
    net.add("Concat", numpy.concatenate([out(x), out(x)], 3 if last else 1), inputs=["data", "data"], **order)
    parts = [p for p in numpy.split(out(x), 2, 3 if last else 1)]
    net.add("Split", parts, **order)


def others(net, x):
    c = x.shape[1]
    w, b = net.numbers(5, x[0].size), net.numbers(5)
    net.add("FC", x.reshape(len(x), -1) @ w.T + b, [w, b])
    w = net.numbers(x.shape[3], 4)
    net.add("FCTransposed", (x.reshape(-1, x.shape[3]) @ w).reshape(x.shape[:3] + (4,)), [w, net.fill(numpy.zeros(4))], axis=3)
    y = net.add("Reshape", x.reshape(c, -1), end=False, shape=[c, -1])
    net.add("MatMul", x.reshape(c, -1) @ x.reshape(c, -1).T, inputs=[y, y], trans_b=1)
    net.add("BatchMatMul", x.swapaxes(2, 3) @ x, inputs=["data", "data"], trans_a=1)
    mean, dev = net.numbers(1, c), net.numbers(1, c, low=0.5, high=2.0)
    net.add("NormalizePlanarYUV", (x - mean.reshape(1, c, 1, 1)) / dev.reshape(1, c, 1, 1), [mean, dev])
    for kind, value in (("Relu", numpy.maximum(x, 0)), ("Sigmoid", 1 / (1 + numpy.exp(-x))), ("Tanh", numpy.tanh(x)), ("Softplus", numpy.log1p(numpy.exp(x))),
                        ("Softsign", x / (1 + abs(x))), ("Exp", numpy.exp(x)), ("Abs", abs(x)), ("Negative", -x), ("Sqr", x * x), ("Swish", x / (1 + numpy.exp(-x)))):
        net.add(kind, value)
    squares = net.add("Sqr", x * x, end=False)
    net.add("Sqrt", abs(x), inputs=[squares])
    net.add("Log", numpy.log(numpy.exp(x)), inputs=[net.add("Exp", x, end=False)])
    net.add("LeakyRelu", numpy.where(x > 0, x, 0.2 * x), alpha=0.2)
    net.add("Elu", numpy.where(x > 0, x, 0.5 * (numpy.exp(x) - 1)), alpha=0.5)
    net.add("Clip", numpy.clip(x, -0.5, 1.25), min=-0.5, max=1.25)
    net.add("Clip", numpy.maximum(x, 0.25), min=0.25)
    net.add("Scale", 2.5 * x, scale=2.5)
    net.add("Pow", abs(x) ** 3, inputs=[squares], exponent=1.5)
    net.add("Pow", abs(x) ** 3, [numpy.array([1.5])], inputs=[squares])
    other = net.inputs["other"].astype(float)
    for kind, value in (("Add", x + other), ("Sub", x - other), ("Mul", x * other)):
        net.add(kind, value, inputs=["data", "other"])
    row = net.numbers(c, low=0.5, high=2.0)
    net.add("Add", x + row.reshape(-1, 1, 1), [row], broadcast=1, axis=1)
    net.add("Div", x / row.reshape(-1, 1, 1), [row], broadcast=1, axis=1)
    row = net.numbers(x.shape[3])
    net.add("Mul", x * row, [row], broadcast=1)
    net.add("Sum", x + other + x, inputs=["data", "other", "data"])
    net.add("Max", numpy.maximum(x, other), inputs=["data", "other"])
    net.add("Min", numpy.minimum(x, other), inputs=["data", "other"])
    net.add("Softmax", lab.softmax(x.reshape(1, -1), 1).reshape(x.shape))
    net.add("Softmax", lab.softmax(x, 3), axis=3)
    net.add("Concat", numpy.stack([x, other], 1), inputs=["data", "other"], axis=1, add_axis=1)
    net.add("Split", [x[:, :1], x[:, 1:]], axis=1, split=[1, c - 1])
    net.add("Slice", x[:, 1:, :-1], starts=[0, 1, 0, 0], ends=[-1, -1, -2, -1])
    net.add("Slice", x[:, 1:3], [numpy.array([0, 1], numpy.int32), numpy.array([1, 3], numpy.int32)])
    net.add("Reshape", x.reshape(1, 2, -1), [numpy.array([0, 2, -1])])
    net.add("Flatten", x.reshape(c, -1), axis=2)
    net.add("Transpose", x.transpose(0, 2, 3, 1), axes=[0, 2, 3, 1])
    net.add("Transpose", x.T)
    net.add("ExpandDims", x[None, :, :, None], dims=[0, 3])
    net.add("Squeeze", x[0], dims=[0])
    net.add("ReduceMean", x.mean((2, 3)), axes=[2, 3], keepdims=0)
    net.add("ReduceSum", x.sum(1, keepdims=True), axes=[1])
    net.add("ArgMax", x.argmax(1)[:, None], axis=1)
    for kind in ("Copy", "Dropout", "StopGradient"):
        net.add(kind, x, is_test=1)
    net.init.append(operator("ConstantFill", [], ["filled"], shape=[1, c, 1, 1], value=0.75))
    net.init.append(operator("ConstantFill", [], ["data"], shape=[1], value=0.0)) # what an init_net has for the input
    net.used.add("ConstantFill")
    net.names.append("filled")
    net.add("Add", x + 0.75, ["filled"])


# ---- 8 bits

def rounded(x, scale, zero):
    return numpy.clip(numpy.rint(x / scale) + zero, 0, 255)


def quantized(draw):
    """A small network on bytes; the reference counts in integers and rounds where the operators do."""
    x = draw.uniform(-1, 1, (1, 8, 8, 16)).astype(numpy.float32) # channels last
    net = Net(draw, {"data": x})
    w = draw.integers(0, 256, (16, 3, 3, 16)).astype(numpy.uint8)
    b = draw.integers(-2000, 2000, 16).astype(numpy.int32)
    v = draw.integers(0, 256, (10, 16)).astype(numpy.uint8)
    d = draw.integers(-500, 500, 10).astype(numpy.int32)

    def fill(kind, name, value, scale, zero):
        values = value.tobytes() if value.dtype == numpy.uint8 else [int(n) for n in value]
        net.init.append(operator(kind, [], [name], shape=[int(n) for n in value.shape], values=values, Y_scale=scale, Y_zero_point=zero))
        net.names.append(name)
        net.used.add(kind)
    fill("Int8GivenTensorFill", "w", w, 0.02, 128)
    fill("Int8GivenIntTensorFill", "b", b, 0.01 * 0.02, 0)
    fill("Int8GivenTensorFill", "v", v, 0.015, 120)
    fill("Int8GivenIntTensorFill", "d", d, 0.05 * 0.015, 0)
    q = rounded(x.astype(float), 0.01, 128)
    net.add("Int8Quantize", None, end=False, Y_scale=0.01, Y_zero_point=128)
    sums = lab.conv(q.transpose(0, 3, 1, 2) - 128, w.astype(float).transpose(0, 3, 1, 2) - 128, b.astype(float), (1, 1), (1, 1, 1, 1)).transpose(0, 2, 3, 1)
    how = dict(kernel=3, stride=1, pad=1, order="NHWC")
    y = rounded(sums * 0.01 * 0.02, 0.05, 100)
    net.add("Int8Conv", None, ["w", "b"], inputs=["int8quantize_0"], end=False, Y_scale=0.05, Y_zero_point=100, **how)
    z = numpy.maximum(rounded(sums * 0.01 * 0.02, 0.04, 30), 30)
    net.add("Int8ConvRelu", None, ["w", "b"], inputs=["int8quantize_0"], end=False, Y_scale=0.04, Y_zero_point=30, **how)
    r = numpy.maximum(y, 100)
    net.add("Int8Relu", None, inputs=["int8conv_1"], end=False, Y_scale=0.05, Y_zero_point=100)
    real = (r - 100) * 0.05 + (z - 30) * 0.04
    for kind in ("Int8Add", "Int8Sum"):
        net.add(kind, None, inputs=["int8relu_3", "int8convrelu_2"], end=False, Y_scale=0.06, Y_zero_point=60)
    for kind in ("Int8AddRelu", "Int8SumRelu"):
        net.add(kind, None, inputs=["int8relu_3", "int8convrelu_2"], end=False, Y_scale=0.06, Y_zero_point=60)
    s = rounded(real, 0.06, 60)
    m = lab.pool(s.transpose(0, 3, 1, 2), "max", (2, 2), (2, 2), (0, 0), (4, 4), False).transpose(0, 2, 3, 1)
    net.add("Int8MaxPool", None, inputs=["int8add_4"], end=False, kernel=2, stride=2, order="NHWC", Y_scale=0.06, Y_zero_point=60)
    a = rounded(((m - 60) * 0.06).mean((1, 2), keepdims=True), 0.05, 110)
    net.add("Int8AveragePool", None, inputs=["int8maxpool_8"], end=False, kernel=4, stride=1, order="NHWC", Y_scale=0.05, Y_zero_point=110)
    net.add("Int8AveragePool", None, inputs=["int8maxpool_8"], end=False, global_pooling=1, order="NHWC", Y_scale=0.05, Y_zero_point=110)
    net.add("Int8Flatten", None, inputs=["int8averagepool_9"], end=False)
    f = rounded(((a.reshape(1, -1) - 110) @ (v.astype(float).T - 120) + d) * 0.05 * 0.015, 0.03, 90)
    net.add("Int8FC", None, ["v", "d"], inputs=["int8flatten_11"], end=False, Y_scale=0.03, Y_zero_point=90)
    p = rounded(lab.softmax((f - 90) * 0.03, 1), 1 / 256, 0)
    net.add("Int8Softmax", None, inputs=["int8fc_12"], end=False, Y_scale=1 / 256, Y_zero_point=0)
    for name, value, scale, zero in (("int8conv_1", y, 0.05, 100), ("int8convrelu_2", z, 0.04, 30), ("int8relu_3", r, 0.05, 100), ("int8sum_5", s, 0.06, 60),
                                     ("int8addrelu_6", numpy.maximum(s, 60), 0.06, 60), ("int8sumrelu_7", numpy.maximum(s, 60), 0.06, 60), ("int8maxpool_8", m, 0.06, 60),
                                     ("int8averagepool_9", a, 0.05, 110), ("int8averagepool_10", a, 0.05, 110), ("int8fc_12", f, 0.03, 90), ("int8softmax_13", p, 1 / 256, 0)):
        net.add("Int8Dequantize", (value - zero) * scale, inputs=[name])
    steps = {"int8dequantize_%d" % (14 + i): s for i, s in enumerate((0.05, 0.04, 0.05, 0.06, 0.06, 0.06, 0.06, 0.05, 0.05, 0.03, 1 / 256))}
    return net, steps


def check_bytes(t, draw):
    net, steps = quantized(draw)
    path = t.write(net.messages())
    found = t.outputs(path, net.inputs, *shape_options(net))
    for name, step in steps.items():
        off = numpy.abs(found[name] - net.wanted[name]).max() / step
        if not off <= 1.01:
            sys.exit("%s is off by %g units" % (name, off))
    return net.used


def shape_options(net):
    return [w for name, x in net.inputs.items() for w in ("--shape", "%s=%s" % (name, "x".join(map(str, x.shape))))]


def accelerator(t, draw):
    """The operators on bytes run on the accelerator, all in one region."""
    net, _ = quantized(draw)
    net.wanted = {"int8averagepool_9": None}
    said = t.call("explain", t.write(net.messages()), *shape_options(net))
    if "in 1 region" not in said:
        sys.exit("not one region on the accelerator:\n" + said)


def small(draw):
    net = Net(draw, {"data": draw.standard_normal((1, 2, 5, 5)).astype(numpy.float32)})
    w, b = net.numbers(3, 50), net.numbers(3)
    fc = net.add("FC", None, [w, b], end=False)
    net.add("Relu", numpy.maximum(net.inputs["data"].reshape(1, -1) @ w.T + b, 0), inputs=[fc])
    return net


def files_and_names(t, draw):
    net = small(draw)
    m = net.messages()
    options = shape_options(net)
    for names in (("predict_net.pb", "init_net.pb"), ("squeeze_predict_net.pb", "squeeze_init_net.pb"), ("net.pb", "init_net.pb")):
        files = {names[0]: m["predict_net.pb"], names[1]: m["init_net.pb"]}
        t.compare(names[0], t.outputs(t.write(files), net.inputs, *options), net.wanted)
        if names[0] != "net.pb":
            t.compare(names[1], t.outputs(t.write(dict(list(files.items())[::-1])), net.inputs, *options), net.wanted)
    folder = t.write(m).rsplit("/", 1)[0]
    t.compare("a folder", t.outputs(folder, net.inputs, *options), net.wanted)
    far = t.write({"w.bin": m["init_net.pb"]})
    t.compare("--weights", t.outputs(t.write({"a.pb": m["predict_net.pb"]}), net.inputs, "--weights", far, *options), net.wanted)
    t.refused({"predict_net.pb": m["predict_net.pb"]}, "its init_net is wanted beside it, as init_net.pb")
    t.refused({"init_net.pb": m["init_net.pb"]}, "its predict_net is wanted beside it, as predict_net.pb")


def faults(t, draw):
    net = small(draw)
    options = shape_options(net)
    t.refused(net.messages(), "input 'data' has sizes that the model leaves open")

    def changed(phrase, f, *more):
        other = small(draw)
        f(other)
        t.refused(other.messages(), phrase, *options, *more)
    changed("operators that are not supported: XavierFill, RecurrentNetwork", lambda n: (n.ops.append(operator("RecurrentNetwork", ["data"], ["r"])),
                                                                                         n.init.append(operator("XavierFill", [], ["r"], shape=[3]))))
    changed("nothing before it gives 'nothing'", lambda n: n.add("Relu", 0, inputs=["nothing"]))
    changed("49 values for a shape of 50", lambda n: n.init.append(operator("GivenTensorFill", [], ["x"], shape=[50], values=[0.5] * 49)))
    changed("begins behind the input", lambda n: n.add("MaxPool", 0, kernel=1, stride=3, legacy_pad=3))
    changed("legacy_pad is 3, expected 0 to 2", lambda n: n.add("Conv", 0, [n.numbers(1, 2, 1, 1)], kernel=1, legacy_pad=3))
    changed("Y_scale is 0", lambda n: n.add("Int8Quantize", 0))
    changed("an operand without a scale", lambda n: n.add("Int8Dequantize", 0))
    changed("the batch's own mean", lambda n: n.add("SpatialBN", [0] * 5, [n.numbers(2)] * 4))
    m = net.messages()
    t.refused({"predict_net.pb": m["predict_net.pb"], "init_net.pb": m["init_net.pb"][:-3]}, "its init_net is cut off or damaged", *options)


def main():
    draw = numpy.random.default_rng(word_seed.told())
    rows = rows_of(sys.argv[2] + "/compiler/src/caffe2/operators.def")
    lab.rows_of_readme(sys.argv[2] + "/compiler/src/caffe2/README.md", rows)
    worst = 0.0
    with tempfile.TemporaryDirectory() as work:
        t = lab.Lab(sys.argv[1], work)
        used = set()
        for _ in range(2):
            x = draw.uniform(-2, 2, (1, 4, 7, 8)).astype(numpy.float32)
            for last in (False, True):
                net = Net(draw, {"data": x.transpose(0, 2, 3, 1) if last else x, "other": draw.uniform(-2, 2, x.shape).astype(numpy.float32)})
                windows(net, x.astype(float), last)
                if not last:
                    others(net, x.astype(float))
                else:
                    del net.inputs["other"], net.names[net.names.index("other")]
                worst = max(worst, t.compare("NHWC" if last else "NCHW", t.outputs(t.write(net.messages()), net.inputs, *shape_options(net)), net.wanted))
                used |= net.used
            used |= check_bytes(t, draw)
            files_and_names(t, draw)
        if used != set(rows):
            sys.exit("not tested: %s" % (set(rows) - used))
        accelerator(t, draw)
        faults(t, draw)
        net = small(draw)
        for name in ("predict_net.pb", "init_net.pb"):
            t.damaged(net.messages(), name, *shape_options(net), step=31)
        print("%d operators, floats off by at most %g of their range, bytes by one unit; %d runs of vtac" % (len(rows), worst, t.runs))


main()
