# SPDX-License-Identifier: Apache-2.0
#
# Small networks of the families that people publish, with drawn weights, as models of floats; and the same in integers, as
# exporters write them: quantized and dequantized beside each layer (QDQ), or in operators of integers (QLinear). Zero points are
# odd wherever a range has two signs; weights have a scale a channel.
import numpy
from onnx import TensorProto, helper, numpy_helper

import reference

F32 = numpy.float32
SAMPLES = 24  # inputs by which weights are scaled and ranges are measured


class Net:
    """A network under construction. `seen` is what the samples give so far: weights are scaled so that it keeps its spread."""

    def __init__(self, seed, shape, low, high):
        self.random = numpy.random.default_rng(seed)
        self.shape, self.ends = shape, (low, high)
        self.nodes, self.constants, self.count = [], {}, 0
        self.values = {"input": self.draw(SAMPLES)}
        self.at = "input"

    def draw(self, count):
        """Smooth noise about a level, both drawn: inputs differ in more than their noise."""
        low, high = self.ends
        noise = self.random.normal(0, 1, (count, *self.shape))
        for axis in (2, 3):
            noise = noise + numpy.roll(noise, 1, axis)
        level = self.random.uniform(-1, 1, (count, self.shape[0], 1, 1))
        return numpy.clip((low + high) / 2 + (high - low) * (noise / 12 + level / 3), low, high).astype(F32).astype(float)

    @property
    def seen(self):
        return self.values[self.at]

    def constant(self, value, name):
        self.constants[name] = value
        return name

    def add(self, op, inputs, **how):
        self.count += 1
        name = "%s_%d" % (op.lower(), self.count)
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **how))
        values = [self.values[i] if i in self.values else self.constants[i].astype(float) for i in inputs]
        self.values[name] = reference.OPERATORS[op](*values, **how)
        self.at = name
        return name

    def weights(self, shape, compute, spread):
        """Weights by which compute(weights) has the deviation `spread`, channels of unlike sizes."""
        w = self.random.normal(0, 1, shape) * numpy.exp(self.random.normal(0, 0.4, (shape[0],) + (1,) * (len(shape) - 1)))
        return (w * spread / compute(w).std()).astype(F32)

    def conv(self, filters, kernel, stride=1, group=1, act="Relu", spread=1.0):
        channels, n = self.seen.shape[1], self.count + 1
        pads = [(k - 1) // 2 for k in kernel] + [k // 2 for k in kernel]
        how = {"group": group, "strides": [stride, stride], "pads": pads}
        w = self.weights((filters, channels // group, *kernel), lambda v: reference.conv(self.seen, v, **how), spread)
        b = self.random.normal(0, 0.2, filters).astype(F32)
        self.add("Conv", [self.at, self.constant(w, "w%d" % n), self.constant(b, "b%d" % n)], **how)
        return self.activate(act)

    def activate(self, act):
        if act == "Clip":
            ends = [self.constant(F32(v), "clip%d" % v) for v in (0, 6)]
            return self.add("Clip", [self.at, *ends])
        return self.add(act, [self.at]) if act else self.at

    def norm(self):
        n, c = self.count + 1, self.seen.shape[1]
        drawn = [self.random.uniform(0.6, 1.4, c), self.random.normal(0, 0.3, c), self.seen.mean((0, 2, 3)), self.seen.var((0, 2, 3))]
        names = [self.constant(v.astype(F32), "%s%d" % (k, n)) for k, v in zip(("scale", "shift", "mean", "variance"), drawn)]
        return self.add("BatchNormalization", [self.at, *names], epsilon=1e-5)

    def classes(self, count, softmax=True):
        """The mean of each channel, and a dense layer whose answers are far apart."""
        n = self.count + 1
        self.add("GlobalAveragePool", [self.at])
        self.add("Flatten", [self.at], axis=1)
        mean, spread = self.seen.mean(0), 2.5
        w = self.weights((count, self.seen.shape[1]), lambda v: (self.seen - mean) @ v.T, spread)
        b = -(w @ mean).astype(F32)
        self.add("Gemm", [self.at, self.constant(w, "w%d" % n), self.constant(b, "b%d" % n)], transB=1)
        return self.add("Softmax", [self.at], axis=1) if softmax else self.at

    def model(self):
        ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (1,) + self.values[name].shape[1:]) for name in ("input", self.at)]
        return finished(self.nodes, ends, self.constants)


def finished(nodes, ends, constants, domains=()):
    graph = helper.make_graph(nodes, "own", ends[:1], ends[1:], [numpy_helper.from_array(numpy.asarray(v), k) for k, v in constants.items()])
    opsets = [helper.make_opsetid("", 13)] + [helper.make_opsetid(d, 1) for d in domains]
    return helper.make_model(graph, opset_imports=opsets, ir_version=7, producer_name="vtac's tests")


# ---- families

def words(seed):
    """A keyword spotter: depthwise layers on a spectrogram."""
    net = Net(seed, (1, 49, 10), -123, 25)
    net.conv(32, (10, 4), 2)
    for _ in range(2):
        net.conv(32, (3, 3), group=32)
        net.conv(32, (1, 1))
    net.classes(12)
    return net


def image(seed):
    """A residual network for pictures of 32 x 32."""
    net = Net(seed, (3, 32, 32), 0, 255)
    start = net.conv(16, (3, 3), 2)
    net.conv(16, (3, 3))
    net.conv(16, (3, 3), act="")
    net.add("Add", [net.at, start])
    start = net.activate("Relu")
    net.conv(32, (3, 3), 2)
    inside = net.conv(32, (3, 3), act="")
    net.at = start
    net.conv(32, (1, 1), 2, act="")
    net.add("Add", [inside, net.at])
    net.activate("Relu")
    net.classes(10)
    return net


def norm(seed):
    """The same kind with its normalizations kept."""
    net = Net(seed, (3, 32, 32), -2, 2)
    net.conv(16, (3, 3), 2, act="")
    net.norm()
    start = net.activate("Relu")
    net.conv(16, (3, 3), act="")
    net.norm()
    net.activate("Relu")
    net.conv(16, (3, 3), act="")
    net.norm()
    net.add("Add", [net.at, start])
    net.activate("Relu")
    net.classes(10, softmax=False)
    return net


def fire(seed):
    """Squeeze and expand, whose halves are joined."""
    net = Net(seed, (3, 48, 48), -120, 150)
    net.conv(16, (3, 3), 2)
    net.add("MaxPool", [net.at], kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])
    for _ in range(2):
        squeezed = net.conv(8, (1, 1))
        left = net.conv(16, (1, 1))
        net.at = squeezed
        right = net.conv(16, (3, 3))
        net.add("Concat", [left, right], axis=1)
    net.conv(24, (1, 1))
    net.classes(10, softmax=False)
    return net


def mobile(seed):
    """Inverted residuals: narrow values of two signs between wide ones that are cut off at 6."""
    net = Net(seed, (3, 32, 32), -2, 2)
    net.conv(16, (3, 3), 2, act="Clip", spread=2)
    for outputs, stride in ((8, 1), (8, 1), (12, 2)):
        start, same = net.at, stride == 1 and net.seen.shape[1] == outputs
        net.conv(32, (1, 1), act="Clip", spread=2)
        net.conv(32, (3, 3), stride, group=32, act="Clip", spread=2)
        net.conv(outputs, (1, 1), act="")
        if same:
            net.add("Add", [start, net.at])
    net.conv(48, (1, 1), act="Clip", spread=2)
    net.classes(10, softmax=False)
    return net


def digit(seed):
    """A network as the first exporters wrote them: weights are inputs, a bias is added, rows are made by a reshape."""
    net = Net(seed, (1, 28, 28), 0, 255)
    for filters, pool in ((8, 2), (16, 3)):
        n = net.count + 1
        how = {"pads": [2, 2, 2, 2], "strides": [1, 1]}
        w = net.weights((filters, net.seen.shape[1], 5, 5), lambda v: reference.conv(net.seen, v, **how), 1.0)
        net.add("Conv", [net.at, net.constant(w, "w%d" % n)], **how)
        net.add("Add", [net.at, net.constant(net.random.normal(0, 0.2, (filters, 1, 1)).astype(F32), "b%d" % n)])
        net.activate("Relu")
        net.add("MaxPool", [net.at], kernel_shape=[pool, pool], strides=[pool, pool])
    rows = net.seen.reshape(SAMPLES, -1)
    net.nodes.append(helper.make_node("Reshape", [net.at, net.constant(numpy.array([1, rows.shape[1]]), "rows")], ["flat"]))
    net.values["flat"], net.at = rows, "flat"
    w = net.weights((rows.shape[1], 10), lambda v: (rows - rows.mean(0)) @ v, 2.5)
    net.add("MatMul", ["flat", net.constant(w, "dense")])
    net.add("Add", [net.at, net.constant(-(rows.mean(0) @ w).astype(F32)[None], "last")])
    return net


# ---- integers

def parameters(values, kind):
    """A scale, and a zero point that is odd where values have two signs."""
    ends = numpy.iinfo(kind)
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    scale = F32((high - low) / 255)
    zero = int(round(ends.min - low / float(scale)))
    return scale, numpy.array(min(zero | 1, ends.max) if low < 0 else zero, kind)


def weights_of(w, axis=0):
    """Integers and a scale for each place of an axis; none of them is -128."""
    most = numpy.abs(w).max(tuple(i for i in range(w.ndim) if i != axis), keepdims=True).astype(float)
    scale = (most / 127).astype(F32)
    return numpy.rint(w.astype(float) / scale.astype(float)).astype(numpy.int8), scale.reshape(-1)


class Integers:
    """What both forms share: a float network, walked layer by layer; a layer and the activation behind it are one."""

    def __init__(self, net, kind):
        self.net, self.kind, self.nodes = net, kind, []
        self.constants, self.last, self.known = {}, net.at, {}
        self.readers = {}
        for node in net.nodes:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)

    def constant(self, value, name):
        self.constants[name] = value
        return name

    def layer_end(self, node):
        """The name of a node's result behind its activation."""
        readers = self.readers.get(node.output[0], [])
        acts = len(readers) == 1 and readers[0].op_type in ("Relu", "Clip")
        return readers[0].output[0] if acts else node.output[0]

    def range_of(self, name, node):
        if node is not None and node.op_type == "Softmax":
            return F32(1 / 256), numpy.array(numpy.iinfo(self.kind).min, self.kind)
        return parameters(self.net.values[name], self.kind)

    def scale_names(self, name, node):
        scale, zero = self.range_of(name, node)
        if node is not None and node.op_type in ("MaxPool", "Flatten"):
            scale, zero = self.known[node.input[0]]
        self.known[name] = scale, zero
        return [self.constant(scale, name + "_scale"), self.constant(zero, name + "_zero")]

    def ends(self, name):
        shapes = [(1,) + self.net.values[n].shape[1:] for n in ("input", self.last)]
        return [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in zip(("input", name), shapes)]


class Qdq(Integers):
    """Each value that a layer leaves is quantized and dequantized, weights and biases are dequantized."""

    def both(self, name, node=None):
        words_of = self.scale_names(name, node)
        self.nodes.append(helper.make_node("QuantizeLinear", [name, *words_of], [name + "_q"], name=name + "_quantize"))
        self.nodes.append(helper.make_node("DequantizeLinear", [name + "_q", *words_of], [name + "_dq"], name=name + "_dequantize"))

    def stored(self, name, integers, scale):
        names = [self.constant(integers, name + "_q"), self.constant(scale, name + "_scale"),
                 self.constant(numpy.zeros(len(scale), integers.dtype), name + "_zero")]
        self.nodes.append(helper.make_node("DequantizeLinear", names, [name + "_dq"], name=name + "_dequantize", axis=0))

    def build(self):
        self.both("input")
        for node in self.net.nodes:
            if node.op_type in ("Relu", "Clip"):
                if self.layer_end_of(node):
                    self.nodes.append(self.renamed(node, [node.input[0], *self.bounds(node)]))
                    self.both(node.output[0], node)
                continue
            if node.op_type in ("Conv", "Gemm"):
                w, b = (self.net.constants[name] for name in node.input[1:])
                integers, scale = weights_of(w)
                self.stored(node.input[1], integers, scale)
                product = (scale.astype(float) * float(self.known[node.input[0]][0])).astype(F32)
                self.stored(node.input[2], numpy.rint(b.astype(float) / product.astype(float)).astype(numpy.int32), product)
            self.nodes.append(self.renamed(node, [name + "_dq" for name in node.input]))
            if self.layer_end(node) == node.output[0]:
                self.both(node.output[0], node)
        return finished(self.nodes, self.ends(self.last + "_dq"), self.constants)

    def layer_end_of(self, act):
        return any(self.layer_end(node) == act.output[0] for node in self.net.nodes)

    def bounds(self, node):
        return [self.constant(self.net.constants[name], name) for name in node.input[1:]]

    def renamed(self, node, inputs):
        copy = helper.make_node(node.op_type, inputs, node.output, name=node.name)
        copy.attribute.extend(node.attribute)
        return copy


class QLinear(Integers):
    """Operators of integers between one quantization and one dequantization."""

    def operand(self, name):
        return [name + "_q", name + "_scale", name + "_zero"]

    def weights(self, name, w, axis):
        integers, scale = weights_of(w, axis)
        return [self.constant(integers, name + "_q"), self.constant(scale, name + "_scale"), self.constant(numpy.zeros(len(scale), numpy.int8), name + "_zero")]

    def put(self, op, inputs, name, node, domain="", **how):
        scale = self.scale_names(name, node)
        inputs = inputs[:-1] + scale + inputs[-1:] if op == "QLinearConv" else inputs + scale
        self.nodes.append(helper.make_node(op, inputs, [name + "_q"], name=name, domain=domain, **how))

    def conv(self, node):
        w, b = (self.net.constants[name] for name in node.input[1:])
        operand = self.weights(node.input[1], w, 0)
        product = self.constants[operand[1]].astype(float) * float(self.known[node.input[0]][0])
        bias = self.constant(numpy.rint(b.astype(float) / product).astype(numpy.int32), node.input[2] + "_q")
        how = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        end = self.layer_end(node)
        self.put("QLinearConv", self.operand(node.input[0]) + operand + [bias], end, node, **how)

    def dense(self, node):
        w, b = (self.net.constants[name] for name in node.input[1:])
        sums = node.output[0] + "_sum"
        self.net.values[sums] = self.net.values[node.output[0]] - b
        most = numpy.abs(w).max()
        scale = F32(most / 127)
        names = [self.constant(numpy.rint(w.T.astype(float) / float(scale)).astype(numpy.int8), sums + "_w"), self.constant(scale, sums + "_ws"),
                 self.constant(numpy.int8(0), sums + "_wz")]
        self.put("QLinearMatMul", self.operand(node.input[0]) + names, sums, None)
        scale, zero = parameters(b, self.kind)
        bias = [self.constant(reference.quantize(b[None].astype(float), numpy.array(scale), zero), sums + "_b"), self.constant(scale, sums + "_bs"),
                self.constant(zero, sums + "_bz")]
        self.put("QLinearAdd", self.operand(sums) + bias, node.output[0], None, "com.microsoft")

    def build(self):
        self.nodes.append(helper.make_node("QuantizeLinear", ["input", *self.scale_names("input", None)], ["input_q"], name="quantize"))
        for node in self.net.nodes:
            if node.op_type == "Conv":
                self.conv(node)
            elif node.op_type == "Gemm":
                self.dense(node)
            elif node.op_type == "Add":
                self.put("QLinearAdd", self.operand(node.input[0]) + self.operand(node.input[1]), node.output[0], node, "com.microsoft")
            elif node.op_type == "GlobalAveragePool":
                self.put("QLinearGlobalAveragePool", self.operand(node.input[0]), node.output[0], node, "com.microsoft", channels_last=0)
            elif node.op_type == "Flatten":
                self.scale_names(node.output[0], node)
                self.nodes.append(helper.make_node("Flatten", [node.input[0] + "_q"], [node.output[0] + "_q"], name=node.name, axis=1))
        self.nodes.append(helper.make_node("DequantizeLinear", self.operand(self.last), ["output"], name="dequantize"))
        return finished(self.nodes, self.ends("output"), self.constants, ["com.microsoft"])
