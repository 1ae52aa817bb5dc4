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
sys.exit(failed)
