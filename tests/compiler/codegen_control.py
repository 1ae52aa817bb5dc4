#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# What the importer makes disappear, by its numbers: functions, If, Loop, shape arithmetic; and dimensions that --shape binds.
#
# usage: codegen_control.py VTAC   (exit status 77: python3-onnx is not there)
import os
import subprocess
import sys

from onnx_cases import Suite, numpy, value_info, write_model

from onnx import TensorProto, helper, numpy_helper

F32 = numpy.float32
NODE = helper.make_node


def packed(nodes, inputs, outputs, constants=(), functions=()):
    graph = helper.make_graph(nodes, "case", [value_info(n, a) for n, a in inputs], [value_info(n, a) for n, a in outputs],
                              [numpy_helper.from_array(numpy.array(a), n) for n, a in constants])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=functions)


def typed(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def function_case(suite):
    """A function with an attribute of the call's, that calls another; each twice with other values."""
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    leaky = NODE("LeakyRelu", ["a"], ["c"])
    leaky.attribute.append(helper.make_attribute("alpha", 0.0))
    leaky.attribute[0].ref_attr_name = "slope"
    leaky.attribute[0].ClearField("f")
    inner = helper.make_function("local", "Inner", ["a"], ["c"], [leaky], versions, ["slope"])
    call = NODE("Inner", ["a"], ["b"], domain="local", slope=0.25)
    outer = helper.make_function("local", "Outer", ["a", "k"], ["d"], [call, NODE("Mul", ["b", "k"], ["d"])], versions)

    def model(inputs, outputs):
        nodes = [NODE("Outer", ["x", "k"], ["u"], domain="local"), NODE("Inner", ["u"], ["v"], domain="local", slope=0.5),
                 NODE("Outer", ["v", "k"], ["y"], domain="local")]
        return packed(nodes, inputs, outputs, functions=[inner, outer])

    def leak(v, slope):
        return numpy.where(v < 0, F32(slope) * v, v)

    def reference(x, k):
        return leak(leak(leak(x, 0.25) * k, 0.5), 0.25) * k
    suite.add("Function", lambda r: [("x", r.standard_normal((3, 4)).astype(F32)), ("k", r.standard_normal((4,)).astype(F32))],
              reference, model=model)


def if_case(suite):
    """The branch follows from the rank of the input, by way of shape arithmetic; branches see outer names."""
    for shape in ((2, 3), (2, 3, 4)):
        def model(inputs, outputs):
            branches = [helper.make_graph([NODE(op, ["x", "k"], ["out"])], op, [], [typed("out", TensorProto.FLOAT, None)])
                        for op in ("Add", "Mul")]
            nodes = [NODE("Shape", ["x"], ["s"]), NODE("Size", ["s"], ["rank"]), NODE("Equal", ["rank", "two"], ["flat"]),
                     NODE("If", ["flat"], ["y"], then_branch=branches[0], else_branch=branches[1])]
            return packed(nodes, inputs, outputs, [("two", numpy.int64(2))])

        def reference(x, k):
            return x + k if x.ndim == 2 else x * k
        suite.add("If", lambda r, shape=shape: [("x", r.standard_normal(shape).astype(F32)), ("k", F32(r.standard_normal()))],
                  reference, model=model)


def loop_case(suite):
    """A carried value, the counter, an outer name, a scan output, and an end that comes before the trip count."""
    for trips, last in ((4, 100), (50, 3)):
        def model(inputs, outputs, trips=trips, last=last):
            body = helper.make_graph(
                [NODE("Cast", ["i"], ["f"], to=TensorProto.FLOAT), NODE("Mul", ["v", "k"], ["scaled"]),
                 NODE("Add", ["scaled", "f"], ["next"]), NODE("Less", ["i", "last"], ["more"]), NODE("Neg", ["next"], ["scan"])],
                "body", [typed("i", TensorProto.INT64, []), typed("go", TensorProto.BOOL, []),
                         typed("v", TensorProto.FLOAT, None)],
                [typed("more", TensorProto.BOOL, []), typed("next", TensorProto.FLOAT, None),
                 typed("scan", TensorProto.FLOAT, None)])
            nodes = [NODE("Loop", ["trips", "", "x"], ["y", "all"], body=body)]
            return packed(nodes, inputs, outputs, [("trips", numpy.int64(trips)), ("last", numpy.int64(last))])

        def reference(x, k, trips=trips, last=last):
            scans = []
            for i in range(trips):
                x = x * k + F32(i)
                scans.append(-x)
                if i >= last:
                    break
            return x, numpy.stack(scans)
        suite.add("Loop", lambda r: [("x", r.standard_normal((2, 3)).astype(F32)), ("k", F32(0.75))], reference,
                  outputs=("y", "all"), model=model)


def bound_shapes(vtac, folder):
    """y = x reshaped to [rows, all the rest], transposed: for several sizes of one model."""
    nodes = [NODE("Shape", ["x"], ["s"]), NODE("Gather", ["s", "zero"], ["rows"]),
             NODE("Concat", ["rows", "rest"], ["to"], axis=0), NODE("Reshape", ["x", "to"], ["flat"]),
             NODE("Transpose", ["flat"], ["y"])]
    graph = helper.make_graph(nodes, "open", [typed("x", TensorProto.FLOAT, ["N", "T", 3])],
                              [typed("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(numpy.array([0]), "zero"),
                               numpy_helper.from_array(numpy.array([-1]), "rest")])
    write_model(folder, helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    wrong = 0
    for shape in ((1, 5, 3), (4, 2, 3)):
        x = numpy.arange(numpy.prod(shape), dtype=F32).reshape(shape)
        numpy.save(os.path.join(folder, "x.npy"), x)
        given = "x=" + "x".join(str(d) for d in shape)
        for command in (["compile", "model.onnx", "--shape", given, "-o", "m.so"],
                        ["run", "m.so", "--input", "x=x.npy", "--output-dir", "out"]):
            run = subprocess.run([vtac] + command, cwd=folder, capture_output=True, text=True, check=False)
            if run.returncode != 0:
                print(" ".join(command), "ended with", run.returncode, run.stderr)
                return 1
        got = numpy.load(os.path.join(folder, "out", "y.npy"))
        if got.shape != x.reshape(shape[0], -1).T.shape or (got != x.reshape(shape[0], -1).T).any():
            print("--shape %s gives something else" % given)
            wrong = 1
    run = subprocess.run([vtac, "compile", "model.onnx", "-o", "none.so"], cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode != 1 or "give it with --shape x=" not in run.stderr:
        print("a model with an open dimension:", run.returncode, run.stderr)
        wrong = 1
    return wrong


def unfit_branch(vtac, folder):
    """A branch that does not fit the sizes is no fault of a run that takes the other one; a run that takes it is refused."""
    random, wrong = numpy.random.default_rng(5), 0
    for unfit in ((False, True), (True, False), (True, True)):
        branches = [helper.make_graph([NODE("Neg", ["a"], ["n"]), NODE("Add", ["n", "a"], ["s"]), NODE("Sub", ["s", "a"], ["t"])] +
                                      [NODE("MatMul", ["t", "w"], ["out"]) if bad else NODE(op, ["t"], ["out"])],
                                      op, [], [typed("out", TensorProto.FLOAT, None)]) for op, bad in zip(("Relu", "Abs"), unfit)]
        nodes = [NODE("Mul", ["x", "x"], ["a"]), NODE("If", ["flag"], ["b"], then_branch=branches[0], else_branch=branches[1]),
                 NODE("Sub", ["b", "x"], ["y"])]
        graph = helper.make_graph(nodes, "unfit", [typed("x", TensorProto.FLOAT, ["N", 3]), typed("flag", TensorProto.BOOL, [])],
                                  [typed("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(numpy.ones((5, 4), F32), "w")])
        write_model(folder, helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
        call = lambda *words: subprocess.run([vtac, *words], cwd=folder, capture_output=True, text=True, check=False)
        made = call("compile", "model.onnx", "--shape", "x=4x3", "-o", "m.so")
        if made.returncode != all(unfit) or "MatMul" not in made.stderr:
            print("branches that do not fit: %s: %d %s" % (unfit, made.returncode, made.stderr))
            wrong = 1
        for flag in (True, False):
            for _ in range(0 if all(unfit) else 2):
                x = random.standard_normal((4, 3)).astype(F32)
                numpy.save(os.path.join(folder, "x.npy"), x)
                numpy.save(os.path.join(folder, "flag.npy"), numpy.array(flag))
                run = call("run", "m.so", "--input", "x=x.npy", "--input", "flag=flag.npy", "--output-dir", "out")
                refused = "the %s_branch does not fit the sizes" % ("then" if flag else "else") in run.stderr and run.returncode == 1
                t = -x * x
                wanted = (numpy.maximum(t, 0) if flag else numpy.abs(t)) - x
                fits = not unfit[not flag]
                if refused == fits or fits and (run.returncode != 0 or (numpy.load(os.path.join(folder, "out", "y.npy")) != wanted).any()):
                    print("a branch, %s, of %s: %d %s" % (flag, unfit, run.returncode, run.stderr))
                    wrong = 1
    return wrong


def main():
    suite = Suite()
    function_case(suite)
    if_case(suite)
    loop_case(suite)
    failed = suite.run(sys.argv[1], "--rtol", "1e-6", "--atol", "1e-6")
    failed = failed or bound_shapes(sys.argv[1], os.path.join(suite.folder.name, "open"))
    return failed or unfit_branch(sys.argv[1], os.path.join(suite.folder.name, "unfit"))


sys.exit(main())
