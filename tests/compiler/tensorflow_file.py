# SPDX-License-Identifier: Apache-2.0
#
# Files of TensorFlow for tests: nodes are written once and come out as a GraphDef, a SavedModel or a model of TensorFlow.js.
# Also what the tests of that importer have in common: a network of MobileNetV1's shape, and windows in NumPy.
import base64
import json
import os

import numpy

from messages import field, varint

TYPES = {"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "int64": 9, "bool": 10, "float16": 19}
NAMES = {"float32": "DT_FLOAT", "float64": "DT_DOUBLE", "int32": "DT_INT32", "uint8": "DT_UINT8", "int16": "DT_INT16", "int8": "DT_INT8",
         "int64": "DT_INT64", "bool": "DT_BOOL", "float16": "DT_HALF"}


def shape_message(dims):
    return b"".join(field(2, field(1, int(d))) for d in dims)


def tensor_message(a, how="content"):
    """A tensor: its bytes, its values one after the other, or the first value alone, which counts for all."""
    a = numpy.asarray(a)
    out = field(1, TYPES[str(a.dtype)]) + field(2, shape_message(a.shape))
    if how == "content":
        return out + field(4, numpy.ascontiguousarray(a).tobytes())
    values = a.reshape(-1)[:1] if how == "first" else a.reshape(-1)
    if a.dtype == numpy.float32:
        return out + field(5, values.tobytes())
    return out + field(10 if a.dtype == numpy.int64 else 11 if a.dtype == bool else 7, b"".join(varint(int(v)) for v in values))


class Type(str):
    """The name of a type as an attribute."""


class Shape(tuple):
    """A shape as an attribute; -1 is open. Shape(None) has no rank."""
    def __new__(cls, dims):
        made = super().__new__(cls, dims or ())
        made.open = dims is None
        return made


class Function(str):
    """The name of a function as an attribute."""


def attr_message(v, how="content"):
    if isinstance(v, Type):
        return field(6, TYPES[v])
    if isinstance(v, Shape):
        return field(7, field(3, 1) if v.open else shape_message(v))
    if isinstance(v, Function):
        return field(10, field(1, v))
    if isinstance(v, bool):
        return field(5, int(v))
    if isinstance(v, int):
        return field(3, v)
    if isinstance(v, float):
        return field(4, v)
    if isinstance(v, str):
        return field(2, v)
    if isinstance(v, list):
        texts = all(isinstance(i, str) for i in v) and v
        return field(1, b"".join(field(2, i) for i in v) if texts else field(3, b"".join(varint(i) for i in v)))
    return field(8, tensor_message(v, how))


def attr_json(v):
    text = lambda s: base64.b64encode(s.encode()).decode()
    if isinstance(v, Type):
        return {"type": NAMES[v]}
    if isinstance(v, Shape):
        return {"shape": {"unknownRank": True} if v.open else {"dim": [{"size": str(d)} for d in v]}}
    if isinstance(v, Function):
        return {"func": {"name": v}}
    if isinstance(v, bool):
        return {"b": v}
    if isinstance(v, int):
        return {"i": str(v)}
    if isinstance(v, float):
        return {"f": v}
    if isinstance(v, str):
        return {"s": text(v)}
    if isinstance(v, list):
        return {"list": {"s": [text(i) for i in v]} if v and isinstance(v[0], str) else {"i": [str(i) for i in v]}}
    return {"tensor": {"dtype": NAMES[str(v.dtype)], "tensorShape": {"dim": [{"size": str(d)} for d in v.shape]}}}


class Graph:
    """Nodes in the order in which they were made. A call gives the name, so that calls can be nested."""

    def __init__(self):
        self.nodes, self.functions, self.how, self.operators = [], [], {}, set()

    def __call__(self, op, *inputs, name=None, **attrs):
        name = name or "%s_%d" % (op.strip("_").lower(), len(self.nodes))
        self.operators.add(op)
        self.nodes.append((name, op, [self.constant(i) if not isinstance(i, str) else i for i in inputs], attrs))
        return name

    def input(self, name, dims, kind="float32"):
        return self("Placeholder", name=name, dtype=Type(kind), shape=Shape(dims))

    def constant(self, value, how="content", name=None):
        value = numpy.asarray(value)
        value = value.astype("float32" if value.dtype == "float64" else "int32" if value.dtype == "int64" else value.dtype)
        name = self("Const", name=name, value=value, dtype=Type(str(value.dtype)))
        self.how[name] = how
        return name

    def node_message(self, node):
        name, op, inputs, attrs = node
        pairs = [field(5, field(1, k) + field(2, attr_message(v, self.how.get(name, "content")))) for k, v in attrs.items()]
        return field(1, name) + field(2, op) + b"".join(field(3, i) for i in inputs) + b"".join(pairs)

    def function(self, name, args, outs, body):
        """`outs`: output names to references within; `body` is a Graph."""
        self.operators |= body.operators
        signature = field(1, name) + b"".join(field(2, field(1, a) + field(3, 1)) for a in args) + b"".join(field(3, field(1, o) + field(3, 1)) for o in outs)
        nodes = b"".join(field(3, body.node_message(n)) for n in body.nodes)
        self.functions.append(field(1, signature) + nodes + b"".join(field(4, field(1, o) + field(2, r)) for o, r in outs.items()))

    def graph_def(self):
        library = b"".join(field(1, f) for f in self.functions)
        return b"".join(field(1, self.node_message(n)) for n in self.nodes) + (field(2, library) if library else b"") + field(4, field(1, 1087))

    def tfjs(self, folder, quantized=None, shard=None, signature=None):
        """A graph-model; `quantized` is a type of stored weights, `shard` the bytes of a file."""
        nodes = [{"name": n, "op": op, "input": i, "attr": {k: attr_json(v) for k, v in a.items()}} for n, op, i, a in self.nodes]
        weights, data = [], b""
        for name, op, _, attrs in self.nodes:
            if op == "Const":
                entry, stored = stored_weight(name, attrs["value"], quantized)
                weights.append(entry)
                data += stored
        model = {"format": "graph-model", "modelTopology": {"node": nodes, "library": {}, "versions": {}}, "weightsManifest": write_shards(folder, weights, data, shard)}
        if signature:
            model["signature"] = signature
        path = os.path.join(folder, "model.json")
        with open(path, "w") as f:
            json.dump(model, f)
        return path


def stored_weight(name, a, quantized):
    entry = {"name": name, "shape": list(a.shape), "dtype": str(a.dtype)}
    if quantized is None or a.dtype != numpy.float32:
        return entry, numpy.ascontiguousarray(a).tobytes()
    if quantized == "float16":
        entry["quantization"] = {"dtype": "float16", "original_dtype": "float32"}
        return entry, a.astype("float16").tobytes()
    low, high, top = float(a.min()), float(a.max()), 2 ** (8 * numpy.dtype(quantized).itemsize) - 1
    scale = (high - low) / top or 1.0
    entry["quantization"] = {"dtype": quantized, "scale": scale, "min": low}
    return entry, numpy.round((a - low) / scale).astype(quantized).tobytes()


def real_weight(a, quantized):
    """The weight that the numbers stored for `a` stand for."""
    entry, stored = stored_weight("", a, quantized)
    how = entry.get("quantization")
    if how is None:
        return a
    numbers = numpy.frombuffer(stored, how["dtype"]).reshape(a.shape).astype(float)
    return (numbers * how.get("scale", 1.0) + how.get("min", 0.0)).astype("float32")


def write_shards(folder, weights, data, shard):
    parts = [data[i:i + (shard or len(data) or 1)] for i in range(0, len(data) or 1, shard or len(data) or 1)]
    paths = ["group1-shard%dof%d.bin" % (i + 1, len(parts)) for i in range(len(parts))]
    for name, part in zip(paths, parts):
        with open(os.path.join(folder, name), "wb") as f:
            f.write(part)
    return [{"paths": paths, "weights": weights}]


# ---- windows in NumPy, in double; x is [batch][height][width][channels]

def pads_of(size, kernel, stride, dilation, padding):
    if padding == "VALID":
        return 0, 0
    total = max((-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    return total // 2, total - total // 2


def windows(x, kernel, stride, dilation, padding, fill=0.0):
    """For each place of the window its values, [batch][rows][columns][channels]."""
    pads = [pads_of(x.shape[a + 1], kernel[a], stride[a], dilation[a], padding) for a in range(2)]
    x = numpy.pad(x, [(0, 0), pads[0], pads[1], (0, 0)], constant_values=fill)
    counts = [(x.shape[a + 1] - (kernel[a] - 1) * dilation[a] - 1) // stride[a] + 1 for a in range(2)]
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            at = i * dilation[0], j * dilation[1]
            yield i, j, x[:, at[0]:at[0] + (counts[0] - 1) * stride[0] + 1:stride[0], at[1]:at[1] + (counts[1] - 1) * stride[1] + 1:stride[1]]


def conv(x, w, stride=(1, 1), padding="SAME", dilation=(1, 1)):
    x = x.astype(float)
    groups = x.shape[3] // w.shape[2]
    parts = numpy.split(w.astype(float), groups, axis=3)
    return numpy.concatenate([sum(numpy.einsum("nhwc,co->nhwo", v, p[i, j]) for i, j, v in windows(xs, w.shape[:2], stride, dilation, padding))
                              for xs, p in zip(numpy.split(x, groups, axis=3), parts)], axis=3)


def depthwise(x, w, stride=(1, 1), padding="SAME", dilation=(1, 1)):
    x, w = x.astype(float), w.astype(float)
    y = sum(v[..., None] * w[i, j] for i, j, v in windows(x, w.shape[:2], stride, dilation, padding))
    return y.reshape(y.shape[:3] + (-1,))


def max_pool(x, kernel, stride, padding):
    return numpy.max([v for _, _, v in windows(x.astype(float), kernel, stride, (1, 1), padding, -numpy.inf)], axis=0)


def average_pool(x, kernel, stride, padding):
    count = sum(v for _, _, v in windows(numpy.ones_like(x, float), kernel, stride, (1, 1), padding))
    return sum(v for _, _, v in windows(x.astype(float), kernel, stride, (1, 1), padding)) / count


def softmax(x, axis=-1):
    e = numpy.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


# ---- MobileNetV1

def mobilenet(random, size, width, classes):
    """A frozen graph of MobileNetV1's layers, and the same in NumPy, in double, with the weights as `real` gives them."""
    g, layers = Graph(), []
    blocks = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
    deep = lambda n: max(8, int(n * width))

    def norm(name, x, channels):
        values = [random.uniform(0.7, 1.3, channels), random.normal(0, 0.2, channels), random.normal(0, 0.2, channels), random.uniform(0.5, 1.5, channels)]
        values = [v.astype("float32") for v in values]
        inputs = [g("Identity", g.constant(v), name="%s/BatchNorm/%s/read" % (name, n)) for v, n in zip(values, ("gamma", "beta", "moving_mean", "moving_variance"))]
        y = g("FusedBatchNorm", x, *inputs, name=name + "/BatchNorm/FusedBatchNorm", epsilon=0.001, is_training=False, data_format="NHWC", T=Type("float32"))

        def apply(v, real):
            gamma, beta, mean, variance = (real(value).astype(float) for value in values)
            return numpy.clip((v - mean) * (gamma / numpy.sqrt(variance + 0.001)) + beta, 0, 6)

        layers.append(apply)
        return g("Relu6", y, name=name + "/Relu6", T=Type("float32"))

    def layer(name, op, x, w, stride):
        w = w.astype("float32")
        weights = g("Identity", g.constant(w, name=name + "/weights"), name=name + "/weights/read")
        y = g(op, x, weights, name="%s/%s" % (name, op), strides=[1, stride, stride, 1], padding="SAME", data_format="NHWC", T=Type("float32"))
        layers.append(lambda v, real: (conv if op == "Conv2D" else depthwise)(v, real(w), (stride, stride)))
        return norm(name, y, w.shape[3] if op == "Conv2D" else w.shape[2])

    x = g.input("input", (-1, size, size, 3))
    channels = deep(32)
    x = layer("MobilenetV1/Conv2d_0", "Conv2D", x, random.normal(0, 0.3, (3, 3, 3, channels)), 2)
    for i, (out, stride) in enumerate(blocks):
        x = layer("MobilenetV1/Conv2d_%d_depthwise" % (i + 1), "DepthwiseConv2dNative", x, random.normal(0, 0.4, (3, 3, channels, 1)), stride)
        x = layer("MobilenetV1/Conv2d_%d_pointwise" % (i + 1), "Conv2D", x, random.normal(0, 1.4 / channels ** 0.5, (1, 1, channels, deep(out))), 1)
        channels = deep(out)
    side = -(-size // 32)
    x = g("AvgPool", x, name="MobilenetV1/Logits/AvgPool_1a/AvgPool", ksize=[1, side, side, 1], strides=[1, 2, 2, 1], padding="VALID", data_format="NHWC")
    w, b = random.normal(0, 2.0 / channels ** 0.5, (1, 1, channels, classes)).astype("float32"), random.normal(0, 0.1, classes).astype("float32")
    x = g("Conv2D", x, g.constant(w), name="MobilenetV1/Logits/Conv2d_1c_1x1/Conv2D", strides=[1, 1, 1, 1], padding="SAME", data_format="NHWC")
    x = g("BiasAdd", x, g.constant(b), name="MobilenetV1/Logits/Conv2d_1c_1x1/BiasAdd", data_format="NHWC")
    x = g("Squeeze", x, name="MobilenetV1/Logits/SpatialSqueeze", squeeze_dims=[1, 2])
    shape = g("Shape", x, name="MobilenetV1/Predictions/Shape")
    x = g("Reshape", x, g.constant(numpy.array([-1, classes], "int32")), name="MobilenetV1/Predictions/Reshape")
    x = g("Softmax", x, name="MobilenetV1/Predictions/Softmax")
    g("Reshape", x, shape, name="MobilenetV1/Predictions/Reshape_1")

    def reference(v, real=lambda weight: weight):
        for f in layers:
            v = f(v, real)
        return softmax((v.mean((1, 2)) @ real(w)[0, 0].astype(float)) + real(b))

    return g, reference
