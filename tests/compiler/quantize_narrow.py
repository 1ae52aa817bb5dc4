#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# vtac quantize --weights int4: the file's integers and scales are read byte by byte and held against the floats they stand for (nearest
# integers, multiples of one scale for blocks, errors of outputs no larger than those of the published column-by-column rounding, done
# here in numpy with an inverse); what the compiled file answers is what numpy makes of its nodes; the accelerator has the host's
# integers; files and constants shrink; perplexities follow from the files' scores; what cannot be is told in one line. Fails when a nibble is packed in the wrong half, a block
# takes its neighbour's scale, or an error is handed to the wrong weight.
#
# usage: quantize_narrow.py VTAC CONFIGS [DEVICE]   (exit status 77: python3-onnx is not installed)
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    import onnx
    import onnx.helper
    import onnx.numpy_helper
    import word_seed
except ImportError:
    print("python3-onnx is not installed")
    sys.exit(77)

VTAC, CONFIGS = (os.path.abspath(word) for word in sys.argv[1:3])
DEVICE = sys.argv[3] if len(sys.argv) > 3 else "fsim"
INT4 = 22


def run(*words, status=0):
    done = subprocess.run([VTAC, *words], capture_output=True, text=True)
    assert done.returncode == status, f"vtac {' '.join(words)}: {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout if status == 0 else done.stderr


def save(path, nodes, constants, shape, out):
    info = onnx.helper.make_tensor_value_info
    tensors = [onnx.numpy_helper.from_array(numpy.asarray(value, numpy.float32), name) for name, value in constants.items()]
    graph = onnx.helper.make_graph(nodes, "net", [info("x", 1, shape)], [info("y", 1, out)], tensors)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=7), path)


# ---- reading a file: integers of four bits, and ONNX's formula


def tensor_of(proto):
    if proto.data_type != INT4:
        return onnx.numpy_helper.to_array(proto)
    raw = numpy.frombuffer(proto.raw_data, numpy.uint8)
    count = int(numpy.prod(proto.dims)) if proto.dims else 1
    assert len(raw) == (count + 1) // 2, f"{proto.name}: {len(raw)} bytes for {count} numbers of 4 bits"
    codes = numpy.stack([raw & 15, raw >> 4], 1).reshape(-1)[:count].astype(numpy.int16)
    return (((codes ^ 8) - 8).astype(numpy.int8)).reshape(proto.dims)


def attribute(node, name, other):
    return next((onnx.helper.get_attribute_value(a) for a in node.attribute if a.name == name), other)


def spread(param, x, node):
    """A scale or a zero point for each element."""
    axis, block = attribute(node, "axis", 1), attribute(node, "block_size", 0)
    if block > 0 and param.ndim > 0:
        return numpy.repeat(param, block, axis).take(numpy.arange(x.shape[axis]), axis)
    return param if param.ndim == 0 else param.reshape([-1 if i == axis else 1 for i in range(x.ndim)])


def dequantized(node, x, scale, zero=None):
    real = x.astype(numpy.float64) - (0.0 if zero is None else spread(zero, x, node).astype(numpy.float64))
    return real * spread(scale, x, node).astype(numpy.float64)


def quantized(node, x, scale, zero):
    bounds = numpy.iinfo(zero.dtype)
    return numpy.clip(numpy.rint(x / scale) + zero.astype(numpy.float64), bounds.min, bounds.max).astype(zero.dtype)


def convolved(node, x, w, b=None):
    pads, steps, group = attribute(node, "pads", [0] * 4), attribute(node, "strides", [1, 1]), attribute(node, "group", 1)
    x = numpy.pad(x, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
    rows, cols = ((x.shape[i + 2] - w.shape[i + 2]) // steps[i] + 1 for i in (0, 1))
    y = numpy.zeros((x.shape[0], w.shape[0], rows, cols))
    ins, outs = x.shape[1] // group, w.shape[0] // group
    for g in range(group):
        for ky in range(w.shape[2]):
            for kx in range(w.shape[3]):
                part = x[:, g * ins:(g + 1) * ins, ky:ky + rows * steps[0]:steps[0], kx:kx + cols * steps[1]:steps[1]]
                y[:, g * outs:(g + 1) * outs] += numpy.einsum("nihw,oi->nohw", part, w[g * outs:(g + 1) * outs, :, ky, kx])
    return y if b is None else y + b.reshape(1, -1, 1, 1)


OPERATORS = {
    "QuantizeLinear": quantized, "DequantizeLinear": dequantized, "Conv": convolved,
    "MatMul": lambda node, a, b: a @ b,
    "Gemm": lambda node, a, b, c=0.0: a @ (b.T if attribute(node, "transB", 0) else b) + c,
    "Add": lambda node, a, b: a + b, "Relu": lambda node, a: numpy.maximum(a, 0),
    "GlobalAveragePool": lambda node, a: a.mean((2, 3), keepdims=True),
    "Flatten": lambda node, a: a.reshape(a.shape[0], -1), "Reshape": lambda node, a, s: a.reshape(s),
}


def evaluated(model, x):
    values = {t.name: tensor_of(t) for t in model.graph.initializer} | {"x": x.astype(numpy.float64)}
    for node in model.graph.node:
        values[node.output[0]] = OPERATORS[node.op_type](node, *(values[name] for name in node.input if name))
    return values["y"]


def weights_of(model):
    """By the name of the node that has them: integers, scales for each, attributes of their DequantizeLinear."""
    constants = {t.name: tensor_of(t) for t in model.graph.initializer}
    narrow = {t.name for t in model.graph.initializer if t.data_type == INT4}
    makers = {node.output[0]: node for node in model.graph.node}
    found = {}
    for node in model.graph.node:
        if node.op_type in ("Conv", "Gemm", "MatMul"):
            maker = makers[node.input[1]]
            q, scale = (constants[name] for name in maker.input[:2])
            found[node.name] = (q, scale, maker, maker.input[0] in narrow)
    return found


# ---- networks, drawn


def dense_net(path, random, inputs):
    make = onnx.helper.make_node
    hidden, outputs = int(random.integers(40, 70)), int(random.integers(10, 30))
    constants = {"w0": random.normal(0, 0.3, (inputs, hidden)) * random.uniform(0.2, 3, (1, hidden)), "b0": random.normal(0, 0.3, hidden),
                 "w1": random.normal(0, 0.3, (outputs, hidden)), "b1": random.normal(0, 0.3, outputs)}
    constants["w0"][: inputs // 3] *= 0.2  # blocks of inputs differ
    nodes = [make("MatMul", ["x", "w0"], ["m"], "first"), make("Add", ["m", "b0"], ["a"]), make("Relu", ["a"], ["r"]),
             make("Gemm", ["r", "w1", "b1"], ["y"], "second", transB=1)]
    rows = int(random.integers(2, 9))
    save(path, nodes, constants, [rows, inputs], [rows, outputs])
    mix = random.normal(0, 1, (inputs // 5, inputs))  # inputs that move together
    return {"first": constants["w0"], "second": constants["w1"].T}, [
        (random.normal(0, 1, (rows, len(mix))) @ mix + random.normal(0, 0.2, (rows, inputs))).astype(numpy.float32) for _ in range(40)]


def picture_net(path, random):
    make = onnx.helper.make_node
    inner = 4 * int(random.integers(4, 12))
    constants = {"w0": random.normal(0, 0.4, (inner, 3, 3, 3)), "b0": random.normal(0, 0.2, inner), "w1": random.normal(0, 0.5, (inner, 1, 3, 3)),
                 "w2": random.normal(0, 0.3, (40, inner, 1, 1)), "b2": random.normal(0, 0.2, 40), "w3": random.normal(0, 0.5, (40, 7))}
    nodes = [make("Conv", ["x", "w0", "b0"], ["a"], "first", pads=[1] * 4), make("Relu", ["a"], ["r"]),
             make("Conv", ["r", "w1"], ["d"], "depth", pads=[1] * 4, strides=[2, 2], group=inner), make("Relu", ["d"], ["e"]),
             make("Conv", ["e", "w2", "b2"], ["p"], "point"), make("Relu", ["p"], ["q"]), make("GlobalAveragePool", ["q"], ["g"]),
             make("Flatten", ["g"], ["f"]), make("Gemm", ["f", "w3"], ["y"], "last")]
    save(path, nodes, constants, [1, 3, 12, 12], [1, 7])
    return [(numpy.cumsum(random.normal(0, 0.4, (1, 3, 12, 12)), 3)).astype(numpy.float32) for _ in range(20)]


def quantize(path, samples, *options, out="q.onnx"):
    numpy.savez("calib.npz", x=numpy.concatenate(samples))
    said = json.loads(run("quantize", path, "--calib", "calib.npz", "--max-loss", "0", "--force", "--json", "--report", *options, "-o", out))
    model = onnx.load(out)
    assert all(s.version >= 21 for s in model.opset_import if s.domain == "") and model.ir_version >= 10, "int4 is of opset 21"
    return said, model


# ---- checks


def check_nearest(random):
    """Integers are the nearest, cut to four bits; no scale is worse than the one that has every weight in it."""
    reals, samples = dense_net("m.onnx", random, 96)
    said, model = quantize("m.onnx", samples, "--weights", "int4", "--round-nearest", "--no-bias-correction")
    assert said["narrow"] == said["products"] == 2 and 4.0 < said["bits_a_weight"] < 6.0, said
    assert {layer["weight_bits"] for layer in said["layers"] if "weight_bits" in layer} == {4}
    for name, (q, scale, maker, narrow) in weights_of(model).items():
        assert narrow and attribute(maker, "axis", 1) == (0 if name == "second" else 1)
        real = reals[name] if name == "first" else reals[name].T
        each = spread(scale, q, maker).astype(numpy.float64)
        assert (q == numpy.clip(numpy.rint(numpy.float32(real) / each), -8, 7)).all(), name
        across = 0 if name == "first" else 1
        whole = numpy.abs(numpy.float32(real)).max(across, keepdims=True) / 7.0
        off = ((q * each - real) ** 2).sum(across)
        plain = ((numpy.clip(numpy.rint(real / whole), -8, 7) * whole - real) ** 2).sum(across)
        assert (off <= plain * 1.001).all() and off.sum() < 0.95 * plain.sum(), f"{name}: {off.sum()} of {plain.sum()}"


def check_blocks(random):
    """A block's scale is its output's times 1 to 16, the integers are nearest to it, and no other factor is nearer to the floats."""
    for block in (32, 64, 128):
        inputs = int(random.integers(130, 200))
        reals, samples = dense_net("m.onnx", random, inputs)
        _, model = quantize("m.onnx", samples, "--weights", f"int4:{block}", "--round-nearest", "--no-bias-correction")
        for name, (q, scale, maker, narrow) in weights_of(model).items():
            axis = attribute(maker, "axis", 1)
            assert narrow and attribute(maker, "block_size", 0) == block and axis == (0 if name == "first" else 1)
            real = numpy.float32(reals[name] if name == "first" else reals[name].T).astype(numpy.float64)
            assert scale.shape[axis] == -(-q.shape[axis] // block)
            share = scale.astype(numpy.float64) / scale.max(axis, keepdims=True)
            fits = [(numpy.abs(share * k - numpy.rint(share * k)) < 1e-9).all(axis) for k in range(1, 17)]
            assert numpy.any(fits, 0).all(), f"{name}: scales are multiples of none"
            each = spread(scale, q, maker).astype(numpy.float64)
            assert (q == numpy.clip(numpy.rint(real / each), -8, 7)).all(), name
            for better in (0.8, 1.3):  # far from any factor's neighbour
                other = each * better
                off = ((numpy.clip(numpy.rint(real / other), -8, 7) * other - real) ** 2).sum()
                assert ((q * each - real) ** 2).sum() < off, (name, better)


def rounded_by_columns(w, scale, x, step, low, high):
    """The published rounding: from the last weight on, what rounding adds is made up for by the others, read from the inverse."""
    terms = len(w)
    h = x @ x.T
    power = numpy.diag(h).copy()
    h[numpy.diag_indices(terms)] += power * terms / x.shape[1] + 0.01 * power.mean()
    order = numpy.arange(terms)[::-1]
    upper = numpy.linalg.cholesky(numpy.linalg.inv(h[numpy.ix_(order, order)])).T
    w, chosen = (w / scale)[order], numpy.zeros((terms, w.shape[1]))
    for i in range(terms):
        grid = step[order][i]
        chosen[i] = numpy.clip(numpy.rint(w[i] / grid), low, high) * grid
        w[i + 1:] -= numpy.outer(upper[i, i + 1:], (w[i] - chosen[i]) / upper[i, i])
    return chosen[order]


def check_errors(random, options):
    """The first layer's outputs on the calibration inputs."""
    reals, samples = dense_net("m.onnx", random, 60)
    x = numpy.concatenate(samples).T.astype(numpy.float64)
    w = numpy.float32(reals["first"]).astype(numpy.float64)
    errors = {}
    for how in ("--round-nearest", "--no-bias-correction"):  # the second is given twice then, and changes nothing else
        said, model = quantize("m.onnx", samples, "--weights", *options, how, "--no-bias-correction")
        q, scale, maker, _ = weights_of(model)["first"]
        each = spread(scale, q, maker).astype(numpy.float64) * numpy.ones(q.shape)
        errors[how] = (((q * each - w).T @ x) ** 2).sum()
        assert ("tuned" in said) == (how != "--round-nearest")
    unit = each.min(0)
    published = rounded_by_columns(w, unit, x, each / unit, -8, 7) * unit
    reference = ((published - w).T @ x)
    ours, nearest, theirs = errors["--no-bias-correction"], errors["--round-nearest"], (reference ** 2).sum()
    print(f"{options[0]}: error of the outputs, nearest 1, published {theirs / nearest:.3f}, here {ours / nearest:.3f}")
    assert ours <= 1.02 * theirs and ours < 0.6 * nearest


def check_answers(random, bits):
    """The compiled file answers what numpy makes of its nodes, within the rounding of 8 bits, and the accelerator has its integers."""
    nets = (lambda path: dense_net(path, random, int(random.integers(60, 150)))[1], lambda path: picture_net(path, random))
    for net in nets:
        samples = net("m.onnx")
        _, model = quantize("m.onnx", samples, "--weights", bits)
        assert all(narrow for *_, narrow in weights_of(model).values())
        run("compile", "q.onnx", "--host", "host", "-o", "m.so")
        for sample in samples[:2]:
            numpy.save("in.npy", sample)
            run("run", "m.so", "--input", "in.npy", "--output-dir", ".")
            should, got = evaluated(model, sample), numpy.load("y.npy")
            assert got.shape == should.shape
            off = numpy.abs(got - should).max()
            assert off <= 0.03 * numpy.ptp(should), f"{bits}: off by {off} of {numpy.ptp(should)}"
        for round_ in (1, 2):
            said = run("diff", "q.onnx", "--a", DEVICE, "--config", f"{CONFIGS}/wgt4.json", "--seed", str(int(random.integers(1, 9999))))
            assert "agree on all" in said, said
        said = json.loads(run("compile", "q.onnx", "--target", "vta", "--offload", "all", "--config", f"{CONFIGS}/wgt4.json", "--report",
                              "--json", "-o", "a.so"))
        told = [layer["weight_bits"] for layer in said["layers"] if "weight_bits" in layer]
        assert told and (bits != "int4" or set(told) == {4}), told


def check_sizes(random):
    """Files and constants shrink to little more than half."""
    _, samples = dense_net("m.onnx", random, 1024)
    quantize("m.onnx", samples, "--weights", "int4")
    numpy.savez("calib.npz", x=numpy.concatenate(samples))
    run("quantize", "m.onnx", "--calib", "calib.npz", "--max-loss", "0", "--force", "-o", "q8.onnx")
    sizes = {}
    for name in ("q8", "q"):
        said = run("compile", f"{name}.onnx", "--target", "vta", "--offload", "all", "--config", f"{CONFIGS}/wgt4.json", "--report", "--json",
                   "-o", "a.so")
        sizes[name] = (os.path.getsize(f"{name}.onnx"), json.loads(said)["device_constant_bytes"])
    print(f"bytes of files and constants: {sizes}")
    assert all(narrow < 0.57 * wide for wide, narrow in zip(sizes["q8"], sizes["q"])), sizes
    quantize("m.onnx", samples, "--weights", "int4:128", out="blocks.onnx")
    config = "pynq_lm"
    said = json.loads(run("compile", "blocks.onnx", "--target", "vta", "--offload", "all", "--config", config, "--report", "--json", "-o", "a.so"))
    layer = max(said["layers"], key=lambda one: one["macs"])
    assert "factors of 128 inputs" in layer["schedule"] and layer["weight_bits"] == 4 and layer["bytes_read"] < 0.7 * layer["least_read"], layer
    assert "agree on all" in run("diff", "blocks.onnx", "--a", DEVICE, "--config", config)
    assert "have weights of 4 bits; 'wgt4' loads them as these" in run("explain", "q.onnx", "--config", f"{CONFIGS}/wgt4.json", "--offload", "all")


def blocked_net(path, random, multiples, one_zero, block):
    """A file as others write them: int8 around a product whose weights are blocks of four bits."""
    make, info = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    inputs, outputs, size = 100, 12, 32
    shape = [-(-inputs // size), outputs]
    scale = random.uniform(0.01, 0.03, (1, outputs)) * (random.integers(1, 9, shape) if multiples else random.uniform(1, 8, shape))
    scale = numpy.float32(scale) if not multiples else numpy.float32(2.0 ** -7) * numpy.rint(scale * 128).clip(1, 9).astype(numpy.float32)
    codes = random.integers(-8, 8, (inputs, outputs))
    flat = (codes.reshape(-1) & 15).astype(numpy.uint8)
    zero = numpy.array([1] if one_zero else random.integers(-1, 2, shape), numpy.int64)
    packed = (zero.reshape(-1) & 15).astype(numpy.uint8)
    packed = numpy.append(packed, [0] * (len(packed) % 2)).astype(numpy.uint8)
    tensors = [onnx.TensorProto(name="w", data_type=INT4, dims=[inputs, outputs], raw_data=(flat[0::2] | flat[1::2] << 4).tobytes()),
               onnx.TensorProto(name="wz", data_type=INT4, dims=[] if one_zero else shape, raw_data=(packed[0::2] | packed[1::2] << 4).tobytes()),
               onnx.numpy_helper.from_array(scale, "ws")]
    for name, value in (("xs", numpy.float32(0.02)), ("xz", numpy.int8(3)), ("ys", numpy.float32(0.05)), ("yz", numpy.int8(-4))):
        tensors.append(onnx.numpy_helper.from_array(numpy.array(value), name))
    nodes = [make("QuantizeLinear", ["x", "xs", "xz"], ["xq"]), make("DequantizeLinear", ["xq", "xs", "xz"], ["xr"]),
             make("DequantizeLinear", ["w", "ws", "wz"], ["wr"], axis=0, block_size=block), make("MatMul", ["xr", "wr"], ["m"]),
             make("QuantizeLinear", ["m", "ys", "yz"], ["yq"]), make("DequantizeLinear", ["yq", "ys", "yz"], ["y"])]
    graph = onnx.helper.make_graph(nodes, "net", [info("x", 1, [3, inputs])], [info("y", 1, [3, outputs])], tensors)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10), path)


def check_foreign(random):
    """Blocks of other tools: integers where scales are multiples, floats where they are not, with a zero point each or one for all."""
    for multiples, one_zero in ((True, False), (True, True), (False, False), (False, True)):
        blocked_net("f.onnx", random, multiples, one_zero, 32)
        run("compile", "f.onnx", "--host", "host", "-o", "m.so")
        sample = random.normal(0, 1, (3, 100)).astype(numpy.float32)
        numpy.save("in.npy", sample)
        run("run", "m.so", "--input", "in.npy", "--output-dir", ".")
        off = numpy.abs(numpy.load("y.npy") - evaluated(onnx.load("f.onnx"), sample))
        assert off.max() <= 0.0501 and (off > 0.001).mean() < 0.1, f"multiples {multiples}, one zero {one_zero}: off by {off.max()}"
        integers = "QLinearMatMul" in run("inspect", "f.onnx", "-O", "3") or "QGemm" in run("inspect", "f.onnx", "-O", "3")
        assert integers == multiples, f"multiples {multiples}: {run('inspect', 'f.onnx', '-O', '3')}"
    blocked_net("f.onnx", random, True, True, 2 ** 63 - 1)
    said = run("compile", "f.onnx", "-o", "none", status=1)
    assert "scales do not fit blocks of" in said and said.count("\n") == 1, said


def check_kept(random):
    """A layer that is named keeps 8 bits."""
    samples = picture_net("m.onnx", random)
    said, model = quantize("m.onnx", samples, "--weights", "int4", "--keep-int8", "point")
    assert {name: narrow for name, (*_, narrow) in weights_of(model).items()} == {"first": True, "depth": True, "point": False, "last": True}
    assert said["narrow"] == 3 and said["products"] == 4
    once = open("q.onnx", "rb").read()
    quantize("m.onnx", samples, "--weights", "int4", "--keep-int8", "point")
    assert open("q.onnx", "rb").read() == once, "the same model twice"


def check_sensitive(random):
    """Layers that harm the outputs get 8 bits until the noise is as far below them as was asked for."""
    samples = picture_net("m.onnx", random)
    numpy.savez("calib.npz", x=numpy.concatenate(samples))
    answers = {}
    for bits in ("int4", "int8"):
        answers[bits] = json.loads(run("quantize", "m.onnx", "--calib", "calib.npz", "--max-loss", "0", "--force", "--weights", bits, "--json",
                                       "-o", "q.onnx"))["output_snr_db"]
    bound = 0.65 * answers["int4"] + 0.35 * answers["int8"]
    said = json.loads(run("quantize", "m.onnx", "--calib", "calib.npz", "--max-loss", f"{bound:.3f}", "--force", "--weights", "int4", "--json",
                          "-o", "q.onnx"))
    wide = {name for name, (*_, narrow) in weights_of(onnx.load("q.onnx")).items() if not narrow}
    print(f"4 bits {answers['int4']:.1f} dB, 8 bits {answers['int8']:.1f} dB, {bound:.1f} asked: {said['output_snr_db']:.1f} dB, 8 bits in {wide}")
    assert said["output_snr_db"] >= bound - 0.001 and wide and wide == set(said["kept_int8"]) and not said["kept_float"]
    assert said["narrow"] == 4 - len(wide) > 0


def language_model(path, random, rows, length):
    """A network that was trained to know which id follows an id."""
    words, width, hidden = 24, 12, 40
    chain = random.dirichlet(numpy.full(words, 0.15), words)
    w = {"e": random.normal(0, 1, (words, width)), "w0": random.normal(0, 0.4, (width, hidden)), "w1": random.normal(0, 0.3, (hidden, words))}
    for _ in range(400):  # gradients of the cross entropy, over all ids at once
        inner = numpy.maximum(w["e"] @ w["w0"], 0)
        scores = inner @ w["w1"]
        odds = numpy.exp(scores - scores.max(1, keepdims=True))
        odds = (odds / odds.sum(1, keepdims=True) - chain) / words
        back = (odds @ w["w1"].T) * (inner > 0)
        step = {"w1": inner.T @ odds, "w0": w["e"].T @ back, "e": back @ w["w0"].T}
        w = {name: w[name] - 3.0 * step[name] for name in w}
    make, info = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    nodes = [make("Gather", ["e", "x"], ["v"]), make("MatMul", ["v", "w0"], ["h"], "first"), make("Relu", ["h"], ["r"]),
             make("MatMul", ["r", "w1"], ["y"], "last")]
    tensors = [onnx.numpy_helper.from_array(value.astype(numpy.float32), name) for name, value in w.items()]
    graph = onnx.helper.make_graph(nodes, "net", [info("x", 7, [rows, length])], [info("y", 1, [rows, length, words])], tensors)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=7), path)
    ids = numpy.zeros((3 * rows, length), numpy.int64)
    for row in ids:
        row[0] = random.integers(words)
        for i in range(1, length):
            row[i] = random.choice(words, p=chain[row[i - 1]])
    return [ids[i * rows:(i + 1) * rows] for i in range(3)]


def perplexity_of(path, samples):
    run("compile", path, "--host", "host", "-o", "m.so")
    cost, count = 0.0, 0
    for ids in samples:
        numpy.save("in.npy", ids)
        run("run", "m.so", "--input", "in.npy", "--output-dir", ".")
        scores = numpy.load("y.npy").astype(numpy.float64)[:, :-1]
        scores -= scores.max(2, keepdims=True)
        odds = scores - numpy.log(numpy.exp(scores).sum(2, keepdims=True))
        cost -= numpy.take_along_axis(odds, ids[:, 1:, None], 2).sum()
        count += ids[:, 1:].size
    return float(numpy.exp(cost / count)), count


def check_language(random):
    """Perplexities are those of the scores that the files answer; ids beyond the scores are none."""
    samples = language_model("m.onnx", random, 4, 20)
    numpy.savez("calib.npz", x=numpy.concatenate(samples))
    words = ("quantize", "m.onnx", "--calib", "calib.npz", "--max-loss", "0", "--force")
    wide = json.loads(run(*words, "--json", "-o", "q8.onnx"))
    narrow = json.loads(run(*words, "--json", "--weights", "int4", "-o", "q.onnx"))
    (real, count), (bytes_, _), (four, _) = (perplexity_of(f"{name}.onnx", samples) for name in ("m", "q8", "q"))
    print(f"perplexity over {count} ids: {real:.3f} in float, {bytes_:.3f} in 8 bits, {four:.3f} with weights of 4 bits")
    assert wide["predicted"] == narrow["predicted"] == count and "perplexity_int8" not in wide
    for is_, should in ((wide["perplexity_float"], real), (wide["perplexity"], bytes_), (narrow["perplexity_float"], real),
                        (narrow["perplexity_int8"], bytes_), (narrow["perplexity"], four)):
        assert abs(is_ / should - 1.0) < 0.01, (is_, should)
    assert real < 20.0 and bytes_ < 1.02 * real and four < 1.1 * real, "the model knows nothing, or quantizing lost it"
    said = run(*words, "--weights", "int4", "-o", "q.onnx")
    assert f"perplexity over {count} ids: " in said and "in 8 bits" in said and "with weights of 4 bits" in said


def check_refusals(random):
    quantize("m.onnx", picture_net("m.onnx", random), "--weights", "int4")
    expected = (
        (["quantize", "m.onnx", "--weights", "int5"], 2, "--weights takes int8, int4, int4:32, int4:64 or int4:128, not 'int5'"),
        (["quantize", "m.onnx", "--weights", "int4:48"], 2, "not 'int4:48'"),
        (["quantize", "m.onnx", "--weights", "int4:32", "--per-tensor"], 2, "blocks of weights have scales of their own"),
        (["quantize", "m.onnx", "--keep-int8", "point"], 2, "--keep-int8 is about weights of 4 bits; give --weights int4"),
        (["quantize", "m.onnx", "--calib", "calib.npz", "--weights", "int4", "--keep-int8", "none"], 1, "none"),
        (["quantize", "m.onnx", "--tune-rounding", "--round-nearest", "--calib", "calib.npz"], 2, "not both"),
        (["compile", "m.onnx", "--weights", "int4"], 2, "the host computes this model with floats; give --target vta"),
        (["compile", "q.onnx", "--target", "vta", "--weights", "int4"], 1, "--weights int4 is for a model of floats"),
    )
    for words, status, message in expected:
        said = run(*words, "-o", "none", status=status)
        assert message in said and said.count("\n") == 1 and not os.path.exists("none"), f"{words}: {said}"
    done = subprocess.run([VTAC, "compile", "q.onnx", "--target", "vta", "--offload", "all", "--config", "tiny", "-o", "a.so"], capture_output=True,
                          text=True)
    assert done.returncode == 0 and "'tiny' loads them as 8 bits, since its key WGT4 is 0" in done.stderr, done.stderr


def main():
    seed = word_seed.told()
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for round_ in (1, 2):
            random = numpy.random.default_rng([seed, round_])
            if DEVICE == "fsim":
                check_nearest(random)
                check_blocks(random)
                check_errors(random, ["int4"])
                check_errors(random, ["int4:32"])
                check_kept(random)
                check_foreign(random)
                check_sensitive(random)
                check_language(random)
                check_sizes(random)
            for bits in ("int4", "int4:32"):
                check_answers(random, bits)
            check_refusals(random)
    print("weights of 4 bits: all checks passed")


main()
