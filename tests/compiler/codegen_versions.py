#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Each operator by the version that its opset has: the forms before opset 7, the experimental operators of that time,
# defaults that must hold in every later opset, an opset that is newer than any known. Then what importing costs: a long
# chain, and a loop without an end.
#
# usage: codegen_versions.py VTAC   (exit status 77: python3-onnx is not there)
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import yard
from onnx_cases import Suite, helper, numpy, numpy_helper, TensorProto

F32 = numpy.float32
MAX_CHAIN, MAX_LOOP = 4.0, 1.0 # yards (lib/yard.py)


def normal(*shape):
    return lambda random: [("x", random.standard_normal(shape).astype(F32))]


def softmax(x, axis):
    e = numpy.exp(x.astype(float) - x.max(axis, keepdims=True))
    return (e / e.sum(axis, keepdims=True)).astype(F32)


def hardmax(x, axis):
    first = numpy.expand_dims(x.argmax(axis), axis)
    return (numpy.indices(x.shape)[axis] == first).astype(F32)


def later_defaults(suite):
    """Attributes that are absent mean the same in every opset after the one that changed them."""
    for version in (13, 21, 22, 25, 28, 31):
        suite.add("Softmax", normal(2, 3, 4), lambda x: softmax(x, -1), version=version)
        suite.add("LogSoftmax", normal(2, 3, 4), lambda x: numpy.log(softmax(x, -1)), version=version)
        suite.add("Hardmax", normal(2, 3, 4), lambda x: hardmax(x, -1), version=version)
        suite.add("Dropout", normal(2, 3), lambda x: x, version=version)
        suite.add("ReduceSum", normal(2, 3, 4), lambda x: x.sum(keepdims=True), version=version)
    for version in (1, 11, 12):
        for axis in (0, 1, 2):
            suite.add("Softmax", normal(2, 3, 4), lambda x, a=axis: softmax(x.reshape(int(numpy.prod(x.shape[:a])), -1), 1).reshape(x.shape),
                      version=version, axis=axis)


def pair(first, second, dtype=F32):
    return lambda random: [("a", random.uniform(1, 3, first).astype(dtype)), ("b", random.uniform(1, 3, second).astype(dtype))]


def placed(a, b, axis):
    """b with axes of one place behind, so that its first lies at `axis` of a."""
    return b.reshape(b.shape + (1,) * (a.ndim - axis - b.ndim))


OLD = {"Add": numpy.add, "Sub": numpy.subtract, "Mul": numpy.multiply, "Div": numpy.divide, "Pow": numpy.power,
       "Greater": numpy.greater, "Less": numpy.less}


def old_operands(suite):
    for op, function in OLD.items():
        for version in ((1, 6) if op == "Add" else (6,)):
            suite.add(op, pair((2, 3, 4), (2, 3, 4)), lambda a, b, f=function: f(a, b), version=version)
            for axis, second in ((1, (3,)),) if op != "Add" else ((0, (2,)), (1, (3,)), (0, (2, 3)), (1, (3, 4)), (2, (4,)), (1, (1,)), (-2, (3,))):
                place = axis % 3
                suite.add(op, pair((2, 3, 4), second), lambda a, b, f=function, p=place: f(a, placed(a, b, p)),
                          version=version, broadcast=1, axis=axis)
            suite.add(op, pair((2, 3, 4), (3, 4)), lambda a, b, f=function: f(a, b), version=version, broadcast=1)
            if op == "Add":
                suite.add(op, pair((2, 3, 4), ()), lambda a, b, f=function: f(a, b), version=version, broadcast=1)
    for op, function in (("And", numpy.logical_and), ("Or", numpy.logical_or), ("Xor", numpy.logical_xor), ("Equal", numpy.equal)):
        make = lambda random: [("a", random.integers(0, 2, (2, 3, 4)).astype(bool)), ("b", random.integers(0, 2, (3,)).astype(bool))]
        suite.add(op, make, lambda a, b, f=function: f(a, b.reshape(3, 1)), version=6, broadcast=1, axis=1)


def old_forms(suite):
    image = (1, 3, 5, 4)
    slope = lambda random: [("x", random.standard_normal(image).astype(F32)), ("s", random.standard_normal(3).astype(F32))]
    suite.add("PRelu", slope, lambda x, s: numpy.where(x < 0, x * s.reshape(3, 1, 1), x), version=6)
    for spatial, shape in ((1, (3,)), (0, (3, 5, 4))):
        def parameters(random, shape=shape):
            return [("x", random.standard_normal(image).astype(F32))] + [
                (n, random.uniform(0.5, 2, shape).astype(F32)) for n in ("s", "b", "m", "v")]

        def reference(x, s, b, m, v):
            s, b, m, v = (p.reshape(p.shape + (1,) * (3 - p.ndim)).astype(float) for p in (s, b, m, v))
            return (((x - m) / numpy.sqrt(v + 1e-5)) * s + b).astype(F32)
        for version in (1, 6, 7, 8):
            suite.add("BatchNormalization", parameters, reference, constants=("s", "b", "m", "v"), version=version,
                      spatial=spatial, is_test=1)
    for name, dtype in (("FLOAT", F32), ("INT32", numpy.int32), ("DOUBLE", float), ("BOOL", bool), ("UINT8", numpy.uint8)):
        suite.add("Cast", lambda random: [("x", random.integers(0, 9, (3, 4)).astype(F32))], lambda x, d=dtype: x.astype(d),
                  version=5, to=name)
    suite.add("Reshape", normal(2, 3, 4), lambda x: x.reshape(2, 12), version=1, shape=[0, -1])
    suite.add("Pad", normal(2, 3), lambda x: numpy.pad(x, ((0, 1), (2, 0)), constant_values=1.5), version=1,
              paddings=[0, 2, 1, 0], value=1.5)
    for count, axis in ((3, 0), (2, 1)):
        suite.add("Tile", lambda random, c=count, a=axis: [("x", random.standard_normal((2, 3)).astype(F32)),
                                                           ("t", numpy.array([c], numpy.int64)), ("a", numpy.array([a], numpy.int64))],
                  lambda x, t, a: numpy.concatenate([x] * int(t[0]), int(a[0])), constants=("t", "a"), version=1)
    suite.add("Concat", lambda random: [("a", random.standard_normal((2, 3)).astype(F32)), ("b", random.standard_normal((2, 1)).astype(F32))],
              lambda a, b: numpy.concatenate([a, b], 1), version=1)
    suite.add("Selu", normal(3, 4), lambda x: (1.0507 * numpy.where(x > 0, x, 1.6732 * numpy.expm1(x.astype(float)))).astype(F32),
              version=1)
    suite.add("Clip", normal(3, 4), lambda x: numpy.clip(x, -0.5, 0.5), version=1, min=-0.5, max=0.5)
    for p in (1.0, 2.0, 3.0):
        suite.add("GlobalLpPool", normal(2, 3, 4, 5), lambda x, p=p: ((abs(x.astype(float)) ** p).sum((2, 3), keepdims=True) ** (1 / p)).astype(F32),
                  version=1, p=p)
    suite.add("Upsample", normal(1, 2, 2, 3), lambda x: x.repeat(2, 2).repeat(3, 3), version=1, height_scale=2.0, width_scale=3.0)
    for axis in (0, 1):
        suite.add("Split", normal(4, 6), lambda x, a=axis: tuple(numpy.split(x, 2, a)), outputs=("y", "z"), version=1, axis=axis)


def experimental(suite):
    image = normal(2, 3, 6, 5)
    bias = [0.5, -1.0, 2.0]
    suite.add("ImageScaler", image, lambda x: x * F32(0.25) + numpy.array(bias, F32).reshape(3, 1, 1), version=1, scale=0.25, bias=bias)
    suite.add("Affine", image, lambda x: F32(1.5) * x + F32(0.25), version=1, alpha=1.5, beta=0.25)
    suite.add("Affine", image, lambda x: x, version=7)
    suite.add("Crop", image, lambda x: x[:, :, 2:5, 1:3], version=1, border=[1, 2, 2, 1])
    suite.add("Crop", image, lambda x: x[:, :, 2:5, 1:3], version=1, border=[1, 2, 0, 0], scale=[3, 2])
    suite.add("Scale", image, lambda x: x * F32(3), version=1, scale=3.0)
    suite.add("ScaledTanh", image, lambda x: (2 * numpy.tanh(0.5 * x.astype(float))).astype(F32), version=1, alpha=2.0, beta=0.5)
    suite.add("ParametricSoftplus", image, lambda x: (2 * numpy.log1p(numpy.exp(0.5 * x.astype(float)))).astype(F32), version=1,
              alpha=2.0, beta=0.5)


def resized(suite):
    """How many places a scale gives is worked out in float32: 124 times 0.25806451 is 32 there, and 31.99999 in double."""
    for version in (10, 11, 13, 19, 25):
        for size, scale in ((124, 0.25806451), (5, 1.4), (1, 2.5)):
            out = int(numpy.floor(F32(size) * F32(scale)))
            where = numpy.floor(numpy.arange(out) / float(F32(scale))).astype(int)
            factors = [("s", numpy.array([1, scale], F32))]
            inputs = factors if version == 10 else [("", None)] + factors
            attrs = {} if version == 10 else dict(coordinate_transformation_mode="asymmetric", nearest_mode="floor")
            suite.add("Resize", lambda random, i=inputs, n=size: normal(2, n)(random) + i, lambda x, s, w=where: x[:, w],
                      constants=("s",), version=version, mode="nearest", **attrs)
    # Places exactly between two: dividing by the scale, as the formula does, finds them; multiplying by its inverse does not.
    for rounding, f in (("round_prefer_floor", lambda p: numpy.ceil(p - 0.5)), ("round_prefer_ceil", lambda p: numpy.floor(p + 0.5)),
                        ("floor", numpy.floor), ("ceil", numpy.ceil)):
        for size, out in ((2, 11), (4, 10), (4, 14), (3, 9), (2, 22)):
            where = numpy.clip(f((numpy.arange(out) + 0.5) / (out / size) - 0.5), 0, size - 1).astype(int)
            suite.add("Resize", lambda random, n=size, o=out: normal(2, n)(random) + [("", None), ("", None), ("z", numpy.array([2, o]))],
                      lambda x, z, w=where: x[:, w], constants=("z",), version=13, mode="nearest", nearest_mode=rounding)


def yards_of(unit, most, vtac, model, folder):
    """What compiling a model costs, its exit status and what it said."""
    with open(os.path.join(folder, "m.onnx"), "wb") as file:
        file.write(model.SerializeToString())
    yards, run = unit.measure([vtac, "compile", "m.onnx", "-o", "m.so"], most, cwd=folder, stdout=yard.subprocess.DEVNULL,
                              stderr=yard.subprocess.PIPE, text=True)
    return yards, run.returncode, run.stderr


def model_of(nodes, constants):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 4])
    y = helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, [4, 4])
    graph = helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(a, n) for n, a in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def cost(vtac):
    wrong = 0
    nodes = []
    for i in range(40000):
        op = ("Relu", "Add", "Transpose", "Mul")[i % 4]
        nodes.append(helper.make_node(op, ["v%d" % (i - 1) if i else "x"] + (["c"] if op in ("Add", "Mul") else []), ["v%d" % i]))
    chain = model_of(nodes, {"c": numpy.full((4, 4), 0.5, F32)})
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["c2"]), helper.make_node("Add", ["v", "c0"], ["v2"])], "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("c", TensorProto.BOOL, []),
         helper.make_tensor_value_info("v", TensorProto.FLOAT, [4, 4])],
        [helper.make_tensor_value_info("c2", TensorProto.BOOL, []), helper.make_tensor_value_info("v2", TensorProto.FLOAT, [4, 4])])
    loop = helper.make_node("Loop", ["", "t", "x"], ["y"], body=body)
    endless = model_of([loop], {"c0": numpy.ones((4, 4), F32), "t": numpy.array(True)})
    with tempfile.TemporaryDirectory() as folder:
        unit = yard.Yard()
        for name, model, most, status in (("40000 nodes", chain, MAX_CHAIN, 0), ("an endless loop, which is code", endless, MAX_LOOP, 0)):
            yards, ended, text = yards_of(unit, most, vtac, model, folder)
            bad = yards > most or ended != status or len(text.splitlines()) > 1
            wrong += bad
            print("%s %s: %.2f yards of %.1f, exit status %d %s" % ("FAIL" if bad else "ok", name, yards, most, ended, text.strip()[:120]))
    return wrong


def main():
    suite = Suite()
    for part in (later_defaults, old_operands, old_forms, experimental, resized):
        part(suite)
    return suite.run(sys.argv[1]) + cost(os.path.abspath(sys.argv[1])) != 0


if __name__ == "__main__":
    sys.exit(main())
