#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# What compiling costs: processor time, and the most memory, against the size of the weights. The bounds are those of a
# machine on which the yardstick takes YARD seconds; a slower one may take longer by as much. What else runs only adds, so
# the least of three counts.
#
# usage: compile_cost.py VTAC
import os
import sys
import tempfile
import time

VTAC = os.path.abspath(sys.argv[1])
# model, most seconds of processor time (the linker's included), 0: any
CASES = (("resnet18", 5.0), ("mobilenet_v2", 3.0), ("resnet50", 0), ("densenet121", 0))
YARD = 0.15


def yardstick():
    """How much slower this machine is than that of the bounds."""
    begin = time.process_time()
    sum(i * i for i in range(3000000))
    return max(1.0, (time.process_time() - begin) / YARD)


def cost(*words):
    """Processor time and most memory of a command and what it starts."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(VTAC, [VTAC, *words], os.environ, file_actions=quiet)
    _, status, used = os.wait4(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, "vtac %s" % " ".join(words)
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024




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
    for name, most_seconds in CASES:
        cost("zoo", name, "-o", "m.onnx")
        weights = os.path.getsize("m.onnx")
        most_memory = 4 * weights + 300e6
        seconds, memory = cost("compile", "m.onnx", "-o", "m.so")
        most_seconds *= yardstick()
        for _ in range(2):
            if 0 < most_seconds < seconds:
                seconds = min(seconds, cost("compile", "m.onnx", "-o", "m.so")[0])
        bad = memory > most_memory or 0 < most_seconds < seconds
        failed = failed or bad
        limit = " of %.1f" % most_seconds if most_seconds > 0 else ""
        print("%-4s %-14s %5.2f s%s, %4.0f MB of %4.0f" % ("FAIL" if bad else "ok", name, seconds, limit, memory / 1e6, most_memory / 1e6))
    tools = onnx_tools()
    for make, nodes, options in GRAPHS if tools else ():
        make("m.onnx", nodes, tools)
        seconds = cost("compile", "m.onnx", *options, "-o", "m.so")[0]
        most_seconds = 3.0 * yardstick()
        failed = failed or seconds > most_seconds
        print("%-4s %s, %d nodes %s  %5.2f s of %.1f" % ("FAIL" if seconds > most_seconds else "ok", make.__name__, nodes, " ".join(options), seconds, most_seconds))
sys.exit(failed)
