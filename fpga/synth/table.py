#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# table.py CONFIG PARTS STAT: turns what Yosys' `stat` says into a table by module, down to the third level, with the limits of
# the part. Exit 1: over a limit.
import re
import sys

# Cells as LUT, FF, DSP, BRAM36, URAM. Distributed RAM counts the LUTs that it occupies.
COST = {"DSP48E1": (0, 0, 1, 0, 0), "DSP48E2": (0, 0, 1, 0, 0), "URAM288": (0, 0, 0, 0, 1),
        "RAMB36E1": (0, 0, 0, 1, 0), "RAMB36E2": (0, 0, 0, 1, 0),
        "RAMB18E1": (0, 0, 0, 0.5, 0), "RAMB18E2": (0, 0, 0, 0.5, 0),
        "RAM32M": (4, 0, 0, 0, 0), "RAM64M": (4, 0, 0, 0, 0), "RAM32M16": (8, 0, 0, 0, 0), "RAM64M8": (8, 0, 0, 0, 0),
        "RAM32X1D": (2, 0, 0, 0, 0), "RAM64X1D": (2, 0, 0, 0, 0), "RAM128X1D": (4, 0, 0, 0, 0),
        "RAM256X1D": (8, 0, 0, 0, 0), "RAM32X1S": (1, 0, 0, 0, 0), "RAM64X1S": (1, 0, 0, 0, 0),
        "RAM128X1S": (2, 0, 0, 0, 0), "RAM256X1S": (4, 0, 0, 0, 0),
        "SB_RAM40_4K": (0, 0, 0, 1, 0),
        "LUT4": (1, 0, 0, 0, 0), "CCU2C": (2, 0, 0, 0, 0), "TRELLIS_FF": (0, 1, 0, 0, 0), "TRELLIS_DPR16X4": (6, 0, 0, 0, 0),
        "MULT18X18D": (0, 0, 1, 0, 0), "ALU54B": (0, 0, 0, 0, 0), "DP16KD": (0, 0, 0, 0.5, 0), "PDPW16KD": (0, 0, 0, 0.5, 0),
        "SRL16E": (1, 0, 0, 0, 0), "SRLC32E": (1, 0, 0, 0, 0), "INV": (0, 0, 0, 0, 0)}
FREE = re.compile(r"^(CARRY4|CARRY8|MUXF[789]|BUFG|GND|VCC|SB_CARRY|SB_GB|PFUMX|L6MUX21)$")
COLUMNS = ("LUT", "FF", "DSP", "BRAM36", "URAM")
ICE40_COLUMNS = ("LUT", "FF", "DSP", "BRAM4K", "URAM")
DEPTH = 2  # levels below the top that get a line


def cost(cell):
    if cell in COST:
        return COST[cell]
    if re.match(r"^(LUT[1-6](_2)?|SB_LUT4)$", cell):
        return (1, 0, 0, 0, 0)
    if re.match(r"^(FD[RSCP]E(_1)?|SB_DFFN?E?(S?[RS])?)$", cell):
        return (0, 1, 0, 0, 0)
    if re.match(r"^LD[CP]E$", cell):
        sys.exit(f"table.py: the netlist has a latch ({cell})")
    if FREE.match(cell):
        return (0, 0, 0, 0, 0)
    sys.exit(f"table.py: unknown cell '{cell}'")


def read_stat(path):
    """The cells of each module: {module: {cell or module: count}}."""
    modules, cells = {}, None
    with open(path, encoding="ascii") as lines:
        for line in lines:
            title = re.match(r"^=== (\S+) ===$", line)
            if title:
                cells = modules.setdefault(title.group(1), {})
            elif line.startswith("=== design hierarchy"):
                break
            row = re.match(r"^     (\S+)\s+(\d+)$", line)
            if row and cells is not None:
                cells[row.group(1)] = int(row.group(2))
    return modules


def total(modules, name, memo):
    if name not in modules:
        return cost(name)
    if name not in memo:
        sums = [0] * len(COLUMNS)
        for cell, count in modules[name].items():
            sums = [s + count * c for s, c in zip(sums, total(modules, cell, memo))]
        memo[name] = tuple(sums)
    return memo[name]


def plain(name):
    return re.split(r"[\\]", name)[1] if name.startswith("$paramod") else name


def rows(modules, name, count, level, memo, out):
    amount = tuple(count * v for v in total(modules, name, memo))
    label = "  " * level + plain(name) + (f" x{count}" if count > 1 else "")
    out.append((label, amount))
    if level < DEPTH:
        children = [(c, n) for c, n in modules[name].items() if c in modules]
        for child, n in sorted(children, key=lambda c: (-total(modules, c[0], memo)[0] * c[1], c[0])):
            rows(modules, child, count * n, level + 1, memo, out)


def show(label, amount):
    cells = [f"{v:>9.1f}" if isinstance(v, float) and v % 1 else f"{int(v):>9}" for v in amount]
    print(f"{label:<34}" + "".join(cells))


def main():
    config, parts, stat = sys.argv[1:4]
    with open(parts, encoding="ascii") as lines:
        row = next(line.split() for line in lines if line.split()[:1] == [config])
    part, numbers = row[1], [int(n) for n in row[3:]]
    have = (numbers[0], numbers[2], numbers[4], numbers[6], numbers[8])
    limit = (numbers[1], numbers[3], numbers[5], numbers[7], numbers[8])
    columns = ICE40_COLUMNS if row[2] == "ice40" else COLUMNS
    modules, memo, out = read_stat(stat), {}, []
    top = next(name for name in modules if plain(name) == "vta_top")
    rows(modules, top, 1, 0, memo, out)
    print(f"{config} on {part}")
    print(f"{'':<34}" + "".join(f"{c:>9}" for c in columns))
    for label, amount in out[1:]:
        show(label, amount)
    print()
    used = total(modules, top, memo)
    show("total", used)
    show("part", have)
    show("limit", limit)
    over = [c for c, u, m in zip(columns, used, limit) if u > m]
    for column in over:
        print(f"over the limit: {column}")
    sys.exit(1 if over else 0)


if __name__ == "__main__":
    main()
