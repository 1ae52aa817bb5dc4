#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Whole networks of open height and width: a detector, a segmentation network and a quantized classifier, each compiled once for
# a range of sizes, against the same network compiled anew for each size. The accelerator takes the quantized tiles.
#
# usage: open_sizes.py VTAC   (exit status 77: python3-onnx is not there)
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "compiler"))
from onnx_cases import SEED, TensorProto, helper, numpy, numpy_helper, random_for  # noqa: E402

F32 = numpy.float32
FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
RANGE = "1x3x(40..150)x(40..150)"


class Net:
    """Nodes in a row; a layer's name is its output's."""

    def __init__(self, name):
        self.random, self.nodes, self.constants = random_for(name, 0), [], []

    def put(self, op, ins, out, **attrs):
        self.nodes.append(helper.make_node(op, ins.split(" "), out.split(" "), name=out.split(" ")[0], **attrs))
        return out

    def hold(self, name, value, dtype=None):
        self.constants.append(numpy_helper.from_array(numpy.array(value, dtype), name))
        return name

    def weights(self, name, *shape):
        return self.hold(name, self.random.standard_normal(shape) / numpy.sqrt(numpy.prod(shape[1:])), F32)

    def conv(self, x, out, to, into, kernel=3, op="Conv", norm=True, **attrs):
        shape = (into, to, kernel, kernel) if op == "ConvTranspose" else (to, into, kernel, kernel)
        self.put(op, "%s %s %s" % (x, self.weights(out + "_w", *shape), self.hold(out + "_b", self.random.standard_normal(to), F32)), out + "_c",
                 **attrs)
        if not norm:
            return self.put("Identity", out + "_c", out)
        for part, value in (("s", 1 + 0.1 * self.random.standard_normal(to)), ("o", self.random.standard_normal(to)),
                            ("m", self.random.standard_normal(to)), ("v", self.random.uniform(0.5, 2, to))):
            self.hold("%s_%s" % (out, part), value, F32)
        self.put("BatchNormalization", "%s_c %s_s %s_o %s_m %s_v" % ((out,) * 5), out + "_n")
        return self.put("Relu", out + "_n", out)

    def model(self, height, width, outputs):
        """Sizes as texts stay open."""
        ends = [helper.make_tensor_value_info(n, t, [None] * rank) for n, t, rank in outputs]
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", FLOAT, [1, 3, height, width])], ends, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def resize_like(net, x, like, channels, out):
    """x as large as `like`, as exporters write it: by way of shapes."""
    net.put("Shape", like, out + "_s", start=2)
    net.hold(out + "_lead", [1, channels], numpy.int64)
    net.put("Concat", "%s_lead %s_s" % (out, out), out + "_size", axis=0)
    return net.put("Resize", "%s   %s_size" % (x, out), out, mode="linear", coordinate_transformation_mode="half_pixel")


def detector():
    net = Net("detector")
    net.conv("x", "c1", 8, 3, strides=[2, 2], pads=[1, 1, 1, 1])
    net.put("MaxPool", "c1", "p1", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    net.conv("p1", "c2", 12, 8, pads=[1, 1, 1, 1])
    net.conv("c2", "c3", 16, 12, strides=[2, 2], auto_pad="SAME_UPPER")
    net.conv("c3", "side", 12, 16, kernel=1)
    resize_like(net, "side", "c2", 12, "up")
    net.put("Add", "up c2", "sum")
    net.conv("sum", "heads", 6, 12, norm=False, pads=[1, 1, 1, 1])
    # A grid of centers from the size of the map, boxes around them, and what is left of them.
    net.put("Shape", "heads", "hs")
    for name, axis in (("h", 2), ("w", 3)):
        net.put("Gather", "hs " + net.hold("axis_" + name, axis, numpy.int64), "n_" + name)
        net.put("Range", "zero n_%s one" % name, "r_" + name)
        net.put("Cast", "r_" + name, "f_" + name, to=FLOAT)
        net.put("Unsqueeze", "f_%s %s" % (name, net.hold("u_" + name, [1] if name == "h" else [0], numpy.int64)), "g_" + name)
    net.hold("zero", 0, numpy.int64)
    net.hold("one", 1, numpy.int64)
    net.put("Split", "heads parts", "logits middle extent", axis=1)
    net.hold("parts", [2, 2, 2], numpy.int64)
    net.put("Exp", "extent", "grown")
    net.put("Add", "g_h none_w", "rows")   # [h, 1] and [1, w] become [h, w]
    net.put("Add", "none_h g_w", "columns")
    net.put("Mul", "g_w nought", "none_w")
    net.put("Mul", "g_h nought", "none_h")
    net.hold("nought", 0, F32)
    for name in ("rows", "columns"):
        net.put("Unsqueeze", "%s %s" % (name, net.hold("u_" + name, [0, 1], numpy.int64)), name + "_4")
    net.put("Concat", "rows_4 columns_4", "grid", axis=1)
    net.put("Add", "grid middle", "centers")
    net.put("Sub", "centers grown", "low")
    net.put("Add", "centers grown", "high")
    net.put("Concat", "low high", "corners", axis=1)
    net.put("Reshape", "corners " + net.hold("four", [1, 4, -1], numpy.int64), "flat")
    net.put("Transpose", "flat", "boxes", perm=[0, 2, 1])
    net.put("Sigmoid", "logits", "likely")
    net.put("Reshape", "likely " + net.hold("two", [1, 2, -1], numpy.int64), "scores")
    net.put("NonMaxSuppression", "boxes scores %s %s %s" % (net.hold("most", [20], numpy.int64), net.hold("iou", [0.5], F32),
                                                          net.hold("least", [0.6], F32)), "chosen")
    net.nodes.sort(key=lambda n: n.output[0] not in ("none_w", "none_h"))
    return net, [("boxes", FLOAT, 3), ("scores", FLOAT, 3), ("chosen", INT, 2)]


def segmentation():
    net = Net("segmentation")
    net.conv("x", "d1", 8, 3, pads=[1, 1, 1, 1])
    net.put("AveragePool", "d1", "p1", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    net.conv("p1", "d2", 12, 8, pads=[1, 1, 1, 1])
    net.put("MaxPool", "d2", "p2", kernel_shape=[2, 2], strides=[2, 2])
    net.conv("p2", "d3", 16, 12, pads=[2, 2, 2, 2], dilations=[2, 2])
    net.conv("d3", "t2", 12, 16, kernel=2, op="ConvTranspose", strides=[2, 2])
    resize_like(net, "t2", "d2", 12, "u2")
    net.put("Concat", "u2 d2", "k2", axis=1)
    net.conv("k2", "e2", 8, 24, pads=[1, 1, 1, 1])
    resize_like(net, "e2", "d1", 8, "u1")
    net.put("Concat", "u1 d1", "k1", axis=1)
    net.put("InstanceNormalization", "k1 %s %s" % (net.hold("is", 1 + net.random.uniform(0, 1, 16), F32), net.hold("ib", net.random.uniform(0, 1, 16), F32)),
            "n1")
    net.conv("n1", "logits", 5, 16, kernel=1, norm=False)
    net.put("ArgMax", "logits", "labels", axis=1, keepdims=0)
    return net, [("logits", FLOAT, 4), ("labels", INT, 3)]


def classifier():
    net = Net("classifier")
    scale = net.hold("sx", 0.03, F32)
    net.put("QuantizeLinear", "x %s %s" % (scale, net.hold("zx", 3, numpy.int8)), "q0")
    layers = (("q1", "q0", 16, 3, dict(strides=[2, 2], pads=[1, 1, 1, 1])), ("q2", "q1", 32, 16, dict(pads=[1, 1, 1, 1])))
    for name, x, to, into, attrs in layers:
        net.hold(name + "_w", net.random.integers(-127, 128, (to, into, 3, 3)), numpy.int8)
        net.hold(name + "_b", net.random.integers(-3000, 3000, to), numpy.int32)
        net.hold(name + "_sw", 0.004, F32)
        net.hold(name + "_zw", 0, numpy.int8)
        net.hold(name + "_sy", 0.05 * into ** 0.5, F32)
        net.hold(name + "_zy", -20, numpy.int8)
        net.put("QLinearConv", "{x} {sx} {zx} {n}_w {n}_sw {n}_zw {n}_sy {n}_zy {n}_b".format(
            x=x, n=name, sx="sx" if x == "q0" else x + "_sy", zx="zx" if x == "q0" else x + "_zy"), name, **attrs)
    net.put("MaxPool", "q2", "pool", kernel_shape=[2, 2], strides=[2, 2])
    net.put("DequantizeLinear", "pool q2_sy q2_zy", "floats")
    net.put("GlobalAveragePool", "floats", "mean")
    net.put("Flatten", "mean", "line")
    net.put("Gemm", "line %s" % net.weights("g_w", 32, 7), "y")
    return net, [("pool", TensorProto.INT8, 4), ("y", FLOAT, 2)]


class Bench:
    def __init__(self, vtac, folder):
        self.vtac, self.folder, self.failed = vtac, folder, 0

    def run(self, *words):
        return subprocess.run([self.vtac, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)

    def must(self, *words):
        run = self.run(*words)
        if run.returncode != 0:
            self.fail("%s: %s" % (" ".join(words), run.stdout[:400]))
        return run.stdout if run.returncode == 0 else None

    def fail(self, text):
        print("FAIL " + text)
        self.failed += 1

    def results(self, artifact, names):
        out = os.path.join(self.folder, "out")
        if self.must("run", artifact, "--input", "x=x.npy", "--output-dir", "out") is None:
            return None
        return [numpy.load(os.path.join(out, n + ".npy")) for n in names]

    def compare(self, what, names, got, wanted):
        for name, a, b in zip(names, got, wanted):
            same = a.shape == b.shape and a.dtype == b.dtype
            if same and a.dtype == F32:
                same = numpy.allclose(a, b, rtol=2e-3, atol=2e-4)
            elif same and name == "labels":  # two classes may be as good as equal
                same = (a != b).mean() < 0.005
            elif same:
                same = numpy.array_equal(a, b)
            if not same:
                self.fail("%s, %s: %s%s, by the fixed size %s%s" % (what, name, a.dtype, list(a.shape), b.dtype, list(b.shape)))

    def network(self, make, sizes, *options):
        net, outputs = make()
        names = [n for n, _, _ in outputs]
        with open(os.path.join(self.folder, "open.onnx"), "wb") as file:
            file.write(net.model("h", "w", outputs).SerializeToString())
        if self.must("compile", "open.onnx", "--shape", "x=" + RANGE, "-o", "open.so", *options) is None:
            return
        for number, (height, width) in enumerate(sizes):
            what = "%s %dx%d %s" % (make.__name__, height, width, " ".join(options))
            x = random_for(make.__name__, number).standard_normal((1, 3, height, width)).astype(F32)
            numpy.save(os.path.join(self.folder, "x.npy"), x)
            with open(os.path.join(self.folder, "fixed.onnx"), "wb") as file:
                file.write(net.model(height, width, outputs).SerializeToString())
            if self.must("compile", "fixed.onnx", "-o", "fixed.so") is None:
                return
            wanted, got = self.results("fixed.so", names), self.results("open.so", names)
            if wanted is not None and got is not None:
                self.compare(what, names, got, wanted)
        numpy.save(os.path.join(self.folder, "x.npy"), numpy.zeros((1, 3, 40, 151), F32))
        run = self.run("run", "open.so", "--input", "x=x.npy")
        if run.returncode != 1 or len(run.stdout.strip().splitlines()) != 1 or "axis 3 is 151" not in run.stdout:
            self.fail("%s: a size beyond the range gives status %d: %s" % (make.__name__, run.returncode, run.stdout[:300]))


def main():
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(sys.argv[1], folder)
        bench.network(detector, ((64, 96), (141, 53)))
        bench.network(segmentation, ((64, 80), (75, 51)))
        bench.network(classifier, ((56, 40), (71, 132)))
        bench.network(classifier, ((48, 64), (41, 77)), "--target", "vta", "--config", "tiny", "--offload", "all")
        print("%d failed, VTAC_SEED=%s" % (bench.failed, SEED))
        return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
