#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# What vtac quantize leaves float: the heads of detectors (YOLO v5's and v8's form), logarithms of spectra, and norms written in parts. The
# models are built here with seeded weights and computed in doubles by the small evaluator below. Fails when a concatenation's scale reaches
# back into the scores, when a head behind the last convolution is quantized, or when a square or a band of a spectrum is.
#
# usage: quantize_heads.py VTAC   (exit status 77: python3-onnx is not installed)
import os
import subprocess
import sys
import tempfile

from quantize_nets import Net, evaluate, numpy, onnx, pictures

VTAC = os.path.abspath(sys.argv[1])


def run(*words):
    done = subprocess.run([VTAC, *words], capture_output=True, text=True)
    assert done.returncode == 0, f"vtac {' '.join(words)}: {done.stderr}"
    return done.stdout


def backbone(net, scales):
    """Feature maps of 16 channels at 16x16, 8x8, ... of a picture of 64x64."""
    x = net.silu(net.conv("x", 3, 8, stride=2))
    maps = []
    for i in range(scales):
        x = net.silu(net.conv(x, 8 if i == 0 else 16, 16, stride=2))
        maps.append((net.silu(net.conv(x, 16, 16)), 16 >> i, 4 << i))
    return maps


CLASSES = 12


def yolo_v5(path, seed):
    """Boxes and scores of three anchors: x and y, width and height and scores of each place are joined, then the scales."""
    net = Net(seed)
    rows = []
    for x, side, stride in backbone(net, 2):
        parts = 5 + CLASSES
        x = net.reshape(net.conv(x, 16, 3 * parts, 1, bias=-2.0), 1, 3, parts, side, side)
        x = net.add("Sigmoid", net.add("Transpose", x, perm=[0, 1, 3, 4, 2]))
        grid = numpy.stack(numpy.meshgrid(numpy.arange(side), numpy.arange(side)), -1)[None, None] - 0.5
        xy = net.add("Mul", net.add("Add", net.add("Mul", net.part(x, 0, 2, 4), net.number(2.0)), net.number(grid)), net.number(stride))
        wh = net.add("Mul", net.add("Pow", net.add("Mul", net.part(x, 2, 4, 4), net.number(2.0)), net.number(2.0)),
                     net.number(numpy.array([[10, 13], [16, 30], [33, 23]]).reshape(1, 3, 1, 1, 2)))
        joined = net.add("Concat", xy, wh, net.part(x, 4, parts, 4), axis=4)
        rows.append(net.reshape(joined, 1, 3 * side * side, parts))
    out = net.add("Concat", *rows, axis=1)
    net.save(path, [1, 3, 64, 64], [(out, [1, 3 * 320, 5 + CLASSES])])
    return lambda y: (y[..., :4], y[..., 4:])


def yolo_v8(path, seed):
    """Boxes from distributions over 16 distances (Softmax and a convolution with their mean), scores by Sigmoid, joined by rows."""
    net = Net(seed)
    maps = []
    for x, side, _ in backbone(net, 2):
        both = net.add("Concat", net.conv(x, 16, 64, 1), net.conv(net.silu(net.conv(x, 16, 16)), 16, CLASSES, 1, bias=-2.0), axis=1)
        maps.append(net.reshape(both, 1, 64 + CLASSES, side * side))
    every = net.add("Concat", *maps, axis=2)
    places = 320
    boxes = net.reshape(net.part(every, 0, 64, 1), 1, 4, 16, places)
    boxes = net.add("Softmax", net.add("Transpose", boxes, perm=[0, 2, 1, 3]), axis=1)
    boxes = net.reshape(net.add("Conv", boxes, net.number(numpy.arange(16.0).reshape(1, 16, 1, 1))), 1, 4, places)
    anchor = net.number(numpy.concatenate([numpy.stack(numpy.meshgrid(numpy.arange(n), numpy.arange(n))).reshape(2, -1) for n in (16, 8)], 1)[None] + 0.5)
    low, high = net.add("Sub", anchor, net.part(boxes, 0, 2, 1)), net.add("Add", anchor, net.part(boxes, 2, 4, 1))
    middle = net.add("Div", net.add("Add", low, high), net.number(2.0))
    strides = net.number(numpy.repeat([4.0, 8.0], [256, 64])[None, None])
    boxes = net.add("Mul", net.add("Concat", middle, net.add("Sub", high, low), axis=1), strides)
    out = net.add("Concat", boxes, net.add("Sigmoid", net.part(every, 64, 64 + CLASSES, 1)), axis=1)
    net.save(path, [1, 3, 64, 64], [(out, [1, 4 + CLASSES, places])])
    return lambda y: (y[:, :4], y[:, 4:])


def answers_of(path, samples):
    """What vtac's own run of a model gives, first output."""
    name = onnx.load(path).graph.output[0].name
    run("compile", path, "--host", "host", "-o", "m.so")
    for sample in samples:
        numpy.save("in.npy", sample)
        run("run", "m.so", "--input", "in.npy", "--output-dir", ".")
        yield numpy.load(f"{name}.npy")


def quantized(path):
    """Names of the values that QuantizeLinear reads in a file that vtac quantize wrote."""
    return [node.input[0] for node in onnx.load(path).graph.node if node.op_type == "QuantizeLinear"]


def check_head(build, seed):
    split = build("head.onnx", seed)
    samples = pictures(numpy.random.default_rng(seed), 6, (1, 3, 64, 64))
    numpy.save("calib.npy", samples[:4, 0])
    run("quantize", "head.onnx", "--calib", "calib.npy", "-o", "q.onnx")
    model = onnx.load("head.onnx")
    floats = [evaluate(model, sample)[0] for sample in samples]
    for name, part in (("boxes", 0), ("scores", 1)):
        is_ = numpy.concatenate([split(y)[part].ravel() for y in answers_of("q.onnx", samples)])
        should = numpy.concatenate([split(y)[part].ravel() for y in floats])
        correlation, values = numpy.corrcoef(is_, should)[0, 1], len(numpy.unique(is_))
        print(f"{build.__name__}, seed {seed}: {name} correlate {correlation:.4f}, {values} distinct values of {len(numpy.unique(should))}")
        assert correlation > 0.99 and values > 200
    heads = {"Transpose", "Sigmoid", "Softmax", "Concat", "Pow", "Slice"}
    made = {name: node.op_type for node in model.graph.node for name in node.output}
    wrong = [name for name in quantized("q.onnx") if made.get(name.removesuffix("_real")) in heads]
    assert not wrong, f"{wrong} are quantized behind the last convolution"


def check_middle_join(seed):
    """A concatenation inside a network: scores that something else reads keep their scale, and no function's range is made larger."""
    net = Net(seed)
    gate = net.add("Sigmoid", net.conv("x", 3, 8))
    large = net.add("Mul", net.conv("x", 3, 8), net.number(40.0))
    out = net.conv(net.add("Concat", gate, large, axis=1), 16, 8)
    net.save("join.onnx", [1, 3, 16, 16], [(out, [1, 8, 16, 16])])
    numpy.save("calib.npy", pictures(numpy.random.default_rng(seed), 3, (1, 3, 16, 16))[:, 0])
    run("quantize", "join.onnx", "--calib", "calib.npy", "-o", "q.onnx")
    q = onnx.load("q.onnx").graph
    numbers = {t.name: onnx.numpy_helper.to_array(t) for t in q.initializer}
    scales = {n.input[0]: float(numbers[n.input[1]]) for n in q.node if n.op_type == "QuantizeLinear"}
    assert scales[gate] <= 1.01 / 255, f"the scale of Sigmoid is {scales[gate]}"


def check_spectrum(seed):
    """Power, bands, logarithm, and a network behind: the spectrum spans seven decades, and each band counts by its logarithm."""
    net = Net(seed)
    wave = net.random
    frames = numpy.fft.rfft(numpy.eye(64))[:, :32]
    bands = numpy.abs(wave.normal(0, 1, (32, 16))) * (wave.random((32, 16)) < 0.2) + 1e-3
    parts = [net.add("MatMul", "x", net.number(part)) for part in (frames.real, frames.imag)]
    power = net.add("Add", *(net.add("Pow", part, net.number(2.0)) for part in parts))
    mel = net.add("Log", net.add("Add", net.add("MatMul", power, net.number(bands)), net.number(1e-6)))
    y = net.add("Relu", net.add("MatMul", mel, net.number(wave.normal(0, 0.2, (16, 16)))))
    y = net.add("MatMul", y, net.number(wave.normal(0, 0.3, (16, 8))))
    net.save("mel.onnx", [1, 20, 64], [(y, [1, 20, 8])])
    time = numpy.arange(64)
    tones = wave.random((6, 1, 20, 1)) * 3
    loud = 10.0 ** wave.uniform(-2, 2, (6, 1, 20, 1))
    samples = (loud * (numpy.sin(tones * time) + 0.05 * wave.normal(0, 1, (6, 1, 20, 64)))).astype(numpy.float32)
    numpy.save("calib.npy", samples[:4, 0])
    run("quantize", "mel.onnx", "--calib", "calib.npy", "-o", "q.onnx")
    model = onnx.load("mel.onnx")
    should = numpy.concatenate([evaluate(model, s)[0].ravel() for s in samples])
    is_ = numpy.concatenate([y.ravel() for y in answers_of("q.onnx", samples)])
    off = numpy.abs(is_ - should).mean() / numpy.ptp(should)
    print(f"spectrum, seed {seed}: off by {100 * off:.2f} % of the range in mean")
    assert off < 0.02, off
    exact = {name for node in model.graph.node[:6] for name in node.output}
    assert not exact & set(quantized("q.onnx")), f"{quantized('q.onnx')}"


def check_norm(seed):
    """The square and its mean inside of a norm stay float; the products beside it are quantized."""
    net = Net(seed)
    w = [net.number(net.random.normal(0, 0.3, (16, 16))) for _ in range(2)]
    a = net.add("MatMul", "x", w[0])
    a = net.add("Mul", a, net.number(numpy.concatenate([[300.0], numpy.ones(15)])))
    square = net.add("Mul", a, a)
    mean = net.add("ReduceMean", square, axes=[-1])
    y = net.add("Div", a, net.add("Sqrt", net.add("Add", mean, net.number(1e-6))))
    out = net.add("MatMul", y, w[1])
    net.save("norm.onnx", [1, 6, 16], [(out, [1, 6, 16])])
    numpy.save("calib.npy", net.random.normal(0, 1, (4, 6, 16)).astype(numpy.float32))
    run("quantize", "norm.onnx", "--calib", "calib.npy", "-o", "q.onnx")
    assert not {square, mean} & set(quantized("q.onnx")) and len(quantized("q.onnx")) >= 3


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for first in (1, 2):
        check_head(yolo_v5, first)
        check_head(yolo_v8, first)
        check_middle_join(first)
        check_spectrum(first)
        check_norm(first)
