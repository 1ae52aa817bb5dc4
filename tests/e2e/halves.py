#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# A model of halves on devices that run kernels, and on this processor: single operations are numpy's to the bit, sums of products are
# within a thousandth of the range, and all devices give the same bits. Weights that are halves stay halves on a GPU; a device that
# computes with halves as IEEE 754 says gets a program that does, and clang takes its text. Twice, with different data.
#
# usage: halves.py VTAC FOLDER OPENCL_STAND_IN CUDA_STAND_IN CC   (FOLDER keeps what the driver compiles; exit status 77: no driver, or
# no python3-onnx)
import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy

try:
    from onnx import TensorProto, helper, numpy_helper, save
except ImportError:
    print("no python3-onnx")
    sys.exit(77)

vtac, cache, opencl, cuda, cc = sys.argv[1:6]
here = os.path.dirname(os.path.abspath(__file__))
os.makedirs(cache, exist_ok=True)
cache = os.path.abspath(cache)
wrong = []
ROWS, INNER, COLUMNS, CHANNELS, OUTPUTS, SIDE = 32, 64, 48, 16, 32, 20
SHAPES = {"x": [ROWS, INNER], "y": [ROWS, INNER], "p": [1, CHANNELS, SIDE, SIDE]}


def run(*words, **changes):
    environment = dict(os.environ, POCL_CACHE_DIR=cache, VTAC_CACHE=os.devnull + "/none", **changes)
    done = subprocess.run([vtac, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    return done.returncode, done.stdout, done.stderr


def must(*words, **changes):
    status, out, err = run(*words, **changes)
    if status != 0:
        sys.exit("vtac %s: exit status %d: %s" % (" ".join(words), status, err))
    return out


def halves(draw, *shape):
    """Numbers of all sizes, small ones that only subnormal halves hold among them."""
    return (draw.standard_normal(shape) * numpy.exp2(draw.integers(-16, 3, shape))).astype(numpy.float16)


def write_model(draw):
    """Returns the dense layer's weights and the convolution's."""
    dense, taps = halves(draw, INNER, COLUMNS), halves(draw, OUTPUTS, CHANNELS, 3, 3)
    nodes = [helper.make_node(op, ["x", "y"], [op]) for op in ("Add", "Sub", "Mul")]
    nodes += [helper.make_node("MatMul", ["x", "dense"], ["MatMul"]), helper.make_node("Conv", ["p", "taps"], ["Conv"], pads=[1, 1, 1, 1])]
    shapes = {"Add": SHAPES["x"], "Sub": SHAPES["x"], "Mul": SHAPES["x"], "MatMul": [ROWS, COLUMNS], "Conv": [1, OUTPUTS, SIDE, SIDE]}
    values = [[helper.make_tensor_value_info(n, TensorProto.FLOAT16, s) for n, s in some.items()] for some in (SHAPES, shapes)]
    constants = [numpy_helper.from_array(dense, "dense"), numpy_helper.from_array(taps, "taps")]
    save(helper.make_model(helper.make_graph(nodes, "halves", *values, constants), opset_imports=[helper.make_opsetid("", 13)]), "m.onnx")
    return dense.astype(numpy.float64), taps.astype(numpy.float64)


def expected(given, dense, taps):
    """Outputs: halves where they are to be equal, else doubles."""
    x, y, p = given["x"], given["y"], numpy.pad(given["p"].astype(numpy.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    with numpy.errstate(over="ignore"):
        out = {"Add": x + y, "Sub": x - y, "Mul": x * y, "MatMul": x.astype(numpy.float64) @ dense}
    out["Conv"] = sum(numpy.einsum("oc,bchw->bohw", taps[:, :, i, j], p[:, :, i:i + SIDE, j:j + SIDE]) for i in range(3) for j in range(3))
    return out


def outputs_of(what, model, words, want, **changes):
    must("run", model, *words, "--output-dir", "got", **changes)
    got = {name[:-4]: numpy.load(os.path.join("got", name)) for name in sorted(os.listdir("got"))}
    shutil.rmtree("got")
    for name, array in want.items():
        far = numpy.abs(got[name].astype(numpy.float64) - array).max()
        if far > (0 if array.dtype == numpy.float16 else 1e-3 * numpy.abs(array).max()) or got[name].dtype != numpy.float16:
            wrong.append("%s: '%s' is %g off" % (what, name, far))
    return got


def check_texts():
    """Weights are halves in a GPU's kernels, and operations are in halves where that is the same."""
    with open("opencl:gpu/model.kernels", encoding="utf-8") as file:
        text = file.read()
    weights = re.findall(r"const (\w+) \*b\d+ = .*/\* (?:weights|packed) \*/", text)
    if weights != ["half", "half"] or not {"add", "sub", "mul"} <= set(re.findall(r"= vtac_half_([a-z]+)\d*\(", text)):
        wrong.append("weights are %s, operations %s" % (weights, set(re.findall(r"= vtac_half_[a-z]+", text))))
    with open("cuda/model.kernels", encoding="utf-8") as file:
        ptx = set(re.findall(r"\b(add|sub|mul)(?:\.rn)?\.f16\b", file.read()))
    if ptx != {"add", "sub", "mul"}:
        wrong.append("PTX computes with halves in %s alone" % ptx)
    if shutil.which("clang") is None:
        print("no clang: the text for a device with halves is not looked at")
        return
    done = subprocess.run(["clang", "-x", "cl", "-cl-std=CL1.2", "-target", "spir64-unknown-unknown", "-Xclang", "-finclude-default-header", "-Werror",
                           "-fsyntax-only", "-DVTAC_HAS_HALVES", "opencl:gpu/model.kernels"], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        wrong.append("clang refuses the text for a device with halves: %s" % done.stderr[:500])


def real_loader():
    ctypes.CDLL("libOpenCL.so.1")
    with open("/proc/self/maps", encoding="utf-8") as file:
        return next(line.split()[-1] for line in file if "libOpenCL.so" in line)


def check_round(draw):
    given = {name: halves(draw, *shape) for name, shape in SHAPES.items()}
    want = expected(given, *write_model(draw))
    words = []
    for name, array in given.items():
        numpy.save(name + ".npy", array)
        words += ["--input", "%s=%s.npy" % (name, name)]
    for target in ("opencl", "opencl:gpu", "cuda"):
        must("compile", "m.onnx", "--target", target, "--offload", "all", "-o", target + ".so", "--emit", "kernels:" + target)
    stand_in = {"LD_LIBRARY_PATH": opencl, "OPENCL_REAL": real_loader(), "OPENCL_STAND_IN": "halves", "OPENCL_STAND_IN_REPORT": "use.txt"}
    tools = {"LD_LIBRARY_PATH": cuda, "CUDA_STAND_IN_TOOLS": "sh %s/tools.sh" % os.getcwd()}
    rows = [(model, device, {}) for model in ("opencl.so", "opencl:gpu.so") for device in (None, "opencl:0")]
    rows += [("opencl:gpu.so", "opencl:0", stand_in), ("cuda.so", "cuda:0", tools)]
    first = None
    for model, device, how in rows:
        what = "%s on %s%s" % (model, device or "the host", ", which has halves" if how is stand_in else "")
        got = outputs_of(what, "./" + model, words + (["--device", device] if device else []), want, **how)
        first = first or got
        if any(not numpy.array_equal(first[name].view(numpy.uint16), got[name].view(numpy.uint16)) for name in want):
            wrong.append("%s: other bits than those of %s" % (what, rows[0][0]))
    with open("use.txt", encoding="ascii") as file:
        use = file.read().split()
    if int(use[use.index("halves") + 1]) == 0:
        wrong.append("a device that computes with halves gets a program of floats")


def main():
    if run("doctor", "--device", "opencl:0")[0] != 0:
        print("no OpenCL driver")
        return 77
    word = os.environ.get("VTAC_SEED", "0") + " halves"
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
    print("VTAC_SEED=%s" % word)
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("tools.sh", "w", encoding="ascii") as file:
            file.write("set -e\n/usr/bin/python3 -B '%s/ptx.py' \"$1/m.ptx\" \"$1/m.c\"\n"
                       "%s -O1 -march=native -ffp-contract=off -w -shared -fPIC \"$1/m.c\" -o \"$1/m.so\" -lm\n" % (here, cc))
        for number in range(2):
            check_round(numpy.random.default_rng([seed, number]))
        check_texts()
        os.chdir(home)
    print("\n".join(wrong) or "halves are the same on all devices")
    return 1 if wrong else 0


sys.exit(main())
