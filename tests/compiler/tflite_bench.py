# SPDX-License-Identifier: Apache-2.0
#
# What the tests of TensorFlow Lite's operators share: its arithmetic, its C library where VTAC_TFLITE names it, and a
# bench that compiles a small model, runs it and compares.
import ctypes
import glob
import math
import os
import subprocess
import sys

import numpy

RANGE = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}
ENGINE_TYPES = {1: "float32", 2: "int32", 3: "uint8", 4: "int64", 6: "bool", 7: "int16", 9: "int8"}
F32 = numpy.float32


# ---- the arithmetic, from its description in front-ends.md and the quantization specification

def factor(real):
    mantissa, exponent = math.frexp(real)
    mantissa = math.floor(mantissa * 2 ** 31 + 0.5)
    return (mantissa // 2, exponent + 1) if mantissa == 2 ** 31 else (mantissa, exponent)


def scaled(v, real, up=False):
    mantissa, exponent = factor(real)
    p = ((int(v) << max(exponent, 0)) * mantissa + (1 << 30)) >> 31
    right = max(-exponent, 0)
    if right == 0:
        return p
    half = 1 << (right - 1)
    return (p + half) >> right if up or p >= 0 else -((-p + half) >> right)


# lengths: a product of fractions of 2^31 rounds halves up
def fraction(a, c):
    return (a * c + (1 << 30)) >> 31


def inverse_root(v):
    """A mantissa of 31 bits and a shift to the right."""
    if v <= 1:
        return 2 ** 31 - 1, 0
    shift = 11
    while v >= 1 << 29:
        v, shift = v // 4, shift + 1
    while v < 1 << 27:
        v, shift = v * 4, shift - 1
    v >>= 1
    half, x = (v + 1) >> 1, 1 << 28
    for _ in range(5):
        cube = min(fraction(fraction(x, x), x) << 6, 2 ** 31 - 1)
        x = min((fraction(3 << 27, x) - fraction(half, cube)) << 3, 2 ** 31 - 1)
    x = fraction(x, 1518500250)
    return (x << -shift, 0) if shift < 0 else (x, shift)


def stored(values, kind, zero):
    low, high = RANGE[kind]
    return numpy.clip(numpy.array(values) + zero, low, high).astype(kind)


def rounded(x):
    return numpy.floor(numpy.abs(x) + 0.5) * numpy.sign(x)


# ---- the library

class Engine:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        for name in ("ModelCreate", "InterpreterOptionsCreate", "InterpreterCreate", "InterpreterGetInputTensor", "InterpreterGetOutputTensor"):
            getattr(self.lib, "TfLite" + name).restype = ctypes.c_void_p
        self.lib.TfLiteTensorByteSize.restype = ctypes.c_size_t

    def run(self, data, given, outputs=1):
        found = self.follow(data, [given], outputs)
        return found and found[0]

    def follow(self, data, runs, outputs=1):
        """Runs of one interpreter, which keeps its states."""
        lib, model = self.lib, ctypes.create_string_buffer(data, len(data))
        options = ctypes.c_void_p(lib.TfLiteInterpreterOptionsCreate())
        lib.TfLiteInterpreterOptionsSetNumThreads(options, 1)
        made = ctypes.c_void_p(lib.TfLiteModelCreate(model, ctypes.c_size_t(len(data))))
        run = ctypes.c_void_p(lib.TfLiteInterpreterCreate(made, options))
        if not run.value or lib.TfLiteInterpreterAllocateTensors(run) != 0:
            return None
        found = [self.invoke(run, given, outputs) for given in runs]
        return None if None in found else found

    def invoke(self, run, given, outputs):
        lib = self.lib
        for i, x in enumerate(given):
            tensor = ctypes.c_void_p(lib.TfLiteInterpreterGetInputTensor(run, i))
            if lib.TfLiteTensorCopyFromBuffer(tensor, x.tobytes(), ctypes.c_size_t(x.nbytes)) != 0:
                return None
        if lib.TfLiteInterpreterInvoke(run) != 0:
            return None
        found = []
        for k in range(outputs):
            tensor = ctypes.c_void_p(lib.TfLiteInterpreterGetOutputTensor(run, k))
            room = ctypes.create_string_buffer(lib.TfLiteTensorByteSize(tensor))
            lib.TfLiteTensorCopyToBuffer(tensor, room, ctypes.c_size_t(len(room)))
            dims = [lib.TfLiteTensorDim(tensor, i) for i in range(lib.TfLiteTensorNumDims(tensor))]
            found.append(numpy.frombuffer(room.raw, ENGINE_TYPES[lib.TfLiteTensorType(tensor)]).reshape(dims))
        return found


class Bench:
    def __init__(self, vtac, work, seed):
        self.vtac, self.work, self.random = vtac, work, numpy.random.default_rng(seed)
        path = os.environ.get("VTAC_TFLITE")
        self.engine = Engine(path) if path else None
        self.count, self.judged, self.allowed = 0, 0, 0
        self.models = []

    def numbers(self, kind, shape):
        if kind == "float32":
            return self.random.standard_normal(shape).astype(F32)
        low, high = RANGE[kind]
        return self.random.integers(low, high + 1, shape).astype(kind)

    def scale(self, kind, most=0.05):
        if kind == "float32":
            return {}
        zero = {"int8": self.random.integers(-30, 30), "uint8": self.random.integers(90, 160), "int16": 0}[kind]
        return {"scale": float(F32(self.random.uniform(0.004, most))), "zero": int(zero)}

    def run(self, *words):
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit("%s\n%s%s" % (" ".join(words), done.stdout, done.stderr))

    def check(self, what, model, x, given, y, wanted=None):
        """Twice with different inputs: `wanted` tells the result of some."""
        self.check_many(what, model, [x], [[v] for v in given], [y], None if wanted is None else lambda v: [wanted(v)])

    def check_many(self, what, model, xs, given, ys, wanted=None):
        """The same with several inputs and outputs."""
        if wanted is None and self.engine is None:
            return
        data = model.write(xs, ys)
        self.models.append(data)
        path, so, out = (os.path.join(self.work, n) for n in ("op.tflite", "op.so", "out"))
        with open(path, "wb") as f:
            f.write(data)
        self.run(self.vtac, "compile", path, "--target", "llvm", "-o", so)
        for values in given:
            words = []
            for x, value in zip(xs, values):
                numpy.save(os.path.join(self.work, "in%d.npy" % x), value)
                words += ["--input", "%s=%s" % (model.tensors[x][3], os.path.join(self.work, "in%d.npy" % x))]
            self.run(self.vtac, "run", so, *words, "--output-dir", out)
            found = [numpy.load(os.path.join(out, model.tensors[y][3] + ".npy")) for y in ys]
            for leftover in glob.glob(out + "/*.npy"):
                os.remove(leftover)
            theirs = self.engine.run(data, values, len(ys)) if self.engine else None
            self.judged += theirs is not None
            for name, right in (("TensorFlow Lite", theirs), ("the reference", wanted(*values) if wanted else None)):
                for k in range(len(ys) if right is not None else 0):
                    self.compare("%s, output %d" % (what, k), found[k], right[k], name)
        self.count += 1

    def check_states(self, what, model, x, given, y, wanted, target=("llvm",)):
        """Runs one after the other, which find what the last one left; `wanted` tells all results."""
        data = model.write([x], [y])
        path, so, out = (os.path.join(self.work, n) for n in ("op.tflite", "op.so", "out"))
        with open(path, "wb") as f:
            f.write(data)
        self.run(self.vtac, "compile", path, "--target", *target, "-o", so)
        words = []
        for i, value in enumerate(given):
            numpy.save(os.path.join(self.work, "run%d.npy" % i), value)
            words += ["--input", os.path.join(self.work, "run%d.npy" % i)]
        self.run(self.vtac, "run", so, *words, "--output-dir", out)
        found = [numpy.load(os.path.join(out, "%d_%s.npy" % (i, model.tensors[y][3]))) for i in range(len(given))]
        for leftover in glob.glob(out + "/*.npy"):
            os.remove(leftover)
        theirs = self.engine.follow(data, [[v] for v in given]) if self.engine else None
        for i in range(len(given)):
            if theirs is not None:
                self.compare("%s, run %d" % (what, i), found[i], theirs[i][0], "TensorFlow Lite")
            self.compare("%s, run %d" % (what, i), found[i], wanted[i], "the reference")
        self.judged += theirs is not None
        self.count += 1

    def compare(self, what, found, right, name):
        if found.shape != right.shape or found.dtype != right.dtype:
            sys.exit("%s: %s %s, %s has %s %s" % (what, found.dtype, found.shape, name, right.dtype, right.shape))
        if found.size == 0:
            return
        if found.dtype.kind == "f" and not numpy.abs(found - right).max() <= 1e-5 * max(1, numpy.abs(right).max()):
            sys.exit("%s: off by %g from %s" % (what, numpy.abs(found - right).max(), name))
        if found.dtype.kind != "f" and (numpy.abs(found.astype(int) - right) > self.allowed).any():
            sys.exit("%s: %d of %d integers are not those of %s" % (what, (found != right).sum(), found.size, name))
