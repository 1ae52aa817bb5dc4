#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Operators of TensorFlow Lite that the shared models do not have, one a model, with random shapes' numbers and scales:
# integers equal to references written out here, floats within 1e-5 of the largest. With VTAC_TFLITE naming TensorFlow
# Lite's C library (libtensorflowlite_c.so; the npm package tfjs-tflite-node has that of 2.9), the library judges all
# of them, and more. Then damaged copies of models, each of which gets one line or works.
#
# usage: tflite_ops.py VTAC   (exit status 77: no numpy)
import ctypes
import glob
import math
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    from tflite_file import Model
except ImportError:
    sys.exit(77)

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

    def run(self, data, given):
        lib, model = self.lib, ctypes.create_string_buffer(data, len(data))
        options = ctypes.c_void_p(lib.TfLiteInterpreterOptionsCreate())
        lib.TfLiteInterpreterOptionsSetNumThreads(options, 1)
        made = ctypes.c_void_p(lib.TfLiteModelCreate(model, ctypes.c_size_t(len(data))))
        run = ctypes.c_void_p(lib.TfLiteInterpreterCreate(made, options))
        if not run.value or lib.TfLiteInterpreterAllocateTensors(run) != 0:
            return None
        for i, x in enumerate(given):
            tensor = ctypes.c_void_p(lib.TfLiteInterpreterGetInputTensor(run, i))
            if lib.TfLiteTensorCopyFromBuffer(tensor, x.tobytes(), ctypes.c_size_t(x.nbytes)) != 0:
                return None
        if lib.TfLiteInterpreterInvoke(run) != 0:
            return None
        tensor = ctypes.c_void_p(lib.TfLiteInterpreterGetOutputTensor(run, 0))
        room = ctypes.create_string_buffer(lib.TfLiteTensorByteSize(tensor))
        lib.TfLiteTensorCopyToBuffer(tensor, room, ctypes.c_size_t(len(room)))
        dims = [lib.TfLiteTensorDim(tensor, i) for i in range(lib.TfLiteTensorNumDims(tensor))]
        return numpy.frombuffer(room.raw, ENGINE_TYPES[lib.TfLiteTensorType(tensor)]).reshape(dims)


class Bench:
    def __init__(self, vtac, work, seed):
        self.vtac, self.work, self.random = vtac, work, numpy.random.default_rng(seed)
        path = os.environ.get("VTAC_TFLITE")
        self.engine = Engine(path) if path else None
        self.count, self.judged = 0, 0
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
        if wanted is None and self.engine is None:
            return
        data = model.write([x], [y])
        self.models.append(data)
        path, so, out = (os.path.join(self.work, n) for n in ("op.tflite", "op.so", "out"))
        with open(path, "wb") as f:
            f.write(data)
        self.run(self.vtac, "compile", path, "--target", "llvm", "-o", so)
        for values in given:
            numpy.save(os.path.join(self.work, "in.npy"), values)
            self.run(self.vtac, "run", so, "--input", os.path.join(self.work, "in.npy"), "--output-dir", out)
            found = numpy.load(glob.glob(out + "/*.npy")[0])
            os.remove(glob.glob(out + "/*.npy")[0])
            theirs = self.engine.run(data, [values]) if self.engine else None
            self.judged += theirs is not None
            for name, right in (("TensorFlow Lite", theirs), ("the reference", wanted(values) if wanted else None)):
                if right is not None and (found.shape != right.shape or found.dtype != right.dtype):
                    sys.exit("%s: %s %s, %s has %s %s" % (what, found.dtype, found.shape, name, right.dtype, right.shape))
                if right is not None and found.dtype.kind == "f" and not numpy.abs(found - right).max() <= 1e-5 * max(1, numpy.abs(right).max()):
                    sys.exit("%s: off by %g from %s" % (what, numpy.abs(found - right).max(), name))
                if right is not None and found.dtype.kind != "f" and (found != right).any():
                    sys.exit("%s: %d of %d integers are not those of %s" % (what, (found != right).sum(), found.size, name))
        self.count += 1


# ---- operators

def convolution(b, kind, shape, filters, size, stride, depth):
    h, w, c = shape
    n = c * filters if depth else filters
    qx, qy, weight = b.scale(kind), b.scale(kind, 0.3), "uint8" if kind == "uint8" else "int8"
    values = b.numbers(weight, (1, size, size, n) if depth else (n, size, size, c))
    values = numpy.maximum(values, -127).astype(weight) if weight == "int8" else values
    zero = 121 if weight == "uint8" else 0
    scales = b.random.uniform(0.002, 0.02, 1 if weight == "uint8" else n).astype(F32)
    bias = b.random.integers(-3000, 3000, n)
    m = Model()
    x = m.tensor(kind, (1, h, w, c), **qx)
    wt = m.tensor(weight, values.shape, scales, zero, 3 if depth else 0, values)
    bt = m.tensor("int64" if kind == "int16" else "int32", (n,), scales * F32(qx["scale"]), 0, 0, bias)
    y = m.tensor(kind, (1, -(-h // stride), -(-w // stride), n), **qy)
    options = {0: ("b", 0), 1: ("i", stride), 2: ("i", stride), **({3: ("i", filters)} if depth else {})}
    m.op(4 if depth else 3, [x, wt, bt], [y], options, 2 if depth else 1, 3)

    def reference(v):
        pads = [max((-(-d // stride) - 1) * stride + size - d, 0) for d in (h, w)]
        v = numpy.pad(v.astype(int) - qx["zero"], [(0, 0)] + [(p // 2, p - p // 2) for p in pads] + [(0, 0)])
        windows = numpy.lib.stride_tricks.sliding_window_view(v, (size, size), (1, 2))[:, ::stride, ::stride]
        k = values.astype(int) - zero
        if depth:
            sums = numpy.einsum("nyxcij,ijcm->nyxcm", windows, k[0].reshape(size, size, c, filters)).reshape(windows.shape[:3] + (n,))
        else:
            sums = numpy.einsum("nyxcij,fijc->nyxf", windows, k)
        sums = sums + bias
        out = numpy.empty(sums.shape, int)
        for i in range(n):
            s = scales[i % len(scales)]
            real = (float(F32(qx["scale"]) * s) if kind == "uint8" else float(F32(qx["scale"])) * float(s)) / float(F32(qy["scale"]))
            out[..., i] = [[[scaled(a, real, not depth) for a in row] for row in plane] for plane in sums[..., i]]
        return stored(out, kind, qy["zero"])
    b.check("%s %s %s" % ("depthwise" if depth else "convolution", kind, shape), m, x, [b.numbers(kind, (1, h, w, c)) for _ in range(2)], y,
            None if kind == "int16" else reference)


def addition(b, kind, code):
    qa, qb, qy = b.scale(kind), b.scale(kind), b.scale(kind)
    other = b.numbers(kind, (1, 1, 1, 6))
    m = Model()
    x = m.tensor(kind, (1, 5, 7, 6), **qa)
    second = m.tensor(kind, other.shape, data=other, **qb)
    y = m.tensor(kind, (1, 5, 7, 6), **qy)
    m.op(code, [x, second], [y], {0: ("b", 0)}, {0: 11, 41: 28, 18: 21}[code])

    def reference(v):
        a, c = v.astype(int) - qa["zero"], other.astype(int) - qb["zero"]
        sa, sb, sy = (F32(q["scale"]) for q in (qa, qb, qy))
        if code == 18:
            return stored([[[[scaled(i, float(sa * sb / sy)) for i in r] for r in p] for p in n] for n in a * c], kind, qy["zero"])
        twice = 2 * float(max(sa, sb))
        sign = -1 if code == 41 else 1
        both = [[[[scaled(i << 20, float(sa) / twice) + sign * scaled(j << 20, float(sb) / twice) for i, j in zip(r, c[0, 0, 0])]
                  for r in p] for p in n] for n in a]
        real = twice / (2 ** 20 * float(sy))
        return stored([[[[scaled(i, real) for i in r] for r in p] for p in n] for n in both], kind, qy["zero"])
    b.check("operator %d of %s" % (code, kind), m, x, [b.numbers(kind, (1, 5, 7, 6)) for _ in range(2)], y, None if kind == "int16" else reference)


def bilinear(b, kind, shape, to, corners, centers):
    q = b.scale(kind)
    m = Model()
    x = m.tensor(kind, (1,) + shape, **q)
    size = m.tensor("int32", (2,), data=to)
    y = m.tensor(kind, (1,) + to + shape[2:], **q)
    m.op(23, [x, size], [y], {2: ("?", corners), 3: ("?", centers)}, 15, 3)

    def places(n, k):
        s = (1024 * (n - 1) + (k - 1) // 2) // (k - 1) if corners else (1024 * n + k // 2) // k
        at = [i * s + (int(s / 2) - 512 if centers else 0) for i in range(k)]
        low = [min(max(int(a / 1024), 0), n - 1) for a in at]
        return low, [min(max(int((a + 1023) / 1024), 0), n - 1) for a in at], [a - 1024 * i for a, i in zip(at, low)]

    def reference(v):
        v = v.astype(numpy.int64)
        for axis, (n, k) in enumerate(zip(shape, to)):
            low, high, part = places(n, k)
            part = numpy.reshape(part, (-1, 1) if axis == 1 else (-1, 1, 1))
            v = numpy.take(v, low, axis + 1) * (1024 - part) + numpy.take(v, high, axis + 1) * part
        return rounded(v / 2 ** 20).astype(kind)
    b.check("bilinear %s %s to %s, %d %d" % (kind, shape, to, corners, centers), m, x, [b.numbers(kind, (1,) + shape) for _ in range(2)], y,
            reference if kind in ("int8", "int16") else None)


def logistic(b, kind):
    q = b.scale(kind)
    zero = {"int8": -128, "uint8": 0, "int16": 0}[kind]
    step = 1 / 32768 if kind == "int16" else 1 / 256
    m = Model()
    x = m.tensor(kind, (4, 64), **q)
    y = m.tensor(kind, (4, 64), step, zero)
    m.op(14, [x], [y])

    def reference(v):
        real = F32(q["scale"]) * (v.astype(int) - q["zero"]).astype(F32)
        return stored(rounded(F32(1) / (F32(1) + numpy.exp(-real)) * F32(256)).astype(int), kind, zero)
    every = numpy.arange(256).reshape(4, 64) + RANGE[kind][0]
    b.check("logistic " + kind, m, x, [every.astype(kind) * (1 if kind != "int16" else 100)], y, None if kind == "int16" else reference)


def mean(b, kind, keep):
    qx, qy = b.scale(kind), b.scale(kind)
    m = Model()
    x = m.tensor(kind, (1, 5, 6, 9), **qx)
    axes = m.tensor("int32", (2,), data=[1, 2])
    y = m.tensor(kind, (1, 1, 1, 9) if keep else (1, 9), **qy)
    m.op(40, [x, axes], [y], {0: ("?", keep)}, 27, 2)

    def reference(v):
        sums = (v.astype(int) - qx["zero"]).sum((1, 2), keepdims=True).reshape(-1)
        out = [scaled(s, float(F32(qx["scale"])) / float(F32(qy["scale"]))) for s in sums]
        return stored(rounded(numpy.array(out) / 30).astype(int).reshape(1, 1, 1, 9), kind, qy["zero"])
    b.check("mean %s %d" % (kind, keep), m, x, [b.numbers(kind, (1, 5, 6, 9)) for _ in range(2)], y, reference if kind == "int8" and keep else None)


def mixed(b, asymmetric):
    """Floats by bytes."""
    values = numpy.maximum(b.numbers("int8", (11, 40)), -127)
    m = Model()
    x = m.tensor("float32", (3, 40))
    w = m.tensor("int8", (11, 40), 0.01, 0, 0, values)
    y = m.tensor("float32", (3, 11))
    m.op(9, [x, w], [y], {3: ("?", asymmetric)}, 8, 9 if asymmetric else 4)

    def reference(v):
        most = numpy.abs(v).max(1, keepdims=True)
        return (rounded(v * (F32(127) / most)).astype(int) @ values.T.astype(int) * (most / F32(127) * F32(0.01))).astype(F32)
    b.check("dense of floats by bytes, %d" % asymmetric, m, x, [b.numbers("float32", (3, 40)) for _ in range(2)], y, None if asymmetric else reference)


# ---- damage

def damage(b, count):
    path, lines = os.path.join(b.work, "damaged.tflite"), 0
    for i in range(count):
        data = bytearray(b.models[i % len(b.models)])
        if i % 4 == 0:
            del data[int(b.random.integers(8, len(data))):]
        for _ in range(1 + i % 3):
            at = int(b.random.integers(0, min(len(data), 900)))
            data[at] = int(b.random.integers(0, 256))
        with open(path, "wb") as f:
            f.write(data)
        done = subprocess.run([b.vtac, "inspect", path], capture_output=True, text=True)
        lines += done.returncode == 1
        if done.returncode not in (0, 1) or (done.returncode == 1 and (done.stderr.count("\nvtac: ") + done.stderr.startswith("vtac: ") != 1)):
            sys.exit("damaged model %d: exit status %d\n%s" % (i, done.returncode, done.stderr))
    with open(path, "wb") as f:
        f.write(b"\xffsomething else")
    done = subprocess.run([b.vtac, "inspect", path], capture_output=True, text=True)
    if done.returncode != 1 or "TensorFlow Lite" not in done.stderr or "ff 73 6f" not in done.stderr:
        sys.exit("a file of no kind: " + done.stderr)
    print("%d damaged models, %d refused" % (count, lines))


def main():
    seed = int.from_bytes(os.environ.get("VTAC_SEED", "7").encode()[-4:], "little")
    print("seed %d" % seed)
    with tempfile.TemporaryDirectory() as work:
        b = Bench(sys.argv[1], work, seed)
        for kind in ("int8", "uint8", "int16"):
            convolution(b, kind, (7, 8, 5), 6, 3, 2, False)
            convolution(b, kind, (6, 5, 16), 16, 1, 1, False)
            convolution(b, kind, (7, 6, 5), 2, 3, 1, True)
            for code in (0, 18, 41):
                addition(b, kind, code)
            bilinear(b, kind, (5, 6, 3), (10, 13), False, False)
            bilinear(b, kind, (7, 5, 2), (3, 9), True, False)
            bilinear(b, kind, (4, 6, 2), (9, 8), False, True)
            logistic(b, kind)
            mean(b, kind, True)
            mean(b, kind, False)
        mixed(b, False)
        mixed(b, True)
        print("%d models, %d results judged by TensorFlow Lite" % (b.count, b.judged))
        damage(b, 60)


main()
