#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# vtac convert: models of every kind become ONNX files that ONNX's own checker takes, with operators of ONNX
# alone, the names and types of the model, a line for each rounding that is lost, and the decisions of the model itself;
# floats are the same but for 1e-5. Tables and factors, which no such model has, by models made here.
#
# usage: convert.py VTAC OWN SHARED   (the suite's own models, and published ones, which may be missing; exit status 77: no onnx)
import glob
import os
import re
import subprocess
import sys
import tempfile

try:
    import numpy
    import onnx
    from tflite_file import Model
except ImportError:
    sys.exit(77)

OWN = [("tflite/words_int8/*.tflite", ["QLinearConv", "QLinearAdd", "QGemm"]), ("tflite/image_uint8/*.tflite", ["QLinearConv", "QLinearAdd", "QGemm"]),
       ("keras/residual/*.h5", []), ("darknet/body/*.cfg", [])]
SHARED = [("tflite/mlperf_ic_resnet8_int8/*.tflite", ["QLinearConv", "QLinearAdd", "QLinearAveragePool", "QGemm"]),
          ("tflite/mlperf_kws_dscnn_int8/*.tflite", ["QLinearConv", "QLinearAveragePool", "QGemm"]),
          ("keras/mlperf_ic_resnet8/*.h5", []), ("darknet/*/*.cfg", [])]


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s\n%s%s" % (" ".join(words), done.stdout, done.stderr))
    return done.stderr


def outputs(vtac, model, given, work):
    run(vtac, "compile", model, "--target", "llvm", "-o", os.path.join(work, "m.so"))
    out = tempfile.mkdtemp(dir=work)
    run(vtac, "run", os.path.join(work, "m.so"), "--input", given, "--output-dir", out)
    return {os.path.basename(p): numpy.load(p) for p in glob.glob(out + "/*.npy")}


def judge(vtac, path, lost, work):
    to = os.path.join(work, "converted.onnx")
    told = run(vtac, "convert", path, "-o", to)
    lines = [line for line in told.splitlines() if "ONNX rounds once" in line]
    for op in lost:
        if not any(" %s (first " % op in line for line in lines):
            sys.exit("%s: nothing is said about %s:\n%s" % (path, op, told))
    if bool(lines) != bool(lost):
        sys.exit("%s: what is lost?\n%s" % (path, told))
    model = onnx.load(to)
    if model.opset_import[0].version <= onnx.defs.onnx_opset_version():  # what the checker does not know it cannot judge
        onnx.checker.check_model(model)
    if any(node.domain for node in model.graph.node) or any(set_.domain for set_ in model.opset_import):
        sys.exit("%s: operators that are not ONNX's" % path)
    agree = count = 0
    for given in sorted(glob.glob(os.path.dirname(path) + "/*_in.npy"))[:1]:
        want, found = outputs(vtac, path, given, work), outputs(vtac, to, given, work)
        for name, value in want.items():
            if name not in found or found[name].dtype != value.dtype or found[name].shape != value.shape:
                sys.exit("%s: output '%s' is not that of the model" % (path, name))
            if value.dtype.kind == "f" and not numpy.abs(found[name] - value).max() <= 1e-5 * max(1, numpy.abs(value).max()):
                sys.exit("%s: output '%s' is off by %g" % (path, name, numpy.abs(found[name] - value).max()))
            agree += int(value.argmax() == found[name].argmax())
            count += 1
    if agree != count or count == 0:
        sys.exit("%s: %d of %d decisions are those of the model" % (path, agree, count))
    print("%s: %d nodes, %d outputs" % (os.path.basename(path), len(model.graph.node), count))


def made(kind, zero):
    """Tanh by a table of 256, and 32 bits by a factor of 31: what no published model here has."""
    m = Model()
    x = m.tensor(kind, (3, 5, 64), 0.031, zero + 3, name="x")
    t = m.tensor(kind, (3, 5, 64), 1 / 128, zero)
    y = m.tensor("int32", (3, 5, 64), 0.00097, 0, name="y")
    m.op(28, [x], [t])
    m.op(114, [t], [y])
    return m.write([x], [y])


def tables_and_factors(vtac, work):
    for kind, zero in (("int8", 0), ("uint8", 128)):
        path, to, given = (os.path.join(work, name) for name in ("made.tflite", "made.onnx", "made.npy"))
        with open(path, "wb") as f:
            f.write(made(kind, zero))
        told = run(vtac, "convert", path, "-o", to)
        if "Rescale (first " not in told or "LookUp" in told:
            sys.exit("%s: the factor rounds otherwise in ONNX, the table does not:\n%s" % (kind, told))
        model = onnx.load(to)
        onnx.checker.check_model(model)
        if any(node.domain for node in model.graph.node) or "Gather" not in [node.op_type for node in model.graph.node]:
            sys.exit("%s: operators that are not ONNX's, or no table" % kind)
        for seed in (1, 2):
            x = numpy.random.default_rng(seed).integers(*numpy.iinfo(kind).min + numpy.array([0, 256]), (3, 5, 64)).astype(kind)
            numpy.save(given, x)
            want, found = (outputs(vtac, of, given, work)["y.npy"].astype(int) for of in (path, to))
            real = (numpy.tanh(0.031 * (x.astype(float) - zero - 3)) * 128).round().clip(-128, 127) / 128 / 0.00097
            if abs(found - want).max() > 1 or abs(found - real).max() > 1.5:
                sys.exit("%s: off by %d of the model, %g of real numbers" % (kind, abs(found - want).max(), abs(found - real).max()))


def run_on(vtac, model, given, work):
    run(vtac, "compile", model, "-o", os.path.join(work, "m.so"))
    numpy.save(os.path.join(work, "given.npy"), given)
    run(vtac, "run", os.path.join(work, "m.so"), "--input", os.path.join(work, "given.npy"), "--output-dir", work)
    return numpy.load(os.path.join(work, given_output(model)))


def given_output(model):
    return onnx.load(model).graph.output[0].name + ".npy"


def integer_ends(vtac, work):
    """--integers: the same network, asked and answering in integers. Logits are exactly those, probabilities off by one step at most."""
    real, whole, ends = (os.path.join(work, name) for name in ("float.onnx", "whole.onnx", "ends.onnx"))
    for name, options, kind, exact in (("tiny_ad", [], "int8", True), ("tiny_kws", ["--unsigned"], "uint8", False)):
        run(vtac, "zoo", name, "-o", real)
        run(vtac, "quantize", real, "--force", *options, "-o", whole)
        told = run(vtac, "convert", whole, "--integers", "-o", ends)
        scales = [(int(zero), float(scale)) for zero, scale in re.findall(r"\(integer - (-?\d+)\) \* (\S+)", told)]
        model = onnx.load(ends)
        onnx.checker.check_model(model)
        shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
        kinds = [onnx.mapping.TENSOR_TYPE_TO_NP_TYPE[v.type.tensor_type.elem_type].name for v in (*model.graph.input, *model.graph.output)]
        if kinds != [kind, kind] or len(scales) != 2:
            sys.exit("%s: ends are %s, told is %s" % (name, kinds, told))
        (in_zero, in_scale), (out_zero, out_scale) = scales
        low = numpy.iinfo(kind).min
        for seed in (1, 2):
            x = numpy.random.default_rng(seed).integers(low, low + 256, shape).astype(kind)
            want = run_on(vtac, whole, ((x.astype(numpy.float32) - in_zero) * numpy.float32(in_scale)), work)
            found = run_on(vtac, ends, x, work)
            want = (want.astype(float) / out_scale + out_zero).round().clip(low, low + 255)
            if found.dtype.name != kind or abs(found - want).max() > (0 if exact else 1) or found.ptp() == 0:
                sys.exit("%s, seed %d: %s instead of %s" % (name, seed, found, want))
        if not exact and (out_zero, out_scale) != (0, 1 / 256):
            sys.exit("probabilities have %s" % (scales[1],))
    failed = subprocess.run([vtac, "convert", real, "--integers", "-o", ends + "x"], capture_output=True, text=True)
    if failed.returncode != 1 or failed.stderr.count("\n") != 1 or "quantize" not in failed.stderr or os.path.exists(ends + "x"):
        sys.exit("floats with --integers: %d, %s" % (failed.returncode, failed.stderr))


def main():
    done = 0
    with tempfile.TemporaryDirectory() as work:
        tables_and_factors(sys.argv[1], work)
        integer_ends(sys.argv[1], work)
        for folder, models in zip(sys.argv[2:4], (OWN, SHARED)):
            for pattern, lost in models:
                for path in glob.glob(os.path.join(folder, pattern)):
                    judge(sys.argv[1], path, lost, work)
                    done += 1
        if done < len(OWN):
            sys.exit("%s has not all of its models" % sys.argv[2])
        torn = os.path.join(work, "torn.tflite")
        with open(torn, "wb") as f:
            f.write(b"\x1c\0\0\0TFL3" + bytes(5))
        failed = subprocess.run([sys.argv[1], "convert", torn, "-o", os.path.join(work, "no.onnx")], capture_output=True, text=True)
        if failed.returncode != 1 or failed.stderr.count("\n") != 1 or os.path.exists(os.path.join(work, "no.onnx")):
            sys.exit("a torn file: %d, %s" % (failed.returncode, failed.stderr))


main()
