#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# The ends of a model that a user chooses: --signature takes one of the signatures of a TensorFlow Lite file, or one of its
# graphs, and `vtac inspect` lists them; --output-value makes a value of the model an output. What is not there is refused in one
# line with the names that there are. Every choice runs twice with different data and is compared with NumPy.
#
# usage: model_ends.py VTAC   (exit status 77: no numpy)
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    import word_seed
    from tflite_file import Model
except ImportError:
    sys.exit(77)

ADD, MUL = 0, 18


class Trial:
    def __init__(self, vtac, work, seed):
        self.vtac, self.work, self.random, self.count = vtac, work, numpy.random.default_rng(seed), 0

    def path(self, name):
        return os.path.join(self.work, name)

    def call(self, *words):
        return subprocess.run([self.vtac, *words], capture_output=True, text=True)

    def passes(self, *words):
        done = self.call(*words)
        if done.returncode != 0:
            sys.exit("vtac %s\n%s" % (" ".join(words), done.stderr))
        return done

    def refused(self, text, *words):
        done = self.call(*words)
        if done.returncode != 1 or done.stderr.count("\n") != 1 or text not in done.stderr:
            sys.exit("vtac %s: exit status %d\n%s, expected: %s" % (" ".join(words), done.returncode, done.stderr, text))
        self.count += 1

    def gives(self, model, options, wanted):
        """`wanted` tells, of x, each output by its name."""
        self.passes("compile", model, "-o", self.path("a.so"), *options)
        for _ in range(2):
            x = self.random.standard_normal((2, 3)).astype("float32")
            numpy.save(self.path("x.npy"), x)
            folder = tempfile.mkdtemp(dir=self.work)
            self.passes("run", self.path("a.so"), "--input", self.path("x.npy"), "--output-dir", folder)
            expected = wanted(x)
            if sorted(os.listdir(folder)) != sorted(n + ".npy" for n in expected):
                sys.exit("%s: outputs are %s" % (options, os.listdir(folder)))
            for name, y in expected.items():
                numpy.testing.assert_allclose(numpy.load(os.path.join(folder, name + ".npy")), y, rtol=1e-6, atol=1e-6)
            self.count += 1


def main():
    with tempfile.TemporaryDirectory() as work:
        t = Trial(sys.argv[1], work, word_seed.told())
        a, b = (t.random.standard_normal(3).astype("float32") for _ in range(2))

        def graph(g, code, constant, option):
            x, y = g.tensor("float32", (2, 3), name="x"), g.tensor("float32", (2, 3), name="y")
            c = g.tensor("float32", (3,), data=constant)
            z = g.tensor("float32", (2, 3), name="z")
            g.op(code, [x, c], [y], {}, option)
            g.op(code, [y, c], [z], {}, option)
            return [x], [z]

        def write(name, signatures):
            m = Model()
            ends = graph(m, ADD, a, 11)
            m.called(lambda g: graph(g, MUL, b, 21))
            with open(t.path(name), "wb") as f:
                f.write(m.write(*ends, signatures))
            return t.path(name)

        two = write("two.tflite", [("more", 0, ["seen"], ["sum"]), ("times", 1, ["given"], ["product"])])
        t.gives(two, [], lambda x: {"sum": x + a + a})
        t.gives(two, ["--signature", "more"], lambda x: {"sum": x + a + a})
        t.gives(two, ["--signature", "times"], lambda x: {"product": x * b * b})
        t.gives(two, ["--signature=times", "--output-value", "y"], lambda x: {"y": x * b})
        t.gives(two, ["--output-value", "y", "--output-value", "sum"], lambda x: {"y": x + a, "sum": x + a + a})
        said = t.passes("inspect", two).stderr
        if said.count("\n") != 1 or "2 signatures, 'more', 'times'" not in said:
            sys.exit("vtac inspect does not list the signatures: " + said)
        t.refused("no signature is called 'none'; there are 'more', 'times'", "inspect", two, "--signature", "none")
        t.refused("--output-value: no node gives a value 'given'; the outputs are 'product'", "inspect", two, "--signature", "times", "--output-value", "given")
        plain = write("plain.tflite", ())
        t.gives(plain, [], lambda x: {"z": x + a + a})
        t.refused("no signature is called 'x'; there are 'main', 'main'", "inspect", plain, "--signature", "x")

        t.passes("convert", two, "-o", t.path("two.onnx"), "--signature", "times")
        t.gives(t.path("two.onnx"), [], lambda x: {"product": x * b * b})
        t.gives(t.path("two.onnx"), ["--output-value", "y"], lambda x: {"y": x * b})
        t.refused("a model of ONNX has no signatures, so none is called 'times'", "inspect", t.path("two.onnx"), "--signature", "times")
        print("%d choices" % t.count)


main()
