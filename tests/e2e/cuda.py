#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Models as kernels of PTX on a stand-in for NVIDIA's driver that runs their text, against the same file on the host, twice with
# different data: the numbers are equal to the bit, since both are made of the same nests and the same polynomials. Nothing is
# allocated and nobody waits within a run, and nothing is left behind. Then what a user gets who has no driver, no device, an old
# one, too little memory, a kernel that the driver refuses, a device that is lost.
#
# usage: cuda.py VTAC STAND_IN_FOLDER CC NETWORK[:int8]...
import os
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from seal import seal_of  # noqa: E402

vtac, stand_in, cc = sys.argv[1:4]
here = os.path.dirname(os.path.abspath(__file__))
wrong = []


def run(*words, fault=None, driver=True):
    environment = dict(os.environ, CUDA_STAND_IN_REPORT=os.path.join(os.getcwd(), "report"),
                       CUDA_STAND_IN_TOOLS="sh %s/tools.sh" % os.getcwd())
    if driver:
        environment["LD_LIBRARY_PATH"] = stand_in + ":" + environment.get("LD_LIBRARY_PATH", "")
    if fault:
        environment["CUDA_STAND_IN"] = fault
    done = subprocess.run([vtac, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    return done.returncode, done.stdout, done.stderr


def must(*words):
    status, out, err = run(*words)
    if status != 0:
        sys.exit("vtac %s: exit status %d: %s" % (" ".join(words), status, err))
    return out


def refused(text, *words, **how):
    status, _, err = run(*words, **how)
    if status != 1 or err.count("\n") != 1 or text not in err:
        wrong.append("vtac %s: exit status %d, %r instead of one line with %r" % (" ".join(words), status, err, text))


def report():
    """The last process's line: a dictionary of its numbers."""
    with open("report", encoding="ascii") as file:
        words = file.read().splitlines()[-1].replace("left: ", "").split()
    return {words[i]: int(words[i + 1]) for i in range(0, len(words), 2)}


def check_left(what, seen):
    left = [k for k in ("contexts", "streams", "modules", "events", "memory", "queue") if seen[k] != 0]
    if left:
        wrong.append("%s: left behind: %s" % (what, ", ".join("%s %d" % (k, seen[k]) for k in left)))


def outputs(folder):
    return {name: numpy.load(os.path.join(folder, name)) for name in sorted(os.listdir(folder))}


def check_network(name):
    base, _, kind = name.partition(":")
    must("zoo", base, "-o", "m.onnx", *(["--int8"] if kind else []))
    told = must("compile", "m.onnx", "--target", "cuda", "--offload", "all", "-o", "m.so").splitlines()
    print("%s: %s" % (name, told[-1]))
    steps = int(told[-1].split()[2])
    last = None
    for seed in ("1", "2"):
        must("run", "m.so", "--seed", seed, "--output-dir", "host")
        must("run", "m.so", "--seed", seed, "--output-dir", "device", "--device", "cuda:0", "--repeat", "3")
        seen = report()
        host, device = outputs("host"), outputs("device")
        for key, a in host.items():
            if not numpy.array_equal(a, device[key], equal_nan=True):
                wrong.append("%s: '%s' differs by %g" % (name, key, numpy.abs(a - device[key]).max()))
        if last is not None and all(numpy.array_equal(host[k], last[k]) for k in host):
            wrong.append("%s: other data give the same outputs" % name)
        if seen["late"] != 0 or seen["launches"] % steps != 0 or seen["waits"] > seen["launches"] // steps + 4:  # two when it is loaded, two when it is closed
            wrong.append("%s: %d launches of %d steps, %d waits, %d allocations in a run" % (
                name, seen["launches"], steps, seen["waits"], seen["late"]))
        check_left(name, seen)
        last = host


def check_refusals():
    with open("m.so", "rb") as file:
        whole = file.read()
    device = ["run", "m.so", "--device", "cuda:0"]
    refused("no CUDA: libcuda.so.1 cannot be loaded", *device, driver=False)
    refused("finds no device", *device, fault="none")
    refused("does not start: CUDA_ERROR_SYSTEM_NOT_READY", *device, fault="broken")
    refused("the driver knows CUDA 11.4", *device, fault="old")
    refused("is an sm_61, and the kernels are for sm_70", *device, fault="old-card")
    refused("out of memory", *device, fault="small")
    check_left("a device with little memory", report())
    refused("CUDA_ERROR_ILLEGAL_ADDRESS", *device, fault="lost")
    refused("does not exist", "run", "m.so", "--device", "cuda:1")
    refused("expected", "run", "m.so", "--device", "cuda:x")
    refused("compile it with '--target cuda'", "run", "plain.so", "--device", "cuda:0")
    refused("expected cuda", "compile", "m.onnx", "--target", "cuda:sm_52", "-o", "n.so")
    must("compile", "m.onnx", "--target", "cuda:sm_90", "-o", "late.so")
    refused("compile for it with '--target cuda:sm_", "run", "late.so", "--device", "cuda:0")
    spoilt = whole.replace(b"ld.global", b"ld.globel", 1)[:-16]
    with open("spoilt.so", "wb") as file:
        file.write(spoilt + whole[-16:-8] + struct.pack("<Q", seal_of(spoilt)))
    for text in ("refuses the kernel of '", "ptxas input, line "):
        refused(text, "run", "spoilt.so", "--device", "cuda:0")
    for fault, text in ((None, "Stand-in, driver CUDA 12.2"), ("none", "finds no device")):
        out = run("doctor", "--device", "cuda:0", fault=fault)[1]
        if text not in out:
            wrong.append("'vtac doctor' does not say %r: %s" % (text, out))
    if "cuda:0" not in must("devices") or "cuda:0" in run("devices", driver=False)[1]:
        wrong.append("'vtac devices' lists another device than is there")


def check_price(name):
    """A step that one item would do stays on the host, between launches, and the numbers are the same."""
    must("zoo", name, "-o", "m.onnx")
    must("compile", "m.onnx", "--target", "cuda", "-o", "mixed.so")
    left = must("explain", "m.onnx", "--target", "cuda", "--host-only").splitlines()
    whole = must("explain", "m.onnx", "--target", "cuda", "--host-only", "--offload", "all").splitlines()
    if not any(" stays on the host: 1 item would take about " in line for line in left) or len(whole) != 1:
        wrong.append("the price keeps %s, and without one %s" % (left, whole))
    for seed in ("1", "2"):
        must("run", "mixed.so", "--seed", seed, "--output-dir", "host")
        must("run", "mixed.so", "--seed", seed, "--output-dir", "device", "--device", "cuda:0", "--repeat", "2")
        host, device = outputs("host"), outputs("device")
        if any(not numpy.array_equal(host[key], device[key]) for key in host):
            wrong.append("%s, in part on the host: other numbers" % name)
        check_left(name, report())


def check_intact():
    """A program's inputs are what they were, whatever came of its run."""
    library = os.path.join(os.path.dirname(os.path.abspath(vtac)), "..", "lib", "libvta.so")
    for fault, status, text in ((None, 0, ""), ("lost", 1, "CUDA_ERROR_ILLEGAL_ADDRESS")):
        environment = dict(os.environ, CUDA_STAND_IN_TOOLS="sh %s/tools.sh" % os.getcwd(), CUDA_STAND_IN=fault or "",
                           LD_LIBRARY_PATH=stand_in + ":" + os.environ.get("LD_LIBRARY_PATH", ""))
        done = subprocess.run(["/usr/bin/python3", "-B", os.path.join(here, "intact.py"), library, "m.so", "cuda:0", "11"],
                              stdout=subprocess.PIPE, text=True, check=False, env=environment)
        if done.returncode != status or text not in done.stdout or done.stdout.count("\n") != status:
            wrong.append("a program whose device is %s: exit status %d, %s" % (fault or "well", done.returncode, done.stdout))


def main():
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("tools.sh", "w", encoding="ascii") as file:
            file.write("set -e\n/usr/bin/python3 -B '%s/ptx.py' \"$1/m.ptx\" \"$1/m.c\"\n"
                       "%s -O1 -march=native -ffp-contract=off -w -shared -fPIC \"$1/m.c\" -o \"$1/m.so\" -lm\n" % (here, cc))
        for name in sys.argv[4:]:
            check_network(name)
            shutil.rmtree("host")
            shutil.rmtree("device")
        must("compile", "m.onnx", "-o", "plain.so")
        check_refusals()
        check_intact()
        check_price("lstm")
        os.chdir(home)
    print("\n".join(wrong) or "%d networks are the same" % len(sys.argv[4:]))
    return 1 if wrong else 0


sys.exit(main())
