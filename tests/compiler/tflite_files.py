#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# What a file of TensorFlow Lite may look like besides its operators: bytes behind it, contents behind the flatbuffer or in
# another file, an operator's types that no kernel has, scales in blocks; and floats that lie beside the half of a step. It
# works as NumPy says, or gets one line. This fails when one of these is read wrongly, or in silence.
#
# usage: tflite_files.py VTAC   (exit status 77: no numpy)
import os
import struct
import subprocess
import sys
import tempfile

try:
    import numpy
    import word_seed
    from tflite_file import Model
except ImportError:
    sys.exit(77)

F32 = numpy.float32


class Files:
    def __init__(self, vtac, work, seed):
        self.vtac, self.work, self.random, self.count = vtac, work, numpy.random.default_rng(seed), 0
        self.w = self.random.standard_normal((4, 6)).astype(F32)
        self.x = self.random.standard_normal((1, 6)).astype(F32)

    def path(self, name):
        return os.path.join(self.work, name)

    def compile(self, data):
        self.count += 1
        with open(self.path("m.tflite"), "wb") as f:
            f.write(data)
        if os.path.exists(self.path("m.so")):
            os.remove(self.path("m.so"))
        return subprocess.run([self.vtac, "compile", self.path("m.tflite"), "-o", self.path("m.so")], capture_output=True, text=True)

    def run(self, what, data, x):
        done = self.compile(data)
        numpy.save(self.path("x.npy"), x)
        if done.returncode == 0:
            done = subprocess.run([self.vtac, "run", self.path("m.so"), "--input", self.path("x.npy"), "--output-dir", self.path("out")], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit("%s: %s" % (what, done.stderr))
        return numpy.load(self.path("out/y.npy"))

    def works(self, what, data):
        if numpy.abs(self.run(what, data, self.x) - self.x @ self.w.T).max() > 1e-5:
            sys.exit("%s: other numbers" % what)

    def refused(self, what, data, words):
        done = self.compile(data)
        if done.returncode != 1 or words not in done.stderr or done.stderr.count("\n") != 1 or os.path.exists(self.path("m.so")):
            sys.exit("%s: exit status %d, %r; expected is '%s'" % (what, done.returncode, done.stderr, words))

    # ---- a dense layer whose weights lie somewhere

    def dense(self, buffer=None, **tensor):
        """(model, x, y) with the weights' buffer as it is told, and more fields of their tensor."""
        m = Model()
        x = m.tensor("float32", (1, 6), name="x")
        w = m.tensor("float32", (4, 6), data=self.w, name="w")
        y = m.tensor("float32", (1, 4), name="y")
        if buffer is not None:
            m.buffers[1] = buffer
        m.tensors[w].update({int(k[1:]): v for k, v in tensor.items()})
        m.op(9, [x, w, -1], [y], {0: ("b", 0)}, 8)
        return m.write([x], [y])

    def behind(self, move=0, size=None, both=False):
        """The weights behind the flatbuffer, on 16 bytes."""
        raw = self.w.tobytes()
        inside = {0: raw} if both else {}
        end = len(self.dense({**inside, 1: ("Q", 0), 2: ("Q", 0)}))
        at = end + -end % 16
        data = self.dense({**inside, 1: ("Q", at + move), 2: ("Q", len(raw) if size is None else size)})
        return data + bytes(at - len(data)) + raw


def containers(f):
    plain = f.dense()
    f.works("a plain file", plain)
    f.works("bytes of 0 behind it", plain + bytes(100))
    f.works("bytes of anything behind it", plain + f.random.bytes(37))
    for what, data in (("a size ahead", struct.pack("<I", len(plain)) + plain), ("no identifier", plain[:4] + bytes(4) + plain[8:]),
                       ("another identifier", plain[:4] + b"TFL2" + plain[8:])):
        f.refused(what, data, "no model of a known kind: it begins with the bytes %s" % " ".join("%02x" % b for b in data[:8]))
    f.works("contents behind it", f.behind())
    f.works("contents in it and behind it", f.behind(both=True))
    for move in (10, 1 << 40, 1 << 63):
        f.refused("contents beyond the end", f.behind(move), "tensor 'w': its contents end behind byte")
    f.refused("a size around the address space", f.behind(size=2 ** 64 - 8), "tensor 'w': its contents end behind byte")
    f.refused("half of the contents", f.behind(size=48), "tensor 'w': 48 bytes of contents for f32[4,6]")
    f.refused("contents in another file", f.dense({}, f10=("I", 3)), "tensor 'w': its contents lie in another file")
    m = Model()
    x, y = m.tensor("int8", (1, 8), 0.5, 3, name="x"), m.tensor("int8", (1, 8), 0.25, 0, name="y")
    m.tensors[x][4].update({4: ("B", 2), 5: {0: ("i", 1), 1: ("i", -1), 2: ("i", 4)}})
    m.op(19, [x], [y])
    f.refused("scales of blocks", m.write([x], [y]), "tensor 'x': scales for blocks of numbers")
    for scale in (0.0, -0.5, float("inf"), float("nan")):
        for bad in ("x", "y"):
            m = Model()
            x, y = (m.tensor("int8", (1, 8), scale if name == bad else 0.5, 3, name=name) for name in ("x", "y"))
            m.op(19, [x], [y])
            f.refused("a scale of %g" % scale, m.write([x], [y]), "tensor '%s': scale 0 is %g; a scale must be finite and above 0" % (bad, scale))
    m = Model()
    x = m.tensor("int8", (1, 8), 0.5, 3, name="x")
    for kind in ("int64", "uint64"):
        y = m.tensor("int64", (1, 8), 0.25, 0, name="y")
        m.tensors[y][1] = ("b", 4 if kind == "int64" else 12)
        m.op(114, [x], [y], {}, 89)
        f.refused("QUANTIZE to " + kind, m.write([x], [y]), "'y'")


def halves(f):
    """Quotients that are a half as floats, and are none."""
    for kind, low, high in (("int8", -128, 127), ("uint8", 0, 255), ("int16", -32768, 32767)):
        scale = F32(10 ** f.random.uniform(-5, -3) if kind == "int16" else 10 ** f.random.uniform(-3, -0.5))
        zero = 0 if kind == "int16" else int(f.random.integers(low, high))
        x = ((f.random.integers(low - zero, high - zero, 20000) + 0.5) * float(scale)).astype(F32)
        m = Model()
        m.op(114, [m.tensor("float32", x.shape, name="x")], [m.tensor(kind, x.shape, scale, zero, name="y")], {}, 89)
        q = x.astype(float) / float(scale)
        wanted = numpy.clip(numpy.sign(q) * numpy.floor(numpy.abs(q) + 0.5) + zero, low, high).astype(kind)
        found = f.run("QUANTIZE to " + kind, m.write([0], [1]), x)
        if (found != wanted).any():
            sys.exit("QUANTIZE to %s: %d of %d integers differ" % (kind, (found != wanted).sum(), x.size))


def main():
    seed = word_seed.told()
    with tempfile.TemporaryDirectory() as work:
        f = Files(sys.argv[1], work, seed)
        containers(f)
        halves(f)
        print("%d files" % f.count)


main()
