#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Models of the zoo, as floats and quantized: ONNX's own checker takes the file, and compiled for the host it gives outputs that are
# finite, spread and of a sane size, other ones for other inputs, the same again for the first one. The quantized model has integer
# layers, and its outputs go with the float one's.
#
# usage: zoo_run.py VTAC [--quick] [--but NAME | NAME...]   (exit status 77: python3-onnx is not there)
#
# --quick: code for the quantized ones that is quick to make; it gives the same integers.
import json
import os
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
try:
    import numpy

    for name, kind in (("float", float), ("bool", bool), ("object", object), ("int", int)):
        if name not in vars(numpy):  # onnx 1.12 still asks for these
            setattr(numpy, name, kind)
    import onnx
    import onnx.checker
except ImportError:
    print("python3-onnx is not there: nothing to check with")
    sys.exit(77)

VTAC = os.path.abspath(sys.argv[1])
SEEDS = (1, 2, 1)  # of the inputs
LEAST, MOST = 1e-4, 1e4  # size of the outputs: neither died away nor run away
CLOSE = 0.9  # correlation of quantized and float outputs
INTEGER = ("QLinearConv", "QLinearMatMul", "QGemm", "MatMulInteger")


def run(*words):
    done = subprocess.run([VTAC, *words], capture_output=True, text=True)
    assert done.returncode == 0, "vtac %s: %s" % (" ".join(words), done.stderr)
    return done.stdout


def integer_layers(path):
    text = run("inspect", path, "-O", "3")
    return sum(text.count(" %s(" % name) + text.count(".%s(" % name) for name in INTEGER)


def outputs_of(path, level):
    """The first output for each of SEEDS."""
    run("compile", path, "--host", "host", "-O", level, "-o", "model.so")
    name = onnx.load(path).graph.output[0].name.replace("/", "_")
    answers = []
    for seed in SEEDS:
        run("run", "model.so", "--fill", "random", "--seed", str(seed), "--output-dir", ".")
        answers.append(numpy.load(name + ".npy").astype(numpy.float64).ravel())
    return answers


def check(path, what, level="3"):
    onnx.checker.check_model(path)
    first, second, again = outputs_of(path, level)
    assert numpy.isfinite(first).all() and numpy.isfinite(second).all(), "%s: not finite" % what
    for values in (first, second):
        spread = values.max() - values.min()
        assert LEAST < spread and numpy.abs(values).max() < MOST, "%s: outputs of size %g" % (what, numpy.abs(values).max())
    assert (first != second).any(), "%s: the output is the same whatever the input" % what
    assert (first == again).all(), "%s: the same input gives another output" % what
    return first, second


def one(name):
    run("zoo", name, "-o", "float.onnx")
    run("zoo", name, "--int8", "-o", "int8.onnx")
    floats = check("float.onnx", name)
    integers = check("int8.onnx", name + " --int8", "0" if QUICK else "3")
    layers = integer_layers("int8.onnx")
    assert layers > 0, "%s --int8: no layer computes with integers" % name
    likeness = min(numpy.corrcoef(a, b)[0, 1] for a, b in zip(floats, integers))
    assert likeness >= CLOSE, "%s --int8: correlation with the floats %.3f" % (name, likeness)
    print("ok %-14s %4d integer layers, correlation %.4f" % (name, layers, likeness), flush=True)


names = sys.argv[2:]
QUICK = names[:1] == ["--quick"]
names = names[QUICK:]
if not names or names[0] == "--but":
    names = [m["name"] for m in json.loads(run("zoo", "list", "--json")) if m["name"] not in names[1:]]
with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    for name in names:
        one(name)
