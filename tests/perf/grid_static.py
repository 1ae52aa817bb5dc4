#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions for each multiply-add, by inspection: grid_static.py [--check] BIN [NAME...]

The layers of grid.def that multiply are compiled for processors that this machine is not (VTAC_GRID_HOSTS, default: the
ARM boards' and one with dot products), and the assembly is read: of all innermost loops, the one that multiplies most
in a round. A line for each layer and host: instructions of that loop, products that it adds (lanes counted), the
quotient, and how many times that is the best of the host's layers of the same type; what exceeds 2.5 times it is marked.
--check: exit status 1 where something is. BIN holds vtac and grid_models.
"""
import math
import os
import re
import subprocess
import sys
import tempfile

HOSTS = "pynq ultra96 rasp4 aarch64-dotprod"
SLOW = 2.5
# Of an instruction: products of one lane of the result, and the bits of such a lane.
PRODUCTS = [
    (re.compile(r"^(sdot|udot|usdot)$"), 4, 32),
    (re.compile(r"^(vpdpbusd)s?$"), 4, 32),
    (re.compile(r"^v?pmaddwd$"), 2, 32),
    (re.compile(r"^(fmla|fmadd|mla|madd|smlal2?|umlal2?|fmul|mul|smull2?)$"), 1, 32),
    (re.compile(r"^(vmla|vfma|vmul|vmlal|vmull)\.(f32|i32|s16|s32)$"), 1, 32),
    (re.compile(r"^vfmadd\d*ps$"), 1, 32),
    (re.compile(r"^vpmulld$"), 1, 32),
]
SCALAR = re.compile(r"^(madd|mul|mla)$")
BRANCH = re.compile(r"^(b(\.?(eq|ne|lt|le|gt|ge|hi|hs|lo|ls|cc|cs|mi|pl))?|cbn?z|tbn?z|j[a-z]+)$")
LABEL = re.compile(r"^(\.L[\w$.]+):")


def bits_of(operands, name):
    """The width of the result's register."""
    first = operands.split(",")[0].strip()
    found = re.search(r"\.(\d+)([bhsd])\b", first)
    if found:
        return int(found.group(1)) * {"b": 8, "h": 16, "s": 32, "d": 64}[found.group(2)]
    if re.match(r"^q\d+", first):
        return 128
    if re.match(r"^d\d+", first):
        return 128 if name.startswith(("vmlal", "vmull")) else 64
    widest = re.findall(r"%([xyz])mm", operands)
    return max(({"x": 128, "y": 256, "z": 512}[w] for w in widest), default=32)


def products_of(line):
    parts = line.split(None, 1)
    operands = parts[1] if len(parts) > 1 else ""
    for pattern, each, lane in PRODUCTS:
        if pattern.match(parts[0]):
            bits = bits_of(operands, parts[0])
            if SCALAR.match(parts[0]) and bits == 32:
                return 0  # arithmetic on addresses
            return each * bits // lane
    return 0


def innermost_loops(path):
    """(instructions, products) of each innermost loop of an assembly file."""
    lines, labels = [], {}
    with open(path, encoding="utf-8") as file:
        for raw in file:
            text = re.sub(r"(\s@ |\s// |\s## |\s# ).*", "", raw).strip()
            label = LABEL.match(text)
            if label:
                labels[label.group(1)] = len(lines)
            elif text and not text.startswith((".", "//", "@", "#")) and not text.endswith(":"):
                lines.append(text)
    backward = []
    for i, line in enumerate(lines):
        parts = line.split()
        target = labels.get(parts[-1]) if BRANCH.match(parts[0]) else None
        if target is not None and target <= i:
            backward.append((target, i))
    for begin, end in backward:
        if not any(begin <= b and e <= end and (b, e) != (begin, end) for b, e in backward):
            body = lines[begin:end + 1]
            yield len(body), sum(products_of(line) for line in body)


def measure(tools, model, host, folder):
    """The loop of the most products: (instructions, products), or None."""
    run = subprocess.run([f"{tools}/vtac", "compile", model, "--host", host, "-o", f"{folder}/model.so", "--emit",
                          f"asm:{folder}"], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(run.stderr.strip())
    loops = [loop for loop in innermost_loops(f"{folder}/model.asm") if loop[1] > 0]
    return max(loops, key=lambda loop: loop[1], default=None)


def kind_of(name):
    return "int8" if name.startswith("q") else "float32"


def main():
    arguments = sys.argv[1:]
    check = arguments[:1] == ["--check"]
    arguments = arguments[1:] if check else arguments
    if not arguments:
        sys.exit("usage: grid_static.py [--check] BIN [NAME...]")
    tools, wanted = arguments[0], arguments[1:]
    slow = 0
    with tempfile.TemporaryDirectory() as folder:
        names = subprocess.run([f"{tools}/grid_models", folder, *wanted], capture_output=True, text=True,
                               check=True).stdout.split()
        print(f"{'layer':24} {'host':16} {'instructions':>12} {'products':>9} {'quotient':>9} {'÷ best':>7}")
        for host in os.environ.get("VTAC_GRID_HOSTS", HOSTS).split():
            rows = [(name, measure(tools, f"{folder}/{name}.onnx", host, folder)) for name in names]
            rows = [(name, loop[0], loop[1], loop[0] / loop[1]) for name, loop in rows if loop]
            best = {kind: min((r[3] for r in rows if kind_of(r[0]) == kind), default=1.0)
                    for kind in ("int8", "float32")}
            for name, count, products, quotient in rows:
                times = quotient / best[kind_of(name)]
                slow += times > SLOW
                print(f"{name:24} {host:16} {count:12} {products:9} {quotient:9.3f} {times:7.2f}"
                      f"{'  slow' if times > SLOW else ''}", flush=True)
            if rows:
                mean = math.exp(sum(math.log(row[3]) for row in rows) / len(rows))
                worst = max(rows, key=lambda row: row[3])
                print(f"{host}: geometric mean {mean:.3f}, most {worst[3]:.3f} ({worst[0]})", flush=True)
    sys.exit(1 if check and slow else 0)


main()
