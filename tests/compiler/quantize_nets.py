# SPDX-License-Identifier: Apache-2.0
#
# What the tests of vtac quantize share: models of seeded weights, what ONNX says of their operators, computed in doubles, and pictures.
# Needs python3-onnx; a script that imports this ends with status 77 where it is not there.
import sys

try:
    import numpy
    import onnx
    import onnx.helper
    import onnx.numpy_helper
except ImportError:
    print("python3-onnx is not installed")
    sys.exit(77)


# ---- what ONNX says of the operators, in doubles


def convolve(x, w, b=None, strides=(1, 1), pads=(0, 0, 0, 0), group=1):
    x = numpy.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    windows = numpy.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))[:, :, ::strides[0], ::strides[1]]
    parts = numpy.split(windows, group, 1), numpy.split(w, group, 0)
    y = numpy.concatenate([numpy.einsum("nchwij,ocij->nohw", v, k) for v, k in zip(*parts)], 1)
    return y if b is None else y + b[None, :, None, None]


def soft(x, axis=-1):
    e = numpy.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def pool_max(x, kernel_shape, strides):
    """Windows that lie side by side."""
    (h, w), (n, c) = kernel_shape, x.shape[:2]
    assert kernel_shape == strides
    return x[:, :, :x.shape[2] // h * h, :x.shape[3] // w * w].reshape(n, c, x.shape[2] // h, h, x.shape[3] // w, w).max((3, 5))


OPERATORS = {
    "Shape": lambda x: numpy.array(x.shape), "Flatten": lambda x: x.reshape(len(x), -1), "Gemm": lambda a, b: a @ b, "GlobalAveragePool": lambda x: x.mean((2, 3), keepdims=True),
    "MaxPool": pool_max, "Resize": lambda x, _, scales, mode: x.repeat(int(scales[2]), 2).repeat(int(scales[3]), 3),
    "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Div": lambda a, b: a / b, "Pow": lambda a, b: a ** b,
    "Clip": numpy.clip, "Concat": lambda *x, axis: numpy.concatenate(x, axis), "Conv": convolve, "Exp": numpy.exp, "Log": numpy.log,
    "MatMul": lambda a, b: a @ b, "ReduceMean": lambda x, axes, keepdims=1: numpy.asarray(x.mean(tuple(axes), keepdims=bool(keepdims))),
    "Relu": lambda x: numpy.maximum(x, 0), "Reshape": lambda x, shape: x.reshape([int(n) for n in shape]), "Sigmoid": lambda x: 1 / (1 + numpy.exp(-x)),
    "Softmax": soft, "Sqrt": numpy.sqrt, "Transpose": lambda x, perm: x.transpose(perm),
    "Slice": lambda x, first, last, axes: x[tuple(slice(int(first[0]), int(last[0])) if i == int(axes[0]) else slice(None) for i in range(x.ndim))],
}


def evaluate(model, x):
    """The outputs of a model, of one input or of inputs by name."""
    values = {t.name: onnx.numpy_helper.to_array(t).astype(float) for t in model.graph.initializer}
    inputs = x if isinstance(x, dict) else {model.graph.input[0].name: x}
    values.update((name, value.astype(float)) for name, value in inputs.items())
    for node in model.graph.node:
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        values[node.output[0]] = OPERATORS[node.op_type](*(values[name] if name else None for name in node.input), **attributes)
    return [values[o.name] for o in model.graph.output]


class Net:
    """A model under construction; every method returns the name of its result."""

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.nodes, self.constants = [], []

    def number(self, value, dtype=numpy.float32):
        self.constants.append(onnx.numpy_helper.from_array(numpy.asarray(value, dtype), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def add(self, op, *inputs, **attributes):
        self.nodes.append(onnx.helper.make_node(op, list(inputs), [f"v{len(self.nodes)}"], f"n{len(self.nodes)}", **attributes))
        return self.nodes[-1].output[0]

    def conv(self, x, i, o, kernel=3, stride=1, bias=0.0):
        w = self.random.normal(0, 1.4 / numpy.sqrt(i * kernel * kernel), (o, i, kernel, kernel))
        b = self.random.normal(bias, 0.3, o)
        return self.add("Conv", x, self.number(w), self.number(b), strides=[stride] * 2, pads=[kernel // 2] * 4)

    def silu(self, x):
        return self.add("Mul", x, self.add("Sigmoid", x))

    def reshape(self, x, *shape):
        return self.add("Reshape", x, self.number(shape, numpy.int64))

    def part(self, x, first, last, axis):
        return self.add("Slice", x, *(self.number([n], numpy.int64) for n in (first, last, axis)))

    def save(self, path, shape, outputs, opset=13, more_inputs=()):
        """Outputs and further inputs are name and shape, or name, shape and element type."""
        def info(name, size, kind=1):
            return onnx.helper.make_tensor_value_info(name, kind, size)
        inputs = [info("x", shape), *(info(*end) for end in more_inputs)]
        graph = onnx.helper.make_graph(self.nodes, "net", inputs, [info(*end) for end in outputs], self.constants)
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=7), path)


def pictures(random, count, shape):
    """Smooth ones, so that maps differ from place to place."""
    low = random.normal(0, 1, (count, shape[1], shape[2] // 8, shape[3] // 8))
    return (low.repeat(8, 2).repeat(8, 3) + random.normal(0, 0.3, (count, *shape[1:]))).astype(numpy.float32)[:, None]
