#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# What compiling costs: processor time in yards (lib/yard.py: a fixed piece of work beside it), and the maximum of the memory, against
# the size of the weights. A pass that takes twice as long for resnet18, or one that is quadratic in a graph's nodes, fails here.
#
# usage: compile_cost.py VTAC
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import yard

VTAC = os.path.abspath(sys.argv[1])
# model, maximum of yards (the linker's included), 0: any
CASES = (("resnet18", 5.5), ("mobilenet_v2", 2.6), ("resnet50", 0), ("densenet121", 0))
MAX_GRAPH, MAX_GROWTH = 6.0, 7.0 # yards of a graph; its cost over that of one with a quarter of the nodes: 4 where all is linear, 16 where it is quadratic


def memory_of(*words):
    """The maximum of the memory of a command and what it starts, in bytes."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(VTAC, [VTAC, *words], os.environ, file_actions=quiet)
    _, status, used = os.wait4(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, "vtac %s" % " ".join(words)
    return used.ru_maxrss * 1024


def yards_of(unit, most, *options):
    yards, done = unit.measure([VTAC, "compile", "m.onnx", *options, "-o", "m.so"], most, stdout=yard.subprocess.DEVNULL)
    assert done.returncode == 0, "vtac compile m.onnx %s" % " ".join(options)
    return yards


def onnx_tools():
    """numpy, onnx's helper and numpy_helper, and what saves a model; None: python3-onnx is not there."""
    try:
        import numpy
        for name, kind in (("float", float), ("bool", bool), ("object", object), ("int", int)):
            vars(numpy).setdefault(name, kind)  # onnx 1.12 still asks for these
        from onnx import helper, numpy_helper, save
    except ImportError:
        return None
    return numpy, helper, numpy_helper, save


def write(path, tools, nodes, ins, outs, given):
    _, helper, numpy_helper, save = tools
    graph = helper.make_graph(nodes, "g", ins, outs, [numpy_helper.from_array(a, n) for n, a in given.items()])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid(d, v) for d, v in (("", 17), ("com.microsoft", 1))], ir_version=8), path)


def long_chain(path, nodes, tools):
    """So many nodes that do not fuse into one."""
    numpy, helper = tools[:2]
    given = {"c": numpy.ones(16, numpy.float32), "w": numpy.eye(16, dtype=numpy.float32), "shape": numpy.array([1, 16]), "zero": numpy.array([0]),
             "end": numpy.array([16]), "axis": numpy.array([1])}
    turns = (("Relu", []), ("Add", ["c"]), ("MatMul", ["w"]), ("Softmax", []), ("Transpose", []), ("Reshape", ["shape"]), ("Slice", ["zero", "end", "axis"]))
    made = [helper.make_node(op, ["t%d" % i] + more, ["t%d" % (i + 1)]) for i in range(nodes) for op, more in [turns[i % len(turns)]]]
    for i, node in enumerate(made):
        if node.op_type == "Transpose":
            node.attribute.extend([helper.make_attribute("perm", [0, 1])])
    write(path, tools, made, [helper.make_tensor_value_info("t0", 1, [1, 16])], [helper.make_tensor_value_info("t%d" % nodes, 1, [1, 16])], given)


def wide_fan(path, nodes, tools):
    """So many values that all live at one time."""
    numpy, helper = tools[:2]
    names = ["f%d" % i for i in range(nodes // 2)]
    made = [helper.make_node("Mul", ["x", "w%d" % i], ["m%d" % i]) for i in range(len(names))]
    made += [helper.make_node("Softmax", ["m%d" % i], [name]) for i, name in enumerate(names)]
    sums = ["s%d" % i for i in range(0, len(names), 500)]
    made += [helper.make_node("Sum", names[500 * i:500 * i + 500], [name]) for i, name in enumerate(sums)]
    made.append(helper.make_node("Sum", sums, ["y"]))
    write(path, tools, made, [helper.make_tensor_value_info("x", 1, [1, 16])], [helper.make_tensor_value_info("y", 1, [1, 16])],
          {"w%d" % i: numpy.full(16, i, numpy.float32) for i in range(len(names))})


def quantized_sums(path, nodes, tools):
    """So many sums of int8, each reading the one before."""
    numpy, helper = tools[:2]
    given = {"s": numpy.array(0.1, numpy.float32), "z": numpy.array(0, numpy.int8), "c": numpy.ones((1, 16), numpy.int8)}
    made = [helper.make_node("QLinearAdd", ["t%d" % i, "s", "z", "c", "s", "z", "s", "z"], ["t%d" % (i + 1)], domain="com.microsoft") for i in range(nodes)]
    write(path, tools, made, [helper.make_tensor_value_info("t0", 3, [1, 16])], [helper.make_tensor_value_info("t%d" % nodes, 3, [1, 16])], given)


# All that is done to a graph is linear in its nodes: the plan of the memory, the walks, what the accelerator takes.
GRAPHS = ((long_chain, 40000, ()), (wide_fan, 16000, ()), (quantized_sums, 10000, ()), (quantized_sums, 8000, ("--target", "vta")))
failed = False
with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    unit = yard.Yard()
    for name, most in CASES:
        memory_of("zoo", name, "-o", "m.onnx")
        max_memory = 4 * os.path.getsize("m.onnx") + 300e6
        memory = memory_of("compile", "m.onnx", "-o", "m.so")
        yards = yards_of(unit, most) if most > 0 else 0
        bad = memory > max_memory or yards > most
        failed = failed or bad
        limit = ", %.2f yards of %.1f" % (yards, most) if most > 0 else ""
        print("%-4s %-14s %4.0f MB of %4.0f%s" % ("FAIL" if bad else "ok", name, memory / 1e6, max_memory / 1e6, limit))
    tools = onnx_tools()
    for make, nodes, options in GRAPHS if tools else ():
        make("m.onnx", nodes // 4, tools)
        quarter = yards_of(unit, 0, *options)
        make("m.onnx", nodes, tools)
        most = min(MAX_GRAPH, MAX_GROWTH * quarter)
        yards = yards_of(unit, most, *options)
        failed = failed or yards > most
        print("%-4s %s, %d nodes %s  %.2f yards of %.1f, %.1f times a quarter of %.1f" % (
            "FAIL" if yards > most else "ok", make.__name__, nodes, " ".join(options), yards, MAX_GRAPH, yards / quarter, MAX_GROWTH))
sys.exit(failed)
