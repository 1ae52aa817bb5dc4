#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Models whose batch, height and width stay open in 8 bits: calibrated with inputs of several sizes, one artifact for all sizes, the tiles of its
# convolutions on the accelerator. The model is built here with seeded weights and computed in doubles. Fails when the scales are those of
# one size alone, when a size that was not calibrated gives other answers than floats, or when what depends on a size is taken for all.
#
# usage: quantize_sizes.py VTAC   (exit status 77: python3-onnx is not installed)
import json
import os
import subprocess
import sys
import tempfile

from quantize_nets import Net, evaluate, numpy, onnx, pictures

VTAC = os.path.abspath(sys.argv[1])


def run(*words, status=0):
    done = subprocess.run([VTAC, *words], capture_output=True, text=True)
    assert done.returncode == status, f"vtac {' '.join(words)}: {done.returncode}: {done.stderr}"
    return done.stdout if status == 0 else done.stderr


def u_net(path, seed):
    """A map and scores: gates, a sum, a pool, enlarging, a concatenation, a mean over the plane, a reshape to rows."""
    net = Net(seed)
    a = net.add("Relu", net.conv("x", 3, 16))
    b = net.add("Relu", net.conv(a, 16, 32, stride=2))
    b = net.add("Add", b, net.silu(net.conv(b, 32, 32)))
    d = net.add("Relu", net.conv(net.add("MaxPool", b, kernel_shape=[2, 2], strides=[2, 2]), 32, 32))
    large = net.add("Resize", d, "", net.number([1, 1, 2, 2]), mode="nearest")
    e = net.add("Relu", net.conv(net.add("Concat", large, b, axis=1), 64, 32))
    map_ = net.conv(e, 32, 4, 1)
    scores = net.add("Gemm", net.add("Flatten", net.add("GlobalAveragePool", e)), net.number(net.random.normal(0, 0.5, (32, 10))))
    net.save(path, ["n", 3, "h", "w"], [(map_, ["n", 4, "h2", "w2"]), (scores, ["n", 10])])
    return map_, scores


def sample(random, n, h, w, loud=1.0):
    return loud * pictures(random, n, (1, 3, h, w))[:, 0]


def off_of(is_, should):
    return numpy.abs(is_ - should).mean() / numpy.ptp(should)


def check_sizes(seed):
    names = u_net("net.onnx", seed)
    random = numpy.random.default_rng(seed)
    # the second size is the loud one: with scales of the first alone, its values are cut
    calib = [sample(random, 1, 64, 64, 0.3), sample(random, 2, 96, 64, 2.0), sample(random, 1, 32, 48)]
    numpy.savez("calib.npz", *calib)
    told = json.loads(run("compile", "net.onnx", "--target", "vta", "--dynamic", "--calib", "calib.npz", "--json", "--report", "-o", "m.so"))
    convs = {layer["name"] for layer in told["layers"] if layer["op"] == "QLinearConv"}
    model = onnx.load("net.onnx")
    assert convs == {node.name for node in model.graph.node if node.op_type == "Conv"}, convs
    run("quantize", "net.onnx", "--dynamic", "--calib", "calib.npz", "-o", "q.onnx")
    onnx.checker.check_model(onnx.load("q.onnx"))
    run("compile", "q.onnx", "--dynamic", "--target", "vta", "-o", "q.so")
    for x in [*calib, sample(random, 1, 128, 32), sample(random, 3, 40, 56)]:
        numpy.save("in.npy", x)
        should = evaluate(model, x)
        for artifact in ("m.so", "q.so"):
            run("run", artifact, "--input", "in.npy", "--output-dir", ".")
            offs = [off_of(numpy.load(f"{name}.npy"), y) for name, y in zip(names, should)]
            assert max(offs) < 0.02, f"{artifact} at {x.shape}: off by {offs} of the range"
        print(f"seed {seed}, {x.shape}: off by {100 * offs[0]:.2f} and {100 * offs[1]:.2f} % of the range")


def check_rows(seed):
    """An open number of rows, and heads split off as exporters write it: by the shape that the run has, with two sizes open."""
    net = Net(seed)
    weights = [net.number(net.random.normal(0, 0.3, size)) for size in ((16, 32), (32, 16))]
    y = net.add("MatMul", "x", weights[0])
    open_ = net.part(net.add("Shape", y), 0, 2, 0)
    heads = net.add("Reshape", y, net.add("Concat", open_, net.number([4, 8], numpy.int64), axis=0))
    heads = net.add("Relu", net.add("Transpose", heads, perm=[0, 2, 1, 3]))
    y = net.add("Reshape", net.add("Transpose", heads, perm=[0, 2, 1, 3]), net.add("Concat", open_, net.number([32], numpy.int64), axis=0))
    out = net.add("MatMul", y, weights[1])
    net.save("rows.onnx", ["n", "rows", 16], [(out, ["n", "rows", 16])])
    random = numpy.random.default_rng(seed)
    samples = [random.normal(0, 1, (n, rows, 16)).astype(numpy.float32) for n, rows in ((1, 8), (2, 20), (3, 5))]
    numpy.savez("calib.npz", *samples[:2])
    run("quantize", "rows.onnx", "--dynamic", "--calib", "calib.npz", "-o", "q.onnx")
    assert any(node.op_type.startswith(("QLinearMatMul", "QGemm")) for node in onnx.load("q.onnx").graph.node)
    run("compile", "q.onnx", "--dynamic", "--host", "host", "-o", "q.so")
    for x in samples:
        numpy.save("in.npy", x)
        run("run", "q.so", "--input", "in.npy", "--output-dir", ".")
        assert off_of(numpy.load(f"{out}.npy"), evaluate(onnx.load("rows.onnx"), x)[0]) < 0.02


def check_refusals(seed):
    """What depends on the size is refused by the node's name, and so are open sizes without inputs."""
    net = Net(seed)
    y = net.conv("x", 3, 8)
    ones = net.add("ConstantOfShape", net.add("Shape", y), value=onnx.numpy_helper.from_array(numpy.float32([0.5])))
    out = net.conv(net.add("Mul", y, net.add("CumSum", ones, net.number(3, numpy.int64))), 8, 4)
    os.remove("q.onnx")
    net.save("grid.onnx", ["n", 3, "h", "w"], [(out, ["n", 4, "h", "w"])])
    random = numpy.random.default_rng(seed)
    numpy.savez("calib.npz", sample(random, 1, 16, 16), sample(random, 1, 24, 16))
    said = run("quantize", "grid.onnx", "--dynamic", "--calib", "calib.npz", "-o", "q.onnx", status=1)
    assert "depends on the sizes that are left open" in said and "--shape" in said and said.count("\n") <= 1, said
    said = run("quantize", "grid.onnx", "--dynamic", "-o", "q.onnx", status=1)
    assert "--calib" in said and said.count("\n") <= 1, said
    assert not os.path.exists("q.onnx")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for first in (1, 2):
        check_sizes(first)
        check_rows(first)
        check_refusals(first)
