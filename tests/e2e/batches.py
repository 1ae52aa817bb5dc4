#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Networks whose batch stays open (`--dynamic`), each compiled once and run with several sizes of it: attention as exporters write
# it and a network of two inputs against numpy, convolutions row by row against the network at a batch of one, on the host and on the
# accelerator, where they are one region; networks in which rows meet, which must not be taken apart; and files of other formats.
#
# usage: batches.py VTAC [MODELS]   (exit status 77: python3-onnx is not there; MODELS: the folder of published models)
import os
import shutil
import sys
import tempfile

import open_sizes

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "compiler"))
from onnx_cases import SEED, TensorProto, helper, numpy, numpy_helper, random_for  # noqa: E402

F32, I64 = numpy.float32, numpy.int64
FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
BATCHES = (1, 3, 0, 7)


class Net:
    def __init__(self, name):
        self.name, self.random, self.nodes, self.constants, self.inputs = name, random_for(name, 0), [], {}, []

    def put(self, op, ins, out, **attrs):
        self.nodes.append(helper.make_node(op, ins.split(" "), out.split(" "), name=out.split(" ")[0], **attrs))
        return out

    def hold(self, name, value, dtype=F32):
        self.constants[name] = numpy.array(value, dtype)
        return name

    def takes(self, name, *shape, kind=FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))

    def write(self, path):
        ends = [helper.make_tensor_value_info("y", FLOAT, None)]
        held = [numpy_helper.from_array(value, name) for name, value in self.constants.items()]
        graph = helper.make_graph(self.nodes, "g", self.inputs, ends, held)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        with open(path, "wb") as file:
            file.write(model.SerializeToString())


def sizes_of(net, x, out, *parts):
    """A shape out of sizes of `x` (by axis, as a text) and numbers: ("1", 4) is [size 1 of x, 4]."""
    net.put("Shape", x, out + "_of")
    for i, part in enumerate(parts):
        name = "%s_%d" % (out, i)
        if isinstance(part, str):
            net.put("Gather", "%s_of %s" % (out, net.hold(name + "_at", [int(part[0])], I64)), name + "_g")
            net.put("Mul", "%s_g %s" % (name, net.hold(name + "_by", [int(part[1:] or 1)], I64)), name)
        else:
            net.hold(name, [part], I64)
    return net.put("Concat", " ".join("%s_%d" % (out, i) for i in range(len(parts))), out, axis=0)


def softmax(x):
    e = numpy.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention():
    """Steps in front of the batch, then heads behind it, all in one axis."""
    steps, width, heads = 5, 12, 3
    each = width // heads
    net = Net("attention")
    net.takes("x", "N", steps, width)
    net.put("Transpose", "x", "t", perm=[1, 0, 2])
    net.put("Reshape", "t " + sizes_of(net, "t", "flat", -1, width), "rows")
    for name in "qkv":
        net.put("Gemm", "rows %s %s" % (net.hold("w" + name, net.random.standard_normal((width, width))),
                                        net.hold("b" + name, net.random.standard_normal(width))), name)
        net.put("Reshape", "%s %s" % (name, sizes_of(net, "t", "s" + name, "0", "1%d" % heads, each)), name + "h")
    for name, perm in (("q", [1, 0, 2]), ("k", [1, 2, 0]), ("v", [1, 0, 2])):
        net.put("Transpose", name + "h", name + "t", perm=perm)
    net.put("MatMul", "qt kt", "scores")
    net.put("Softmax", "scores", "weights", axis=-1)
    net.put("MatMul", "weights vt", "mixed")
    net.put("Transpose", "mixed", "back", perm=[1, 0, 2])
    net.put("Reshape", "back " + sizes_of(net, "t", "joined", "0", "1", width), "wide")
    net.put("Transpose", "wide", "z", perm=[1, 0, 2])
    net.put("Add", "z x", "y")

    def expected(x):
        parts = [(x @ net.constants["w" + n] + net.constants["b" + n]).reshape(len(x), steps, heads, each).transpose(0, 2, 1, 3) for n in "qkv"]
        mixed = softmax(parts[0] @ parts[1].transpose(0, 1, 3, 2)) @ parts[2]
        return x + mixed.transpose(0, 2, 1, 3).reshape(x.shape)
    return net, lambda r, n: {"x": r.standard_normal((n, steps, width)).astype(F32)}, expected


def tokens():
    """Two inputs with the same batch and one without it; a token in front of each row; a mean of the row."""
    net = Net("tokens")
    net.takes("ids", "N", 6, kind=INT)
    net.takes("mask", "N", 7)
    net.takes("scale", 4)
    net.put("Gather", "%s ids" % net.hold("table", net.random.standard_normal((20, 4))), "e")
    net.put("Expand", "%s %s" % (net.hold("first", net.random.standard_normal((1, 1, 4))), sizes_of(net, "ids", "lead", "0", 1, 4)), "f")
    net.put("Concat", "f e", "c", axis=1)
    net.put("Unsqueeze", "mask " + net.hold("last", [2], I64), "m")
    net.put("Mul", "c m", "cm")
    net.put("ReduceSum", "cm " + net.hold("axis", [1], I64), "s", keepdims=0)
    net.put("Mul", "s scale", "y")

    def expected(ids, mask, scale):
        c = numpy.concatenate([numpy.broadcast_to(net.constants["first"], (len(ids), 1, 4)), net.constants["table"][ids]], 1)
        return (c * mask[:, :, None]).sum(1) * scale
    return net, lambda r, n: {"ids": r.integers(0, 20, (n, 6)), "mask": r.standard_normal((n, 7)).astype(F32),
                              "scale": r.standard_normal(4).astype(F32)}, expected


def meeting(name, build, expected):
    def make():
        net = Net(name)
        net.takes("x", "N", 6)
        build(net)
        return net, lambda r, n: {"x": r.standard_normal((n, 6)).astype(F32)}, expected
    return make


def mean_of_rows(net):
    net.put("ReduceMean", "x", "m", axes=[0])
    net.put("Sub", "x m", "y")


def count_of_rows(net):
    net.put("Shape", "x", "s", start=0, end=1)
    net.put("Cast", "s", "n", to=FLOAT)
    net.put("Mul", "x n", "y")


def rows_backwards(net):
    net.put("Slice", "x %s %s %s %s" % (net.hold("from", [-1], I64), net.hold("to", [-1000], I64), net.hold("on", [0], I64),
                                        net.hold("by", [-1], I64)), "y")


def rows_by_rows(net):
    net.put("Transpose", "x", "t", perm=[1, 0])
    net.put("MatMul", "x t", "y")


def rows_as_columns(net):
    net.put("Reshape", "x " + sizes_of(net, "x", "turned", 6, "0"), "t")
    net.put("Transpose", "t", "y", perm=[1, 0])


MEETING = (("mean of rows", mean_of_rows, lambda x: x - x.mean(0, keepdims=True)),
           ("count of rows", count_of_rows, lambda x: x * F32(len(x))),
           ("rows backwards", rows_backwards, lambda x: x[::-1]),
           ("rows by rows", rows_by_rows, lambda x: x @ x.T),
           ("rows as columns", rows_as_columns, lambda x: x.reshape(6, len(x)).T))


def pictures(batch):
    """Convolutions, a depthwise one among them, a residual, a head of a detector's form."""
    net = Net("pictures")
    net.takes("x", batch, 3, 16, 16)
    for out, x, to, into, group, stride in (("a", "x", 16, 3, 1, 2), ("b", "ar", 16, 1, 16, 1), ("c", "br", 16, 16, 1, 1), ("d", "e", 12, 16, 1, 1)):
        if out == "d":
            net.put("Add", "ar c", "e")
        weight = net.hold("w" + out, net.random.standard_normal((to, into, 3, 3)) / (3 * into ** 0.5))
        net.put("Conv", "%s %s %s" % (x, weight, net.hold("b" + out, 0.3 * net.random.standard_normal(to))), out, group=group,
                strides=[stride, stride], pads=[1, 1, 1, 1], kernel_shape=[3, 3])
        net.put("Relu", out, out + "r")
    net.put("Reshape", "d " + sizes_of(net, "d", "apart", "0", 3, 4, 64), "h")
    net.put("Transpose", "h", "t", perm=[0, 1, 3, 2])
    net.put("Reshape", "t " + sizes_of(net, "d", "list", "0", -1, 4), "y")
    return net


class Bench(open_sizes.Bench):
    def at(self, name):
        return os.path.join(self.folder, name)

    def result(self, artifact, inputs, *options):
        numpy.savez(self.at("in.npz"), **inputs)
        self.must("run", artifact, "--input", "in.npz", "--output-dir", "out", *options)
        return numpy.load(self.at("out/y.npy"))

    def same(self, what, got, wanted, exact=False):
        good = got.shape == wanted.shape and (numpy.array_equal(got, wanted) if exact else numpy.allclose(got, wanted, rtol=1e-4, atol=1e-5))
        if not good:
            self.fail("%s: %s, expected %s" % (what, list(got.shape), list(wanted.shape)))

    def against_numpy(self, make):
        net, draw, expected = make()
        net.write(self.at("m.onnx"))
        self.must("compile", "m.onnx", "--dynamic", "-o", "m.so")
        for number, batch in enumerate(BATCHES):
            inputs = draw(random_for(net.name, number), batch)
            if batch > 0 or make in (attention, tokens):
                self.same("%s, batch of %d" % (net.name, batch), self.result("m.so", inputs), expected(**inputs))
        return draw

    def row_by_row(self, *options, device=()):
        for batch, file in (("N", "open.onnx"), (1, "one.onnx")):
            pictures(batch).write(self.at(file))
        random = random_for("pictures", 99)
        numpy.savez(self.at("calib.npz"), x=random.standard_normal((4, 3, 16, 16)).astype(F32))
        said = self.must("compile", "open.onnx", "--dynamic", "-o", "open.so", *options)
        self.must("compile", "one.onnx", "-o", "one.so", *options)
        if "--target" in options and "in 1 region, 100.0 %" not in (said or ""):
            self.fail("an open batch is not one region: %s" % said[-900:])
        self.must("run", "open.so", "--output-dir", "out")  # no input is given: one row is made up
        if numpy.load(self.at("out/y.npy")).shape != (1, 192, 4):
            self.fail("a run without inputs gives %s" % list(numpy.load(self.at("out/y.npy")).shape))
        for batch in BATCHES:
            x = random.standard_normal((batch, 3, 16, 16)).astype(F32)
            rows = [self.result("one.so", {"x": x[i:i + 1]}, *device) for i in range(batch)]
            got = self.result("open.so", {"x": x}, *device)
            self.same("pictures, batch of %d %s" % (batch, " ".join(options)), got, numpy.concatenate(rows) if rows else numpy.zeros((0, 192, 4), F32),
                      exact=True)

    def outputs(self, artifact, x):
        folder = self.at("all")
        shutil.rmtree(folder, ignore_errors=True)
        numpy.save(self.at("x.npy"), x)
        self.must("run", artifact, "--input", "x.npy", "--output-dir", "all")
        return {name: numpy.load(os.path.join(folder, name)) for name in sorted(os.listdir(folder))}

    def published(self, path, row, dtype=F32, options=("--dynamic",), fixed=()):
        """A file of another format: the rows of an open batch are what each gives by itself."""
        self.must("compile", path, "-o", "open.so", *options)
        self.must("compile", path, "-o", "one.so", *fixed)
        random = random_for(path, 0)
        for batch in (3, 1, 4):
            x = (20 * random.standard_normal((batch, *row))).astype(dtype)
            rows = [self.outputs("one.so", x[i:i + 1]) for i in range(batch)]
            for name, got in self.outputs("open.so", x).items():
                self.same("%s, %s" % (os.path.basename(path), name), got, numpy.concatenate([r[name] for r in rows]), exact=True)

    def refuses_range(self, path, shape):
        run = self.run("compile", path, "-o", "none.so", "--shape", shape)
        if run.returncode != 1 or "the batch alone may be a range" not in run.stdout or os.path.exists(self.at("none.so")):
            self.fail("%s gives status %d: %s" % (shape, run.returncode, run.stdout[:300]))

    def refuses(self, draw):
        inputs = draw(random_for("refused", 0), 3)
        inputs["mask"] = inputs["mask"][:2]
        numpy.savez(self.at("in.npz"), **inputs)
        run = self.run("run", "m.so", "--input", "in.npz")
        if run.returncode != 1 or len(run.stdout.strip().splitlines()) != 1 or "'N'" not in run.stdout:
            self.fail("batches of 3 and 2 give status %d: %s" % (run.returncode, run.stdout[:300]))


def main():
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(sys.argv[1], folder)
        bench.against_numpy(attention)
        bench.refuses(bench.against_numpy(tokens))
        for case in MEETING:
            bench.against_numpy(meeting(*case))
        bench.row_by_row()
        bench.row_by_row("--target", "vta", "--config", "tiny", "--calib", "calib.npz", "--report")
        bench.row_by_row("--target", "vta", "--config", "pynq", "--calib", "calib.npz", "--report", device=("--device", "tsim"))
        models = sys.argv[2] if len(sys.argv) > 2 else ""
        keras = os.path.join(models, "keras/mlperf_ic_resnet8/mlperf_ic_resnet8.h5")
        script = os.path.join(models, "importers/pytorch-torchscript/facenet_pnet_trace/facenet_pnet_trace.pt")
        if os.path.exists(keras) and os.path.exists(script):
            bench.published(keras, (32, 32, 3))
            bench.published(os.path.join(models, "tflite/mlperf_ic_resnet8_int8/mlperf_ic_resnet8_int8.tflite"), (32, 32, 3), numpy.int8)
            bench.published(script, (3, 24, 20), options=("--shape", "x=(1..8)x3x24x20"), fixed=("--shape", "x=1x3x24x20"))
            bench.refuses_range(keras, "input_1=1x(32..64)x32x3")
        print("%d failed, VTAC_SEED=%s" % (bench.failed, SEED))
        return 1 if bench.failed else 0


sys.exit(main())
