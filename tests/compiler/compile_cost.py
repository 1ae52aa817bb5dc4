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




def long_chain(path, nodes):
    """A model of so many nodes that do not fuse into one; False: python3-onnx is not there."""
    try:
        import numpy
        for name, kind in (("float", float), ("bool", bool), ("object", object), ("int", int)):
            vars(numpy).setdefault(name, kind)  # onnx 1.12 still asks for these
        from onnx import helper, numpy_helper, save
    except ImportError:
        return False
    given = {"c": numpy.ones(16, numpy.float32), "w": numpy.eye(16, dtype=numpy.float32), "shape": numpy.array([1, 16]), "zero": numpy.array([0]),
             "end": numpy.array([16]), "axis": numpy.array([1])}
    turns = (("Relu", []), ("Add", ["c"]), ("MatMul", ["w"]), ("Softmax", []), ("Transpose", []), ("Reshape", ["shape"]), ("Slice", ["zero", "end", "axis"]))
    made = [helper.make_node(op, ["t%d" % i] + more, ["t%d" % (i + 1)]) for i in range(nodes) for op, more in [turns[i % len(turns)]]]
    for i, node in enumerate(made):
        if node.op_type == "Transpose":
            node.attribute.extend([helper.make_attribute("perm", [0, 1])])
    graph = helper.make_graph(made, "chain", [helper.make_tensor_value_info("t0", 1, [1, 16])], [helper.make_tensor_value_info("t%d" % nodes, 1, [1, 16])],
                              [numpy_helper.from_array(a, n) for n, a in given.items()])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return True


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
    if long_chain("chain.onnx", 40000):  # the plan of the memory and all walks are linear in the nodes
        seconds, _ = cost("compile", "chain.onnx", "-o", "m.so")
        failed = failed or seconds > 3.0
        print("%-4s 40,000 nodes   %5.2f s of 3" % ("FAIL" if seconds > 3.0 else "ok", seconds))
sys.exit(failed)
