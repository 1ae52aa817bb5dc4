#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# vtac quantize on the shared float models: the file is what ONNX's checker accepts, its model decides as the float one does, and
# its output is no further from the float one's than that of the model that others quantized. The references are those that come
# with the models.
#
# usage: quantize.py VTAC MODELS   (exit status 77: python3-onnx or the models are not there)
import glob
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    import onnx
except ImportError:
    print("python3-onnx is not installed")
    sys.exit(77)

VTAC, MODELS = sys.argv[1:3]

# float model, the same quantized by others ("": there is none), how far an output may be off relative to the range of the outputs
# where there is none, options
CASES = (
    ("mlperf_ic_resnet8_fp32", "mlperf_ic_resnet8_int8_qdq", None, ["--per-channel"]),
    ("mlperf_ic_resnet8_fp32", "mlperf_ic_resnet8_int8_qdq", None, ["--per-channel", "--unsigned"]),
    ("mlperf_kws_dscnn_fp32", "mlperf_kws_dscnn_int8_qdq", None, ["--per-channel"]),
    ("resnet20_cifar10_fp32_bn", "", 0.06, ["--per-channel"]),
    ("squeezenet1.1_fp32_from_fp16", "", 0.06, ["--per-channel"]),
)
METHODS = ("minmax", "percentile", "mse", "entropy")


def run(*words):
    done = subprocess.run([VTAC, *words], capture_output=True, text=True)
    assert done.returncode == 0, f"vtac {' '.join(words)}: {done.stderr}"
    return done.stdout


def cases_of(model):
    """Inputs and outputs that come with a model."""
    found = sorted(glob.glob(f"{MODELS}/golden/{model}/*_in.npy"))
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
    cases = cases_of(model)
    references = [out for _, out in cases]
    numpy.savez("calib.npz", *[numpy.load(path) for path, _ in cases])
    run("quantize", f"{MODELS}/{model}.onnx", "--calib", "calib.npz", *options, "-o", "q.onnx")
    onnx.checker.check_model("q.onnx", full_check=True)
    answers = outputs_of("q.onnx", [path for path, _ in cases])
    off = worst(answers, references)
    limit = worst([out for _, out in cases_of(twin)], references) if twin else share * float(numpy.ptp(references))
    agreed = sum(int(a.argmax() == b.argmax()) for a, b in zip(answers, references))
    print(f"{model} {' '.join(options)}: {agreed} of {len(cases)} decisions, off by {off:.4g}, allowed {limit:.4g}")
    assert agreed == len(cases) > 0 and off <= limit


if not os.path.isdir(f"{MODELS}/golden"):
    print(f"{MODELS} is not there")
    sys.exit(77)
VTAC = os.path.abspath(VTAC)
MODELS = os.path.abspath(MODELS)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for case in CASES:
        check(*case)
    for method in METHODS:
        check(*CASES[2][:3], ["--per-channel", "--method", method])
