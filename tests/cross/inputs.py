# SPDX-License-Identifier: Apache-2.0
#
# Two random inputs that a model tells apart, as in1.npy, in2.npy and, without a header, in1.bin, in2.bin.
#
#     inputs.py SEED LOW HIGH "DIMENSIONS" COMMAND...
#
# The command runs the model on this machine; {} in it stands for 1 and 2, and here{} is the folder of its outputs. Numbers
# are float32, between LOW and HIGH, or integers of 8 bits where "i8" or "u8" stands before the dimensions. The second input is drawn again, up to 50 times, while the outputs are alike: a
# classifier is often as sure of one answer as of the next.
import glob
import random
import shutil
import struct
import subprocess
import sys

seed, low, high, dims, command = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4].split(), sys.argv[5:]
rng = random.Random(seed)
integers = {"i8": ("|i1", "b"), "u8": ("|u1", "B")}.get(dims[0])
kind, code = integers or ("<f4", "f")
dims = dims[1:] if integers else dims
count = 1
for d in dims:
    count *= int(d)


def draw(run):
    """Noise about a level, both drawn, so that inputs differ in more than their noise."""
    ends = [rng.uniform(low, high), rng.uniform(low, high)]
    numbers = [rng.uniform(*ends) for _ in range(count)]
    data = struct.pack(f"<{count}{code}", *(map(round, numbers) if integers else numbers))
    head = str({"descr": kind, "fortran_order": False, "shape": tuple(map(int, dims))}).encode()
    head += b" " * ((-len(head) - 11) % 64) + b"\n"
    with open(f"in{run}.npy", "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data)
    with open(f"in{run}.bin", "wb") as f:
        f.write(data)


def outputs(run):
    shutil.rmtree(f"here{run}", ignore_errors=True)
    done = subprocess.run([word.replace("{}", str(run)) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(done.args)}: {done.stderr}")
    contents = []
    for name in sorted(glob.glob(f"here{run}/*.npy")):
        with open(name, "rb") as f:
            contents.append(f.read())
    return contents


draw(1)
first = outputs(1)
for attempt in range(50):
    draw(2)
    if outputs(2) != first:
        sys.exit(0)
sys.exit(f"50 inputs of seed {seed} have the same outputs")
