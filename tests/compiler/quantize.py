#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# vtac quantize on models of floats: the file is what ONNX's checker accepts, its model decides as the float one does, and its
# output is no further from the float one's than that of the model that others quantized. The references are those that come with
# the models: the suite's own networks (OWN), and published ones, which may be missing (SHARED).
#
# usage: quantize.py VTAC OWN SHARED   (exit status 77: python3-onnx is not there)
import glob
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    import onnx
    import onnx.checker
    import onnx.helper
    import onnx.numpy_helper
except ImportError:
    print("python3-onnx is not installed")
    sys.exit(77)

VTAC, OWN, SHARED = sys.argv[1:4]

# float model, the same quantized by others ("": there is none), how far an output may be off relative to the range of the outputs
# where there is none, options
OWN_CASES = (
    ("image_fp32", "", 0.06, ["--per-channel"]),
    ("image_fp32", "", 0.06, ["--per-channel", "--unsigned"]),
    ("words_fp32", "", 0.12, ["--per-channel"]),
    ("mobile_fp32", "", 0.06, ["--per-channel"]),
    ("norm_fp32_bn", "", 0.06, ["--per-channel"]),
    ("fire_fp32", "", 0.06, ["--per-channel"]),
)
SHARED_CASES = (
    ("mlperf_ic_resnet8_fp32", "mlperf_ic_resnet8_int8_qdq", None, ["--per-channel"]),
    ("mlperf_ic_resnet8_fp32", "mlperf_ic_resnet8_int8_qdq", None, ["--per-channel", "--unsigned"]),
    ("mlperf_kws_dscnn_fp32", "mlperf_kws_dscnn_int8_qdq", None, ["--per-channel"]),
    ("mobilenetv2-12_dequant_fp32", "mobilenetv2-12-int8", None, ["--per-channel"]),
    ("resnet20_cifar10_fp32_bn", "", 0.06, ["--per-channel"]),
    ("squeezenet1.1_fp32_from_fp16", "", 0.06, ["--per-channel"]),
)
METHODS = ("minmax", "percentile", "mse", "entropy")


def run(*words):
    done = subprocess.run([VTAC, *words], capture_output=True, text=True)
    assert done.returncode == 0, f"vtac {' '.join(words)}: {done.stderr}"
    return done.stdout


def file_of(model):
    own = f"{OWN}/{model}.onnx"
    return own if os.path.exists(own) else f"{SHARED}/{model}.onnx"


def cases_of(model):
    """Inputs and outputs that come with a model."""
    found = sorted(glob.glob(f"{os.path.dirname(file_of(model))}/golden/{model}/*_in.npy"))
    return [(path, numpy.load(path.replace("_in.npy", "_out0.npy"))) for path in found]


def outputs_of(path, inputs):
    """What a model answers, run by vtac."""
    run("compile", path, "--host", "host", "-o", "q.so")
    answers = []
    for file in inputs:
        run("run", "q.so", "--input", file, "--output-dir", ".")
        name = onnx.load(path).graph.output[0].name
        answers.append(numpy.load(f"{name.replace('/', '_')}.npy"))
    return answers


def worst(answers, references):
    return max(float(numpy.abs(a - b).max()) for a, b in zip(answers, references))


def check(model, twin, share, options):
    """Returns the noise of the outputs in dB."""
    cases = cases_of(model)
    references = [out for _, out in cases]
    numpy.savez("calib.npz", *[numpy.load(path) for path, _ in cases])
    said = json.loads(run("quantize", file_of(model), "--calib", "calib.npz", *options, "--json", "-o", "q.onnx"))
    onnx.checker.check_model("q.onnx", full_check=True)
    names = [node.name for node in onnx.load("q.onnx").graph.node if node.name]
    assert len(names) == len(set(names)), "ONNX Runtime refuses two nodes of one name"
    answers = outputs_of("q.onnx", [path for path, _ in cases])
    off = worst(answers, references)
    limit = worst([out for _, out in cases_of(twin)], references) if twin else share * float(numpy.ptp(references))
    agreed = sum(int(a.argmax() == b.argmax()) for a, b in zip(answers, references))
    print(f"{model} {' '.join(options)}: {agreed} of {len(cases)} decisions, off by {off:.4g}, allowed {limit:.4g}")
    assert agreed == len(cases) > 0 and off <= limit
    return said["output_snr_db"]


def check_made_up(cases):
    """Without calibration inputs, ranges follow from the weights and from made-up pictures: decisions stay where they were."""
    left_out = {"mobilenetv2-12_dequant_fp32", "image_fp32", "words_fp32"}  # the largest, like another; two whose weights do not tell what they read
    for model in sorted({case[0] for case in cases} - left_out):
        done = subprocess.run([VTAC, "quantize", file_of(model), "--per-channel", "-o", "q.onnx"], capture_output=True, text=True)
        assert done.returncode == 0 and "warning: no calibration inputs" in done.stderr, done.stderr
        known = cases_of(model)
        answers = outputs_of("q.onnx", [path for path, _ in known])
        agreed = sum(int(a.argmax() == b.argmax()) for a, (_, b) in zip(answers, known))
        print(f"{model} without calibration inputs: {agreed} of {len(known)} decisions, off by {worst(answers, [b for _, b in known]):.4g}")
        assert agreed == len(known)


def write_two_inputs(path):
    """a x weights + b."""
    tensor, make = onnx.helper.make_tensor_value_info, onnx.helper.make_node
    a, b, y = (tensor(name, onnx.TensorProto.FLOAT, [1, 4]) for name in "aby")
    weights = onnx.numpy_helper.from_array(numpy.eye(4, dtype=numpy.float32), "w")
    nodes = [make("MatMul", ["a", "w"], ["m"]), make("Add", ["m", "b"], ["y"])]
    graph = onnx.helper.make_graph(nodes, "two", [a, b], [y], [weights])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=7), path)


def check_refusals():
    """What does not fit is told in one line, and no file appears."""
    model = file_of("image_fp32")
    write_two_inputs("two.onnx")
    row = numpy.zeros((1, 4), numpy.float32)
    numpy.save("row.npy", row)
    numpy.savez("half.npz", a=row)
    numpy.savez("uneven.npz", a=row, b=numpy.concatenate([row, row]))
    good = numpy.zeros((1, 3, 32, 32), numpy.float32)
    numpy.save("short.npy", good[:, :, :31])
    numpy.save("text.npy", good.astype("complex64"))
    numpy.savez("good.npz", a=good)
    with open("good.npz", "rb") as file, open("cut.npz", "wb") as cut:
        cut.write(file.read()[:-30])
    os.makedirs("empty", exist_ok=True)
    expected = (
        (["--calib", "row.npy"], "row.npy: the model has 2 inputs; give .npz files with a member for each", "two.onnx"),
        (["--calib", "half.npz"], "half.npz: it has members for 1 of 2 inputs; members are named as the inputs", "two.onnx"),
        (["--calib", "uneven.npz"], "b.npy: it has 2 samples, the member before it 1", "two.onnx"),
        (["--calib", "short.npy"], "short.npy: it is f32[1,3,31,32], input 'input' takes f32[1,3,32,32]"),
        (["--calib", "text.npy"], "text.npy: its element type '<c8' is not supported"),
        (["--calib", "cut.npz"], "cut.npz: it is not a whole zip archive"),
        (["--calib", "empty"], "empty: no .npy, .npz, .pb, .png or .jpg file is in it"),
        (["--calib", "nowhere"], "cannot open 'nowhere': No such file or directory"),
        (["--calib", "good.npz", "--method", "median"], "--method takes minmax, percentile, mse, entropy or room, not 'median'"),
        (["--per-tensor", "--per-channel"], "--per-channel or --per-tensor, not both"),
        (["--tune-rounding"], "--tune-rounding looks at real inputs; give --calib"),
        (["--calib", "good.npz", "--max-drop", "1"], "--max-drop is about right answers; give them with --labels"),
    )
    for words, message, *other in expected:
        done = subprocess.run([VTAC, "quantize", *(other or [model]), *words, "-o", "none.onnx"], capture_output=True, text=True)
        assert done.returncode in (1, 2) and message in done.stderr, f"{words}: {done.stderr}"
        assert done.stderr.count("\n") == 1 and not os.path.exists("none.onnx"), f"{words}: {done.stderr}"
        print(f"{' '.join(words)}: refused")


def check_calibration_forms():
    """The same samples as .npy, stacked, in stored and deflated archives and in a folder make the same model; others another."""
    model = file_of("words_fp32")
    samples = [numpy.load(path) for path, _ in cases_of("words_fp32")]
    numpy.save("joined.npy", numpy.concatenate(samples))
    numpy.save("stacked.npy", numpy.stack(samples).astype(numpy.float64))
    numpy.savez("stored.npz", *samples)
    numpy.savez_compressed("deflated.npz", *samples)
    os.makedirs("samples", exist_ok=True)
    for i, sample in enumerate(samples):
        numpy.save(f"samples/{i}.npy", sample)
    made = []
    for calib in ("joined.npy", "stacked.npy", "stored.npz", "deflated.npz", "samples", "samples/1.npy"):
        run("quantize", model, "--calib", calib, "-o", "form.onnx")
        with open("form.onnx", "rb") as file:
            made.append(file.read())
    assert all(m == made[0] for m in made[1:5]) and made[5] != made[0]
    print("all forms of calibration data make the same model")


def check_on_the_fly():
    """vtac compile --target vta of the float model is vtac quantize, then compile, on either target."""
    model = file_of("words_fp32")
    cases = cases_of("words_fp32")
    numpy.savez("calib.npz", *[numpy.load(path) for path, _ in cases])
    run("quantize", model, "--calib", "calib.npz", "-o", "q.onnx")
    run("compile", model, "--target", "vta", "--calib", "calib.npz", "-o", "fly.so")
    for (path, _), answer in zip(cases, outputs_of("q.onnx", [path for path, _ in cases])):
        run("run", "fly.so", "--input", path, "--output-dir", ".")
        assert numpy.array_equal(numpy.load(onnx.load(model).graph.output[0].name + ".npy"), answer), path
    print("quantized on the fly: the same numbers")


def check_scales(noise):
    """Weights have a scale a channel unless --per-tensor asks for one, which leaves more noise where channels differ."""
    quiet = ["--force", "--max-loss", "0", "--json", "-o", "q.onnx"]
    uneven_model("uneven.onnx", 1)
    snr = [json.loads(run("quantize", "uneven.onnx", "--calib", "uneven.npy", *way, *quiet))["output_snr_db"] for way in ([], ["--per-tensor"])]
    print(f"uneven channels: {snr[0]:.1f} dB with a scale a channel, {snr[1]:.1f} dB with one scale")
    assert snr[0] > snr[1] + 2
    for model in {"mobilenetv2-12_dequant_fp32", "squeezenet1.1_fp32_from_fp16"} & set(noise):
        numpy.savez("calib.npz", *[numpy.load(path) for path, _ in cases_of(model)])
        said = json.loads(run("quantize", file_of(model), "--calib", "calib.npz", "--per-tensor", *quiet))
        print(f"{model}: {noise[model]:.1f} dB with a scale a channel, {said['output_snr_db']:.1f} dB with one scale")
        assert noise[model] > said["output_snr_db"] + 2
    made = []
    for options in ([], ["--per-channel"], ["--per-tensor"]):
        run("quantize", file_of("words_fp32"), *options, "-o", "q.onnx")
        with open("q.onnx", "rb") as file:
            made.append(file.read())
    assert made[0] == made[1] != made[2]


def uneven_model(path, seed):
    """Convolutions whose channels have weights of very different sizes, as folded BatchNormalization leaves them; the whole
    computes what even ones would."""
    random = numpy.random.default_rng(seed)
    uneven = numpy.exp2(random.uniform(-5, 5, (2, 8))).astype(numpy.float32)
    weights = [random.normal(0, 0.3, shape).astype(numpy.float32) for shape in ((8, 3, 3, 3), (8, 1, 3, 3), (8, 8, 1, 1))]
    biases = [random.normal(0, 0.1, 8).astype(numpy.float32) for _ in weights]
    for i, factor in enumerate(uneven):
        weights[i] *= factor.reshape(8, 1, 1, 1)
        biases[i] *= factor
    weights[1] /= uneven[0].reshape(8, 1, 1, 1)
    weights[2] /= uneven[1].reshape(1, 8, 1, 1)
    constants = [onnx.numpy_helper.from_array(a, f"{kind}{i}") for kind, many in (("w", weights), ("b", biases)) for i, a in enumerate(many)]
    nodes = []
    for i, (group, pad) in enumerate(((1, 1), (8, 1), (1, 0))):
        nodes.append(onnx.helper.make_node("Conv", [f"x{i}", f"w{i}", f"b{i}"], [f"c{i}"], group=group, pads=[pad] * 4))
        nodes.append(onnx.helper.make_node("Relu", [f"c{i}"], [f"x{i + 1}"]))
    shape = [1, 3, 12, 12], [1, 8, 12, 12]
    values = [onnx.helper.make_tensor_value_info(name, 1, dims) for name, dims in zip(("x0", "x3"), shape)]
    graph = onnx.helper.make_graph(nodes, "uneven", values[:1], values[1:], constants)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=7), path)
    numpy.save("uneven.npy", random.normal(0, 1, (4, 3, 12, 12)).astype(numpy.float32))
    numpy.save("one.npy", random.normal(0, 1, (1, 3, 12, 12)).astype(numpy.float32))


def check_equalization(seed):
    """Evening out the weights changes nothing of what a float model computes, and leaves one scale a tensor with far less noise."""
    uneven_model("uneven.onnx", seed)
    reference = outputs_of("uneven.onnx", ["one.npy"])[0]
    noise = []
    for options in ([], ["--equalize"]):
        run("quantize", "uneven.onnx", "--per-tensor", "--force", "--max-loss", "0", "--calib", "uneven.npy", *options, "-o", "q.onnx")
        noise.append(float(numpy.linalg.norm(outputs_of("q.onnx", ["one.npy"])[0] - reference) / numpy.linalg.norm(reference)))
    print(f"seed {seed}: relative error {noise[0]:.4f} as it is, {noise[1]:.4f} equalized")
    assert noise[1] < 0.05 and noise[1] < noise[0] / 3


def check_decisions(seed):
    """Each place of a map decides among its channels; a map of one channel decides nothing."""
    uneven_model("map.onnx", seed)
    told = json.loads(run("quantize", "map.onnx", "--per-tensor", "--force", "--max-loss", "0", "--calib", "uneven.npy", "--json", "-o", "q.onnx"))
    samples = [f"{i}.npy" for i in range(4)]
    for path, sample in zip(samples, numpy.load("uneven.npy"), strict=True):
        numpy.save(path, sample[None])
    answers = [[out.reshape(8, 144).argmax(axis=0) for out in outputs_of(path, samples)] for path in ("map.onnx", "q.onnx")]
    agreed = int((numpy.array(answers[0]) == numpy.array(answers[1])).sum())
    print(f"seed {seed}: {agreed} of 576 places, {told['agreed']} of {told['decisions']} told")
    assert told["decisions"] == 576 and told["agreed"] == agreed
    model = onnx.load("map.onnx")
    model.graph.node.append(onnx.helper.make_node("ReduceMax", ["x3"], ["mask"], axes=[1]))
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("mask", 1, [1, 1, 12, 12]))
    onnx.save(model, "mask.onnx")
    assert "decisions" not in run("quantize", "mask.onnx", "--force", "--max-loss", "0", "--calib", "uneven.npy", "-o", "q.onnx")
    assert json.loads(run("quantize", "mask.onnx", "--force", "--max-loss", "0", "--calib", "uneven.npy", "--json", "-o", "q.onnx"))["decisions"] == 0


def check_normalization(seed):
    """The mean of a normalization that is written in parts stays float; a mean that a product reads is quantized."""
    random = numpy.random.default_rng(seed)
    weights = [onnx.numpy_helper.from_array(random.normal(0, 0.3, (16, 16)).astype(numpy.float32), f"w{i}") for i in (0, 1)]
    numbers = [onnx.numpy_helper.from_array(numpy.float32(value), name) for value, name in ((2, "two"), (1e-5, "least"))]
    make = onnx.helper.make_node
    parts = [make("MatMul", ["x", "w0"], ["a"]), make("ReduceMean", ["a"], ["m"], axes=[-1]), make("Sub", ["a", "m"], ["d"]), make("Pow", ["d", "two"], ["s"]),
             make("ReduceMean", ["s"], ["v"], axes=[-1]), make("Add", ["v", "least"], ["e"]), make("Sqrt", ["e"], ["r"]), make("Div", ["d", "r"], ["n"]),
             make("MatMul", ["n", "w1"], ["y"])]
    mean = [make("MatMul", ["x", "w0"], ["a"]), make("ReduceMean", ["a"], ["n"], axes=[1]), make("MatMul", ["n", "w1"], ["y"])]
    numpy.save("rows.npy", random.normal(0, 1, (4, 6, 16)).astype(numpy.float32))
    for nodes, rows, means in ((parts, 6, 0), (mean, 1, 1)):
        ends = [onnx.helper.make_tensor_value_info(name, 1, [1, count, 16]) for name, count in (("x", 6), ("y", rows))]
        graph = onnx.helper.make_graph(nodes, "rows", ends[:1], ends[1:], weights + numbers)
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=7), "rows.onnx")
        told = json.loads(run("quantize", "rows.onnx", "--calib", "rows.npy", "--report", "--json", "-o", "q.onnx"))
        assert sum("Mean" in layer["op"] for layer in told["layers"]) == means, f"{told['layers']}"
        assert told["output_snr_db"] > 30


# A chain of layers: kind, channels of the output, kernel, stride, pads, groups (0: depthwise), dilation, whether it has a bias. The
# kinds: a convolution, a transposed one, and a product of matrices after the mean over each plane.
CHAINS = (
    ((8, 8, 4), (("conv", 60, 3, 1, 1, 1, 1, True), ("conv", 60, 3, 2, 1, 0, 1, True), ("conv", 44, 1, 1, 0, 1, 1, False),
                 ("conv", 20, 3, 1, 1, 4, 1, True), ("transposed", 12, 4, 2, 1, 1, 1, True), ("dense", 10, 1, 1, 0, 1, 1, True))),
    ((11, 9, 3), (("conv", 7, 5, 1, 2, 1, 1, False), ("conv", 60, 3, 1, 2, 1, 2, True), ("conv", 60, 5, 1, 2, 0, 1, False),
                  ("transposed", 9, 3, 3, 0, 1, 1, False), ("conv", 13, 3, 2, 0, 1, 1, True), ("dense", 5, 1, 1, 0, 1, 1, False))),
)


def columns(x, kernel, stride, pad, dilation):
    """[n, c, taps, places]: what each output of a convolution sees."""
    n, c, height, width = x.shape
    wide = numpy.zeros((n, c, height + 2 * pad, width + 2 * pad))
    wide[:, :, pad:pad + height, pad:pad + width] = x
    rows, cols = ((size + 2 * pad - (kernel - 1) * dilation - 1) // stride + 1 for size in (height, width))
    taps = [wide[:, :, y * dilation:y * dilation + (rows - 1) * stride + 1:stride, z * dilation:z * dilation + (cols - 1) * stride + 1:stride]
            for y in range(kernel) for z in range(kernel)]
    return numpy.stack([tap.reshape(n, c, -1) for tap in taps], 2), (rows, cols)


def compute(layer, x, w, b):
    """A layer as its formula says, in doubles."""
    kind, _, kernel, stride, pad, group, dilation, _ = layer
    if kind == "dense":
        return x @ w + b
    if kind == "transposed":  # a convolution, its weights turned about, of inputs that stand apart
        apart = numpy.zeros((*x.shape[:2], (x.shape[2] - 1) * stride + 1, (x.shape[3] - 1) * stride + 1))
        apart[:, :, ::stride, ::stride] = x
        x, w, stride, pad = apart, w[:, :, ::-1, ::-1].swapaxes(0, 1), 1, kernel - 1 - pad
    group = group or x.shape[1]
    seen, places = columns(x, kernel, stride, pad, dilation)
    seen = seen.reshape(x.shape[0], group, -1, seen.shape[3])
    sums = numpy.einsum("ngkp,gok->ngop", seen, w.reshape(group, w.shape[0] // group, -1))
    return sums.reshape(x.shape[0], -1, *places) + b.reshape(-1, 1, 1)


def chain_model(path, chain, random):
    """The chain as a model, and for each layer the floats that it is made of."""
    make, layers, constants, nodes, channels, value = onnx.helper.make_node, [], [], [], 3, "x"
    for i, layer in enumerate(chain):
        kind, outputs, kernel, stride, pad, group, dilation, biased = layer
        each = 1 if group == 0 else channels // group
        shape = {"conv": (outputs, each, kernel, kernel), "transposed": (channels, outputs, kernel, kernel), "dense": (channels, outputs)}[kind]
        w = random.normal(0, numpy.sqrt(2 / (each * kernel * kernel)), shape).astype(numpy.float32)
        b = random.normal(0, 0.2, outputs).astype(numpy.float32)
        constants += [onnx.numpy_helper.from_array(a, f"{name}{i}") for name, a in (("w", w), ("b", b)) if name == "w" or biased]
        inputs = [value, f"w{i}"] + [f"b{i}"] * biased
        how = {"group": group or channels, "dilations": [dilation] * 2, "strides": [stride] * 2, "pads": [pad] * 4}
        if kind == "dense":
            nodes += [make("GlobalAveragePool", [value], ["mean"]), make("Flatten", ["mean"], ["flat"])]
            nodes.append(make("Gemm", ["flat", *inputs[1:]], ["y"]))
        else:
            nodes += [make("Conv" if kind == "conv" else "ConvTranspose", inputs, [f"c{i}"], **how), make("Relu", [f"c{i}"], [f"r{i}"])]
        layers.append((layer, w.astype(float), b.astype(float) * biased))
        channels, value = outputs, f"r{i}"
    return layers, nodes, constants


def stored_layers(path):
    """Weights and biases of the products in a quantized model, as the floats that its integers stand for."""
    graph = onnx.load(path).graph
    arrays = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}
    makers = {name: node for node in graph.node for name in node.output}
    found = []
    for node in graph.node:
        if node.op_type not in ("Conv", "ConvTranspose", "Gemm", "MatMul"):
            continue
        real = []
        for name in node.input[1:3]:
            read = makers[name]
            axis = next((a.i for a in read.attribute if a.name == "axis"), 1)
            values, scale = arrays[read.input[0]].astype(float), arrays[read.input[1]].astype(float)
            shape = [-1 if k == axis % values.ndim else 1 for k in range(values.ndim)]
            real.append(values * (scale.reshape(shape) if scale.ndim else scale))
        if any(a.name == "transB" and a.i for a in node.attribute):
            real[0] = real[0].T
        found.append((real[0], real[1].ravel() if len(real) > 1 else numpy.zeros(1)))
    return found


def check_rounding(seed):
    """--tune-rounding: what rounding weights and biases adds to the outputs of a layer, on the inputs that the model of floats gives
    it, is no more than with rounding to the nearest in any layer and less in all. The reference is the layers' formulas, in numpy.
    It would fail if weights were turned by anything else than the error of the outputs: the wrong group, tap, pad or mean."""
    random = numpy.random.default_rng(seed)
    (height, width, count), chain = CHAINS[seed % len(CHAINS)]
    layers, nodes, constants = chain_model("chain.onnx", chain, random)
    noise = random.normal(0, 1, (count, 3, height + 2, width + 2))
    x = sum(noise[:, :, i:i + height, k:k + width] for i in range(3) for k in range(3)) / 3 + random.uniform(-1, 1, (1, 3, 1, 1))
    numpy.save("chain.npy", x.astype(numpy.float32))
    values = [onnx.helper.make_tensor_value_info(name, 1, dims) for name, dims in (("x", [1, 3, height, width]), ("y", [1, chain[-1][1]]))]
    graph = onnx.helper.make_graph(nodes, "chain", values[:1], values[1:], constants)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=7), "chain.onnx")
    inputs = []
    for layer, w, b in layers:
        x = x.mean((2, 3)) if layer[0] == "dense" else x
        inputs.append(x)
        x = numpy.maximum(compute(layer, x, w, b), 0)
    for options in ([], (["--per-tensor", "--unsigned"], ["--no-bias-correction"])[seed % 2]):
        errors = []
        for tuned in ([], ["--tune-rounding"]):
            told = json.loads(run("quantize", "chain.onnx", "--calib", "chain.npy", *options, *tuned, "--report", "--json", "-o", "q.onnx"))
            stored = stored_layers("q.onnx")
            assert len(stored) == len(layers) and told.get("tuned", 0) == (len(layers) if tuned else 0)
            off = [compute(layer, x, sw, sb) - compute(layer, x, w, b) for (layer, w, b), x, (sw, sb) in zip(layers, inputs, stored)]
            errors.append([float(numpy.sqrt((o ** 2).mean())) for o in off])
        said = sum("rounding_after" in layer for layer in told["layers"])
        left = sum((after / before) ** 2 for before, after in zip(*errors)) / len(layers)
        text = ", ".join(f"{before:.3g} {after:.3g}" for before, after in zip(*errors))
        print(f"seed {seed} {' '.join(options)}: errors to the nearest and tuned: {text}; {left:.3f} left, {told['rounding_left']:.3f} told")
        assert all(after <= 1.02 * before for before, after in zip(*errors)), "a layer is worse"
        assert sum(a * a for a in errors[1]) < 0.8 * sum(a * a for a in errors[0])
        close = (0.01, 0.1)[seed % 2]  # the columns of an even seed are few enough for the tool to look at all of them
        assert left < 0.8 and abs(told["rounding_left"] - left) < close, f"{left} is left, {told['rounding_left']} is told"
        assert said == len(layers)
    with open("q.onnx", "rb") as file:
        made = file.read()
    for threads in ("1", "3"):
        done = subprocess.run([VTAC, "quantize", "chain.onnx", "--calib", "chain.npy", *options, "--tune-rounding", "-o", "again.onnx"],
                              capture_output=True, text=True, env={**os.environ, "VTAC_THREADS": threads})
        with open("again.onnx", "rb") as file:
            assert done.returncode == 0 and file.read() == made, f"{threads} threads: {done.stderr}"


def check_report():
    """The report's layers come worst first, and what it says of the outputs is what running the model gives."""
    cases = cases_of("words_fp32")
    report = json.loads(run("quantize", file_of("words_fp32"), "--calib", "calib.npz", "--report", "--json", "-o", "q.onnx"))
    noise = [layer["snr_db"] for layer in report["layers"]]
    off = worst(outputs_of("q.onnx", [path for path, _ in cases]), [out for _, out in cases])
    assert noise == sorted(noise) and len(noise) > 5 and min(noise) > 10
    assert report["samples"] == len(cases) and report["agreed"] == report["decisions"] == len(cases)
    assert abs(report["output_error"] - off) <= 0.1 * off, f"{report['output_error']} is said, {off} is"
    print(f"report: worst layer {noise[0]:.1f} dB, output error {report['output_error']:.3g} said, {off:.3g} measured")


VTAC, OWN, SHARED = (os.path.abspath(path) for path in (VTAC, OWN, SHARED))
CASES = OWN_CASES + (SHARED_CASES if os.path.isdir(f"{SHARED}/golden") else ())
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    noise_of = {case[0]: check(*case) for case in CASES}
    for method in METHODS:
        check(*OWN_CASES[2][:3], ["--per-channel", "--method", method])
        check("image_fp32", "", 0.1, ["--method", method])
    check_made_up(CASES)
    check_refusals()
    check_calibration_forms()
    check_on_the_fly()
    check_report()
    check_equalization(1)
    check_equalization(2)
    check_decisions(1)
    check_normalization(1)
    check_rounding(1)
    check_rounding(2)
    check_scales(noise_of)
