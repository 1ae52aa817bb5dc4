#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Files of TensorFlow as files: constants in every spelling, nodes in any order, ends that are chosen, sizes that are left
# open, and files that are damaged: each is refused in one line that names the file, with exit status 1, and never a crash.
#
# usage: tensorflow_files.py VTAC SOURCE   (exit status 77: no numpy)
import os
import re
import subprocess
import sys
import tempfile

try:
    import numpy
    import word_seed
    from tensorflow_file import Graph, Shape, Type, field, mobilenet
except ImportError:
    sys.exit(77)


class Trial:
    def __init__(self, vtac, work, seed):
        self.vtac, self.work, self.random, self.count = vtac, work, numpy.random.default_rng(seed), 0

    def path(self, name):
        return os.path.join(self.work, name)

    def written(self, name, data):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as f:
            f.write(data)
        return self.path(name)

    def call(self, *words):
        self.count += 1
        return subprocess.run([self.vtac, *words], capture_output=True, text=True)

    def refused(self, what, path, *options, says=""):
        done = self.call("inspect", path, *options)
        lines = [line for line in done.stderr.splitlines() if not line.startswith("vtac inspect: ")]
        if done.returncode != 1 or len(lines) != 1 or path not in lines[0] or not re.search(says, lines[0]):
            sys.exit("%s: exit status %d\n%s, expected: %s" % (what, done.returncode, done.stderr, says))
        return lines[0]

    def gives(self, path, given, wanted, *options):
        done = self.call("compile", path, "-o", self.path("a.so"), *options)
        if done.returncode != 0:
            sys.exit("compile %s: %s" % (path, done.stderr))
        folder, words = tempfile.mkdtemp(dir=self.work), []
        for name, value in given.items():
            numpy.save(self.path(name + ".npy"), value)
            words += ["--input", "%s=%s" % (name, self.path(name + ".npy"))]
        done = self.call("run", self.path("a.so"), *words, "--output-dir", folder)
        if done.returncode != 0 or sorted(os.listdir(folder)) != sorted(n + ".npy" for n in wanted):
            sys.exit("run %s: %s %s" % (path, done.stderr, os.listdir(folder)))
        for name, y in wanted.items():
            numpy.testing.assert_allclose(numpy.load(os.path.join(folder, name + ".npy")), y, rtol=2e-5, atol=2e-5)


def spellings(t):
    """Constants as bytes, as values, as one value for all; nodes in a random order; control inputs; a type left out."""
    for _ in range(2):
        g, x = Graph(), t.random.uniform(-1, 1, (2, 3)).astype("float32")
        a, b = t.random.uniform(-1, 1, (2, 3)).astype("float32"), numpy.full((2, 3), numpy.float32(t.random.uniform(1, 2)))
        g.input("x", (2, 3))
        zero = g("Const", name="zero", value=numpy.zeros((2, 3), "float32"), dtype=Type("float32"))
        axes = g.constant(numpy.array([-1, 1], "int32"), "values")
        y = g("Add", g("Mul", "x", g.constant(a, "values")), g.constant(b, "first"), "^zero")
        y = g("Reshape", y, axes)
        g("Add", y, g("Sum", zero, numpy.array([0, 1], "int32")), name="y")
        g.nodes = [g.nodes[i] for i in t.random.permutation(len(g.nodes))]
        t.gives(t.written("spelled.pb", g.graph_def()), {"x": x}, {"y": (x * a + b).reshape(-1, 1)})


def ends(t):
    g, x = Graph(), t.random.uniform(-1, 1, (2, 3)).astype("float32")
    g.input("x", (-1, 3))
    h = g("Relu", "x", name="scope/h")
    parts = g("Split", numpy.int32(0), g("Exp", h, name="e"), name="parts", num_split=2)
    g("Neg", parts + ":1", name="y")
    g("NoOp", name="init")
    path = t.written("ends.pb", g.graph_def())
    e = numpy.exp(numpy.maximum(x, 0))
    two = ("--shape", "x=2x3")
    t.gives(path, {"x": x}, {"y": -e[1:]}, *two)
    t.gives(path, {"x": x}, {"scope_h": numpy.maximum(x, 0)}, *two, "--output-value", "scope/h")
    t.gives(path, {"x": x}, {"parts_1": e[1:], "e": e}, *two, "--output-value", "parts:1", "--output-value", "e")
    t.refused("an output that is not there", path, "--output-value", "z", says="no node is called 'z'; the outputs are 'y'")
    t.refused("a signature of a GraphDef", path, "--signature", "s", says="has no signatures")
    t.refused("a shape of another rank", path, "--shape", "x=2x3x1", says="'x' has 2 axes")
    t.refused("a shape for no input", path, "--shape", "z=2x3", "--shape", "x=2x3", says="--shape names 'z', which is no input of the model; its first is 'x'")
    t.refused("a shape of another size", path, "--shape", "x=2x4", says="axis 1 is 3")
    g = Graph()
    g("Neg", g.input("x", (1, -1, 3)), name="y")
    t.refused("an open size", t.written("open.pb", g.graph_def()), says="size of axis 1 open; give --shape x=")


def old_loop(g, last, stray=False):
    """A loop of TensorFlow 1 that ends in `last`, if need be with a value of a loop that it does not enter."""
    g("Enter", "x", name="e", frame_name="f")
    g("Merge", "e", "n" if last == "i" else last, name="m")
    g("LoopCond", g("Less", "m", g("Merge", "x", "x") if stray else "m"), name="c")
    g("Switch", "m", "c", name="s")
    g("NextIteration", "s:1", name="n")
    g("Neg", g("Exit", "s"), name="y")


def positive(g):
    return g("Greater", g("Reshape", "x", numpy.array([-1], "int32")), numpy.float32(0))


def wrong(t):
    def graph(build):
        g = Graph()
        g.input("x", (1, 4, 4, 2))
        build(g)
        return t.written("wrong.pb", g.graph_def())

    w = numpy.ones((3, 3, 2, 2), "float32")
    how = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    cases = [
        (lambda g: g("Foo", g("Bar", "x", name="b"), name="f"), "not supported: 'Foo' \\(node 'f'\\), 'Bar' \\(node 'b'\\)"), (lambda g: g("Neg", "nothing", name="y"), "'nothing' is not in the graph"),
        (lambda g: (g("Neg", "z", name="y"), g("Neg", "y", name="z"), g("Neg", "z", name="end")), "in a circle"), (lambda g: g("Neg", "x:3", name="y"), "makes no output 3"),
        (lambda g: g("Add", "x", name="y"), "has 1 inputs and needs 2"), (lambda g: g("Conv2D", "x", w[:, :, :1][..., :0, :], name="y", **how), "'y'"),
        (lambda g: g("Conv2D", "x", numpy.ones((3, 3, 3, 2), "float32"), name="y", **how), "of other channels"), (lambda g: g("Conv2D", "x", w, name="y", strides=[1, 0, 1, 1], padding="SAME"), "steps of 0"),
        (lambda g: g("Conv2D", "x", w, name="y", strides=[1, 1, 1, 1], padding="ODD"), "padding 'ODD'"), (lambda g: g("Conv2D", "x", w, name="y", strides=[2, 1, 1, 1], padding="SAME"), "steps over the batch"),
        (lambda g: g("Reshape", "x", numpy.array([5, -1], "int32"), name="y"), "elements become"), (lambda g: g("Reshape", "x", g.input("s", (2,), "int32"), name="y"), "must be at most"),
        (lambda g: g("ExpandDims", "x", numpy.int32(7), name="y"), "axis 7 of 5"), (lambda g: (g("Neg", "x", name="y"), g("Neg", "x", name="y")), "two nodes are called 'y'"),
        (lambda g: g("ReadVariableOp", g("VarHandleOp", name="v"), name="y"), "contents are not in the file"), (lambda g: g("PartitionedCall", "x", name="y", f="none"), "not in the library"),
        (lambda g: g("StridedSlice", "x", *(numpy.array([v], "int32") for v in (9, 0, 1)), name="y", shrink_axis_mask=1), "place 9 of 1"), (lambda g: g("Placeholder", name="text", dtype=7), ""),
        (lambda g: g("FakeQuantWithMinMaxArgs", "x", name="y", min=1.0, max=2.0), "must have 0 in it"), (lambda g: g("Split", numpy.int32(3), "x", name="y", num_split=3), "3 parts"),
        (lambda g: g("NextIteration", "x", name="y"), "'NextIteration'"), (lambda g: g("Where", positive(g), name="y"), "the run counts its rows; --output-value"),
        (lambda g: g("ReverseV2", g("Where", positive(g)), numpy.array([0], "int32"), name="y"), "rows that the run counts, in a form that is not taken"), (lambda g: old_loop(g, "i", stray=True), "'f' of TensorFlow 1 is entered by another way than Enter"),
        (lambda g: old_loop(g, "x"), "'f' of TensorFlow 1 has a variable that no round gives again"), (lambda g: (g("LoopCond", "x", name="c"), g("Exit", "c", name="e"), g("Neg", "e", name="y")), "'' of TensorFlow 1 has no variable"), (lambda g: g("While", "x", name="y", cond="c", body="b"), "not in the library"),
    ]
    for build, says in cases:
        path = graph(build)
        t.refused("a wrong graph", path, says=says)
    for size, bytes_ in ((7, 24), (5, 24)):
        tensor = field(1, 1) + field(2, field(2, field(1, size))) + field(4, bytes(bytes_))
        node = field(1, "c") + field(2, "Const") + field(5, field(1, "value") + field(2, field(8, tensor)))
        t.refused("a constant of another size", t.written("size.pb", field(1, node)), says="a constant of %d bytes has 24" % (4 * size))
    bomb = field(1, 1) + field(2, field(2, field(1, 1 << 40))) + field(5, 1.0)
    node = field(1, "c") + field(2, "Const") + field(5, field(1, "value") + field(2, field(8, bomb)))
    t.refused("a constant of 2^40 elements", t.written("bomb.pb", field(1, node) + field(1, field(1, "y") + field(2, "Neg") + field(3, "c"))), says="are the most")
    deep = Graph()
    for i in range(40):
        body = Graph()
        body("PartitionedCall", "v", name="call", f="f%d" % (i + 1))
        deep.function("f%d" % i, ["v"], {"out": "call:output:0"}, body)
    deep.function("f40", ["v"], {"out": "v"}, Graph())
    deep("PartitionedCall", deep.input("x", (1,)), name="y", f="f0")
    t.refused("functions in functions", t.written("deep.pb", deep.graph_def()), says="called in too many others")


def cut(t):
    g, _ = mobilenet(t.random, 32, 0.25, 4)
    for node in g.nodes:
        if node[1] == "Const" and node[3]["value"].size > 64:
            g.how[node[0]] = "first"
    data, ends_of_nodes = g.graph_def(), set()
    for i in range(len(g.nodes) + 1):
        ends_of_nodes.add(sum(len(field(1, g.node_message(n))) for n in g.nodes[:i]))
    for at in range(97, len(data), 97):
        if at in ends_of_nodes:  # a whole graph, of fewer nodes
            continue
        t.refused("cut off at byte %d" % at, t.written("cut.pb", data[:at]))
    for _ in range(200):
        broken = bytearray(data)
        for at in t.random.integers(0, len(data), 3):
            broken[at] = t.random.integers(0, 256)
        done = t.call("inspect", t.written("broken.pb", bytes(broken)))
        if done.returncode not in (0, 1):
            sys.exit("a damaged file: exit status %d\n%s" % (done.returncode, done.stderr))


def main():
    with tempfile.TemporaryDirectory() as work:
        t = Trial(sys.argv[1], work, word_seed.told())
        for part in (spellings, ends, wrong, cut):
            part(t)
        print("%d calls" % t.count)


main()
