#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Models that want too much: loops without end that gather, texts that double, sizes that no memory has. Each ends in one line, those
# that are refused for the processor time of MAX_REFUSAL yards, the others at the bound that VTAC_MEMORY sets. It fails when one of them is
# walked turn by turn, or grows by copies.
#
# usage: hostile.py VTAC   (exit status 77: python3-onnx is not there)
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import yard
from onnx_cases import Suite, helper, numpy, numpy_helper

FLOAT, INT, BOOL, STRING = 1, 7, 9, 8
MEBIBYTES = 16
MAX_REFUSAL, MAX_RUN = 1.5, 6.0 # yards


def info(name, kind, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def sequence(name, kind):
    return helper.make_value_info(name, helper.make_sequence_type_proto(helper.make_tensor_type_proto(kind, None)))


def graph(nodes, ins, outs, **constants):
    return helper.make_graph(nodes, "g", ins, outs, [numpy_helper.from_array(numpy.array(a), n) for n, a in constants.items()])


def model(nodes, ins, outs, **constants):
    return helper.make_model(graph(nodes, ins, outs, **constants), opset_imports=[helper.make_opsetid("", 20)], ir_version=8)


def body(nodes, state):
    """The body of a loop without end that carries s as so."""
    return graph([helper.make_node("Identity", ["c"], ["co"])] + nodes, [info("i", INT, []), info("c", BOOL, []), state("s")],
                 [info("co", BOOL, []), state("so")])


def floats(name):
    return info(name, FLOAT)


def node(op, ins, outs, **attrs):
    return helper.make_node(op, ins.split(), outs.split(), **attrs)


def refused():
    """Models, and words of the line that refuses them."""
    once = body([node("Neg", "s", "so")], lambda n: info(n, FLOAT, [4]))
    ends = [info("x", FLOAT, [4])], [info("y", FLOAT, [4])]
    for trips in (numpy.float32(2.5), numpy.zeros(0, numpy.int64), numpy.array([2, 3])):
        yield model([node("Loop", "m t x", "y", body=once)], *ends, m=trips, t=True), "the trip count is to be one integer"
    yield model([node("Relu", "x", "y")], [info("x", FLOAT, [2**31, 2**31])], [info("y", FLOAT)]), "too large"
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)]
    calls = [helper.make_function("own", "F%d" % i, ["a"], ["b"], [helper.make_node("F%d" % (i - 1), [p], [q], domain="own") if i else node("Neg", p, q)
                                                                  for p, q in (("a", "m"), ("m", "b"))], opsets) for i in range(40)]
    yield helper.make_model(graph([helper.make_node("F39", ["x"], ["y"], domain="own")], *ends), opset_imports=opsets, functions=calls, ir_version=8), "functions and subgraphs"
    deep = graph([node("Neg", "x", "r")], [], [info("r", FLOAT)])
    for _ in range(60):
        deep = graph([node("If", "c", "r", then_branch=deep, else_branch=graph([node("Neg", "x", "r")], [], [info("r", FLOAT)]))], [],
                     [info("r", FLOAT)])
    yield model(list(deep.node), [info("c", BOOL, []), info("x", FLOAT, [3])], [info("r", FLOAT)]), "deeper than"


def bounded():
    """Models that run without end but for the bound of their memory."""
    grow = body([node("SequenceInsert", "s x", "so")], lambda n: sequence(n, FLOAT))
    made = body([node("Cast", "i", "f", to=FLOAT), node("Add", "x f", "z"), node("SequenceInsert", "s z", "so")], lambda n: sequence(n, FLOAT))
    for insert in (grow, made):
        yield model([node("SequenceEmpty", "", "e"), helper.make_node("Loop", ["", "t", "e"], ["r"], body=insert), node("SequenceLength", "r", "n")],
                    [info("x", FLOAT, [64])], [info("n", INT, [])], t=True)
    yield model([node("Loop", "m t x", "y", body=body([node("Concat", "s s", "so", axis=0)], floats))], [info("x", FLOAT, [4])],
                [info("y", FLOAT)], m=numpy.int64(2**62), t=True)
    text = helper.make_tensor("text", STRING, [], [b"abcdefgh"])
    for step in (node("Cast", "i", "so", to=STRING), node("StringConcat", "s s", "so")):
        yield model([node("Constant", "", "first", value=text), node("Add", "n n", "most"),
                     helper.make_node("Loop", ["", "t", "first"], ["r"], body=body([step], lambda n: info(n, STRING)))],
                    [info("n", INT, [])], [info("r", STRING)], t=True)


def shared(first, second):
    """Two inputs whose first axes have one name: the model, what they hold, whether a run is refused."""
    ends = [info(n, FLOAT, ["n", 2]) for n in "xz"]
    outs = [info(n, FLOAT, ["n", 2]) for n in "yw"]
    held = [numpy.ones((rows, 2), numpy.float32) for rows in (first, second)]
    return model([node("Relu", "x", "y"), node("Neg", "z", "w")], ends, outs), held, first != second


def run(unit, words, env, most):
    """Its exit status, what it says, and its cost in yards (lib/yard.py)."""
    yards, done = unit.measure(words, most, stdout=yard.subprocess.PIPE, stderr=yard.subprocess.PIPE, text=True, timeout=300,
                               env={**os.environ, **env})
    return done.returncode, done.stderr.strip(), yards


def main():
    vtac, failed, unit = sys.argv[1], 0, yard.Yard()
    suite = Suite()
    for size in (1, 4, 9, 10, 2**62 + 1):  # windows larger than all channels are as good as all channels
        def lrn(x, n=size):
            sums = [numpy.square(x[:, max(0, c - (n - 1) // 2):c + (n - 1) - (n - 1) // 2 + 1].astype(float)).sum(1) for c in range(x.shape[1])]
            return (x / (1 + 0.5 / n * numpy.stack(sums, 1)) ** 0.75).astype(numpy.float32)
        suite.add("LRN", lambda r: [("x", r.standard_normal((2, 5, 3, 4)).astype(numpy.float32))], lrn, size=size, alpha=0.5)
    failed |= suite.run(vtac)
    with tempfile.TemporaryDirectory() as folder:
        path, made = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.so")
        for number, (proto, wanted) in enumerate(refused()):
            with open(path, "wb") as file:
                file.write(proto.SerializeToString())
            status, said, yards = run(unit, [vtac, "compile", path, "-o", made], {}, MAX_REFUSAL)
            good = status == 1 and wanted in said and "\n" not in said and yards <= MAX_REFUSAL
            failed |= not good
            print("%-4s refused %d: %s%s" % ("ok" if good else "FAIL", number, said[-160:], "" if yards <= MAX_REFUSAL else " (%.1f yards of %.1f)" % (yards, MAX_REFUSAL)))
        for proto, held, refuses in (shared(3, 3), shared(3, 4), shared(1, 2)):
            with open(path, "wb") as file:
                file.write(proto.SerializeToString())
            for name, array in zip("xz", held):
                numpy.save(os.path.join(folder, name + ".npy"), array)
            compiled, _, _ = run(unit, [vtac, "compile", path, "--dynamic", "-o", made], {}, MAX_RUN)
            given = [word for n in "xz" for word in ("--input", "%s=%s" % (n, os.path.join(folder, n + ".npy")))]
            status, said, _ = run(unit, [vtac, "run", made] + given, {}, MAX_RUN)
            good = compiled == 0 and status == refuses and (not refuses or "'x' and 'z' differ in the dimension 'n'" in said and "\n" not in said)
            failed |= not good
            print("%-4s shared: %s" % ("ok" if good else "FAIL", said[-160:]))
        for number, proto in enumerate(bounded()):
            with open(path, "wb") as file:
                file.write(proto.SerializeToString())
            status, said, _ = run(unit, [vtac, "compile", path, "-o", made], {}, MAX_RUN)
            status2, said2, yards = run(unit, [vtac, "run", made], {"VTAC_MEMORY": str(MEBIBYTES)}, MAX_RUN)
            good = status == 0 and status2 == 1 and "need more than the %d bytes" % (MEBIBYTES << 20) in said2 and "\n" not in said2 and yards <= MAX_RUN
            failed |= not good
            print("%-4s bounded %d, %.1f yards of %.1f: %s" % ("ok" if good else "FAIL", number, yards, MAX_RUN, (said + said2)[-160:]))
    return 1 if failed else 0


sys.exit(main())
