#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# arithmetic.py VTAC VTA_RUN PACKAGE SEED: what a Cortex-A9 has no instructions for (64-bit division, 64-bit integers to
# floats and back, rounding to whole numbers), under qemu against this machine's: random numbers, and those at the edges.
# PACKAGE is the folder of the board's package. Without python3-onnx or qemu, exit status 77.
import math
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

try:
    from onnx import TensorProto as T, helper, save
except ImportError:
    print("python3-onnx is not installed")
    sys.exit(77)

COUNT = 512
EDGES = [0, 1, -1, 2, 3, 7, 10, 2**24 + 1, 2**31 - 1, 2**31, -2**31, 2**32 - 1, 2**32, 2**53 - 1, 2**53 + 1, 2**54 + 3,
         2**62, 2**63 - 1, -2**63, -2**63 + 1, (2**24 + 1) * 2**30 + 1, -((2**24 + 1) * 2**30) - 1]
FLOATS = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8388607.5, 8388608.0, -8388609.0, 1e9, 4294967296.5, -4294967297.5,
          9.2e18, -9.2e18, 1e30, math.inf, -math.inf, 1e-30, -1e-30]
INPUTS = {"a": (T.INT64, "q"), "b": (T.INT64, "q"), "u": (T.UINT64, "Q"), "i": (T.INT32, "i"), "j": (T.INT32, "i"),
          "f": (T.FLOAT, "f"), "d": (T.DOUBLE, "d")}
# operator, inputs, output type, attributes
OPERATORS = [("Div", ["a", "b"], T.INT64, {}), ("Mod", ["a", "b"], T.INT64, {}), ("Div", ["i", "j"], T.INT32, {}),
             ("Mod", ["i", "j"], T.INT32, {}), ("Div", ["u", "u2"], T.UINT64, {})]
OPERATORS += [("Cast", [x], to, {"to": to}) for x in "aui" for to in (T.FLOAT, T.DOUBLE)]
OPERATORS += [("Cast", [x], to, {"to": to}) for x in "fd" for to in (T.INT64, T.UINT64, T.INT32)]
OPERATORS += [(op, [x], t, {}) for op in ("Round", "Floor", "Ceil") for x, t in (("f", T.FLOAT), ("d", T.DOUBLE))]


def numbers(rng, code):
    def one(k):
        if code in "fd":
            value = FLOATS[k] if k < len(FLOATS) else rng.choice((-1, 1)) * math.ldexp(rng.random(), rng.randint(-4, 66))
            return value
        bits = {"q": 64, "Q": 64, "i": 32}[code]
        value = EDGES[k] if k < len(EDGES) else rng.getrandbits(rng.randint(1, bits))
        value &= (1 << bits) - 1
        return value if code == "Q" or value < 1 << (bits - 1) else value - (1 << bits)
    order = [one(k) for k in range(COUNT)]
    rng.shuffle(order)
    return struct.pack(f"<{COUNT}{code}", *order)


def make_model(path):
    inputs = dict(INPUTS, u2=(T.UINT64, "Q"))
    nodes = [helper.make_node(op, names, [f"out{n}"], **attributes) for n, (op, names, _, attributes) in enumerate(OPERATORS)]
    graph = helper.make_graph(
        nodes, "arithmetic", [helper.make_tensor_value_info(n, t, [COUNT]) for n, (t, _) in inputs.items()],
        [helper.make_tensor_value_info(f"out{n}", row[2], [COUNT]) for n, row in enumerate(OPERATORS)])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return inputs


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")


def main():
    vtac, vta_run, package, seed = sys.argv[1:5]
    if shutil.which("qemu-arm") is None:
        print("qemu-arm is not installed")
        sys.exit(77)
    rng = random.Random(seed)
    print("seed", seed)
    os.environ["QEMU_LD_PREFIX"] = "/usr/arm-linux-gnueabihf"
    wrong = checked = 0
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        inputs = make_model("m.onnx")
        for level in "02":
            run([vtac, "compile", "m.onnx", "-O", level, "-o", "here.so"])
            run([vtac, "compile", "m.onnx", "-O", level, "--host", "pynq", "-o", "there.so"])
            for turn in range(2):
                given = []
                for name, (_, code) in inputs.items():
                    with open(f"{name}.bin", "wb") as out:
                        out.write(numbers(rng, code))
                    given += ["--input", f"{name}.bin"]
                run([vta_run, "here.so", *given, "--output-dir", "here"])
                run(["qemu-arm", "-cpu", "cortex-a9", f"{package}/bin/vta-run", "there.so", *given, "--output-dir", "there"])
                for n, (op, names, _, _) in enumerate(OPERATORS):
                    with open(f"here/out{n}.npy", "rb") as a, open(f"there/out{n}.npy", "rb") as b:
                        same = a.read() == b.read()
                    checked += COUNT
                    if not same:
                        wrong += 1
                        print(f"{op} of {names}, -O{level}, turn {turn}: another result on the board")
    print(f"{checked} results, {wrong} operators differ")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
