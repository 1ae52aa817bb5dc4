#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Operators that have no 8-bit form as they stand, between two convolutions: transposed convolutions of volumes and signals, normalizations over
# the channels of each place and by the responses of all channels, inputs normalized by channel, mean places under maps, sums and products at the end, networks of half floats, maxima, minima and sums
# of several, interpolation whose places do not repeat, softmax of two, products whose scales the run finds. Each network is one region with nearly all of the work, and the accelerator's answers are those of floats, twice with other
# data; choices, differences and borders also on the RTL. Fails when a slice, a tap or a bias goes to another place, and when a form that does not fit is taken. One step aside: taps that
# overlap in depth, transposed convolutions in groups and maxima of other shapes stay float, and `explain` says why.
#
# usage: quantize_split.py VTAC [forms]   (exit status 77: python3-onnx is not installed)
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import word_seed  # noqa: E402

try:
    import numpy
    import onnx
    import onnx.helper
    import onnx.numpy_helper
except ImportError:
    print("python3-onnx is not installed")
    sys.exit(77)

VTAC = os.path.abspath(sys.argv[1])
make = onnx.helper.make_node


def run(*words):
    done = subprocess.run([VTAC, *words], capture_output=True, text=True)
    assert done.returncode == 0, f"vtac {' '.join(words)}: {done.returncode}: {done.stderr}"
    return done.stdout


def save(nodes, constants, shape, rank, integers={}):
    info = onnx.helper.make_tensor_value_info
    tensors = [onnx.numpy_helper.from_array(numpy.asarray(value, numpy.int8), name) for name, value in integers.items()]
    tensors += [onnx.numpy_helper.from_array(numpy.asarray(value, numpy.float32), name) for name, value in constants.items()]
    graph = onnx.helper.make_graph(nodes, "net", [info("x", 1, shape)], [info("y", 1, [None] * rank)], tensors)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=7), "net.onnx")


def conv(constants, random, name, x, y, channels, spatial, kernel=3):
    """A convolution with a Relu behind it."""
    outputs, inputs = channels
    scale = numpy.sqrt(2 / (inputs * kernel ** spatial))
    constants[name + "w"] = random.normal(0, scale, (outputs, inputs) + (kernel,) * spatial)
    constants[name + "b"] = random.normal(0, 0.1, outputs)
    pads = [kernel // 2] * (2 * spatial)
    return [make("Conv", [x, name + "w", name + "b"], [name + "s"], name, pads=pads), make("Relu", [name + "s"], [y])]


def volumes(random, depth, biased, **how):
    """Up again by a transposed convolution."""
    constants = {"tw": random.normal(0, 0.2, (16, 8, depth) + tuple(how.pop("plane"))), "tb": random.normal(0, 0.2, 8)}
    nodes = conv(constants, random, "a", "x", "r", (16, 3), 3)
    nodes.append(make("ConvTranspose", ["r", "tw", "tb"][:3 if biased else 2], ["t"], "up", **how))
    nodes += conv(constants, random, "b", "t", "u", (8, 8), 3) + conv(constants, random, "c", "u", "v", (4, 8), 3, 1)[:1]
    nodes[-1].output[0] = "y"
    save(nodes, constants, [1, 3, 3, 6, 5], 5)
    return [1, 3, 3, 6, 5]


def signals(random, groups, **how):
    """A signal up again by windows that overlap."""
    constants = {"tw": random.normal(0, 0.2, (16, 8 // groups, 5)), "tb": random.normal(0, 0.2, 8)}
    nodes = conv(constants, random, "a", "x", "r", (16, 3), 1)
    nodes.append(make("ConvTranspose", ["r", "tw", "tb"], ["t"], "up", group=groups, **how))
    nodes += conv(constants, random, "b", "t", "u", (4, 8), 1)[:1]
    nodes[-1].output[0] = "y"
    save(nodes, constants, [1, 3, 40], 3)
    return [1, 3, 40]


def channel_norm(random, axes, swapped):
    """A normalization over axes of an image, in its parts, as ConvNeXt has it in front of planes."""
    shape = {"[1]": (24, 1, 1), "[2]": (10, 1)}[str(axes)]
    constants = {"two": 2.0, "eps": 1e-6, "g": random.uniform(0.5, 1.5, shape), "o": random.normal(0, 0.3, shape), "zw": random.normal(0, 0.2, (8, 24, 3, 3))}
    nodes = conv(constants, random, "a", "x", "r", (24, 3), 2)
    nodes += [make("ReduceMean", ["r"], ["m"], axes=axes), make("Sub", ["r", "m"], ["c"]), make("Pow", ["c", "two"], ["q"]),
              make("ReduceMean", ["q"], ["v"], axes=axes), make("Add", ["v", "eps"], ["e"]), make("Sqrt", ["e"], ["s"]), make("Div", ["c", "s"], ["n"]),
              make("Mul", ["g", "n"] if swapped else ["n", "g"], ["h"]), make("Add", ["h", "o"], ["k"]), make("Conv", ["k", "zw"], ["y"], "z")]
    save(nodes, constants, [1, 3, 10, 9], 4)
    return [1, 3, 10, 9]


def normalized(random, rank, op, along):
    """A picture that is normalized by channel, as detectors of torchvision do it, in front of a convolution with padding."""
    shape = [3, 12, 11] if rank == 3 else [1, 3, 12, 11]
    columns = (3, 1, 1) if along == "channels" else (11,)
    constants = {"mean": random.uniform(-1, 1, columns), "part": random.uniform(0.5, 2, columns), "zw": random.normal(0, 0.2, (4, 16, 3, 3))}
    nodes = [make("Sub", ["x", "mean"] if op == "Div" else ["mean", "x"], ["s"], "mean"), make(op, ["s", "part"], ["n"], "scale"),
             make("Constant", [], ["shape"], value_ints=[1, 3, 12, 11]), make("Reshape", ["n", "shape"], ["i"])]
    nodes += conv(constants, random, "a", "i", "r", (16, 3), 2) + [make("Conv", ["r", "zw"], ["y"], "z", pads=[1] * 4)]
    save(nodes, constants, shape, 4)
    return shape


def responses(random, axes, add):
    """Global response normalization of ConvNeXt V2."""
    constants = {"eps": 1e-6, "g": random.uniform(0.5, 1.5, (1, 24, 1, 1)), "zw": random.normal(0, 0.2, (8, 24, 1, 1))}
    nodes = conv(constants, random, "a", "x", "r", (24, 3), 2)
    nodes += [make("ReduceL2", ["r"], ["l"], axes=axes), make("ReduceMean", ["l"], ["m"], axes=[1]), make("Add", ["m", "eps"], ["e"]),
              make("Div", ["l", "e" if add else "m"], ["n"]), make("Mul", ["r", "n"], ["q"]), make("Mul", ["g", "q"], ["h"]), make("Add", ["h", "r"], ["k"]),
              make("Conv", ["k", "zw"], ["y"], "z")]
    save(nodes, constants, [1, 3, 12, 11], 4)
    return [1, 3, 12, 11]


def mean_places(random, count, by_map):
    """The mean place of each of four maps under a softmax, down and across, and once more by squares."""
    rows, columns = 10, 9
    constants = {"p0": numpy.linspace(0, 1, rows), "p1": numpy.linspace(-1, 1, columns), "p2": numpy.linspace(0, 1, columns) ** 2}
    constants.update({"p0": random.uniform(0, 1, (4, 1))} if by_map else {})
    nodes = conv(constants, random, "a", "x", "r", (32, 3), 2) + conv(constants, random, "b", "r", "s", (32, 32), 2) + conv(constants, random, "c", "s", "t", (4, 32), 2, 1)[:1]
    nodes += [make("Constant", [], ["flat"], value_ints=[1, 4, -1]), make("Constant", [], ["map"], value_ints=[1, 4, rows, columns]),
              make("Constant", [], ["behind"], value_ints=[-1]), make("Constant", [], ["rows"], value_ints=[2]), make("Constant", [], ["columns"], value_ints=[-1]),
              make("Reshape", ["cs", "flat"], ["f"]), make("Softmax", ["f"], ["e"], axis=2), make("Reshape", ["e", "map"], ["h"])]
    for i in range(count):
        nodes += [make("ReduceSum", ["h", "columns" if i == 0 else "rows"], [f"u{i}"], keepdims=0), make("Mul", [f"u{i}", f"p{i}"], [f"v{i}"]),
                  make("ReduceSum", [f"v{i}", "columns"], [f"w{i}"], keepdims=0), make("Unsqueeze", [f"w{i}", "behind"], [f"z{i}"])]
    nodes.append(make("Concat", [f"z{i}" for i in range(count)], ["y"], axis=-1))
    save(nodes, constants, [1, 3, rows, columns], 3)
    return [1, 3, rows, columns]


def ended(random, power):
    """A curve for each pixel at the end; with a power its range spans what 8 bits do not."""
    constants = {"p": 1.0 * power}
    nodes = conv(constants, random, "a", "x", "r", (16, 3), 2) + conv(constants, random, "b", "r", "s", (3, 16), 2)[:1]
    nodes += [make("Tanh", ["bs"], ["t"]), make("Mul", ["t", "x"], ["m"], "curve")]
    nodes += [make("Add", ["m", "x"], ["y"], "end")] if power == 1 else [make("Exp", ["m"], ["e"]), make("Pow", ["e", "p"], ["q"]), make("Mul", ["q", "x"], ["y"], "end")]
    save(nodes, constants, [1, 3, 12, 11], 4)
    return [1, 3, 12, 11]


def enlarged(random, factor, kept):
    """The answer is a sum of what convolutions make and the picture, both made larger."""
    constants = {"scales": [1, 1, factor, factor]}
    nodes = conv(constants, random, "a", "x", "r", (16, 3), 2) + conv(constants, random, "b", "r", "s", (3 * factor * factor, 16), 2)[:1]
    nodes += [make("DepthToSpace", ["bs"], ["d"], blocksize=factor), make("Resize", ["x", "", "scales"], ["l"], mode="linear"),
              make("Add", ["l", "d"], ["y"] if not kept else ["t"], "sum")]
    nodes += [make("Tanh", ["t"], ["y"])] if kept else []
    save(nodes, constants, [1, 3, 9, 8], 4)
    return [1, 3, 9, 8]


def bordered(random, mode):
    """A border that repeats or mirrors the edge, in front of a convolution of two branches' difference."""
    constants = {"zw": random.normal(0, 0.2, (8, 16, 3, 3))}
    nodes = conv(constants, random, "a", "x", "r", (16, 3), 2) + conv(constants, random, "b", "r", "s", (16, 16), 2)
    nodes += [make("Sub", ["r", "s"], ["d"], "difference"), make("Constant", [], ["pads"], value_ints=[0, 0, 1, 2, 0, 0, 2, 1]),
              make("Pad", ["d", "pads"], ["p"], "border", mode=mode), make("Conv", ["p", "zw"], ["y"], "z")]
    save(nodes, constants, [1, 3, 9, 8], 4)
    return [1, 3, 9, 8]


def resized(random, sizes, **how):
    """Interpolation between two convolutions, to sizes that are no whole multiple."""
    constants = {"zw": random.normal(0, 0.2, (8, 20, 3, 3))}
    nodes = conv(constants, random, "a", "x", "r", (20, 3), 2)
    nodes += [make("Constant", [], ["to"], value_ints=[1, 20] + sizes), make("Resize", ["r", "", "", "to"], ["u"], "resize", **how),
              make("Conv", ["u", "zw"], ["y"], "z")]
    save(nodes, constants, [1, 3, 9, 8], 4)
    return [1, 3, 9, 8]


def shared_out(random, axis):
    """A softmax over two branches, or over two channels, weighs them, as in SKNet."""
    constants = {"zw": random.normal(0, 0.2, (8, 16, 1, 1))}
    nodes = conv(constants, random, "a", "x", "r", (16, 3), 2) + conv(constants, random, "b", "r", "s", (16, 16), 2)
    nodes += [make("GlobalAveragePool", ["r"], ["p"]), make("GlobalAveragePool", ["s"], ["q"]),
              make("Concat", ["p", "q"], ["both"], axis=axis), make("Softmax", ["both"], ["share"], "shares", axis=axis),
              make("Split", ["share"], ["f", "g"], axis=axis), make("Mul", ["r", "f"], ["rf"]), make("Mul", ["s", "g"], ["sg"]),
              make("Add", ["rf", "sg"], ["m"]), make("Conv", ["m", "zw"], ["y"], "z")]
    save(nodes, constants, [1, 3, 12, 11], 4)
    return [1, 3, 12, 11]


def dynamic(random, by_channel):
    """Products whose scales the run finds, as quantizing without inputs writes them."""
    constants, integers, nodes, x = {}, {}, [], "x"
    for name, shape in (("a", (16, 3, 3, 3)), ("b", (12, 16, 3, 3)), ("c", (12, 7))):
        zeros = shape[0 if len(shape) == 4 else 1] if by_channel else 1
        integers.update({name + "w": random.integers(-127, 128, shape), name + "z": numpy.zeros(zeros if by_channel else (), int)})
        constants[name + "s"] = random.uniform(0.004, 0.008, (zeros,) + (1,) * (2 if len(shape) == 4 else 0)) if by_channel else 0.006
        nodes += [make("DynamicQuantizeLinear", [x], [name + part for part in ("q", "f", "o")]),
                  make("ConvInteger" if len(shape) == 4 else "MatMulInteger", [name + "q", name + "w", name + "o", name + "z"], [name + "i"],
                       **({"pads": [1] * 4} if len(shape) == 4 else {})),
                  make("Cast", [name + "i"], [name + "c"], to=1)]
        if by_channel:  # one factor after the other
            nodes += [make("Mul", [name + "c", name + "f"], [name + "m"]), make("Mul", [name + "m", name + "s"], [name + "y"])]
        else:
            nodes += [make("Mul", [name + "f", name + "s"], [name + "m"]), make("Mul", [name + "c", name + "m"], [name + "y"])]
        x = name + "y"
        if name == "b":
            nodes += [make("GlobalAveragePool", [x], ["mean"]), make("Flatten", ["mean"], ["flat"])]
            x = "flat"
        elif name == "a":
            nodes.append(make("Relu", [x], ["ar"]))
            x = "ar"
    nodes[-1].output[0] = "y"
    save(nodes, constants, [1, 3, 10, 9], 2, integers)
    return [1, 3, 10, 9]


def several(random, op, count):
    """An operator on as many branches."""
    constants = {}
    nodes = conv(constants, random, "a", "x", "r", (16, 3), 2)
    for i in range(count):
        nodes += conv(constants, random, f"n{i}", "r", f"r{i}", (16, 16), 2)
    nodes += [make(op, [f"r{i}" for i in range(count)], ["m"], "several"), make("Conv", ["m", "zw"], ["y"], "z")]
    constants["zw"] = random.normal(0, 0.2, (8, 16, 1, 1))
    save(nodes, constants, [1, 3, 12, 11], 4)
    return [1, 3, 12, 11]


def halve():
    """The network of half floats, as exporters of 16 bits write it."""
    model = onnx.load("net.onnx")
    for tensor in model.graph.initializer:
        if tensor.data_type == 1:
            tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor).astype(numpy.float16), tensor.name))
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = 10
    onnx.save(model, "net.onnx")


def answer(library, x, *words):
    numpy.save("in.npy", x)
    run("run", library, "--input", "in.npy", "--output-dir", "out", *words)
    return numpy.load("out/y.npy").astype(float)


def draw(random, shape):
    return random.normal(0, 1, shape).astype(numpy.float32)


def check(name, random, shape, whole, device="fsim", config="pynq", kind=numpy.float32):
    numpy.save("calib.npy", numpy.concatenate([draw(random, shape).astype(kind) for _ in range(12)]))
    run("compile", "net.onnx", "-o", "host.so")
    told = json.loads(run("compile", "net.onnx", "--target", "vta", "--config", config, "--calib", "calib.npy", "--offload", "all", "--report", "--json", "-o", "vta.so"))
    check.left = [x["op"] for x in told["left"] if x["share"] > 0]
    errors = []
    for _ in range(2):
        x = draw(random, shape).astype(kind)
        real, got = answer("host.so", x), answer("vta.so", x, "--device", "fsim")
        assert device == "fsim" or numpy.array_equal(got, answer("vta.so", x, "--device", device)), f"{device} has other numbers"
        assert real.shape == got.shape
        errors.append(float(numpy.abs(real - got).mean() / numpy.ptp(real)))
    print(f"{name}: {told['regions']} regions, {100 * told['share']:.1f} % of the work, off by {100 * max(errors):.2f} %")
    assert max(errors) < 0.02 and whole in (None, told["regions"] == 1 and told["share"] >= 0.98)


def check_forms(seed):
    for form, sizes, how in (("aligned", [17, 21], {"mode": "linear", "coordinate_transformation_mode": "align_corners"}),
                             ("smaller", [5, 13], {"mode": "linear"}), ("cubic", [18, 16], {"mode": "cubic", "cubic_coeff_a": -0.5})):
        draws = numpy.random.default_rng([seed, len(form), 1])
        check(f"resize {form}", draws, resized(draws, sizes, **how), True)
    for axis in (2, 3):
        draws = numpy.random.default_rng([seed, axis, 2])
        check(f"softmax of two, axis {axis}", draws, shared_out(draws, axis), True)
    for groups, how in ((1, {"strides": [2], "pads": [1, 2], "output_padding": [1]}), (1, {"strides": [3], "dilations": [2]}), (2, {"strides": [2]})):
        draws = numpy.random.default_rng([seed, groups, 4])
        check(f"signal, {groups} groups, {how}", draws, signals(draws, groups, **how), groups == 1)
    for axes, swapped in (([1], False), ([1], True), ([2], False)):
        draws = numpy.random.default_rng([seed, swapped, 5])
        check(f"normalization over axis {axes}", draws, channel_norm(draws, axes, swapped), axes == [1], config="pynq_lm")
    for factor, kept in ((2, False), (4, False), (2, True)):
        draws = numpy.random.default_rng([seed, factor, 6])
        check(f"{factor} times larger{', a Tanh behind' if kept else ''}", draws, enlarged(draws, factor, kept), True)
    for rank, op, along in ((3, "Div", "channels"), (4, "Mul", "channels"), (3, "Div", "columns")):
        draws = numpy.random.default_rng([seed, rank, 7])
        check(f"input normalized by {along}, rank {rank}", draws, normalized(draws, rank, op, along), along == "channels")
    for axes, add in (([2, 3], True), ([-1, -2], False), ([3], True)):
        draws = numpy.random.default_rng([seed, len(axes), 8])
        check(f"responses over {axes}", draws, responses(draws, axes, add), len(axes) == 2)
    for count, by_map in ((2, False), (3, False), (2, True)):
        draws = numpy.random.default_rng([seed, count, 9])
        check(f"{count} mean places{', weights of maps' if by_map else ''}", draws, mean_places(draws, count, by_map), None, config="pynq_lm")
        assert ("ReduceSum" in check.left) == by_map and ("MatMul" in check.left) != by_map and "Softmax" not in check.left
    for power in (1, 9):
        draws = numpy.random.default_rng([seed, power, 10])
        check(f"a curve at the end, power {power}", draws, ended(draws, power), None)
        assert ("Mul" in check.left) == (power > 1)
    for op, count in (("Max", 3), ("Sum", 2)):
        draws = numpy.random.default_rng([seed, count, 11])
        shape = several(draws, op, count)
        halve()
        check(f"half floats, {op}", draws, shape, True, kind=numpy.float16)
    for by_channel in (False, True):
        draws = numpy.random.default_rng([seed, by_channel, 3])
        check(f"scales of the run, {'by channel' if by_channel else 'one'}", draws, dynamic(draws, by_channel), True)


def check_parts(seed):
    for biased, depth, how in ((True, 2, {"plane": (2, 2), "strides": [2, 2, 2]}),
                               (False, 3, {"plane": (2, 4), "strides": [3, 1, 2], "pads": [0, 0, 1, 0, 1, 0], "output_padding": [0, 0, 1]})):
        draws = numpy.random.default_rng([seed, depth])
        check(f"transposed, {depth} taps in depth", draws, volumes(draws, depth, biased, **how), True)
    for kind, branches in (("Max", 3), ("Min", 4), ("Sum", 3)):
        draws = numpy.random.default_rng([seed, branches])
        check(f"{kind} of {branches}", draws, several(draws, kind, branches), True, "tsim")
    for kind in ("edge", "reflect"):
        draws = numpy.random.default_rng([seed, len(kind)])
        check(f"border {kind}", draws, bordered(draws, kind), True, "tsim")
    draws = numpy.random.default_rng([seed, 9])
    check("taps that overlap", draws, volumes(draws, 3, True, plane=(2, 2), strides=[2, 2, 2]), False)
    said = run("explain", "net.onnx", "--calib", "calib.npy", "--offload", "all")
    assert "taps in depth do not overlap" in said, said


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    (check_forms if sys.argv[2:] == ["forms"] else check_parts)(word_seed.told())
    os.chdir("/")
