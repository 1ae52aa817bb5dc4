#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Networks of many families, each as several exporters write it: with QuantizeLinear and DequantizeLinear around operators of
# floats, with integer operators, or quantized by the run. Sizes, channels, scales, zero points and types are drawn. Each must
# compile, and give on the accelerator the integers of the host.
#
# usage: exporters.py BUILD [--count N] [--table] [--keep FOLDER] [FAMILY[/STYLE]...]
#
# Without names: N draws of family and style. --table prints regions and share of the multiplications. Exit status 77:
# python3-onnx is not there.
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "compiler"))
from onnx_cases import MS, SEED, TensorProto, helper, numpy, numpy_helper, random_for  # noqa: E402

F32 = numpy.float32
DEVICES = ("fsim:tiny", "fsim:pynq")

# form: qdq, qop (integer operators), dyn (quantized by the run) · types of activations and weights · a scale for each output
# channel · zero points of weights that are not 0 · Relu quantized apart from its convolution · Relu6 as Relu and Min · the
# image has its channels last outside · one DequantizeLinear for all readers
STYLES = {
    "torch": dict(form="qdq", act=numpy.uint8, weight=numpy.int8, channels=True),
    "torch8": dict(form="qdq", act=numpy.int8, weight=numpy.int8, channels=True, apart=True, shared=True),
    "tf": dict(form="qdq", act=numpy.int8, weight=numpy.int8, channels=True, last=True, min6=True),
    "tf_old": dict(form="qdq", act=numpy.uint8, weight=numpy.uint8, odd=True, last=True),
    "ort": dict(form="qop", act=numpy.uint8, weight=numpy.int8, channels=True),
    "ort_tensor": dict(form="qop", act=numpy.uint8, weight=numpy.uint8, odd=True),
    "ort8": dict(form="qop", act=numpy.int8, weight=numpy.int8),
    "dynamic": dict(form="dyn", act=numpy.uint8, weight=numpy.int8),
    "dynamic_odd": dict(form="dyn", act=numpy.uint8, weight=numpy.uint8, odd=True),
}


class Value:
    """A tensor: its float name, or its integers with their scale and zero point, or both."""

    def __init__(self, shape, real=None, parts=None):
        self.shape, self.real, self.parts = list(shape), real, parts


class Net:
    def __init__(self, family, style, draw):
        self.random = random_for("exporters/%s/%s" % (family, style), draw)
        self.style = dict(channels=False, odd=False, apart=False, last=False, min6=False, shared=False)
        self.style.update(STYLES[style])
        self.form = self.style["form"]
        self.nodes, self.constants, self.inputs, self.count = [], [], [], 0

    # ---- the graph

    def constant(self, array):
        self.count += 1
        self.constants.append(numpy_helper.from_array(numpy.array(array), "c%d" % self.count))
        return "c%d" % self.count

    def ints(self, *numbers):
        return self.constant(numpy.array(numbers, numpy.int64))

    def node(self, op, inputs, outputs=1, domain="", **attrs):
        self.count += 1
        made = ["v%d_%d" % (self.count, i) for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, made, "%s_%d" % (op, self.count), domain=domain, **attrs))
        return made[0] if outputs == 1 else made

    def image(self, channels, size, batch=1):
        """An input, as the style has it."""
        size = list(size)
        shape = [batch, channels] + size
        if self.style["last"] and len(size) == 2:
            name = self.add_input([batch] + size + [channels])
            return Value(shape, self.node("Transpose", [name], perm=[0, 3, 1, 2]))
        return Value(shape, self.add_input(shape))

    def add_input(self, shape):
        self.inputs.append(helper.make_tensor_value_info("x%d" % len(self.inputs), TensorProto.FLOAT, shape))
        return self.inputs[-1].name

    def rows(self, *shape):
        return Value(shape, self.add_input(list(shape)))

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def draw(self, low, high):
        return int(self.random.integers(low, high + 1))

    # ---- integers and floats

    def real(self, x):
        if x.real is not None and (self.form == "dyn" or x.parts is None):
            return x.real
        name = x.real if x.real is not None and self.style["shared"] else self.node("DequantizeLinear", list(x.parts))
        if self.style["shared"]:
            x.real = name
        return name

    def quantized(self, x, scale=None, zero=None):
        """With integers; those that it has already, unless others are asked for."""
        if x.parts is not None and scale is None:
            return x
        act = self.style["act"]
        low = 0 if act == numpy.uint8 else -128
        scale = self.constant(F32(scale if scale is not None else self.random.uniform(0.015, 0.04)))
        zero = self.constant(act(low + (zero if zero is not None else self.draw(100, 150))))
        return Value(x.shape, None, (self.node("QuantizeLinear", [self.real(x), scale, zero]), scale, zero))

    def q(self, x, scale=None, zero=None):
        """What a converter does with an activation."""
        return x if self.form == "dyn" else self.quantized(x, scale, zero)

    def params(self, scale=None, zero=None):
        act = self.style["act"]
        low = 0 if act == numpy.uint8 else -128
        return (self.constant(F32(scale if scale is not None else self.random.uniform(0.015, 0.04))),
                self.constant(act(low + (zero if zero is not None else self.draw(100, 150)))))

    def weight(self, shape, axis, terms):
        """Integers, scales, zero points: names; their scales as numbers. Sums of so many terms are about 1."""
        kind, many = self.style["weight"], self.style["channels"]
        low = 0 if kind == numpy.uint8 else -128
        array = numpy.clip(numpy.rint(self.random.normal(low + 128, 40, shape)), low, low + 255).astype(kind)
        scales = self.random.uniform(0.6, 1.5, shape[axis] if many else ()) / 40 / numpy.sqrt(max(terms, 1))
        middle = low + 128 + (self.draw(-9, 9) if self.style["odd"] else 0)
        zeros = numpy.full(scales.shape, middle, kind)
        return self.constant(array), self.constant(scales.astype(F32)), self.constant(zeros), scales.astype(F32)

    def bias(self, count, x, scales):
        array = self.random.normal(0, 0.3, count)
        if self.form == "dyn":
            return self.constant(array.astype(F32))
        x_scale = [numpy_helper.to_array(c) for c in self.constants if c.name == x.parts[1]][0]
        scale = (x_scale * scales).astype(F32)
        ints = self.constant(numpy.rint(array / scale).astype(numpy.int32))
        if self.form == "qop":
            return ints
        zero = self.constant(numpy.zeros(scale.shape, numpy.int32))
        return self.node("DequantizeLinear", [ints, self.constant(scale), zero], axis=0)

    # ---- operators

    def conv(self, x, outputs, kernel, act=None, stride=1, pads=None, groups=1, dilations=None, bias=True, transposed=False):
        spatial = len(x.shape) - 2
        kernel = [kernel] * spatial if isinstance(kernel, int) else list(kernel)
        strides = [stride] * spatial if isinstance(stride, int) else list(stride)
        dilations = [dilations or 1] * spatial if not isinstance(dilations, (list, tuple)) else list(dilations)
        if pads is None:
            pads = [(k - 1) * d // 2 for k, d in zip(kernel, dilations)] * 2
        channels = x.shape[1]
        shape = ([channels, outputs // groups] if transposed else [outputs, channels // groups]) + kernel
        terms = channels // groups * int(numpy.prod(kernel))
        attrs = dict(kernel_shape=kernel, strides=strides, pads=list(pads), group=groups, dilations=dilations)
        if transposed:
            size = [(n - 1) * s + (k - 1) * d + 1 - a - b for n, s, k, d, a, b in
                    zip(x.shape[2:], strides, kernel, dilations, pads, pads[spatial:])]
        else:
            size = [(n + a + b - (k - 1) * d - 1) // s + 1 for n, s, k, d, a, b in
                    zip(x.shape[2:], strides, kernel, dilations, pads, pads[spatial:])]
        out = [x.shape[0], outputs] + size
        w, w_scale, w_zero, scales = self.weight(shape, 0 if not transposed else 1, terms)
        if transposed and scales.shape:  # a scale for each output, where that is one for each place of axis 1
            scales = numpy.resize(scales, outputs) if groups == 1 else scales
        if self.form == "dyn":
            if transposed or spatial == 3:
                real = self.node("DequantizeLinear", [w, w_scale, w_zero])
                y = self.node("ConvTranspose" if transposed else "Conv", [self.real(x), real], **attrs)
            else:
                parts = self.node("DynamicQuantizeLinear", [self.real(x)], 3)
                sums = self.node("ConvInteger", [parts[0], w, parts[2], w_zero], **attrs)
                y = self.node("Mul", [self.node("Cast", [sums], to=TensorProto.FLOAT),
                                      self.node("Mul", [parts[1], w_scale])])
            if bias:
                y = self.node("Add", [y, self.node("Reshape", [self.bias(outputs, x, scales),
                                                               self.ints(*([1, outputs] + [1] * spatial))])])
            return self.act(Value(out, y), act)
        x = self.quantized(x)
        rest = [self.bias(outputs, x, scales)] if bias else []
        if self.form == "qop" and not transposed:
            scale, zero = self.params(None, 0) if act == "relu" else self.params()
            y = self.node("QLinearConv", list(x.parts) + [w, w_scale, w_zero, scale, zero] + rest, **attrs)
            y = Value(out, None, (y, scale, zero))
            return y if act == "relu" else self.act(y, act)
        if self.form == "qop":
            rest = [self.node("DequantizeLinear", [rest[0], self.constant(F32(1))])] if rest else []
        w = self.node("DequantizeLinear", [w, w_scale, w_zero], axis=1 if transposed else 0)
        y = Value(out, self.node("ConvTranspose" if transposed else "Conv", [self.real(x), w] + rest, **attrs))
        if act in ("relu", "relu6", "clip") and not self.style["apart"]:
            return self.q(self.act(y, act))
        return self.act(self.q(y), act)

    def depthwise(self, x, kernel, act=None, **words):
        return self.conv(x, x.shape[1], kernel, act, groups=x.shape[1], **words)

    def act(self, x, name):
        if name is None:
            return x
        return self.function(x, name)

    def function(self, x, name):
        """A function of one number, in floats between integers; but for those that have an integer form."""
        if self.form == "qop" and name in ("sigmoid", "leaky"):
            x = self.quantized(x)
            params = self.params(1 / 256, 0) if name == "sigmoid" else self.params()
            op, attrs = ("QLinearSigmoid", {}) if name == "sigmoid" else ("QLinearLeakyRelu", {"alpha": 0.1})
            return Value(x.shape, None, (self.node(op, list(x.parts) + list(params), domain=MS, **attrs),) + params)
        f = self.real(x)
        if name == "relu":
            f = self.node("Relu", [f])
        elif name in ("relu6", "clip"):
            if self.style["min6"]:
                f = self.node("Min", [self.node("Relu", [f]), self.constant(F32(6))])
            else:
                f = self.node("Clip", [f, self.constant(F32(0)), self.constant(F32(6))])
        elif name == "silu":
            return self.q(self.mul(x, self.function(x, "sigmoid"))) if self.random.integers(2) else self.q(
                Value(x.shape, self.node("Mul", [f, self.node("Sigmoid", [f])])))
        elif name == "sigmoid":
            return self.q(Value(x.shape, self.node("Sigmoid", [f])), 1 / 256, 0)
        elif name == "gelu":
            inner = self.node("Erf", [self.node("Div", [f, self.constant(F32(2 ** 0.5))])])
            f = self.node("Mul", [self.node("Mul", [f, self.node("Add", [inner, self.constant(F32(1))])]), self.constant(F32(0.5))])
        elif name == "leaky":
            f = self.node("LeakyRelu", [f], alpha=0.1)
        elif name == "hard_swish":
            f = self.node("HardSwish", [f])
        elif name == "hard_sigmoid":
            f = self.node("HardSigmoid", [f], alpha=1 / 6)
        else:
            f = self.node(name, [f])
        return self.q(Value(x.shape, f))

    def pair(self, op, a, b, **words):
        shape = list(numpy.broadcast_shapes(tuple(a.shape), tuple(b.shape)))
        if self.form == "qop" and a.shape and op in ("Add", "Mul"):
            a, b = self.quantized(a), self.quantized(b)
            params = self.params(**words)
            return Value(shape, None, (self.node("QLinear" + op, list(a.parts) + list(b.parts) + list(params), domain=MS),) + params)
        return self.q(Value(shape, self.node(op, [self.real(self.q(a)), self.real(self.q(b))])), **words)

    def add(self, a, b, act=None):
        if act == "relu" and self.form == "qdq" and not self.style["apart"]:
            y = Value(a.shape, self.node("Add", [self.real(self.q(a)), self.real(self.q(b))]))
            return self.function(y, "relu")
        return self.act(self.pair("Add", a, b), act)

    def mul(self, a, b):
        return self.pair("Mul", a, b)

    def scaled(self, x, shape):
        """Times constants: a layer scale."""
        c = self.constant(self.random.uniform(0.3, 1.2, shape).astype(F32))
        return self.q(Value(x.shape, self.node("Mul", [self.real(x), c])))

    def shifted(self, x, shape):
        """Plus constants: a place's embedding, quantized or not."""
        if self.form == "qop" and self.random.integers(4):
            act = self.style["act"]
            low = 0 if act == numpy.uint8 else -128
            array = numpy.clip(numpy.rint(self.random.normal(low + 128, 40, shape)), low, low + 255).astype(act)
            parts = [self.constant(array), self.constant(F32(0.01)), self.constant(act(low + 130))]
            x, params = self.quantized(x), self.params()
            y = self.node("QLinearAdd", list(x.parts) + parts + list(params), domain=MS)
            return Value(x.shape, None, (y,) + params)
        if self.form == "qdq":
            array = numpy.clip(numpy.rint(self.random.normal(0, 40, shape)), -127, 127).astype(numpy.int8)
            c = self.node("DequantizeLinear", [self.constant(array), self.constant(F32(0.01)), self.constant(numpy.int8(0))])
        else:
            c = self.constant(self.random.normal(0, 0.4, shape).astype(F32))
        return self.q(Value(x.shape, self.node("Add", [self.real(x), c])))

    def concat(self, parts, axis=1):
        shape = list(parts[0].shape)
        shape[axis] = sum(p.shape[axis] for p in parts)
        if self.form == "qop":
            params = self.params()
            words = [w for p in parts for w in self.quantized(p).parts]
            return Value(shape, None, (self.node("QLinearConcat", list(params) + words, domain=MS, axis=axis),) + params)
        return self.q(Value(shape, self.node("Concat", [self.real(self.q(p)) for p in parts], axis=axis)))

    def moved(self, x, shape, op, words, **attrs):
        """What moves numbers only: on the integers, or on floats that are quantized again with the same parameters."""
        if self.form == "dyn" or x.parts is None:
            return Value(shape, self.node(op, [self.real(x)] + words, **attrs))
        if self.form == "qop":
            return Value(shape, None, (self.node(op, [x.parts[0]] + words, **attrs),) + tuple(x.parts[1:]))
        y = self.node(op, [self.real(x)] + words, **attrs)
        if self.style["act"] == numpy.int8 and self.random.integers(3) == 0:
            return Value(shape, y)  # not quantized behind it
        return Value(shape, None, (self.node("QuantizeLinear", [y] + list(x.parts[1:])),) + tuple(x.parts[1:]))

    def reshape(self, x, *shape):
        assert int(numpy.prod(shape)) == int(numpy.prod(x.shape)), (shape, x.shape)
        return self.moved(x, list(shape), "Reshape", [self.ints(*shape)])

    def transpose(self, x, *perm):
        return self.moved(x, [x.shape[p] for p in perm], "Transpose", [], perm=list(perm))

    def part(self, x, axis, first, last):
        shape = list(x.shape)
        shape[axis] = len(range(shape[axis])[first:last])
        return self.moved(x, shape, "Slice", [self.ints(first), self.ints(last), self.ints(axis)])

    def split(self, x, sizes, axis=1):
        outs, first = [], 0
        if self.form == "qdq" and x.parts is not None or self.random.integers(2):
            for n in sizes:
                outs.append(self.part(x, axis, first, first + n))
                first += n
            return outs
        name = x.parts[0] if self.form == "qop" and x.parts else self.real(x)
        made = self.node("Split", [name, self.ints(*sizes)], len(sizes), axis=axis)
        for n, m in zip(sizes, made):
            shape = list(x.shape)
            shape[axis] = n
            outs.append(Value(shape, None, (m,) + tuple(x.parts[1:])) if self.form == "qop" and x.parts else Value(shape, m))
        return outs

    def pool(self, x, kind, kernel, stride, pads=0, **attrs):
        spatial = len(x.shape) - 2
        size = [(n + 2 * pads - kernel) // stride + 1 for n in x.shape[2:]]
        shape = x.shape[:2] + size
        attrs.update(kernel_shape=[kernel] * spatial, strides=[stride] * spatial, pads=[pads] * 2 * spatial)
        if kind == "max":
            return self.moved(x, shape, "MaxPool", [], **attrs)
        if self.form == "qop" and spatial == 2:
            x, params = self.quantized(x), self.params()
            return Value(shape, None, (self.node("QLinearAveragePool", list(x.parts) + list(params), domain=MS, **attrs),) + params)
        return self.q(Value(shape, self.node("AveragePool", [self.real(self.q(x))], **attrs)))

    def mean(self, x, keep=True):
        """Over space."""
        shape = x.shape[:2] + ([1] * (len(x.shape) - 2) if keep else [])
        if self.form == "qop" and len(x.shape) == 4 and keep:
            x, params = self.quantized(x), self.params()
            return Value(shape, None, (self.node("QLinearGlobalAveragePool", list(x.parts) + list(params), domain=MS),) + params)
        if keep and self.random.integers(2):
            return self.q(Value(shape, self.node("GlobalAveragePool", [self.real(self.q(x))])))
        return self.q(Value(shape, self.node("ReduceMean", [self.real(self.q(x))], axes=list(range(2, len(x.shape))),
                                             keepdims=int(keep))))

    def grow(self, x, factor, mode="nearest"):
        shape = x.shape[:2] + [n * factor for n in x.shape[2:]]
        scales = self.constant(numpy.array([1, 1] + [factor] * (len(x.shape) - 2), F32))
        attrs = dict(mode=mode, coordinate_transformation_mode="asymmetric" if mode == "nearest" else "half_pixel")
        if mode == "nearest":
            attrs["nearest_mode"] = "floor"
            return self.moved(x, shape, "Resize", ["", scales], **attrs)
        return self.q(Value(shape, self.node("Resize", [self.real(self.q(x)), "", scales], **attrs)))

    def dense(self, x, outputs, act=None, bias=True):
        """A product with a constant matrix along the last axis; a Gemm where there are two axes."""
        inputs, flat = x.shape[-1], len(x.shape) == 2
        shape = x.shape[:-1] + [outputs]
        turned = bool(flat and self.random.integers(2))
        w, w_scale, w_zero, scales = self.weight([outputs, inputs] if turned else [inputs, outputs], 0 if turned else 1, inputs)
        if self.form == "dyn":
            if turned:
                w = self.node("Transpose", [w], perm=[1, 0])
            parts = self.node("DynamicQuantizeLinear", [self.real(x)], 3)
            sums = self.node("MatMulInteger", [parts[0], w, parts[2], w_zero])
            y = self.node("Mul", [self.node("Cast", [sums], to=TensorProto.FLOAT), self.node("Mul", [parts[1], w_scale])])
            if bias:
                y = self.node("Add", [y, self.bias(outputs, x, scales)])
            return self.act(Value(shape, y), act)
        x = self.quantized(x)
        if self.form == "qop":
            params = self.params()
            if flat:
                y = self.node("QGemm", list(x.parts) + [w, w_scale, w_zero, self.bias(outputs, x, scales) if bias else ""] +
                              list(params), domain=MS, transB=int(turned))
                return self.act(Value(shape, None, (y,) + params), act)
            y = self.node("QLinearMatMul", list(x.parts) + [w, w_scale, w_zero] + list(params))
            y = Value(shape, None, (y,) + params)
            return self.act(self.shifted(y, outputs) if bias else y, act)
        w = self.node("DequantizeLinear", [w, w_scale, w_zero], axis=0 if turned else 1)
        if flat:
            y = self.node("Gemm", [self.real(x), w] + ([self.bias(outputs, x, scales)] if bias else []), transB=int(turned))
        else:
            y = self.node("MatMul", [self.real(x), w])
            if bias:
                c = self.constant(self.random.normal(0, 0.3, outputs).astype(F32))
                y = self.node("Add", [y, c] if self.random.integers(2) else [c, y])
        return self.act(self.q(Value(shape, y)), act)

    def product(self, a, b):
        """Of two activations."""
        shape = list(numpy.broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2]))) + [a.shape[-2], b.shape[-1]]
        if self.form == "dyn":
            left, right = (self.node("DynamicQuantizeLinear", [self.real(v)], 3) for v in (a, b))
            sums = self.node("MatMulInteger", [left[0], right[0], left[2], right[2]])
            return Value(shape, self.node("Mul", [self.node("Cast", [sums], to=TensorProto.FLOAT),
                                                  self.node("Mul", [left[1], right[1]])]))
        a, b = self.quantized(a), self.quantized(b)
        if self.form == "qop":
            params = self.params(0.1)
            return Value(shape, None, (self.node("QLinearMatMul", list(a.parts) + list(b.parts) + list(params)),) + params)
        return self.q(Value(shape, self.node("MatMul", [self.real(a), self.real(b)])), 0.1)

    def softmax(self, x, axis=-1):
        if self.form == "qop" and axis in (-1, len(x.shape) - 1):
            x, params = self.quantized(x), self.params(1 / 256, 0)
            return Value(x.shape, None, (self.node("QLinearSoftmax", list(x.parts) + list(params), domain=MS, axis=-1, opset=13),) +
                         params)
        return self.q(Value(x.shape, self.node("Softmax", [self.real(x)], axis=axis)), 1 / 256, 0)

    def normalized(self, x):
        """LayerNorm over the last axis, whole or as exporters of older opsets write it."""
        f, c = self.real(x), x.shape[-1]
        gain = self.constant(self.random.uniform(0.7, 1.3, c).astype(F32))
        offset = self.constant(self.random.normal(0, 0.1, c).astype(F32))
        if self.random.integers(2):
            return self.q(Value(x.shape, self.node("LayerNormalization", [f, gain, offset], axis=-1, epsilon=1e-5)))
        d = self.node("Sub", [f, self.node("ReduceMean", [f], axes=[-1])])
        v = self.node("ReduceMean", [self.node("Pow", [d, self.constant(F32(2))])], axes=[-1])
        n = self.node("Div", [d, self.node("Sqrt", [self.node("Add", [v, self.constant(F32(1e-5))])])])
        return self.q(Value(x.shape, self.node("Add", [self.node("Mul", [n, gain]), offset])))

    def model(self, *outputs):
        names = []
        for y in outputs:
            name = self.real(y)
            if self.style["last"] and len(y.shape) == 4:
                name = self.node("Transpose", [name], perm=[0, 2, 3, 1])
            names.append(name)
        infos = [helper.make_tensor_value_info(y, TensorProto.FLOAT, None) for y in names]
        graph = helper.make_graph(self.nodes, "net", self.inputs, infos, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)], ir_version=8)


# ---- families

def stem(n, channels, size=None, stride=2, act="relu", inputs=None, batch=None):
    size = size or [n.draw(13, 22), n.draw(13, 22)]
    x = n.image(inputs or n.pick(3, 3, 1, 4), size, batch or n.pick(1, 1, 1, 2, 4))
    return n.conv(x, channels, 3, act, stride)


def classifier(n, x, classes=None):
    classes = classes or n.pick(3, 10, 17)
    x = n.mean(x)
    return n.dense(n.reshape(x, x.shape[0], x.shape[1]), classes)


def excite(n, x, inner, first="relu", gate="sigmoid"):
    g = n.mean(x)
    g = n.conv(g, inner, 1, first)
    g = n.act(n.conv(g, x.shape[1], 1), gate)
    return n.mul(x, g) if n.random.integers(2) else n.mul(g, x)


def resnext(n):
    x = stem(n, 32)
    for groups in (8, 4):
        y = n.conv(x, 32, 1, "relu")
        y = n.conv(y, 32, 3, "relu", groups=groups)
        x = n.add(n.conv(y, 32, 1), x, "relu")
    return [classifier(n, x)]


def densenet(n):
    x = stem(n, n.draw(10, 20))
    for _ in range(3):
        y = n.conv(x, 24, 1, "relu")
        y = n.conv(y, n.draw(7, 12), 3)
        x = n.act(n.concat([x, y]), n.pick(None, "relu"))
    x = n.pool(n.conv(x, 20, 1, "relu"), "avg", 2, 2)
    return [classifier(n, x)]


def ghostnet(n):
    x = stem(n, 16)
    for c in (20, n.draw(12, 30) // 2 * 2):
        half = n.conv(x, c // 2, 1, "relu")
        x = n.concat([half, n.depthwise(half, 3, "relu")])
        x = excite(n, x, 8, gate="hard_sigmoid")
    x = n.part(x, 1, 0, x.shape[1] - 3)  # GhostNet cuts what is too much
    return [classifier(n, n.conv(x, 24, 1, "relu"))]


def regnet(n):
    x = stem(n, 24)
    for _ in range(2):
        y = n.conv(x, 24, 1, "relu")
        y = n.conv(y, 24, 3, "relu", groups=3)
        y = excite(n, y, 6)
        x = n.add(x, n.conv(y, 24, 1), "relu")
    return [classifier(n, x)]


def efficientnet(n):
    x = stem(n, 16, act="silu")
    for k, s in ((3, 1), (5, 2)):
        y = n.conv(x, 16 * 3, 1, "silu")
        y = n.depthwise(y, k, "silu", stride=s)
        y = excite(n, y, 5, "silu")
        y = n.conv(y, 16, 1)
        x = n.add(y, x) if s == 1 else y
    return [classifier(n, x)]


def convnext(n):
    x = n.image(3, [24, 16])
    x = n.conv(x, 24, 4, stride=4, pads=[0] * 4)
    for _ in range(2):
        y = n.depthwise(x, 7)
        y = n.transpose(y, 0, 2, 3, 1)
        y = n.normalized(y)
        y = n.dense(n.dense(y, 64, "gelu"), 24)
        y = n.scaled(y, [24])
        x = n.add(x, n.transpose(y, 0, 3, 1, 2))
    return [classifier(n, x)]


def inception(n):
    x = stem(n, 20, stride=1)
    a = n.conv(x, 12, 1, "relu")
    b = n.conv(n.conv(n.conv(x, 8, 1, "relu"), 10, [1, 7], "relu"), 14, [7, 1], "relu")
    c = n.conv(n.pool(x, "avg", 3, 1, 1, count_include_pad=n.draw(0, 1)), 9, 1, "relu")
    d = n.conv(n.pool(x, "max", 3, 1, 1), 7, 1, "relu")
    x = n.concat([a, b, c, d])
    e = n.conv(x, 16, 3, "relu", stride=2, pads=[0] * 4)
    f = n.pool(x, "max", 3, 2)
    return [classifier(n, n.concat([e, f]))]


def hrnet(n):
    x = stem(n, 18, [16, 24])
    low = n.conv(x, 36, 3, "relu", 2)
    for _ in range(2):
        x, low = n.conv(x, 18, 3, "relu"), n.conv(low, 36, 3, "relu")
        up = n.grow(n.conv(low, 18, 1), 2)
        down = n.conv(x, 36, 3, None, 2)
        x, low = n.add(x, up, "relu"), n.add(down, low, "relu")
    return [n.conv(n.concat([x, n.grow(low, 2, n.pick("nearest", "linear"))]), 5, 1)]


def pointnet(n):
    points = n.draw(30, 70)
    x = n.image(3, [points], n.pick(1, 1, 4))
    for c in (24, 40):
        x = n.conv(x, c, 1, "relu")
    if n.random.integers(2):
        g = n.pool(x, "max", points, 1)
    else:
        g = n.moved(x, x.shape[:2] + [1], "ReduceMax", [], axes=[2], keepdims=1)
    wide = n.moved(g, x.shape, "Expand", [n.ints(*x.shape)])
    return [n.conv(n.conv(n.concat([x, wide]), 20, 1, "relu"), 6, 1), n.dense(n.reshape(g, g.shape[0], 40), 3)]


def wavenet(n):
    x = n.conv(n.image(n.pick(1, 2, 16), [n.draw(50, 90)]), 16, 1)
    skip = None
    for d in (1, 2, 4, 8):
        a = n.conv(x, 32, 2, dilations=d, pads=[d, 0])
        t, s = n.split(a, [16, 16])
        g = n.mul(n.function(t, "Tanh"), n.function(s, "sigmoid"))
        y = n.conv(g, 16, 1)
        skip = y if skip is None else n.add(skip, y)
        x = n.add(x, y)
    return [n.conv(n.act(skip, "relu"), 12, 1)]


def attention(n, x, heads, mask=None, fused=False, bias=False):
    batch, count, c = x.shape
    each = c // heads
    if fused:
        qkv = n.transpose(n.reshape(n.dense(x, 3 * c), batch, count, 3, heads, each), 2, 0, 3, 1, 4)
        q, k, v = (n.reshape(n.part(qkv, 0, i, i + 1), batch, heads, count, each) for i in range(3))
    else:
        q, k, v = (n.transpose(n.reshape(n.dense(x, c), batch, count, heads, each), 0, 2, 1, 3) for _ in range(3))
    kt = n.transpose(k, 0, 1, 3, 2)
    if n.random.integers(2):
        s = n.product(q, kt)
        s = n.q(Value(s.shape, n.node("Div", [n.real(s), n.constant(F32(each ** 0.5))])))
    else:
        s = n.product(n.q(Value(q.shape, n.node("Mul", [n.real(q), n.constant(F32(each ** -0.5))]))), kt)
    if bias:
        s = n.shifted(s, [1, heads, count, count])
    if mask is not None:
        s = n.q(Value(s.shape, n.node("Add", [n.real(s), mask])))
    y = n.transpose(n.product(n.softmax(s), v), 0, 2, 1, 3)
    return n.dense(n.reshape(y, batch, count, c), c)


def bert(n):
    count, c = n.draw(9, 20), 32
    x = n.rows(n.pick(1, 1, 2), count, c)
    mask = None
    if n.random.integers(2):
        name = n.add_input([x.shape[0], count])
        name = n.node("Unsqueeze", [name, n.ints(1, 2)])
        mask = n.node("Mul", [n.node("Sub", [n.constant(F32(1)), name]), n.constant(F32(-10))])
    for _ in range(2):
        x = n.normalized(n.add(x, attention(n, x, 4, mask)))
        x = n.normalized(n.add(x, n.dense(n.dense(x, 80, "gelu"), c)))
    first = n.reshape(n.part(x, 1, 0, 1), x.shape[0], c)
    return [n.dense(n.function(n.dense(first, c), "Tanh"), 3)]


def swin(n):
    x = n.conv(n.image(3, [16, 16]), 24, 2, stride=2, pads=[0] * 4)
    x = n.transpose(x, 0, 2, 3, 1)
    for shift in (0, 2):
        y = n.normalized(x)
        if shift:
            y = n.concat([n.part(y, 1, shift, 8), n.part(y, 1, 0, shift)], 1)
            y = n.concat([n.part(y, 2, shift, 8), n.part(y, 2, 0, shift)], 2)
        b = x.shape[0]
        y = n.transpose(n.reshape(y, b, 2, 4, 2, 4, 24), 0, 1, 3, 2, 4, 5)
        y = attention(n, n.reshape(y, 4 * b, 16, 24), 3, None, True, True)
        y = n.transpose(n.reshape(y, b, 2, 2, 4, 4, 24), 0, 1, 3, 2, 4, 5)
        y = n.reshape(y, b, 8, 8, 24)
        if shift:
            y = n.concat([n.part(y, 2, 8 - shift, 8), n.part(y, 2, 0, 8 - shift)], 2)
            y = n.concat([n.part(y, 1, 8 - shift, 8), n.part(y, 1, 0, 8 - shift)], 1)
        x = n.add(x, y)
        x = n.add(x, n.dense(n.dense(n.normalized(x), 48, "gelu"), 24))
    x = n.concat([n.moved(x, [x.shape[0], 4, 4, 24], "Slice", [n.ints(i, j), n.ints(8, 8), n.ints(1, 2), n.ints(2, 2)])
                  for j in (0, 1) for i in (0, 1)], 3)
    return [n.dense(x, 20, bias=False)]


def mobilevit(n):
    x = stem(n, 16, [16, 16], act="silu", batch=1)
    y = n.conv(n.conv(x, 16, 3, "silu"), 24, 1)
    t = n.transpose(n.reshape(y, 24 * 4, 2, 4, 2), 0, 2, 1, 3)
    t = n.transpose(n.reshape(t, 1, 24, 16, 4), 0, 3, 2, 1)
    t = n.reshape(t, 4, 16, 24)
    t = n.add(t, attention(n, n.normalized(t), 2, None, True))
    t = n.add(t, n.dense(n.dense(n.normalized(t), 48, "silu"), 24))
    t = n.transpose(n.reshape(n.normalized(t), 1, 4, 16, 24), 0, 3, 2, 1)
    t = n.transpose(n.reshape(t, 24 * 4, 4, 2, 2), 0, 2, 1, 3)
    t = n.conv(n.reshape(t, 1, 24, 8, 8), 16, 1, "silu")
    return [classifier(n, n.conv(n.concat([x, t]), 16, 3, "silu"))]


def deeplab(n):
    x = stem(n, 24, [18, 14], 1)
    parts = [n.conv(x, 16, 1, "relu")] + [n.conv(x, 16, 3, "relu", dilations=d, pads=[d] * 4) for d in (3, 6, 12)]
    g = n.conv(n.mean(x), 16, 1, "relu")
    wide = g.shape[:2] + x.shape[2:]
    parts.append(n.moved(g, wide, "Resize", ["", "", n.ints(*wide)], mode="nearest", nearest_mode="floor",
                         coordinate_transformation_mode="asymmetric"))
    x = n.conv(n.concat(parts), 20, 1, "relu")
    return [n.grow(n.conv(x, 7, 1), 2, n.pick("nearest", "linear"))]


def yolov8(n):
    x = n.conv(stem(n, 16, [32, 24], act="silu", batch=1), 24, 3, "silu", 2)
    y = n.conv(x, 24, 1, "silu")
    a, b = n.split(y, [12, 12])
    c = n.add(b, n.conv(n.conv(b, 12, 3, "silu"), 12, 3, "silu"))
    x = n.conv(n.concat([a, b, c]), 24, 1, "silu")
    p = n.conv(x, 12, 1, "silu")
    pools = [p]
    for _ in range(3):
        pools.append(n.pool(pools[-1], "max", 5, 1, 2))
    x = n.conv(n.concat(pools), 24, 1, "silu")
    low = n.conv(x, 24, 3, "silu", 2)
    heads = []
    for f in (x, low):
        h = n.concat([n.conv(n.conv(f, 16, 3, "silu"), 64, 1), n.conv(n.conv(f, 16, 3, "silu"), 5, 1)])
        heads.append(n.reshape(h, 1, 69, h.shape[2] * h.shape[3]))
    all_ = n.concat(heads, 2)
    box, score = n.split(all_, [64, 5])
    count = box.shape[2]
    d = n.transpose(n.reshape(box, 1, 4, 16, count), 0, 2, 1, 3)
    d = n.conv(n.softmax(d, 1), 1, 1, bias=False)
    return [n.concat([n.reshape(d, 1, 4, count), n.function(score, "sigmoid")])]


def repvgg(n):
    x = stem(n, 20)
    for _ in range(2):
        x = n.add(n.add(n.conv(x, 20, 3), n.conv(x, 20, 1)), x, "relu")
    return [classifier(n, n.conv(x, 32, 3, "relu", 2))]


def superres(n):
    x = n.image(n.pick(1, 3), [n.draw(9, 15), n.draw(9, 15)])
    y = n.conv(x, 16, 5, n.pick("relu", "leaky", "clip"))
    y = n.add(n.conv(n.conv(y, 16, 3, "relu"), 16, 3), y)
    r, c = n.pick(2, 3), x.shape[1]
    y = n.conv(y, c * r * r, 3)
    y = n.moved(y, [y.shape[0], c, y.shape[2] * r, y.shape[3] * r], "DepthToSpace", [], blocksize=r, mode=n.pick("DCR", "CRD"))
    return [n.add(y, n.grow(x, r))]


def squeezenet(n):
    x = n.pool(stem(n, 18), "max", 3, 2)
    for c in (8, 12):
        s = n.conv(x, c, 1, "relu")
        x = n.concat([n.conv(s, 2 * c, 1, "relu"), n.conv(s, 3 * c, 3, "relu")])
    x = n.conv(x, 10, 1, "relu")
    return [n.softmax(n.reshape(n.mean(x), x.shape[0], 10))]


def small(n):
    """One channel, three classes, odd sizes, four images."""
    x = n.image(1, [n.draw(7, 11), n.draw(5, 13)], 4)
    x = n.conv(x, 5, 3, "relu6", pads=[0, 1, 1, 0])
    x = n.depthwise(x, 3, "relu6", stride=[2, 1])
    x = n.conv(x, 3, 1, "relu")
    return [n.dense(n.reshape(x, 4, int(numpy.prod(x.shape[1:]))), 3)]


def shuffle(n):
    x = stem(n, 24)
    for _ in range(2):
        a, b = n.split(x, [12, 12])
        b = n.conv(n.depthwise(n.conv(b, 12, 1, "relu"), 3), 12, 1, "relu")
        x = n.concat([a, b])
        h, w = x.shape[2:]
        x = n.transpose(n.reshape(x, x.shape[0], 2, 12, h, w), 0, 2, 1, 3, 4)
        x = n.reshape(x, x.shape[0], 24, h, w)
    return [classifier(n, x)]


def mixer(n):
    x = n.conv(n.image(3, [16, 12]), 32, 4, stride=4, pads=[0] * 4)
    x = n.transpose(n.reshape(x, 1, 32, 12), 0, 2, 1)
    for _ in range(2):
        y = n.transpose(n.normalized(x), 0, 2, 1)
        x = n.add(x, n.transpose(n.dense(n.dense(y, 24, "gelu"), 12), 0, 2, 1))
        x = n.add(x, n.dense(n.dense(n.normalized(x), 64, "gelu"), 32))
    x = n.q(Value([1, 32], n.node("ReduceMean", [n.real(x)], axes=[1], keepdims=0)))
    return [n.dense(x, 10)]


def decoder(n):
    """Transposed convolutions, an encoder's skips; asymmetric pads."""
    x = stem(n, 16, [16, 12], 1, n.pick("relu", "leaky", "hard_swish"))
    d = n.conv(x, 24, 4, "relu", 2, pads=[1] * 4)
    u = n.conv(d, 16, 2, "relu", 2, pads=[0] * 4, transposed=True)
    x = n.concat([u, x])
    x = n.moved(x, x.shape[:2] + [x.shape[2] + 2, x.shape[3] + 1], "Pad", [n.ints(0, 0, 1, 0, 0, 0, 1, 1)])\
        if n.form == "dyn" else x
    return [n.conv(x, 4, 3)]


FAMILIES = {f.__name__: f for f in (
    resnext, densenet, ghostnet, regnet, efficientnet, convnext, inception, hrnet, pointnet, wavenet, bert, swin, mobilevit,
    deeplab, yolov8, repvgg, superres, squeezenet, small, shuffle, mixer, decoder)}


# ---- checks

def call(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode != 0:
        told = (done.stdout + done.stderr)[-600:].strip()
        raise RuntimeError("%s: status %d: %s" % (" ".join(words), done.returncode, told))
    return done.stdout


def check(tools, family, style, draw, table, keep):
    n = Net(family, style, draw)
    model = n.model(*FAMILIES[family](n))
    path = os.path.join(keep, "%s-%s-%d.onnx" % (family, style, draw)) if keep else "m.onnx"
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    if table:
        report = json.loads(call(os.path.join(tools, "vtac"), "compile", path, "--target", "vta", "--offload", "all", "--report",
                                 "--json", "-o", "m.so"))
        print("%-14s %-12s %3d regions, %9d products there" % (family, style, report.get("regions", 0), sum(
            x["macs"] for x in report.get("layers", []))), flush=True)
    if draw % 3 == 2:  # only what pays goes there, the rest returns to the host
        told = call(os.path.join(tools, "vtac"), "diff", path, "--offload", "pays", "--config", "tiny", "--seed", str(draw))
        if "agree on all" not in told:
            raise RuntimeError(told.strip())
        return False
    done = subprocess.run([os.path.join(tools, "same_integers"), path, str(draw % 2 * 3), "0", *DEVICES], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True)
    idle = "this would prove nothing" in done.stdout  # drawn inputs are large: a deep network may see only its limits
    if done.returncode != 0 and not idle:
        raise RuntimeError(done.stdout[-600:].strip())
    return idle


def main():
    words, count, table, keep = sys.argv[2:], 20, False, None
    names = []
    while words:
        word = words.pop(0)
        if word == "--count":
            count = int(words.pop(0))
        elif word == "--keep":
            keep = os.path.abspath(words.pop(0))
        elif word == "--table":
            table = True
        else:
            names.append(word)
    tools = os.path.join(os.path.abspath(sys.argv[1]), "bin")
    pairs = [(f, s, 0) for f in FAMILIES for s in STYLES if any(f == x.split("/")[0] and s in (x + "/" + s).split("/")[1:2]
                                                             for x in names)]
    if not names:
        random = random_for("exporters", 0)
        pairs = [(list(FAMILIES)[int(random.integers(len(FAMILIES)))], list(STYLES)[int(random.integers(len(STYLES)))], i)
                 for i in range(count)]
    failed, idle = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for family, style, draw in pairs:
            try:
                idle += check(tools, family, style, draw, table, keep)
            except RuntimeError as problem:
                print("%s/%s, draw %d: %s" % (family, style, draw, problem), flush=True)
                failed += 1
        os.chdir("/")
    print("exporters: seed %s, %d networks, %d failed, %d gave the same whatever they got" % (SEED, len(pairs), failed, idle))
    return 1 if failed or idle > 1 + len(pairs) // 4 else 0


sys.exit(main())
